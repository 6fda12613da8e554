// dmshc inspect: prints the functions, hashes and AIR signatures of a metallib.
#include "compiler/build/exit_codes.h"
#include "compiler/build/files.h"
#include "compiler/dmshc/commands.h"
#include "compiler/emit/air/inspect.h"
#include "compiler/emit/air/lint.h"

namespace dmsh::cli {

void add_inspect(CLI::App& app, Run& run) {
    auto* cmd = app.add_subcommand("inspect", "Print a metallib's functions, hashes and AIR signatures (any maker's)");
    struct Options {
        std::vector<std::string> files;
        bool json = false, lint = false;
    };
    auto options = std::make_shared<Options>();
    cmd->add_option("FILE", options->files, "A .metallib, plain or fat")->required();
    cmd->add_flag("--json", options->json, "Machine-readable output");
    cmd->add_flag("--lint", options->lint, "Hold each file to the rules of docs/air.md instead; exit code 3 where one is broken");
    cmd->callback([options, &run] {
        run = [options] {
            int code = kExitDone;
            for (const std::string& path : options->files) {
                const auto bytes = read_file(path);
                if (!bytes) {
                    std::fprintf(stderr, "dmshc: %s\n", bytes.error().text().c_str());
                    code = kExitInput;
                    continue;
                }
                if (options->lint) {
                    const auto faults = lint_metallib(*bytes, LintScope::any);
                    std::printf("%s: %s", path.c_str(), lint_text(faults).c_str());
                    if (!faults.empty() && code == kExitDone)
                        code = kExitLosses;
                    continue;
                }
                const std::string text = inspect_metallib(*bytes, options->json);
                // The inspector answers with an error line of its own form when nothing could be read.
                if (text.starts_with("error: ") || text.starts_with("{\"error\"")) {
                    std::fprintf(stderr, "dmshc: %s: %s\n", path.c_str(), text.c_str());
                    code = kExitInput;
                    continue;
                }
                if (options->files.size() > 1 && !options->json)
                    std::printf("%s:\n", path.c_str());
                std::fputs(text.c_str(), stdout);
            }
            return code;
        };
    });
}

} // namespace dmsh::cli
