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
        {"real_cs_gaussian_blur_shared", {.pokes = {{false, 0, 0, 1}, {false, 0, 4, 0}}}},
        {"cs_append_counter", {.unordered = true, .pokes = {{false, 0, 4, 400}}}},
        {"fs_shader_clock", {.skip = "reads the clock"}},
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
