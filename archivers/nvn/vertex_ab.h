// Merges the two programs of a two-part vertex shader into one (S-017).
#pragma once
#include "archivers/core/bytes.h"
#include "runtime/abi/result.h"
#include <vector>

namespace dmsh {

// `a` and `b`: SPH and instructions of each part. The result is one SPH (b's, with a's flags and maps ORed in
// and the larger memory sizes) followed by one program. Refused: absolute or table jumps in a part, parts
// that are not whole groups.
Result<std::vector<uint8_t>> merge_vertex_parts(Bytes a, Bytes b);

} // namespace dmsh
