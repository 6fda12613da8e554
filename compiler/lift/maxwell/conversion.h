// What float conversions of both machines share: their source, rounding to integers, and the result.
#pragma once
#include "compiler/lift/lift_context.h"

namespace dmsh::maxwell {

enum : uint64_t { kF16 = 1, kF32 = 2, kF64 = 3 };       // F::fmt_float_*
enum : uint64_t { k8 = 0, k16 = 1, k32 = 2, k64 = 3 }; // F::fmt_int_*

// The LLVM function that rounds a float to an integral value in the mode of F::rnd, F::rnd_int.
llvm::Intrinsic::ID rounding(uint64_t mode);
// b with its modifiers as half, float or double; null where the form is refused.
Value* float_source(LiftContext& c, uint64_t format, bool ftz);
// The result in registers, saturated and with flags as the instruction says.
void write_converted(LiftContext& c, uint64_t format, Value* v);

} // namespace dmsh::maxwell
