// The LZ4 chain that Viper's zip archives store members as.
#pragma once
#include "archivers/core/blob.h"
#include "archivers/core/budget.h"

namespace dmsh {

// Chunks of 64 KiB, each {u32 length, LZ4 block} that copies from the chunk before, or raw where it would not
// shrink. `crc`: zip's CRC-32 of the decoded bytes; it also decides what a chunk as long as its own output
// is.
Result<Blob> decode_vzip_chain(Bytes in, uint64_t size, uint32_t crc, WorkBudget& budget);

} // namespace dmsh
