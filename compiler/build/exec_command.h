// What `dmshc exec` does: one function of a metallib on given buffers, on the AIR executor.
#pragma once
#include <string>

namespace dmsh {

struct ExecCommandOptions {
    std::string file, function, job;
    bool json = false;
};

// Runs the function, prints what it left as JSON or writes the job's output files; answers an exit code: 3 where the function is not
// executed or accessed memory that it was not given.
int run_exec(const ExecCommandOptions& options);

} // namespace dmsh
