// What `dmshc lib` prints and extracts.
#pragma once
#include <string>
#include <vector>

namespace dmsh {

struct LibraryTextOptions {
    std::string path;
    std::vector<std::string> keys; // empty: list all
    std::string output;            // folder to extract to; empty: print only
    bool json = false;
};

// Lists or extracts; prints results to standard output and errors to standard error. Answers an exit code.
int show_library(const LibraryTextOptions& options);

} // namespace dmsh
