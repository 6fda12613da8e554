// Recording: space for records in command memory, entries in control memory. No heap allocation on the way.
#pragma once
#include "runtime/nvn/records.h"
#include <vector>

namespace dmsh::nvn {

// Host side of a command buffer. The object in guest memory only names it, so that no bytes of the guest can
// send a record outside the memory that was granted.
struct Recorder {
    uint8_t* cursor = nullptr; // next record
    uint8_t* limit = nullptr;  // records up to here need no look at anything else; cursor while not recording
    uint8_t* run = nullptr;    // start of the records that no control entry names yet
    uint8_t* base = nullptr;   // of the current segment
    uint8_t* end = nullptr;
    std::atomic<uint32_t> serial{0}; // the object must hold it; 0 = free slot
    bool recording = false;
    bool lent = false;    // the current segment was lent by the host
    bool dropped = false; // a record of this recording found no memory
    bool callback_enabled = true;
    PFNNVNCOMMANDBUFFERMEMORYCALLBACKPROC callback = nullptr;
    void* callback_data = nullptr;
    std::atomic<uint64_t> command_size{0}; // last AddCommandMemory; read by other threads while recording
    uint64_t used_before = 0; // bytes since the last AddCommandMemory in segments already left
    // The current block; the recorder writes entries there, and submissions read them there.
    std::atomic<uint8_t*> control_base{nullptr};
    std::atomic<uint8_t*> control_end{nullptr};
    uint8_t* control_cursor = nullptr;
    uint64_t control_size = 0, control_used = 0;
    uint64_t first_entry = 0; // handle of the recording, 0 while it has no entry
    int64_t row_stride = 0, image_stride = 0;
    uint32_t recording_id = 0;
    const NVNcommandBuffer* owner = nullptr; // where the object was initialised
    uint8_t* small_block = nullptr;          // lent for grants without a pool, kept for the next such grant

    void set_limit() {
        constexpr ptrdiff_t kMost = ptrdiff_t{ControlEntry::kMaxWords} * 4;
        limit = !recording ? cursor : end - run < kMost ? end : run + kMost;
    }
};

// All recorders of the process. Look-ups take no lock: slots never move.
class Recorders {
  public:
    static constexpr uint32_t kChunk = 64, kMost = 65536;
    static Recorders& get();

    // A recorder for the object, which is given its names; nullptr when all are in use.
    Recorder* add(NVNcommandBuffer* object);
    void remove(const NVNcommandBuffer* object);
    // Memory [from, from + bytes) is gone: recordings there go on in lent memory.
    void forget_memory(const uint8_t* from, uint64_t bytes);
    void reset();
    // The control block that holds a handle, if the recorder that gave it out still writes to that block.
    bool current_block(NVNcommandHandle handle, uint64_t& from, uint64_t& to) const;
    // Remembers who gave out a handle.
    void note_handle(NVNcommandHandle handle, const NVNcommandBuffer* cmd);
    Recorder* find(const NVNcommandBuffer* cmd) const {
        if (!cmd || cmd->magic != kCommandBufferMagic || cmd->slot >= kMost)
            return nullptr;
        Recorder* chunk = chunks_[cmd->slot / kChunk].load(std::memory_order_acquire);
        if (!chunk)
            return nullptr;
        Recorder& r = chunk[cmd->slot % kChunk];
        return cmd->serial != 0 && r.serial.load(std::memory_order_acquire) == cmd->serial ? &r : nullptr;
    }

  private:
    void sweep();
    uint32_t take_slot();
    template <class F>
    void for_each(F f);
    std::atomic<Recorder*> chunks_[kMost / kChunk] = {};
    std::vector<uint32_t> free_; // slots
    // By a hash of the handle: serial << 32 | slot of the recorder that gave it out last.
    static constexpr uint32_t kHandles = 1024;
    static uint32_t handle_place(NVNcommandHandle handle) {
        return static_cast<uint32_t>(handle >> 3 ^ handle >> 13) % kHandles;
    }
    std::atomic<uint64_t> handles_[kHandles] = {};
};

// The recorder of a command buffer; nullptr (reported) for what is none.
Recorder* recorder_of(const NVNcommandBuffer* cmd);

// Space for a record where the fast road below found none: closes runs, calls the guest's out-of-memory
// callback, borrows host memory. nullptr: not recording, or no memory left (both reported).
uint8_t* slow_record_space(NVNcommandBuffer* cmd, size_t bytes);

// Space for a record of `bytes` (a multiple of 4).
inline uint8_t* record_space(NVNcommandBuffer* cmd, size_t bytes) {
    Recorder* r = Recorders::get().find(cmd);
    if (!r || static_cast<size_t>(r->limit - r->cursor) < bytes) [[unlikely]]
        return slow_record_space(cmd, bytes);
    uint8_t* p = r->cursor;
    r->cursor = p + bytes;
    return p;
}

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

namespace detail {
// Control entries from `handle` on, read in pieces: the memory is the guest's and may be anything.
class EntryReader {
  public:
    explicit EntryReader(uint64_t at);
    // The next entry; false at damage (reported).
    bool next(ControlEntry& entry);
    void jump(uint64_t to) { at_ = to, have_ = used_ = 0; }

  private:
    static constexpr uint32_t kPiece = 32;
    uint64_t at_;
    uint64_t known_from_ = 0, known_to_ = 0; // the block that a recorder writes to now: it is there
    uint32_t have_ = 0, used_ = 0;
    ControlEntry entries_[kPiece];
};
bool usable_run(const ControlEntry& entry);
constexpr unsigned kMaxEntries = 1u << 20; // of one handle: a loop of links ends here
void report_loop(NVNcommandHandle handle);
} // namespace detail

// Walks the entries behind `handle` and calls `run(address, bytes)` for each run that lies in a pool or in
// lent memory; damage is reported and ends the walk. Stops early when `run` answers false.
template <class Run>
void for_runs(NVNcommandHandle handle, Run run) {
    detail::EntryReader reader(handle);
    ControlEntry entry;
    for (unsigned n = 0; n < detail::kMaxEntries; ++n) {
        if (!reader.next(entry))
            return;
        if (entry.words()) {
            if (!detail::usable_run(entry) || !run(entry.address(), size_t{entry.words()} * 4))
                return;
        } else if (!entry.last()) {
            reader.jump(entry.address());
        }
        if (entry.last())
            return;
    }
    detail::report_loop(handle);
}

} // namespace dmsh::nvn
