// Byte layout of a library pack (`library.<target>.dmlib`): header, keys, entries, then reflections and
// slices.
//
//   0                header                      LibraryHeader, 128 bytes
//   index_offset     keys                        entry_count u64, ascending; equal keys lie by ascending
//   variant
//   + 8 * count      entries                     entry_count LibraryEntry, in the order of the keys
//   anywhere behind  reflections and slices      each 16-byte aligned, named by the entries
//
// Everything is little-endian. The keys lie apart from the entries so that a look-up among 130,000 programs
// stays in one megabyte. Nothing that depends on time, machine or worker count is in the file (P-004).
#pragma once
#include <cstddef>
#include <cstdint>

namespace dmsh {

constexpr char kLibraryMagic[8] = {'D', 'M', 'L', 'I', 'B', '\r', '\n', '\x1a'};
constexpr uint32_t kLibraryVersion = 1;
constexpr uint32_t kLibraryAlignment = 16; // of reflections and slices; SPIR-V words need 4
constexpr uint32_t kMaxLibrarySliceBytes =
    64 << 20; // expanded; a larger claim is refused before memory is taken
constexpr uint32_t kMaxReflectionBytes = 1 << 20;

enum class SliceKind : uint8_t { none = 0, spirv = 1, metallib = 2 };
enum class SliceCodec : uint8_t { stored = 0, zstd = 1 };

struct LibraryHeader {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes; // sizeof(LibraryHeader)
    char target[16];       // "vulkan", "macos", ...; zero-padded
    char stamp[32];        // build stamp (P-005) as text; zero-padded
    uint32_t entry_count;
    uint32_t entry_bytes;     // sizeof(LibraryEntry)
    uint64_t index_offset;    // 16-byte aligned
    uint64_t index_checksum;  // XXH3-64 of keys and entries
    uint64_t file_bytes;      // a longer or shorter file is refused
    uint8_t reserved[24];     // 0
    uint64_t header_checksum; // XXH3-64 of the bytes before this field
};
static_assert(sizeof(LibraryHeader) == 128 && offsetof(LibraryHeader, entry_count) == 64);
static_assert(offsetof(LibraryHeader, index_checksum) == 80 &&
              offsetof(LibraryHeader, header_checksum) == 120);

struct LibraryEntry {
    uint8_t stage;         // Stage
    uint8_t arch;          // Arch
    uint16_t variant;      // 0; others are entry sets that depend on a program's partners
    uint8_t kind;          // SliceKind
    uint8_t codec;         // SliceCodec
    uint16_t flags;        // kEntryHasLosses
    uint32_t slice_stored; // bytes in the file
    uint32_t slice_bytes;  // bytes after expansion
    uint64_t slice_offset;
    uint64_t slice_checksum; // XXH3-64 of the stored bytes
    uint64_t reflection_offset;
    uint64_t reflection_checksum; // XXH3-64
    uint32_t reflection_bytes;
    uint32_t reserved; // 0
};
static_assert(sizeof(LibraryEntry) == 56);

constexpr uint16_t kEntryHasLosses = 1;

} // namespace dmsh
