// Which shaders need other data than the defaults, and why.
#include "tests/corpus/scene.h"

namespace dmsh::test {

const Tuning& tuning(const std::string& name) {
    static const Tuning defaults;
    static const Tuning wide{.wide_integers = true};
    static const std::map<std::string, Tuning> table = {
        // An index beyond a descriptor array is undefined.
        {"fs_ubo_array_dynamic_block", {.integer_limit = 3}},
        {"fs_ssbo_array_dynamic_block", {.pokes = {{false, 0, 0, 1}}}},
        {"fs_sampler_array_uniform_index", {.pokes = {{false, 0, 0, 3}, {false, 0, 4, 4}}}},
        {"cs_ssbo_dynamic_block", {.pokes = {{false, 0, 0, 0}}}}, // other choices race
        // Counts.
        {"real_cs_frustum_cull_indirect", {.unordered = true, .pokes = {{false, 0, 176, 300}}}},
        {"real_cs_tiled_light_cull", {.unordered = true, .pokes = {{false, 0, 144, 300}}}},
        {"real_cs_nbody_tile", {.pokes = {{false, 0, 0, 200}, {false, 0, 8, 0x3f000000}}}},
        {"real_cs_prefix_sum", {.pokes = {{false, 0, 0, 1000}}}},
        {"real_cs_gaussian_blur_shared",
         {.groups = {1, 16, 1}, .pokes = {{false, 0, 0, 1}, {false, 0, 4, 0}}}},
        {"cs_append_counter", {.unordered = true, .pokes = {{false, 0, 4, 400}}}},
        {"fs_shader_clock", {.skip = "reads the clock"}},
        // What cannot be compared, and why.
        // Returned values depend on the order of contended atomics.
        {"fs_ssbo_atomics_uint", {.single = true}},
        {"vs_instancing_ubo", // its code masks the choice of a component away (LOP -16), unlike its source
         {.ignored_output = "1.0"}},
        // Across two faces of a cube, derivatives of the place on the face say nothing: the code projects before it
        // differentiates, the driver afterwards.
        {"fs_query_lod", {.cube = 0, .floor = 3.0f / 256}}, // three levels are added, each cut off to 1/256
        {"fs_tex_cube", {.cube = 0}},
        {"fs_shadow_cube", {.cube = 0, .gradient = 1}},
        {"fs_texgrad_cubearray", {.cube = 0, .gradient = 1}},
        // pow() of negative exponents and roots of negative numbers say nothing.
        {"real_fs_water_surface", {.low = 0.0625f, .high = 2.0f}},
        {"real_fs_terrain_splat", {.low = 0.0625f, .high = 2.0f}},
        {"vs_texel_fetch_heightmap", {.pokes = {{false, 0, 80, 8}, {false, 0, 84, 8}}}},
        {"vs_ubo_block_array_dynamic", {.integer_limit = 1}}, // the choice must be the same for all vertices
        // Words that are floats or halves to the code.
        {"asm_cs_atom_inc_dec_wide", {.pokes = {{true, 2, 24, 0x40490000, 32}}}},
        {"asm_cs_half2_merge_cbuf", {.pokes = {{false, 0, 0, 0xbe004200}}}},
        // Integers over their whole range.
        {"asm_cs_cc_csetp_carry_chain", wide},
        {"asm_cs_isetp_x_wide_compare", wide},
        {"asm_cs_lop3", wide},
        {"asm_cs_prmt_modes", wide},
        {"asm_cs_shf_funnel", wide},
        {"asm_cs_iadd3", wide},
        {"cs_bitfield_pack", wide},
        {"cs_int_division", wide},
        {"cs_int64_pack_shift", wide},
        {"cs_mul_extended_carry", wide},
        {"fs_bitfield_ops", wide},
        {"fs_int_division", wide},
        {"fs_mul_extended_carry", wide},
        {"vs_attrs_uint_packed", wide},
    };
    const auto it = table.find(name);
    return it == table.end() ? defaults : it->second;
}

} // namespace dmsh::test
