// Probes: for verification, every register write of a lift is also a call of host.probe(i32 pc, i32 variable, i32 value), variables as
// ssa_builder.h counts them. Such a module is for the IR machine alone; the passes and emitters never see one.
#pragma once

namespace dmsh {

inline constexpr char kProbeFunction[] = "host.probe";

// While one lives, lifts of this thread write probes.
class LiftProbes {
  public:
    LiftProbes();
    ~LiftProbes();
    LiftProbes(const LiftProbes&) = delete;
    LiftProbes& operator=(const LiftProbes&) = delete;
    static bool wanted();
};

} // namespace dmsh
