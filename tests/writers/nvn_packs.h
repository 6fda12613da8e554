// Writers of the containers that only NVN knows: Switch 2's shader packs, single-stage binaries, tables of
// offsets, lists of compiler outputs. From reference/containers (nvn-binaries.md, nintendo.md 17, misc.md 4,
// 5 and 14).
#pragma once
#include "tests/writers/writers.h"

namespace dmsh::writers {

// An NVN2 pair as packs of version 0x11 keep it: nothing at +0x30 says where the code is.
Pair nvn2_pair_without_offset(Stage stage, uint32_t counter = 0);

// One entry of an NDSR pack: `type` in the record's low four bits.
struct NdsrEntry {
    uint32_t type = 0; // 0, 3, 6 control section; 1, 4, 7 code area; others constants
    Data data;
};
// Control section and code area of `p` as two entries of types `type` and `type` + 1.
std::vector<NdsrEntry> ndsr_program(const Pair& p, uint32_t type = 0);
// Records begin at `start` (0x10 or 0x14) of the pack.
Data ndsr(std::span<const NdsrEntry> entries, uint64_t start = 0x10);
// A resource of the Viper engine around `pack`.
Data vipr(std::span<const uint8_t> pack);

// The movie library's pack: `raw` programs name their code themselves, `named` ones (version 0x11) by a
// record table at +0x28 that stands among words of other kinds.
Data ndve(std::span<const Pair> raw, std::span<const Pair> named);

// The Viper engine's single-stage binary: GLSLC's magic, lengths, hash, code area, control section.
Data viper_binary(const Pair& p);

// Four offsets (two control sections, two code areas), then the four, each padded to `alignment`.
Data offset_table(const Pair& first, const Pair& second, uint64_t alignment = 0x100);

// u32 count, then {u32 hash, u32 size, output}.
Data output_list(std::span<const Data> outputs);
// Valve's NVSB: 0x60-byte header and one output.
Data nvsb(const Data& output, uint32_t version = 0x65);
// A technique file: `TEC`, a table of parameter names, then whole outputs.
Data tec(std::span<const Data> outputs);

} // namespace dmsh::writers
