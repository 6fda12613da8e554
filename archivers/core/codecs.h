// Codecs: every decoder of compressed data, each exact and charged to the budget before it decodes.
#pragma once
#include "archivers/core/blob.h"
#include "archivers/core/budget.h"

namespace dmsh {

// Rules common to all: the whole input is one stream (trailing zeros after Yaz0 are alignment); the output is
// exactly as long as declared; checksums are checked where the format has them. Errors have no origin yet.

// zstd frames one after another, skippable frames between them. Frames without a content size decode up to
// what the budget leaves.
Result<Blob> decode_zstd(Bytes in, WorkBudget& budget);
bool is_zstd(Bytes head);

// Nintendo's Yaz0 with its 16-byte header.
Result<Blob> decode_yaz0(Bytes in, WorkBudget& budget);
bool is_yaz0(Bytes head);

// One LZ4 block of known decoded size.
Result<Blob> decode_lz4_block(Bytes in, uint64_t size, WorkBudget& budget);

// zlib stream or raw deflate of known decoded size.
Result<Blob> decode_zlib(Bytes in, uint64_t size, WorkBudget& budget);
Result<Blob> decode_deflate(Bytes in, uint64_t size, WorkBudget& budget);

} // namespace dmsh
