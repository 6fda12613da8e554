// The interface of a tracker of CPU writes to guest memory. Nothing tracks yet: written_since() then answers that
// everything was written, which is always right.
#pragma once
#include <cstdint>

namespace dmsh::nvn {

// Stamps are values of a clock that advances with every write that the tracker sees. Ranges may be any bytes of pools.
class DirtyTracker {
  public:
    virtual ~DirtyTracker() = default;
    // Now. Taken before the bytes are read, so that a write meanwhile counts as later.
    virtual uint64_t stamp() = 0;
    // From now on writes to the range are seen. Ranges end with their pool.
    virtual void track(uint64_t address, uint64_t bytes) = 0;
    // Was any byte written by the CPU since `stamp`? True for what is not tracked, or only since a later stamp.
    virtual bool written_since(uint64_t address, uint64_t bytes, uint64_t stamp) = 0;
    // The host is about to write guest memory itself (a file read, a decoder); counts as the guest's write.
    virtual void host_writes(uint64_t address, uint64_t bytes) = 0;
    // The pool with this memory is gone; older stamps count as written for whatever lies there next.
    virtual void pool_gone(uint64_t address, uint64_t bytes) = 0;
};

// The process's tracker; nullptr (from the start): none. Outlives its use.
void set_dirty_tracker(DirtyTracker* tracker);
// The tracker's answer; true without one.
bool written_since(uint64_t address, uint64_t bytes, uint64_t stamp);

} // namespace dmsh::nvn
