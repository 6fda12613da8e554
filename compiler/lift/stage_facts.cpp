// From the SPH to ShaderInterface.
#include "compiler/lift/stage_facts.h"
#include <fmt/format.h>

namespace dmsh {
namespace {

struct BuiltinAt {
    uint32_t first, last; // attribute byte addresses of words, inclusive
    Builtin builtin;
};

// Attribute space (nvn-binaries.md, section 5.2): the same addresses for input and output unless said.
constexpr BuiltinAt kInputs[] = {
    {0x060, 0x060, Builtin::primitive_id}, {0x064, 0x064, Builtin::layer},       {0x068, 0x068, Builtin::viewport},
    {0x06c, 0x06c, Builtin::point_size},   {0x070, 0x07c, Builtin::position},    {0x2c0, 0x2dc, Builtin::clip_distance},
    {0x2e0, 0x2e4, Builtin::point_coord},  {0x2f0, 0x2f4, Builtin::tess_coord},  {0x2f8, 0x2f8, Builtin::instance_id},
    {0x2fc, 0x2fc, Builtin::vertex_id},
};
constexpr BuiltinAt kOutputs[] = {
    {0x060, 0x060, Builtin::primitive_id}, {0x064, 0x064, Builtin::layer},      {0x068, 0x068, Builtin::viewport},
    {0x06c, 0x06c, Builtin::point_size},   {0x070, 0x07c, Builtin::position},   {0x2c0, 0x2dc, Builtin::clip_distance},
    {0x3a0, 0x3a0, Builtin::viewport_mask},
};

template <class List> Numeric numeric_of(const List& list, uint8_t key) {
    for (const auto& [k, n] : list)
        if (k == key)
            return n;
    return Numeric::real;
}

} // namespace

Result<StageFacts> read_stage_facts(const ShaderInput& input) {
    if (input.stage == Stage::compute)
        return StageFacts{};
    auto sph = read_sph(input.sph);
    if (!sph)
        return sph;
    const bool vertex_like = sph->stage == input.stage || (input.stage == Stage::vertex && sph->shader_type == 0);
    if (!vertex_like)
        return Error{fmt::format("the header is that of a {} shader, not {}", stage_name(sph->stage), stage_name(input.stage))};
    return sph;
}

void fill_interface(ShaderModule& shader, const StageFacts& facts) {
    const ShaderInput& input = shader.input;
    ShaderInterface& io = shader.interface;
    io.stage = input.stage;
    io.arch = input.arch;
    io.local_size = input.local_size;
    io.shared_bytes = input.shared_bytes;
    io.early_tests = input.early_tests;
    io.per_sample = input.sample_shading;
    io.local_bytes = input.local_bytes;
    if (input.stage == Stage::compute)
        return;
    io.local_bytes = facts.local_bytes();
    io.output_topology = facts.output_topology;
    io.max_vertices = facts.max_output_vertices;
    if (input.stage == Stage::geometry || input.stage == Stage::tess_control)
        io.invocations = facts.threads_per_input_primitive ? facts.threads_per_input_primitive : 1;
    if (input.stage == Stage::geometry) {
        io.input_primitive = input.input_primitive;
        io.passthrough = facts.geometry_passthrough;
    }
    if (input.stage == Stage::tess_control) {
        io.tess_levels = facts.tess_levels_written;
        // All that the header has room for behind the levels; the passes leave what the code writes.
        constexpr uint32_t kLevelWords = 8;
        const uint32_t locations = facts.patch_attributes > kLevelWords ? (facts.patch_attributes - kLevelWords + 3) / 4 : 0;
        io.patch_outputs = locations < 32 ? (1u << locations) - 1 : ~0u;
    }
    if (input.stage == Stage::tess_evaluation) {
        io.tess_levels = facts.tess_levels_read;
        io.tess = input.tess;
    }
    for (uint8_t location = 0; location < 32; ++location) {
        if (const uint8_t mask = facts.generic_inputs(location)) {
            Varying v;
            v.location = location;
            v.components = mask;
            if (input.stage == Stage::vertex)
                v.numeric = numeric_of(input.vertex_inputs, location);
            for (unsigned k = 0; k < 4; ++k)
                if (mask >> k & 1 && !v.interpolation)
                    v.interpolation = static_cast<uint8_t>(facts.generic_interpolation(location, k));
            io.inputs.push_back(v);
        }
        if (const uint8_t mask = facts.generic_outputs(location)) {
            Varying v;
            v.location = location;
            v.components = mask;
            io.outputs.push_back(v);
        }
    }
    for (const BuiltinAt& entry : kInputs)
        for (uint32_t a = entry.first; a <= entry.last; a += 4)
            if (facts.reads(a)) {
                const bool frag_coord = input.stage == Stage::fragment && entry.builtin == Builtin::position;
                io.builtins_read |= builtin_bit(frag_coord ? Builtin::frag_coord : entry.builtin);
            }
    if (input.stage == Stage::fragment) {
        for (uint8_t target = 0; target < 8; ++target)
            if (const uint8_t mask = facts.target_components(target))
                io.colours.push_back({target, mask, numeric_of(input.colour_outputs, target)});
        if (facts.sample_mask_output)
            io.builtins_written |= builtin_bit(Builtin::sample_mask);
        if (facts.depth_output)
            io.builtins_written |= builtin_bit(Builtin::frag_depth);
    } else {
        for (const BuiltinAt& entry : kOutputs)
            for (uint32_t a = entry.first; a <= entry.last; a += 4)
                if (facts.writes(a))
                    io.builtins_written |= builtin_bit(entry.builtin);
    }
}

} // namespace dmsh
