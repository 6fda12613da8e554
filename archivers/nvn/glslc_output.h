// GLSLC outputs: what the console's offline shader compiler writes, one or several stages (S-013..S-015).
#pragma once
#include "archivers/core/reader.h"

namespace dmsh {

constexpr uint32_t kGlslcMagic = 0x19866891;
constexpr uint64_t kGlslcHeaderMin = 0x90;

// Could an output begin here? Magic and a GPU code version that exists: enough to call a misfit an error in a
// data file, and to pass over a constant in program text.
bool looks_like_glslc(Bytes bytes);

// Reads the output at the start of `in` (which may go on behind it) and gives its stages, all of one program,
// to `out`. Returns the output's own length. `where` is the output's offset in the blob that errors and
// records should name.
Result<uint64_t> read_glslc(const Blob& in, uint64_t where, Output& out);

} // namespace dmsh
