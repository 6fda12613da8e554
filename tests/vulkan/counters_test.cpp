// Counters, reports, timestamps, render conditions and transform feedback, against arithmetic.
#include "tests/vulkan/machine.h"
#include <chrono>
#include <thread>

namespace dmsh::test {
namespace {

// Vertex i covers pixel i of row 0; depth rises with i.
const char* const kPoints = R"(
void main() {
    gl_Position = vec4((vec2(gl_VertexIndex, 0) + 0.5) / 8.0 - 1.0, float(gl_VertexIndex) / 16.0, 1.0);
    gl_PointSize = 1.0;
})";
const char* const kOne = R"(
layout(location = 0) out uvec4 color;
void main() { color = uvec4(1); })";

struct Scene {
    Machine m{{{{Stage::vertex, kPoints}, {Stage::fragment, kOne}}}};
    NVNtexture* target = nullptr;
    NVNbufferAddress reports = 0;
    Scene() {
        if (!m.usable())
            return;
        nvnDeviceSetDepthMode(nullptr, NVN_DEPTH_MODE_NEAR_IS_ZERO);
        TextureShape s;
        s.format = NVN_FORMAT_RGBA8UI;
        target = m.texture(s);
        reports = m.take(1024);
        clear();
    }
    void clear() {
        m.draw_to(target, 0);
        const uint32_t none[4] = {};
        nvnCommandBufferClearColorui(m.cmd(), 0, none, 15);
    }
    void draw(int first, int count) {
        nvnCommandBufferDrawArrays(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, first, count);
    }
    int lit() {
        int n = 0;
        for (const uint32_t p : m.pixels_as<uint32_t>(target))
            n += p != 0;
        return n;
    }
};

TEST(Counters, SamplesPassedSinceTheResetInOrder) {
    Scene s;
    NEED(s.m);
    NVNcommandBuffer* c = s.m.cmd();
    nvnCommandBufferResetCounter(c, NVN_COUNTER_TYPE_SAMPLES_PASSED);
    s.draw(0, 5);
    nvnCommandBufferReportCounter(c, NVN_COUNTER_TYPE_SAMPLES_PASSED, s.reports);
    s.draw(2, 7);
    nvnCommandBufferReportCounter(c, NVN_COUNTER_TYPE_SAMPLES_PASSED, s.reports + 16);
    nvnCommandBufferResetCounter(c, NVN_COUNTER_TYPE_SAMPLES_PASSED);
    nvnCommandBufferReportCounter(c, NVN_COUNTER_TYPE_SAMPLES_PASSED, s.reports + 32);
    s.draw(0, 3);
    s.m.run();
    s.draw(0, 4); // sums go on over submissions
    nvnCommandBufferReportCounter(s.m.cmd(), NVN_COUNTER_TYPE_SAMPLES_PASSED, s.reports + 48);
    s.m.run();
    EXPECT_EQ(s.m.at<uint64_t>(s.reports), 5u);
    EXPECT_EQ(s.m.at<uint64_t>(s.reports + 16), 12u);
    EXPECT_EQ(s.m.at<uint64_t>(s.reports + 32), 0u);
    EXPECT_EQ(s.m.at<uint64_t>(s.reports + 48), 7u);
    uint64_t last = 0;
    for (int i = 0; i < 4; ++i) {
        const uint64_t ticks = s.m.at<uint64_t>(s.reports + 16 * i + 8);
        EXPECT_GT(ticks, last);
        last = ticks;
    }
}

TEST(Counters, PipelineStatistics) {
    Scene s;
    NEED(s.m);
    struct Want {
        NVNcounterType type;
        uint64_t value;
    };
    // Three triangles of 3 vertices, instanced twice, without a pixel: invocations and primitives only.
    const Want wants[] = {{NVN_COUNTER_TYPE_INPUT_VERTICES, 18},
                          {NVN_COUNTER_TYPE_INPUT_PRIMITIVES, 6},
                          {NVN_COUNTER_TYPE_CLIPPER_INPUT_PRIMITIVES, 6},
                          {NVN_COUNTER_TYPE_GEOMETRY_SHADER_PRIMITIVES, 0},
                          {NVN_COUNTER_TYPE_PRIMITIVES_GENERATED, 6},
                          {NVN_COUNTER_TYPE_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN, 0}};
    for (const Want& w : wants)
        nvnCommandBufferResetCounter(s.m.cmd(), w.type);
    nvnCommandBufferDrawArraysInstanced(s.m.cmd(), NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 9, 0, 2);
    NVNbufferAddress at = s.reports;
    for (const Want& w : wants)
        nvnCommandBufferReportCounter(s.m.cmd(), w.type, std::exchange(at, at + 16));
    s.m.run();
    at = s.reports;
    for (const Want& w : wants)
        EXPECT_EQ(s.m.at<uint64_t>(std::exchange(at, at + 16)), w.value) << w.type;
    nvnCommandBufferReportCounter(s.m.cmd(), NVN_COUNTER_TYPE_ZCULL_STATS, s.reports);
    s.m.run();
    EXPECT_EQ(s.m.at<uint64_t>(s.reports), 0u);
    EXPECT_TRUE(s.m.said("counter 0xf"));
}

// 13/8 ns a tick: over a pause of known length.
TEST(Counters, TimestampsTickAsTheGuestsClock) {
    Scene s;
    NEED(s.m);
    const auto start = std::chrono::steady_clock::now();
    nvnCommandBufferReportCounter(s.m.cmd(), NVN_COUNTER_TYPE_TIMESTAMP, s.reports);
    s.m.run();
    const auto middle = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto later = std::chrono::steady_clock::now();
    nvnCommandBufferReportCounter(s.m.cmd(), NVN_COUNTER_TYPE_TIMESTAMP_TOP, s.reports + 16);
    nvnCommandBufferReportValue(s.m.cmd(), 0xabcdef01, s.reports + 32);
    s.m.run();
    const auto end = std::chrono::steady_clock::now();
    const double ns =
        static_cast<double>(s.m.at<uint64_t>(s.reports + 24) - s.m.at<uint64_t>(s.reports + 8)) * 13 / 8;
    EXPECT_GE(ns, static_cast<double>((later - middle).count()) * 0.999);
    EXPECT_LE(ns, static_cast<double>((end - start).count()) * 1.001);
    EXPECT_EQ(s.m.at<uint64_t>(s.reports + 32), 0xabcdef01u);
    EXPECT_GE(s.m.at<uint64_t>(s.reports + 40), s.m.at<uint64_t>(s.reports + 24));
}

TEST(RenderEnable, OffAndByComparingReportsOfTheGpu) {
    Scene s;
    NEED(s.m);
    NVNcommandBuffer* c = s.m.cmd();
    nvnCommandBufferSetRenderEnable(c, 0);
    s.draw(0, 4);
    nvnCommandBufferSetRenderEnable(c, 1);
    EXPECT_EQ(s.lit(), 0);
    // Nothing passed between two reports: equal. Draws follow the GPU's own result in the same submission.
    for (const bool visible : {false, true}) {
        s.clear();
        nvnCommandBufferResetCounter(c, NVN_COUNTER_TYPE_SAMPLES_PASSED);
        nvnCommandBufferReportCounter(c, NVN_COUNTER_TYPE_SAMPLES_PASSED, s.reports + 16);
        if (visible)
            s.draw(15, 1);
        nvnCommandBufferReportCounter(c, NVN_COUNTER_TYPE_SAMPLES_PASSED, s.reports);
        nvnCommandBufferSetRenderEnableConditional(c, NVN_CONDITIONAL_RENDER_MODE_RENDER_IF_NOT_EQUAL,
                                                   s.reports);
        s.draw(0, 3);
        nvnCommandBufferSetRenderEnableConditional(c, NVN_CONDITIONAL_RENDER_MODE_RENDER_IF_EQUAL, s.reports);
        s.draw(5, 6);
        nvnCommandBufferSetRenderEnable(c, 1);
        EXPECT_EQ(s.lit(), visible ? 1 + 3 : 6);
    }
    // A condition that fails holds for clears too, and over submissions.
    s.clear();
    s.draw(0, 2);
    nvnCommandBufferSetRenderEnableConditional(c, NVN_CONDITIONAL_RENDER_MODE_RENDER_IF_EQUAL, s.reports);
    s.m.run();
    const uint32_t ones[4] = {1, 1, 1, 1};
    nvnCommandBufferClearColorui(c, 0, ones, 15);
    s.draw(4, 4);
    EXPECT_EQ(s.lit(), 2);
    nvnCommandBufferSetRenderEnable(c, 1);
}

// Each vertex captures its number; the buffer says which vertices ran while capture was on.
TEST(TransformFeedback, PausesResumesAndDrawsWhatItCaptured) {
    const char* capture = R"(
layout(xfb_buffer = 0, xfb_stride = 8, xfb_offset = 0, location = 0) out uvec2 captured;
void main() { captured = uvec2(gl_VertexIndex, 7); gl_Position = vec4(0, 0, 0, 1); gl_PointSize = 1.0; })";
    const char* replay = R"(
layout(location = 0) in uvec2 captured;
void main() { gl_Position = vec4((vec2(captured.x, 0) + 0.5) / 8.0 - 1.0, 0.5, 1.0); gl_PointSize = 1.0; })";
    Machine m({{{Stage::vertex, capture}}, {{Stage::vertex, replay, {}, 1}, {Stage::fragment, kOne}}});
    NEED(m);
    TextureShape shape;
    shape.format = NVN_FORMAT_RGBA8UI;
    NVNtexture* t = m.texture(shape);
    const NVNbufferAddress out = m.take(256), counter = m.take(16);
    NVNcommandBuffer* c = m.cmd();
    const auto draw = [&](int first, int count) {
        nvnCommandBufferDrawArrays(c, NVN_DRAW_PRIMITIVE_POINTS, first, count);
    };
    m.draw_to(t, 0);
    const uint32_t none[4] = {};
    nvnCommandBufferClearColorui(c, 0, none, 15);
    nvnCommandBufferSetRasterizerDiscard(c, 1);
    nvnCommandBufferResetCounter(c, NVN_COUNTER_TYPE_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN);
    nvnCommandBufferBindTransformFeedbackBuffer(c, 0, out, 256);
    nvnCommandBufferBeginTransformFeedback(c, counter);
    draw(3, 2);
    draw(9, 1);
    nvnCommandBufferPauseTransformFeedback(c, counter);
    draw(12, 2); // not captured
    nvnCommandBufferResumeTransformFeedback(c, counter);
    draw(5, 1);
    nvnCommandBufferEndTransformFeedback(c, counter);
    draw(14, 1); // not captured
    const NVNbufferAddress report = m.take(16);
    nvnCommandBufferReportCounter(c, NVN_COUNTER_TYPE_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN, report);
    m.run();
    if (m.said("transform feedback on this device"))
        GTEST_SKIP() << "the device has no transform feedback";
    EXPECT_EQ(m.at<uint32_t>(counter), 4 * 8u);
    EXPECT_EQ(m.at<uint64_t>(report), 4u);
    const uint32_t want[4] = {3, 4, 9, 5};
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(m.at<uint32_t>(out, 2 * i), want[i]);
        EXPECT_EQ(m.at<uint32_t>(out, 2 * i + 1), 7u);
    }
    EXPECT_EQ(m.at<uint32_t>(out, 8), 0u);

    m.draw_to(t, 1);
    nvnCommandBufferSetRasterizerDiscard(c, 0);
    NVNvertexAttribState a;
    nvnVertexAttribStateSetDefaults(&a);
    nvnVertexAttribStateSetFormat(&a, NVN_FORMAT_RG32UI, 0);
    nvnVertexAttribStateSetStreamIndex(&a, 0);
    NVNvertexStreamState s0;
    nvnVertexStreamStateSetDefaults(&s0);
    nvnVertexStreamStateSetStride(&s0, 8);
    nvnCommandBufferBindVertexAttribState(c, 1, &a);
    nvnCommandBufferBindVertexStreamState(c, 1, &s0);
    nvnCommandBufferBindVertexBuffer(c, 0, out, 256);
    nvnCommandBufferDrawTransformFeedback(c, NVN_DRAW_PRIMITIVE_POINTS, counter);
    const auto p = m.pixels_as<uint32_t>(t);
    for (uint32_t x = 0; x < 16; ++x)
        EXPECT_EQ(p[x] != 0, x == 3 || x == 4 || x == 9 || x == 5) << x;
}

TEST(TransformFeedback, ShadersWithoutCapturedOutputsAreNamed) {
    Scene s;
    NEED(s.m);
    nvnCommandBufferBindTransformFeedbackBuffer(s.m.cmd(), 0, s.reports, 256);
    nvnCommandBufferBeginTransformFeedback(s.m.cmd(), s.reports + 512);
    s.draw(0, 3);
    nvnCommandBufferEndTransformFeedback(s.m.cmd(), s.reports + 512);
    EXPECT_EQ(s.lit(), 3);
    EXPECT_TRUE(s.m.said("declares no captured outputs") || s.m.said("transform feedback on this device"));
}

} // namespace
} // namespace dmsh::test
