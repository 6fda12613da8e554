// Keeps the process's tracker of CPU writes.
#include "runtime/nvn/dirty_tracker.h"
#include <atomic>

namespace dmsh::nvn {
namespace {

std::atomic<DirtyTracker*> g_tracker{nullptr};

} // namespace

void set_dirty_tracker(DirtyTracker* tracker) {
    g_tracker.store(tracker, std::memory_order_release);
}

bool written_since(uint64_t address, uint64_t bytes, uint64_t stamp) {
    DirtyTracker* tracker = g_tracker.load(std::memory_order_acquire);
    return !tracker || tracker->written_since(address, bytes, stamp);
}

} // namespace dmsh::nvn
