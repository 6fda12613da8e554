// Implements recording into guest command and control memory.
#include "runtime/nvn/recorder.h"
#include "runtime/nvn/host.h"
#include "runtime/nvn/safe_memory.h"
#include <algorithm>

namespace dmsh::nvn {
namespace {

constexpr uint64_t kLentSegment = 256 << 10, kLentControl = 64 << 10;

bool live(const NVNcommandBuffer* cmd) {
    if (cmd && cmd->magic == kCommandBufferMagic)
        return true;
    report(Report::bad_object, "command buffer %p", static_cast<const void*>(cmd));
    return false;
}

// Space for one control entry with a link's worth behind it; false if the host has no memory either.
bool control_space(NVNcommandBuffer* cmd) {
    if (cmd->control_cursor && cmd->control_end - cmd->control_cursor >= 16)
        return true;
    const uint8_t* before = cmd->control_base;
    const uint8_t* before_cursor = cmd->control_cursor;
    if (cmd->callback)
        cmd->callback(cmd, NVN_COMMAND_BUFFER_MEMORY_EVENT_OUT_OF_CONTROL_MEMORY, 16, cmd->callback_data);
    if ((cmd->control_base != before || cmd->control_cursor != before_cursor) && cmd->control_cursor &&
        cmd->control_end - cmd->control_cursor >= 16)
        return true;
    uint8_t* lent = Host::get().lend_control(kLentControl);
    if (!lent)
        return false;
    const uint64_t size = cmd->control_size;
    nvnCommandBufferAddControlMemory(cmd, lent, kLentControl);
    cmd->control_size = size;
    cmd->control_lent = 1;
    return true;
}

void put_entry(NVNcommandBuffer* cmd, ControlEntry entry) {
    if (!control_space(cmd)) {
        cmd->dropped = 1;
        report(Report::out_of_command_memory, "control memory of command buffer %p", static_cast<void*>(cmd));
        return;
    }
    std::memcpy(cmd->control_cursor, &entry, sizeof entry);
    if (!cmd->first_entry)
        cmd->first_entry = reinterpret_cast<uint64_t>(cmd->control_cursor);
    cmd->control_cursor += sizeof entry;
    cmd->control_used += sizeof entry;
}

// Names the records since the last entry.
void close_run(NVNcommandBuffer* cmd, bool last) {
    const uint32_t words = static_cast<uint32_t>((cmd->cursor - cmd->run) / 4);
    if (words || last) {
        ControlEntry entry = ControlEntry::run(cmd->run, words);
        if (last)
            entry.set_last();
        put_entry(cmd, entry);
    }
    if (words && !cmd->lent) {
        Host::get().recorded_over(cmd->run, uint64_t{words} * 4, cmd->recording_id);
        Host::get().note_guest_bytes(cmd->recording_id, cmd->run, uint64_t{words} * 4);
    }
    cmd->run = cmd->cursor;
}

// Makes [memory, memory + size) the current segment.
void enter_segment(NVNcommandBuffer* cmd, uint8_t* memory, uint64_t size, bool lent) {
    if (cmd->recording)
        close_run(cmd, false);
    if (lent) {
        cmd->used_before += static_cast<uint64_t>(cmd->cursor - cmd->base);
    } else {
        cmd->used_before = 0;
        cmd->command_size.store(size, std::memory_order_relaxed);
    }
    cmd->base = cmd->run = cmd->cursor = memory;
    cmd->end = memory + size / 4 * 4;
    cmd->lent = lent;
}

uint8_t* slow_space(NVNcommandBuffer* cmd, size_t bytes) {
    const uint8_t* before = cmd->base;
    const uint8_t* before_cursor = cmd->cursor;
    if (cmd->callback)
        cmd->callback(cmd, NVN_COMMAND_BUFFER_MEMORY_EVENT_OUT_OF_COMMAND_MEMORY, bytes, cmd->callback_data);
    const bool granted = cmd->base != before || cmd->cursor != before_cursor;
    if (granted && static_cast<size_t>(cmd->end - cmd->cursor) >= bytes) {
        uint8_t* p = cmd->cursor;
        cmd->cursor += bytes;
        return p;
    }
    const uint64_t size = std::max<uint64_t>(kLentSegment, bytes);
    uint8_t* lent = Host::get().lend_segment(size, cmd, cmd->recording_id);
    if (!lent) {
        cmd->dropped = 1;
        report(Report::out_of_command_memory, "a record of %zu bytes in command buffer %p is lost", bytes,
               static_cast<void*>(cmd));
        return nullptr;
    }
    enter_segment(cmd, lent, size, true);
    uint8_t* p = cmd->cursor;
    cmd->cursor += bytes;
    return p;
}

} // namespace

uint8_t* record_space(NVNcommandBuffer* cmd, size_t bytes) {
    if (!live(cmd))
        return nullptr;
    if (!cmd->recording) {
        report(Report::not_recorded, "command buffer %p", static_cast<void*>(cmd));
        return nullptr;
    }
    if (static_cast<size_t>(cmd->cursor - cmd->run) / 4 + bytes / 4 > ControlEntry::kMaxWords)
        close_run(cmd, false);
    if (static_cast<size_t>(cmd->end - cmd->cursor) >= bytes) {
        uint8_t* p = cmd->cursor;
        cmd->cursor += bytes;
        return p;
    }
    return slow_space(cmd, bytes);
}

namespace detail {

bool next_entry(uint64_t& at, ControlEntry& entry) {
    if (at % 8 || safe_read(at, &entry, sizeof entry) != sizeof entry) {
        report(Report::bad_control, "entry at 0x%llx", static_cast<unsigned long long>(at));
        return false;
    }
    at += sizeof entry;
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
    const uint64_t guest = cmd->guest_byte; // the guest may have stored its byte already
    std::memset(static_cast<void*>(cmd), 0, offsetof(NVNcommandBuffer, guest_byte));
    std::memset(reinterpret_cast<uint8_t*>(cmd) + offsetof(NVNcommandBuffer, callback_data), 0,
                sizeof *cmd - offsetof(NVNcommandBuffer, callback_data));
    cmd->guest_byte = guest;
    cmd->magic = kCommandBufferMagic;
    return 1;
}

void nvnCommandBufferFinalize(NVNcommandBuffer* cmd) {
    if (live(cmd))
        cmd->magic = 0;
}

void nvnCommandBufferSetDebugLabel(NVNcommandBuffer*, const char*) {}

void nvnCommandBufferSetMemoryCallback(NVNcommandBuffer* cmd,
                                       PFNNVNCOMMANDBUFFERMEMORYCALLBACKPROC callback) {
    if (live(cmd))
        cmd->callback = callback;
}

void nvnCommandBufferSetMemoryCallbackData(NVNcommandBuffer* cmd, void* data) {
    if (live(cmd))
        cmd->callback_data = data;
}

PFNNVNCOMMANDBUFFERMEMORYCALLBACKPROC nvnCommandBufferGetMemoryCallback(const NVNcommandBuffer* cmd) {
    return live(cmd) ? cmd->callback : nullptr;
}

void* nvnCommandBufferGetMemoryCallbackData(const NVNcommandBuffer* cmd) {
    return live(cmd) ? cmd->callback_data : nullptr;
}

void nvnCommandBufferAddCommandMemory(NVNcommandBuffer* cmd, const NVNmemoryPool* pool, ptrdiff_t offset,
                                      size_t size) {
    if (!live(cmd))
        return;
    const auto p = Host::get().pool(pool);
    if (!p || offset < 0 || offset % 4 || static_cast<uint64_t>(offset) > p->size ||
        size > p->size - static_cast<uint64_t>(offset)) {
        report(Report::bad_argument, "command memory at %td, %zu bytes", offset, size);
        return;
    }
    enter_segment(cmd, p->memory + offset, size, false);
}

void nvnCommandBufferAddControlMemory(NVNcommandBuffer* cmd, void* memory, size_t size) {
    if (!live(cmd))
        return;
    if (!memory || reinterpret_cast<uintptr_t>(memory) % 8 || size < 16) {
        report(Report::bad_argument, "control memory %p, %zu bytes", memory, size);
        return;
    }
    // A started list goes on in the new block: 8 bytes were kept free for this link.
    if (cmd->recording && cmd->first_entry) {
        const ControlEntry link = ControlEntry::link(memory);
        std::memcpy(cmd->control_cursor, &link, sizeof link);
    }
    cmd->control_base = cmd->control_cursor = static_cast<uint8_t*>(memory);
    cmd->control_end = cmd->control_base + size / 8 * 8;
    cmd->control_size = size;
    cmd->control_used = 0;
    cmd->control_lent = 0;
}

size_t nvnCommandBufferGetCommandMemorySize(const NVNcommandBuffer* cmd) {
    return live(cmd) ? cmd->command_size.load(std::memory_order_relaxed) : 0;
}

size_t nvnCommandBufferGetCommandMemoryUsed(const NVNcommandBuffer* cmd) {
    return live(cmd) ? cmd->used_before + static_cast<uint64_t>(cmd->cursor - cmd->base) : 0;
}

size_t nvnCommandBufferGetCommandMemoryFree(const NVNcommandBuffer* cmd) {
    return live(cmd) ? static_cast<size_t>(cmd->end - cmd->cursor) : 0;
}

size_t nvnCommandBufferGetControlMemorySize(const NVNcommandBuffer* cmd) {
    return live(cmd) ? cmd->control_size : 0;
}

size_t nvnCommandBufferGetControlMemoryUsed(const NVNcommandBuffer* cmd) {
    return live(cmd) ? cmd->control_used : 0;
}

size_t nvnCommandBufferGetControlMemoryFree(const NVNcommandBuffer* cmd) {
    return live(cmd) ? static_cast<size_t>(cmd->control_end - cmd->control_cursor) : 0;
}

void nvnCommandBufferBeginRecording(NVNcommandBuffer* cmd) {
    if (!live(cmd))
        return;
    cmd->recording = 1;
    cmd->dropped = 0;
    cmd->first_entry = 0;
    cmd->recording_id = Host::get().next_serial();
    if (cmd->lent) { // a lent segment belongs to the recording before
        cmd->used_before += static_cast<uint64_t>(cmd->cursor - cmd->base);
        cmd->base = cmd->cursor = cmd->end = nullptr;
        cmd->lent = 0;
    }
    cmd->run = cmd->cursor;
}

NVNcommandHandle nvnCommandBufferEndRecording(NVNcommandBuffer* cmd) {
    if (!live(cmd) || !cmd->recording)
        return 0;
    close_run(cmd, true);
    cmd->recording = 0;
    return cmd->first_entry;
}

NVNboolean nvnCommandBufferIsRecording(const NVNcommandBuffer* cmd) {
    return live(cmd) ? cmd->recording : 0;
}

void nvnCommandBufferCallCommands(NVNcommandBuffer* cmd, int count, const NVNcommandHandle* handles) {
    if (!live(cmd) || !cmd->recording || !handles)
        return;
    close_run(cmd, false);
    for (int i = 0; i < count; ++i)
        for_runs(handles[i], [&](uint64_t address, size_t bytes) {
            put_entry(cmd, ControlEntry::run(reinterpret_cast<const void*>(address),
                                             static_cast<uint32_t>(bytes / 4)));
            return true;
        });
}

void nvnCommandBufferCopyCommands(NVNcommandBuffer* cmd, int count, const NVNcommandHandle* handles) {
    if (!live(cmd) || !handles)
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
                std::memcpy(p, reinterpret_cast<const uint8_t*>(address) + at, n);
                at += n;
            }
            return true;
        });
}

} // extern "C"
