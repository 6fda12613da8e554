// dmshc shader: one shader, in every form between machine code and library.
#include "compiler/build/shader_file.h"
#include "compiler/dmshc/commands.h"

namespace dmsh::cli {

void add_shader(CLI::App& app, Run& run) {
    auto* cmd = app.add_subcommand("shader", "Show or translate one shader");
    auto o = std::make_shared<ShaderFileOptions>();
    cmd->add_option("FILE", o->path, "Control section + code, a GLSLC output, a BNSH (or anything that scan reads), or raw code with --raw")
        ->required();
    cmd->add_option("--emit", o->emit, std::string("What to write: ") + std::string(emit_names()))->capture_default_str();
    cmd->add_option("-o,--output", o->output, "File to write (default: standard output; needed for binary forms on a terminal)");
    cmd->add_option("--print-after", o->print_after, "Also print the IR after this pass, to standard error");
    cmd->add_option("--target", o->metal_target, "Metal target of msl, air and metallib: macos (default) or ios");
    cmd->add_flag("--list", o->list, "List the shaders in FILE");
    cmd->add_option("--key", o->key, "Which shader of FILE, 16 hexadecimal digits");
    cmd->add_option("--stage", o->stage, "Which stage of FILE (with --raw: the code's stage): vertex, tess_control, tess_evaluation, geometry, fragment, compute");
    cmd->add_option("--abi", o->abi, "Guest ABI: nvn (default), cuda, nvk, headsurface");
    cmd->add_flag("--exact", o->exact, "Float mode exact: .FTZ flushes everywhere");
    auto* raw = cmd->add_flag("--raw", o->raw, "FILE is code: the SPH first for graphics, the first instruction group for compute");
    cmd->add_option("--arch", o->arch, "sm53 (default) or sm86")->needs(raw);
    cmd->add_option("--c1", o->constants, "Embedded constants c[1] (cuda: c[2])")->needs(raw);
    cmd->add_option("--local-size", o->local_size, "Workgroup size X,Y,Z")->delimiter(',')->expected(1, 3)->needs(raw);
    cmd->add_option("--shared", o->shared_bytes, "Shared memory bytes of the workgroup")->needs(raw);
    cmd->add_option("--local", o->local_bytes, "Scratch bytes of a thread (compute; graphics code says it in its header)")->needs(raw);
    cmd->callback([o, &run] { run = [o] { return show_shader(*o); }; });
}

} // namespace dmsh::cli
