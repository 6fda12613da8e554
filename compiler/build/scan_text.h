// What `dmshc scan` prints.
#pragma once
#include <string>
#include <vector>

namespace dmsh {

struct ScanTextOptions {
    std::vector<std::string> paths;
    std::vector<std::string> exefs;
    std::vector<std::string> nro;
    std::string profile;
    std::string oodle; // the user's Oodle library
    unsigned workers = 0;
    bool json = false;
    bool list = false;  // every shader, not only the tree and the sums
    bool quiet = false; // no progress line
};

// Prints the list to standard output, errors and (on a terminal) progress to standard error; answers an exit code.
int show_scan(const ScanTextOptions& options);

} // namespace dmsh
