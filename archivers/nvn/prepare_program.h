// prepare_program: from a record's bytes to what the lifter reads: SPH, instructions, constants, sizes
// (S-002, S-008..S-010, S-017, S-022).
#pragma once
#include "archivers/core/blob.h"
#include "archivers/nvn/code_area.h"

namespace dmsh {

// Views the code area that it was made from, except for merged vertex programs, whose bytes it holds itself.
struct PreparedProgram {
    Stage stage = Stage::compute;
    Arch arch = Arch::sm53;
    Sph sph;                                     // graphics
    Bytes sph_bytes;                             // graphics: 0x50 or 0x80 bytes; else empty
    Bytes instructions;                          // from the exact program start to c1
    Bytes constants;                             // c1; NVN2: empty (its place is not known)
    std::array<uint32_t, 3> local_size{1, 1, 1}; // compute, task, mesh
    uint32_t shared_bytes = 0;
    uint32_t local_bytes = 0; // scratch per thread: compute from the control section, graphics from the SPH
    std::optional<ComputeLayout> layout; // NVN2 compute: what c[0] holds
    bool early_tests = false; // fragment, and depth is not written (S-022)
    bool merged = false;      // vertex parts A and B became one program
    // Mesh: the per-primitive outputs' header, if there is one.
    Bytes primitive_sph;
    std::shared_ptr<const std::vector<uint8_t>> owned; // of merged programs
};

// `control` and `code` as in ShaderRecord. Errors say what of the shader does not hold; nothing is guessed.
Result<PreparedProgram> prepare_program(Bytes control, Bytes code);

} // namespace dmsh
