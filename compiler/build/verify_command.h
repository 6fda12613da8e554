// What `dmshc verify` and `dmshc run` do: shaders on the interpreter, against their IR, or on given buffers.
#pragma once
#include "compiler/build/shader_source.h"

namespace dmsh {

struct VerifyCommandOptions {
    std::vector<std::string> paths;
    ShaderSource source; // its path is each of `paths`
    bool ship = false;   // float mode ship instead of exact
    uint64_t seed = 1;
    unsigned cases = 100;
    std::string job; // a recorded input instead of random ones
    bool json = false;
};

// Prints a line per shader, and where one differs the first difference; answers an exit code: 0 all equal, 3 something differs or is
// refused, 4 no shader, 5 an input could not be read.
int run_verify(const VerifyCommandOptions& options);

struct RunCommandOptions {
    ShaderSource source;
    std::string job;
    bool trace = false;
    uint32_t thread = 0; // whose registers are traced
    bool json = false;
};

// Runs one shader on the interpreter and prints what it left; writes the job's output files.
int run_shader(const RunCommandOptions& options);

} // namespace dmsh
