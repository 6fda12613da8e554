// YEBIS's .tfxo files: zlib streams in an executable that hold control sections and code areas back to back
//
#pragma once
#include "archivers/core/reader.h"
#include "archivers/nvn/module.h"

namespace dmsh {

// Gives each stream of the segment whose text shows it to be one as a member. Work is bounded: 4 KiB of each
// candidate is decoded, and candidates are limited.
Result<void> find_tfxo(const Segment& segment, Output& out);

} // namespace dmsh
