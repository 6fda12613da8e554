// Prints what a scan found.
#include "compiler/build/scan_text.h"
#include "archivers/scan/scan.h"
#include "compiler/build/exit_codes.h"
#include "compiler/build/profile.h"
#include "runtime/abi/program_key.h"
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dmsh {
namespace {

using Json = nlohmann::ordered_json;

std::string scan_json(const ScanResult& r) {
    Json j;
    j["files"] = r.files;
    j["bytes"] = r.bytes;
    j["members"] = r.members;
    j["shaders_found"] = r.found;
    j["lone_control_sections"] = r.lone_controls;
    j["shaders"] = Json::array();
    for (const ShaderRecord& s : r.records)
        j["shaders"].push_back({{"key", key_text(s.key)},
                                {"stage", stage_name(s.stage)},
                                {"arch", arch_name(s.arch)},
                                {"control_bytes", s.control.size()},
                                {"code_bytes", s.code.size()},
                                {"copies", s.copies},
                                {"format", s.format},
                                {"offset", s.offset},
                                {"origin", s.origin}});
    j["programs"] = Json::array();
    for (const ShaderProgram& p : r.programs) {
        Json row;
        for (unsigned s = 0; s < kStageCount; ++s)
            if (p.stages >> s & 1)
                row[std::string(stage_name(static_cast<Stage>(s)))] = key_text(p.keys[s]);
        row["origin"] = p.origin;
        j["programs"].push_back(std::move(row));
    }
    for (const auto& [name, counts] : r.formats)
        j["formats"][name] = {{"containers", counts.containers}, {"shaders", counts.shaders}};
    j["errors"] = Json::array();
    for (const Error& e : r.errors)
        j["errors"].push_back(e.text());
    j["notes"] = r.notes;
    return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void print_scan(const ScanResult& r) {
    std::printf("%-16s  %-15s %-5s %8s %7s  %s\n", "key", "stage", "arch", "code", "copies", "origin");
    for (const ShaderRecord& s : r.records)
        std::printf("%s  %-15s %-5s %8llu %7llu  %s\n", key_text(s.key).c_str(), std::string(stage_name(s.stage)).c_str(),
                    std::string(arch_name(s.arch)).c_str(), static_cast<unsigned long long>(s.code.size()),
                    static_cast<unsigned long long>(s.copies), s.origin.c_str());
    std::printf("%llu files, %llu members, %llu shaders (%zu distinct), %zu programs\n", static_cast<unsigned long long>(r.files),
                static_cast<unsigned long long>(r.members), static_cast<unsigned long long>(r.found), r.records.size(),
                r.programs.size());
    for (const auto& [name, counts] : r.formats)
        std::printf("  %-12s %6llu containers, %6llu shaders\n", name.c_str(), static_cast<unsigned long long>(counts.containers),
                    static_cast<unsigned long long>(counts.shaders));
}

} // namespace

int show_scan(const ScanTextOptions& o) {
    ScanOptions options;
    options.paths = o.paths;
    options.exefs = o.exefs;
    options.workers = o.workers;
    if (!o.profile.empty()) {
        const auto profile = load_profile(o.profile);
        if (!profile) {
            std::fprintf(stderr, "dmshc: %s\n", profile.error().text().c_str());
            return kExitUsage;
        }
        options.skip = profile->key_skip;
    }
    const auto result = scan(options);
    if (!result) {
        std::fprintf(stderr, "dmshc: %s\n", result.error().text().c_str());
        return kExitInput;
    }
    for (const Error& e : result->errors)
        std::fprintf(stderr, "dmshc: %s\n", e.text().c_str());
    for (const std::string& note : result->notes)
        std::fprintf(stderr, "dmshc: note: %s\n", note.c_str());
    if (o.json)
        std::fputs(scan_json(*result).c_str(), stdout);
    else
        print_scan(*result);
    if (!result->errors.empty())
        return kExitInput;
    return result->records.empty() ? kExitNoShader : kExitDone;
}

} // namespace dmsh
