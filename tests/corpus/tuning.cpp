// Which shaders need other data than the defaults, and why.
#include "tests/corpus/scene.h"

namespace dmsh::test {

const Tuning& tuning(const std::string& name) {
    static const Tuning defaults;
    static const Tuning wide{.wide_integers = true};
    static const std::map<std::string, Tuning> table = {
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
