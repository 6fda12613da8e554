// dmshc exec: one function of a metallib on the AIR executor.
#include "compiler/build/exec_command.h"
#include "compiler/dmshc/commands.h"

namespace dmsh::cli {

void add_exec(CLI::App& app, Run& run) {
    auto* cmd = app.add_subcommand("exec", "Run one function of a metallib (any maker's) on the CPU, on given buffers");
    auto o = std::make_shared<ExecCommandOptions>();
    cmd->add_option("FILE", o->file, "A .metallib")->required();
    cmd->add_option("FUNCTION", o->function, "Its name")->required();
    cmd->add_option("--job", o->job, "JSON with buffers, textures and invocations (docs/verify.md)")->required();
    cmd->add_flag("--json", o->json, "Print the results even where the job names output files");
    cmd->callback([o, &run] { run = [o] { return run_exec(*o); }; });
}

} // namespace dmsh::cli
