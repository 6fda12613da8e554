// Prints a metallib's container facts and each function's signature from its named metadata.
#include "compiler/emit/air/inspect.h"
#include "compiler/emit/air/air_module.h"
#include "compiler/emit/air/metallib_reader.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dmsh {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPlatforms[] = {
    "none",      "macOS",        "iOS",           "tvOS",           "watchOS",
    "bridgeOS",  "Mac Catalyst", "iOS simulator", "tvOS simulator", "watchOS simulator",
    "DriverKit", "xrOS",         "xrOS simulator"};

std::string hex(std::span<const uint8_t> bytes) {
    std::string s;
    for (const uint8_t b : bytes)
        s += fmt::format("{:02x}", b);
    return s;
}

// Strings in a hostile file may not be UTF-8, which JSON text must be.
std::string clean(std::string s) {
    for (char& c : s)
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e)
            c = '?';
    return s;
}

Json signature(const MetallibFunction& f, Json& j) {
    auto parsed = parse_air(f.bitcode);
    if (!parsed) {
        j["module_error"] = clean(parsed.error().message);
        return j;
    }
    const llvm::Module& m = *parsed->module;
    j["triple"] = clean(m.getTargetTriple());
    for (const char* name : {"air.version", "air.language_version", "llvm.ident", "air.compile_options"})
        if (const auto* list = m.getNamedMetadata(name)) {
            Json rows = Json::array();
            for (const llvm::MDNode* row : list->operands())
                rows.push_back(clean(md_text(row)));
            j[name] = rows;
        }
    Json entries = Json::array();
    for (const AirEntry& e : air_entries(m)) {
        Json entry;
        entry["kind"] = e.kind;
        entry["function"] = clean(e.function->getName().str());
        Json outputs = Json::array(), inputs = Json::array(), extras = Json::array();
        for (const auto& op : e.outputs->operands())
            outputs.push_back(clean(md_text(op.get())));
        for (const auto& op : e.inputs->operands())
            inputs.push_back(clean(md_text(op.get())));
        for (const auto* x : e.extras)
            extras.push_back(clean(md_text(x)));
        entry["outputs"] = outputs;
        entry["inputs"] = inputs;
        if (!extras.empty())
            entry["extras"] = extras;
        entries.push_back(entry);
    }
    j["entries"] = entries;
    Json intrinsics = Json::array();
    std::vector<std::string> names;
    for (const llvm::Function& g : m)
        if (g.isDeclaration())
            names.push_back(clean(g.getName().str()));
    std::sort(names.begin(), names.end());
    for (auto& n : names)
        intrinsics.push_back(n);
    j["declares"] = intrinsics;
    return j;
}

Json describe(const Metallib& lib) {
    Json j;
    j["container"] = fmt::format("{}.{}.{}", lib.major, lib.minor, lib.patch);
    j["bytes"] = lib.bytes.size();
    const unsigned platform = lib.platform & 0x7f;
    j["platform"] = platform < std::size(kPlatforms) ? kPlatforms[platform] : "?";
    if (lib.patch < 6)
        j["platform"] = lib.macos ? "macOS" : "not macOS";
    else
        j["os"] = fmt::format("{}.{}.{}", lib.os_major, lib.os_minor, lib.os_update);
    if (lib.uuid)
        j["uuid"] = hex(*lib.uuid);
    Json tails = Json::array();
    for (const auto& [name, part] : lib.tails)
        tails.push_back(clean(name));
    if (!tails.empty())
        j["extra_parts"] = tails;
    j["faults"] = Json::array();
    for (const auto& fault : verify_container(lib))
        j["faults"].push_back(clean(fault));
    Json functions = Json::array();
    for (const MetallibFunction& f : lib.functions) {
        Json g;
        g["name"] = clean(f.name);
        g["type"] = metal_function_type_name(f.type);
        g["hash"] = hex(f.hash);
        g["air"] = fmt::format("{}.{}", f.version[0], f.version[1]);
        g["metal"] = fmt::format("{}.{}", f.version[2], f.version[3]);
        g["module_bytes"] = f.module.size();
        g["bitcode_bytes"] = f.bitcode.size();
        for (const auto& a : f.attributes)
            g["attributes"].push_back(
                {{"name", clean(a.name)}, {"index", a.index}, {"type", a.type}, {"used", a.active}});
        for (const auto& c : f.constants)
            g["constants"].push_back(
                {{"name", clean(c.name)}, {"index", c.index}, {"type", c.type}, {"required", c.required}});
        if (f.tessellation)
            g["tessellation"] = *f.tessellation;
        signature(f, g);
        functions.push_back(g);
    }
    j["functions"] = functions;
    return j;
}

std::string render(const Json& j) {
    std::string s = fmt::format(
        "metallib {}, {}{}, {} bytes{}\n", j["container"].get<std::string>(),
        j["platform"].get<std::string>(), j.contains("os") ? " " + j["os"].get<std::string>() : "",
        j["bytes"].get<size_t>(), j.contains("uuid") ? ", uuid " + j["uuid"].get<std::string>() : "");
    if (j.contains("extra_parts")) {
        s += "parts:";
        for (const auto& t : j["extra_parts"])
            s += " " + t.get<std::string>();
        s += "\n";
    }
    for (const auto& f : j["faults"])
        s += "fault: " + f.get<std::string>() + "\n";
    for (const auto& f : j["functions"]) {
        s += fmt::format("\n{} {}\n  sha256 {}\n  AIR {}, Metal {}, {} bytes of bitcode in {}\n",
                         f["type"].get<std::string>(), f["name"].get<std::string>(),
                         f["hash"].get<std::string>(), f["air"].get<std::string>(),
                         f["metal"].get<std::string>(), f["bitcode_bytes"].get<size_t>(),
                         f["module_bytes"].get<size_t>());
        if (f.contains("module_error")) {
            s += "  module not readable: " + f["module_error"].get<std::string>() + "\n";
            continue;
        }
        s += "  triple " + f["triple"].get<std::string>() + "\n";
        if (f.contains("attributes"))
            for (const auto& a : f["attributes"])
                s += fmt::format("  attribute {} index {} type {}{}\n", a["name"].get<std::string>(),
                                 a["index"].get<int>(), a["type"].get<int>(),
                                 a["used"].get<bool>() ? "" : " unused");
        if (f.contains("constants"))
            for (const auto& c : f["constants"])
                s += fmt::format("  constant {} index {} type {}{}\n", c["name"].get<std::string>(),
                                 c["index"].get<int>(), c["type"].get<int>(),
                                 c["required"].get<bool>() ? "" : " optional");
        for (const auto& e : f["entries"]) {
            for (const auto& o : e["outputs"])
                s += "  out " + o.get<std::string>() + "\n";
            for (const auto& i : e["inputs"])
                s += "  in  " + i.get<std::string>() + "\n";
            if (e.contains("extras"))
                for (const auto& x : e["extras"])
                    s += "  with " + x.get<std::string>() + "\n";
        }
    }
    return s;
}

} // namespace

std::string inspect_metallib(std::span<const uint8_t> bytes, bool json) {
    const auto failure = [&](const Error& e) {
        return json ? Json{{"error", e.text()}}.dump(2) + "\n" : "error: " + e.text() + "\n";
    };
    auto slices = split_metallib(bytes);
    if (!slices)
        return failure(slices.error());
    Json all = Json::array();
    std::string text;
    for (const MetallibSlice& slice : *slices) {
        auto lib = read_metallib(slice.bytes);
        if (!lib) {
            if (slices->size() == 1)
                return failure(lib.error());
            text += fmt::format("slice of CPU type 0x{:08x}: {}\n", slice.cpu_type, lib.error().text());
            all.push_back({{"cpu_type", slice.cpu_type}, {"error", lib.error().text()}});
            continue;
        }
        const Json j = describe(*lib);
        text += render(j);
        all.push_back(j);
    }
    if (json)
        return (all.size() == 1 ? all[0] : all).dump(2) + "\n";
    return text;
}

} // namespace dmsh
