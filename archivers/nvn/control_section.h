// ControlSection: the record that NVN keeps beside each shader's code, both generations (S-001..S-004, S-019,
// S-020).
#pragma once
#include "archivers/core/bytes.h"
#include "runtime/abi/driver_segments.h"
#include "runtime/abi/result.h"
#include "runtime/abi/stage.h"
#include <array>

namespace dmsh {

constexpr uint32_t kControlMagic = 0x98761234;
constexpr uint32_t kGraphicsCodeMagic = 0x12345678;
constexpr uint32_t kComputeCodeMagic = 0x12345679;
constexpr uint32_t kControlBytesMin = 0x760; // shortest NVN section seen; NVN2 sections are shorter (S-004)
constexpr uint32_t kNvn2ControlBytesMin = 0x48; // what the fields that are always read need
constexpr uint32_t kNvn2Major = 0xc9;

// One of the two programs of a two-part vertex shader (S-017), from the list at +0x748.
struct VertexPart {
    uint32_t sph_offset = 0; // in the code area
    uint32_t length = 0;     // SPH and instructions
};

// Fields as stored; nothing is checked against the code area yet except where said.
struct ControlSection {
    bool nvn2 = false;
    uint32_t version_major = 0;
    uint32_t version_minor = 0;
    uint32_t own_length =
        0; // +0x20 as it stands; NVN2: +0x30, because the section runs up to its code; 0 = none
    uint32_t code_length = 0; // +0x704; NVN2 +0x44

    // NVN.
    uint32_t program_length = 0;              // +0x6f8: SPH and instructions
    uint32_t constants_length = 0;            // +0x6fc
    uint32_t constants_offset = 0;            // +0x700: c1, or part B of a two-part vertex shader
    uint32_t program_offset = 0;              // +0x708
    uint32_t registers = 0;                   // +0x70c
    uint32_t scratch_per_warp = 0;            // +0x710
    bool early_tests = false;                 // +0x718, fragment
    std::array<VertexPart, 2> vertex_parts{}; // +0x748, vertex; may be anything in other programs
    uint32_t local_bytes = 0;                 // +0x758 plus +0x75c, compute
    uint32_t extra_offset = 0;                // +0x7e8: data behind the fixed part (S-011)
    uint32_t extra_length = 0;                // +0x7ec
    uint32_t text_length = 0;                 // +0x18: assembly text

    // Both.
    std::array<uint32_t, 3> group{}; // threads of a workgroup: +0x748, NVN2 +0x58
    uint32_t shared_bytes = 0;       // +0x754; NVN2's place is not known

    // NVN2.
    uint32_t code_offset = 0;    // +0x30, version 0x14; 0 = none
    uint8_t stage = 0;           // +0x56
    bool has_task = false;       // +0x5e, mesh
    uint16_t payload_bytes = 0;  // +0x5a, task
    uint16_t max_vertices = 0;   // +0x60, mesh
    uint16_t max_primitives = 0; // +0x62, mesh
    uint32_t primitive_sph = 0;  // +0x64, mesh: code offset of the per-primitive SPH, if has_primitive_sph
    bool has_primitive_sph = false;
    std::optional<ComputeLayout> layout; // compute: +0xa9, +0xb1..+0xb6; nothing where the section ends before them

    // S-004: +0x20 can be believed (multiple of 4, at least 0x760). Whether it fits the container is the
    // caller's check.
    bool own_length_valid() const;
    // Compute thread group that hardware could run: each 1..1024, at most 1024 together.
    bool group_plausible() const;
};

// Reads the section at the start of `bytes`, which may go on behind it. Refused: wrong magic, too short for
// its generation, a compute layout whose length is not the one at +0xba (S-021).
Result<ControlSection> read_control(Bytes bytes);

// S-011: bytes from the section's start to where the next thing of a back-to-back stream can begin: own
// length, extra data, and 8-byte alignment after assembly text. 0 if the own length is not valid.
uint64_t control_stride(const ControlSection& control);

} // namespace dmsh
