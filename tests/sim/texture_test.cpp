// The reference sampler against values worked out by hand from the Vulkan specification's equations.
#include "compiler/sim/texture/texture_set.h"
#include <bit>
#include <gtest/gtest.h>

namespace dmsh::sim {
namespace {

float f(uint32_t w) { return std::bit_cast<float>(w); }
uint32_t w(float v) { return std::bit_cast<uint32_t>(v); }

// A row of `n` texels 0, 1, 2, ... in the red channel.
Texture ramp(uint32_t width, uint32_t height = 1, uint32_t levels = 1) {
    Texture t;
    t.dim = height == 1 ? ImageDim::d1 : ImageDim::d2;
    t.format = {1, 32, TexelKind::real};
    t.width = width, t.height = height;
    t.allocate(levels);
    for (uint32_t l = 0; l < levels; ++l)
        for (uint32_t y = 0; y < t.height_at(l); ++y)
            for (uint32_t x = 0; x < t.width_at(l); ++x)
                encode_texel(t.format, {w(static_cast<float>(100 * l + 10 * y + x)), 0, 0, 0}, t.at(l, x, y, 0));
    return t;
}
float red(const Texture& t, const Sampler& s, std::array<float, 3> at, float lod = 0) { return f(sample(t, s, {at, 0, {}, false, 0}, lod)[0]); }

TEST(ReferenceSampler, NearestTakesTheTexelThatHoldsThePoint) {
    const Texture t = ramp(4);
    Sampler s;
    EXPECT_EQ(red(t, s, {0.0f}), 0);
    EXPECT_EQ(red(t, s, {0.24f}), 0);
    EXPECT_EQ(red(t, s, {0.25f}), 1);
    EXPECT_EQ(red(t, s, {0.99f}), 3);
}

TEST(ReferenceSampler, LinearWeighsByDistanceOfCentres) {
    const Texture t = ramp(4, 4);
    Sampler s;
    s.mag = s.min = Filter::linear;
    s.wrap = {Wrap::clamp_to_edge, Wrap::clamp_to_edge, Wrap::clamp_to_edge};
    EXPECT_EQ(red(t, s, {0.375f, 0.125f}), 1);    // a centre
    EXPECT_EQ(red(t, s, {0.5f, 0.125f}), 1.5f);   // halfway along x
    EXPECT_EQ(red(t, s, {0.375f, 0.25f}), 6);     // halfway along y: (1 + 11) / 2
    EXPECT_EQ(red(t, s, {0.0f, 0.125f}), 0);      // clamped
}

TEST(ReferenceSampler, WrapsOfEveryKind) {
    const Texture t = ramp(4);
    const auto at = [&](Wrap wrap, float x) {
        Sampler s;
        s.wrap[0] = wrap;
        s.border = {w(-5), 0, 0, 0};
        return red(t, s, {x});
    };
    EXPECT_EQ(at(Wrap::repeat, 1.3f), 1);
    EXPECT_EQ(at(Wrap::repeat, -0.1f), 3);
    EXPECT_EQ(at(Wrap::mirror, 1.1f), 3);
    EXPECT_EQ(at(Wrap::mirror, -0.3f), 1);
    EXPECT_EQ(at(Wrap::clamp_to_edge, 7), 3);
    EXPECT_EQ(at(Wrap::clamp_to_border, 1.1f), -5);
    EXPECT_EQ(at(Wrap::mirror_once, -0.3f), 1);
    EXPECT_EQ(at(Wrap::mirror_once, 2.0f), 3);
}

TEST(ReferenceSampler, LevelsByDerivativeBiasAndClamp) {
    const Texture t = ramp(8, 8, 4);
    EXPECT_EQ(level_of_detail(t, {}, {0.25f, 0, 0}, {0, 0.125f, 0}), 1); // two texels to the right, one down
    EXPECT_EQ(level_of_detail(t, {}, {0, 0, 0}, {0, 0.5f, 0}), 2);
    Sampler s;
    s.mip = Mip::linear;
    EXPECT_EQ(red(t, s, {0, 0}, 0.5f), 50); // halfway between levels 0 and 1
    s.mip = Mip::nearest;
    EXPECT_EQ(red(t, s, {0, 0}, 0.5f), 0); // rounded down at the half
    EXPECT_EQ(red(t, s, {0, 0}, 0.51f), 100);
    EXPECT_EQ(red(t, s, {0, 0}, 9), 300);
    s.lod_bias = 1;
    EXPECT_EQ(red(t, s, {0, 0}, 1), 200);
    s.lod_max = 1;
    EXPECT_EQ(red(t, s, {0, 0}, 1), 100);
}

TEST(ReferenceSampler, ComparesBeforeItFilters) {
    const Texture t = ramp(4);
    Sampler s;
    s.mag = Filter::linear;
    s.compare = Compare::less;
    s.wrap[0] = Wrap::clamp_to_edge;
    Lookup q{{0.5f, 0, 0}, 0, {}, true, 1.5f}; // between 1 and 2: 1.5 < 1 no, 1.5 < 2 yes
    EXPECT_EQ(f(sample(t, s, q, 0)[0]), 0.5f);
}

TEST(ReferenceSampler, GatherGoesCounterClockwiseFromLowerLeft) {
    const Texture t = ramp(4, 4);
    Sampler s;
    const Texel g = gather(t, s, {{0.5f, 0.5f, 0}, 0, {}, false, 0}, 0, {});
    EXPECT_EQ(f(g[0]), 21);
    EXPECT_EQ(f(g[1]), 22);
    EXPECT_EQ(f(g[2]), 12);
    EXPECT_EQ(f(g[3]), 11);
}

TEST(ReferenceSampler, CubeFacesAndTheirEdges) {
    Texture t;
    t.dim = ImageDim::cube;
    t.format = {1, 32, TexelKind::real};
    t.width = t.height = 2;
    t.layers = 6;
    t.allocate(1);
    for (uint32_t face = 0; face < 6; ++face)
        for (uint32_t k = 0; k < 4; ++k)
            encode_texel(t.format, {w(static_cast<float>(10 * face + k)), 0, 0, 0}, t.at(0, k % 2, k / 2, face));
    Sampler s;
    EXPECT_EQ(red(t, s, {1, 0.5f, 0.5f}), 0);    // +x: s = -z, t = -y
    EXPECT_EQ(red(t, s, {-1, 0.5f, 0.5f}), 11);  // -x: s = z
    EXPECT_EQ(red(t, s, {0.5f, 1, 0.5f}), 23);   // +y: s = x, t = z
    EXPECT_EQ(red(t, s, {0.5f, 0.5f, 1}), 41);   // +z: s = x, t = -y
    EXPECT_EQ(red(t, s, {0.5f, 0.5f, -1}), 50);  // -z: s = -x
    // Halfway over the edge between +x and +z a linear filter sees both faces: (0 + 1 + 40 + 41 and the rows below) weighed equally.
    s.mag = Filter::linear;
    EXPECT_EQ(red(t, s, {1, 0.5f, 1}), (0.0f + 41.0f) / 2);
}

TEST(ReferenceSampler, FormatsDecodeAndEncode) {
    const auto once = [](TexelFormat format, std::vector<uint8_t> bytes) { return decode_texel(format, bytes.data()); };
    EXPECT_EQ(f(once({4, 8, TexelKind::unorm}, {255, 0, 51, 255})[2]), 0.2f);
    EXPECT_EQ(f(once({2, 8, TexelKind::snorm}, {0x80, 0x7f})[0]), -1);
    EXPECT_EQ(f(once({1, 16, TexelKind::real}, {0x00, 0x3c})[0]), 1);
    EXPECT_EQ(f(once({1, 16, TexelKind::real}, {0x01, 0x00})[0]), 0x1p-24f);
    EXPECT_EQ(once({1, 8, TexelKind::sint}, {0xff})[0], 0xffffffff);
    EXPECT_EQ(once({1, 8, TexelKind::uint}, {0xff})[3], 1u); // missing alpha of an integer texture
    EXPECT_NEAR(f(once({4, 8, TexelKind::srgb}, {188, 0, 0, 128})[0]), 0.5029f, 1e-4);
    for (const TexelFormat format : {TexelFormat{4, 8, TexelKind::unorm}, {4, 8, TexelKind::srgb}, {4, 16, TexelKind::snorm}, {4, 16, TexelKind::real}}) {
        std::vector<uint8_t> in(format.bytes()), out(format.bytes());
        for (size_t k = 0; k < in.size(); ++k)
            in[k] = static_cast<uint8_t>(37 * k + 11);
        encode_texel(format, decode_texel(format, in.data()), out.data());
        EXPECT_EQ(in, out);
    }
}

} // namespace
} // namespace dmsh::sim
