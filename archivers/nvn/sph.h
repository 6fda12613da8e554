// Sph: the Shader Program Header in front of graphics code, decoded (versions 3 and 4).
#pragma once
#include "archivers/core/bytes.h"
#include "runtime/abi/result.h"
#include "runtime/abi/stage.h"
#include <array>
#include <bitset>

namespace dmsh {

constexpr uint32_t kSphBytes3 = 0x50; // version 3 (Maxwell)
constexpr uint32_t kSphBytes4 = 0x80; // version 4 (Ampere)

// A set of attribute components, by attribute address / 4: a[0x070] is element 28. System values (0x060
// primitive ID, 0x064 layer, 0x068 viewport index, 0x06c point size, 0x070..0x07c position), generics (0x080
// + 16 i + 4 c), colours (0x280..), clip distances (0x2c0..), point coordinate (0x2e0..), fog (0x2e8),
// tessellation coordinate (0x2f0..), instance and vertex ID (0x2f8, 0x2fc), fixed-function texture
// coordinates (0x300..), viewport mask (0x3a0), barycentrics (0x3a8..).
using AttributeSet = std::bitset<256>;

// The header's own numbers for how a fragment input is interpolated.
enum class Interpolation : uint8_t { none = 0, constant = 1, perspective = 2, screen_linear = 3 };

// OutputTopology's own numbers.
enum class SphTopology : uint8_t { none = 0, points = 1, line_strip = 6, triangle_strip = 7 };

// Every fact of the header. Fields that a stage does not have are 0; so are fields that a version does not
// have.
struct Sph {
    uint32_t bytes = 0;      // length of the header, 0x50 or 0x80: instructions begin right after it
    uint8_t type = 0;        // 1 vertex, tessellation, geometry layout; 2 pixel layout
    uint8_t version = 0;     // 3 or 4
    uint8_t shader_type = 0; // 0 first vertex slot, 1 vertex, 2 hull, 3 domain, 4 geometry, 5 pixel
    uint8_t sass_version = 0;
    // From shader_type alone: task and mesh headers look like vertex and tess_evaluation (S-020).
    Stage stage = Stage::vertex;

    bool multiple_targets = false; // MrtEnable: each target has its own registers
    bool kills_pixels = false;
    bool global_store = false;
    bool load_or_store = false; // version 3
    bool fp64 = false;          // version 3
    bool geometry_passthrough = false;
    uint8_t stream_out_mask = 0;

    uint32_t local_low_bytes = 0;  // per thread
    uint32_t local_high_bytes = 0; // per thread
    uint32_t call_stack_bytes = 0; // per warp; version 3
    uint32_t local_bytes() const { return local_low_bytes + local_high_bytes; }

    uint8_t patch_attributes = 0;            // hull: words of a patch, the eight of the levels included
    uint8_t threads_per_input_primitive = 0; // hull: output control points; geometry: invocations
    uint8_t output_topology = 0;             // geometry, domain: SphTopology's numbers
    uint16_t max_output_vertices = 0;        // geometry
    uint8_t store_request_start = 0;         // outputs kept, in attribute words
    uint8_t store_request_end = 0;

    AttributeSet inputs;
    AttributeSet outputs;         // not for pixel shaders
    uint8_t tess_levels_read = 0; // version 3, a bit each: left, right, bottom, top, interior U, interior V
    uint8_t tess_levels_written = 0; // the same
    bool vprs_table_index = false;   // version 4, read

    AttributeSet view_outputs; // version 4: the VMAP

    // Pixel shaders.
    std::array<Interpolation, 256> interpolation{}; // of inputs whose field has two bits; others none
    uint32_t targets = 0;                           // colour outputs: bit 4 * target + component
    bool sample_mask_output = false;
    bool depth_output = false;
    bool interlock_ticket = false;  // version 4
    bool inner_coverage = false;    // version 4
    AttributeSet per_vertex_inputs; // version 4: read for each vertex, not interpolated

    bool reads(uint32_t address) const { return address < 0x400 && inputs[address / 4]; }
    bool writes(uint32_t address) const { return address < 0x400 && outputs[address / 4]; }
    // Components (mask xyzw) of generic attribute `location` (0..31).
    uint8_t generic_inputs(unsigned location) const { return nibble(inputs, location); }
    uint8_t generic_outputs(unsigned location) const { return nibble(outputs, location); }
    Interpolation generic_interpolation(unsigned location, unsigned component) const {
        return location < 32 ? interpolation[32 + 4 * location + component % 4] : Interpolation::none;
    }
    uint8_t target_components(unsigned target) const {
        return target < 8 ? static_cast<uint8_t>(targets >> (4 * target) & 15) : 0;
    }

  private:
    static uint8_t nibble(const AttributeSet& set, unsigned location) {
        uint8_t mask = 0;
        for (unsigned c = 0; c < 4 && location < 32; ++c)
            mask = static_cast<uint8_t>(mask | set[32 + 4 * location + c] << c);
        return mask;
    }
};

// Reads the header at the start of `bytes` (which may go on behind it). Refused: too short, a version other
// than 3 or 4, a layout or shader type that does not exist, a layout that is not that of the shader type. Bit
// positions: reference/containers/nvn-binaries.md, section 5.
Result<Sph> read_sph(Bytes bytes);

// S-023: does `producer` (vertex) feed `consumer` (hull, geometry)? True when the generic maps are equal.
bool feeds(const Sph& producer, const Sph& consumer);

} // namespace dmsh
