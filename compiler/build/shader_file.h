// What `dmshc shader` does: finds one shader in a file and writes it in the form asked for.
#pragma once
#include "compiler/build/render.h"
#include <string>
#include <vector>

namespace dmsh {

struct ShaderFileOptions {
    std::string path;
    std::string emit = "disasm";
    std::string output; // empty or "-": standard output
    std::string print_after;
    std::string metal_target = "macos";
    bool list = false;
    std::string key;
    std::string stage;
    std::string abi = "nvn";
    bool exact = false;
    bool raw = false;
    std::string arch = "sm53";
    std::string constants;
    std::vector<uint32_t> local_size;
    uint32_t shared_bytes = 0;
    uint32_t local_bytes = 0;
};

// Prints errors to standard error; answers an exit code.
int show_shader(const ShaderFileOptions& options);

} // namespace dmsh
