// Reads the jobs of dmshc exec and tells their results.
#include "compiler/sim/verify/air_job.h"
#include "compiler/sim/verify/job_values.h"
#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace dmsh::sim {
namespace {

// "rgba8unorm" as Metal spells it, without "Unorm" in capitals: channels, bits, kind.
TexelFormat format_of(const std::string& name) {
    constexpr std::pair<std::string_view, uint8_t> kChannels[] = {{"rgba", 4}, {"rg", 2}, {"r", 1}};
    constexpr std::pair<std::string_view, TexelKind> kKinds[] = {{"unorm", TexelKind::unorm}, {"snorm", TexelKind::snorm}, {"uint", TexelKind::uint},
                                                                 {"sint", TexelKind::sint},   {"float", TexelKind::real}, {"srgb", TexelKind::srgb}};
    for (const auto& [channels, count] : kChannels)
        for (const uint8_t bits : {8, 16, 32})
            for (const auto& [kind, value] : kKinds)
                if (name == fmt::format("{}{}{}", channels, bits, kind) && !(value == TexelKind::real && bits == 8))
                    return {count, bits, value};
    refuse("texture format " + name + " is not known");
}

template <class T, size_t N> T choice(const Json& j, const char* key, const std::pair<std::string_view, T> (&names)[N]) {
    if (!j.contains(key))
        return names[0].second;
    const auto text = j[key].get<std::string>();
    for (const auto& [name, value] : names)
        if (text == name)
            return value;
    refuse(fmt::format("{} {} is not known", key, text));
}

uint32_t slot_of(const std::string& key) { return static_cast<uint32_t>(number(Json(key), "slot")); }

Texture texture_from(const Json& j, const std::string& folder, const std::string& what) {
    constexpr std::pair<std::string_view, ImageDim> kDims[] = {{"2d", ImageDim::d2}, {"1d", ImageDim::d1}, {"3d", ImageDim::d3}, {"cube", ImageDim::cube}, {"buffer", ImageDim::buffer}};
    Texture t;
    t.dim = choice(j, "dim", kDims);
    t.format = format_of(j.value("format", "rgba8unorm"));
    constexpr uint64_t kMostSize = 16384;
    const auto size = [&](const char* key, uint32_t otherwise) {
        const uint64_t v = number(j.value(key, Json(otherwise)), key);
        if (v == 0 || v > kMostSize)
            refuse(fmt::format("{}: {} is 1 to {}", what, key, kMostSize));
        return static_cast<uint32_t>(v);
    };
    t.width = size("width", 1);
    t.height = size("height", 1);
    t.depth = size("depth", 1);
    t.layers = size("layers", t.dim == ImageDim::cube ? 6 : 1);
    t.arrayed = j.value("arrayed", t.layers > (t.dim == ImageDim::cube ? 6u : 1u));
    t.samples = size("samples", 1);
    const uint32_t levels = size("levels", 1);
    if (levels > 15 || uint64_t{t.width} * t.height * t.depth * t.layers * t.samples * t.format.bytes() > kMostBytes)
        refuse(what + " is larger than 256 MiB");
    t.allocate(levels);
    // Level after level.
    const auto bytes = contents(j, folder, what);
    size_t at = 0;
    for (auto& level : t.levels) {
        const size_t n = std::min(level.size(), bytes.size() - at);
        std::copy_n(bytes.begin() + static_cast<long>(at), n, level.begin());
        at += n;
    }
    return t;
}

Sampler sampler_from(const Json& j) {
    constexpr std::pair<std::string_view, Wrap> kWraps[] = {{"clamp_to_edge", Wrap::clamp_to_edge}, {"repeat", Wrap::repeat}, {"mirrored_repeat", Wrap::mirror}, {"clamp_to_border", Wrap::clamp_to_border}};
    constexpr std::pair<std::string_view, Filter> kFilters[] = {{"nearest", Filter::nearest}, {"linear", Filter::linear}};
    constexpr std::pair<std::string_view, Mip> kMips[] = {{"none", Mip::none}, {"nearest", Mip::nearest}, {"linear", Mip::linear}};
    constexpr std::pair<std::string_view, Compare> kCompares[] = {{"never", Compare::never}, {"less", Compare::less}, {"equal", Compare::equal},
        {"less_equal", Compare::less_equal}, {"greater", Compare::greater}, {"not_equal", Compare::not_equal}, {"greater_equal", Compare::greater_equal}, {"always", Compare::always}};
    Sampler s;
    s.wrap.fill(choice(j, "address", kWraps));
    s.mag = s.min = choice(j, "filter", kFilters);
    s.mip = choice(j, "mip", kMips);
    s.compare = choice(j, "compare", kCompares);
    s.lod_min = j.value("lod_min", 0.0f);
    s.lod_max = j.value("lod_max", 1000.0f);
    s.lod_bias = j.value("lod_bias", 0.0f);
    return s;
}

// Inputs by attribute number, link name, builtin or parameter name, in that order.
class JobInputs : public AirStageInputs {
  public:
    std::vector<std::map<std::string, std::array<uint32_t, 4>>> values;
    std::vector<bool> helpers;
    std::array<uint32_t, 4> input(const AirParameter& p, uint32_t i, AirPlace, std::array<int32_t, 2>) const override {
        const auto& given = values[i];
        for (const std::string& name : {p.kind == "vertex_input" ? std::to_string(p.location) : p.link, p.kind, p.name})
            if (const auto it = given.find(name); it != given.end())
                return it->second;
        if (p.kind == "vertex_id")
            return {i, 0, 0, 0};
        return {0, 0, 0, p.type.scalar == AirType::Scalar::integer ? 0 : std::bit_cast<uint32_t>(1.0f)};
    }
    bool helper(uint32_t i) const override { return helpers[i]; }
};

std::unique_ptr<AirJob> parse(const Json& j, const std::string& folder) {
    if (!j.is_object())
        refuse("a job is a JSON object");
    auto job = std::make_unique<AirJob>();
    triple(j, "block", job->launch.threads);
    triple(j, "grid", job->launch.groups);
    const auto buffer = [&](const Json& b, const std::string& what) {
        AirJob::Buffer out{contents(b, folder, what), {}};
        if (b.contains("out"))
            out.out = folder + "/" + b["out"].get<std::string>();
        return out;
    };
    const auto each = [&](const char* key, const auto& f) {
        if (j.contains(key))
            for (const auto& [name, value] : j[key].items())
                f(name, value);
    };
    each("memory", [&](const std::string& name, const Json& v) { job->memory[name] = buffer(v, "memory " + name); });
    each("textures", [&](const std::string& name, const Json& v) {
        const uint32_t slot = slot_of(name);
        job->textures[slot] = texture_from(v, folder, "texture " + name);
        if (v.contains("out"))
            job->texture_outputs[slot] = folder + "/" + v["out"].get<std::string>();
    });
    each("samplers", [&](const std::string& name, const Json& v) { job->samplers[slot_of(name)] = sampler_from(v); });
    each("threadgroup_bytes", [&](const std::string& name, const Json& v) {
        const uint64_t n = number(v, "threadgroup_bytes");
        if (n > 1u << 20)
            refuse("threadgroup memory is larger than any machine's");
        job->launch.threadgroup_bytes[slot_of(name)] = static_cast<uint32_t>(n);
    });
    each("constants", [&](const std::string& name, const Json& v) {
        for (const Json& n : v.is_array() ? v : Json::array({v}))
            job->constants[name].push_back(n.is_boolean() ? n.get<bool>() : n.get<double>());
    });
    each("buffers", [&](const std::string& name, const Json& v) { job->buffers[slot_of(name)] = buffer(v, "buffer " + name); });
    // Pointers are put in once everything has its place.
    each("buffers", [&](const std::string& name, const Json& v) {
        if (!v.contains("pointers"))
            return;
        auto& bytes = job->buffers[slot_of(name)].bytes;
        for (const auto& [at, target] : v["pointers"].items()) {
            const auto text = target.get<std::string>();
            const std::string kind = text.substr(0, text.find(' ')), which = text.find(' ') == text.npos ? "" : text.substr(text.find(' ') + 1);
            const void* p = nullptr;
            if (kind == "memory" && job->memory.count(which))
                p = job->memory[which].bytes.data();
            else if (kind == "texture" && job->textures.count(slot_of(which)))
                job->launch.texture_handles.insert(p = &job->textures[slot_of(which)]);
            else if (kind == "sampler" && job->samplers.count(slot_of(which)))
                job->launch.sampler_handles.insert(p = &job->samplers[slot_of(which)]);
            else
                refuse("there is no " + text + " to point to");
            const uint64_t offset = number(Json(at), "pointer offset");
            if (offset > kMostBytes)
                refuse("pointer offset " + at);
            bytes.resize(std::max<size_t>(bytes.size(), offset + sizeof p));
            std::memcpy(bytes.data() + offset, &p, sizeof p);
        }
    });
    for (auto& [slot, b] : job->buffers)
        job->launch.buffers[slot] = b.bytes;
    for (auto& [name, b] : job->memory)
        job->launch.reachable.push_back(b.bytes);
    for (auto& [slot, t] : job->textures)
        job->launch.textures[slot] = &t;
    for (auto& [slot, s] : job->samplers)
        job->launch.samplers[slot] = &s;
    if (j.contains("invocations")) {
        auto inputs = std::make_shared<JobInputs>();
        for (const Json& v : j["invocations"]) {
            auto& given = inputs->values.emplace_back();
            inputs->helpers.push_back(v.value("helper", false));
            if (v.contains("in"))
                for (const auto& [name, list] : v["in"].items()) {
                    std::array<uint32_t, 4> words{0, 0, 0, std::bit_cast<uint32_t>(1.0f)};
                    const Json many = list.is_array() ? list : Json::array({list});
                    for (size_t k = 0; k < std::min<size_t>(many.size(), 4); ++k)
                        words[k] = word(many[k], "input");
                    given[name] = words;
                }
        }
        if (inputs->values.size() > 1024)
            refuse("a launch has up to 1024 invocations");
        job->launch.invocations = static_cast<uint32_t>(inputs->values.size());
        job->launch.inputs = inputs.get();
        job->inputs = std::move(inputs);
    }
    return job;
}

Json word_list(std::span<const uint8_t> bytes) {
    Json list = Json::array();
    for (size_t k = 0; k + 4 <= bytes.size(); k += 4) {
        uint32_t w = 0;
        std::memcpy(&w, bytes.data() + k, 4);
        list.push_back(fmt::format("0x{:08x}", w));
    }
    return list;
}

} // namespace

Result<std::unique_ptr<AirJob>> read_air_job(std::string_view text, const std::string& folder) {
    try {
        const Json j = Json::parse(text, nullptr, false);
        if (j.is_discarded())
            return Error{"the job is no JSON"};
        return parse(j, folder);
    } catch (const Refusal& r) {
        return Error{r.text};
    } catch (const Json::exception& e) {
        return Error{std::string("the job: ") + e.what()};
    }
}

std::string air_results(const AirJob& job, const AirMachine& machine) {
    Json j = Json::object();
    for (const auto& [slot, b] : job.buffers)
        j["buffers"][std::to_string(slot)] = word_list(b.bytes);
    for (const auto& [name, b] : job.memory)
        j["memory"][name] = word_list(b.bytes);
    for (const AirResult& r : machine.results) {
        Json one = {{"discarded", r.discarded}};
        for (const AirOutput& o : machine.outputs()) {
            const std::string name = !o.link.empty() ? o.link : o.kind == "render_target" ? fmt::format("render_target {}", o.location) : o.kind;
            one[name] = word_list(std::span(r.bytes).subspan(o.offset, std::min<size_t>(o.type.bytes, r.bytes.size() - o.offset)));
        }
        j["invocations"].push_back(std::move(one));
    }
    if (!machine.faults.empty())
        j["faults"] = machine.faults;
    return j.dump(2);
}

} // namespace dmsh::sim
