// Recording: space for records in command memory, entries in control memory. No heap allocation on the way.
#pragma once
#include "runtime/nvn/records.h"

namespace dmsh::nvn {

// Space for a record of `bytes` (a multiple of 4), or nullptr: not recording, or no memory left (both
// reported). Calls the guest's out-of-memory callback and borrows host memory as needed.
uint8_t* record_space(NVNcommandBuffer* cmd, size_t bytes);

// A fixed record with `extra` more bytes behind it; header filled. nullptr as above.
template <class R>
R* record(NVNcommandBuffer* cmd, Op op, size_t extra = 0) {
    const size_t bytes = (sizeof(R) + extra + 3) & ~size_t{3};
    if (bytes > kMaxRecordBytes)
        return nullptr;
    uint8_t* p = record_space(cmd, bytes);
    if (!p)
        return nullptr;
    const RecordHeader header{static_cast<uint16_t>(op), static_cast<uint16_t>(bytes / 4)};
    std::memcpy(p, &header, sizeof header);
    return reinterpret_cast<R*>(p); // records are words; command memory is 4-byte aligned
}

// Walks the entries behind `handle` and calls `run(address, bytes)` for each run that lies in a pool or in
// lent memory; damage is reported and ends the walk. Stops early when `run` answers false.
template <class Run>
void for_runs(NVNcommandHandle handle, Run run);

namespace detail {
// The next entry and where the one after it is; false at damage.
bool next_entry(uint64_t& at, ControlEntry& entry);
bool usable_run(const ControlEntry& entry);
constexpr unsigned kMaxEntries = 1u << 20; // of one handle: a loop of links ends here
void report_loop(NVNcommandHandle handle);
} // namespace detail

template <class Run>
void for_runs(NVNcommandHandle handle, Run run) {
    uint64_t at = handle;
    ControlEntry entry;
    for (unsigned n = 0; n < detail::kMaxEntries; ++n) {
        if (!detail::next_entry(at, entry))
            return;
        if (entry.words()) {
            if (!detail::usable_run(entry) || !run(entry.address(), size_t{entry.words()} * 4))
                return;
        } else if (!entry.last()) {
            at = entry.address();
        }
        if (entry.last())
            return;
    }
    detail::report_loop(handle);
}

} // namespace dmsh::nvn
