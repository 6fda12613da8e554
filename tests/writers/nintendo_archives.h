// Writers of Nintendo's and its partners' archives around shader files. Written from the documents
// (reference/containers/nintendo.md), not from the readers.
#pragma once
#include "tests/writers/writers.h"
#include <optional>

namespace dmsh::writers {

// BFSHA with its tables: one shader model per entry, each with a BNSH. `major`: 4 to 9.
struct ShaderModel {
    std::string name;
    Data bnsh;
};
Data bfsha_models(std::span<const ShaderModel> models, unsigned major);
// Where the model records of such a file begin, and where in one the BNSH pointer is.
struct BfshaPlaces {
    uint64_t models, record_bytes, bnsh_pointer, model_count;
};
BfshaPlaces bfsha_places(unsigned major);

// BAHS: programs of variations, two per combination (vertex, pixel); others stand alone.
struct SharcProgram {
    std::string name;
    std::vector<Pair> variations;
};
// `shared_control`: stages of equal control bytes share one section, which the first of them holds; so later
// entries reach back.
Data bahs(std::span<const SharcProgram> programs, uint32_t version = 9, bool shared_control = true);

// BFRES with files embedded, each at an alignment of 0x1000.
Data bfres(std::span<const Data> embedded);

// VFXB: sections ESTA, GRSN with `graphics`, its child GRSC with `compute`; empty ones have no data.
Data vfxb(const Data& graphics, const Data& compute);

// SARC entry without a name: the hash is all there is.
struct HashedMember {
    uint32_t hash;
    Data data;
};
Data sarc_without_names(std::span<const HashedMember> members, bool big_endian = false);

// U8; names are paths.
Data u8_archive(std::span<const Member> members, bool little_endian = false);

// DS file system archive. `named`: with a name table (paths), otherwise the empty one.
Data narc(std::span<const Member> members, bool named = true);

// Bezel archives: entries are zstd frames unless they are `raw`.
struct BeaEntry {
    std::string name;
    Data data;
    bool raw = false;
};
Data bea(std::span<const BeaEntry> entries, uint32_t version); // 0x10100, 0x50000, 0x60000

} // namespace dmsh::writers
