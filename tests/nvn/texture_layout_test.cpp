// Texture layouts against the worked numbers of the layout document: driver answers, game files, byte
// addresses.
#include "runtime/nvn/formats.h"
#include "runtime/nvn/swizzle_kernels.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace dmsh::nvn {
namespace {

LayoutInput shape(int format, uint32_t width, uint32_t height, uint32_t levels = 1) {
    const FormatInfo f = format_info(format);
    LayoutInput in;
    in.width = width;
    in.height = height;
    in.levels = levels;
    in.bytes = f.bytes;
    in.block_width = f.block_width;
    in.block_height = f.block_height;
    return in;
}

LayoutInput minimal(LayoutInput in) {
    in.minimal = true;
    return in;
}

LayoutInput volume(int format, uint32_t w, uint32_t h, uint32_t d, uint32_t levels = 1) {
    LayoutInput in = shape(format, w, h, levels);
    in.is_3d = true;
    in.depth = d;
    return in;
}

LayoutInput layered(LayoutInput in, uint32_t layers) {
    in.layers = layers;
    in.has_layers = true;
    return in;
}

struct Worked {
    LayoutInput in;
    uint32_t block_height, block_depth;
    uint64_t layer, storage;
    std::vector<uint64_t> offsets;
};

TEST(TextureLayout, WorkedShapes) {
    const Worked shapes[] = {
        {shape(NVN_FORMAT_RGB565, 320, 320), 16, 1, 245760, 245760, {}},
        {minimal(shape(NVN_FORMAT_RGB5A1, 320, 320)), 1, 1, 204800, 204800, {}},
        {shape(NVN_FORMAT_RG8, 260, 260, 9),
         16,
         1,
         332800,
         332800,
         {221184, 303104, 327680, 329728, 330752, 331264, 331776, 332288}},
        {minimal(shape(NVN_FORMAT_RG8, 260, 260, 9)),
         1,
         1,
         214528,
         214528,
         {152064, 195584, 209408, 211456, 212480, 212992, 213504, 214016}},
        {shape(NVN_FORMAT_R8, 8, 1920, 11),
         16,
         1,
         254464,
         254464,
         {122880, 188416, 221184, 237568, 245760, 249856, 251904, 252928, 253440, 253952}},
        {minimal(shape(NVN_FORMAT_R8, 8, 1920, 11)),
         1,
         1,
         246784,
         246784,
         {122880, 184320, 215040, 230400, 238080, 242176, 244224, 245248, 245760, 246272}},
        {minimal(volume(NVN_FORMAT_RGBA8, 64, 64, 8)), 1, 8, 131072, 131072, {}},
        {volume(NVN_FORMAT_RGBA8, 64, 64, 9), 1, 8, 262144, 262144, {}},
        {minimal(volume(NVN_FORMAT_RGBA8, 64, 64, 9)), 1, 1, 147456, 147456, {}},
        {minimal(shape(NVN_FORMAT_RGBA8, 64, 128)), 16, 1, 32768, 32768, {}},
        {shape(NVN_FORMAT_R32F, 260, 260), 16, 1, 417792, 417792, {}},
        {minimal(shape(NVN_FORMAT_R32F, 260, 260)), 1, 1, 287232, 287232, {}},
        {shape(NVN_FORMAT_RGBA_ASTC_5x5, 912, 512), 16, 1, 376832, 376832, {}},
        {shape(NVN_FORMAT_RGBA_ASTC_6x6, 512, 512, 10),
         16,
         1,
         244224,
         244224,
         {180224, 225280, 237568, 240640, 241664, 242176, 242688, 243200, 243712}},
        {shape(NVN_FORMAT_RGBA_DXT1, 256, 256), 8, 1, 32768, 32768, {}},
        {shape(NVN_FORMAT_BPTC_UNORM, 1024, 256), 8, 1, 262144, 262144, {}},
        {volume(NVN_FORMAT_RGBA16F, 256, 32, 16), 1, 16, 1048576, 1048576, {}},
        {shape(NVN_FORMAT_RGBA16F, 256, 64), 8, 1, 131072, 131072, {}},
        {shape(NVN_FORMAT_RGBA16F, 64, 64), 8, 1, 32768, 32768, {}},
        {shape(NVN_FORMAT_RGBA8, 16, 16), 2, 1, 1024, 1024, {}},
        {layered(shape(NVN_FORMAT_BPTC_UNORM, 512, 512, 10), 128),
         16,
         1,
         352256,
         45088768,
         {262144, 327680, 344064, 348160, 349184, 349696, 350208, 350720, 351232}},
        {layered(shape(NVN_FORMAT_BPTC_UNORM, 1024, 1024, 6), 64),
         16,
         1,
         1400832,
         89653248,
         {1048576, 1310720, 1376256, 1392640, 1396736}},
        {shape(NVN_FORMAT_RGBA8, 1920, 1080), 16, 1, 8847360, 8847360, {}},
        {shape(NVN_FORMAT_RGBA8, 1280, 720), 16, 1, 3932160, 3932160, {}},
        {volume(NVN_FORMAT_RGBA8, 10, 10, 10), 1, 8, 16384, 16384, {}},
        {volume(NVN_FORMAT_RGBA16F, 10, 10, 10), 1, 8, 32768, 32768, {}},
        {volume(NVN_FORMAT_RGBA8, 16, 16, 16), 1, 16, 16384, 16384, {}},
        {volume(NVN_FORMAT_RGBA8, 33, 33, 33), 1, 16, 368640, 368640, {}},
        {volume(NVN_FORMAT_RGBA8, 32, 32, 8, 6), 1, 8, 39424, 39424, {32768, 36864, 37888, 38400, 38912}},
        {shape(NVN_FORMAT_RGBA8, 4, 4), 1, 1, 512, 512, {}},
        {shape(NVN_FORMAT_R16, 260, 260), 16, 1, 221184, 221184, {}},
        {layered(shape(NVN_FORMAT_RGBA8, 260, 260), 2), 16, 1, 417792, 835584, {}},
        {shape(NVN_FORMAT_RGBA16, 68, 68), 8, 1, 73728, 73728, {}},
        {layered(shape(NVN_FORMAT_RGBA8, 64, 64), 4), 8, 1, 16384, 65536, {}},
        {shape(NVN_FORMAT_RGTC1_UNORM, 1024, 1024, 11),
         16,
         1,
         701440,
         701440,
         {524288, 655360, 688128, 696320, 698368, 698880, 699392, 699904, 700416, 700928}},
        {shape(NVN_FORMAT_RGTC1_UNORM, 5120, 5120), 16, 1, 13107200, 13107200, {}},
        {shape(NVN_FORMAT_RGBA_DXT1, 256, 256, 9),
         8,
         1,
         46080,
         46080,
         {32768, 40960, 43008, 43520, 44032, 44544, 45056, 45568}},
        {shape(NVN_FORMAT_R8, 1280, 720), 16, 1, 983040, 983040, {}},
        {shape(NVN_FORMAT_RG8, 640, 360), 16, 1, 491520, 491520, {}},
        {layered(shape(NVN_FORMAT_RGBA8, 256, 256), 6), 16, 1, 262144, 1572864, {}},
        {volume(NVN_FORMAT_RGBA8, 64, 64, 16, 7),
         1,
         16,
         301568,
         301568,
         {262144, 294912, 299008, 300032, 300544, 301056}},
        {layered(shape(NVN_FORMAT_RGBA_ASTC_8x8, 1024, 1024, 11), 121),
         16,
         1,
         352256,
         42622976,
         {262144, 327680, 344064, 348160, 349184, 349696, 350208, 350720, 351232, 351744}},
    };
    for (const Worked& w : shapes) {
        const auto l = texture_layout(w.in);
        ASSERT_TRUE(l);
        const std::string what = std::to_string(w.in.width) + "x" + std::to_string(w.in.height) + " bytes " +
                                 std::to_string(w.in.bytes) + (w.in.minimal ? " minimal" : "");
        EXPECT_EQ(l->levels[0].block_height, w.block_height) << what;
        EXPECT_EQ(l->levels[0].block_depth, w.block_depth) << what;
        EXPECT_EQ(l->layer_bytes, w.layer) << what;
        EXPECT_EQ(l->storage_bytes, w.storage) << what;
        for (size_t i = 0; i < w.offsets.size(); ++i)
            EXPECT_EQ(l->levels[i + 1].offset, w.offsets[i]) << what << " level " << i + 1;
    }
}

TEST(TextureLayout, SizesOfGameFiles) {
    struct Row {
        uint32_t width, height, bytes, block, levels, layers;
        uint64_t storage;
    };
    constexpr Row rows[] = {
        {100, 100, 8, 4, 7, 1, 12800},       {1028, 256, 16, 4, 11, 1, 360960},
        {128, 32, 4, 1, 8, 1, 24064},        {1536, 1024, 16, 4, 11, 1, 2099712},
        {180, 180, 8, 4, 8, 1, 35328},       {2048, 1344, 16, 4, 12, 1, 4546048},
        {256, 32, 16, 4, 9, 1, 17920},       {320, 128, 16, 4, 9, 1, 58368},
        {340, 340, 8, 4, 9, 1, 125440},      {400, 400, 8, 4, 9, 1, 147968},
        {4, 24, 4, 1, 1, 1, 2048},           {512, 384, 16, 4, 10, 1, 351744},
        {640, 640, 8, 4, 10, 1, 440832},     {64, 512, 8, 4, 10, 1, 26624},
        {800, 400, 8, 4, 10, 1, 280064},     {8192, 2048, 16, 4, 1, 1, 16777216},
        {16, 16, 4, 1, 1, 6, 6144},          {16, 16, 8, 4, 1, 6, 3072},
        {2048, 2048, 16, 4, 1, 6, 25165824}, {256, 256, 4, 1, 1, 6, 1572864},
        {64, 64, 4, 1, 1, 6, 98304},         {64, 64, 16, 1, 1, 6, 393216},
        {128, 128, 16, 4, 8, 6, 147456},     {16, 16, 16, 4, 5, 6, 15360},
        {256, 256, 16, 4, 9, 6, 540672},     {288, 288, 16, 4, 9, 6, 1204224},
        {512, 512, 16, 4, 10, 6, 2113536},   {64, 64, 16, 4, 7, 6, 49152},
    };
    for (const Row& r : rows) {
        LayoutInput in;
        in.width = r.width;
        in.height = r.height;
        in.bytes = static_cast<uint8_t>(r.bytes);
        in.block_width = in.block_height = static_cast<uint8_t>(r.block);
        in.levels = r.levels;
        in.layers = r.layers;
        in.has_layers = r.layers > 1;
        const auto l = texture_layout(in);
        ASSERT_TRUE(l);
        EXPECT_EQ(l->storage_bytes, r.storage) << r.width << "x" << r.height << " " << r.bytes << " bytes";
    }
}

TEST(TextureLayout, LinearShapes) {
    const auto linear = [](int format, uint32_t w, uint32_t h, uint32_t stride, bool target) {
        LayoutInput in = shape(format, w, h);
        in.linear = true;
        in.linear_target = target;
        in.stride = stride;
        return *texture_layout(in);
    };
    EXPECT_EQ(linear(NVN_FORMAT_RGBA8, 16, 16, 128, true).storage_bytes, 2048u);
    EXPECT_EQ(linear(NVN_FORMAT_RGBA_DXT1, 64, 64, 128, false).storage_bytes, 8192u);
    EXPECT_EQ(linear(NVN_FORMAT_RGBA8, 8, 8, 0, false).stride, 32u);
    EXPECT_EQ(linear(NVN_FORMAT_RGBA8, 6, 6, 0, false).storage_bytes, 192u);
    EXPECT_EQ(linear(NVN_FORMAT_R8, 736, 480, 0, false).storage_bytes, 353280u);
    EXPECT_EQ(linear(NVN_FORMAT_RGBA8, 1920, 1080, 0, false).storage_bytes, 8294400u);
    EXPECT_EQ(linear(NVN_FORMAT_R8, 37, 5, 256, false).storage_bytes, 1280u);
    EXPECT_EQ(linear(NVN_FORMAT_R8, 2048, 8192, 0, false).storage_bytes, 16777216u);
    EXPECT_EQ(linear(NVN_FORMAT_RGBA16F, 64, 1, 0, false).storage_bytes, 512u);
}

TEST(TextureLayout, ByteAddresses) {
    struct Row {
        uint32_t x, y, z, row_bytes, rows, block_height, block_depth;
        uint64_t address;
        GobOrder order = GobOrder::tegra_x1;
    };
    constexpr Row rows[] = {
        {100, 9, 0, 256, 64, 2, 1, 1812},      {1000, 77, 0, 1280, 80, 8, 1, 144280},
        {5, 130, 0, 128, 256, 16, 1, 16453},   {5, 130, 0, 128, 256, 16, 1, 16421, GobOrder::switch2},
        {130, 20, 17, 132, 33, 1, 16, 189058}, {2559, 719, 0, 5120, 720, 16, 1, 3601407},
    };
    for (const Row& r : rows) {
        LevelLayout l;
        l.row_bytes = r.row_bytes;
        l.columns = (r.row_bytes + kGobWidth - 1) / kGobWidth;
        l.height = r.rows;
        l.block_height = r.block_height;
        l.block_depth = r.block_depth;
        EXPECT_EQ(block_linear_offset(l, r.x, r.y, r.z, r.order), r.address);
    }
    EXPECT_EQ(gob_offset(48, 7, GobOrder::tegra_x1), 496u);
    EXPECT_EQ(gob_offset(48, 1, GobOrder::switch2), 336u);
    EXPECT_EQ(gob_offset(16, 6, GobOrder::switch2), 224u);
}

// Both directions equal the byte-address formula for any box, texel size and order, and padding stays
// untouched.
TEST(Swizzle, EqualsTheByteFormula) {
    std::mt19937 random(3);
    const uint32_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16};
    for (int round = 0; round < 400; ++round) {
        LayoutInput in;
        in.bytes = static_cast<uint8_t>(sizes[random() % 8]);
        in.width = 1 + random() % (round % 4 ? 90 : 300); // the wider ones have whole columns of GOBs
        in.height = 1 + random() % 90;
        in.is_3d = random() % 3 == 0;
        in.depth = in.is_3d ? 1 + random() % 20 : 1;
        in.levels = 1 + random() % 3;
        in.minimal = random() % 2;
        const GobOrder order = random() % 2 ? GobOrder::switch2 : GobOrder::tegra_x1;
        const auto layout = texture_layout(in);
        ASSERT_TRUE(layout);
        const LevelLayout& l = layout->levels[random() % in.levels];
        Box box;
        box.x = random() % l.width, box.width = 1 + random() % (l.width - box.x);
        box.y = random() % l.height, box.height = 1 + random() % (l.height - box.y);
        box.z = random() % l.depth, box.depth = 1 + random() % (l.depth - box.z);
        const uint64_t row_stride = box.width * in.bytes + random() % 20,
                       slice_stride = row_stride * box.height;
        std::vector<uint8_t> storage(l.bytes), rows(slice_stride * box.depth), back(l.bytes, 0xee);
        for (auto& b : storage)
            b = static_cast<uint8_t>(random());
        const SwizzleKernels& kernels = swizzle_kernels()[static_cast<size_t>(round) % swizzle_kernels().size()];
        ASSERT_TRUE(deswizzle_with(kernels, l, in.bytes, storage.data(), l.bytes, box, rows.data(), row_stride,
                                   slice_stride, order));
        ASSERT_TRUE(swizzle_with(kernels, l, in.bytes, back.data(), l.bytes, box, rows.data(), row_stride,
                                 slice_stride, order));
        std::vector<uint8_t> expected(l.bytes, 0xee);
        for (uint32_t z = 0; z < box.depth; ++z)
            for (uint32_t y = 0; y < box.height; ++y)
                for (uint32_t x = 0; x < box.width * in.bytes; ++x) {
                    const uint64_t at =
                        block_linear_offset(l, box.x * in.bytes + x, box.y + y, box.z + z, order);
                    ASSERT_LT(at, l.bytes);
                    ASSERT_EQ(rows[z * slice_stride + y * row_stride + x], storage[at]);
                    expected[at] = storage[at];
                }
        ASSERT_EQ(back, expected);
    }
}

// Tiled samples of a public tool (corpus/public/tegra_swizzle, MIT).
TEST(Swizzle, PublicTiledSamples) {
    const std::string folder = std::string(DMSH_SOURCE_DIR) + "/../shared/corpus/public/tegra_swizzle/";
    if (!std::filesystem::exists(folder))
        GTEST_SKIP() << "the public corpus is not beside the repository";
    const auto read = [&](const std::string& name) {
        std::ifstream in(folder + name, std::ios::binary);
        return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), {});
    };
    const struct {
        const char* name;
        LayoutInput in;
    } samples[] = {
        {"128_bc1", shape(NVN_FORMAT_RGBA_DXT1, 128, 128)},
        {"128_bc3", shape(NVN_FORMAT_RGBA_DXT5, 128, 128)},
        {"64_bc7", shape(NVN_FORMAT_BPTC_UNORM, 64, 64)},
        {"64_rgba", shape(NVN_FORMAT_RGBA8, 64, 64)},
        {"16_16_16_rgba", volume(NVN_FORMAT_RGBA8, 16, 16, 16)},
    };
    for (const auto& s : samples) {
        const auto linear = read(std::string(s.name) + ".bin"), tiled = read(std::string(s.name) + "_tiled.bin");
        ASSERT_FALSE(linear.empty()) << s.name;
        const auto layout = texture_layout(s.in);
        ASSERT_TRUE(layout);
        const LevelLayout& l = layout->levels[0];
        ASSERT_EQ(tiled.size(), layout->storage_bytes) << s.name;
        const Box whole{0, 0, 0, l.width, l.height, l.depth};
        const uint64_t slice = uint64_t{l.row_bytes} * l.height;
        ASSERT_EQ(linear.size(), slice * l.depth) << s.name;
        for (const SwizzleKernels& k : swizzle_kernels()) {
            std::vector<uint8_t> rows(linear.size()), storage(tiled.size());
            ASSERT_TRUE(deswizzle_with(k, l, s.in.bytes, tiled.data(), tiled.size(), whole, rows.data(),
                                       l.row_bytes, slice, GobOrder::tegra_x1));
            EXPECT_TRUE(rows == linear) << s.name << " " << k.name;
            ASSERT_TRUE(swizzle_with(k, l, s.in.bytes, storage.data(), storage.size(), whole, linear.data(),
                                     l.row_bytes, slice, GobOrder::tegra_x1));
            EXPECT_TRUE(storage == tiled) << s.name << " " << k.name;
        }
    }
}

TEST(TextureLayout, SparseTiles) {
    struct Row {
        int format;
        uint32_t size, levels, tiled, tiles;
        uint64_t tiled_bytes, tail_bytes;
        uint32_t tile_width, tile_height; // texels
    };
    constexpr Row rows[] = {
        {NVN_FORMAT_BPTC_UFLOAT, 8192, 12, 6, 1365, 89456640, 23040, 256, 256},
        {NVN_FORMAT_RGBA_ASTC_8x8, 8192, 12, 5, 341, 22347776, 23552, 512, 512},
        {NVN_FORMAT_RGBA8, 2048, 12, 5, 341, 22347776, 23552, 128, 128},
    };
    for (const Row& r : rows) {
        LayoutInput in = shape(r.format, r.size, r.size, r.levels);
        in.sparse = true;
        const auto l = texture_layout(in);
        ASSERT_TRUE(l);
        EXPECT_EQ(l->tiles.levels, r.tiled);
        EXPECT_EQ(l->tiles.tail_offset, r.tiled_bytes);
        EXPECT_EQ(l->tiles.tail_offset, uint64_t{r.tiles} * kSparseTileBytes);
        EXPECT_EQ(l->storage_bytes - l->tiles.tail_offset, r.tail_bytes);
        EXPECT_EQ(l->tiles.width * in.block_width, r.tile_width);
        EXPECT_EQ(l->tiles.height * in.block_height, r.tile_height);
        LayoutInput tiled_only = in; // engines size the tail as a difference of two storage sizes
        tiled_only.levels = r.tiled;
        EXPECT_EQ(l->storage_bytes - texture_layout(tiled_only)->storage_bytes, r.tail_bytes);
        EXPECT_EQ(texture_layout(layered(in, 3))->layer_bytes,
                  (r.tiled_bytes + r.tail_bytes + kSparseTileBytes - 1) / kSparseTileBytes * kSparseTileBytes);
    }
    // Every texel size: the tile is 64 KB, and tile (c, r) starts at (r * tiles across + c) * 64 KB.
    for (const uint8_t bytes : {1, 2, 4, 8, 16})
        for (const bool is_3d : {false, true}) {
            LayoutInput in;
            in.bytes = bytes;
            in.sparse = true;
            in.is_3d = is_3d;
            in.width = in.height = 600;
            in.depth = is_3d ? 64 : 1;
            const auto l = texture_layout(in);
            ASSERT_TRUE(l);
            const SparseTiles& t = l->tiles;
            EXPECT_EQ(uint64_t{t.width} * t.height * t.depth * bytes, kSparseTileBytes);
            EXPECT_EQ(l->levels[0].columns * kGobWidth % (t.width * bytes), 0u);
            const uint32_t across = l->levels[0].columns * kGobWidth / (t.width * bytes);
            if (!is_3d) {
                EXPECT_EQ(block_linear_offset(l->levels[0], t.width * bytes, t.height, 0),
                          (across + 1) * uint64_t{kSparseTileBytes});
            }
        }
    // A packaged texture without a column width has no column rounding: the tail of this one starts at 0x81000.
    LayoutInput packaged = shape(NVN_FORMAT_RGBA_ASTC_6x6, 1024, 1024, 2);
    packaged.sparse = packaged.packaged = true;
    packaged.packaged_height = 3;
    EXPECT_EQ(texture_layout(packaged)->levels[1].offset, 0x81000u);
    packaged.packaged_columns = 4;
    EXPECT_EQ(texture_layout(packaged)->levels[0].columns, 48u);
    LayoutInput odd = shape(NVN_FORMAT_RGB8, 256, 256);
    odd.sparse = true;
    EXPECT_FALSE(texture_layout(odd));
}

TEST(TextureLayout, MultisampleAndVideoDecode) {
    const struct {
        uint32_t samples, width, height;
    } factors[] = {{2, 2, 1}, {4, 2, 2}, {8, 4, 2}, {16, 4, 4}};
    for (const auto& f : factors) {
        LayoutInput in = shape(NVN_FORMAT_RGBA8, 100, 60);
        in.samples = f.samples;
        EXPECT_EQ(texture_layout(in)->storage_bytes,
                  texture_layout(shape(NVN_FORMAT_RGBA8, 100 * f.width, 60 * f.height))->storage_bytes);
    }
    LayoutInput video = shape(NVN_FORMAT_R8, 1280, 720);
    video.video_decode = true;
    EXPECT_EQ(texture_layout(video)->levels[0].block_height, 2u);
}

TEST(Swizzle, RefusesWhatDoesNotFit) {
    const auto layout = texture_layout(shape(NVN_FORMAT_RGBA8, 16, 16));
    uint8_t storage[1024] = {}, out[1024];
    const LevelLayout& l = layout->levels[0];
    EXPECT_TRUE(deswizzle(l, 4, storage, 1024, {0, 0, 0, 16, 16, 1}, out, 64, 1024));
    EXPECT_FALSE(deswizzle(l, 4, storage, 1023, {0, 0, 0, 16, 16, 1}, out, 64, 1024));
    EXPECT_FALSE(deswizzle(l, 4, storage, 1024, {1, 0, 0, 16, 16, 1}, out, 64, 1024));
    EXPECT_FALSE(deswizzle(l, 4, storage, 1024, {0, 0, 0xffffffff, 16, 16, 2}, out, 64, 1024));
    EXPECT_FALSE(deswizzle(l, 8, storage, 1024, {0, 0, 0, 16, 16, 1}, out, 128, 2048));
    EXPECT_FALSE(texture_layout(shape(NVN_FORMAT_RGBA8, 0, 16)));
    EXPECT_FALSE(texture_layout(shape(NVN_FORMAT_RGBA8, 20000, 16)));
    EXPECT_FALSE(texture_layout(shape(NVN_FORMAT_NONE, 16, 16)));
}

} // namespace
} // namespace dmsh::nvn
