// Stages that no corpus draws: two-part vertex programs, passthrough geometry, geometry and tessellation fitted to the draw.
#include "archivers/nvn/vertex_ab.h"
#include "tests/stages/fixtures.h"

namespace dmsh::test {
namespace {

constexpr uint32_t kVertices = 24;
constexpr uint32_t kMaxCaptured = 4096;

class Stages : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        if (auto h = VulkanHarness::create(false))
            harness = std::move(*h).release();
    }
    static void TearDownTestSuite() {
        delete harness;
        harness = nullptr;
    }
    void SetUp() override {
        if (!harness)
            GTEST_SKIP() << "no Vulkan device";
    }

    struct Drawn {
        std::vector<std::vector<float>> vertices; // each: position and the captured generic outputs, in the module's order
        std::vector<Capture> captures;
    };

    // Draws `stages` (the last one is captured) over kVertices vertices whose attribute 0 is (n, n + 0.25, n + 0.5, 1).
    Drawn draw(const std::vector<std::pair<VkShaderStageFlagBits, std::vector<uint32_t>>>& stages,
               VkPrimitiveTopology topology, uint32_t patch_points = 3) {
        Drawn out;
        auto capturing = capture_outputs(stages.back().second);
        if (!capturing) {
            ADD_FAILURE() << capturing.error().text();
            return out;
        }
        Job job;
        VertexAttribute a;
        a.format = VK_FORMAT_R32G32B32A32_SFLOAT;
        a.data.resize(kVertices * 16);
        for (uint32_t n = 0; n < kVertices; ++n) {
            const float f = static_cast<float>(n), v[4] = {f, f + 0.25f, f + 0.5f, 1};
            memcpy(&a.data[n * 16], v, 16);
        }
        auto& g = job.graphics;
        g.attributes.push_back(a);
        a.location = 1;
        for (uint32_t n = 0; n < kVertices; ++n) {
            const float f = -static_cast<float>(n), v[4] = {f, f, f, f};
            memcpy(&a.data[n * 16], v, 16);
        }
        g.attributes.push_back(a);
        g.vertices = kVertices;
        g.topology = topology;
        g.patch_points = patch_points;
        g.discard_primitives = true;
        g.feedback_bytes[0] = capturing->stride * kMaxCaptured;
        for (size_t i = 0; i < stages.size(); ++i) {
            const auto& words = i + 1 == stages.size() ? capturing->words : stages[i].second;
            auto reflection = reflect(words);
            job.stages.push_back({stages[i].first, words, reflection ? reflection->entry : "main", {}});
        }
        auto got = harness->run(job);
        if (!got) {
            ADD_FAILURE() << got.error().text();
            return out;
        }
        out.captures = capturing->captures;
        for (uint32_t n = 0; n < kMaxCaptured; ++n) {
            std::vector<float> v(capturing->stride / 4);
            memcpy(v.data(), &got->feedback[0][n * capturing->stride], capturing->stride);
            if (std::all_of(v.begin(), v.end(), [](float f) { return f == 0; }))
                break; // behind the last captured vertex
            out.vertices.push_back(v);
        }
        return out;
    }

    // Column of the captured word `name` ("b0[0]": position, "1.0": location 1) component `c`.
    static std::vector<float> column(const Drawn& d, const std::string& name, uint32_t c) {
        std::vector<float> values;
        for (const Capture& k : d.captures)
            if (k.name == name)
                for (const auto& v : d.vertices)
                    values.push_back(v[k.offset / 4 + c]);
        return values;
    }

    static std::vector<uint32_t> glsl(const char* stage, const std::string& text) {
        auto words = compile_glsl(stage, "#version 450\n" + text);
        EXPECT_TRUE(words) << (words ? "" : words.error().text());
        return words ? *words : std::vector<uint32_t>{};
    }

    // Position from attribute 0, location 1 from attribute 1.
    static std::vector<uint32_t> vertex_stage() {
        return glsl("vert", "layout(location = 0) in vec4 a; layout(location = 1) in vec4 b; layout(location = 1) out vec4 o;\n"
                            "void main() { gl_Position = a; o = b; }\n");
    }

    static VulkanHarness* harness;
};
VulkanHarness* Stages::harness = nullptr;

// S-017: part A writes the position, part B the rest; the hardware runs both.
TEST_F(Stages, TwoPartVertexProgramRunsBothParts) {
    const auto a = program(Header(0).reads(0x80, 0x8c).writes(0x70, 0x7c),
                           Code().load(0, 0x80).store(0x70, 0).exit());
    const auto b = program(Header(1).reads(0x90, 0x9c).writes(0x90, 0x9c),
                           Code().load(0, 0x90).store(0x90, 0).exit());
    auto merged = merge_vertex_parts(a, b);
    ASSERT_TRUE(merged) << merged.error().text();
    const Translation t = translated(*merged, Stage::vertex);
    const Drawn d = draw({{VK_SHADER_STAGE_VERTEX_BIT, t.spirv}}, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST);
    ASSERT_EQ(d.vertices.size(), kVertices);
    const auto x = column(d, "b0[0]", 0), y = column(d, "b0[0]", 1), other = column(d, "1.0", 2);
    ASSERT_EQ(other.size(), kVertices);
    for (uint32_t n = 0; n < kVertices; ++n) {
        EXPECT_EQ(x[n], static_cast<float>(n));
        EXPECT_EQ(y[n], static_cast<float>(n) + 0.25f);
        EXPECT_EQ(other[n], -static_cast<float>(n));
    }
}

struct Primitive {
    VkPrimitiveTopology topology;
    uint8_t vertices;
    std::vector<uint32_t> kept; // vertices of a primitive that leave a passthrough shader
};
const Primitive kPrimitives[] = {
    {VK_PRIMITIVE_TOPOLOGY_POINT_LIST, 1, {0}},
    {VK_PRIMITIVE_TOPOLOGY_LINE_LIST, 2, {0, 1}},
    {VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, 3, {0, 1, 2}},
    {VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY, 4, {1, 2}},
    {VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY, 6, {0, 2, 4}},
};

// L-041, L-042: the primitive leaves as it came, without adjacent vertices, with what the shader writes; the header declares one
// vertex of a triangle strip.
TEST_F(Stages, PassthroughGeometryEmitsTheInputPrimitive) {
    const auto whole = program(Header(4).set(24, 1, 1).set(88, 8, 1).set(120, 4, 7).set(128, 12, 1).reads(0x90, 0x9c).writes(0x64, 0x64),
                               Code().set(0, 3).store(0x64, 0, 1).exit());
    for (const Primitive& p : kPrimitives) {
        const Translation t = translated(whole, Stage::geometry, p.vertices);
        EXPECT_EQ(t.interface.max_vertices, p.kept.size());
        const Drawn d = draw({{VK_SHADER_STAGE_VERTEX_BIT, vertex_stage()}, {VK_SHADER_STAGE_GEOMETRY_BIT, t.spirv}}, p.topology);
        const uint32_t primitives = kVertices / p.vertices;
        ASSERT_EQ(d.vertices.size(), primitives * p.kept.size()) << int{p.vertices};
        const auto x = column(d, "b0[0]", 0), passed = column(d, "1.0", 0);
        for (size_t n = 0; n < x.size(); ++n) {
            const auto source = static_cast<float>(n / p.kept.size() * p.vertices + p.kept[n % p.kept.size()]);
            EXPECT_EQ(x[n], source) << int{p.vertices};
            EXPECT_EQ(passed[n], -source) << int{p.vertices};
        }
        float layer = 0;
        const uint32_t three = 3;
        memcpy(&layer, &three, 4);
        for (const float f : column(d, "b9[0]", 0))
            EXPECT_EQ(memcmp(&f, &layer, 4), 0);
    }
}

// L-043: bit 0 of the mask clear culls the primitive; that other viewports are lost is said.
TEST_F(Stages, PassthroughGeometryCullsByTheViewportMask) {
    // The mask is bit 0 of the first vertex's x as an integer: odd vertices survive.
    const auto whole = program(Header(4).set(24, 1, 1).set(88, 8, 1).set(120, 4, 1).set(128, 12, 1).reads(0x70, 0x7c).reads(0x90, 0x9c).writes(0x3a0, 0x3a0),
                               Code().set(1, 0).load(0, 0x70, 1, 1)
                                   .add(Op::F2I, Form::reg, {{F::dst, 0}, {F::src_b, 0}, {F::fmt_int_d, 2}, {F::fmt_float_s, 2}})
                                   .store(0x3a0, 0, 1).exit());
    const Translation t = translated(whole, Stage::geometry, 1);
    ASSERT_FALSE(t.losses.empty());
    EXPECT_EQ(t.losses[0].code, static_cast<uint16_t>(LossCode::viewport_mask));
    const Drawn d = draw({{VK_SHADER_STAGE_VERTEX_BIT, vertex_stage()}, {VK_SHADER_STAGE_GEOMETRY_BIT, t.spirv}},
                         VK_PRIMITIVE_TOPOLOGY_POINT_LIST);
    const auto x = column(d, "b0[0]", 0);
    ASSERT_EQ(x.size(), kVertices / 2);
    for (size_t n = 0; n < x.size(); ++n)
        EXPECT_EQ(x[n], static_cast<float>(2 * n + 1));
}

// A geometry shader with 2 invocations that emits its vertex 0, made for triangles, fitted to what the draw has.
TEST_F(Stages, GeometryFitsTheInputPrimitiveOfTheDraw) {
    const auto whole = program(Header(4).set(88, 8, 2).set(120, 4, 1).set(128, 12, 1).reads(0x70, 0x7c).reads(0x90, 0x9c).writes(0x70, 0x7c).writes(0x90, 0x9c),
                               Code().set(8, 0).load(0, 0x70, 8).load(4, 0x90, 8).store(0x70, 0).store(0x90, 4).emit().exit());
    const Translation t = translated(whole, Stage::geometry);
    EXPECT_EQ(t.interface.input_primitive, 1); // all that the code names is vertex 0
    EXPECT_EQ(t.interface.invocations, 2u);
    for (const Primitive& p : kPrimitives) {
        const auto fitted = with_input_primitive(t.spirv, p.vertices);
        EXPECT_TRUE(validate_spirv(fitted));
        const Drawn d = draw({{VK_SHADER_STAGE_VERTEX_BIT, vertex_stage()}, {VK_SHADER_STAGE_GEOMETRY_BIT, fitted}}, p.topology);
        ASSERT_EQ(d.vertices.size(), kVertices / p.vertices * 2) << int{p.vertices};
        const auto x = column(d, "b0[0]", 0), o = column(d, "1.0", 0);
        for (size_t n = 0; n < x.size(); ++n) {
            EXPECT_EQ(x[n], static_cast<float>(n / 2 * p.vertices));
            EXPECT_EQ(o[n], -x[n]);
        }
    }
}

// The evaluation shader writes its coordinates; the mode is not in its code. Against the same mode in GLSL.
TEST_F(Stages, EvaluationFitsTheTessellationMode) {
    // a[0x2f0] is read back from the outputs (ALD.O), as compilers do.
    Code code;
    code.set(8, 0);
    code.add(Op::ALD, Form::reg, {{F::dst, 0}, {F::attr_offset, 0x2f0}, {F::src_c, 8}, {F::attr_size, 1}, {F::attr_out, 1}});
    code.set(2, 0x3f800000).set(3, 0x3f800000).store(0x70, 0).exit();
    const auto whole = program(Header(3).writes(0x70, 0x7c).set(400 + 0x2f0 / 4, 2, 3).set(160 + 0x2f0 / 4, 2, 3), code);
    const Translation t = translated(whole, Stage::tess_evaluation);
    EXPECT_EQ(t.interface.tess.domain, TessDomain::unknown);
    const std::string control = "layout(vertices = 3) out;\nvoid main() {\n"
                                "for (int i = 0; i < 4; ++i) gl_TessLevelOuter[i] = 2.5 + float(i);\n"
                                "gl_TessLevelInner[0] = 3.5; gl_TessLevelInner[1] = 2.5;\n"
                                "gl_out[gl_InvocationID].gl_Position = vec4(0.0); }\n";
    const auto vertex = glsl("vert", "void main() { gl_Position = vec4(0.0); }\n"), levels = glsl("tesc", control);
    const char* domains[] = {"", "triangles", "quads", "isolines"};
    const char* spacings[] = {"equal_spacing", "fractional_odd_spacing", "fractional_even_spacing"};
    for (unsigned domain = 1; domain < 4; ++domain)
        for (unsigned spacing = 0; spacing < 3; ++spacing)
            for (const unsigned bits : {spacing, 3u}) { // winding and point mode: each alone, neither, both
                if (bits == 3 && spacing)
                    continue;
                const TessMode mode{static_cast<TessDomain>(domain), static_cast<TessSpacing>(spacing), (bits & 1) != 0, (bits & 2) != 0};
                const std::string reference = std::string("layout(") + domains[domain] + ", " + spacings[spacing] +
                                              (mode.clockwise ? ", cw" : ", ccw") + (mode.points ? ", point_mode" : "") +
                                              ") in;\nvoid main() { gl_Position = vec4(gl_TessCoord.xy, 1.0, 1.0); }\n";
                const auto with = [&](const std::vector<uint32_t>& words) {
                    return draw({{VK_SHADER_STAGE_VERTEX_BIT, vertex},
                                 {VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT, levels},
                                 {VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT, words}},
                                VK_PRIMITIVE_TOPOLOGY_PATCH_LIST);
                };
                const auto fitted = with_tess_mode(t.spirv, mode);
                EXPECT_TRUE(validate_spirv(fitted));
                const Drawn expected = with(glsl("tese", reference)), got = with(fitted);
                EXPECT_GT(expected.vertices.size(), 8u);
                for (uint32_t c = 0; c < 4; ++c)
                    EXPECT_EQ(column(expected, "b0[0]", c), column(got, "b0[0]", c)) << reference;
            }
}

} // namespace
} // namespace dmsh::test
