// Viper's single-stage binaries: GLSLC's magic, but one Ampere code area and its control section behind six
// words.
#pragma once
#include "archivers/core/reader.h"

namespace dmsh {

// Is this one, whole: lengths in the view and an NVN2 control section where they lead? (An output of the
// compiler has the same magic; its words lead nowhere.)
bool looks_like_viper_binary(Bytes bytes);

// The header alone could be one's: enough to call a file that begins so a damaged one.
bool may_be_viper_binary(Bytes bytes);

// Reads the binary at the start of `in` (which may go on behind it) and gives its stage. Returns its length.
// `where` is its offset in the blob that errors and records name.
Result<uint64_t> read_viper_binary(const Blob& in, uint64_t where, Output& out);

} // namespace dmsh
