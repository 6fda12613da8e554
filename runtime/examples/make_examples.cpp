// The data of the examples.
#include "runtime/examples/example.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace dmsh::examples {
namespace {

constexpr float kPi = 3.14159265f;
constexpr uint32_t kWidth = 316, kHeight = 236;
using Matrix = std::array<float, 16>; // column-major
using Vec3 = std::array<float, 3>;

Matrix operator*(const Matrix& a, const Matrix& b) {
    Matrix m{};
    for (size_t c = 0; c < 4; ++c)
        for (size_t r = 0; r < 4; ++r)
            for (size_t k = 0; k < 4; ++k)
                m[c * 4 + r] += a[k * 4 + r] * b[c * 4 + k];
    return m;
}
constexpr Matrix kIdentity{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
Matrix translation(float x, float y, float z) {
    Matrix m = kIdentity;
    m[12] = x, m[13] = y, m[14] = z;
    return m;
}
Matrix rotation(int axis, float a) {
    Matrix m = kIdentity;
    const size_t i = axis == 0 ? 1 : 0, j = axis == 2 ? 1 : 2;
    m[i * 4 + i] = m[j * 4 + j] = std::cos(a);
    m[i * 4 + j] = axis == 1 ? -std::sin(a) : std::sin(a);
    m[j * 4 + i] = -m[i * 4 + j];
    return m;
}
// Depth from 0 to w.
Matrix perspective(float angle, float near, float far) {
    const float f = 1 / std::tan(angle / 2);
    Matrix m{};
    m[0] = f * kHeight / kWidth;
    m[5] = f;
    m[10] = far / (near - far);
    m[11] = -1;
    m[14] = far * near / (near - far);
    return m;
}
Matrix orthographic(float half, float near, float far) {
    Matrix m = kIdentity;
    m[0] = m[5] = 1 / half;
    m[10] = 1 / (near - far);
    m[14] = near / (near - far);
    return m;
}
std::array<float, 4> transform(const Matrix& m, const Vec3& p) {
    std::array<float, 4> r{};
    for (size_t i = 0; i < 4; ++i)
        r[i] = m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i];
    return r;
}

struct Vertex {
    Vec3 position, normal;
    std::array<float, 2> uv;
};
struct Mesh {
    std::vector<Vertex> vertices;
    std::vector<uint32_t> indices;
};

Mesh cube() {
    Mesh m;
    for (size_t axis = 0; axis < 3; ++axis)
        for (const float side : {-1.0f, 1.0f}) {
            const auto base = static_cast<uint32_t>(m.vertices.size());
            for (const auto& [u, v] : {std::pair{-1.f, -1.f}, {1.f, -1.f}, {1.f, 1.f}, {-1.f, 1.f}}) {
                Vertex x{};
                x.position[axis] = side;
                x.position[(axis + 1) % 3] = u * side;
                x.position[(axis + 2) % 3] = v;
                x.normal[axis] = side;
                x.uv = {u * 0.5f + 0.5f, v * 0.5f + 0.5f};
                m.vertices.push_back(x);
            }
            for (const uint32_t i : {0u, 1u, 2u, 0u, 2u, 3u})
                m.indices.push_back(base + i);
        }
    return m;
}

Mesh sphere(int rings, int segments) {
    Mesh m;
    for (int r = 0; r <= rings; ++r)
        for (int s = 0; s <= segments; ++s) {
            const float a = kPi * static_cast<float>(r) / static_cast<float>(rings);
            const float b = 2 * kPi * static_cast<float>(s) / static_cast<float>(segments);
            const Vec3 n{std::sin(a) * std::cos(b), std::cos(a), std::sin(a) * std::sin(b)};
            m.vertices.push_back({n, n, {b, a}});
        }
    const auto at = [&](int r, int s) { return static_cast<uint32_t>(r * (segments + 1) + s); };
    for (int r = 0; r < rings; ++r)
        for (int s = 0; s < segments; ++s)
            for (const uint32_t i :
                 {at(r, s), at(r, s + 1), at(r + 1, s), at(r + 1, s), at(r, s + 1), at(r + 1, s + 1)})
                m.indices.push_back(i);
    return m;
}

float height(float x, float z) {
    return 0.35f * std::sin(2.1f * x) * std::cos(1.7f * z) + 0.12f * std::sin(5 * x + 3 * z);
}

Mesh ground(int cells, float half, bool hills) {
    Mesh m;
    for (int j = 0; j <= cells; ++j)
        for (int i = 0; i <= cells; ++i) {
            const float x = (2.0f * static_cast<float>(i) / static_cast<float>(cells) - 1) * half;
            const float z = (2.0f * static_cast<float>(j) / static_cast<float>(cells) - 1) * half;
            Vertex v{};
            v.position = {x, hills ? height(x, z) : 0, z};
            v.normal = {0.5f + v.position[1], 0.3f + 0.4f * v.position[1], 0.2f + 0.1f * x};
            if (!hills)
                v.normal = {0, 1, 0};
            m.vertices.push_back(v);
        }
    const auto at = [&](int i, int j) { return static_cast<uint32_t>(j * (cells + 1) + i); };
    for (int j = 0; j < cells; ++j)
        for (int i = 0; i < cells; ++i)
            for (const uint32_t k :
                 {at(i, j), at(i + 1, j), at(i, j + 1), at(i, j + 1), at(i + 1, j), at(i + 1, j + 1)})
                m.indices.push_back(k);
    return m;
}

struct Builder {
    Example e;
    template <class T>
    uint32_t buffer(const std::vector<T>& data) {
        std::vector<uint8_t> bytes(data.size() * sizeof(T));
        std::memcpy(bytes.data(), data.data(), bytes.size());
        e.buffers.push_back(std::move(bytes));
        return static_cast<uint32_t>(e.buffers.size() - 1);
    }
    uint32_t texture(uint32_t w, uint32_t h, NVNformat format = NVN_FORMAT_RGBA8,
                     std::vector<uint8_t> texels = {}) {
        e.textures.push_back({w, h, format, std::move(texels)});
        return static_cast<uint32_t>(e.textures.size() - 1);
    }
    // view, projection, eye (`Camera` of vs_mvp_matrices).
    uint32_t camera(const Matrix& view, const Matrix& projection) {
        std::vector<float> c(view.begin(), view.end());
        c.insert(c.end(), projection.begin(), projection.end());
        c.insert(c.end(), {0, 0, 0, 1});
        return buffer(c);
    }
    // model, normal matrix, texture transform (`Object`).
    uint32_t object(const Matrix& model, float uv = 1) {
        std::vector<float> o(model.begin(), model.end());
        for (size_t c = 0; c < 3; ++c)
            o.insert(o.end(), {model[c * 4], model[c * 4 + 1], model[c * 4 + 2], 0});
        o.insert(o.end(), {uv, uv, 0.1f, 0.2f});
        return buffer(o);
    }
    ExampleDraw mesh_draw(const Mesh& mesh, std::vector<std::string> shaders, uint32_t camera,
                          uint32_t object) {
        const uint32_t vertices = buffer(mesh.vertices);
        ExampleDraw d;
        d.shaders = std::move(shaders);
        d.bindings = {{ExampleBinding::uniform, ShaderStage::vertex, 0, camera},
                      {ExampleBinding::uniform, ShaderStage::vertex, 1, object}};
        d.attributes = {{vertices, 3, sizeof(Vertex), 0},
                        {vertices, 3, sizeof(Vertex), 12},
                        {vertices, 2, sizeof(Vertex), 24}};
        d.indices = mesh.indices;
        return d;
    }
    uint32_t picture() { return e.picture = texture(kWidth, kHeight); }
    ExampleStep pass(std::vector<uint32_t> colors, uint32_t width = kWidth, uint32_t height = kHeight) {
        ExampleStep s;
        s.colors = std::move(colors);
        s.depth = static_cast<int>(texture(width, height, NVN_FORMAT_DEPTH32F));
        return s;
    }
};

std::vector<uint8_t> paint(uint32_t size, bool checker) {
    std::vector<uint8_t> t;
    for (uint32_t y = 0; y < size; ++y)
        for (uint32_t x = 0; x < size; ++x) {
            const bool odd = ((x / 8) + (y / 8)) & 1;
            const uint32_t c[4] = {checker ? (odd ? 110u : 20u) : 30 + x * 120 / size,
                                   checker ? 20 + x * 90 / size : 40 + y * 110 / size,
                                   checker ? 150 * y / size : 160 - 120 * x / size, checker ? 30u : 60u};
            for (const uint32_t v : c)
                t.push_back(static_cast<uint8_t>(v));
        }
    return t;
}

Example spinning_cube(uint32_t frame) {
    Builder b;
    b.e.what = "a spinning textured cube";
    const uint32_t picture = b.picture();
    const uint32_t a = b.texture(64, 64, NVN_FORMAT_RGBA8, paint(64, true));
    const uint32_t c = b.texture(64, 64, NVN_FORMAT_RGBA8, paint(64, false));
    const float angle = static_cast<float>(frame) * 0.05f;
    // Vertices are pulled from storage; the texture coordinates travel as their colour.
    struct Pulled {
        Vec3 position;
        uint32_t color;
        std::array<float, 2> bias;
        std::array<uint32_t, 2> zero;
    };
    const Mesh mesh = cube();
    std::vector<Pulled> vertices;
    for (const Vertex& v : mesh.vertices)
        vertices.push_back(
            {v.position,
             static_cast<uint32_t>(v.uv[0] * 255) | static_cast<uint32_t>(v.uv[1] * 255) << 8 | 0xff000000u,
             {0, 0},
             {0, 0}});
    const Matrix both = perspective(0.8f, 1, 10) * translation(0, 0, -4.5f) *
                        rotation(0, 0.5f + angle * 0.6f) * rotation(1, angle + 0.4f);
    ExampleDraw d;
    d.shaders = {"vs_ssbo_vertex_pulling", "fs_tex_2d"};
    d.vertices = static_cast<uint32_t>(mesh.indices.size());
    d.bindings = {{ExampleBinding::storage, ShaderStage::vertex, 0, b.buffer(vertices)},
                  {ExampleBinding::storage, ShaderStage::vertex, 1, b.buffer(mesh.indices)},
                  {ExampleBinding::uniform, ShaderStage::vertex, 0,
                   b.buffer(std::vector<float>(both.begin(), both.end()))}};
    d.bindings.push_back({ExampleBinding::texture, ShaderStage::fragment, 0, a});
    d.bindings.push_back({ExampleBinding::texture, ShaderStage::fragment, 7, c});
    ExampleStep pass = b.pass({picture});
    pass.clear = {0.1f, 0.15f, 0.25f, 1};
    pass.draws.push_back(d);
    b.e.steps.push_back(pass);
    return b.e;
}

// Bodies attract each other; positions move by the acceleration, steps times. Position and mass (also the
// age) are one vector, so that one compute shader moves them.
Example particles(uint32_t frame) {
    Builder b;
    b.e.what = "a compute particle system";
    const uint32_t picture = b.picture();
    constexpr uint32_t kCount = 1024;
    std::vector<std::array<float, 4>> bodies;
    for (uint32_t i = 0; i < kCount; ++i) {
        const float t = static_cast<float>(i) / kCount, a = 40 * t;
        bodies.push_back({(0.4f + 1.4f * t) * std::cos(a), 0.5f * std::sin(7 * a),
                          (0.4f + 1.4f * t) * std::sin(a), t * 0.9f + 0.05f});
    }
    std::vector<uint32_t> alive(kCount);
    for (uint32_t i = 0; i < kCount; ++i)
        alive[i] = (i * 37) % kCount;
    const uint32_t from = b.buffer(bodies), to = b.buffer(bodies), ids = b.buffer(alive);
    struct {
        uint32_t count = kCount;
        float step = 0.0004f, softness = 0.05f, zero = 0;
    } simulation;
    const uint32_t parameters = b.buffer(std::vector{simulation});
    for (uint32_t i = 0; i < frame / 4; ++i) {
        ExampleStep move;
        move.compute = "real_cs_nbody_tile";
        move.groups = {kCount / 64, 1, 1};
        move.bindings = {{ExampleBinding::storage, ShaderStage::compute, 0, from},
                         {ExampleBinding::storage, ShaderStage::compute, 1, to},
                         {ExampleBinding::uniform, ShaderStage::compute, 0, parameters}};
        b.e.steps.push_back(move);
        ExampleStep copy;
        copy.copy_from = to;
        copy.copy_to = from;
        copy.copy_bytes = kCount * 16;
        b.e.steps.push_back(copy);
    }
    // Colour over age in the lower half, size and turn in the upper.
    std::vector<uint8_t> curve;
    for (uint32_t y = 0; y < 2; ++y)
        for (uint32_t x = 0; x < 16; ++x) {
            const uint32_t c[4] = {y ? 10 : 90 + x * 10, y ? x * 16 : 200 - x * 9, y ? 0u : 60 + x * 4, 255};
            for (const uint32_t v : c)
                curve.push_back(static_cast<uint8_t>(v));
        }
    const uint32_t curves = b.texture(16, 2, NVN_FORMAT_RGBA8, curve);
    std::vector<float> view;
    for (const Matrix& m : {translation(0, 0, -4) * rotation(0, 0.5f), perspective(0.9f, 1, 10)})
        view.insert(view.end(), m.begin(), m.end());
    view.insert(view.end(), {4, 4, 0, 0, 1.0f, 0, 0, 0});
    ExampleDraw d;
    d.shaders = {"real_vs_particles_soa", "fs_mrt_float8"};
    d.bindings = {{ExampleBinding::storage, ShaderStage::vertex, 0, from},
                  {ExampleBinding::storage, ShaderStage::vertex, 1, ids},
                  {ExampleBinding::texture, ShaderStage::vertex, 0, curves},
                  {ExampleBinding::uniform, ShaderStage::vertex, 0, b.buffer(view)}};
    d.primitive = NVN_DRAW_PRIMITIVE_TRIANGLE_STRIP;
    d.vertices = 4;
    d.instances = kCount;
    ExampleStep pass = b.pass({picture});
    pass.clear = {0.02f, 0.02f, 0.05f, 1};
    pass.draws.push_back(d);
    b.e.steps.push_back(pass);
    return b.e;
}

// A shadow map, a geometry buffer of normals, an image of the shadows, and a pass that lights, outlines and
// shades.
Example deferred(uint32_t frame) {
    Builder b;
    b.e.what = "deferred lighting with a shadow map";
    const uint32_t picture = b.picture();
    const Matrix view = translation(0, -0.2f, -6) * rotation(0, 0.55f);
    const Matrix projection = perspective(0.75f, 2, 12);
    const Matrix light = translation(0, 0, -6) * rotation(0, 0.9f) * rotation(1, 0.6f);
    const Matrix light_projection = orthographic(3.2f, 1, 12);
    struct Thing {
        Mesh mesh;
        Matrix model;
    };
    const float angle = static_cast<float>(frame) * 0.03f;
    const std::vector<Thing> things = {{ground(8, 2.4f, false), translation(0, -0.9f, 0)},
                                       {sphere(16, 24), translation(-0.8f, 0.1f, 0.2f)},
                                       {cube(), translation(1.1f, -0.2f, 0) * rotation(1, angle)}};
    const uint32_t eye = b.camera(view, projection), sun = b.camera(light, light_projection);
    const uint32_t map = b.texture(256, 256, NVN_FORMAT_DEPTH32F);
    const uint32_t normals = b.texture(kWidth, kHeight, NVN_FORMAT_RGBA16F),
                   wide = b.texture(kWidth, kHeight, NVN_FORMAT_RGBA16F);
    const uint32_t shadows = b.texture(kWidth, kHeight);
    const uint32_t black = b.texture(4, 4, NVN_FORMAT_RGBA8, std::vector<uint8_t>(64));

    ExampleStep shadow_pass;
    shadow_pass.depth = static_cast<int>(map);
    ExampleStep geometry = b.pass({normals, wide});
    ExampleStep shade = b.pass({shadows});
    shade.clear = {1, 1, 1, 1};
    for (const Thing& t : things) {
        const uint32_t object = b.object(t.model);
        shadow_pass.draws.push_back(b.mesh_draw(t.mesh, {"vs_mvp_matrices"}, sun, object));
        geometry.draws.push_back(b.mesh_draw(t.mesh, {"vs_mvp_matrices", "fs_mrt_float8"}, eye, object));
        // Clip position and place in the shadow map of every vertex.
        std::vector<std::array<float, 8>> places;
        for (const Vertex& v : t.mesh.vertices) {
            const auto c = transform(projection * view * t.model, v.position);
            const auto s = transform(light_projection * light * t.model, v.position);
            places.push_back(
                {c[0], c[1], c[2], c[3], s[0] * 0.5f + 0.5f, s[1] * 0.5f + 0.5f, s[2] - 0.02f, 1});
        }
        const uint32_t buffer = b.buffer(places);
        ExampleDraw d;
        d.shaders = {"vs_passthrough", "fs_shadow_2d"};
        d.attributes = {{buffer, 4, 32, 0}, {buffer, 4, 32, 16}};
        d.indices = t.mesh.indices;
        d.bindings = {{ExampleBinding::shadow_texture, ShaderStage::fragment, 3, map}};
        shade.draws.push_back(d);
    }
    ExampleDraw light_pass;
    light_pass.shaders = {"vs_fullscreen_triangle", "real_fs_toon_outline"};
    light_pass.bindings = {{ExampleBinding::texture, ShaderStage::fragment, 0, wide},
                           {ExampleBinding::texture, ShaderStage::fragment, 1, normals},
                           {ExampleBinding::texture, ShaderStage::fragment, 2, normals},
                           {ExampleBinding::uniform, ShaderStage::fragment, 0,
                            b.buffer(std::vector<float>{1.0f / kWidth, 1.0f / kHeight, 0, 0, 2, 0.8f, 0.3f,
                                                        0.9f, 0.05f, 0.05f, 0.1f, 0.8f})}};
    light_pass.depth_test = false;
    ExampleDraw darken;
    darken.shaders = {"vs_fullscreen_triangle", "fs_tex_many_samplers"};
    for (uint32_t slot = 0; slot < 32; slot += 2)
        darken.bindings.push_back(
            {ExampleBinding::texture, ShaderStage::fragment, slot, slot ? black : shadows});
    darken.depth_test = false;
    darken.multiply = true;
    ExampleStep lighting = b.pass({picture});
    lighting.draws = {light_pass};
    ExampleStep shadowing = b.pass({picture});
    shadowing.keep = true;
    shadowing.draws = {darken};
    b.e.steps = {shadow_pass, geometry, shade, lighting, shadowing};
    return b.e;
}

// Triangle patches; their subdivision falls with the distance to the eye.
Example terrain(uint32_t frame) {
    Builder b;
    b.e.what = "a tessellated terrain";
    const uint32_t picture = b.picture();
    const Matrix view =
        translation(0, -0.3f, -3.2f) * rotation(0, 0.6f) * rotation(1, static_cast<float>(frame) * 0.02f);
    const Matrix projection = perspective(0.8f, 0.5f, 10);
    ExampleDraw d =
        b.mesh_draw(ground(12, 1.8f, true),
                    {"vs_mvp_matrices", "tcs_tri_distance_lod", "tes_tri_equal_ccw", "fs_mrt_float8"},
                    b.camera(kIdentity, kIdentity), b.object(kIdentity));
    d.primitive = NVN_DRAW_PRIMITIVE_PATCHES;
    d.patch = 3;
    const Matrix both = projection * view;
    d.bindings.push_back({ExampleBinding::uniform, ShaderStage::tess_control, 0,
                          b.buffer(std::vector<float>{0, 1, 2, 1, 6, 0, 0, 0})});
    d.bindings.push_back({ExampleBinding::uniform, ShaderStage::tess_evaluation, 0,
                          b.buffer(std::vector<float>(both.begin(), both.end()))});
    ExampleStep pass = b.pass({picture});
    pass.clear = {0.5f, 0.6f, 0.8f, 1};
    pass.draws.push_back(d);
    b.e.steps.push_back(pass);
    return b.e;
}

// Shells: a geometry shader moves every triangle outwards along its normal, a little more each time.
Example fur(uint32_t frame) {
    Builder b;
    b.e.what = "geometry-shader fur";
    const uint32_t picture = b.picture();
    const Matrix both =
        perspective(0.8f, 1, 10) * translation(0, 0, -4) * rotation(1, static_cast<float>(frame) * 0.05f);
    const uint32_t camera = b.camera(kIdentity, kIdentity), object = b.object(kIdentity);
    ExampleStep pass = b.pass({picture});
    pass.clear = {0.15f, 0.1f, 0.1f, 1};
    for (int shell = 0; shell < 6; ++shell) {
        ExampleDraw d =
            b.mesh_draw(sphere(24, 36), {"vs_mvp_matrices", "gs_triangles_explode_normals", "fs_mrt_float8"},
                        camera, object);
        // Every shell keeps fewer triangles: the hairs grow thin.
        std::vector<uint32_t> kept;
        for (size_t i = 0; i + 2 < d.indices.size(); i += 3)
            if ((i / 3 * 7) % 6 >= static_cast<size_t>(shell))
                kept.insert(kept.end(), d.indices.begin() + static_cast<std::ptrdiff_t>(i),
                            d.indices.begin() + static_cast<std::ptrdiff_t>(i) + 3);
        d.indices = kept;
        std::vector<float> p(both.begin(), both.end());
        p.insert(p.end(), {0.06f * static_cast<float>(shell), 0, 0, 0});
        d.bindings.push_back({ExampleBinding::uniform, ShaderStage::geometry, 0, b.buffer(p)});
        pass.draws.push_back(d);
    }
    b.e.steps.push_back(pass);
    return b.e;
}

} // namespace

std::vector<std::string> Example::shaders() const {
    std::vector<std::string> names;
    const auto add = [&](const std::string& n) {
        if (!n.empty() && std::find(names.begin(), names.end(), n) == names.end())
            names.push_back(n);
    };
    for (const ExampleStep& s : steps) {
        add(s.compute);
        for (const ExampleDraw& d : s.draws)
            for (const std::string& n : d.shaders)
                add(n);
    }
    return names;
}

std::vector<std::string> example_names() {
    return {"cube", "particles", "deferred", "terrain", "fur"};
}

Example make_example(const std::string& name, uint32_t frame) {
    Example e = name == "particles"  ? particles(frame)
                : name == "deferred" ? deferred(frame)
                : name == "terrain"  ? terrain(frame)
                : name == "fur"      ? fur(frame)
                                     : spinning_cube(frame);
    e.name = name;
    return e;
}

} // namespace dmsh::examples
