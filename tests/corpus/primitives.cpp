// Draws geometry and tessellation shaders: 16 primitives of random vertices, outputs by transform feedback.
#include "tests/corpus/primitives.h"
#include <cstring>
#include <spirv/unified1/spirv.hpp11>

namespace dmsh::test {
namespace {

constexpr uint32_t kPrimitives = 16;
constexpr uint32_t kMaxCaptured = 16384; // vertices; levels of 6.5 give at most 100 triangles a patch
// Layout of what the companion evaluation shader writes per patch: kPatchVertices vertices of kVertexWords, the patch's own
// values by location, six levels.
constexpr uint32_t kPatchVertices = 4, kVertexWords = kVaryingWords + 8;
constexpr uint32_t kPatchWordsAt = kPatchVertices * kVertexWords, kLevelsAt = kPatchWordsAt + kVaryingWords;
constexpr uint32_t kPatchRecord = kLevelsAt + 8;
constexpr uint32_t kPatchShift = 64; // patch inputs take their words from this far into the first vertex's record

std::string text(uint32_t n) {
    return std::to_string(n);
}

std::string variable_name(const IoVariable& v) {
    return (v.patch ? "p" : "v") + text(v.location) + "_" + text(v.component);
}

bool is(const IoVariable& v, spv::BuiltIn b) {
    return v.builtin == static_cast<int32_t>(b);
}

std::string layout_of(const IoVariable& v) {
    return "layout(location = " + text(v.location) + ", component = " + text(v.component) + ") ";
}

// Vertices of a patch: what the reference has out, or as many as its domain has corners.
uint32_t patch_vertices(const Reflection& r, Stage stage) {
    return stage == Stage::tess_control ? r.output_vertices : r.quads ? 4 : 3;
}

// Control shader that feeds an evaluation shader: every output from the varyings buffer, levels 1 to 6.5 by patch.
std::string feeding_control_shader(const Reflection& evaluation, uint32_t vertices) {
    std::string head = "#version 450\nlayout(vertices = " + text(vertices) + ") out;\nlayout(set = " + text(kHarnessSet) +
                       ", binding = 0) readonly buffer V { uint words[]; };\n";
    std::string body = "uint patch_at = uint(gl_PrimitiveID) * " + text(vertices * kRecordWords) +
                       "u;\nuint at = patch_at + uint(gl_InvocationID) * " + text(kRecordWords) + "u;\n";
    for (const auto& v : evaluation.inputs) {
        if (v.builtin >= 0)
            continue;
        const std::string type = glsl_type(v.type, v.components), name = variable_name(v);
        const bool array = v.count > 1;
        head += layout_of(v) + (v.patch ? "patch " : "") + "out " + type + " " + name + (v.patch ? "" : "[]") +
                (array ? "[" + text(v.count) + "]" : "") + ";\n";
        for (uint32_t i = 0; i < v.count; ++i) {
            body += name + (v.patch ? "" : "[gl_InvocationID]") + (array ? "[" + text(i) + "]" : "") + " = " + type + "(";
            for (uint32_t c = 0; c < v.components; ++c) {
                const uint32_t word = (v.location + i) * 4 + v.component + c;
                const std::string w = v.patch ? "words[patch_at + " + text((word + kPatchShift) % kVaryingWords) + "u]"
                                              : "words[at + " + text(word) + "u]";
                body += std::string(c ? ", " : "") + (v.type == BaseType::real   ? "uintBitsToFloat(" + w + ")"
                                                      : v.type == BaseType::sint ? "int(" + w + ")"
                                                                                 : w);
            }
            body += ");\n";
        }
    }
    body += "gl_out[gl_InvocationID].gl_Position = vec4(";
    for (uint32_t c = 0; c < 4; ++c)
        body += std::string(c ? ", " : "") + "uintBitsToFloat(words[at + " + text(kVaryingWords + c) + "u])";
    body += ");\nfor (int k = 0; k < 4; ++k) gl_TessLevelOuter[k] = 1.0 + float((words[patch_at + uint(k)] >> 12) % 23u) * "
            "0.25;\nfor (int k = 0; k < 2; ++k) gl_TessLevelInner[k] = 1.0 + float((words[patch_at + uint(4 + k)] >> 12) % 23u) "
            "* 0.25;\n";
    return head + "void main() {\n" + body + "}\n";
}

// Evaluation shader that writes down everything that a control shader left, and the coordinates that its levels make.
std::string recording_evaluation_shader(const Reflection& control, bool quads) {
    std::string head = std::string("#version 450\nlayout(") + (quads ? "quads" : "triangles") +
                       ", fractional_odd_spacing, ccw) in;\nlayout(set = " + text(kHarnessSet) +
                       ", binding = 1) buffer O { uint record[]; };\n";
    std::string body = "uint at = uint(gl_PrimitiveID) * " + text(kPatchRecord) + "u;\n";
    const auto put = [&](const std::string& at, const std::string& value, BaseType type) {
        body += "record[at + " + at + "] = " + (type == BaseType::real ? "floatBitsToUint(" : "uint(") + value + ");\n";
    };
    const uint32_t vertices = std::min(control.output_vertices, kPatchVertices);
    for (const auto& v : control.outputs) {
        if (is(v, spv::BuiltIn::Position))
            for (uint32_t k = 0; k < vertices; ++k)
                for (uint32_t c = 0; c < 4; ++c)
                    put(text(k * kVertexWords + kVaryingWords + c) + "u", "gl_in[" + text(k) + "].gl_Position[" + text(c) + "]",
                        BaseType::real);
        if (v.builtin >= 0)
            continue;
        const std::string type = glsl_type(v.type, v.components), name = variable_name(v);
        const bool array = v.count > 1;
        head += layout_of(v) + (v.patch ? "patch " : "") + "in " + type + " " + name + (v.patch ? "" : "[]") +
                (array ? "[" + text(v.count) + "]" : "") + ";\n";
        for (uint32_t k = 0; k < (v.patch ? 1 : vertices); ++k)
            for (uint32_t i = 0; i < v.count; ++i)
                for (uint32_t c = 0; c < v.components; ++c) {
                    const uint32_t word = (v.location + i) * 4 + v.component + c;
                    put(text(v.patch ? kPatchWordsAt + word : k * kVertexWords + word) + "u",
                        name + (v.patch ? "" : "[" + text(k) + "]") + (array ? "[" + text(i) + "]" : "") +
                            (v.components > 1 ? "[" + text(c) + "]" : ""),
                        v.type);
                }
    }
    for (uint32_t k = 0; k < (quads ? 4u : 3u); ++k)
        put(text(kLevelsAt + k) + "u", "gl_TessLevelOuter[" + text(k) + "]", BaseType::real);
    for (uint32_t k = 0; k < (quads ? 2u : 1u); ++k)
        put(text(kLevelsAt + 4 + k) + "u", "gl_TessLevelInner[" + text(k) + "]", BaseType::real);
    body += "gl_Position = vec4(gl_TessCoord, float(gl_PrimitiveID));\n";
    return head + "void main() {\n" + body + "}\n";
}

// Which words of a patch's record the reference's outputs fill.
std::vector<WordKind> record_kinds(const Reflection& control) {
    std::vector<WordKind> one(kPatchRecord, WordKind::none);
    const uint32_t vertices = std::min(control.output_vertices, kPatchVertices);
    for (const auto& v : control.outputs) {
        const bool position = is(v, spv::BuiltIn::Position);
        if (v.builtin >= 0 && !position)
            continue;
        for (uint32_t k = 0; k < (v.patch ? 1 : vertices); ++k)
            for (uint32_t i = 0; i < (position ? 1 : v.count); ++i)
                for (uint32_t c = 0; c < v.components; ++c) {
                    const uint32_t word = position ? kVaryingWords + c : (v.location + i) * 4 + v.component + c;
                    one[v.patch ? kPatchWordsAt + word : k * kVertexWords + word] =
                        v.type == BaseType::real ? WordKind::f32 : WordKind::u32;
                }
    }
    for (uint32_t k = 0; k < 6; ++k)
        one[kLevelsAt + k] = WordKind::f32;
    std::vector<WordKind> all;
    for (uint32_t p = 0; p < kPrimitives; ++p)
        all.insert(all.end(), one.begin(), one.end());
    return all;
}

Result<void> capture(PreparedJob& out, std::span<const uint32_t> words) {
    auto capturing = capture_outputs(words);
    if (!capturing)
        return capturing.error();
    out.captures = capturing->captures;
    out.capture_stride = std::max(capturing->stride, 4u);
    out.captured_vertices = kMaxCaptured;
    out.job.graphics.feedback_bytes[0] = out.capture_stride * kMaxCaptured;
    out.code.push_back(std::move(capturing->words));
    return {};
}

} // namespace

void add_primitives(Scene& scene, const CorpusShader& shader, const Reflection& reference) {
    const Tuning& t = tuning(shader.name);
    auto& g = scene.job.graphics;
    const bool geometry = shader.stage == Stage::geometry;
    const uint32_t n = geometry ? std::max(reference.input_vertices, 1u) : patch_vertices(reference, shader.stage);
    g.vertices = kPrimitives * n;
    g.discard_primitives = true;
    g.patch_points = n;
    g.topology = !geometry ? VK_PRIMITIVE_TOPOLOGY_PATCH_LIST
                 : n == 1  ? VK_PRIMITIVE_TOPOLOGY_POINT_LIST
                 : n == 2  ? VK_PRIMITIVE_TOPOLOGY_LINE_LIST
                 : n == 3  ? VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST
                 : n == 4  ? VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY
                           : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY;
    const std::vector<BaseType> types = varying_types(reference.inputs);
    scene.varyings.assign(size_t{g.vertices} * kRecordWords, 0);
    for (uint32_t v = 0; v < g.vertices; ++v)
        for (uint32_t w = 0; w < kRecordWords; ++w) {
            uint32_t& word = scene.varyings[size_t{v} * kRecordWords + w];
            const float low = w == kVaryingWords + 3 ? 1.0f : t.low, high = w > kVaryingWords + 3 ? 1.0f : t.high;
            const float f = seeded_real(shader.name, v + 3000, w, low, high);
            if (w >= kVaryingWords || types[w] == BaseType::real)
                memcpy(&word, &f, 4);
            else
                word = seeded_integer(shader.name, v, w, t);
        }
}

Result<void> prepare_primitives(const CorpusShader& shader, const Scene& scene, std::span<const uint32_t> words,
                                const Reflection& reflection, PreparedJob& out) {
    const auto add = [&](VkShaderStageFlagBits stage, const std::string& entry) {
        out.job.stages.push_back({stage, out.code.back(), entry, {}});
    };
    const auto companion = [&](const char* stage, VkShaderStageFlagBits bit, const std::string& source) -> Result<void> {
        auto code = compile_glsl(stage, source);
        if (!code)
            return code.error();
        out.code.push_back(*std::move(code));
        add(bit, "main");
        return {};
    };
    out.code.reserve(3); // stages keep spans
    BufferResource varyings;
    varyings.bytes.resize(scene.varyings.size() * 4);
    memcpy(varyings.bytes.data(), scene.varyings.data(), varyings.bytes.size());
    out.job.descriptors.push_back({kHarnessSet, 0, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                   static_cast<uint32_t>(out.job.buffers.size())});
    out.job.buffers.push_back(std::move(varyings));

    const uint32_t vertices = scene.job.graphics.patch_points;
    if (shader.stage == Stage::tess_evaluation) {
        if (auto r = companion("vert", VK_SHADER_STAGE_VERTEX_BIT,
                               "#version 450\nvoid main() { gl_Position = vec4(0.0); }\n");
            !r)
            return r;
        if (auto r = companion("tesc", VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT,
                               feeding_control_shader(reflection, vertices));
            !r)
            return r;
        if (auto r = capture(out, words); !r)
            return r;
        add(VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT, reflection.entry);
        return {};
    }
    if (auto r = companion("vert", VK_SHADER_STAGE_VERTEX_BIT, feeding_vertex_shader(reflection, false)); !r)
        return r;
    if (shader.stage == Stage::geometry) {
        if (auto r = capture(out, words); !r)
            return r;
        add(VK_SHADER_STAGE_GEOMETRY_BIT, reflection.entry);
        return {};
    }
    out.code.emplace_back(words.begin(), words.end());
    add(VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT, reflection.entry);
    auto code = compile_glsl("tese", recording_evaluation_shader(reflection, vertices == 4));
    if (!code)
        return code.error();
    if (auto r = capture(out, *code); !r)
        return r;
    add(VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT, "main");
    out.record_kinds = record_kinds(reflection);
    out.record_buffer = static_cast<uint32_t>(out.job.buffers.size());
    out.job.descriptors.push_back(
        {kHarnessSet, 1, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, *out.record_buffer});
    out.job.buffers.push_back({std::vector<uint8_t>(size_t{kPrimitives} * kPatchRecord * 4)});
    return {};
}

} // namespace dmsh::test
