// The backend's compute copy of GOBs equals the CPU's, both directions, both piece orders, padding untouched.
#include "runtime/nvn/texture_layout.h"
#include "tests/support/vulkan_harness.h"
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

namespace dmsh::test {
namespace {

struct Push {
    uint32_t storage_at, rows_at, row_bytes, rows, slices, row_words, slice_words, columns, block_height,
        block_depth, order, to_storage;
};

TEST(GobCopy, EqualsTheCpu) {
    auto harness = VulkanHarness::create();
    if (!harness)
        GTEST_SKIP() << harness.error().text();
    std::ifstream in(DMSH_SOURCE_DIR "/runtime/replay/vulkan/shaders/gob_copy.comp");
    std::stringstream text;
    text << in.rdbuf();
    const auto shader = compile_glsl("comp", text.str());
    ASSERT_TRUE(bool(shader)) << shader.error().text();
    struct Shape {
        uint32_t bytes, width, height, depth;
        bool is_3d;
    };
    const Shape shapes[] = {{4, 64, 64, 1, false}, {1, 37, 21, 1, false}, {2, 130, 40, 1, false}, {3, 50, 17, 1, false},
                            {8, 33, 70, 1, false}, {16, 20, 9, 1, false}, {12, 11, 30, 1, false}, {4, 33, 33, 20, true},
                            {1, 5, 3, 7, true},    {6, 45, 129, 1, false}};
    std::mt19937 random(11);
    for (const Shape& s : shapes)
        for (const nvn::GobOrder order : {nvn::GobOrder::tegra_x1, nvn::GobOrder::switch2})
            for (const bool to_storage : {false, true}) {
                nvn::LayoutInput li;
                li.bytes = static_cast<uint8_t>(s.bytes);
                li.width = s.width, li.height = s.height, li.depth = s.depth;
                li.is_3d = s.is_3d;
                const auto layout = nvn::texture_layout(li);
                ASSERT_TRUE(bool(layout));
                const nvn::LevelLayout& l = layout->levels[0];
                const uint32_t row = (l.row_bytes + 3) / 4 * 4 + 4, slice = row * l.height;
                std::vector<uint8_t> storage(l.bytes), rows(size_t{slice} * l.depth);
                for (auto& b : storage)
                    b = static_cast<uint8_t>(random());
                for (auto& b : rows)
                    b = static_cast<uint8_t>(random());
                const Push push{0,         0,         l.row_bytes,    l.height,      l.depth,
                                row / 4,   slice / 4, l.columns,      l.block_height, l.block_depth,
                                order == nvn::GobOrder::switch2, to_storage};
                Job job;
                job.buffers = {{storage}, {rows}};
                job.descriptors = {{0, 0, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0},
                                   {0, 1, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1}};
                job.push_constants.resize(sizeof push);
                std::memcpy(job.push_constants.data(), &push, sizeof push);
                job.stages.push_back({VK_SHADER_STAGE_COMPUTE_BIT, *shader, "main", {}});
                const uint32_t words = (l.row_bytes + 3) / 4 * l.height * l.depth;
                job.groups = {(words + 63) / 64, 1, 1};
                const auto out = (*harness)->run(job);
                ASSERT_TRUE(bool(out)) << out.error().text();
                const nvn::Box whole{0, 0, 0, l.width, l.height, l.depth};
                if (to_storage) {
                    ASSERT_TRUE(nvn::swizzle(l, s.bytes, storage.data(), l.bytes, whole, rows.data(), row, slice, order));
                    EXPECT_TRUE(out->buffers[0] == storage) << s.bytes << " bytes, " << s.width << "x" << s.height;
                } else {
                    ASSERT_TRUE(nvn::deswizzle(l, s.bytes, storage.data(), l.bytes, whole, rows.data(), row, slice, order));
                    for (uint32_t y = 0; y < l.height * l.depth; ++y)
                        ASSERT_EQ(std::memcmp(out->buffers[1].data() + size_t{y} * row, rows.data() + size_t{y} * row,
                                              l.row_bytes),
                                  0)
                            << s.bytes << " bytes, " << s.width << "x" << s.height << " row " << y;
                }
            }
}

} // namespace
} // namespace dmsh::test
