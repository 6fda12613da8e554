// Runs `dmshc build`.
#include "compiler/build/build_command.h"
#include "compiler/build/exit_codes.h"
#include "compiler/build/report.h"
#include "runtime/abi/program_key.h"
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace dmsh {
namespace {

int usage(const std::string& message) {
    std::fprintf(stderr, "dmshc build: %s\n", message.c_str());
    return kExitUsage;
}

void print_refusals(const BuildResult& result) {
    for (const ProgramReport& p : result.programs) {
        const auto line = [&](const std::optional<Error>& e, const char* target) {
            if (e)
                std::fprintf(stderr, "%s: %s %s%s: L%04u %s\n", p.origin.c_str(), key_text(p.key).c_str(),
                             std::string(stage_name(p.stage)).c_str(), target, e->code, e->message.c_str());
        };
        line(p.refused, "");
        line(p.vulkan_refused, " for vulkan");
        line(p.metal_refused, " for metal");
        for (const Loss& loss : p.losses)
            std::fprintf(stderr, "%s: %s %s: L%04u at 0x%x %s\n", p.origin.c_str(), key_text(p.key).c_str(),
                         std::string(stage_name(p.stage)).c_str(), loss.code, loss.pc, loss.text.c_str());
    }
}

} // namespace

int run_build(const BuildCommandOptions& o) {
    BuildOptions options;
    options.scan.paths = o.paths;
    options.scan.exefs = o.exefs;
    options.scan.nro = o.nro;
    options.scan.oodle = o.oodle;
    options.output = o.output;
    options.workers = o.workers;
    options.validate = !o.no_validate;
    if (!o.targets.empty())
        options.targets.clear();
    for (const std::string& name : o.targets) {
        const auto target = target_from_name(name);
        if (!target)
            return usage(fmt::format("target '{}' is none of vulkan, macos, ios", name));
        if (std::find(options.targets.begin(), options.targets.end(), *target) == options.targets.end())
            options.targets.push_back(*target);
    }
    if (o.float_mode == "exact")
        options.float_mode = FloatMode::exact;
    else if (o.float_mode != "ship")
        return usage(fmt::format("float mode '{}' is neither ship nor exact", o.float_mode));
    if (!o.profile.empty()) {
        auto profile = load_profile(o.profile);
        if (!profile)
            return usage(profile.error().text());
        options.profile = *std::move(profile);
    }
    const bool live = !o.quiet && isatty(2);
    if (live)
        options.progress = [](size_t done, size_t total) {
            std::fprintf(stderr, "\r%zu of %zu shaders%s", done, total, done == total ? "\n" : "");
        };
    const BuildResult result = build_library(options);
    for (const auto& list : {result.input_errors, result.output_errors})
        for (const Error& e : list)
            std::fprintf(stderr, "dmshc: %s\n", e.text().c_str());
    print_refusals(result);
    if (!o.quiet && !result.written.empty())
        std::fputs(build_summary(options, result).c_str(), stdout);
    if (result.exit_code() == kExitNoShader)
        std::fprintf(stderr, "dmshc: no shader found\n");
    return result.exit_code();
}

} // namespace dmsh
