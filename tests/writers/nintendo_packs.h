// Writers of archives whose members are packed one by one: HAL's .cmp, GFPAK, Trinity, Next Level Games.
// Written from the documents (reference/containers/nintendo.md), not from the readers.
#pragma once
#include "tests/writers/writers.h"

namespace dmsh::writers {

// u32 decoded size, then `frame`, which decodes to `data`.
Data size_prefixed(const Data& data, const Data& frame);

enum class Packing : uint8_t { none, zlib, lz4, oodle };

struct PackedFile {
    std::string path;
    Data data; // of Oodle files: the stream
    Packing packing = Packing::none;
    uint32_t size = 0; // of Oodle files: the decoded size
};

// Game Freak's FNV-1a, 64 bits, of a path.
uint64_t path_hash(std::string_view path);

// GFPAK with all files in one folder.
Data gfpak(std::span<const PackedFile> files);

// One Trinity pack: stored and Oodle files.
Data trinity_pack(std::span<const PackedFile> files);
// The archive of packs, and the descriptor that names them.
Data trinity_archive(std::span<const Member> packs);
Data trinity_descriptor(std::span<const Member> packs);

// Next Level Games: dictionary and data file of `blocks`. `revision`: 2 or 3.
struct NlgArchive {
    Data dictionary, data;
};
NlgArchive nlg_archive(std::span<const Data> blocks, unsigned revision, bool packed = true);

} // namespace dmsh::writers
