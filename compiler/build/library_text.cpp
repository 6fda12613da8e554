// Lists library packs and extracts programs.
#include "compiler/build/library_text.h"
#include "archivers/pack/dump.h"
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
        const std::string json = reflection_json(*reflection) + "\n";
        if (options.output.empty()) {
            std::fputs(options.json ? json.c_str() : reflection_text(*reflection).c_str(), stdout);
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
