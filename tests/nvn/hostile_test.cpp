// Texel calls, recordings and objects that guests fill wrongly or over themselves: what is written, what is refused.
#include "runtime/nvn/formats.h"
#include "runtime/nvn/recorder.h"
#include "tests/nvn/guest.h"
#include <random>
#include <sys/mman.h>

namespace dmsh::nvn {
namespace {

class Hostile : public FreshHost {};

struct TextureShape {
    NVNtextureTarget target = NVN_TEXTURE_TARGET_2D;
    NVNformat format = NVN_FORMAT_RGBA8;
    int width = 1, height = 1, depth = 1, levels = 1, flags = 0;
    ptrdiff_t stride = 0;
};

void build(NVNtextureBuilder* b, const TextureShape& s, GuestPool& pool, ptrdiff_t offset) {
    nvnTextureBuilderSetDevice(b, nullptr);
    nvnTextureBuilderSetDefaults(b);
    nvnTextureBuilderSetTarget(b, s.target);
    nvnTextureBuilderSetFormat(b, s.format);
    nvnTextureBuilderSetSize3D(b, s.width, s.height, s.depth);
    nvnTextureBuilderSetLevels(b, s.levels);
    nvnTextureBuilderSetFlags(b, s.flags);
    nvnTextureBuilderSetStride(b, s.stride);
    nvnTextureBuilderSetStorage(b, pool.get(), offset);
}

std::vector<uint8_t> noise(size_t bytes, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<uint8_t> out(bytes);
    for (auto& b : out)
        b = static_cast<uint8_t>(random() | 1);
    return out;
}

// Rule 165: linear textures are rows of the stride; only the region's bytes are written, and they come back.
TEST_F(Hostile, LinearTexelsAreRowsOfTheStride) {
    GuestPool pool(0x10000);
    constexpr ptrdiff_t kAt = 0x1000;
    const TextureShape shapes[] = {
        {NVN_TEXTURE_TARGET_2D, NVN_FORMAT_R8, 37, 5, 1, 1, NVN_TEXTURE_FLAGS_LINEAR, 256},
        {NVN_TEXTURE_TARGET_2D, NVN_FORMAT_RGBA8, 16, 16, 1, 1, NVN_TEXTURE_FLAGS_LINEAR_RENDER_TARGET, 128}};
    for (const TextureShape& s : shapes) {
        const auto texel = static_cast<int>(format_info(s.format).bytes);
        Guest<NVNtextureBuilder> b;
        build(b, s, pool, kAt);
        EXPECT_EQ(nvnTextureBuilderGetStorageSize(b), static_cast<size_t>(s.stride * s.height));
        Guest<NVNtexture> t;
        ASSERT_TRUE(nvnTextureInitialize(t, b));
        EXPECT_EQ(nvnTextureGetStride(t), s.stride);
        const NVNcopyRegion regions[] = {{0, 0, 0, 1, 1, 1},
                                         {0, 0, 0, s.width, s.height, 1},
                                         {3, 1, 0, 7, 2, 1},
                                         {s.width - 5, s.height - 3, 0, 5, 3, 1}};
        for (const NVNcopyRegion& r : regions)
            for (const ptrdiff_t padding : {0, 13}) {
                const ptrdiff_t rows = r.width * texel + padding;
                const std::vector<uint8_t> in = noise(static_cast<size_t>(rows * r.height), 1 + static_cast<uint32_t>(r.width));
                std::memset(pool.memory(), 0, pool.size());
                std::vector<uint8_t> expected(pool.size(), 0);
                for (int y = 0; y < r.height; ++y)
                    std::memcpy(expected.data() + kAt + (r.yoffset + y) * s.stride + r.xoffset * texel, in.data() + y * rows,
                                static_cast<size_t>(r.width * texel));
                if (padding)
                    nvnTextureWriteTexelsStrided(t, nullptr, &r, in.data(), rows, 0);
                else
                    nvnTextureWriteTexels(t, nullptr, &r, in.data());
                EXPECT_EQ(std::memcmp(pool.memory(), expected.data(), pool.size()), 0);
                std::vector<uint8_t> out(in.size(), 0x55);
                nvnTextureReadTexelsStrided(t, nullptr, &r, out.data(), rows, 0);
                for (int y = 0; y < r.height; ++y) {
                    EXPECT_EQ(std::memcmp(out.data() + y * rows, in.data() + y * rows, static_cast<size_t>(r.width * texel)), 0);
                    for (ptrdiff_t k = r.width * texel; k < rows; ++k)
                        EXPECT_EQ(out[static_cast<size_t>(y * rows + k)], 0x55);
                }
            }
        EXPECT_EQ(report_count(Report::bad_argument), 0u);
        // Refused: past the rows, past the width (which is less than the stride), another layer.
        std::memset(pool.memory(), 0, pool.size());
        const std::vector<uint8_t> in = noise(0x4000, 5);
        const NVNcopyRegion outside[] = {{0, s.height - 1, 0, 1, 2, 1},      {s.width - 1, 0, 0, 2, 1, 1},
                                         {0, 0, 1, 1, 1, 1},                 {0, 0, 0, 1, 1, 2},
                                         {-1, 0, 0, 1, 1, 1},                {0, 0, 0, 0, 1, 1},
                                         {0x7fffffff, 0, 0, 0x7fffffff, 1, 1}};
        for (const NVNcopyRegion& r : outside)
            nvnTextureWriteTexels(t, nullptr, &r, in.data());
        EXPECT_EQ(report_count(Report::bad_argument), std::size(outside));
        reset_reports();
        for (size_t i = 0; i < pool.size(); ++i)
            ASSERT_EQ(pool.memory()[i], 0);
    }
    // And compressed formats, which have no rows of texels.
    Guest<NVNtextureBuilder> b;
    build(b, {NVN_TEXTURE_TARGET_2D, NVN_FORMAT_RGBA_DXT1, 64, 64, 1, 1, NVN_TEXTURE_FLAGS_LINEAR, 128}, pool, 0);
    Guest<NVNtexture> t;
    ASSERT_TRUE(nvnTextureInitialize(t, b));
    const NVNcopyRegion r{0, 0, 0, 4, 4, 1};
    nvnTextureWriteTexels(t, nullptr, &r, noise(64, 1).data());
    EXPECT_EQ(report_count(Report::bad_argument), 1u);
    for (size_t i = 0; i < pool.size(); ++i)
        ASSERT_EQ(pool.memory()[i], 0);
}

// Rule 164 and section 11: fifteen regions of three textures, from one texel to a level, equal to decode, patch, encode.
TEST_F(Hostile, RegionsEqualDecodePatchEncode) {
    GuestPool pool(0x80000);
    const TextureShape shapes[] = {
        {NVN_TEXTURE_TARGET_2D, NVN_FORMAT_RGBA8, 100, 60, 1, 3},
        {NVN_TEXTURE_TARGET_2D, NVN_FORMAT_RGBA_DXT1, 100, 60, 1, 3},
        {NVN_TEXTURE_TARGET_2D_ARRAY, NVN_FORMAT_RGBA16F, 100, 60, 2, 3}};
    for (const GobOrder order : {GobOrder::tegra_x1, GobOrder::switch2})
        for (const TextureShape& s : shapes) {
            Host::get().gob_order = order;
            Guest<NVNtextureBuilder> b;
            build(b, s, pool, 0x200);
            Guest<NVNtexture> t;
            ASSERT_TRUE(nvnTextureInitialize(t, b));
            const FormatInfo f = format_info(s.format);
            const auto layout = layout_of(t->desc);
            ASSERT_TRUE(layout);
            for (int k = 0; k < 15; ++k) {
                const int level = k % 3, bw = f.block_width, bh = f.block_height;
                const int w = std::max(1, s.width >> level), h = std::max(1, s.height >> level);
                NVNcopyRegion r{0, 0, 0, w, h, 1};
                if (k < 3) {
                    r = {bw * (k + 1), bh, 0, bw, bh, 1};
                } else if (k < 12) {
                    r.xoffset = bw * (k - 3) % (w / 2 / bw * bw);
                    r.yoffset = bh * (k % 4) % (h / 2 / bh * bh);
                    r.width = (w - r.xoffset) / 2 / bw * bw + bw;
                    r.height = (h - r.yoffset) / 2 / bh * bh + bh;
                    r.zoffset = s.depth > 1 ? k & 1 : 0;
                } else {
                    r.depth = s.depth;
                }
                Guest<NVNtextureView> v;
                nvnTextureViewSetDefaults(v);
                nvnTextureViewSetLevels(v, level, 1);
                const std::vector<uint8_t> before = noise(pool.size(), 100 + static_cast<uint32_t>(k));
                std::memcpy(pool.memory(), before.data(), pool.size());
                std::vector<uint8_t> expected = before;
                const uint32_t columns = static_cast<uint32_t>((r.width + bw - 1) / bw), rows = static_cast<uint32_t>((r.height + bh - 1) / bh);
                const std::vector<uint8_t> in = noise(size_t{columns} * rows * f.bytes * static_cast<size_t>(r.depth), 7);
                const LevelLayout& l = layout->levels[static_cast<size_t>(level)];
                for (uint32_t z = 0; z < static_cast<uint32_t>(r.depth); ++z)
                    for (uint32_t y = 0; y < rows; ++y)
                        for (uint32_t x = 0; x < columns * f.bytes; ++x)
                            expected[0x200 + (static_cast<uint32_t>(r.zoffset) + z) * layout->layer_bytes + l.offset +
                                     block_linear_offset(l, static_cast<uint32_t>(r.xoffset / bw) * f.bytes + x,
                                                         static_cast<uint32_t>(r.yoffset / bh) + y, 0, order)] =
                                in[(size_t{z} * rows + y) * columns * f.bytes + x];
                nvnTextureWriteTexels(t, v, &r, in.data());
                EXPECT_EQ(std::memcmp(pool.memory(), expected.data(), pool.size()), 0) << "region " << k;
                std::vector<uint8_t> out(in.size());
                nvnTextureReadTexels(t, v, &r, out.data());
                EXPECT_EQ(out, in);
            }
        }
    EXPECT_EQ(report_count(Report::bad_argument), 0u);
}

// Two textures of 204,800 bytes back to back: writing one leaves the other alone (minimal layout, section 11).
TEST_F(Hostile, NeighboursStayAlone) {
    GuestPool pool(0x80000);
    Guest<NVNtextureBuilder> b;
    Guest<NVNtexture> a, n;
    const TextureShape s{NVN_TEXTURE_TARGET_2D, NVN_FORMAT_RGB5A1, 320, 320, 1, 1, NVN_TEXTURE_FLAGS_MINIMAL_LAYOUT};
    build(b, s, pool, 0);
    ASSERT_TRUE(nvnTextureInitialize(a, b));
    EXPECT_EQ(nvnTextureGetStorageSize(a), 204800);
    build(b, s, pool, 204800);
    ASSERT_TRUE(nvnTextureInitialize(n, b));
    const NVNcopyRegion all{0, 0, 0, 320, 320, 1};
    const std::vector<uint8_t> first = noise(320 * 320 * 2, 1), second = noise(320 * 320 * 2, 2);
    nvnTextureWriteTexels(n, nullptr, &all, second.data());
    nvnTextureWriteTexels(a, nullptr, &all, first.data());
    std::vector<uint8_t> out(second.size());
    nvnTextureReadTexels(n, nullptr, &all, out.data());
    EXPECT_EQ(out, second);
    nvnTextureReadTexels(a, nullptr, &all, out.data());
    EXPECT_EQ(out, first);
}

// A volume's slices halve by level; levels past 31 must not shift by more than a word has.
TEST_F(Hostile, ViewsOfHostileLevelsStayInside) {
    TextureDesc t{};
    t.target = NVN_TEXTURE_TARGET_3D;
    t.format = NVN_FORMAT_RGBA8;
    t.width = t.height = 64;
    t.depth = 64;
    t.levels = 7;
    NVNtextureView v{};
    for (const int level : {0, 2, 6}) {
        nvnTextureViewSetLevels(&v, level, 1);
        EXPECT_EQ(resolve_view({t, v}).layer_count, 64u >> level);
    }
    t.levels = 255;
    t.depth = 0xffffffff;
    for (int level = 0; level < 255; ++level) {
        nvnTextureViewSetLevels(&v, level, 255);
        nvnTextureViewSetLayers(&v, 0xffff, 0xffff);
        const ResolvedView r = resolve_view({t, v});
        EXPECT_LE(r.base_level + r.level_count, 255u);
        EXPECT_GE(r.layer_count, 1u);
    }
    t.depth = 64;
    const ResolvedView r = resolve_view({t, v});
    EXPECT_EQ(r.base_layer, 0u) << "a level of one slice";
    EXPECT_EQ(r.layer_count, 1u);
    // The same through a texture whose bytes the guest overwrote.
    GuestPool pool(0x10000);
    Guest<NVNtextureBuilder> b;
    build(b, {NVN_TEXTURE_TARGET_3D, NVN_FORMAT_RGBA8, 16, 16, 16, 1}, pool, 0);
    Guest<NVNtexture> texture;
    ASSERT_TRUE(nvnTextureInitialize(texture, b));
    texture->desc.levels = 255;
    const NVNcopyRegion region{0, 0, 0, 1, 1, 1};
    uint8_t texel[4] = {1, 2, 3, 4};
    nvnTextureWriteTexels(texture, &v, &region, texel);
    EXPECT_EQ(nvnTextureGetViewOffset(texture, &v), 0);
    EXPECT_GE(report_count(Report::bad_object), 1u);
}

// Any bytes in a texture's record: what is written stays in memory pools.
TEST_F(Hostile, RandomTextureRecordsWriteNothingOutside) {
    auto* area = static_cast<uint8_t*>(
        mmap(nullptr, 0x30000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)); // guards around the pool
    std::memset(area, 0xa5, 0x30000);
    Guest<NVNmemoryPoolBuilder> pb;
    nvnMemoryPoolBuilderSetDevice(pb, nullptr);
    nvnMemoryPoolBuilderSetDefaults(pb);
    nvnMemoryPoolBuilderSetStorage(pb, area + 0x10000, 0x10000);
    Guest<NVNmemoryPool> pool;
    ASSERT_TRUE(nvnMemoryPoolInitialize(pool, pb));
    std::mt19937 random(77);
    const std::vector<uint8_t> data(1 << 20, 1);
    for (int round = 0; round < 20000; ++round) {
        NVNtexture t{};
        t.magic = kTextureMagic;
        t.desc.target = static_cast<uint8_t>(random() % 12);
        t.desc.format = static_cast<uint8_t>(random() % 160);
        t.desc.width = random() % 3 ? random() % 64 : random();
        t.desc.height = random() % 3 ? random() % 64 : random();
        t.desc.depth = random() % 3 ? random() % 8 : random();
        t.desc.levels = static_cast<uint8_t>(random() % 4 ? random() % 8 : random());
        t.desc.samples = static_cast<uint8_t>(random() % 20);
        t.desc.flags = static_cast<uint16_t>(random());
        t.desc.stride = random() % 2 ? random() % 1024 : random();
        t.desc.packaged = random() % 4 == 0;
        t.desc.packaged_blocks = static_cast<uint8_t>(random());
        t.desc.packaged_columns = static_cast<uint8_t>(random());
        t.desc.address = reinterpret_cast<uint64_t>(area) + (random() % 8 ? 0x10000 : random() % 0x30000);
        NVNtextureView v{};
        for (size_t i = 0; i < sizeof v; ++i)
            reinterpret_cast<uint8_t*>(&v)[i] = static_cast<uint8_t>(random());
        const auto small = [&] { return static_cast<int>(random() % 4 ? random() % 6 : random()); };
        const NVNcopyRegion r{small(), small(), small(), static_cast<int>(random() % 16), static_cast<int>(random() % 16),
                              static_cast<int>(random() % 4)};
        nvnTextureWriteTexels(&t, random() % 2 ? &v : nullptr, &r, data.data());
    }
    for (size_t i = 0; i < 0x10000; ++i) {
        ASSERT_EQ(area[i], 0xa5);
        ASSERT_EQ(area[0x20000 + i], 0xa5);
    }
    EXPECT_GE(report_count(Report::bad_object) + report_count(Report::bad_argument), 1u);
    nvnMemoryPoolFinalize(pool);
    munmap(area, 0x30000);
}

// Rule 167: packaged data is copied into the storage when the texture is made.
TEST_F(Hostile, PackagedDataIsCopiedAsFarAsItGoes) {
    GuestPool pool(0x10000);
    Guest<NVNtextureBuilder> b;
    build(b, {NVN_TEXTURE_TARGET_2D, NVN_FORMAT_RGBA8, 64, 64}, pool, 0x1000);
    const size_t bytes = nvnTextureBuilderGetStorageSize(b);
    ASSERT_EQ(bytes, 16384u);
    const std::vector<uint8_t> data = noise(bytes, 3);
    nvnTextureBuilderSetPackagedTextureData(b, data.data());
    EXPECT_EQ(nvnTextureBuilderGetPackagedTextureData(b), data.data());
    Guest<NVNtexture> t;
    ASSERT_TRUE(nvnTextureInitialize(t, b));
    EXPECT_EQ(std::memcmp(pool.memory() + 0x1000, data.data(), bytes), 0);
    EXPECT_EQ(pool.memory()[0xfff], 0);
    EXPECT_EQ(pool.memory()[0x1000 + bytes], 0);
    EXPECT_EQ(report_count(Report::bad_argument), 0u);
    // Data that ends at an unreadable page, and a pointer to nothing: one line, the rest stays.
    auto* area = static_cast<uint8_t*>(mmap(nullptr, 0x4000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(area, 0x77, 0x2000);
    munmap(area + 0x2000, 0x2000);
    std::memset(pool.memory(), 0, pool.size());
    nvnTextureBuilderSetPackagedTextureData(b, area);
    ASSERT_TRUE(nvnTextureInitialize(t, b));
    EXPECT_EQ(pool.memory()[0x1000], 0x77);
    EXPECT_EQ(pool.memory()[0x2fff], 0x77);
    EXPECT_EQ(pool.memory()[0x3000], 0);
    EXPECT_EQ(report_count(Report::bad_argument), 1u);
    nvnTextureBuilderSetPackagedTextureData(b, reinterpret_cast<const void*>(8));
    ASSERT_TRUE(nvnTextureInitialize(t, b));
    EXPECT_EQ(report_count(Report::bad_argument), 2u);
    munmap(area, 0x2000);
}

// Recording.

struct Recording {
    GuestPool pool{0x20000};
    alignas(8) uint8_t control[4096];
    Guest<NVNcommandBuffer> cmd;
    explicit Recording(bool with_control = true) {
        EXPECT_TRUE(nvnCommandBufferInitialize(cmd, nullptr));
        nvnCommandBufferAddCommandMemory(cmd, pool.get(), 0, 0x10000);
        if (with_control)
            nvnCommandBufferAddControlMemory(cmd, control, sizeof control);
    }
};

std::vector<uint32_t> firsts_of(NVNcommandHandle handle) { // of DrawArrays records
    std::vector<uint32_t> out;
    for_runs(handle, [&](uint64_t address, size_t bytes) {
        for (size_t at = 0; at + sizeof(DrawRecord) <= bytes;) {
            DrawRecord r;
            std::memcpy(&r, reinterpret_cast<const uint8_t*>(address) + at, sizeof r);
            out.push_back(r.first);
            at += size_t{r.header.words} * 4;
        }
        return true;
    });
    return out;
}

// A list copied over its own memory, at every distance: the same place gives the list again, any other one complete
// records, and no bytes past those that are counted.
TEST_F(Hostile, CopiesOverTheListThatIsCopied) {
    for (ptrdiff_t distance = 0; distance <= 64; distance += 4) {
        Recording r;
        alignas(8) uint8_t other[256];
        nvnCommandBufferBeginRecording(r.cmd);
        for (int i = 0; i < 8; ++i)
            nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, i, 3);
        const NVNcommandHandle h = nvnCommandBufferEndRecording(r.cmd);
        std::memset(r.pool.memory() + 128, 0, 0x1000);
        Guest<NVNcommandBuffer> copier;
        ASSERT_TRUE(nvnCommandBufferInitialize(copier, nullptr));
        nvnCommandBufferAddCommandMemory(copier, r.pool.get(), distance, 0x1000);
        nvnCommandBufferAddControlMemory(copier, other, sizeof other);
        nvnCommandBufferBeginRecording(copier);
        nvnCommandBufferCopyCommands(copier, 1, &h);
        const size_t used = nvnCommandBufferGetCommandMemoryUsed(copier);
        const std::vector<uint32_t> firsts = firsts_of(nvnCommandBufferEndRecording(copier));
        EXPECT_LE(used, 128u);
        EXPECT_EQ(firsts.size() * sizeof(DrawRecord), used);
        if (distance == 0) {
            EXPECT_EQ(firsts, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
        }
        for (size_t i = std::max<size_t>(128, static_cast<size_t>(distance) + used); i < 0x1000; ++i)
            ASSERT_EQ(r.pool.memory()[i], 0);
        nvnCommandBufferFinalize(copier);
        nvnCommandBufferFinalize(r.cmd);
    }
}

// Rules 106 and 110: without control memory the host lends blocks that last; sizes stay the guest's.
TEST_F(Hostile, ControlMemoryIsLentAndLasts) {
    Recording r(false);
    int asked = 0;
    nvnCommandBufferSetMemoryCallbackData(r.cmd, &asked);
    nvnCommandBufferSetMemoryCallback(r.cmd, [](NVNcommandBuffer*, NVNcommandBufferMemoryEvent event, size_t, void* user) {
        if (event == NVN_COMMAND_BUFFER_MEMORY_EVENT_OUT_OF_CONTROL_MEMORY)
            ++*static_cast<int*>(user); // and adds nothing
    });
    EXPECT_EQ(nvnCommandBufferGetControlMemorySize(r.cmd), 0u);
    EXPECT_EQ(nvnCommandBufferGetControlMemoryUsed(r.cmd), 0u);
    EXPECT_EQ(nvnCommandBufferGetControlMemoryFree(r.cmd), 0u);
    nvnCommandBufferBeginRecording(r.cmd);
    nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 41, 3);
    const NVNcommandHandle first = nvnCommandBufferEndRecording(r.cmd);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(nvnCommandBufferGetControlMemorySize(r.cmd), 0u);
    // A block of the guest's, then a smaller one.
    nvnCommandBufferAddControlMemory(r.cmd, r.control, 256);
    EXPECT_EQ(nvnCommandBufferGetControlMemorySize(r.cmd), 256u);
    EXPECT_EQ(nvnCommandBufferGetControlMemoryUsed(r.cmd), 0u);
    EXPECT_EQ(nvnCommandBufferGetControlMemoryFree(r.cmd), 256u);
    nvnCommandBufferBeginRecording(r.cmd);
    nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 42, 3);
    const NVNcommandHandle second = nvnCommandBufferEndRecording(r.cmd);
    EXPECT_EQ(second, reinterpret_cast<NVNcommandHandle>(r.control));
    EXPECT_EQ(nvnCommandBufferGetControlMemoryUsed(r.cmd), 8u);
    EXPECT_EQ(nvnCommandBufferGetControlMemoryFree(r.cmd), 248u);
    nvnCommandBufferAddControlMemory(r.cmd, r.control + 1024, 64);
    EXPECT_EQ(nvnCommandBufferGetControlMemorySize(r.cmd), 64u);
    EXPECT_EQ(nvnCommandBufferGetControlMemoryUsed(r.cmd), 0u);
    // Filled: 8 bytes stay free for the link into the lent block.
    nvnCommandBufferBeginRecording(r.cmd);
    for (int i = 0; i < 20; ++i) {
        nvnCommandBufferCallCommands(r.cmd, 1, &second);
        EXPECT_EQ(nvnCommandBufferGetControlMemorySize(r.cmd), 64u);
    }
    const NVNcommandHandle third = nvnCommandBufferEndRecording(r.cmd);
    EXPECT_EQ(firsts_of(first), std::vector<uint32_t>{41}) << "handles into lent blocks last";
    EXPECT_EQ(firsts_of(second), std::vector<uint32_t>{42});
    EXPECT_EQ(firsts_of(third), std::vector<uint32_t>(20, 42));
    EXPECT_GE(asked, 2);
}

// The host's blocks are bounded at 256 MB; afterwards recordings are lost with a line and an empty handle.
TEST_F(Hostile, LentControlMemoryIsBounded) {
    Recording r(false);
    size_t lent = 0;
    for (; lent < 5000; ++lent) {
        ASSERT_TRUE(nvnCommandBufferInitialize(r.cmd, nullptr)); // forgets its block
        nvnCommandBufferAddCommandMemory(r.cmd, r.pool.get(), 0, 0x10000);
        nvnCommandBufferBeginRecording(r.cmd);
        nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
        if (!nvnCommandBufferEndRecording(r.cmd))
            break;
    }
    EXPECT_EQ(lent, 4096u);
    EXPECT_EQ(report_count(Report::out_of_command_memory), 1u);
}

// Rule 117: a piece recorded over after it was called runs its complete records; rule 115 and 116 beside it.
TEST_F(Hostile, PiecesRecordedOverRunWhatIsThere) {
    Recording callee, caller;
    nvnCommandBufferBeginRecording(callee.cmd);
    nvnCommandBufferDrawArrays(callee.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 1, 3);
    const NVNcommandHandle h = nvnCommandBufferEndRecording(callee.cmd);
    nvnCommandBufferBeginRecording(caller.cmd);
    nvnCommandBufferCallCommands(caller.cmd, 1, &h);
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryUsed(caller.cmd), 0u);
    const NVNcommandHandle called = nvnCommandBufferEndRecording(caller.cmd);
    nvnCommandBufferAddCommandMemory(callee.cmd, callee.pool.get(), 0, 0x10000);
    nvnCommandBufferBeginRecording(callee.cmd);
    nvnCommandBufferDrawArrays(callee.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 2, 3);
    nvnCommandBufferEndRecording(callee.cmd);
    EXPECT_EQ(firsts_of(called), std::vector<uint32_t>{2}) << "of the same size: what is there";
}

} // namespace
} // namespace dmsh::nvn
