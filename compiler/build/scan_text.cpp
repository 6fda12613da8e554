// Prints what a scan found.
#include "compiler/build/scan_text.h"
#include "archivers/scan/scan.h"
#include "compiler/build/exit_codes.h"
#include "compiler/build/profile.h"
#include "compiler/build/progress_line.h"
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
                                {"control_bytes", s.control_bytes},
                                {"code_bytes", s.code_bytes},
                                {"copies", s.copies},
                                {"format", s.format},
                                {"offset", s.offset},
                                {"origin", s.origin}});
    const auto programs = [](const std::vector<ShaderProgram>& list) {
        Json rows = Json::array();
        for (const ShaderProgram& p : list) {
            Json row;
            for (unsigned s = 0; s < kStageCount; ++s)
                if (p.stages >> s & 1)
                    row[std::string(stage_name(static_cast<Stage>(s)))] = key_text(p.keys[s]);
            row["origin"] = p.origin;
            rows.push_back(std::move(row));
        }
        return rows;
    };
    j["programs"] = programs(r.programs);
    j["listed_programs"] = programs(r.listed);
    const auto counts = [](const std::map<std::string, FormatCounts>& list) {
        Json rows = Json::object();
        for (const auto& [name, n] : list)
            rows[name] = {{"containers", n.containers}, {"shaders", n.shaders}};
        return rows;
    };
    j["formats"] = counts(r.formats);
    j["tree"] = counts(r.tree);
    j["errors"] = Json::array();
    for (const Error& e : r.errors)
        j["errors"].push_back(e.text());
    j["notes"] = r.notes;
    return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void print_list(const ScanResult& r) {
    std::printf("%-16s  %-15s %-5s %8s %7s  %s\n", "key", "stage", "arch", "code", "copies", "origin");
    for (const ShaderRecord& s : r.records)
        std::printf("%s  %-15s %-5s %8llu %7llu  %s\n", key_text(s.key).c_str(), std::string(stage_name(s.stage)).c_str(),
                    std::string(arch_name(s.arch)).c_str(), static_cast<unsigned long long>(s.code_bytes),
                    static_cast<unsigned long long>(s.copies), s.origin.c_str());
    std::printf("\n");
}

// The chains are sorted, so each stands below the one that it lies in.
void print_counts(const ScanResult& r) {
    const auto row = [](const std::string& name, const FormatCounts& n) {
        std::printf("  %-38s %10llu %10llu\n", name.c_str(), static_cast<unsigned long long>(n.containers),
                    static_cast<unsigned long long>(n.shaders));
    };
    std::printf("%-40s %10s %10s\n", "containers, as they nest", "count", "shaders");
    for (const auto& [chain, n] : r.tree) {
        size_t depth = 0, last = 0;
        for (size_t at = 0; (at = chain.find(" > ", at)) != chain.npos; at += 3)
            ++depth, last = at + 3;
        row(std::string(2 * depth, ' ') + chain.substr(last), n);
    }
    std::printf("\n%-40s %10s %10s\n", "formats", "count", "shaders");
    for (const auto& [name, n] : r.formats)
        row(name, n);
    std::map<std::string_view, uint64_t> stages;
    for (const ShaderRecord& s : r.records)
        ++stages[stage_name(s.stage)];
    std::printf("\n%llu files, %llu members, %llu shaders (%zu distinct", static_cast<unsigned long long>(r.files),
                static_cast<unsigned long long>(r.members), static_cast<unsigned long long>(r.found), r.records.size());
    for (const auto& [stage, n] : stages)
        std::printf(", %llu %s", static_cast<unsigned long long>(n), std::string(stage).c_str());
    std::printf("), %zu programs, %zu listed pairs\n", r.programs.size(), r.listed.size());
    if (r.lone_controls)
        std::printf("%llu control sections without code\n", static_cast<unsigned long long>(r.lone_controls));
}

} // namespace

int show_scan(const ScanTextOptions& o) {
    ScanOptions options;
    options.paths = o.paths;
    options.exefs = o.exefs;
    options.nro = o.nro;
    options.workers = o.workers;
    options.oodle = o.oodle;
    options.keep_bytes = false;
    if (!o.profile.empty()) {
        const auto profile = load_profile(o.profile);
        if (!profile) {
            std::fprintf(stderr, "dmshc: %s\n", profile.error().text().c_str());
            return kExitUsage;
        }
        options.skip = profile->key_skip;
    }
    auto line = std::make_unique<ProgressLine>(!o.quiet);
    options.progress = line->callback();
    const auto result = scan(options);
    line.reset();
    if (!result) {
        std::fprintf(stderr, "dmshc: %s\n", result.error().text().c_str());
        return kExitInput;
    }
    for (const Error& e : result->errors)
        std::fprintf(stderr, "dmshc: %s\n", e.text().c_str());
    for (const std::string& note : result->notes)
        std::fprintf(stderr, "dmshc: note: %s\n", note.c_str());
    if (o.list && !o.json)
        print_list(*result);
    if (o.json)
        std::fputs(scan_json(*result).c_str(), stdout);
    else
        print_counts(*result);
    if (!result->errors.empty())
        return kExitInput;
    return result->records.empty() ? kExitNoShader : kExitDone;
}

} // namespace dmsh
