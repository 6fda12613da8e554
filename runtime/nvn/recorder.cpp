// Implements recording into guest command and control memory.
#include "runtime/nvn/recorder.h"
#include "runtime/nvn/host.h"
#include "runtime/nvn/safe_memory.h"
#include <algorithm>
#include <mutex>
#include <new>

namespace dmsh::nvn {
namespace {

constexpr uint64_t kLentSegment = 256 << 10, kLentControl = 64 << 10, kSmallGrant = 4 << 10;

std::mutex g_recorders_lock; // adding and removing recorders

// Space for one control entry with a link's worth behind it; false if the host has no memory either.
bool control_space(NVNcommandBuffer* cmd, Recorder& r) {
    if (r.control_cursor && r.control_end - r.control_cursor >= 16)
        return true;
    const uint8_t* before = r.control_base;
    const uint8_t* before_cursor = r.control_cursor;
    if (r.callback && r.callback_enabled) {
        r.callback(cmd, NVN_COMMAND_BUFFER_MEMORY_EVENT_OUT_OF_CONTROL_MEMORY, 16, r.callback_data);
        if (Recorders::get().find(cmd) != &r)
            return false; // the callback finalised the command buffer
    }
    if ((r.control_base != before || r.control_cursor != before_cursor) && r.control_cursor &&
        r.control_end - r.control_cursor >= 16)
        return true;
    uint8_t* lent = Host::get().lend_control(kLentControl);
    if (!lent)
        return false;
    const uint64_t size = r.control_size;
    nvnCommandBufferAddControlMemory(cmd, lent, kLentControl);
    r.control_size = size;
    return true;
}

void put_entry(NVNcommandBuffer* cmd, Recorder& r, ControlEntry entry) {
    if (!control_space(cmd, r)) {
        r.dropped = true;
        report(Report::out_of_command_memory, "control memory of command buffer %p", static_cast<void*>(cmd));
        return;
    }
    std::memcpy(r.control_cursor, &entry, sizeof entry);
    if (!r.first_entry)
        r.first_entry = reinterpret_cast<uint64_t>(r.control_cursor);
    r.control_cursor += sizeof entry;
    r.control_used += sizeof entry;
}

// Names the records since the last entry.
void close_run(NVNcommandBuffer* cmd, Recorder& r, bool last) {
    // The callback for control memory may come back here: nothing is open meanwhile.
    const uint8_t* run = r.run;
    const uint32_t words = static_cast<uint32_t>((r.cursor - r.run) / 4);
    r.run = r.cursor;
    r.set_limit();
    if (words || last) {
        ControlEntry entry = ControlEntry::run(run, words);
        if (last)
            entry.set_last();
        put_entry(cmd, r, entry);
    }
    if (words && !r.lent) {
        Host::get().recorded_over(run, uint64_t{words} * 4, r.recording_id);
        Host::get().note_guest_bytes(r.recording_id, run, uint64_t{words} * 4);
    }
}

// Makes [memory, memory + size) the current segment.
void enter_segment(NVNcommandBuffer* cmd, Recorder& r, uint8_t* memory, uint64_t size, bool lent) {
    if (r.recording)
        close_run(cmd, r, false);
    if (lent) {
        r.used_before += static_cast<uint64_t>(r.cursor - r.base);
    } else {
        r.used_before = 0;
        r.command_size.store(size, std::memory_order_relaxed);
    }
    r.base = r.run = r.cursor = memory;
    r.end = memory + size / 4 * 4;
    r.lent = lent;
    r.set_limit();
}

uint8_t* take(Recorder& r, size_t bytes) {
    uint8_t* p = r.cursor;
    r.cursor += bytes;
    return p;
}

bool fits(const Recorder& r, size_t bytes) {
    return static_cast<size_t>(r.end - r.cursor) >= bytes;
}

} // namespace

Recorders& Recorders::get() {
    static Recorders recorders;
    return recorders;
}

template <class F>
void Recorders::for_each(F f) {
    for (uint32_t c = 0; c < kMost / kChunk; ++c) {
        Recorder* chunk = chunks_[c].load(std::memory_order_acquire);
        if (!chunk)
            return;
        for (uint32_t i = 0; i < kChunk; ++i)
            f(chunk[i], c * kChunk + i);
    }
}

// Frees the slots of objects whose memory no longer names them: guests drop objects without a finalise.
void Recorders::sweep() {
    for_each([&](Recorder& r, uint32_t slot) {
        NVNcommandBuffer object{};
        const uint32_t serial = r.serial.load(std::memory_order_relaxed);
        if (serial && (safe_read(reinterpret_cast<uint64_t>(r.owner), &object, 16) != 16 ||
                       object.magic != kCommandBufferMagic || object.slot != slot || object.serial != serial)) {
            r.serial.store(0, std::memory_order_release);
            free_.push_back(slot);
        }
    });
}

// A free slot; kMost when there is none.
uint32_t Recorders::take_slot() {
    if (free_.empty()) {
        uint32_t chunk = 0;
        while (chunk < kMost / kChunk && chunks_[chunk].load(std::memory_order_relaxed))
            ++chunk;
        Recorder* fresh = chunk < kMost / kChunk ? new (std::nothrow) Recorder[kChunk] : nullptr;
        if (fresh) {
            for (uint32_t i = kChunk; i > 0; --i)
                free_.push_back(chunk * kChunk + i - 1);
            chunks_[chunk].store(fresh, std::memory_order_release);
        } else {
            sweep();
        }
    }
    if (free_.empty())
        return kMost;
    const uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
}

Recorder* Recorders::add(NVNcommandBuffer* object) {
    const std::lock_guard hold(g_recorders_lock);
    Recorder* r = find(object);
    uint32_t slot = object->slot;
    if (!r || r->owner != object) { // else it is initialised again and keeps its slot
        slot = take_slot();
        if (slot == kMost)
            return nullptr;
        r = &chunks_[slot / kChunk].load(std::memory_order_relaxed)[slot % kChunk];
    }
    uint8_t* const small_block = r->small_block;
    r->~Recorder();
    new (r) Recorder;
    r->small_block = small_block;
    r->owner = object;
    const uint32_t serial = Host::get().next_serial();
    object->magic = kCommandBufferMagic;
    object->slot = slot;
    object->serial = serial;
    object->zero = 0;
    r->serial.store(serial, std::memory_order_release);
    return r;
}

void Recorders::remove(const NVNcommandBuffer* object) {
    const std::lock_guard hold(g_recorders_lock);
    if (Recorder* r = find(object)) {
        r->serial.store(0, std::memory_order_release);
        free_.push_back(object->slot);
    }
}

void Recorders::forget_memory(const uint8_t* from, uint64_t bytes) {
    const std::lock_guard hold(g_recorders_lock);
    for_each([&](Recorder& r, uint32_t) {
        if (r.base && r.base < from + bytes && from < r.end) {
            r.base = r.cursor = r.run = r.end = nullptr;
            r.set_limit();
        }
    });
}

void Recorders::reset() {
    const std::lock_guard hold(g_recorders_lock);
    free_.clear();
    for_each([&](Recorder& r, uint32_t slot) {
        r.~Recorder();
        new (&r) Recorder;
        free_.push_back(slot);
    });
}

void Recorders::note_handle(NVNcommandHandle handle, const NVNcommandBuffer* cmd) {
    handles_[handle_place(handle)].store(uint64_t{cmd->serial} << 32 | cmd->slot, std::memory_order_relaxed);
}

bool Recorders::current_block(NVNcommandHandle handle, uint64_t& from, uint64_t& to) const {
    const uint64_t who = handles_[handle_place(handle)].load(std::memory_order_relaxed);
    NVNcommandBuffer name{};
    name.magic = kCommandBufferMagic;
    name.slot = static_cast<uint32_t>(who);
    name.serial = static_cast<uint32_t>(who >> 32);
    const Recorder* r = find(&name);
    if (!r)
        return false;
    const uint64_t base = reinterpret_cast<uint64_t>(r->control_base.load(std::memory_order_relaxed)),
                   end = reinterpret_cast<uint64_t>(r->control_end.load(std::memory_order_relaxed));
    if (handle < base || handle >= end || base != reinterpret_cast<uint64_t>(r->control_base.load()))
        return false;
    from = base;
    to = end;
    return true;
}

Recorder* recorder_of(const NVNcommandBuffer* cmd) {
    Recorder* r = Recorders::get().find(cmd);
    if (!r)
        report(Report::bad_object, "command buffer %p", static_cast<const void*>(cmd));
    return r;
}

uint8_t* slow_record_space(NVNcommandBuffer* cmd, size_t bytes) {
    Recorder* r = recorder_of(cmd);
    if (!r)
        return nullptr;
    if (!r->recording) {
        report(Report::not_recorded, "command buffer %p", static_cast<void*>(cmd));
        return nullptr;
    }
    if (fits(*r, bytes)) { // the run is as long as an entry can say
        close_run(cmd, *r, false);
        if (Recorders::get().find(cmd) == r && r->recording && fits(*r, bytes))
            return take(*r, bytes);
    }
    const uint8_t* before = r->base;
    const uint8_t* before_cursor = r->cursor;
    if (r->callback && r->callback_enabled) {
        r->callback(cmd, NVN_COMMAND_BUFFER_MEMORY_EVENT_OUT_OF_COMMAND_MEMORY, bytes, r->callback_data);
        if (Recorders::get().find(cmd) != r || !r->recording) // the callback ended it
            return nullptr;
    }
    if ((r->base != before || r->cursor != before_cursor) && fits(*r, bytes))
        return take(*r, bytes);
    const uint64_t size = std::max<uint64_t>(kLentSegment, bytes);
    uint8_t* lent = Host::get().lend_segment(size, cmd, r->recording_id);
    if (!lent) {
        r->dropped = true;
        report(Report::out_of_command_memory, "a record of %zu bytes in command buffer %p is lost", bytes,
               static_cast<void*>(cmd));
        return nullptr;
    }
    enter_segment(cmd, *r, lent, size, true);
    return fits(*r, bytes) ? take(*r, bytes) : nullptr;
}

namespace detail {

EntryReader::EntryReader(uint64_t at) : at_(at) {
    Recorders::get().current_block(at, known_from_, known_to_);
}

bool EntryReader::next(ControlEntry& entry) {
    if (at_ >= known_from_ && at_ < known_to_ && known_to_ - at_ >= sizeof entry && at_ % 8 == 0) {
        std::memcpy(&entry, reinterpret_cast<const void*>(at_), sizeof entry);
        at_ += sizeof entry;
        return true;
    }
    if (used_ == have_) {
        used_ = 0;
        have_ = at_ % 8 ? 0 : static_cast<uint32_t>(safe_read(at_, entries_, sizeof entries_) / sizeof entry);
        if (have_ == 0) {
            report(Report::bad_control, "entry at 0x%llx", static_cast<unsigned long long>(at_));
            return false;
        }
    }
    entry = entries_[used_++];
    at_ += sizeof entry;
    return true;
}

bool usable_run(const ControlEntry& e) {
    const uint64_t bytes = uint64_t{e.words()} * 4;
    if (Host::get().pool_at(e.address(), bytes) || Host::get().is_lent(e.address(), bytes))
        return true;
    report(Report::bad_control, "run of %llu bytes at 0x%llx is in no pool",
           static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(e.address()));
    return false;
}

void report_loop(NVNcommandHandle handle) {
    report(Report::bad_control, "entries of handle 0x%llx do not end",
           static_cast<unsigned long long>(handle));
}

} // namespace detail
} // namespace dmsh::nvn

using namespace dmsh::nvn;

extern "C" {

NVNboolean nvnCommandBufferInitialize(NVNcommandBuffer* cmd, NVNdevice*) {
    if (!cmd)
        return 0;
    if (Recorders::get().add(cmd)) {
        Host::get().track(NVN_DEBUG_OBJECT_TYPE_COMMAND_BUFFER, cmd);
        return 1;
    }
    report(Report::bad_argument, "more than %u command buffers", Recorders::kMost);
    return 0;
}

void nvnCommandBufferFinalize(NVNcommandBuffer* cmd) {
    if (recorder_of(cmd)) {
        Recorders::get().remove(cmd);
        Host::get().untrack(NVN_DEBUG_OBJECT_TYPE_COMMAND_BUFFER, cmd);
        cmd->magic = 0;
    }
}

void nvnCommandBufferSetDebugLabel(NVNcommandBuffer*, const char*) {}

void nvnCommandBufferSetMemoryCallback(NVNcommandBuffer* cmd,
                                       PFNNVNCOMMANDBUFFERMEMORYCALLBACKPROC callback) {
    if (Recorder* r = recorder_of(cmd))
        r->callback = callback;
}

void nvnCommandBufferSetMemoryCallbackData(NVNcommandBuffer* cmd, void* data) {
    if (Recorder* r = recorder_of(cmd))
        r->callback_data = data;
}

void nvnCommandBufferSetCommandMemoryCallbackEnabled(NVNcommandBuffer* cmd, NVNboolean enable) {
    if (Recorder* r = recorder_of(cmd))
        r->callback_enabled = enable != 0;
}

PFNNVNCOMMANDBUFFERMEMORYCALLBACKPROC nvnCommandBufferGetMemoryCallback(const NVNcommandBuffer* cmd) {
    const Recorder* r = recorder_of(cmd);
    return r ? r->callback : nullptr;
}

void* nvnCommandBufferGetMemoryCallbackData(const NVNcommandBuffer* cmd) {
    const Recorder* r = recorder_of(cmd);
    return r ? r->callback_data : nullptr;
}

void nvnCommandBufferAddCommandMemory(NVNcommandBuffer* cmd, const NVNmemoryPool* pool, ptrdiff_t offset,
                                      size_t size) {
    Recorder* r = recorder_of(cmd);
    if (!r)
        return;
    if (!pool && !r->recording && size <= kSmallGrant) {
        // Guests grant from pools that they have not made yet.
        if (!r->small_block)
            r->small_block = Host::get().lend_segment(kSmallGrant, cmd, 0);
        if (r->small_block)
            enter_segment(cmd, *r, r->small_block, kSmallGrant, false);
        r->command_size.store(size, std::memory_order_relaxed);
        return;
    }
    const auto p = Host::get().pool(pool);
    if (!p || offset < 0 || offset % 4 || static_cast<uint64_t>(offset) > p->size ||
        size > p->size - static_cast<uint64_t>(offset) ||
        (p->is_virtual() && !Host::get().pool_at(reinterpret_cast<uint64_t>(p->memory) +
                                                     static_cast<uint64_t>(offset),
                                                 size))) {
        report(Report::bad_argument, "command memory at %td, %zu bytes", offset, size);
        return;
    }
    enter_segment(cmd, *r, p->memory + offset, size, false);
}

void nvnCommandBufferAddControlMemory(NVNcommandBuffer* cmd, void* memory, size_t size) {
    Recorder* r = recorder_of(cmd);
    if (!r)
        return;
    if (!memory || reinterpret_cast<uintptr_t>(memory) % 8 || size < 16) {
        report(Report::bad_argument, "control memory %p, %zu bytes", memory, size);
        return;
    }
    // A started list goes on in the new block: 8 bytes were kept free for this link.
    if (r->recording && r->first_entry) {
        const ControlEntry link = ControlEntry::link(memory);
        std::memcpy(r->control_cursor, &link, sizeof link);
    }
    r->control_cursor = static_cast<uint8_t*>(memory);
    r->control_end = nullptr; // a reader sees the old block, the new one or none
    r->control_base = r->control_cursor;
    r->control_end = r->control_cursor + size / 8 * 8;
    r->control_size = size;
    r->control_used = 0;
}

size_t nvnCommandBufferGetCommandMemorySize(const NVNcommandBuffer* cmd) {
    const Recorder* r = recorder_of(cmd);
    return r ? r->command_size.load(std::memory_order_relaxed) : 0;
}

size_t nvnCommandBufferGetCommandMemoryUsed(const NVNcommandBuffer* cmd) {
    const Recorder* r = recorder_of(cmd);
    return r ? r->used_before + static_cast<uint64_t>(r->cursor - r->base) : 0;
}

size_t nvnCommandBufferGetCommandMemoryFree(const NVNcommandBuffer* cmd) {
    const Recorder* r = recorder_of(cmd);
    return r ? static_cast<size_t>(r->end - r->cursor) : 0;
}

size_t nvnCommandBufferGetControlMemorySize(const NVNcommandBuffer* cmd) {
    const Recorder* r = recorder_of(cmd);
    return r ? r->control_size : 0;
}

size_t nvnCommandBufferGetControlMemoryUsed(const NVNcommandBuffer* cmd) {
    const Recorder* r = recorder_of(cmd);
    return r ? r->control_used : 0;
}

size_t nvnCommandBufferGetControlMemoryFree(const NVNcommandBuffer* cmd) {
    const Recorder* r = recorder_of(cmd);
    return r ? static_cast<size_t>(r->control_end - r->control_cursor) : 0;
}

void nvnCommandBufferBeginRecording(NVNcommandBuffer* cmd) {
    Recorder* r = recorder_of(cmd);
    if (!r)
        return;
    r->recording = true;
    r->dropped = false;
    r->first_entry = 0;
    r->recording_id = Host::get().next_serial();
    if (r->lent) { // a lent segment belongs to the recording before
        r->used_before += static_cast<uint64_t>(r->cursor - r->base);
        r->base = r->cursor = r->end = nullptr;
        r->lent = false;
    }
    r->run = r->cursor;
    r->set_limit();
}

NVNcommandHandle nvnCommandBufferEndRecording(NVNcommandBuffer* cmd) {
    Recorder* r = recorder_of(cmd);
    if (!r || !r->recording)
        return 0;
    close_run(cmd, *r, true);
    r->recording = false;
    r->set_limit();
    Recorders::get().note_handle(r->first_entry, cmd);
    return r->first_entry;
}

NVNboolean nvnCommandBufferIsRecording(const NVNcommandBuffer* cmd) {
    const Recorder* r = recorder_of(cmd);
    return r ? r->recording : 0;
}

void nvnCommandBufferCallCommands(NVNcommandBuffer* cmd, int count, const NVNcommandHandle* handles) {
    Recorder* r = recorder_of(cmd);
    if (!r || !r->recording || !handles)
        return;
    close_run(cmd, *r, false);
    for (int i = 0; i < count; ++i)
        for_runs(handles[i], [&](uint64_t address, size_t bytes) {
            put_entry(cmd, *r, ControlEntry::run(reinterpret_cast<const void*>(address),
                                                 static_cast<uint32_t>(bytes / 4)));
            return Recorders::get().find(cmd) == r;
        });
}

void nvnCommandBufferCopyCommands(NVNcommandBuffer* cmd, int count, const NVNcommandHandle* handles) {
    if (!recorder_of(cmd) || !handles)
        return;
    for (int i = 0; i < count; ++i)
        for_runs(handles[i], [&](uint64_t address, size_t bytes) {
            // Record by record, so that a copy may cross from one segment to the next.
            size_t at = 0;
            while (at < bytes) {
                RecordHeader h;
                std::memcpy(&h, reinterpret_cast<const uint8_t*>(address) + at, sizeof h);
                const size_t n = size_t{h.words} * 4;
                if (n < sizeof h || n > bytes - at) {
                    report(Report::bad_command, "record of %zu bytes in a run of %zu", n, bytes);
                    return false;
                }
                uint8_t* p = record_space(cmd, n);
                if (!p)
                    return false;
                std::memmove(p, reinterpret_cast<const uint8_t*>(address) + at, n); // may be the same memory
                at += n;
            }
            return true;
        });
}

} // extern "C"
