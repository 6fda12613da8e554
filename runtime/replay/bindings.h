// From slots and reflection to resources: fills driver segments, follows handles and addresses.
#pragma once
#include "runtime/replay/backend.h"

namespace dmsh::replay {

// Parameters of the draw or dispatch that shaders read from the driver segment.
struct CallParameters {
    uint32_t base_instance = 0;
    uint32_t groups[3] = {0, 0, 0};
    uint32_t samples = 1;
};

// Memory for driver segments and handle tables of one call. Reset per call; never grows.
class Scratch {
  public:
    Scratch() : bytes_(new uint8_t[kBytes]) {}
    void reset() { used_ = 0; }
    // Zeroed, 16-byte aligned; nullptr when full.
    uint8_t* take(uint32_t bytes);

  private:
    static constexpr uint32_t kBytes = 256 << 10;
    std::unique_ptr<uint8_t[]> bytes_;
    uint32_t used_ = 0;
};

// Adds the resources of one stage. False (reported): the shader binds something that this runtime cannot
// fill; the call must be skipped. Ids without registered texture, and addresses in no pool, become
// ResourceKind::none. Handles and addresses that lie in guest buffers are read through the backend, as the
// commands before this call leave them.
bool resolve_stage(const nvn::ProgramStage& program, const QueueState& state, const CallParameters& call,
                   Backend& backend, Scratch& scratch, std::vector<Resource>& out);

constexpr size_t kMaxResources = 2048; // elements of a call, all stages; `out` is reserved to it

} // namespace dmsh::replay
