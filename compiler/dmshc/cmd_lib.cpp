// dmshc lib: lists a library pack, extracts programs from it.
#include "compiler/build/exit_codes.h"
#include "compiler/build/library_text.h"
#include "compiler/dmshc/commands.h"

namespace dmsh::cli {

void add_lib(CLI::App& app, Run& run) {
    auto* cmd = app.add_subcommand("lib", "List a library pack, or show and extract programs of it");
    auto options = std::make_shared<LibraryTextOptions>();
    cmd->add_option("FILE", options->path, "library.<target>.dmlib")->required();
    cmd->add_option("KEY", options->keys, "16 hexadecimal digits; several may be given");
    cmd->add_option("-o,--output", options->output, "Folder for KEY.spv or KEY.metallib, KEY.json and KEY.c1.bin");
    cmd->add_flag("--json", options->json, "Machine-readable output");
    cmd->callback([options, &run] { run = [options] { return show_library(*options); }; });
}

} // namespace dmsh::cli
