// dmshc: the command line of the compiler.
#include "compiler/build/exit_codes.h"
#include "compiler/dmshc/commands.h"
#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
    CLI::App app{"dmshc compiles the shaders of Nintendo Switch games you own into library packs for Metal and Vulkan."};
    app.set_version_flag("--version", "dmshc " DMSH_VERSION);
    app.require_subcommand(1);
    app.footer("Exit codes: 0 done; 2 bad usage; 3 done with losses; 4 no shader found; 5 an input could not be read\n"
               "(others still processed); 6 output could not be written; 70 internal error.");
    dmsh::cli::Run run;
    dmsh::cli::add_build(app, run);
    dmsh::cli::add_scan(app, run);
    dmsh::cli::add_unpack(app, run);
    dmsh::cli::add_shader(app, run);
    dmsh::cli::add_lib(app, run);
    dmsh::cli::add_inspect(app, run);
    dmsh::cli::add_verify(app, run);
    dmsh::cli::add_run(app, run);
    dmsh::cli::add_exec(app, run);
    dmsh::cli::add_docs(app, run);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? dmsh::kExitDone : dmsh::kExitUsage;
    }
    try {
        return run();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "dmshc: internal error: %s\n", e.what());
        return dmsh::kExitInternal;
    }
}
