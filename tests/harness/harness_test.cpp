// The harness itself: buffers, textures, multisampled images, targets and transform feedback come back as written.
#include "tests/support/vulkan_harness.h"
#include <cstring>
#include <gtest/gtest.h>

namespace dmsh::test {
namespace {

class Harness : public testing::Test {
  protected:
    void SetUp() override {
        auto h = VulkanHarness::create();
        if (!h)
            GTEST_SKIP() << h.error().text();
        harness = std::move(*h);
    }
    Outcome run(const Job& job) {
        auto r = harness->run(job);
        EXPECT_TRUE(bool(r)) << (r ? "" : r.error().text());
        if (!r)
            return {};
        for (const auto& m : r->messages)
            ADD_FAILURE() << m;
        return std::move(*r);
    }
    std::unique_ptr<VulkanHarness> harness;
};

template <class T> T read(const std::vector<uint8_t>& bytes, size_t index) {
    T v{};
    memcpy(&v, bytes.data() + index * sizeof v, sizeof v);
    return v;
}

TEST_F(Harness, ComputeReadsUniformTextureAndWritesStorageAndImage) {
    const auto shader = compile_glsl("comp", R"(#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) uniform U { uvec4 u; };
layout(set = 1, binding = 2) uniform sampler2D t[2];
layout(set = 2, binding = 1) buffer B { uint b[]; };
layout(set = 3, binding = 0, r32ui) uniform uimage2D i;
void main() {
    b[gl_LocalInvocationIndex] += u.y + uint(texelFetch(t[1], ivec2(gl_LocalInvocationIndex, 0), 0).x * 255.0 + 0.5);
    imageStore(i, ivec2(gl_LocalInvocationIndex, 1), uvec4(imageLoad(i, ivec2(gl_LocalInvocationIndex, 0)).x + 1u));
})");
    ASSERT_TRUE(bool(shader)) << shader.error().text();
    Job job;
    job.buffers.resize(2);
    job.buffers[0].bytes = {1, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    job.buffers[1].bytes = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0};
    job.images.resize(2);
    job.images[0].width = 4;
    job.images[0].texels = {7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 10, 0, 0, 0};
    job.images[1].format = VK_FORMAT_R8G8B8A8_UNORM;
    job.images[1].storage = true;
    job.images[1].width = 4;
    job.images[1].height = 2;
    job.samplers.resize(1);
    job.descriptors = {
        {0, 0, 0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 0},
        {1, 2, 1, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 0},
        {1, 2, 0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 0},
        {2, 1, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1},
        {3, 0, 0, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, 0, VK_FORMAT_R32_UINT},
    };
    job.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, *shader}};
    const Outcome out = run(job);
    ASSERT_EQ(out.buffers.size(), 2u);
    for (uint32_t i = 0; i < 4; ++i) {
        EXPECT_EQ(read<uint32_t>(out.buffers[1], i), i + 1 + 100 + 7 + i);
        EXPECT_EQ(read<uint32_t>(out.images[1], 4 + i), 1u);
    }
}

TEST_F(Harness, DrawsToFloatAndIntegerTargetsAndDepth) {
    const auto vs = compile_glsl("vert", R"(#version 450
layout(location = 0) in vec2 p;
layout(location = 0) flat out int v;
void main() { gl_Position = vec4(p, 0.25, 1.0); v = gl_VertexIndex; })");
    const auto fs = compile_glsl("frag", R"(#version 450
layout(location = 0) flat in int v;
layout(location = 0) out vec4 a;
layout(location = 1) out ivec4 b;
void main() { if (gl_FragCoord.x < 4.0) discard; a = gl_FragCoord; b = ivec4(v - 3); })");
    ASSERT_TRUE(vs && fs);
    for (uint32_t samples : {1u, 4u}) {
        Job job;
        job.stages = {{VK_SHADER_STAGE_VERTEX_BIT, *vs}, {VK_SHADER_STAGE_FRAGMENT_BIT, *fs}};
        auto& g = job.graphics;
        g.width = g.height = 8;
        g.samples = samples;
        const float corners[6] = {-1, -1, 3, -1, -1, 3};
        g.attributes.push_back({0, VK_FORMAT_R32G32_SFLOAT, {}});
        g.attributes[0].data.resize(sizeof corners);
        memcpy(g.attributes[0].data.data(), corners, sizeof corners);
        g.targets = {{VK_FORMAT_R32G32B32A32_SFLOAT, {}}, {VK_FORMAT_R32G32B32A32_SINT, {5, 5, 5, 5}}};
        g.depth = true;
        const Outcome out = run(job);
        ASSERT_EQ(out.targets.size(), 2u);
        const uint32_t pixel = 2 * 8 + 6;
        EXPECT_EQ(read<float>(out.targets[0], pixel * samples * 4), 6.5f);
        EXPECT_EQ(read<int32_t>(out.targets[1], pixel * samples * 4), -3);
        EXPECT_EQ(read<int32_t>(out.targets[1], 0), 5);
        EXPECT_EQ(read<float>(out.depth, pixel * samples), 0.25f);
        EXPECT_EQ(read<float>(out.depth, 0), 1.0f);
    }
}

TEST_F(Harness, CapturesVertexOutputs) {
    const auto vs = compile_glsl("vert", R"(#version 450
layout(location = 0, xfb_buffer = 0, xfb_stride = 8, xfb_offset = 4) flat out int v;
void main() { gl_Position = vec4(9.0); v = gl_VertexIndex * 3; })");
    ASSERT_TRUE(bool(vs)) << vs.error().text();
    Job job;
    job.stages = {{VK_SHADER_STAGE_VERTEX_BIT, *vs}};
    job.graphics.vertices = 6;
    job.graphics.discard_primitives = true;
    job.graphics.feedback_bytes[0] = 48;
    const Outcome out = run(job);
    ASSERT_EQ(out.feedback[0].size(), 48u);
    for (uint32_t i = 0; i < 6; ++i)
        EXPECT_EQ(read<uint32_t>(out.feedback[0], i * 2 + 1), i * 3);
}

TEST_F(Harness, FillsMultisampledTextures) {
    const auto shader = compile_glsl("comp", R"(#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) uniform sampler2DMS t;
layout(set = 0, binding = 1) buffer B { vec4 b[]; };
void main() { b[gl_LocalInvocationIndex] = texelFetch(t, ivec2(1, 0), int(gl_LocalInvocationIndex)); })");
    ASSERT_TRUE(bool(shader)) << shader.error().text();
    Job job;
    job.buffers.resize(1);
    job.buffers[0].bytes.resize(64);
    job.images.resize(1);
    auto& i = job.images[0];
    i.width = 2;
    i.samples = 4;
    for (unsigned n = 0; n < 32; ++n)
        i.texels.push_back(static_cast<uint8_t>(n));
    job.samplers.resize(1);
    job.descriptors = {{0, 0, 0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 0},
                       {0, 1, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0}};
    job.stages = {{VK_SHADER_STAGE_COMPUTE_BIT, *shader}};
    const Outcome out = run(job);
    for (unsigned s = 0; s < 4; ++s)
        EXPECT_NEAR(read<float>(out.buffers[0], s * 4 + 1) * 255.0f, 16.0f + s * 4 + 1, 0.01f);
    EXPECT_EQ(out.images[0], i.texels);
}

} // namespace
} // namespace dmsh::test
