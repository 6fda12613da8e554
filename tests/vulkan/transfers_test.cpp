// Copies, clears and resolves of every kind: what lies where afterwards, against arithmetic.
#include "tests/vulkan/machine.h"
#include <cmath>

namespace dmsh::test {
namespace {

Machine plain() {
    return Machine({});
}

// Texel (x, y, layer, level) of a test pattern.
uint32_t texel(uint32_t x, uint32_t y, uint32_t layer = 0, uint32_t level = 0) {
    return x | y << 8 | layer << 16 | (level + 1) << 24;
}
std::vector<uint32_t> pattern(uint32_t w, uint32_t h, uint32_t layer = 0, uint32_t level = 0) {
    std::vector<uint32_t> p;
    for (uint32_t y = 0; y < h; ++y)
        for (uint32_t x = 0; x < w; ++x)
            p.push_back(texel(x, y, layer, level));
    return p;
}

TEST(Copies, LevelsAndLayersComeBack) {
    Machine m = plain();
    NEED(m);
    TextureShape s{20, 12, 3, NVN_FORMAT_RGBA8, NVN_TEXTURE_TARGET_2D_ARRAY, 3};
    NVNtexture* t = m.texture(s);
    for (int layer = 0; layer < 3; ++layer)
        for (int level = 0; level < 3; ++level)
            m.write(t, pattern(20u >> level, 12u >> level, layer, level).data(), level, layer);
    for (int layer = 0; layer < 3; ++layer)
        for (int level = 0; level < 3; ++level)
            EXPECT_EQ(m.pixels_as<uint32_t>(t, level, layer),
                      pattern(20u >> level, 12u >> level, layer, level))
                << layer << " " << level;
}

TEST(Copies, AnyStrideAndAddress) {
    Machine m = plain();
    NEED(m);
    TextureShape s{8, 8, 2, NVN_FORMAT_R8, NVN_TEXTURE_TARGET_2D_ARRAY};
    for (const auto& [row, image] : {std::pair<int64_t, int64_t>{11, 90}, {16, 128}, {12, 100}, {0, 0}}) {
        NVNtexture* t = m.texture(s);
        const NVNbufferAddress from = m.take(4096) + 3, to = m.take(4096) + 1;
        const int64_t r = row ? row : 5, i = image ? image : 4 * r;
        for (int64_t z = 0; z < 2; ++z)
            for (int64_t y = 0; y < 4; ++y)
                for (int64_t x = 0; x < 5; ++x)
                    reinterpret_cast<uint8_t*>(from)[z * i + y * r + x] =
                        static_cast<uint8_t>(x + 10 * y + 100 * z);
        std::memset(reinterpret_cast<void*>(to), 0xee, 1024);
        const NVNcopyRegion region{2, 3, 0, 5, 4, 2};
        nvnCommandBufferSetCopyRowStride(m.cmd(), row);
        nvnCommandBufferSetCopyImageStride(m.cmd(), image);
        nvnCommandBufferCopyBufferToTexture(m.cmd(), from, t, nullptr, &region, 0);
        nvnCommandBufferCopyTextureToBuffer(m.cmd(), t, nullptr, &region, to, 0);
        nvnCommandBufferSetCopyRowStride(m.cmd(), 0);
        nvnCommandBufferSetCopyImageStride(m.cmd(), 0);
        m.run();
        const auto whole = m.pixels(t, 0, 1);
        EXPECT_EQ(whole[3 * 8 + 2], 100);
        EXPECT_EQ(whole[6 * 8 + 6], 134);
        EXPECT_EQ(whole[0], 0);
        int wrong = 0;
        for (int64_t at = 0; at < 1024; ++at) {
            const int64_t z = at / i, y = at % i / r, x = at % i % r;
            const bool inside = z < 2 && y < 4 && x < 5;
            wrong += m.at<uint8_t>(to, static_cast<size_t>(at)) !=
                     (inside ? static_cast<uint8_t>(x + 10 * y + 100 * z) : 0xee);
        }
        EXPECT_EQ(wrong, 0) << row << " " << image;
    }
}

TEST(Copies, BuffersOverlapOrNot) {
    Machine m = plain();
    NEED(m);
    std::vector<uint8_t> bytes(256);
    for (size_t i = 0; i < 256; ++i)
        bytes[i] = static_cast<uint8_t>(i);
    const NVNbufferAddress a = m.put(bytes), b = m.take(256);
    nvnCommandBufferCopyBufferToBuffer(m.cmd(), a, b, 256, 0);
    nvnCommandBufferCopyBufferToBuffer(m.cmd(), a, a + 10, 100, 0); // as if through memory of its own
    nvnCommandBufferClearBuffer(m.cmd(), b + 200, 10, 0x44332211);
    m.run();
    for (size_t i = 0; i < 100; ++i)
        EXPECT_EQ(m.at<uint8_t>(a, i + 10), i);
    EXPECT_EQ(m.at<uint8_t>(b, 199), 199);
    const uint8_t want[11] = {0x11, 0x22, 0x33, 0x44, 0x11, 0x22, 0x33, 0x44, 0x11, 0x22, 210};
    for (size_t i = 0; i < 11; ++i)
        EXPECT_EQ(m.at<uint8_t>(b, 200 + i), want[i]) << i;
}

TEST(Copies, VolumesAndArraysSliceBySlice) {
    Machine m = plain();
    NEED(m);
    NVNtexture* volume = m.texture({8, 8, 4, NVN_FORMAT_RGBA8, NVN_TEXTURE_TARGET_3D});
    NVNtexture* array = m.texture({8, 8, 4, NVN_FORMAT_RGBA8, NVN_TEXTURE_TARGET_2D_ARRAY});
    for (int z = 0; z < 4; ++z)
        m.write(volume, pattern(8, 8, z).data(), 0, z);
    const NVNcopyRegion from{0, 0, 1, 8, 8, 2}, to{0, 0, 2, 8, 8, 2};
    nvnCommandBufferCopyTextureToTexture(m.cmd(), volume, nullptr, &from, array, nullptr, &to, 0);
    EXPECT_EQ(m.pixels_as<uint32_t>(array, 0, 2), pattern(8, 8, 1));
    EXPECT_EQ(m.pixels_as<uint32_t>(array, 0, 3), pattern(8, 8, 2));
    EXPECT_EQ(m.pixels_as<uint32_t>(volume, 0, 3), pattern(8, 8, 3));
}

TEST(Copies, MirroredScaledAndConverted) {
    Machine m = plain();
    NEED(m);
    NVNtexture* a = m.texture({8, 4});
    NVNtexture* b = m.texture({8, 4});
    m.write(a, pattern(8, 4).data());
    const NVNcopyRegion whole{0, 0, 0, 8, 4, 1};
    nvnCommandBufferCopyTextureToTexture(m.cmd(), a, nullptr, &whole, b, nullptr, &whole,
                                         NVN_COPY_FLAGS_MIRROR_X_BIT);
    auto p = m.pixels_as<uint32_t>(b);
    for (uint32_t y = 0; y < 4; ++y)
        for (uint32_t x = 0; x < 8; ++x)
            EXPECT_EQ(p[y * 8 + x], texel(7 - x, y));
    // Twice the size, nearest: every texel four times.
    NVNtexture* big = m.texture({16, 8});
    const NVNcopyRegion twice{0, 0, 0, 16, 8, 1};
    nvnCommandBufferCopyTextureToTexture(m.cmd(), a, nullptr, &whole, big, nullptr, &twice, 0);
    p = m.pixels_as<uint32_t>(big);
    for (uint32_t y = 0; y < 8; ++y)
        for (uint32_t x = 0; x < 16; ++x)
            EXPECT_EQ(p[y * 16 + x], texel(x / 2, y / 2));
    // Half the size, linear: the mean of four texels.
    NVNtexture* half = m.texture({4, 2, 1, NVN_FORMAT_RGBA32F});
    const NVNcopyRegion small{0, 0, 0, 4, 2, 1};
    nvnCommandBufferCopyTextureToTexture(m.cmd(), a, nullptr, &whole, half, nullptr, &small,
                                         NVN_COPY_FLAGS_LINEAR_FILTER_BIT);
    const auto f = m.pixels_as<std::array<float, 4>>(half);
    for (uint32_t y = 0; y < 2; ++y)
        for (uint32_t x = 0; x < 4; ++x) {
            EXPECT_NEAR(f[y * 4 + x][0] * 255, 2 * x + 0.5, 0.51); // devices filter bytes in bytes
            EXPECT_NEAR(f[y * 4 + x][1] * 255, 2 * y + 0.5, 0.51);
        }
    // Integers and normalized numbers do not convert.
    NVNtexture* ints = m.texture({8, 4, 1, NVN_FORMAT_RGBA8UI});
    nvnCommandBufferCopyTextureToTexture(m.cmd(), a, nullptr, &whole, ints, nullptr, &whole, 0);
    m.run();
    EXPECT_TRUE(m.said("converting copy from RGBA8 "));
}

TEST(Copies, CombinedDepthAndStencilKeepTheirGuestLayout) {
    Machine m = plain();
    NEED(m);
    // Depth in the low 24 bits, stencil above.
    NVNtexture* d24 = m.texture({8, 8, 1, NVN_FORMAT_DEPTH24_STENCIL8});
    std::vector<uint32_t> words;
    for (uint32_t i = 0; i < 64; ++i)
        words.push_back((i * 0x3ffff & 0xffffff) | i << 24);
    m.write(d24, words.data());
    EXPECT_EQ(m.pixels_as<uint32_t>(d24), words);
    NVNtexture* other = m.texture({8, 8, 1, NVN_FORMAT_DEPTH24_STENCIL8});
    const NVNcopyRegion whole{0, 0, 0, 8, 8, 1};
    nvnCommandBufferCopyTextureToTexture(m.cmd(), d24, nullptr, &whole, other, nullptr, &whole, 0);
    EXPECT_EQ(m.pixels_as<uint32_t>(other), words);
    // A float, then the stencil byte.
    NVNtexture* d32 = m.texture({8, 8, 1, NVN_FORMAT_DEPTH32F_STENCIL8});
    std::vector<std::pair<float, uint32_t>> pairs;
    for (uint32_t i = 0; i < 64; ++i)
        pairs.push_back({static_cast<float>(i) / 64, 255 - i});
    const NVNbufferAddress from = m.put(pairs);
    nvnCommandBufferCopyBufferToTexture(m.cmd(), from, d32, nullptr, &whole, 0);
    using Pair = std::array<uint32_t, 2>;
    const auto back = m.pixels_as<Pair>(d32);
    for (uint32_t i = 0; i < 64; ++i) {
        EXPECT_EQ(back[i], m.at<Pair>(from, i));
    }
    // And through ReadTexels, after the storage was asked for.
    std::vector<uint32_t> read(64);
    nvnTextureReadTexels(other, nullptr, &whole, read.data());
    EXPECT_EQ(read, words);
}

TEST(Copies, DepthOfOnePlane) {
    Machine m = plain();
    NEED(m);
    for (const auto format : {NVN_FORMAT_DEPTH16, NVN_FORMAT_DEPTH32F, NVN_FORMAT_STENCIL8}) {
        NVNtexture* t = m.texture({8, 8, 1, format});
        const size_t bytes = format == NVN_FORMAT_DEPTH16 ? 128 : format == NVN_FORMAT_STENCIL8 ? 64 : 256;
        std::vector<uint8_t> data(bytes);
        for (size_t i = 0; i < 64; ++i) {
            if (format == NVN_FORMAT_DEPTH32F) {
                const float f = static_cast<float>(i) / 64;
                std::memcpy(&data[i * 4], &f, 4);
            } else {
                data[i * bytes / 64] = static_cast<uint8_t>(i * 3);
            }
        }
        m.write(t, data.data());
        EXPECT_EQ(m.pixels(t), data) << format;
    }
}

TEST(Copies, CompressedBlocks) {
    Machine m = plain();
    NEED(m);
    NVNtexture* bc1 = m.texture({12, 8, 1, NVN_FORMAT_RGB_DXT1});
    std::vector<uint8_t> blocks(3 * 2 * 8);
    for (size_t i = 0; i < blocks.size(); ++i)
        blocks[i] = static_cast<uint8_t>(i * 37);
    m.write(bc1, blocks.data());
    EXPECT_EQ(m.pixels(bc1), blocks);
    // A block of 8 bytes is a texel of RG32UI.
    NVNtexture* raw = m.texture({3, 2, 1, NVN_FORMAT_RG32UI});
    const NVNcopyRegion from{0, 0, 0, 12, 8, 1}, to{0, 0, 0, 3, 2, 1};
    nvnCommandBufferCopyTextureToTexture(m.cmd(), bc1, nullptr, &from, raw, nullptr, &to, 0);
    EXPECT_EQ(m.pixels(raw), blocks);
}

TEST(Clears, UnderEveryChannelMask) {
    Machine m = plain();
    NEED(m);
    for (const auto format : {NVN_FORMAT_RGBA8, NVN_FORMAT_RGBA8UI, NVN_FORMAT_RGBA8I}) {
        NVNtexture* t = m.texture({8, 8, 1, format});
        for (int mask = 0; mask < 16; ++mask) {
            NVNtexture* const colors[1] = {t};
            nvnCommandBufferSetRenderTargets(m.cmd(), 1, colors, nullptr, nullptr, nullptr);
            nvnCommandBufferSetScissor(m.cmd(), 0, 0, 8, 8);
            const float f[2][4] = {{0, 0, 0, 0}, {10 / 255.f, 20 / 255.f, 30 / 255.f, 40 / 255.f}};
            const uint32_t u[2][4] = {{0, 0, 0, 0}, {10, 20, 30, 40}};
            for (int i = 0; i < 2; ++i) {
                const int with = i ? mask : 15;
                if (i)
                    nvnCommandBufferSetScissor(m.cmd(), 2, 1, 4, 3);
                if (format == NVN_FORMAT_RGBA8)
                    nvnCommandBufferClearColor(m.cmd(), 0, f[i], with);
                else if (format == NVN_FORMAT_RGBA8UI)
                    nvnCommandBufferClearColorui(m.cmd(), 0, u[i], with);
                else
                    nvnCommandBufferClearColori(m.cmd(), 0, reinterpret_cast<const int*>(u[i]), with);
            }
            const auto p = m.pixels(t);
            for (size_t y = 0; y < 8; ++y)
                for (size_t x = 0; x < 8; ++x)
                    for (size_t k = 0; k < 4; ++k) {
                        const bool inside = x >= 2 && x < 6 && y >= 1 && y < 4 && (mask >> k & 1);
                        ASSERT_EQ(p[(y * 8 + x) * 4 + k], inside ? (k + 1) * 10 : 0)
                            << format << " mask " << mask << " at " << x << "," << y;
                    }
        }
    }
}

TEST(Clears, DepthAndStencilUnderMasks) {
    Machine m = plain();
    NEED(m);
    NVNtexture* t = m.texture({8, 8, 1, NVN_FORMAT_DEPTH24_STENCIL8});
    nvnCommandBufferSetRenderTargets(m.cmd(), 0, nullptr, nullptr, t, nullptr);
    nvnCommandBufferSetScissor(m.cmd(), 0, 0, 8, 8);
    nvnCommandBufferClearDepthStencil(m.cmd(), 1.0f, 1, 0x5a, 0xff);
    EXPECT_EQ(m.pixels_as<uint32_t>(t)[9], 0x5affffffu);
    nvnCommandBufferClearDepthStencil(m.cmd(), 0.0f, 0, 0xff, 0x0f); // stencil's low bits alone
    EXPECT_EQ(m.pixels_as<uint32_t>(t)[9], 0x5fffffffu);
    nvnCommandBufferClearDepthStencil(m.cmd(), 0.0f, 1, 0xff, 0); // depth alone
    EXPECT_EQ(m.pixels_as<uint32_t>(t)[9], 0x5f000000u);
}

TEST(Clears, RegionsOfTextures) {
    Machine m = plain();
    NEED(m);
    NVNtexture* array = m.texture({8, 8, 4, NVN_FORMAT_RGBA16F, NVN_TEXTURE_TARGET_2D_ARRAY, 2});
    NVNtextureView level1;
    nvnTextureViewSetDefaults(&level1);
    nvnTextureViewSetLevels(&level1, 1, 1);
    const float color[4] = {1, 2, -3, 0.5f};
    const NVNcopyRegion box{1, 2, 1, 2, 1, 2};
    nvnCommandBufferClearTexture(m.cmd(), array, &level1, &box, color, 15);
    using Half4 = std::array<uint16_t, 4>;
    for (int layer = 0; layer < 4; ++layer) {
        const auto p = m.pixels_as<Half4>(array, 1, layer);
        for (size_t i = 0; i < 16; ++i) {
            const bool inside = (layer == 1 || layer == 2) && i / 4 == 2 && (i % 4 == 1 || i % 4 == 2);
            EXPECT_EQ(p[i], inside ? (Half4{0x3c00, 0x4000, 0xc200, 0x3800}) : Half4{}) << layer << " " << i;
        }
    }
    NVNtexture* volume = m.texture({4, 4, 4, NVN_FORMAT_R32UI, NVN_TEXTURE_TARGET_3D});
    const uint32_t word[4] = {0xdeadbeef, 0, 0, 0};
    const NVNcopyRegion slice{0, 0, 2, 4, 4, 1};
    nvnCommandBufferClearTextureui(m.cmd(), volume, nullptr, &slice, word, 15);
    for (int z = 0; z < 4; ++z)
        EXPECT_EQ(m.pixels_as<uint32_t>(volume, 0, z)[5], z == 2 ? 0xdeadbeefu : 0u) << z;
    NVNtexture* bc = m.texture({4, 4, 1, NVN_FORMAT_RGB_DXT1});
    const NVNcopyRegion whole{0, 0, 0, 4, 4, 1};
    nvnCommandBufferClearTexture(m.cmd(), bc, nullptr, &whole, color, 15);
    m.run();
    EXPECT_TRUE(m.said("texture clear of RGB_DXT1"));
}

// Half of a pixel's samples are covered: the resolve is their mean, integers and depth take one sample.
TEST(Downsample, AveragesColoursAndTakesASampleOfOthers) {
    const char* vertex = R"(
layout(location = 0) flat out float v;
void main() { gl_Position = vec4(vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0, 0.25, 1.0); })";
    const char* half = "layout(location = 0) out vec4 color; void main() { color = vec4(1, 0.5, 0, 1); }";
    const char* ints =
        "layout(location = 0) out uvec4 color; void main() { color = uvec4(200, 100, 50, 1); }";
    Machine m({{{Stage::vertex, vertex}, {Stage::fragment, half}},
               {{Stage::vertex, vertex}, {Stage::fragment, ints}}});
    NEED(m);
    nvnDeviceSetDepthMode(nullptr, NVN_DEPTH_MODE_NEAR_IS_ZERO);
    TextureShape many{8, 8, 1, NVN_FORMAT_RGBA8, NVN_TEXTURE_TARGET_2D_MULTISAMPLE, 1, 4};
    NVNtexture* a = m.texture(many);
    NVNtexture* b = m.texture({8, 8});
    m.draw_to(a, 0);
    const float black[4] = {};
    nvnCommandBufferClearColor(m.cmd(), 0, black, 15);
    nvnCommandBufferSetSampleMask(m.cmd(), 0x5); // two of four
    nvnCommandBufferDrawArrays(m.cmd(), NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    nvnCommandBufferDownsample(m.cmd(), a, b);
    auto p = m.pixels(b);
    EXPECT_NEAR(p[4 * 9], 127.5, 1);
    EXPECT_NEAR(p[4 * 9 + 1], 63.75, 1.2);
    EXPECT_NEAR(p[4 * 9 + 3], 127.5, 1);
    many.format = NVN_FORMAT_RGBA8UI;
    NVNtexture* c = m.texture(many);
    NVNtexture* d = m.texture({8, 8, 1, NVN_FORMAT_RGBA8UI});
    m.draw_to(c, 1);
    nvnCommandBufferSetSampleMask(m.cmd(), 0xf);
    nvnCommandBufferDrawArrays(m.cmd(), NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    nvnCommandBufferTiledDownsample(m.cmd(), c, d);
    p = m.pixels(d);
    EXPECT_EQ(p[4 * 9], 200);
    EXPECT_EQ(p[4 * 9 + 2], 50);
    many.format = NVN_FORMAT_DEPTH32F;
    NVNtexture* e = m.texture(many);
    NVNtexture* f = m.texture({8, 8, 1, NVN_FORMAT_DEPTH32F});
    nvnCommandBufferSetRenderTargets(m.cmd(), 0, nullptr, nullptr, e, nullptr);
    nvnCommandBufferClearDepthStencil(m.cmd(), 0.75f, 1, 0, 0);
    nvnCommandBufferDownsample(m.cmd(), e, f);
    EXPECT_EQ(m.pixels_as<float>(f)[9], 0.75f);
    nvnCommandBufferDownsample(m.cmd(), b, d); // nothing to resolve
    m.run();
    EXPECT_TRUE(m.said("downsample of 8x8 RGBA8"));
}

} // namespace
} // namespace dmsh::test
