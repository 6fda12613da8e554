// What `dmshc scan` prints.
#pragma once
#include <string>
#include <vector>

namespace dmsh {

struct ScanTextOptions {
    std::vector<std::string> paths;
    std::vector<std::string> exefs;
    std::string profile;
    unsigned workers = 0;
    bool json = false;
};

// Prints the list to standard output and errors to standard error; answers an exit code.
int show_scan(const ScanTextOptions& options);

} // namespace dmsh
