// Codecs: every decoder of compressed data, each exact and charged to the budget before it decodes.
#pragma once
#include "archivers/core/blob.h"
#include "archivers/core/budget.h"

namespace dmsh {

// Rules common to all: the whole input is one stream (trailing zeros after Yaz0 are alignment); the output is
// exactly as long as declared; checksums are checked where the format has them. Errors have no origin yet.

// zstd frames one after another, skippable frames between them. Frames without a content size decode up to
// what the budget leaves. `dictionary`: with its header (37 A4 30 EC); only frames that name its ID use it.
// decode_context.h has the form that finds the dictionary by itself.
Result<Blob> decode_zstd(Bytes in, WorkBudget& budget);
Result<Blob> decode_zstd(Bytes in, Bytes dictionary, WorkBudget& budget);
bool is_zstd(Bytes head);
// The dictionary that the first frame asks for; 0 = none, or none named.
uint32_t zstd_frame_dictionary(Bytes in);
// The ID of a dictionary file; 0 = not one.
uint32_t zstd_dictionary_id(Bytes dictionary);
// Content size that the first frame records, if it does.
std::optional<uint64_t> zstd_content_size(Bytes in);

// Nintendo's Yaz0 with its 16-byte header.
Result<Blob> decode_yaz0(Bytes in, WorkBudget& budget);
bool is_yaz0(Bytes head);

// One LZ4 block of known decoded size. `history`: decoded bytes before this block that copies may reach into
// (the previous block of a chain).
Result<Blob> decode_lz4_block(Bytes in, uint64_t size, WorkBudget& budget);
Result<Blob> decode_lz4_block(Bytes in, uint64_t size, Bytes history, WorkBudget& budget);
// LZ4 frames one after another, skippable frames between them; checksums checked.
Result<Blob> decode_lz4_frame(Bytes in, WorkBudget& budget);
bool is_lz4_frame(Bytes head);

// zlib stream or raw deflate of known decoded size.
Result<Blob> decode_zlib(Bytes in, uint64_t size, WorkBudget& budget);
Result<Blob> decode_deflate(Bytes in, uint64_t size, WorkBudget& budget);

// A zlib stream of unknown length at the start of `in`.
struct Inflated {
    Blob data;
    uint64_t used = 0; // bytes of the input
};
// Refused: a damaged or unfinished stream, more than `limit` bytes of output.
Result<Inflated> inflate_zlib(Bytes in, uint64_t limit, WorkBudget& budget);

// RFC 1952, concatenated members, CRC and length of each checked, nothing behind them. Charged to gzip's own
// allowance, max(1 GiB, 16 times the file).
Result<Blob> decode_gzip(Bytes in, WorkBudget& budget);
bool is_gzip(Bytes head);

// LZMA1 as UnityFS has it: 5 bytes of properties, then the stream, no size and no end mark.
Result<Blob> decode_lzma1(Bytes in, uint64_t size, WorkBudget& budget);

// CRI's CRILAYLA with its 16-byte header and 256 raw bytes.
Result<Blob> decode_crilayla(Bytes in, WorkBudget& budget);
bool is_crilayla(Bytes head);

// Strict base64: no white space, padding where it belongs, no bits left over.
Result<Blob> decode_base64(Bytes text, WorkBudget& budget);

// LZX as XNB files chunk it (misc.md, section 10): 64 KB window, frames of at most 32 KB, no translation.
Result<Blob> decode_lzx(Bytes in, uint64_t size, WorkBudget& budget);

// The first bytes of what decoding would give, at most `n`; nothing is charged and the rest is not looked at.
// Empty where even the start is damaged.
Blob peek_zstd(Bytes in, uint64_t n);
Blob peek_yaz0(Bytes in, uint64_t n);
Blob peek_zlib(Bytes in, uint64_t n);
Blob peek_deflate(Bytes in, uint64_t n);
Blob peek_lz4_block(Bytes in, uint64_t n);

uint32_t crc32(Bytes bytes); // that of zip and gzip

} // namespace dmsh
