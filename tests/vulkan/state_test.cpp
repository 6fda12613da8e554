// Fixed-function state: what a rectangle of known colour and depth leaves behind, against the arithmetic of
// the state.
#include "tests/vulkan/machine.h"
#include <cmath>
#include <functional>

namespace dmsh::test {
namespace {

using Float4 = std::array<float, 4>;

const char* const kRectangle = R"(
#extension GL_ARB_shader_viewport_layer_array : require
layout(binding = B(0)) uniform U { vec4 rect; vec4 z; };
void main() {
    gl_Position = vec4(mix(rect.xy, rect.zw, vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1)), z.x, 1.0);
    gl_Layer = int(z.y) * gl_InstanceIndex;
    gl_ViewportIndex = int(z.z) * gl_InstanceIndex;
    gl_PointSize = 1.0;
})";
const char* const kColors = R"(
layout(binding = B(0)) uniform U { vec4 a, b; };
layout(location = 0) out vec4 color;
void main() { color = a; })";
const char* const kDual = R"(
layout(binding = B(0)) uniform U { vec4 a, b; };
layout(location = 0, index = 0) out vec4 color;
layout(location = 0, index = 1) out vec4 second;
void main() { color = a; second = b; })";
const char* const kTwo = R"(
layout(binding = B(0)) uniform U { vec4 a, b; };
layout(location = 0) out vec4 color;
layout(location = 1) out vec4 other;
void main() { color = a; other = b; })";

// Programs: 0 one colour, 1 two sources, 2 two targets.
struct Scene : Machine {
    NVNbufferAddress vertex = 0, fragment = 0;
    Scene()
        : Machine({{{Stage::vertex, kRectangle, {bind(BindingKind::uniform)}},
                    {Stage::fragment, kColors, {bind(BindingKind::uniform)}}},
                   {{Stage::vertex, kRectangle, {bind(BindingKind::uniform)}},
                    {Stage::fragment, kDual, {bind(BindingKind::uniform)}}},
                   {{Stage::vertex, kRectangle, {bind(BindingKind::uniform)}},
                    {Stage::fragment, kTwo, {bind(BindingKind::uniform)}}}}) {
        if (!usable())
            return;
        nvnDeviceSetDepthMode(nullptr, NVN_DEPTH_MODE_NEAR_IS_ZERO);
        vertex = take(256);
        fragment = take(256);
        nvnCommandBufferBindUniformBuffer(cmd(), NVN_SHADER_STAGE_VERTEX, 0, vertex, 256);
        nvnCommandBufferBindUniformBuffer(cmd(), NVN_SHADER_STAGE_FRAGMENT, 0, fragment, 256);
    }
    void place(Float4 rect, float z, float layer = 0, float viewport = 0) {
        const Float4 u[2] = {rect, {z, layer, viewport, 0}};
        nvnCommandBufferUpdateUniformBuffer(cmd(), vertex, 256, 0, sizeof u, u);
    }
    void paint(Float4 a, Float4 b = {}) {
        const Float4 u[2] = {a, b};
        nvnCommandBufferUpdateUniformBuffer(cmd(), fragment, 256, 0, sizeof u, u);
    }
    void draw(int instances = 1) {
        nvnCommandBufferDrawArraysInstanced(cmd(), NVN_DRAW_PRIMITIVE_TRIANGLE_STRIP, 0, 4, 0, instances);
    }
};
constexpr Float4 kAll{-1, -1, 1, 1};

TEST(Blend, FactorsAndEquations) {
    Scene s;
    NEED(s);
    NVNtexture* t = s.texture({16, 16, 1, NVN_FORMAT_RGBA32F});
    const Float4 src{0.5f, 0.25f, 0.75f, 0.625f}, src1{0.125f, 0.5f, 0.25f, 0.375f},
        dst{0.25f, 0.5f, 0.125f, 0.5f}, constant{0.75f, 0.5f, 0.25f, 0.875f};
    const auto factor = [&](int f, int k) -> float {
        const float saturate = k == 3 ? 1.0f : std::min(src[3], 1 - dst[3]);
        const size_t c = static_cast<size_t>(k);
        switch (f) {
        case NVN_BLEND_FUNC_ZERO: return 0;
        case NVN_BLEND_FUNC_ONE: return 1;
        case NVN_BLEND_FUNC_SRC_COLOR: return src[c];
        case NVN_BLEND_FUNC_ONE_MINUS_SRC_COLOR: return 1 - src[c];
        case NVN_BLEND_FUNC_SRC_ALPHA: return src[3];
        case NVN_BLEND_FUNC_ONE_MINUS_SRC_ALPHA: return 1 - src[3];
        case NVN_BLEND_FUNC_DST_ALPHA: return dst[3];
        case NVN_BLEND_FUNC_ONE_MINUS_DST_ALPHA: return 1 - dst[3];
        case NVN_BLEND_FUNC_DST_COLOR: return dst[c];
        case NVN_BLEND_FUNC_ONE_MINUS_DST_COLOR: return 1 - dst[c];
        case NVN_BLEND_FUNC_SRC_ALPHA_SATURATE: return saturate;
        case NVN_BLEND_FUNC_SRC1_COLOR: return src1[c];
        case NVN_BLEND_FUNC_ONE_MINUS_SRC1_COLOR: return 1 - src1[c];
        case NVN_BLEND_FUNC_SRC1_ALPHA: return src1[3];
        case NVN_BLEND_FUNC_ONE_MINUS_SRC1_ALPHA: return 1 - src1[3];
        case NVN_BLEND_FUNC_CONSTANT_COLOR: return constant[c];
        case NVN_BLEND_FUNC_ONE_MINUS_CONSTANT_COLOR: return 1 - constant[c];
        case NVN_BLEND_FUNC_CONSTANT_ALPHA: return constant[3];
        default: return 1 - constant[3];
        }
    };
    const int factors[] = {0x1, 0x2,  0x3,  0x4,  0x5,  0x6,  0x7,  0x8,  0x9, 0xa,
                           0xb, 0x10, 0x11, 0x12, 0x13, 0x61, 0x62, 0x63, 0x64};
    struct Case {
        int src, dst, equation;
    };
    std::vector<Case> cases;
    for (const int f : factors) {
        cases.push_back({f, NVN_BLEND_FUNC_ONE, NVN_BLEND_EQUATION_ADD});
        if (f != NVN_BLEND_FUNC_SRC_ALPHA_SATURATE)
            cases.push_back({NVN_BLEND_FUNC_ONE, f, NVN_BLEND_EQUATION_ADD});
    }
    for (int e = NVN_BLEND_EQUATION_ADD; e <= NVN_BLEND_EQUATION_MAX; ++e)
        cases.push_back({NVN_BLEND_FUNC_SRC_ALPHA, NVN_BLEND_FUNC_DST_COLOR, e});
    s.draw_to(t, 1);
    s.place(kAll, 0.5f);
    s.paint(src, src1);
    nvnCommandBufferClearColor(s.cmd(), 0, dst.data(), 15);
    nvnCommandBufferSetBlendColor(s.cmd(), constant.data());
    NVNcolorState color;
    nvnColorStateSetDefaults(&color);
    nvnColorStateSetBlendEnable(&color, 0, 1);
    nvnCommandBufferBindColorState(s.cmd(), &color);
    for (size_t i = 0; i < cases.size(); ++i) {
        NVNblendState b;
        nvnBlendStateSetDefaults(&b);
        nvnBlendStateSetBlendTarget(&b, 0);
        const auto f = [](int v) { return static_cast<NVNblendFunc>(v); };
        const auto e = static_cast<NVNblendEquation>(cases[i].equation);
        nvnBlendStateSetBlendFunc(&b, f(cases[i].src), f(cases[i].dst), f(cases[i].src), f(cases[i].dst));
        nvnBlendStateSetBlendEquation(&b, e, e);
        nvnCommandBufferBindBlendState(s.cmd(), &b);
        nvnCommandBufferSetScissor(s.cmd(), static_cast<int>(i % 16), static_cast<int>(i / 16), 1, 1);
        s.draw();
    }
    const auto p = s.pixels_as<Float4>(t);
    for (size_t i = 0; i < cases.size(); ++i)
        for (int k = 0; k < 4; ++k) {
            const float a = src[static_cast<size_t>(k)], b = dst[static_cast<size_t>(k)];
            const float x = a * factor(cases[i].src, k), y = b * factor(cases[i].dst, k);
            const float want = cases[i].equation == NVN_BLEND_EQUATION_SUB           ? x - y
                               : cases[i].equation == NVN_BLEND_EQUATION_REVERSE_SUB ? y - x
                               : cases[i].equation == NVN_BLEND_EQUATION_MIN         ? std::min(a, b)
                               : cases[i].equation == NVN_BLEND_EQUATION_MAX         ? std::max(a, b)
                                                                                     : x + y;
            EXPECT_NEAR(p[i][static_cast<size_t>(k)], want, 1e-5)
                << cases[i].src << " " << cases[i].dst << " " << cases[i].equation << " channel " << k;
        }
}

TEST(Blend, LogicOperations) {
    Scene s;
    NEED(s);
    NVNtexture* t = s.texture({16, 1});
    s.draw_to(t, 0);
    s.place(kAll, 0.5f);
    const uint8_t src = 0b11001010, dst = 0b10100110;
    s.paint({src / 255.f, src / 255.f, src / 255.f, src / 255.f});
    const float old[4] = {dst / 255.f, dst / 255.f, dst / 255.f, dst / 255.f};
    nvnCommandBufferClearColor(s.cmd(), 0, old, 15);
    for (int op = 0; op < 16; ++op) {
        NVNcolorState color;
        nvnColorStateSetDefaults(&color);
        nvnColorStateSetLogicOp(&color, static_cast<NVNlogicOp>(op));
        nvnCommandBufferBindColorState(s.cmd(), &color);
        nvnCommandBufferSetScissor(s.cmd(), op, 0, 1, 1);
        s.draw();
    }
    const auto p = s.pixels(t);
    const uint8_t want[16] = {0,
                              src & dst,
                              src & static_cast<uint8_t>(~dst),
                              src,
                              static_cast<uint8_t>(~src & dst),
                              dst,
                              src ^ dst,
                              src | dst,
                              static_cast<uint8_t>(~(src | dst)),
                              static_cast<uint8_t>(~(src ^ dst)),
                              static_cast<uint8_t>(~dst),
                              static_cast<uint8_t>(src | ~dst),
                              static_cast<uint8_t>(~src),
                              static_cast<uint8_t>(~src | dst),
                              static_cast<uint8_t>(~(src & dst)),
                              255};
    for (size_t op = 0; op < 16; ++op)
        EXPECT_EQ(p[op * 4], want[op]) << op;
}

TEST(Blend, ChannelMasksOfSeveralTargets) {
    Scene s;
    NEED(s);
    NVNtexture* a = s.texture({4, 4});
    NVNtexture* b = s.texture({4, 4});
    s.draw_to(a, 2);
    NVNtexture* const colors[2] = {a, b};
    nvnCommandBufferSetRenderTargets(s.cmd(), 2, colors, nullptr, nullptr, nullptr);
    const float none[4] = {};
    nvnCommandBufferClearColor(s.cmd(), 0, none, 15);
    nvnCommandBufferClearColor(s.cmd(), 1, none, 15);
    NVNchannelMaskState mask;
    nvnChannelMaskStateSetDefaults(&mask);
    nvnChannelMaskStateSetChannelMask(&mask, 0, 1, 0, 1, 0);
    nvnChannelMaskStateSetChannelMask(&mask, 1, 0, 1, 0, 1);
    nvnCommandBufferBindChannelMaskState(s.cmd(), &mask);
    s.place(kAll, 0.5f);
    s.paint({1, 1, 1, 1}, {1, 1, 1, 1});
    s.draw();
    EXPECT_EQ(s.pixels_as<uint32_t>(a)[5], 0x00ff00ffu);
    EXPECT_EQ(s.pixels_as<uint32_t>(b)[5], 0xff00ff00u);
}

TEST(DepthStencil, Functions) {
    Scene s;
    NEED(s);
    NVNtexture* t = s.texture({8, 4});
    NVNtexture* depth = s.texture({8, 4, 1, NVN_FORMAT_DEPTH24_STENCIL8});
    s.draw_to(t, 0, depth);
    const float none[4] = {};
    nvnCommandBufferClearColor(s.cmd(), 0, none, 15);
    nvnCommandBufferClearDepthStencil(s.cmd(), 0.5f, 1, 8, 0xff);
    s.paint({1, 1, 1, 1});
    NVNdepthStencilState ds;
    nvnDepthStencilStateSetDefaults(&ds);
    nvnDepthStencilStateSetDepthTestEnable(&ds, 1);
    nvnDepthStencilStateSetDepthWriteEnable(&ds, 0);
    // Columns are the functions; rows depths of 1/4, 1/2, 3/4; the last row a stencil reference of 8 - 1 +
    // column % 3.
    for (int f = 1; f <= 8; ++f) {
        nvnDepthStencilStateSetDepthFunc(&ds, static_cast<NVNdepthFunc>(f));
        nvnCommandBufferBindDepthStencilState(s.cmd(), &ds);
        for (int row = 0; row < 3; ++row) {
            nvnCommandBufferSetScissor(s.cmd(), f - 1, row, 1, 1);
            s.place(kAll, 0.25f * static_cast<float>(row + 1));
            s.draw();
        }
    }
    nvnDepthStencilStateSetDepthTestEnable(&ds, 0);
    nvnDepthStencilStateSetStencilTestEnable(&ds, 1);
    for (int f = 1; f <= 8; ++f) {
        nvnDepthStencilStateSetStencilFunc(&ds, NVN_FACE_FRONT_AND_BACK, static_cast<NVNstencilFunc>(f));
        nvnCommandBufferBindDepthStencilState(s.cmd(), &ds);
        nvnCommandBufferSetStencilRef(s.cmd(), NVN_FACE_FRONT_AND_BACK, 7 + f % 3);
        nvnCommandBufferSetScissor(s.cmd(), f - 1, 3, 1, 1);
        s.draw();
    }
    const auto p = s.pixels_as<uint32_t>(t);
    const auto passes = [](int f, int a, int b) {
        switch (f) {
        case 1: return false;
        case 2: return a < b;
        case 3: return a == b;
        case 4: return a <= b;
        case 5: return a > b;
        case 6: return a != b;
        case 7: return a >= b;
        default: return true;
        }
    };
    for (int f = 1; f <= 8; ++f) {
        for (int row = 0; row < 3; ++row)
            EXPECT_EQ(p[static_cast<size_t>(row * 8 + f - 1)] != 0, passes(f, row, 1)) << f << " " << row;
        EXPECT_EQ(p[static_cast<size_t>(24 + f - 1)] != 0, passes(f, 7 + f % 3, 8)) << "stencil " << f;
    }
}

TEST(DepthStencil, OperationsAndMasks) {
    Scene s;
    NEED(s);
    NVNtexture* t = s.texture({8, 4});
    NVNtexture* depth = s.texture({8, 4, 1, NVN_FORMAT_DEPTH24_STENCIL8});
    s.draw_to(t, 0, depth);
    s.place(kAll, 0.75f);
    NVNdepthStencilState ds;
    nvnDepthStencilStateSetDefaults(&ds);
    nvnDepthStencilStateSetStencilTestEnable(&ds, 1);
    nvnDepthStencilStateSetStencilFunc(&ds, NVN_FACE_FRONT_AND_BACK, NVN_STENCIL_FUNC_ALWAYS);
    // Rows: stencil starts at 0 and 255; and depth fails (0.75 against 0.5), which has an operation of its
    // own.
    for (int row = 0; row < 3; ++row) {
        nvnCommandBufferSetScissor(s.cmd(), 0, row, 8, 1);
        nvnCommandBufferClearDepthStencil(s.cmd(), 0.5f, 1, row == 1 ? 255 : 0, 0xff);
        nvnDepthStencilStateSetDepthTestEnable(&ds, row == 2);
        nvnDepthStencilStateSetDepthFunc(&ds, NVN_DEPTH_FUNC_LESS);
        for (int op = 1; op <= 8; ++op) {
            const auto o = static_cast<NVNstencilOp>(op);
            const auto keep = NVN_STENCIL_OP_KEEP;
            nvnDepthStencilStateSetStencilOp(&ds, NVN_FACE_FRONT_AND_BACK, keep, row == 2 ? o : keep,
                                             row == 2 ? keep : o);
            nvnCommandBufferBindDepthStencilState(s.cmd(), &ds);
            nvnCommandBufferSetStencilRef(s.cmd(), NVN_FACE_FRONT_AND_BACK, 0x3c);
            nvnCommandBufferSetStencilMask(s.cmd(), NVN_FACE_FRONT_AND_BACK, 0xff);
            nvnCommandBufferSetScissor(s.cmd(), op - 1, row, 1, 1);
            s.draw();
        }
    }
    const auto p = s.pixels_as<uint32_t>(depth);
    const uint8_t from0[8] = {0, 0, 0x3c, 1, 0, 255, 1, 255},
                  from255[8] = {255, 0, 0x3c, 255, 254, 0, 0, 254};
    for (size_t op = 0; op < 8; ++op) {
        EXPECT_EQ(p[op] >> 24, from0[op]) << op + 1;
        EXPECT_EQ(p[8 + op] >> 24, from255[op]) << op + 1;
        EXPECT_EQ(p[16 + op] >> 24, from0[op]) << op + 1;
    }
    // The write mask keeps the other bits.
    nvnDepthStencilStateSetDepthTestEnable(&ds, 0);
    nvnDepthStencilStateSetStencilOp(&ds, NVN_FACE_FRONT_AND_BACK, NVN_STENCIL_OP_KEEP, NVN_STENCIL_OP_KEEP,
                                     NVN_STENCIL_OP_REPLACE);
    nvnCommandBufferBindDepthStencilState(s.cmd(), &ds);
    nvnCommandBufferSetStencilMask(s.cmd(), NVN_FACE_FRONT_AND_BACK, 0x0f);
    nvnCommandBufferSetScissor(s.cmd(), 0, 1, 1, 1);
    s.draw();
    EXPECT_EQ(s.pixels_as<uint32_t>(depth)[8] >> 24, 0xfcu);
}

TEST(DepthStencil, OffsetAndItsClamp) {
    Scene s;
    NEED(s);
    NVNtexture* depth = s.texture({4, 4, 1, NVN_FORMAT_DEPTH32F});
    NVNtexture* t = s.texture({4, 4});
    for (const float clamp : {0.0f, 0.125f}) {
        s.draw_to(t, 0, depth);
        nvnCommandBufferClearDepthStencil(s.cmd(), 1.0f, 1, 0, 0);
        NVNdepthStencilState ds;
        nvnDepthStencilStateSetDefaults(&ds);
        nvnDepthStencilStateSetDepthTestEnable(&ds, 1);
        nvnDepthStencilStateSetDepthWriteEnable(&ds, 1);
        nvnDepthStencilStateSetDepthFunc(&ds, NVN_DEPTH_FUNC_ALWAYS);
        nvnCommandBufferBindDepthStencilState(s.cmd(), &ds);
        NVNpolygonState polygon;
        nvnPolygonStateSetDefaults(&polygon);
        nvnPolygonStateSetCullFace(&polygon, NVN_FACE_NONE);
        nvnPolygonStateSetPolygonOffsetEnables(&polygon, NVN_POLYGON_OFFSET_ENABLE_FILL);
        nvnCommandBufferBindPolygonState(s.cmd(), &polygon);
        nvnCommandBufferSetPolygonOffsetClamp(s.cmd(), 0, 1 << 22, clamp); // units of 2^-24 at a depth of 0.5
        s.place(kAll, 0.5f);
        s.draw();
        EXPECT_NEAR(s.pixels_as<float>(depth)[5], 0.5f + (clamp != 0 ? clamp : 0.25f), 1e-6);
    }
}

TEST(Raster, DepthModesAndDepthClamp) {
    Scene s;
    NEED(s);
    NVNtexture* depth = s.texture({4, 4, 1, NVN_FORMAT_DEPTH32F});
    NVNtexture* t = s.texture({4, 4});
    const auto draw = [&](float z) {
        s.draw_to(t, 0, depth);
        nvnCommandBufferClearDepthStencil(s.cmd(), 0.9f, 1, 0, 0);
        NVNdepthStencilState ds;
        nvnDepthStencilStateSetDefaults(&ds);
        nvnDepthStencilStateSetDepthTestEnable(&ds, 1);
        nvnDepthStencilStateSetDepthWriteEnable(&ds, 1);
        nvnDepthStencilStateSetDepthFunc(&ds, NVN_DEPTH_FUNC_ALWAYS);
        nvnCommandBufferBindDepthStencilState(s.cmd(), &ds);
        s.place(kAll, z);
        s.draw();
        return s.pixels_as<float>(depth)[5];
    };
    EXPECT_EQ(draw(0.25f), 0.25f);
    EXPECT_EQ(draw(-0.5f), 0.9f); // clipped
    EXPECT_EQ(draw(1.5f), 0.9f);
    nvnCommandBufferSetDepthClamp(s.cmd(), 1);
    EXPECT_EQ(draw(-0.5f), 0.0f);
    EXPECT_EQ(draw(1.5f), 1.0f);
    nvnCommandBufferSetDepthClamp(s.cmd(), 0);
    nvnDeviceSetDepthMode(nullptr, NVN_DEPTH_MODE_NEAR_IS_MINUS_W);
    EXPECT_EQ(draw(-0.5f), 0.25f);
    EXPECT_EQ(draw(0.5f), 0.75f);
    nvnCommandBufferSetDepthRange(s.cmd(), 0.5f, 1.0f);
    EXPECT_EQ(draw(0.0f), 0.75f);
}

// A rectangle in the lower left quarter of clip space; counter-clockwise seen with y up.
TEST(Raster, WindowOriginsAndWinding) {
    for (const bool upper : {false, true}) {
        Scene s;
        NEED(s);
        nvnDeviceSetWindowOriginMode(nullptr, upper ? NVN_WINDOW_ORIGIN_MODE_UPPER_LEFT
                                                    : NVN_WINDOW_ORIGIN_MODE_LOWER_LEFT);
        NVNtexture* t = s.texture({4, 4});
        for (const auto cull : {NVN_FACE_BACK, NVN_FACE_FRONT}) {
            s.draw_to(t, 0);
            const float none[4] = {};
            nvnCommandBufferClearColor(s.cmd(), 0, none, 15);
            NVNpolygonState polygon;
            nvnPolygonStateSetDefaults(&polygon);
            nvnPolygonStateSetFrontFace(&polygon, NVN_FRONT_FACE_CCW);
            nvnPolygonStateSetCullFace(&polygon, cull);
            nvnCommandBufferBindPolygonState(s.cmd(), &polygon);
            s.place({-1, -1, 0, 0}, 0.5f);
            s.paint({1, 1, 1, 1});
            s.draw();
            const auto p = s.pixels_as<uint32_t>(t);
            for (size_t y = 0; y < 4; ++y)
                for (size_t x = 0; x < 4; ++x) {
                    const bool inside = x < 2 && (upper ? y >= 2 : y < 2) && cull == NVN_FACE_BACK;
                    EXPECT_EQ(p[y * 4 + x] != 0, inside) << upper << " " << cull << " " << x << "," << y;
                }
        }
    }
}

TEST(Raster, PolygonModes) {
    Scene s;
    NEED(s);
    NVNtexture* t = s.texture({16, 16});
    const auto lit = [&](NVNpolygonMode mode) {
        s.draw_to(t, 0);
        const float none[4] = {};
        nvnCommandBufferClearColor(s.cmd(), 0, none, 15);
        NVNpolygonState polygon;
        nvnPolygonStateSetDefaults(&polygon);
        nvnPolygonStateSetCullFace(&polygon, NVN_FACE_NONE);
        nvnPolygonStateSetPolygonMode(&polygon, mode);
        nvnCommandBufferBindPolygonState(s.cmd(), &polygon);
        s.place({-0.8125f, -0.8125f, 0.8125f, 0.8125f}, 0.5f); // corners in pixels 1 and 14
        s.paint({1, 1, 1, 1});
        nvnCommandBufferDrawArrays(s.cmd(), NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
        const auto p = s.pixels_as<uint32_t>(t);
        return std::pair{std::count_if(p.begin(), p.end(), [](uint32_t v) { return v != 0; }),
                         p[4 * 16 + 4] != 0};
    };
    const auto fill = lit(NVN_POLYGON_MODE_FILL), line = lit(NVN_POLYGON_MODE_LINE),
               point = lit(NVN_POLYGON_MODE_POINT);
    EXPECT_TRUE(fill.second);
    EXPECT_FALSE(line.second);
    EXPECT_FALSE(point.second);
    EXPECT_GT(fill.first, line.first);
    EXPECT_GT(line.first, 30);
    EXPECT_EQ(point.first, 3);
}

TEST(Raster, LayersAndViewportArrays) {
    Scene s;
    NEED(s);
    NVNtexture* t = s.texture({4, 4, 3, NVN_FORMAT_RGBA8, NVN_TEXTURE_TARGET_2D_ARRAY});
    s.draw_to(t, 0);
    const float none[4] = {};
    nvnCommandBufferClearColor(s.cmd(), 0, none, 15); // all layers
    s.place(kAll, 0.5f, 1, 1);
    s.paint({1, 1, 1, 1});
    const float viewports[12] = {0, 0, 4, 4, 0, 0, 2, 4, 0, 0, 4, 1};
    const int scissors[12] = {0, 0, 4, 4, 0, 0, 4, 4, 1, 0, 2, 4};
    nvnCommandBufferSetViewports(s.cmd(), 0, 3, viewports);
    nvnCommandBufferSetScissors(s.cmd(), 0, 3, scissors);
    s.draw(3);
    const int want[3] = {16, 8, 2};
    for (int layer = 0; layer < 3; ++layer) {
        const auto p = s.pixels_as<uint32_t>(t, 0, layer);
        EXPECT_EQ(std::count_if(p.begin(), p.end(), [](uint32_t v) { return v != 0; }), want[layer]) << layer;
    }
    // A slice of a volume as the target.
    NVNtexture* volume = s.texture({4, 4, 4, NVN_FORMAT_RGBA8, NVN_TEXTURE_TARGET_3D});
    NVNtextureView slice;
    nvnTextureViewSetDefaults(&slice);
    nvnTextureViewSetLayers(&slice, 2, 1);
    s.draw_to(volume, 0);
    NVNtexture* const colors[1] = {volume};
    const NVNtextureView* const views[1] = {&slice};
    nvnCommandBufferSetRenderTargets(s.cmd(), 1, colors, views, nullptr, nullptr);
    s.place(kAll, 0.5f);
    s.draw();
    for (int z = 0; z < 4; ++z)
        EXPECT_EQ(s.pixels_as<uint32_t>(volume, 0, z)[0], z == 2 ? 0xffffffffu : 0u) << z;
}

TEST(Multisample, AlphaToCoverageHalvesTheSamples) {
    Scene s;
    NEED(s);
    NVNtexture* t = s.texture({4, 4, 1, NVN_FORMAT_RGBA8, NVN_TEXTURE_TARGET_2D_MULTISAMPLE, 1, 4});
    NVNtexture* one = s.texture({4, 4});
    s.draw_to(t, 0);
    const float none[4] = {};
    nvnCommandBufferClearColor(s.cmd(), 0, none, 15);
    NVNmultisampleState ms;
    nvnMultisampleStateSetDefaults(&ms);
    nvnMultisampleStateSetMultisampleEnable(&ms, 1);
    nvnMultisampleStateSetSamples(&ms, 4);
    nvnMultisampleStateSetAlphaToCoverageEnable(&ms, 1);
    nvnCommandBufferBindMultisampleState(s.cmd(), &ms);
    s.place(kAll, 0.5f);
    s.paint({1, 1, 1, 0.5f});
    s.draw();
    nvnCommandBufferDownsample(s.cmd(), t, one);
    EXPECT_NEAR(s.pixels(one)[0], 127.5, 1);
}

// Every state that the backend cannot draw has a line with its name.
TEST(Raster, WhatIsNotDrawnIsNamed) {
    Scene s;
    NEED(s);
    NVNtexture* t = s.texture({4, 4});
    const auto expect = [&](const char* part, const std::function<void()>& set) {
        s.draw_to(t, 0);
        set();
        s.place(kAll, 0.5f);
        s.draw();
        s.run();
        EXPECT_TRUE(s.said(part)) << part;
        nvn::reset_reports();
    };
    expect("conservative rasterization", [&] { nvnCommandBufferSetConservativeRasterEnable(s.cmd(), 1); });
    nvnCommandBufferSetConservativeRasterEnable(s.cmd(), 0);
    expect("subpixel precision bias", [&] { nvnCommandBufferSetSubpixelPrecisionBias(s.cmd(), 2, 2); });
    nvnCommandBufferSetSubpixelPrecisionBias(s.cmd(), 0, 0);
    expect("float blend clamp", [&] { nvnCommandBufferSetFloatBlendClamp(s.cmd(), 1); });
    nvnCommandBufferSetFloatBlendClamp(s.cmd(), 0);
    expect("alpha test function", [&] {
        NVNcolorState color;
        nvnColorStateSetDefaults(&color);
        nvnColorStateSetAlphaTest(&color, NVN_ALPHA_FUNC_GREATER);
        nvnCommandBufferBindColorState(s.cmd(), &color);
    });
    expect("coverage modulation", [&] {
        NVNmultisampleState ms;
        nvnMultisampleStateSetDefaults(&ms);
        nvnMultisampleStateSetCoverageModulationMode(&ms, NVN_COVERAGE_MODULATION_MODE_RGB);
        nvnCommandBufferBindMultisampleState(s.cmd(), &ms);
    });
}

} // namespace
} // namespace dmsh::test
