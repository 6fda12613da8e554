// Writers of every container that a reader knows, for tests and for the sample RomFS. Written from the
// documents (reference/containers), not from the readers: they share no code with archivers/.
#pragma once
#include "runtime/abi/stage.h"
#include "tests/writers/buffer.h"
#include <array>
#include <string>

namespace dmsh::writers {

// A shader as the console's compiler gives it.
struct Pair {
    Stage stage = Stage::vertex;
    Data control;
    Data code;
};

// What goes around machine code to make a pair of it.
struct Wrapping {
    Stage stage = Stage::vertex;
    bool header = true; // compute only: with the 0x12345679 header
    std::array<uint32_t, 3> group{1, 1, 1};
    uint32_t shared_bytes = 0;
    uint32_t local_bytes = 0; // compute
    uint32_t registers = 8;
    bool early_tests = false;
    uint32_t control_bytes = 0x880;
    uint32_t own_length = 0; // +0x20; 0 = control_bytes
    uint32_t counter = 0;    // written to +0x7d0, makes pairs distinct
};

// Maxwell code (SPH and instructions, or instructions for compute) and its c1 constants as a control section
// and code area.
Pair wrap(std::span<const uint8_t> program, std::span<const uint8_t> c1, const Wrapping& how);
// The smallest pair of nvn-binaries.md, section 8.
Pair small_pair(Stage stage, uint32_t counter = 0, bool header = true);
// An NVN2 pair: the control section names its code at +0x30.
Pair small_nvn2_pair(Stage stage, uint32_t counter = 0);
// Control section directly followed by code, each padded to `alignment`.
Data raw_pair(const Pair& p, uint64_t alignment = 8);

// GLSLC output with one GPU-code section per pair and a reflection section behind them.
Data glslc_output(std::span<const Pair> stages);
Data glslc_output_nvn2(std::span<const Pair> stages);

// BNSH: one program per entry of `programs`, each a list of stages. Several variations of the last program
// point at it.
Data bnsh(std::span<const std::vector<Pair>> programs, uint32_t extra_variations = 0);
// BFSHA around one BNSH file.
Data bfsha(const Data& bnsh_file);

struct Member {
    std::string name;
    Data data;
};
Data sarc(std::span<const Member> members, bool big_endian = false);
Data yaz0(std::span<const uint8_t> data);          // with copies
Data yaz0_literals(std::span<const uint8_t> data); // flag byte 0xff throughout
Data zstd(std::span<const uint8_t> data, int level = 9, bool content_size = true);

// Executables. `text`, `rodata`, `data`: contents of the segments.
Data nso(const Data& text, const Data& rodata, const Data& data, bool compress = true, bool hashes = true);
Data nro(const Data& text, const Data& rodata, const Data& data, const Data& romfs = {});

// RomFS level-3 image; names are paths with '/'. And the hashed image around one.
Data romfs(std::span<const Member> files);
Data ivfc(const Data& level3);

} // namespace dmsh::writers
