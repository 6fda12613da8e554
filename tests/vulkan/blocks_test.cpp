// Software decoding of compressed blocks: against the device's own decoder, the encoders' test files, and
// blocks whose texels follow from the specification by hand.
#include "runtime/replay/block_decode.h"
#include "tests/vulkan/machine.h"
#include <cmath>
#include <fstream>
#include <random>

namespace dmsh::test {
namespace {

using Float4 = std::array<float, 4>;

const char* const kTriangle = R"(
void main() { gl_Position = vec4(vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0, 0.5, 1.0); })";
const char* const kFetch = R"(
layout(binding = B(0)) uniform sampler2D t;
layout(location = 0) out vec4 color;
void main() { color = texelFetch(t, ivec2(gl_FragCoord.xy), 0); })";

// Reads textures through a shader, decoded in software or by the device.
struct Reader : Machine {
    static RuntimeOptions options(bool software) {
        RuntimeOptions o;
        o.software_blocks = software;
        return o;
    }
    nvn::Guest<NVNtexturePool> textures;
    nvn::Guest<NVNsamplerPool> samplers;
    explicit Reader(bool software)
        : Machine({{{Stage::vertex, kTriangle}, {Stage::fragment, kFetch, {bind(BindingKind::texture)}}}},
                  options(software)) {
        if (!usable())
            return;
        nvnDeviceSetDepthMode(nullptr, NVN_DEPTH_MODE_NEAR_IS_ZERO);
        const auto table = [&] {
            return static_cast<ptrdiff_t>(take(300 * 32) - nvnMemoryPoolGetBufferAddress(pool()));
        };
        EXPECT_TRUE(nvnTexturePoolInitialize(textures, pool(), table(), 300));
        EXPECT_TRUE(nvnSamplerPoolInitialize(samplers, pool(), table(), 300));
        nvn::Guest<NVNsamplerBuilder> sb;
        nvn::Guest<NVNsampler> sampler;
        nvnSamplerBuilderSetDevice(sb, nullptr);
        nvnSamplerBuilderSetDefaults(sb);
        EXPECT_TRUE(nvnSamplerInitialize(sampler, sb));
        nvnSamplerPoolRegisterSampler(samplers, 256, sampler);
    }
    ~Reader() {
        if (!usable())
            return;
        nvnTexturePoolFinalize(textures);
        nvnSamplerPoolFinalize(samplers);
    }
    std::vector<Float4> read(NVNformat format, uint32_t width, uint32_t height,
                             const std::vector<uint8_t>& blocks, bool through_copy = false) {
        NVNtexture* t = texture({width, height, 1, format});
        const NVNcopyRegion whole{0, 0, 0, static_cast<int>(width), static_cast<int>(height), 1};
        if (through_copy)
            nvnCommandBufferCopyBufferToTexture(cmd(), put(blocks), t, nullptr, &whole, 0);
        else
            write(t, blocks.data());
        NVNtexture* out = texture({width, height, 1, NVN_FORMAT_RGBA32F});
        nvnTexturePoolRegisterTexture(textures, 256, t, nullptr);
        draw_to(out, 0);
        nvnCommandBufferSetTexturePool(cmd(), textures);
        nvnCommandBufferSetSamplerPool(cmd(), samplers);
        nvnCommandBufferBindTexture(cmd(), NVN_SHADER_STAGE_FRAGMENT, 0,
                                    nvnDeviceGetTextureHandle(nullptr, 256, 256));
        nvnCommandBufferDrawArrays(cmd(), NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
        return pixels_as<Float4>(out);
    }
};

TEST(Blocks, BcEqualsTheDevicesDecoder) {
    constexpr NVNformat kFormats[] = {
        NVN_FORMAT_RGB_DXT1,    NVN_FORMAT_RGBA_DXT1,      NVN_FORMAT_RGBA_DXT3,
        NVN_FORMAT_RGBA_DXT5,   NVN_FORMAT_RGBA_DXT5_SRGB, NVN_FORMAT_RGTC1_UNORM,
        NVN_FORMAT_RGTC1_SNORM, NVN_FORMAT_RGTC2_UNORM,    NVN_FORMAT_RGTC2_SNORM};
    std::vector<std::vector<Float4>> results[2];
    for (const bool software : {false, true}) {
        Reader reader(software);
        NEED(reader);
        std::mt19937 random(7);
        for (const NVNformat format : kFormats) {
            std::vector<uint8_t> blocks(8 * 8 * 16); // enough for both block sizes
            for (uint8_t& b : blocks)
                b = static_cast<uint8_t>(random());
            results[software].push_back(reader.read(format, 31, 29, blocks));
        }
    }
    for (size_t f = 0; f < std::size(kFormats); ++f) {
        float worst = 0;
        for (size_t i = 0; i < results[0][f].size(); ++i)
            for (size_t k = 0; k < 4; ++k)
                worst = std::max(worst, std::abs(results[0][f][i][k] - results[1][f][i][k]));
        EXPECT_LE(worst, 2.1f / 127) << "format " << kFormats[f]; // texels are kept in bytes
    }
}

std::vector<uint8_t> file(const std::string& name) {
    std::ifstream in(std::string(DMSH_SOURCE_DIR) + "/../shared/corpus/public/astc-encoder/" + name,
                     std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Blocks, AstcTilesOfTheEncodersOwnTests) {
    const auto astc = file("ldr.astc"), dds = file("ldr.dds");
    if (astc.empty())
        GTEST_SKIP() << "corpus/public is not there";
    const std::vector<uint8_t> blocks(astc.begin() + 16, astc.end());
    Reader reader(false);
    NEED(reader);
    for (const bool copy : {false, true}) {
        const auto p = reader.read(NVN_FORMAT_RGBA_ASTC_4x4, 8, 8, blocks, copy);
        for (size_t i = 0; i < 64; ++i)
            for (size_t k = 0; k < 4; ++k)
                EXPECT_EQ(std::lround(p[i][k] * 255), dds[128 + i * 4 + k]) << i << " " << k;
    }
}

// A block written field by field.
struct Astc {
    uint8_t bytes[16] = {};
    void put(uint32_t at, uint32_t count, uint32_t value, bool from_top = false) {
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t bit = from_top ? 127 - (at + i) : at + i;
            bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] | (value >> i & 1) << bit % 8);
        }
    }
};

TEST(Blocks, AstcByHand) {
    // 4x4 weights of two bits (0, 21, 43, 64 of 64), two luminances of eight bits.
    Astc a;
    a.put(0, 11, 0x42);
    a.put(17, 8, 40);
    a.put(25, 8, 200);
    for (uint32_t i = 0; i < 16; ++i)
        a.put(2 * i, 2, (i * 7) & 3, true);
    uint8_t t[64];
    replay::decode_astc_block(a.bytes, 4, 4, false, t);
    constexpr int kWeights[4] = {0, 21, 43, 64};
    for (uint32_t i = 0; i < 16; ++i) {
        const int w = kWeights[(i * 7) & 3];
        const int want = ((40 * 257 * (64 - w) + 200 * 257 * w + 32) >> 6) >> 8;
        for (int k = 0; k < 3; ++k)
            EXPECT_EQ(t[i * 4 + static_cast<uint32_t>(k)], want) << i;
        EXPECT_EQ(t[i * 4 + 3], 255);
    }
    // RGB end points in the order that asks for blue contraction; one weight of 64 (range of two levels: 0
    // and 64). Mode: 4 x 4 weights of one bit is r = 2: low bits 1, bit 4 clear.
    Astc b;
    b.put(0, 11, 0x41);
    b.put(13, 4, 8);
    const uint32_t values[6] = {100, 10, 90, 20, 80, 30}; // sums 270 > 60
    for (uint32_t i = 0; i < 6; ++i)
        b.put(17 + 8 * i, 8, values[i]);
    for (uint32_t i = 0; i < 16; ++i)
        b.put(i, 1, i & 1, true);
    // 16 bits of weights are too few: the block is invalid and shows the error colour.
    replay::decode_astc_block(b.bytes, 4, 4, false, t);
    EXPECT_EQ(t[0], 255);
    EXPECT_EQ(t[1], 0);
    EXPECT_EQ(t[2], 255);
    // With two-bit weights it is valid.
    Astc c;
    c.put(0, 11, 0x42);
    c.put(13, 4, 8);
    for (uint32_t i = 0; i < 6; ++i)
        c.put(17 + 8 * i, 8, values[i]);
    for (uint32_t i = 0; i < 16; ++i)
        c.put(2 * i, 2, i & 1 ? 3 : 0, true);
    replay::decode_astc_block(c.bytes, 4, 4, false, t);
    const int first[3] = {(10 + 30) >> 1, (20 + 30) >> 1, 30},
              second[3] = {(100 + 80) >> 1, (90 + 80) >> 1, 80};
    for (int k = 0; k < 3; ++k) {
        EXPECT_EQ(t[k], first[k]);
        EXPECT_EQ(t[4 + k], second[k]);
    }
    // HDR end points have no meaning in the LDR profile; a reserved mode neither.
    Astc d;
    d.put(0, 11, 0x42);
    d.put(13, 4, 2);
    replay::decode_astc_block(d.bytes, 4, 4, false, t);
    EXPECT_EQ(t[2], 255);
    const uint8_t zeros[16] = {};
    replay::decode_astc_block(zeros, 4, 4, false, t);
    EXPECT_EQ(t[0], 255);
    EXPECT_EQ(t[1], 0);
}

// Any bytes decode to something, inside of the block's texels.
TEST(Blocks, AnyAstcBytesAreSafe) {
    std::mt19937 random(3);
    constexpr uint32_t kSizes[14][2] = {{4, 4}, {5, 4},  {5, 5},  {6, 5},  {6, 6},   {8, 5},   {8, 6},
                                        {8, 8}, {10, 5}, {10, 6}, {10, 8}, {10, 10}, {12, 10}, {12, 12}};
    for (const auto& size : kSizes)
        for (int i = 0; i < 3000; ++i) {
            uint8_t block[16];
            for (uint8_t& b : block)
                b = static_cast<uint8_t>(random());
            std::vector<uint8_t> t(size[0] * size[1] * 4);
            replay::decode_astc_block(block, size[0], size[1], i & 1, t.data());
        }
}

} // namespace
} // namespace dmsh::test
