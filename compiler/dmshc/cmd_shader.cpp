// dmshc shader: one shader, in every form between machine code and library.
#include "compiler/build/shader_file.h"
#include "compiler/dmshc/commands.h"
#include "compiler/dmshc/shader_options.h"

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
    cmd->add_flag("--exact", o->exact, "Float mode exact: .FTZ flushes everywhere");
    add_source_options(*cmd, *o);
    cmd->callback([o, &run] { run = [o] { return show_shader(*o); }; });
}

} // namespace dmsh::cli
