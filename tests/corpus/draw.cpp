// Companion stages and draw state for the corpus's graphics shaders.
#include "tests/corpus/draw.h"
#include "tests/corpus/primitives.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <spirv/unified1/spirv.hpp11>

namespace dmsh::test {
namespace {

constexpr uint32_t kVertices = 66; // of a vertex shader's draw
constexpr uint32_t kInstances = 2;
constexpr uint32_t kCells = 4; // a fragment shader draws kCells x kCells quads of two triangles
constexpr uint32_t kGridVertices = kCells * kCells * 6;
constexpr float kMajorAxis = 8.0f, kSmallGradient = 1.0f / 64;

uint32_t bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

bool reads(const std::vector<IoVariable>& list, spv::BuiltIn builtin) {
    return std::any_of(list.begin(), list.end(),
                       [&](const IoVariable& v) { return v.builtin == static_cast<int32_t>(builtin); });
}

void add_vertex_attributes(Scene& scene, const CorpusShader& shader, const Tuning& t) {
    for (const auto& v : shader.inputs)
        for (uint32_t i = 0; i < locations_of(v.type); ++i) {
            const Numeric numeric = parse_numeric(v.type);
            VertexAttribute a;
            a.location = v.location + i;
            a.format = numeric == Numeric::real   ? VK_FORMAT_R32G32B32A32_SFLOAT
                       : numeric == Numeric::sint ? VK_FORMAT_R32G32B32A32_SINT
                                                  : VK_FORMAT_R32G32B32A32_UINT;
            a.data.resize(kVertices * 16);
            for (uint32_t w = 0; w < kVertices * 4; ++w) {
                const uint32_t word = numeric == Numeric::real
                                          ? bits(seeded_real(shader.name, a.location, w, t.low, t.high))
                                          : seeded_integer(shader.name, a.location, w, t);
                memcpy(&a.data[w * 4], &word, 4);
            }
            scene.job.graphics.attributes.push_back(std::move(a));
        }
    scene.job.graphics.vertices = kVertices;
    scene.job.graphics.instances = kInstances;
    scene.job.graphics.discard_primitives = true;
}

void add_grid(Scene& scene, const CorpusShader& shader, const Reflection& reference, const Tuning& t) {
    const std::vector<BaseType> types = varying_types(reference.inputs);
    scene.varyings.assign(size_t{kGridVertices} * kRecordWords, 0);
    const float spread = (t.high - t.low) / 24.0f;
    for (uint32_t n = 0; n < kGridVertices; ++n) {
        uint32_t* record = &scene.varyings[size_t{n} * kRecordWords];
        const uint32_t cell = n / 6;
        for (uint32_t w = 0; w < kVaryingWords; ++w)
            record[w] = types[w] == BaseType::real ? bits(seeded_real(shader.name, cell + 1000, w, t.low, t.high) +
                                                          seeded_real(shader.name, n + 2000, w, -spread, spread))
                                                   : seeded_integer(shader.name, n, w, t);
        if (t.cube >= 0) { // the cell's own major axis, far above the random values
            float major;
            uint32_t& word = record[static_cast<uint32_t>(t.cube) * 4 + cell % 3];
            memcpy(&major, &word, 4);
            word = bits(cell / 3 % 2 ? major + kMajorAxis : major - kMajorAxis);
        }
        for (uint32_t c = 0; c < 4 && t.gradient >= 0; ++c) {
            float f;
            uint32_t& word = record[static_cast<uint32_t>(t.gradient) * 4 + c];
            memcpy(&f, &word, 4);
            word = bits(f * kSmallGradient);
        }
        // Corners of the cell's two triangles; every other cell is wound the other way round.
        static constexpr uint8_t corners[2][6] = {{0, 1, 2, 2, 1, 3}, {0, 2, 1, 2, 3, 1}};
        const uint32_t corner = corners[(cell + cell / kCells) & 1][n % 6];
        const float size = 2.0f / kCells;
        const float x = -1.0f + size * static_cast<float>(cell % kCells + (corner & 1));
        const float y = -1.0f + size * static_cast<float>(cell / kCells + (corner >> 1));
        const float w = seeded_real(shader.name, cell * 4 + corner, 7, 1.0f, 2.0f);
        const float z = seeded_real(shader.name, cell * 4 + corner, 8, 0.1f, 0.9f);
        const float position[4] = {x * w, y * w, z * w, w};
        memcpy(&record[kVaryingWords], position, sizeof position);
        for (uint32_t i = 0; i < 8; ++i)
            record[kVaryingWords + 4 + i] = bits(seeded_real(shader.name, n, 100 + i, 0.1f, 1.0f));
    }
    auto& g = scene.job.graphics;
    g.vertices = kGridVertices;
    g.sample_shading = shader.per_sample;
    if (shader.per_sample)
        g.samples = 4;
    for (const auto& v : reference.inputs)
        if (v.centroid || v.sample) {
            g.samples = 4;
            // The guest's own state says so; machine code does not.
            g.sample_shading |= v.sample;
        }
    if (reads(reference.inputs, spv::BuiltIn::SampleId) ||
        reads(reference.inputs, spv::BuiltIn::SamplePosition) ||
        reads(reference.inputs, spv::BuiltIn::SampleMask) ||
        reads(reference.outputs, spv::BuiltIn::SampleMask))
        g.samples = 4;
    if (reads(reference.inputs, spv::BuiltIn::PointCoord))
        g.topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST;
    for (const auto& v : reference.outputs) {
        if (v.builtin >= 0)
            continue;
        // Only what the reference writes is defined.
        if (g.targets.size() < v.location + v.count)
            g.targets.resize(
                v.location + v.count,
                {VK_FORMAT_R32G32B32A32_SFLOAT, {bits(0.25f), bits(0.25f), bits(0.25f), bits(0.25f)}, 0});
        for (uint32_t i = 0; i < v.count; ++i) {
            ColourTarget& target = g.targets[v.location + i];
            target.write_mask |= ((1u << v.components) - 1) << v.component;
            if (v.type == BaseType::real)
                continue;
            target.format =
                v.type == BaseType::sint ? VK_FORMAT_R32G32B32A32_SINT : VK_FORMAT_R32G32B32A32_UINT;
            target.clear = {7, 7, 7, 7};
        }
    }
    if (t.single)
        g.width = g.height = 1;
    g.depth = true;
    if (reference.early_tests) {
        g.depth_compare = VK_COMPARE_OP_LESS;
        g.depth_clear = 0.5f;
    }
}

} // namespace

uint32_t seeded_word(std::string_view seed, uint32_t a, uint32_t b) {
    uint64_t z = 0xcbf29ce484222325ull;
    for (char c : seed)
        z = (z ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
    z += (uint64_t{a} << 32 | b) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return static_cast<uint32_t>((z ^ (z >> 31)) >> 20);
}

float seeded_real(std::string_view seed, uint32_t a, uint32_t b, float low, float high) {
    const float f = static_cast<float>(seeded_word(seed, a, b) & 0xffffff) / 16777216.0f;
    return std::round((low + (high - low) * f) * 4096.0f) / 4096.0f;
}

uint32_t seeded_integer(std::string_view seed, uint32_t a, uint32_t b, const Tuning& t) {
    const uint32_t h = seeded_word(seed, a, b);
    return t.wide_integers ? h : h % static_cast<uint32_t>(t.integer_limit);
}

std::string glsl_type(BaseType type, uint32_t components) {
    static const char* scalar[] = {"float", "int", "uint"};
    static const char* vector[] = {"vec", "ivec", "uvec"};
    const auto t = static_cast<unsigned>(type);
    return components == 1 ? scalar[t] : vector[t] + std::to_string(components);
}

std::vector<BaseType> varying_types(const std::vector<IoVariable>& list) {
    std::vector<BaseType> types(kVaryingWords, BaseType::real);
    for (const auto& v : list)
        if (v.builtin < 0)
            for (uint32_t i = 0; i < v.count; ++i)
                for (uint32_t c = 0; c < v.components; ++c)
                    if (const uint32_t at = (v.location + i) * 4 + v.component + c; at < kVaryingWords)
                        types[at] = v.type;
    return types;
}

std::string feeding_vertex_shader(const Reflection& consumer, bool points) {
    std::string text = "#version 450\nlayout(set = " + std::to_string(kHarnessSet) +
                       ", binding = 0) readonly buffer V { uint words[]; };\n";
    std::string body = "uint at = uint(gl_VertexIndex) * " + std::to_string(kRecordWords) + "u;\n";
    auto word = [](uint32_t index) { return "words[at + " + std::to_string(index) + "u]"; };
    auto component = [&](const IoVariable& v, uint32_t index) {
        return v.type == BaseType::real   ? "uintBitsToFloat(" + word(index) + ")"
               : v.type == BaseType::sint ? "int(" + word(index) + ")"
                                          : word(index);
    };
    for (const auto& v : consumer.inputs) {
        if (v.builtin == static_cast<int32_t>(spv::BuiltIn::ClipDistance)) {
            text += "out gl_PerVertex { vec4 gl_Position; float gl_PointSize; float gl_ClipDistance[" +
                    std::to_string(v.count) + "]; };\n";
            for (uint32_t i = 0; i < v.count; ++i)
                body += "gl_ClipDistance[" + std::to_string(i) + "] = uintBitsToFloat(" +
                        word(kVaryingWords + 4 + i) + ");\n";
        }
        if (v.builtin >= 0)
            continue;
        const std::string name = "v" + std::to_string(v.location) + "_" + std::to_string(v.component);
        const std::string type = glsl_type(v.type, v.components);
        text += "layout(location = " + std::to_string(v.location) +
                ", component = " + std::to_string(v.component) + ") " +
                (v.flat || v.type != BaseType::real ? "flat "
                 : v.no_perspective                 ? "noperspective "
                                                    : "") +
                "out " + type + " " + name + (v.count > 1 ? "[" + std::to_string(v.count) + "]" : "") + ";\n";
        for (uint32_t i = 0; i < v.count; ++i) {
            body += name + (v.count > 1 ? "[" + std::to_string(i) + "]" : "") + " = " + type + "(";
            for (uint32_t c = 0; c < v.components; ++c)
                body += (c ? ", " : "") + component(v, (v.location + i) * 4 + v.component + c);
            body += ");\n";
        }
    }
    body += "gl_Position = uintBitsToFloat(uvec4(" + word(kVaryingWords) + ", " + word(kVaryingWords + 1) +
            ", " + word(kVaryingWords + 2) + ", " + word(kVaryingWords + 3) + "));\n";
    if (points)
        body += "gl_PointSize = 5.0;\n";
    else if (reads(consumer.inputs, spv::BuiltIn::PointSize))
        body += "gl_PointSize = uintBitsToFloat(" + word(kVaryingWords + 12) + ");\n";
    return text + "void main() {\n" + body + "}\n";
}


void add_draw_state(Scene& scene, const CorpusShader& shader, const Reflection& reference) {
    const Tuning& t = tuning(shader.name);
    if (shader.stage == Stage::vertex)
        add_vertex_attributes(scene, shader, t);
    if (shader.stage == Stage::fragment)
        add_grid(scene, shader, reference, t);
    if (shader.stage == Stage::geometry || shader.stage == Stage::tess_control ||
        shader.stage == Stage::tess_evaluation)
        add_primitives(scene, shader, reference);
}

Result<PreparedJob> prepare(const CorpusShader& shader, const Scene& scene, Job job,
                            std::span<const uint32_t> words) {
    PreparedJob out;
    out.job = std::move(job);
    auto reflection = reflect(words);
    if (!reflection)
        return reflection.error();
    if (shader.stage == Stage::compute) {
        out.code.emplace_back(words.begin(), words.end());
        ShaderStage stage{VK_SHADER_STAGE_COMPUTE_BIT, out.code[0], reflection->entry, {}};
        for (const uint32_t id : reflection->specialization_ids)
            if (id < 3)
                stage.constants.emplace_back(id, scene.local_size[id]);
        out.job.stages.push_back(stage);
        return out;
    }
    if (shader.stage == Stage::vertex) {
        auto capturing = capture_outputs(words);
        if (!capturing)
            return capturing.error();
        out.captures = capturing->captures;
        out.capture_stride = capturing->stride;
        out.captured_vertices = out.job.graphics.vertices * out.job.graphics.instances;
        out.code.push_back(std::move(capturing->words));
        out.job.graphics.feedback_bytes[0] =
            std::max(out.capture_stride, 4u) * out.job.graphics.vertices * out.job.graphics.instances;
        out.job.stages.push_back({VK_SHADER_STAGE_VERTEX_BIT, out.code[0], reflection->entry, {}});
        return out;
    }
    if (shader.stage == Stage::fragment) {
        const bool points = out.job.graphics.topology == VK_PRIMITIVE_TOPOLOGY_POINT_LIST;
        auto vs = compile_glsl("vert", feeding_vertex_shader(*reflection, points));
        if (!vs)
            return vs.error();
        out.code.push_back(*std::move(vs));
        out.code.emplace_back(words.begin(), words.end());
        BufferResource varyings;
        varyings.bytes.resize(scene.varyings.size() * 4);
        memcpy(varyings.bytes.data(), scene.varyings.data(), varyings.bytes.size());
        out.job.descriptors.push_back({kHarnessSet, 0, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       static_cast<uint32_t>(out.job.buffers.size())});
        out.job.buffers.push_back(std::move(varyings));
        out.job.stages.push_back({VK_SHADER_STAGE_VERTEX_BIT, out.code[0], "main", {}});
        out.job.stages.push_back({VK_SHADER_STAGE_FRAGMENT_BIT, out.code[1], reflection->entry, {}});
        return out;
    }
    if (auto r = prepare_primitives(shader, scene, words, *reflection, out); !r)
        return r.error();
    return out;
}

} // namespace dmsh::test
