// Textures in page-mapped virtual pools. 64 x 64 texels of RGBA8 in blocks of eight GOBs: page k (4 KB) is columns 16k .. 16k + 15.
#include "tests/vulkan/machine.h"

namespace dmsh::test {
namespace {

constexpr uint32_t kSide = 64, kPage = 4096;
constexpr uint32_t kColors[4] = {0xff0000ff, 0xff00ff00, 0xffff0000, 0xff00ffff};

struct Pages : Machine {
    std::unique_ptr<nvn::GuestPool> physical;
    nvn::Guest<NVNmemoryPool> range;
    nvn::Guest<NVNtexture> texture;

    Pages() : Machine({{{Stage::vertex, "void main() { gl_Position = vec4(vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0, 0.5, 1.0); }"},
                        {Stage::fragment, "layout(location = 0) out vec4 c; void main() { c = vec4(0, 1, 1, 1); }"}}}) {
        if (!usable())
            return;
        physical = std::make_unique<nvn::GuestPool>(0x10000);
        nvn::Guest<NVNmemoryPoolBuilder> b;
        nvnMemoryPoolBuilderSetDevice(b, nullptr);
        nvnMemoryPoolBuilderSetDefaults(b);
        nvnMemoryPoolBuilderSetStorage(b, nullptr, 0x100000);
        nvnMemoryPoolBuilderSetFlags(b, NVN_MEMORY_POOL_FLAGS_VIRTUAL | NVN_MEMORY_POOL_FLAGS_CPU_UNCACHED |
                                            NVN_MEMORY_POOL_FLAGS_GPU_CACHED);
        EXPECT_TRUE(nvnMemoryPoolInitialize(range, b));
        nvn::Guest<NVNtextureBuilder> tb;
        nvnTextureBuilderSetDevice(tb, nullptr);
        nvnTextureBuilderSetDefaults(tb);
        nvnTextureBuilderSetTarget(tb, NVN_TEXTURE_TARGET_2D);
        nvnTextureBuilderSetSize2D(tb, kSide, kSide);
        nvnTextureBuilderSetFormat(tb, NVN_FORMAT_RGBA8);
        EXPECT_EQ(nvnTextureBuilderGetStorageSize(tb), 4u * kPage);
        nvnTextureBuilderSetStorage(tb, range, 0);
        EXPECT_TRUE(nvnTextureInitialize(texture, tb));
        for (uint32_t p = 0; p < 4; ++p)
            fill(p, kColors[p]);
    }
    ~Pages() {
        if (!usable())
            return;
        nvnTextureFinalize(texture);
        nvnMemoryPoolFinalize(range);
        physical.reset();
    }
    void fill(uint32_t page, uint32_t color) {
        for (uint32_t i = 0; i < kPage; i += 4)
            std::memcpy(physical->memory() + page * kPage + i, &color, 4);
    }
    uint32_t physical_word(uint32_t page, uint32_t at) const {
        uint32_t v;
        std::memcpy(&v, physical->memory() + page * kPage + at, 4);
        return v;
    }
    void map(int page, int at) {
        const NVNmappingRequest r{page < 0 ? nullptr : physical->get(), page < 0 ? 0 : page * int64_t{kPage}, at * int64_t{kPage}, kPage, 0, 0};
        EXPECT_TRUE(nvnMemoryPoolMapVirtual(range, 1, &r));
    }
    // Column groups of the texture, all rows of which must be equal.
    std::vector<uint32_t> columns() {
        const auto p = pixels_as<uint32_t>(texture);
        std::vector<uint32_t> out;
        for (uint32_t k = 0; k < 4; ++k) {
            out.push_back(p[k * 16]);
            for (uint32_t y = 0; y < kSide; ++y)
                for (uint32_t x = k * 16; x < k * 16 + 16; ++x)
                    EXPECT_EQ(p[y * kSide + x], out.back()) << x << " " << y;
        }
        return out;
    }
};

TEST(PageMapped, TexturesReadTheirPagesAndZerosInHoles) {
    Pages m;
    NEED(m);
    m.map(3, 0);
    m.map(1, 1);
    m.map(0, 3);
    EXPECT_EQ(m.columns(), (std::vector<uint32_t>{kColors[3], kColors[1], 0, kColors[0]}));
    m.map(2, 2); // the hole is filled, another page exchanged
    m.map(0, 0);
    EXPECT_EQ(m.columns(), (std::vector<uint32_t>{kColors[0], kColors[1], kColors[2], kColors[0]}));
}

TEST(PageMapped, WhatIsDrawnIsStoredInMappedPagesAlone) {
    Pages m;
    NEED(m);
    m.map(3, 0);
    m.map(1, 1);
    m.map(0, 3);
    nvnDeviceSetDepthMode(nullptr, NVN_DEPTH_MODE_NEAR_IS_ZERO);
    m.draw_to(m.texture, 0);
    nvnCommandBufferDrawArrays(m.cmd(), NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    m.run();
    std::vector<uint32_t> texels(kSide * kSide);
    const NVNcopyRegion region{0, 0, 0, kSide, kSide, 1};
    nvnTextureReadTexels(m.texture, nullptr, &region, texels.data());
    constexpr uint32_t kDrawn = 0xffffff00;
    for (uint32_t x = 0; x < kSide; ++x)
        EXPECT_EQ(texels[x], x / 16 == 2 ? 0u : kDrawn) << x;
    for (uint32_t i = 0; i < kPage; i += 4) {
        EXPECT_EQ(m.physical_word(3, i), kDrawn);
        EXPECT_EQ(m.physical_word(1, i), kDrawn);
        EXPECT_EQ(m.physical_word(0, i), kDrawn);
        EXPECT_EQ(m.physical_word(2, i), kColors[2]);
    }
}

} // namespace
} // namespace dmsh::test
