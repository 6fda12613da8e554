// dmshc build: the main job, RomFS in, library packs out.
#include "compiler/build/build_command.h"
#include "compiler/dmshc/commands.h"

namespace dmsh::cli {

void add_build(CLI::App& app, Run& run) {
    auto* cmd = app.add_subcommand("build", "Compile every shader of a RomFS into library packs");
    auto o = std::make_shared<BuildCommandOptions>();
    cmd->add_option("ROMFS", o->paths, "RomFS folder or image; later ones (update, DLC) override earlier ones by path")->required();
    cmd->add_option("-o,--output", o->output, "Folder for the packs and reports")->required();
    cmd->add_option("--exefs", o->exefs, "ExeFS folder (its main is searched)");
    cmd->add_option("--nro", o->nro, "NRO file, or folder of them");
    cmd->add_option("--oodle", o->oodle, "Your own Oodle library, for archives that need it (it runs in a child process)");
    cmd->add_option("--target", o->targets, "vulkan, macos or ios; may be repeated (default: vulkan and macos)");
    cmd->add_option("--profile", o->profile, "Facts about the title (docs/profiles.md)");
    cmd->add_option("--float", o->float_mode, "ship (default) or exact: .FTZ flushes everywhere");
    cmd->add_option("-j,--jobs", o->workers, "Worker threads (default: all)");
    cmd->add_flag("--no-validate", o->no_validate, "Do not run the SPIR-V validator on each module");
    cmd->add_flag("-q,--quiet", o->quiet, "Print errors and losses only");
    cmd->callback([o, &run] { run = [o] { return run_build(*o); }; });
}

} // namespace dmsh::cli
