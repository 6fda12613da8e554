// dmshc verify and dmshc run: shaders on the interpreter.
#include "compiler/build/verify_command.h"
#include "compiler/dmshc/commands.h"
#include "compiler/dmshc/shader_options.h"

namespace dmsh::cli {

void add_verify(CLI::App& app, Run& run) {
    auto* cmd = app.add_subcommand("verify", "Hold shaders' IR against the interpreter of their machine code");
    auto o = std::make_shared<VerifyCommandOptions>();
    cmd->add_option("FILE", o->paths, "Anything that scan reads (RomFS, BNSH, GLSLC output, ...), or raw code with --raw")->required();
    add_source_options(*cmd, o->source);
    cmd->add_option("--seed", o->seed, "Where the random inputs begin (default 1)");
    cmd->add_option("--cases", o->cases, "Inputs per shader (default 100)");
    cmd->add_option("--job", o->job, "Compare on this recorded input instead (docs/verify.md)");
    cmd->add_flag("--ship", o->ship, "Float mode ship, without denormal inputs (default: exact)");
    cmd->add_flag("--json", o->json, "Machine-readable output");
    cmd->callback([o, &run] { run = [o] { return run_verify(*o); }; });
}

void add_run(CLI::App& app, Run& run) {
    auto* cmd = app.add_subcommand("run", "Run one shader on the interpreter, on given buffers");
    auto o = std::make_shared<RunCommandOptions>();
    cmd->add_option("FILE", o->source.path, "Anything that scan reads, or raw code with --raw")->required();
    add_source_options(*cmd, o->source);
    cmd->add_option("--job", o->job, "JSON with banks, memory and invocations (docs/verify.md)")->required();
    cmd->add_flag("--trace", o->trace, "Print each instruction of one thread with the registers that it changed");
    cmd->add_option("--thread", o->thread, "Whose instructions --trace prints (default 0)");
    cmd->add_flag("--json", o->json, "Print the results even where the job names output files");
    cmd->callback([o, &run] { run = [o] { return run_shader(*o); }; });
}

} // namespace dmsh::cli
