// Reads the corpus's JSON descriptions and files.
#include "tests/corpus/corpus.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace dmsh::test {
namespace {

using nlohmann::json;

Stage stage_of(const std::string& s) {
    if (s == "vert")
        return Stage::vertex;
    if (s == "frag")
        return Stage::fragment;
    if (s == "geom")
        return Stage::geometry;
    if (s == "tesc")
        return Stage::tess_control;
    if (s == "tese")
        return Stage::tess_evaluation;
    return Stage::compute;
}

std::vector<CorpusVariable> variables(const json& list) {
    std::vector<CorpusVariable> all;
    for (const auto& v : list)
        all.push_back({v.value("location", 0u), v.value("type", ""), v.value("qualifiers", "")});
    return all;
}

} // namespace

GlslImageType parse_image_type(std::string_view t) {
    GlslImageType r;
    if (t.starts_with("i") && !t.starts_with("image"))
        r.numeric = Numeric::sint;
    if (t.starts_with("u"))
        r.numeric = Numeric::uint;
    auto has = [&](const char* s) { return t.find(s) != t.npos; };
    r.dim = has("Buffer") ? ImageDim::buffer
            : has("Cube") ? ImageDim::cube
            : has("1D")   ? ImageDim::d1
            : has("3D")   ? ImageDim::d3
                          : ImageDim::d2;
    r.arrayed = has("Array");
    r.multisampled = has("MS");
    r.shadow = has("Shadow");
    return r;
}

Numeric parse_numeric(std::string_view t) {
    if (t.starts_with("int") || t.starts_with("ivec"))
        return Numeric::sint;
    if (t.starts_with("uint") || t.starts_with("uvec"))
        return Numeric::uint;
    return Numeric::real;
}

uint32_t locations_of(std::string_view t) {
    uint32_t n = 1;
    if (t.starts_with("mat"))
        n = static_cast<uint32_t>(t[3] - '0');
    if (const auto at = t.find('['); at != t.npos)
        n *= std::max(1, atoi(std::string(t.substr(at + 1)).c_str()));
    return n;
}

std::optional<std::filesystem::path> corpus_folder() {
    const char* shared = getenv("DMSH_SHARED");
    const std::filesystem::path p =
        std::filesystem::path(shared ? shared : DMSH_SOURCE_DIR "/../shared").lexically_normal() / "corpus";
    if (!std::filesystem::exists(p))
        return std::nullopt;
    return p;
}

Result<std::vector<uint8_t>> read_file(const std::filesystem::path& path) {
    std::ifstream f(path, std::ios::binary);
    if (!f)
        return Error{"cannot be read", path.string()};
    return std::vector<uint8_t>{std::istreambuf_iterator<char>(f), std::istreambuf_iterator<char>()};
}

namespace {

// Names in a manifest: a list, or the list under `key`; only those with that variant if one is given.
Result<std::vector<std::string>> manifest_names(const std::filesystem::path& file, const char* key,
                                                const char* variant) {
    auto text = read_file(file);
    if (!text)
        return text.error();
    const json manifest = json::parse(text->begin(), text->end(), nullptr, false);
    if (manifest.is_discarded())
        return Error{"bad JSON", file.string()};
    std::vector<std::string> names;
    for (const auto& s : key ? manifest[key] : manifest) {
        bool has = variant == nullptr;
        if (variant)
            for (const auto& v : s["variants"])
                has |= v == variant;
        if (has)
            names.push_back(s["name"]);
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace

Result<std::vector<std::string>> corpus_names(const std::filesystem::path& folder) {
    return manifest_names(folder / "maxwell-gfx/manifest.json", "shaders", nullptr);
}

Result<std::vector<std::string>> cuda_names(const std::filesystem::path& folder) {
    return manifest_names(folder / "cuda/manifest.json", nullptr, "53");
}

Result<std::vector<std::string>> headsurface_names(const std::filesystem::path& folder) {
    return manifest_names(folder / "nvidia-glslc/manifest.maxwell.json", "programs", nullptr);
}

Result<CorpusShader> load_corpus_shader(const std::filesystem::path& folder, const std::string& name) {
    const auto base = folder / "maxwell-gfx";
    auto text = read_file(base / (name + ".json"));
    if (!text)
        return text.error();
    const json j = json::parse(text->begin(), text->end(), nullptr, false);
    if (j.is_discarded())
        return Error{"bad JSON", (base / (name + ".json")).string()};
    CorpusShader s;
    s.name = name;
    s.stage = stage_of(j["stage"]);
    s.note = j.value("note", "");
    s.cross_checked = j.value("cross_checked", false);
    s.realistic = j.value("realistic", false);
    s.shared_bytes = j.value("shared_bytes", 0u);
    s.local_bytes = j.value("local_mem_bytes", 0u);
    if (j["local_size"].is_array())
        s.local_size = {{j["local_size"][0], j["local_size"][1], j["local_size"][2]}};
    if (j.contains("fragment")) {
        s.early_tests = j["fragment"].value("early_fragment_tests", false);
        s.per_sample = j["fragment"].value("per_sample", false);
    }
    for (const auto& b : j["bindings"]) {
        CorpusBinding c;
        c.kind = b["kind"];
        c.type = b.value("type", "");
        c.format = b.value("format", "");
        c.array_element = b.value("array_element", 0u);
        if (c.kind == "separate_texture_sampler_pair") {
            c.slot = b["texture_slot"];
            c.set = b["vk_texture"][0];
            c.binding = b["vk_texture"][1];
            c.sampler_slot = b["sampler_slot"];
            c.sampler_set = b["vk_sampler"][0];
            c.sampler_binding = b["vk_sampler"][1];
        } else {
            c.slot = b["slot"];
            c.set = b["vk_set"];
            c.binding = b["vk_binding"];
        }
        s.bindings.push_back(c);
    }
    s.inputs = variables(j["inputs"]);
    s.outputs = variables(j["outputs"]);
    auto code = read_file(base / (name + ".bin"));
    auto constants = read_file(base / (name + ".c1.bin"));
    auto spirv = read_file(base / (name + ".spv"));
    if (!code)
        return code.error();
    if (!constants)
        return constants.error();
    if (!spirv)
        return spirv.error();
    const uint32_t header = j["instruction_offset"];
    if (code->size() < header)
        return Error{"shorter than its header", name};
    s.sph.assign(code->begin(), code->begin() + header);
    s.code.assign(code->begin() + header, code->end());
    s.constants = *std::move(constants);
    s.reference.resize(spirv->size() / 4);
    memcpy(s.reference.data(), spirv->data(), s.reference.size() * 4);
    return s;
}

ShaderInput shader_input(const CorpusShader& s) {
    ShaderInput in;
    in.arch = Arch::sm53;
    in.stage = s.stage;
    in.sph = s.sph;
    in.code = s.code;
    in.constants = s.constants;
    in.local_size = s.local_size.value_or(kVariableLocalSize);
    in.shared_bytes = s.shared_bytes;
    in.local_bytes = s.local_bytes;
    in.early_tests = s.early_tests;
    in.abi = &guest_abi(GuestAbiId::nvn);
    for (const auto& b : s.bindings) {
        if (b.type.empty())
            continue;
        const GlslImageType t = parse_image_type(b.type);
        const BindingKind kind = b.kind == "storage_image"                   ? BindingKind::image
                                 : b.kind == "separate_texture_sampler_pair" ? BindingKind::separate_texture
                                                                             : BindingKind::texture;
        in.facts.push_back({kind, b.slot, t.numeric, t.dim, t.arrayed});
    }
    if (s.stage == Stage::vertex)
        for (const auto& v : s.inputs)
            for (uint32_t i = 0; i < locations_of(v.type); ++i)
                in.vertex_inputs.emplace_back(static_cast<uint8_t>(v.location + i), parse_numeric(v.type));
    if (s.stage == Stage::fragment)
        for (const auto& v : s.outputs)
            in.colour_outputs.emplace_back(static_cast<uint8_t>(v.location), parse_numeric(v.type));
    return in;
}

} // namespace dmsh::test
