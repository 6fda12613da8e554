// NVN2's per-shader layout of c[0] (T-160, T-180), on the shader that showed it: 13 uniform entries, 4 textures, 32 separate textures,
// 13 separate samplers and 5 images in 0x290 bytes.
#include "tests/passes/ir_shader.h"
#include <gmock/gmock.h>

namespace dmsh {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr ComputeLayout kLayout{.uniforms = 13, .textures = 4, .separate_textures = 32, .separate_samplers = 13, .images = 5};

ShaderModule reading(const std::string& offset, const ComputeLayout& layout) {
    auto s = shader_from("  %i = call i32 @dmsh.special(i32 1)\n  %d = add i32 %i, 24\n  %v = call i32 @dmsh.cbuf.load(i32 0, i32 " + offset +
                             ")\n  call void @dmsh.shared.store.i32(i32 0, i32 %v)\n  ret void",
                         Stage::compute);
    s.input.layout = layout;
    return s;
}

// Where c[0] at `offset` is read after the pass.
std::string place(uint32_t offset, const ComputeLayout& layout = kLayout) {
    auto s = reading(std::to_string(offset), layout);
    const std::string text = after(s, map_compute_layout);
    const size_t at = text.find("@dmsh.cbuf.load(") + 16;
    return text.substr(at, text.find(')', at) - at);
}

std::string in(uint32_t bank, uint32_t offset) { return "i32 " + std::to_string(bank) + ", i32 " + std::to_string(offset); }

TEST(Nvn2C0, LengthOfTheLayout) { EXPECT_EQ(kLayout.end(), 0x290u); }

TEST(Nvn2C0, Map) {
    constexpr uint32_t kTextures = 0x10 + 13 * 0x10, kSeparate = kTextures + 4 * 8, kSamplers = kSeparate + 32 * 8,
                       kImages = kSamplers + 13 * 8;
    EXPECT_EQ(place(0x10 + 5 * 0x10 + 4), in(0, 0x210 + 5 * 0x10 + 4));
    EXPECT_EQ(place(kTextures + 3 * 8), in(2, 0x20 + 3 * 8));
    for (const uint32_t k : {22u, 24u, 31u})
        EXPECT_EQ(place(kSeparate + 8 * k), in(2, 0x168 + 8 * k));
    for (const uint32_t k : {11u, 12u})
        EXPECT_EQ(place(kSamplers + 8 * k), in(2, 0x568 + 8 * k));
    EXPECT_EQ(place(kImages + 8 * 4), in(2, 0x120 + 8 * 4));
}

TEST(Nvn2C0, PushConstantsAndStorage) {
    const ComputeLayout layout{.push_words = 6, .uniforms = 1, .storage = 2};
    EXPECT_EQ(place(0x10 + 5 * 4, layout), in(24, 5 * 4));
    EXPECT_EQ(place(0x28, layout), in(0, 0x210));
    EXPECT_EQ(place(0x38 + 0x10 + 8, layout), in(0, 0x310 + 0x10 + 8));
}

TEST(Nvn2C0, Dispatch) { // T-180
    for (const uint32_t d : {0u, 1u, 2u})
        EXPECT_EQ(place(4 + 4 * d), in(0, 0x200 + 4 * d));
}

TEST(Nvn2C0, RunTimeIndexStaysInItsRange) {
    auto s = reading("%d", {.push_words = 6});
    EXPECT_THAT(after(s, map_compute_layout), HasSubstr("add i32 %i, 8")); // 24 is the third word of the push constants
    auto bound = bind_constant_banks(s);
    ASSERT_TRUE(bound) << bound.error().text();
    ASSERT_EQ(s.interface.bindings.size(), 1u);
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::push_constants);
    EXPECT_EQ(s.interface.bindings[0].bank, 24);
}

TEST(Nvn2C0, RefusesWhatNoRangeHolds) {
    for (const uint32_t offset : {0u, 0x290u}) {
        auto s = reading(std::to_string(offset), kLayout);
        const auto r = map_compute_layout(s);
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error().code, static_cast<uint16_t>(LossCode::constant_bank));
    }
    auto s = reading("16", {.uniforms = 17});
    EXPECT_FALSE(map_compute_layout(s));
}

} // namespace
} // namespace dmsh
