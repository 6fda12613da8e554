// dmshc scan: lists what would be built.
#include "compiler/build/scan_text.h"
#include "compiler/dmshc/commands.h"

namespace dmsh::cli {

void add_scan(CLI::App& app, Run& run) {
    auto* cmd = app.add_subcommand("scan", "List the shaders in folders, RomFS images and files");
    auto o = std::make_shared<ScanTextOptions>();
    cmd->add_option("PATH", o->paths, "RomFS folder or image, or any file; later ones override earlier ones by path")->required();
    cmd->add_option("--exefs", o->exefs, "ExeFS folder (its main is searched)");
    cmd->add_option("--nro", o->nro, "NRO file, or folder of them");
    cmd->add_option("--oodle", o->oodle, "Your own Oodle library, for archives that need it (it runs in a child process)");
    cmd->add_option("--profile", o->profile, "Facts about the title (docs/profiles.md)");
    cmd->add_option("-j,--jobs", o->workers, "Worker threads (default: all)");
    cmd->add_flag("--list", o->list, "Every shader, above the counts");
    cmd->add_flag("--json", o->json, "Machine-readable output: everything");
    cmd->add_flag("-q,--quiet", o->quiet, "No progress line");
    cmd->callback([o, &run] { run = [o] { return show_scan(*o); }; });
}

} // namespace dmsh::cli
