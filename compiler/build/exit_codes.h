// Exit codes of dmshc: stable, documented in the README.
#pragma once

namespace dmsh {

enum ExitCode : int {
    kExitDone = 0,
    kExitUsage = 2,        // bad command line or profile
    kExitLosses = 3,       // outputs written, but something was refused or lost
    kExitNoShader = 4,     // no shader found
    kExitInput = 5,        // an input could not be read; the others were still processed
    kExitOutput = 6,       // an output could not be written
    kExitInternal = 70,    // a fault of dmshc itself
};

} // namespace dmsh
