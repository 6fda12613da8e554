// dmshc unpack: lists and extracts the members of an archive.
#include "archivers/scan/unpack.h"
#include "compiler/build/exit_codes.h"
#include "compiler/dmshc/commands.h"
#include <cstdio>

namespace dmsh::cli {
namespace {

int run_unpack(const UnpackOptions& options) {
    const auto result = unpack(options);
    if (!result) {
        std::fprintf(stderr, "dmshc: %s\n", result.error().text().c_str());
        return kExitInput;
    }
    std::printf("%s: %s, %zu members\n", options.path.c_str(), result->format.c_str(), result->members.size());
    for (const UnpackedMember& m : result->members)
        std::printf("%12llu %12llu  %-12s %s\n", static_cast<unsigned long long>(m.stored),
                    static_cast<unsigned long long>(m.size), m.format.c_str(), m.name.c_str());
    for (const auto& list : {result->errors, result->output_errors})
        for (const Error& e : list)
            std::fprintf(stderr, "dmshc: %s\n", e.text().c_str());
    if (!result->output_errors.empty())
        return kExitOutput;
    return result->errors.empty() ? kExitDone : kExitInput;
}

} // namespace

void add_unpack(CLI::App& app, Run& run) {
    auto* cmd = app.add_subcommand("unpack", "List the members of an archive (stored bytes, bytes, what they are, name), or extract them");
    auto o = std::make_shared<UnpackOptions>();
    cmd->add_option("FILE", o->path, "Anything that scan can look into")->required();
    cmd->add_option("-o,--output", o->output, "Folder to extract to; must be empty or not there");
    cmd->add_option("--dictionary", o->dictionaries, "zstd dictionary that the archive asks for; may be repeated");
    cmd->add_option("--oodle", o->oodle, "Your own Oodle library, for archives that need it (it runs in a child process)");
    cmd->callback([o, &run] { run = [o] { return run_unpack(*o); }; });
}

} // namespace dmsh::cli
