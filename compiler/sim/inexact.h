// Functions whose results the hardware rounds in its own way: correctly rounded here, and given to whatever is compared with the
// interpreter, so that no tolerance hides a wrong operation (docs/numerics.md).
#pragma once
#include <cstdint>

namespace dmsh::sim {

// MUFU of a float's bits by F::mufu_op (0 COS, 1 SIN, 2 EX2, 3 LG2, 4 RCP, 5 RSQ, 8 SQRT); denormals in and out are zeros.
uint32_t multi_function(uint64_t op, uint32_t bits);
// MUFU.RCP64H and RSQ64H: upper word in, upper word out; the lower word counts as zero.
uint32_t multi_function_64h(bool rsq, uint32_t high);
// FCHK.DIVIDE: the quotient needs the slow path.
bool division_needs_care(uint32_t a, uint32_t b);

} // namespace dmsh::sim
