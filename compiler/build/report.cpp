// Writes what a build did as TSV, JSON and a summary.
#include "compiler/build/report.h"
#include "runtime/abi/program_key.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace dmsh {
namespace {

using Json = nlohmann::ordered_json;

// A tab or newline in a file name would break the row.
std::string field(std::string_view text) {
    std::string out(text);
    std::replace_if(out.begin(), out.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    return out;
}

// File names of a guest are bytes; JSON wants UTF-8, and a broken name must not cost the report.
std::string dump(const Json& j) { return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json error_json(const Error& e) {
    return {{"code", fmt::format("L{:04}", e.code)}, {"meaning", loss_meaning(e.code)}, {"message", e.message}};
}

const char* status(const ProgramReport& p) {
    if (p.refused)
        return "refused";
    if (p.vulkan_refused || p.metal_refused)
        return "refused by a target";
    return p.losses.empty() ? "ok" : "losses";
}

std::string pairs_tsv(const std::vector<ShaderProgram>& programs) {
    std::string out;
    for (unsigned s = 0; s < kStageCount; ++s)
        out += std::string(stage_name(static_cast<Stage>(s))) + "\t";
    out += "origin\n";
    for (const ShaderProgram& program : programs) {
        for (unsigned s = 0; s < kStageCount; ++s)
            out += (program.stages >> s & 1 ? key_text(program.keys[s]) : "-") + "\t";
        out += field(program.origin) + "\n";
    }
    return out;
}

double rounded(double ms) { return std::round(ms * 1000) / 1000; }

} // namespace

std::string shader_map_tsv(const BuildResult& result) {
    std::string out = "key\tstage\tarch\tstatus\tcode_bytes\tcopies\toffset\torigin\n";
    for (const ProgramReport& p : result.programs)
        out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t0x{:x}\t{}\n", key_text(p.key), stage_name(p.stage), arch_name(p.arch),
                           status(p), p.code_bytes, p.copies, p.offset, field(p.origin));
    return out;
}

std::string shader_pairs_tsv(const BuildResult& result) { return pairs_tsv(result.scan.programs); }

std::string pso_pairs_tsv(const BuildResult& result) { return pairs_tsv(result.scan.listed); }

std::string build_json(const BuildOptions& options, const BuildResult& result) {
    Json j;
    j["dmshc"] = DMSH_VERSION;
    j["stamp"] = build_stamp(options.profile, options.float_mode);
    j["title"] = options.profile.title;
    for (const Target t : options.targets)
        j["targets"].push_back(target_name(t));
    j["scan"] = {{"files", result.scan.files},
                 {"bytes", result.scan.bytes},
                 {"members", result.scan.members},
                 {"shaders_found", result.scan.found},
                 {"lone_control_sections", result.scan.lone_controls},
                 {"seconds", rounded(result.scan_seconds)}};
    j["translate_seconds"] = rounded(result.translate_seconds);
    Json programs = Json::array();
    size_t ok = 0;
    for (const ProgramReport& p : result.programs) {
        ok += !p.lost();
        Json row;
        row["key"] = key_text(p.key);
        row["stage"] = stage_name(p.stage);
        row["arch"] = arch_name(p.arch);
        row["origin"] = p.origin;
        row["offset"] = p.offset;
        row["copies"] = p.copies;
        row["code_bytes"] = p.code_bytes;
        row["instructions"] = p.instruction_count;
        row["status"] = status(p);
        row["ms"] = {{"lift", rounded(p.times.lift_ms)},         {"passes", rounded(p.times.passes_ms)},
                     {"legalize", rounded(p.times.legalize_ms)}, {"spirv", rounded(p.times.spirv_ms)},
                     {"air", rounded(p.times.air_ms)}};
        if (p.refused)
            row["refused"] = error_json(*p.refused);
        if (p.vulkan_refused)
            row["vulkan_refused"] = error_json(*p.vulkan_refused);
        if (p.metal_refused)
            row["metal_refused"] = error_json(*p.metal_refused);
        if (!p.losses.empty())
            for (const Loss& loss : p.losses)
                row["losses"].push_back({{"code", fmt::format("L{:04}", loss.code)}, {"pc", loss.pc}, {"text", loss.text}});
        programs.push_back(std::move(row));
    }
    j["summary"] = {{"programs", result.programs.size()},
                    {"ok", ok},
                    {"lost", result.programs.size() - ok},
                    {"input_errors", result.input_errors.size()}};
    j["input_errors"] = Json::array();
    for (const Error& e : result.input_errors)
        j["input_errors"].push_back(e.text());
    j["programs"] = std::move(programs);
    return dump(j);
}

std::string build_summary(const BuildOptions& options, const BuildResult& result) {
    (void)options;
    size_t ok = 0, refused = 0, target = 0, losses = 0;
    std::map<uint16_t, size_t> by_code;
    for (const ProgramReport& p : result.programs) {
        ok += !p.lost();
        refused += p.refused.has_value();
        target += !p.refused && (p.vulkan_refused || p.metal_refused);
        losses += !p.losses.empty();
        for (const auto* e : {&p.refused, &p.vulkan_refused, &p.metal_refused})
            if (*e)
                ++by_code[(*e)->code];
        for (const Loss& loss : p.losses)
            ++by_code[loss.code];
    }
    std::string out = fmt::format("{} shaders found, {} distinct: {} built, {} refused, {} refused by one target, {} with losses\n",
                                  result.scan.found, result.programs.size(), ok, refused, target, losses);
    for (const auto& [code, count] : by_code)
        out += fmt::format("  L{:04} {:6}  {}\n", code, count, loss_meaning(code));
    out += fmt::format("scan {:.2f} s, translate {:.2f} s ({:.0f} shaders/s), write {:.2f} s\n", result.scan_seconds,
                       result.translate_seconds,
                       result.translate_seconds > 0 ? static_cast<double>(result.programs.size()) / result.translate_seconds : 0.0,
                       result.write_seconds);
    for (const std::string& path : result.written)
        out += "wrote " + path + "\n";
    return out;
}

} // namespace dmsh
