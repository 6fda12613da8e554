// The table of guest ABIs: what a stage finds where (rules B-001..B-009 and the tables of the requirements).
#include "runtime/abi/binding_kinds.h"
#include "runtime/abi/driver_segments.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace dmsh {
namespace {

struct Piece {
    uint32_t from, to;
    std::string what;
};

std::vector<Piece> driver_pieces(const GuestAbi& abi, Stage stage) {
    std::vector<Piece> out;
    const auto words = [&](uint32_t at, uint32_t count, const char* what) {
        if (at != kNone)
            out.push_back({at, at + 4 * count, what});
    };
    const auto table = [&](const BankTable& t, const char* what) {
        if (t.base != kNone)
            out.push_back({t.base, t.end(), what});
    };
    table(abi.storage[static_cast<unsigned>(stage)], "storage");
    if (stage == Stage::compute) {
        words(abi.group_count, 3, "group count");
        words(abi.group_count_nvn2, 3, "group count, second console");
        words(abi.group_size, 3, "group size");
        table(abi.compute_uniforms, "uniforms");
    } else {
        words(abi.point_size_limit, 1, "point size");
        words(abi.sample_table, 4, "sample table");
        words(abi.sample_row, 4, "sample row");
        words(abi.base_vertex, 1, "base vertex");
        words(abi.base_instance, 1, "base instance");
        words(abi.draw_index, 1, "draw index");
        words(abi.y_direction, 1, "y direction");
    }
    return out;
}

} // namespace

TEST(Abi, NoOverlap) { // B-001
    const GuestAbi& abi = guest_abi(GuestAbiId::nvn);
    for (unsigned s = 0; s < kStageCount; ++s) {
        std::vector<Piece> pieces = driver_pieces(abi, static_cast<Stage>(s));
        std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.from < b.from; });
        for (size_t i = 0; i + 1 < pieces.size(); ++i)
            EXPECT_LE(pieces[i].to, pieces[i + 1].from)
                << stage_name(static_cast<Stage>(s)) << ": " << pieces[i].what << ", " << pieces[i + 1].what;
    }
    // The handle bank's tables; slots 32 to 39 of the combined ones are the images (B-026).
    EXPECT_EQ(abi.textures.base + 32 * abi.textures.stride, abi.images.base);
    EXPECT_LE(abi.textures.end(), abi.separate_textures.base);
    EXPECT_LE(abi.separate_textures.end(), abi.separate_samplers.base);
}

TEST(Abi, OffsetsOfTheDocuments) {
    const GuestAbi& abi = guest_abi(GuestAbiId::nvn);
    constexpr struct {
        Stage stage;
        uint32_t base;
    } storage[] = {{Stage::vertex, 0x110},          {Stage::tess_control, 0x210}, {Stage::tess_evaluation, 0x310},
                   {Stage::compute, 0x310},         {Stage::geometry, 0x410},     {Stage::fragment, 0x510},
                   {Stage::task, 0x670},            {Stage::mesh, 0x770}};
    for (const auto& s : storage) {
        const BankTable& t = abi.storage[static_cast<unsigned>(s.stage)];
        EXPECT_EQ(t.base, s.base) << stage_name(s.stage);
        EXPECT_EQ(t.stride, 0x10u);
        EXPECT_EQ(t.count, 16u);
        EXPECT_FALSE(t.entry(s.base + 8)) << "unaligned";
        EXPECT_EQ(t.entry(s.base + 0x20), 2u);
    }
    EXPECT_EQ(abi.group_count, 0x200u);
    EXPECT_EQ(abi.group_count_nvn2, 4u);
    EXPECT_EQ(abi.compute_uniforms.base, 0x210u);
    EXPECT_EQ(abi.point_size_limit, 0x610u);
    EXPECT_EQ(kLargestPointSize, 2047.0f);
    EXPECT_EQ(abi.sample_table, 0x620u);
    EXPECT_EQ(abi.sample_row, 0x630u);
    EXPECT_EQ(abi.base_vertex, 0x640u);
    EXPECT_EQ(abi.base_instance, 0x644u);
    EXPECT_EQ(abi.textures.base, 0x20u);
    EXPECT_EQ(abi.textures.count, 40u);
    EXPECT_EQ(abi.images.base, 0x120u);
    EXPECT_EQ(abi.separate_textures.base, 0x168u);
    EXPECT_EQ(abi.separate_samplers.base, 0x568u);
    EXPECT_EQ(abi.separate_samplers.end(), 0x968u);
    EXPECT_EQ(abi.separate_samplers.end() / 8, 301u);
    EXPECT_EQ(abi.uniform_first, 3u);
    EXPECT_EQ(abi.uniform_count, 14u);
}

TEST(Abi, LimitsOfTheDocuments) { // B-024, "Limits"
    EXPECT_EQ(kMaxBindings, 128u);
    EXPECT_EQ(kMaxArgumentEntries, 768u);
    EXPECT_EQ(kUniformBufferBytes, 65536u);
    EXPECT_EQ(kTexturePoolSize, 1u << 20);
    EXPECT_EQ(kSamplerPoolSize, 1u << 12);
}

} // namespace dmsh
