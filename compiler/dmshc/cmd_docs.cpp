// dmshc docs: writes the generated pages of docs/.
#include "compiler/build/generated_docs.h"
#include "compiler/dmshc/commands.h"

namespace dmsh::cli {

void add_docs(CLI::App& app, Run& run) {
    auto* cmd = app.add_subcommand("docs", "Write the generated pages of the documentation");
    auto folder = std::make_shared<std::string>();
    cmd->add_option("DIR", *folder, "Folder to write to")->required();
    cmd->callback([folder, &run] { run = [folder] { return write_generated_docs(*folder); }; });
}

} // namespace dmsh::cli
