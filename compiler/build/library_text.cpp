// Lists library packs and extracts programs.
#include "compiler/build/library_text.h"
#include "compiler/build/exit_codes.h"
#include "compiler/build/files.h"
#include "runtime/abi/program_key.h"
#include "runtime/pack/library_pack.h"
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dmsh {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kBuiltinNames[] = {
    "position",      "point_size",    "clip_distance", "layer",       "viewport",    "viewport_mask", "primitive_id",
    "vertex_id",     "instance_id",   "base_vertex",   "base_instance", "draw_index", "frag_coord",   "front_facing",
    "point_coord",   "sample_id",     "sample_mask",   "frag_depth",  "helper",      "tess_coord",    "tess_levels",
    "invocation_id", "thread_id",     "group_id",      "group_count", "lane_id",
};

const char* dim_name(ImageDim dim) {
    constexpr const char* names[] = {"1d", "2d", "3d", "cube", "buffer"};
    return names[static_cast<unsigned>(dim) % 5];
}

const char* numeric_name(Numeric n) {
    constexpr const char* names[] = {"float", "sint", "uint"};
    return names[static_cast<unsigned>(n) % 3];
}

std::string components(uint8_t mask) {
    std::string s;
    for (unsigned i = 0; i < 4; ++i)
        if (mask >> i & 1)
            s += "xyzw"[i];
    return s;
}

Json builtins(uint64_t bits) {
    Json list = Json::array();
    for (size_t i = 0; i < std::size(kBuiltinNames); ++i)
        if (bits >> i & 1)
            list.push_back(kBuiltinNames[i]);
    return list;
}

Json binding(const Binding& b, size_t index) {
    Json j;
    j["index"] = index;
    j["kind"] = binding_kind_name(b.kind);
    j["slot"] = b.slot;
    const bool in_bank = b.kind == BindingKind::storage_in_bank || b.kind == BindingKind::texture_in_bank ||
                         b.kind == BindingKind::sampler_in_bank || b.kind == BindingKind::image_in_bank;
    if (in_bank) {
        j["bank"] = b.bank;
        j["offset"] = b.offset;
    }
    if (b.count != 1)
        j["count"] = b.count;
    switch (b.kind) {
    case BindingKind::texture:
    case BindingKind::separate_texture:
    case BindingKind::texture_in_bank:
    case BindingKind::image:
    case BindingKind::image_in_bank:
        j["dim"] = dim_name(b.dim);
        if (b.arrayed)
            j["array"] = true;
        if (b.multisampled)
            j["multisampled"] = true;
        if (b.depth)
            j["depth"] = true;
        j["type"] = numeric_name(b.numeric);
        break;
    default: break;
    }
    if (b.kind == BindingKind::image || b.kind == BindingKind::image_in_bank) {
        constexpr const char* names[] = {"formatted", "raw8", "raw16", "raw32", "raw64", "raw128"};
        j["access"] = names[static_cast<unsigned>(b.access) % 6];
    }
    if (b.written)
        j["written"] = true;
    if (b.atomic)
        j["atomic"] = true;
    if (b.dynamic)
        j["dynamic"] = true;
    if (b.bytes_read)
        j["bytes_read"] = b.bytes_read;
    if (b.or_bank != 0xff)
        j["or"] = {{"bank", b.or_bank}, {"offset", b.or_offset}};
    j["metal_id"] = b.metal_id;
    return j;
}

Json varying(const Varying& v) {
    Json j{{"location", v.location}, {"components", components(v.components)}, {"type", numeric_name(v.numeric)}};
    constexpr const char* interpolation[] = {nullptr, "constant", "perspective", "linear"};
    if (const char* name = interpolation[v.interpolation & 3])
        j["interpolation"] = name;
    if (v.centroid)
        j["centroid"] = true;
    if (v.per_sample)
        j["per_sample"] = true;
    return j;
}

std::optional<uint64_t> parse_key(const std::string& text) {
    if (text.size() != 16 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        return std::nullopt;
    return std::stoull(text, nullptr, 16);
}

int fail(const Error& e, int code) {
    std::fprintf(stderr, "dmshc: %s\n", e.text().c_str());
    return code;
}

int list(const LibraryPack& pack, bool as_json) {
    Json rows = Json::array();
    uint64_t total = 0;
    if (!as_json)
        std::printf("%-16s  %-15s %-5s %-9s %9s %9s\n", "key", "stage", "arch", "kind", "bytes", "stored");
    for (uint32_t i = 0; i < pack.size(); ++i) {
        const auto entry = pack.entry(i);
        if (!entry)
            return fail(entry.error(), kExitInput);
        const char* kind = entry->kind == SliceKind::spirv      ? "spirv"
                           : entry->kind == SliceKind::metallib ? "metallib"
                                                                : "none";
        total += entry->slice_stored;
        if (as_json)
            rows.push_back({{"key", key_text(entry->key)},
                            {"variant", entry->variant},
                            {"stage", stage_name(entry->stage)},
                            {"arch", arch_name(entry->arch)},
                            {"kind", kind},
                            {"bytes", entry->slice_bytes},
                            {"stored", entry->slice_stored},
                            {"losses", entry->has_losses}});
        else
            std::printf("%s  %-15s %-5s %-9s %9u %9u%s\n", key_text(entry->key).c_str(),
                        std::string(stage_name(entry->stage)).c_str(), std::string(arch_name(entry->arch)).c_str(), kind,
                        entry->slice_bytes, entry->slice_stored, entry->has_losses ? "  losses" : "");
    }
    if (as_json) {
        const Json j{{"target", pack.target()}, {"stamp", pack.stamp()}, {"programs", rows}};
        std::printf("%s\n", j.dump(2).c_str());
    } else {
        std::printf("%u programs for %s, %llu bytes of code, stamp %s\n", pack.size(), std::string(pack.target()).c_str(),
                    static_cast<unsigned long long>(total), std::string(pack.stamp()).c_str());
    }
    return kExitDone;
}

} // namespace

std::string reflection_json(const ProgramReflection& r) {
    const ShaderInterface& f = r.interface;
    Json j;
    j["stage"] = stage_name(f.stage);
    j["arch"] = arch_name(f.arch);
    j["entry"] = r.entry;
    if (!r.origin.empty())
        j["origin"] = r.origin;
    j["bindings"] = Json::array();
    for (size_t i = 0; i < f.bindings.size(); ++i)
        j["bindings"].push_back(binding(f.bindings[i], i));
    for (const auto& [name, list] : {std::pair{"inputs", &f.inputs}, {"outputs", &f.outputs}}) {
        j[name] = Json::array();
        for (const Varying& v : *list)
            j[name].push_back(varying(v));
    }
    j["colours"] = Json::array();
    for (const FragmentOutput& c : f.colours)
        j["colours"].push_back(
            {{"target", c.target}, {"components", components(c.components)}, {"type", numeric_name(c.numeric)}});
    j["builtins_read"] = builtins(f.builtins_read);
    j["builtins_written"] = builtins(f.builtins_written);
    if (f.stage == Stage::compute || f.stage == Stage::task || f.stage == Stage::mesh) {
        j["local_size"] = f.local_size;
        j["shared_bytes"] = f.shared_bytes;
    }
    j["local_bytes"] = f.local_bytes;
    for (const auto& [name, on] :
         {std::pair{"early_tests", f.early_tests}, {"demotes", f.demotes}, {"writes_memory", f.writes_memory},
          {"per_sample", f.per_sample}, {"derivatives", f.uses_derivatives}, {"lanes", f.uses_lanes}})
        if (on)
            j[name] = true;
    if (f.stage == Stage::geometry) {
        j["output_topology"] = f.output_topology;
        j["max_vertices"] = f.max_vertices;
        j["invocations"] = f.invocations;
    }
    j["constants_bytes"] = r.constants.size();
    if (!r.losses.empty())
        j["losses"] = r.losses;
    return j.dump(2) + "\n";
}

int show_library(const LibraryTextOptions& options) {
    const auto pack = LibraryPack::open(options.path);
    if (!pack)
        return fail(pack.error(), kExitInput);
    if (options.keys.empty() && options.output.empty())
        return list(*pack, options.json);

    std::vector<uint32_t> wanted;
    for (const std::string& text : options.keys) {
        const auto key = parse_key(text);
        if (!key)
            return fail({fmt::format("key '{}' is not 16 hexadecimal digits", text)}, kExitUsage);
        const uint32_t index = pack->find(*key);
        if (index == LibraryPack::kNotFound)
            return fail({"no such program", options.path, std::nullopt, text}, kExitNoShader);
        wanted.push_back(index);
    }
    if (options.keys.empty())
        for (uint32_t i = 0; i < pack->size(); ++i)
            wanted.push_back(i);

    if (!options.output.empty()) {
        std::error_code ec;
        std::filesystem::create_directories(options.output, ec);
        if (ec)
            return fail({"cannot be created: " + ec.message(), options.output}, kExitOutput);
    }
    for (const uint32_t index : wanted) {
        const auto entry = pack->entry(index);
        if (!entry)
            return fail(entry.error(), kExitInput);
        const auto reflection = pack->reflection(index);
        if (!reflection)
            return fail(reflection.error(), kExitInput);
        const std::string json = reflection_json(*reflection);
        if (options.output.empty()) {
            std::fputs(json.c_str(), stdout);
            continue;
        }
        const auto slice = pack->slice(index);
        if (!slice)
            return fail(slice.error(), kExitInput);
        const std::string stem = options.output + "/" + key_text(entry->key);
        const char* extension = entry->kind == SliceKind::metallib ? ".metallib" : ".spv";
        for (const auto& r : {write_file(stem + extension, slice->bytes), write_file(stem + ".json", json),
                              write_file(stem + ".c1.bin", std::span<const uint8_t>(reflection->constants))})
            if (!r)
                return fail(r.error(), kExitOutput);
        std::printf("%s%s\n", stem.c_str(), extension);
    }
    return kExitDone;
}

} // namespace dmsh
