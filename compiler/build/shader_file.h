// What `dmshc shader` does: finds one shader in a file and writes it in the form asked for.
#pragma once
#include "compiler/build/render.h"
#include "compiler/build/shader_source.h"
#include <string>
#include <vector>

namespace dmsh {

struct ShaderFileOptions : ShaderSource {
    std::string emit = "disasm";
    std::string output; // empty or "-": standard output
    std::string print_after;
    std::string metal_target = "macos";
    bool list = false;
};

// Prints errors to standard error; answers an exit code.
int show_shader(const ShaderFileOptions& options);

} // namespace dmsh
