// Reads the corpus's JSON descriptions and files.
#include "tests/corpus/corpus.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace dmsh::test {
namespace {

using nlohmann::json;

// Stages by the corpora's words: GLSL file endings, or our own names.
std::optional<Stage> stage_of(const std::string& s) {
    static const std::map<std::string, Stage> table = {
        {"vert", Stage::vertex},         {"frag", Stage::fragment}, {"geom", Stage::geometry}, {"tesc", Stage::tess_control},
        {"tese", Stage::tess_evaluation}, {"comp", Stage::compute},  {"task", Stage::task},     {"mesh", Stage::mesh}};
    if (const auto it = table.find(s); it != table.end())
        return it->second;
    return stage_from_name(s);
}

std::optional<Arch> arch_of(const std::string& s) {
    if (s == "sm53" || s == "sm_53" || s == "maxwell")
        return Arch::sm53;
    if (s == "sm86" || s == "sm_86" || s == "ampere")
        return Arch::sm86;
    return std::nullopt;
}

// A member of an object as text or number; the default where it is missing or of another type.
std::string text_of(const json& j, const char* key, const std::string& otherwise = "") {
    const auto it = j.find(key);
    return it != j.end() && it->is_string() ? it->get<std::string>() : otherwise;
}
uint32_t number_of(const json& j, const char* key, uint32_t otherwise = 0) {
    const auto it = j.find(key);
    return it != j.end() && it->is_number() ? it->get<uint32_t>() : otherwise;
}
bool flag_of(const json& j, const char* key) {
    const auto it = j.find(key);
    return it != j.end() && it->is_boolean() && it->get<bool>();
}
const json& list_of(const json& j, const char* key) {
    static const json empty = json::array();
    const auto it = j.find(key);
    return it != j.end() && it->is_array() ? *it : empty;
}
uint32_t element_of(const json& j, const char* key, size_t index) {
    const json& list = list_of(j, key);
    return index < list.size() && list[index].is_number() ? list[index].get<uint32_t>() : 0;
}

Result<json> read_json(const std::filesystem::path& file) {
    auto text = read_file(file);
    if (!text)
        return text.error();
    json j = json::parse(text->begin(), text->end(), nullptr, false);
    if (j.is_discarded())
        return Error{"bad JSON", file.string()};
    return j;
}

std::vector<CorpusVariable> variables(const json& list) {
    std::vector<CorpusVariable> all;
    for (const auto& v : list)
        if (v.is_object())
            all.push_back({number_of(v, "location"), text_of(v, "type"), text_of(v, "qualifiers")});
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

Result<Corpus> load_corpus(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / "manifest.json";
    auto manifest = read_json(file);
    if (!manifest)
        return manifest.error();
    Corpus c;
    c.folder = folder;
    const json& m = *manifest;
    const std::string all_arch = m.is_object() ? text_of(m, "arch", "sm53") : "sm53";
    c.format = m.is_array() ? Format::cuda : m.contains("programs") ? Format::glslc : Format::graphics;
    const std::string abi = m.is_object() ? text_of(m, "abi") : "cuda"; // a graphics manifest describes its own, NVN's
    c.abi = abi.empty() ? &guest_abi(c.format == Format::glslc ? GuestAbiId::headsurface : GuestAbiId::nvn)
                        : guest_abi_by_name(abi);
    if (!c.abi)
        return Error{"guest ABI '" + abi + "' is not known", file.string()};
    const json& list = m.is_array() ? m : list_of(m, c.format == Format::glslc ? "programs" : "shaders");
    for (const json& s : list) {
        if (!s.is_object() || text_of(s, "name").empty())
            continue;
        CorpusEntry e;
        e.name = e.program = text_of(s, "name");
        if (c.format == Format::cuda) {
            for (const json& v : list_of(s, "variants")) {
                if (!v.is_string())
                    continue;
                e.variant = v;
                e.arch = e.variant.starts_with("53") ? Arch::sm53 : Arch::sm86;
                e.name = e.variant == "53" ? e.program : e.program + "." + e.variant;
                c.entries.push_back(e);
            }
            continue;
        }
        const std::string arch = text_of(s, "arch", all_arch), stage = text_of(s, "stage", "comp");
        const auto a = arch_of(arch);
        const auto st = stage_of(stage);
        if (!a || !st)
            return Error{a ? "stage '" + stage + "' is not known" : "architecture '" + arch + "' is not known",
                         file.string() + ": " + e.name};
        e.arch = *a;
        e.stage = *st;
        if (c.format == Format::glslc) {
            const std::string generation = e.arch == Arch::sm53 ? "maxwell" : "ampere";
            e.file = text_of(s, "bin", e.program + "." + generation + ".bin");
            if (e.arch != Arch::sm53)
                e.name += "." + generation;
        }
        c.entries.push_back(e);
    }
    std::sort(c.entries.begin(), c.entries.end(),
              [](const CorpusEntry& x, const CorpusEntry& y) { return x.name < y.name; });
    return c;
}

Result<std::vector<std::string>> corpus_names(const std::filesystem::path& folder) {
    auto c = load_corpus(folder);
    if (!c)
        return c.error();
    std::vector<std::string> names;
    for (const CorpusEntry& e : c->entries)
        if (e.arch == Arch::sm53)
            names.push_back(e.name);
    return names;
}

Result<CorpusShader> load_corpus_shader(const std::filesystem::path& folder, const std::string& name) {
    auto description = read_json(folder / (name + ".json"));
    if (!description)
        return description.error();
    const json& j = *description;
    CorpusShader s;
    s.name = name;
    const auto stage = stage_of(text_of(j, "stage"));
    const auto arch = arch_of(text_of(j, "arch", "sm53"));
    if (!stage || !arch)
        return Error{"stage '" + text_of(j, "stage") + "' of '" + text_of(j, "arch") + "' is not known", name};
    s.stage = *stage;
    s.arch = *arch;
    s.note = text_of(j, "note");
    s.cross_checked = flag_of(j, "cross_checked");
    s.realistic = flag_of(j, "realistic");
    s.shared_bytes = number_of(j, "shared_bytes");
    s.local_bytes = number_of(j, "local_mem_bytes");
    if (list_of(j, "local_size").size() == 3)
        s.local_size = {
            {element_of(j, "local_size", 0), element_of(j, "local_size", 1), element_of(j, "local_size", 2)}};
    if (const auto f = j.find("fragment"); f != j.end() && f->is_object()) {
        s.early_tests = flag_of(*f, "early_fragment_tests");
        s.per_sample = flag_of(*f, "per_sample");
    }
    if (const auto t = j.find("tess_mode"); t != j.end() && t->is_object()) {
        const std::string domain = text_of(*t, "primitive"), spacing = text_of(*t, "spacing"), output = text_of(*t, "output");
        s.tess.domain = domain == "quads"      ? TessDomain::quads
                        : domain == "isolines" ? TessDomain::isolines
                                               : TessDomain::triangles;
        s.tess.spacing = spacing == "fractional_odd"    ? TessSpacing::fractional_odd
                         : spacing == "fractional_even" ? TessSpacing::fractional_even
                                                        : TessSpacing::equal;
        s.tess.clockwise = output.ends_with("_cw");
        s.tess.points = output == "points";
    }
    for (const auto& b : list_of(j, "bindings")) {
        CorpusBinding c;
        c.kind = text_of(b, "kind");
        c.type = text_of(b, "type");
        c.format = text_of(b, "format");
        c.array_element = number_of(b, "array_element");
        if (c.kind == "separate_texture_sampler_pair") {
            c.slot = number_of(b, "texture_slot");
            c.set = element_of(b, "vk_texture", 0);
            c.binding = element_of(b, "vk_texture", 1);
            c.sampler_slot = number_of(b, "sampler_slot");
            c.sampler_set = element_of(b, "vk_sampler", 0);
            c.sampler_binding = element_of(b, "vk_sampler", 1);
        } else {
            c.slot = number_of(b, "slot");
            c.set = number_of(b, "vk_set");
            c.binding = number_of(b, "vk_binding");
        }
        s.bindings.push_back(c);
    }
    s.inputs = variables(list_of(j, "inputs"));
    s.outputs = variables(list_of(j, "outputs"));
    auto code = read_file(folder / (name + ".bin"));
    if (!code)
        return code.error();
    if (auto constants = read_file(folder / (name + ".c1.bin")))
        s.constants = *std::move(constants);
    // dFdy is multiplied by the first word of c[1] where the compiler could not know the origin of window coordinates; it left the
    // 16 bytes of that constant zero. Upper left, as everywhere here, is 1.
    constexpr uint32_t kUpperLeft = 0x3f800000u;
    if (s.stage == Stage::fragment && s.constants.size() >= 16 &&
        std::all_of(s.constants.begin(), s.constants.begin() + 16, [](uint8_t b) { return b == 0; }))
        memcpy(s.constants.data(), &kUpperLeft, 4);
    constexpr uint32_t kHeader53 = 0x50;
    const uint32_t header = s.arch == Arch::sm53
                                ? number_of(j, "instruction_offset", s.stage == Stage::compute ? 0 : kHeader53)
                                : number_of(j, "header_bytes");
    if (code->size() < header)
        return Error{"shorter than its header", name};
    s.sph.assign(code->begin(), code->begin() + header);
    s.code.assign(code->begin() + header, code->end());
    if (auto spirv = read_file(folder / (name + ".spv"))) {
        s.reference.resize(spirv->size() / 4);
        memcpy(s.reference.data(), spirv->data(), s.reference.size() * 4);
    }
    return s;
}

ShaderInput shader_input(const CorpusShader& s) {
    ShaderInput in;
    in.arch = s.arch;
    in.stage = s.stage;
    in.sph = s.sph;
    in.code = s.code;
    in.constants = s.constants;
    in.local_size = s.local_size.value_or(kVariableLocalSize);
    in.shared_bytes = s.shared_bytes;
    in.local_bytes = s.local_bytes;
    in.early_tests = s.early_tests;
    in.tess = s.tess;
    in.input_primitive = s.input_primitive;
    in.sample_shading = s.per_sample;
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
