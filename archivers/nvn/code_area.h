// CodeArea: where header, SPH, instructions and constants lie in a code area, and whether that can be true
// (S-008..S-010).
#pragma once
#include "archivers/nvn/control_section.h"
#include "archivers/nvn/sph.h"

namespace dmsh {

// Offsets in the code area. `program` is the exact start of the instructions.
struct CodeArea {
    Stage stage = Stage::vertex;
    Arch arch = Arch::sm53;
    bool graphics = false;
    uint32_t sph = 0; // graphics only
    uint32_t sph_bytes = 0;
    uint32_t program = 0;
    uint32_t constants = 0;     // c1; the end of the instructions
    uint32_t constants_end = 0; // the end of the area
    bool two_part =
        false; // vertex parts A and B (S-017): `program` and `constants` are part A's and what follows B
    std::array<VertexPart, 2> parts{};
};

// Lays out `code`, which must be exactly as long as the control section says. The stage is decided in the
// order of S-012: NVN2's stage byte, compute magic or headerless compute, SPH. Refused with a reason: lengths
// that do not agree, no code magic, non-zero padding before compute instructions, c1 outside the area, SPH
// that is none, impossible thread group.
Result<CodeArea> layout_code(const ControlSection& control, Bytes code);

// S-010: are these instructions, counted from their first byte? Maxwell: every group up to the last EXIT or
// branch to itself begins with a scheduling word, and those two sit in instruction slots. Ampere: an EXIT in
// a 16-byte slot.
Result<void> check_program_start(Arch arch, Bytes instructions);

} // namespace dmsh
