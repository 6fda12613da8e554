// What `dmshc build` does around build_library(): options, progress, messages.
#pragma once
#include <string>
#include <vector>

namespace dmsh {

struct BuildCommandOptions {
    std::vector<std::string> paths;
    std::vector<std::string> exefs;
    std::vector<std::string> nro;
    std::string oodle; // the user's Oodle library
    std::string output;
    std::vector<std::string> targets;
    std::string profile;
    std::string float_mode = "ship";
    unsigned workers = 0;
    bool no_validate = false;
    bool quiet = false;
};

// Prints progress and messages to standard error, the summary to standard output; answers an exit code.
int run_build(const BuildCommandOptions& options);

} // namespace dmsh
