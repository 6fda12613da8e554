// The subcommands of dmshc. Each file adds its options to the parser and says what to run.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace dmsh::cli {

// Adds a subcommand; when the parser selected it, `run` is set to what answers the exit code.
using Run = std::function<int()>;
void add_build(CLI::App& app, Run& run);
void add_scan(CLI::App& app, Run& run);
void add_shader(CLI::App& app, Run& run);
void add_lib(CLI::App& app, Run& run);
void add_inspect(CLI::App& app, Run& run);
void add_docs(CLI::App& app, Run& run);
void add_unpack(CLI::App& app, Run& run);
void add_verify(CLI::App& app, Run& run);
void add_run(CLI::App& app, Run& run);
void add_exec(CLI::App& app, Run& run);

} // namespace dmsh::cli
