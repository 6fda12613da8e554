// ShaderInterface: what one translated shader binds, reads and writes. The passes fill it, the emitters follow it,
// the pack stores it as reflection, and the runtime binds by it.
#pragma once
#include "runtime/abi/binding_kinds.h"
#include "runtime/abi/stage.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dmsh {

// One binding. Its index in ShaderInterface::bindings is what the `binding` operand of dmsh.* intrinsics names, the
// Vulkan binding is stage * 128 + index in set 0 (pools: set 1), the Metal [[id]] is `metal_id`.
struct Binding {
    BindingKind kind = BindingKind::driver;
    uint32_t slot = 0;   // NVN slot, or row of the storage table
    uint8_t bank = 0;    // constant bank for the *_in_bank kinds (and the bank read, for driver/constants/uniform)
    uint32_t offset = 0; // byte offset in that bank
    uint32_t count = 1;  // array elements (run-time slot choice); element k is slot + k or offset + stride * k
    // Textures and images.
    ImageDim dim = ImageDim::d2;
    bool arrayed = false;
    bool multisampled = false;
    bool depth = false; // sampled with depth compare
    Numeric numeric = Numeric::real;
    ImageAccess access = ImageAccess::formatted;
    bool sampled = false; // texture is used with a sampler (false: fetch and query only)
    // Buffers and images.
    bool written = false;
    bool atomic = false;
    bool dynamic = false;      // uniform/driver: read at an offset known only at run time
    uint32_t bytes_read = 0;   // uniform/driver/constants: highest constant byte read, 0 if only dynamic
    // A second handle word ORed in at bind time (B-031): 0xff = none.
    uint8_t or_bank = 0xff;
    uint32_t or_offset = 0;
    // Bits ORed in at bind time: the constant sampler half of a handle (B-041).
    uint32_t or_constant = 0;
    // Metal argument buffer: first [[id]]; a combined texture takes metal_id (texture) and metal_sampler_id.
    uint32_t metal_id = 0;
    uint32_t metal_sampler_id = 0;
};

// Vertex inputs and inter-stage values, by NVN attribute location 0..31.
struct Varying {
    uint8_t location = 0;
    uint8_t components = 0; // mask xyzw
    Numeric numeric = Numeric::real;
    uint8_t interpolation = 0; // fragment inputs: 1 constant, 2 perspective, 3 screen linear (SPH's own numbers)
    bool centroid = false;
    bool per_sample = false;
};

struct FragmentOutput {
    uint8_t target = 0;
    uint8_t components = 0; // mask
    Numeric numeric = Numeric::real;
};

// How the tessellator divides a patch: state of the tess_evaluation stage that the code itself does not show.
enum class TessDomain : uint8_t { unknown, triangles, quads, isolines };
enum class TessSpacing : uint8_t { equal, fractional_odd, fractional_even };
struct TessMode {
    TessDomain domain = TessDomain::unknown;
    TessSpacing spacing = TessSpacing::equal;
    bool clockwise = false;
    bool points = false; // point mode
};

struct ShaderInterface {
    Stage stage = Stage::compute;
    Arch arch = Arch::sm53;
    std::vector<Binding> bindings;
    std::vector<Varying> inputs;
    std::vector<Varying> outputs;
    std::vector<FragmentOutput> colours;
    uint64_t builtins_read = 0;    // bit per Builtin
    uint64_t builtins_written = 0; // bit per Builtin
    std::array<uint32_t, 3> local_size{1, 1, 1};
    uint32_t shared_bytes = 0;
    uint32_t local_bytes = 0; // scratch per thread
    bool early_tests = false;
    bool demotes = false;      // KIL
    bool writes_memory = false;
    bool per_sample = false;   // sample index read (T-031)
    bool uses_derivatives = false;
    bool uses_lanes = false; // vote, shuffle, match
    // Geometry and tessellation.
    uint8_t input_primitive = 0; // geometry: vertices of the input primitive that the module is made for: 1, 2, 3,
                                 // with adjacency 4 (lines) and 6; the draw decides, stage_state.h changes it
    uint8_t output_topology = 0; // SPH: 1 points, 6 line strip, 7 triangle strip
    uint32_t max_vertices = 0;
    uint32_t invocations = 1;  // geometry; tess_control: vertices of the output patch
    bool passthrough = false;  // geometry: the input primitive leaves as it is (SPH word 0 bit 24)
    TessMode tess;             // tess_control: the domain that the written levels tell, or unknown
    uint8_t tess_levels = 0;   // read or written, the SPH's bits: outer 0..3, inner 0..1
    uint32_t patch_inputs = 0, patch_outputs = 0; // bit per location of per-patch values
};

// Builtin values, as bits of builtins_read / builtins_written.
enum class Builtin : uint8_t {
    position, point_size, clip_distance, layer, viewport, viewport_mask, primitive_id, vertex_id, instance_id,
    base_vertex, base_instance, draw_index, frag_coord, front_facing, point_coord, sample_id, sample_mask, frag_depth,
    helper, tess_coord, tess_levels, invocation_id, thread_id, group_id, group_count, lane_id,
};

constexpr uint64_t builtin_bit(Builtin b) { return uint64_t{1} << static_cast<unsigned>(b); }

} // namespace dmsh
