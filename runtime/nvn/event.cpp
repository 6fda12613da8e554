// Events: 32-bit values in pool memory that CPU and GPU signal and queues wait for.
#include "runtime/nvn/host.h"
#include "runtime/nvn/recorder.h"

namespace dmsh::nvn {
namespace {

bool live(const NVNevent* e) {
    if (e && e->magic == kEventMagic)
        return true;
    report(Report::bad_object, "event %p", static_cast<const void*>(e));
    return false;
}

// The value's address if the pool holds it, else 0.
uint64_t place(const NVNmemoryPool* pool, int64_t offset) {
    const auto p = Host::get().pool(pool);
    if (!p || offset < 0 || offset % 4 || p->size < 4 ||
        static_cast<uint64_t>(offset) > p->size - 4)
        return 0;
    return reinterpret_cast<uint64_t>(p->memory) + static_cast<uint64_t>(offset);
}

void event_record(NVNcommandBuffer* cmd, Op op, const NVNevent* event, uint32_t mode, uint32_t value,
                  const char* call) {
    const uint64_t address = Host::get().event_address(event);
    if (!address || mode > 1) {
        report(Report::bad_argument, "%s: event %p, mode %u", call, static_cast<const void*>(event), mode);
        return;
    }
    if (auto* r = record<EventRecord>(cmd, op)) {
        r->mode = mode;
        r->address = word64(address);
        r->value = value;
    }
}

} // namespace

uint64_t Host::event_address(const NVNevent* event) const {
    return live(event) ? place(event->pool, event->offset) : 0;
}

} // namespace dmsh::nvn

using namespace dmsh::nvn;

extern "C" {

void nvnEventBuilderSetDefaults(NVNeventBuilder* b) {
    *b = {};
}
void nvnEventBuilderSetStorage(NVNeventBuilder* b, const NVNmemoryPool* pool, int64_t offset) {
    b->pool = pool;
    b->offset = offset;
}
const NVNmemoryPool* nvnEventBuilderGetStorage(const NVNeventBuilder* b, int64_t* offset) {
    if (offset)
        *offset = b->offset;
    return b->pool;
}
const NVNmemoryPool* nvnEventBuilderGetMemoryPool(const NVNeventBuilder* b) {
    return b->pool;
}
ptrdiff_t nvnEventBuilderGetMemoryOffset(const NVNeventBuilder* b) {
    return b->offset;
}

NVNboolean nvnEventInitialize(NVNevent* event, const NVNeventBuilder* b) {
    if (!event || !b)
        return 0;
    if (!place(b->pool, b->offset)) {
        report(Report::bad_argument, "event at %lld of pool %p", static_cast<long long>(b->offset),
               static_cast<const void*>(b->pool));
        return 0;
    }
    event->magic = kEventMagic;
    event->zero = 0;
    event->pool = b->pool;
    event->offset = b->offset;
    return 1;
}
void nvnEventFinalize(NVNevent* event) {
    if (live(event))
        event->magic = 0;
}
uint32_t nvnEventGetValue(const NVNevent* event) {
    const uint64_t address = Host::get().event_address(event);
    const std::lock_guard hold(Host::get().submit_lock()); // the pool stays
    if (!address || !Host::get().covers(address, 4))
        return 0;
    if (Executor* e = Host::get().executor())
        e->publish_signals();
    return __atomic_load_n(reinterpret_cast<const uint32_t*>(address), __ATOMIC_ACQUIRE);
}
void nvnEventSignal(NVNevent* event, NVNeventSignalMode mode, uint32_t value) {
    const uint64_t address = Host::get().event_address(event);
    const std::lock_guard hold(Host::get().submit_lock());
    if (!address || !Host::get().covers(address, 4))
        return;
    auto* word = reinterpret_cast<uint32_t*>(address);
    Executor* e = Host::get().executor();
    if (e)
        e->publish_signals(); // signals that completed before this one come before it
    if (mode == NVN_EVENT_SIGNAL_MODE_ADD)
        __atomic_fetch_add(word, value, __ATOMIC_RELEASE);
    else
        __atomic_store_n(word, value, __ATOMIC_RELEASE);
    if (e)
        e->advance();
}
const NVNmemoryPool* nvnEventGetMemoryPool(const NVNevent* event) {
    return live(event) ? event->pool : nullptr;
}
ptrdiff_t nvnEventGetMemoryOffset(const NVNevent* event) {
    return live(event) ? event->offset : 0;
}


void nvnCommandBufferWaitEvent(NVNcommandBuffer* cmd, const NVNevent* event, NVNeventWaitMode mode,
                               uint32_t value) {
    event_record(cmd, Op::wait_event, event, static_cast<uint32_t>(mode), value, __func__);
}
// Every location is as late as the commands before: signals are published when these are complete.
void nvnCommandBufferSignalEvent(NVNcommandBuffer* cmd, const NVNevent* event, NVNeventSignalMode mode,
                                 NVNeventSignalLocation, int, uint32_t value) {
    event_record(cmd, Op::signal_event, event, static_cast<uint32_t>(mode), value, __func__);
}

} // extern "C"
