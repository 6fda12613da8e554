// The table of entry points: every NVN name, implemented or reporting.
#pragma once
#include "runtime/nvn/nvn.h"
#include <span>

namespace dmsh::nvn {

struct EntryPoint {
    const char* name;
    PFNNVNGENERICFUNCPTRPROC function;
    bool implemented;
};

// All names, sorted.
std::span<const EntryPoint> entry_points();
// The function of a name; null (reported) for a name that NVN does not have. Stubs report their first call
// and answer 0.
PFNNVNGENERICFUNCPTRPROC find_entry_point(const char* name);

} // namespace dmsh::nvn
