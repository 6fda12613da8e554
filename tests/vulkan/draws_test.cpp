// Draws and dispatches: which vertices, instances and groups run, against arithmetic. A draw's vertex i of
// instance k colours pixel (i, k) of a 16 x 16 target with what the shaders were told.
#include "tests/vulkan/machine.h"
#include <set>

namespace dmsh::test {
namespace {

using Pixel = std::array<uint32_t, 4>;
using Cell = std::pair<uint32_t, uint32_t>;

const char* const kPoints = R"(
layout(location = 0) flat out uvec4 v;
void main() {
    gl_Position = vec4((vec2(gl_VertexIndex, gl_InstanceIndex) + 0.5) / 8.0 - 1.0, 0.5, 1.0);
    gl_PointSize = 1.0;
    v = uvec4(gl_VertexIndex, gl_InstanceIndex, gl_BaseInstance, 1);
})";
const char* const kFlat = R"(
layout(location = 0) flat in uvec4 v;
layout(location = 0) out uvec4 color;
void main() { color = v; })";
// The last word is the base instance of the driver segment.
const char* const kFlatDriver = R"(
layout(location = 0) flat in uvec4 v;
layout(location = 0) out uvec4 color;
layout(binding = B(0)) uniform Driver { uvec4 words[0x87]; };
void main() { color = uvec4(v.xyz, words[0x64].y); })";

class Draws : public ::testing::Test {
  protected:
    std::vector<std::vector<GlslShader>> programs() {
        return {{{Stage::vertex, kPoints}, {Stage::fragment, kFlat}},
                {{Stage::vertex, kPoints}, {Stage::fragment, kFlatDriver, {bind(BindingKind::driver)}}}};
    }
    // Cells with a pixel in them; each must say where it is.
    static std::set<Cell> cells(const std::vector<Pixel>& pixels) {
        std::set<Cell> r;
        for (uint32_t i = 0; i < pixels.size(); ++i)
            if (pixels[i][3] != 99) {
                EXPECT_EQ(pixels[i][0], i % 16);
                EXPECT_EQ(pixels[i][1], i / 16);
                r.insert({i % 16, i / 16});
            }
        return r;
    }
    static std::set<Cell> box(uint32_t x, uint32_t w, uint32_t y, uint32_t h) {
        std::set<Cell> r;
        for (uint32_t j = 0; j < h; ++j)
            for (uint32_t i = 0; i < w; ++i)
                r.insert({x + i, y + j});
        return r;
    }
    static NVNtexture* target(Machine& m, size_t program = 0) {
        TextureShape s;
        s.format = NVN_FORMAT_RGBA32UI;
        NVNtexture* t = m.texture(s);
        m.draw_to(t, program);
        const uint32_t empty[4] = {0, 0, 0, 99};
        nvnCommandBufferClearColorui(m.cmd(), 0, empty, 15);
        return t;
    }
};

TEST_F(Draws, DirectAndInstanced) {
    Machine m(programs());
    NEED(m);
    NVNtexture* t = target(m);
    nvnCommandBufferDrawArrays(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, 2, 3);
    EXPECT_EQ(cells(m.pixels_as<Pixel>(t)), box(2, 3, 0, 1));
    t = target(m);
    nvnCommandBufferDrawArraysInstanced(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, 1, 4, 5, 3);
    const auto p = m.pixels_as<Pixel>(t);
    EXPECT_EQ(cells(p), box(1, 4, 5, 3));
    EXPECT_EQ(p[6 * 16 + 2][2], 5u); // base instance
}

TEST_F(Draws, IndexedOfEveryWidthWithBaseVertex) {
    Machine m(programs());
    NEED(m);
    const auto check = [&](NVNindexType type, NVNbufferAddress indices) {
        NVNtexture* t = target(m);
        nvnCommandBufferDrawElementsInstanced(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, type, 3, indices, 4, 2, 2);
        EXPECT_EQ(cells(m.pixels_as<Pixel>(t)),
                  (std::set<Cell>{{5, 2}, {7, 2}, {11, 2}, {5, 3}, {7, 3}, {11, 3}}));
    };
    check(NVN_INDEX_TYPE_UNSIGNED_BYTE, m.put(std::vector<uint8_t>{1, 3, 7}));
    check(NVN_INDEX_TYPE_UNSIGNED_SHORT, m.put(std::vector<uint16_t>{1, 3, 7}));
    check(NVN_INDEX_TYPE_UNSIGNED_INT, m.put(std::vector<uint32_t>{1, 3, 7}));
    const NVNbufferAddress odd = m.take(64) + 1; // indices at an address that no device takes
    const uint16_t shorts[3] = {1, 3, 7};
    std::memcpy(reinterpret_cast<void*>(odd), shorts, sizeof shorts);
    check(NVN_INDEX_TYPE_UNSIGNED_SHORT, odd);
}

TEST_F(Draws, IndirectReadsRecordsThatTheGpuWroteBefore) {
    for (const bool import : {true, false}) {
        RuntimeOptions options;
        options.import_memory = import;
        Machine m(programs(), options);
        NEED(m);
        const NVNbufferAddress source = m.put(std::vector<uint32_t>{4, 2, 3, 1, /**/ 3, 2, 1, 4, 6});
        const NVNbufferAddress record = m.take(64);
        const NVNbufferAddress indices = m.put(std::vector<uint16_t>{9, 0, 2, 4});
        NVNtexture* t = target(m);
        nvnCommandBufferCopyBufferToBuffer(m.cmd(), source, record, 36, 0);
        nvnCommandBufferBarrier(m.cmd(), NVN_BARRIER_ORDER_INDIRECT_DATA_BIT);
        nvnCommandBufferDrawArraysIndirect(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, record);
        EXPECT_EQ(cells(m.pixels_as<Pixel>(t)), box(3, 4, 1, 2));
        t = target(m);
        nvnCommandBufferDrawElementsIndirect(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS,
                                             NVN_INDEX_TYPE_UNSIGNED_SHORT, indices, record + 16);
        EXPECT_EQ(cells(m.pixels_as<Pixel>(t)),
                  (std::set<Cell>{{4, 6}, {6, 6}, {8, 6}, {4, 7}, {6, 7}, {8, 7}}));
    }
}

TEST_F(Draws, IndirectWithoutInstancesDrawsNothing) {
    Machine m(programs());
    NEED(m);
    const NVNbufferAddress record = m.put(std::vector<uint32_t>{3, 0, 0, 0, 0});
    const NVNbufferAddress indices = m.put(std::vector<uint32_t>{0, 1, 2});
    NVNtexture* t = target(m);
    nvnCommandBufferDrawElementsIndirect(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, NVN_INDEX_TYPE_UNSIGNED_INT,
                                         indices, record);
    nvnCommandBufferDrawArraysIndirect(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, record);
    EXPECT_TRUE(cells(m.pixels_as<Pixel>(t)).empty());
    EXPECT_EQ(m.at<uint32_t>(record), 3u);
}

TEST_F(Draws, IndirectCountBoundsTheDraws) {
    Machine m(programs());
    NEED(m);
    std::vector<uint32_t> records(3 * 8); // stride 32
    for (uint32_t i = 0; i < 3; ++i) {
        const uint32_t r[5] = {2, 1, 0, 3 * i, 2 * i}; // indexed: base vertex 3 i, base instance 2 i
        std::copy_n(r, 5, &records[i * 8]);
    }
    const NVNbufferAddress at = m.put(records);
    const NVNbufferAddress indices = m.put(std::vector<uint16_t>{0, 1});
    for (const uint32_t count : {0u, 2u, 7u}) {
        const NVNbufferAddress bound = m.put(std::vector<uint32_t>{count});
        NVNtexture* t = target(m);
        nvnCommandBufferMultiDrawElementsIndirectCount(
            m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, NVN_INDEX_TYPE_UNSIGNED_SHORT, indices, at, bound, 3, 32);
        std::set<Cell> want;
        for (uint32_t i = 0; i < std::min(count, 3u); ++i)
            want.merge(box(3 * i, 2, 2 * i, 1));
        EXPECT_EQ(cells(m.pixels_as<Pixel>(t)), want) << count;
    }
    const NVNbufferAddress arrays = m.put(std::vector<uint32_t>{1, 1, 4, 0, /**/ 2, 1, 6, 1});
    const NVNbufferAddress two = m.put(std::vector<uint32_t>{2});
    NVNtexture* t = target(m);
    nvnCommandBufferMultiDrawArraysIndirectCount(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, arrays, two, 2, 16);
    EXPECT_EQ(cells(m.pixels_as<Pixel>(t)), (std::set<Cell>{{4, 0}, {6, 1}, {7, 1}}));
}

TEST_F(Draws, FragmentDriverSegmentHoldsTheBaseInstance) {
    Machine m(programs());
    NEED(m);
    NVNtexture* t = target(m, 1);
    nvnCommandBufferDrawArraysInstanced(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, 0, 1, 3, 1);
    EXPECT_EQ(m.pixels_as<Pixel>(t)[3 * 16][3], 3u);
    // From a record that only the GPU has: 61 as in B-008 would lie outside, so 9.
    const NVNbufferAddress source = m.put(std::vector<uint32_t>{1, 1, 0, 9}), record = m.take(16);
    t = target(m, 1);
    nvnCommandBufferCopyBufferToBuffer(m.cmd(), source, record, 16, 0);
    nvnCommandBufferDrawArraysIndirect(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, record);
    EXPECT_EQ(m.pixels_as<Pixel>(t)[9 * 16][3], 9u);
    // Several draws, each with its own.
    const NVNbufferAddress two = m.put(std::vector<uint32_t>{1, 1, 0, 4, /**/ 1, 1, 1, 7});
    const NVNbufferAddress count = m.put(std::vector<uint32_t>{2});
    t = target(m, 1);
    nvnCommandBufferMultiDrawArraysIndirectCount(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, two, count, 2, 16);
    const auto p = m.pixels_as<Pixel>(t);
    EXPECT_EQ(p[4 * 16][3], 4u);
    EXPECT_EQ(p[7 * 16 + 1][3], 7u);
}

// Each pipeline is a miss once, named with its shaders; with stand-ins its first draws are left out.
TEST_F(Draws, PipelineMissesAreCountedAndNamed) {
    for (const bool stand_ins : {false, true}) {
        RuntimeOptions options;
        options.stand_ins = stand_ins;
        Machine m(programs(), options);
        NEED(m);
        NVNtexture* t = target(m);
        nvnCommandBufferDrawArrays(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, 0, 3);
        const auto first = cells(m.pixels_as<Pixel>(t));
        auto& backend = static_cast<replay::VulkanBackendBase&>(m.runtime().backend());
        backend.finish_pipelines();
        nvnCommandBufferDrawArrays(m.cmd(), NVN_DRAW_PRIMITIVE_POINTS, 0, 3);
        EXPECT_EQ(cells(m.pixels_as<Pixel>(t)), box(0, 3, 0, 1));
        EXPECT_EQ(backend.info().pipeline_misses, 1u);
        EXPECT_EQ(backend.info().pipelines, 1u);
        EXPECT_TRUE(m.said(": vertex ") && m.said(" fragment "));
        EXPECT_EQ(backend.info().left_out, first.empty() ? 1u : 0u);
        if (!stand_ins) {
            EXPECT_EQ(first.size(), 3u);
        }
    }
}

// Lines and quads: positions from a buffer of cells, one colour.
const char* const kCells = R"(
layout(location = 0) in vec2 cell;
void main() { gl_Position = vec4((cell + 0.5) / 8.0 - 1.0, 0.5, 1.0); gl_PointSize = 1.0; })";
const char* const kOne = R"(
layout(location = 0) out uvec4 color;
void main() { color = uvec4(1); })";

class Primitives : public ::testing::Test {
  protected:
    std::unique_ptr<Machine> boot(std::vector<std::array<float, 2>> corners) {
        auto m = std::make_unique<Machine>(
            std::vector<std::vector<GlslShader>>{{{Stage::vertex, kCells, {}, 1}, {Stage::fragment, kOne}}});
        if (!m->usable())
            return m;
        vertices_ = m->put(corners);
        bytes_ = corners.size() * 8;
        return m;
    }
    NVNtexture* target(Machine& m) {
        TextureShape s;
        s.format = NVN_FORMAT_RGBA8UI;
        NVNtexture* t = m.texture(s);
        m.draw_to(t, 0);
        const uint32_t none[4] = {};
        nvnCommandBufferClearColorui(m.cmd(), 0, none, 15);
        NVNvertexAttribState a;
        nvnVertexAttribStateSetDefaults(&a);
        nvnVertexAttribStateSetFormat(&a, NVN_FORMAT_RG32F, 0);
        nvnVertexAttribStateSetStreamIndex(&a, 0);
        NVNvertexStreamState s0;
        nvnVertexStreamStateSetDefaults(&s0);
        nvnVertexStreamStateSetStride(&s0, 8);
        nvnCommandBufferBindVertexAttribState(m.cmd(), 1, &a);
        nvnCommandBufferBindVertexStreamState(m.cmd(), 1, &s0);
        nvnCommandBufferBindVertexBuffer(m.cmd(), 0, vertices_, bytes_);
        return t;
    }
    static std::string picture(Machine& m, NVNtexture* t, int rows = 8) {
        const auto p = m.pixels_as<uint32_t>(t);
        std::string s;
        for (int y = 0; y < rows; ++y) {
            for (int x = 0; x < 8; ++x)
                s += p[static_cast<size_t>(y * 16 + x)] ? '#' : '.';
            s += '\n';
        }
        return s;
    }
    NVNbufferAddress vertices_ = 0;
    size_t bytes_ = 0;
};

// Corners in the middle of cells 1 and 5: the lines run along cells.
TEST_F(Primitives, LineLoopIsClosed) {
    auto m = boot({{1, 1}, {5, 1}, {5, 5}, {1, 5}});
    NEED(*m);
    NVNtexture* t = target(*m);
    nvnCommandBufferDrawArrays(m->cmd(), NVN_DRAW_PRIMITIVE_LINE_LOOP, 0, 4);
    nvnCommandBufferDrawArrays(m->cmd(), NVN_DRAW_PRIMITIVE_POINTS, 0, 4); // ends of lines are not drawn
    EXPECT_EQ(picture(*m, t),
              "........\n.#####..\n.#...#..\n.#...#..\n.#...#..\n.#####..\n........\n........\n");
}

TEST_F(Primitives, QuadsAndTheirRestartIndex) {
    auto m = boot(
        {{0.5, 0.5}, {3.5, 0.5}, {3.5, 2.5}, {0.5, 2.5}, {4.5, 3.5}, {6.5, 3.5}, {6.5, 6.5}, {4.5, 6.5}});
    NEED(*m);
    const std::string want =
        "........\n.###....\n.###....\n........\n.....##.\n.....##.\n.....##.\n........\n";
    NVNtexture* t = target(*m);
    nvnCommandBufferDrawArrays(m->cmd(), NVN_DRAW_PRIMITIVE_QUADS, 0, 8);
    EXPECT_EQ(picture(*m, t), want);
    // 77 restarts: the two indices before it are no quad.
    const NVNbufferAddress indices = m->put(std::vector<uint16_t>{0, 1, 2, 3, 5, 6, 77, 4, 5, 6, 7});
    t = target(*m);
    nvnCommandBufferSetPrimitiveRestart(m->cmd(), 1, 77);
    nvnCommandBufferDrawElements(m->cmd(), NVN_DRAW_PRIMITIVE_QUADS, NVN_INDEX_TYPE_UNSIGNED_SHORT, 11,
                                 indices);
    EXPECT_EQ(picture(*m, t), want);
}

TEST_F(Primitives, RestartIndicesOtherThanTheWidestValue) {
    auto m = boot({{0, 0}, {4, 0}, {0, 2}, {4, 2}, {0, 4}, {4, 4}});
    NEED(*m);
    const std::string want =
        "#####...\n........\n#####...\n........\n#####...\n........\n........\n........\n";
    const NVNbufferAddress indices = m->put(std::vector<uint8_t>{0, 1, 200, 2, 3, 200, 4, 5});
    NVNtexture* t = target(*m);
    nvnCommandBufferSetPrimitiveRestart(m->cmd(), 1, 200);
    nvnCommandBufferDrawElements(m->cmd(), NVN_DRAW_PRIMITIVE_LINE_STRIP, NVN_INDEX_TYPE_UNSIGNED_BYTE, 8,
                                 indices);
    // The end points of a line are not drawn; a point on each closes them.
    nvnCommandBufferDrawArrays(m->cmd(), NVN_DRAW_PRIMITIVE_POINTS, 0, 6);
    EXPECT_EQ(picture(*m, t), want);
    // Compared after widening: a byte never equals 0xffff, so nothing restarts.
    t = target(*m);
    const NVNbufferAddress strip = m->put(std::vector<uint8_t>{0, 1, 3, 2});
    nvnCommandBufferSetPrimitiveRestart(m->cmd(), 1, 0xffff);
    nvnCommandBufferDrawElements(m->cmd(), NVN_DRAW_PRIMITIVE_LINE_STRIP, NVN_INDEX_TYPE_UNSIGNED_BYTE, 4,
                                 strip);
    nvnCommandBufferDrawArrays(m->cmd(), NVN_DRAW_PRIMITIVE_POINTS, 0, 4);
    EXPECT_EQ(picture(*m, t, 4), "#####...\n....#...\n#####...\n........\n");
}

// Group counts of the driver segment, direct and from a record that the GPU wrote.
TEST(Dispatches, GroupCountsDirectAndIndirect) {
    const char* text = R"(
layout(local_size_x = 1) in;
layout(binding = B(0)) uniform Driver { uvec4 words[0x87]; };
layout(binding = B(1)) buffer Out { uint groups; uint driver[3]; };
void main() { atomicAdd(groups, 1u); driver[0] = words[0x20].x; driver[1] = words[0x20].y; driver[2] = words[0x20].z; })";
    Binding out = bind(BindingKind::storage);
    out.written = true;
    Machine m({{{Stage::compute, text, {bind(BindingKind::driver), out}}}});
    NEED(m);
    const NVNbufferAddress result = m.take(64);
    const NVNbufferAddress source = m.put(std::vector<uint32_t>{4, 3, 2}), record = m.take(16);
    nvnCommandBufferBindProgram(m.cmd(), m.program(0), NVN_SHADER_STAGE_COMPUTE_BIT);
    nvnCommandBufferBindStorageBuffer(m.cmd(), NVN_SHADER_STAGE_COMPUTE, 0, result, 16);
    nvnCommandBufferDispatchCompute(m.cmd(), 5, 2, 1);
    m.run();
    EXPECT_EQ(m.at<uint32_t>(result), 10u);
    EXPECT_EQ(m.at<uint32_t>(result, 1), 5u);
    EXPECT_EQ(m.at<uint32_t>(result, 2), 2u);
    nvnCommandBufferClearBuffer(m.cmd(), result, 16, 0);
    nvnCommandBufferCopyBufferToBuffer(m.cmd(), source, record, 12, 0);
    nvnCommandBufferDispatchComputeIndirect(m.cmd(), record);
    m.run();
    EXPECT_EQ(m.at<uint32_t>(result), 24u);
    for (uint32_t i = 0; i < 3; ++i)
        EXPECT_EQ(m.at<uint32_t>(result, 1 + i), 4 - i);
}

TEST(Dispatches, PushConstantsOfBothGroups) {
    const char* text = R"(
layout(local_size_x = 1) in;
layout(binding = B(0)) uniform Push { uvec4 words[16]; };
layout(binding = B(1)) buffer Out { uint value; };
void main() { value = words[1].y; })";
    Binding out = bind(BindingKind::storage);
    out.written = true;
    Machine m({{{Stage::compute, text, {bind(BindingKind::push_constants), out}}}});
    NEED(m);
    const NVNbufferAddress result = m.take(64);
    nvnCommandBufferBindProgram(m.cmd(), m.program(0), NVN_SHADER_STAGE_COMPUTE_BIT);
    nvnCommandBufferBindStorageBuffer(m.cmd(), NVN_SHADER_STAGE_COMPUTE, 0, result, 16);
    const uint32_t compute = 0x1234, graphics = 0x5678;
    nvnCommandBufferPushComputeConstants(m.cmd(), 20, 4, &compute);
    nvnCommandBufferPushGraphicsConstants(m.cmd(), 20, 4, &graphics);
    nvnCommandBufferDispatchCompute(m.cmd(), 1, 1, 1);
    m.run();
    EXPECT_EQ(m.at<uint32_t>(result), 0x1234u);
}

TEST(MeshTasks, DrawWhereTheDeviceHasThem) {
    const char* mesh = R"(
#extension GL_EXT_mesh_shader : require
layout(local_size_x = 1) in;
layout(points, max_vertices = 1, max_primitives = 1) out;
void main() {
    SetMeshOutputsEXT(1, 1);
    gl_MeshVerticesEXT[0].gl_Position = vec4((vec2(gl_WorkGroupID.xy) + 0.5) / 8.0 - 1.0, 0.5, 1.0);
    gl_MeshVerticesEXT[0].gl_PointSize = 1.0;
    gl_PrimitivePointIndicesEXT[0] = 0;
})";
    Machine m({{{Stage::mesh, mesh}, {Stage::fragment, kOne}}});
    NEED(m);
    TextureShape s;
    s.format = NVN_FORMAT_RGBA8UI;
    NVNtexture* t = m.texture(s);
    const uint32_t none[4] = {};
    const auto covered = [&] {
        const auto p = m.pixels_as<uint32_t>(t);
        std::set<Cell> r;
        for (uint32_t i = 0; i < p.size(); ++i)
            if (p[i])
                r.insert({i % 16, i / 16});
        return r;
    };
    m.draw_to(t, 0);
    nvnCommandBufferClearColorui(m.cmd(), 0, none, 15);
    nvnCommandBufferDrawMeshTasks3D(m.cmd(), 3, 2, 1);
    if (covered().empty() && m.said("mesh shaders on this device"))
        GTEST_SKIP() << "the device has no mesh shaders";
    EXPECT_EQ(covered(), (std::set<Cell>{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}}));
    const NVNbufferAddress record = m.put(std::vector<uint32_t>{5, 0});
    nvnCommandBufferClearColorui(m.cmd(), 0, none, 15);
    nvnCommandBufferDrawMeshTasksIndirect(m.cmd(), record);
    EXPECT_EQ(covered(), (std::set<Cell>{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}}));
}

} // namespace
} // namespace dmsh::test
