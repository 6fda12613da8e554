// Queues, syncs and programs: what reaches the executor.
#include "runtime/nvn/host.h"
#include <limits>

namespace dmsh::nvn {
namespace {

enum SizeBit : uint32_t { kCommandSize = 1, kComputeSize = 2, kControlSize = 4, kThreshold = 8 };

// Defaults of the device integers 0x52, 0x55, 0x5c.
constexpr uint64_t kDefaultCommand = 65536, kDefaultCompute = 262144, kDefaultControl = 16384;

bool live(const NVNqueue* q) {
    if (q && q->magic == kQueueMagic)
        return true;
    report(Report::bad_object, "queue %p", static_cast<const void*>(q));
    return false;
}

bool live(const NVNsync* s) {
    if (s && s->magic == kSyncMagic)
        return true;
    report(Report::bad_object, "sync %p", static_cast<const void*>(s));
    return false;
}

void set_size(NVNqueueBuilder* b, uint64_t NVNqueueBuilder::*field, SizeBit bit, size_t size) {
    b->*field = size;
    b->set |= bit;
}

// The driver's contract: the size as a 32-bit word through the pointer, the set flag as result.
NVNboolean get_size(const NVNqueueBuilder* b, uint64_t NVNqueueBuilder::*field, SizeBit bit, int* out) {
    if (out)
        *out = static_cast<int>(b->*field);
    return (b->set & bit) != 0;
}

} // namespace
} // namespace dmsh::nvn

using namespace dmsh::nvn;

extern "C" {

void nvnQueueBuilderSetDevice(NVNqueueBuilder* b, NVNdevice* device) {
    b->device = device;
}
void nvnQueueBuilderSetDefaults(NVNqueueBuilder* b) {
    const NVNdevice* device = b->device;
    *b = {};
    b->device = device;
}
void nvnQueueBuilderSetFlags(NVNqueueBuilder* b, int flags) {
    b->flags = static_cast<uint32_t>(flags);
}
void nvnQueueBuilderSetCommandMemorySize(NVNqueueBuilder* b, size_t size) {
    set_size(b, &NVNqueueBuilder::command_size, kCommandSize, size);
}
void nvnQueueBuilderSetComputeMemorySize(NVNqueueBuilder* b, size_t size) {
    set_size(b, &NVNqueueBuilder::compute_size, kComputeSize, size);
}
void nvnQueueBuilderSetControlMemorySize(NVNqueueBuilder* b, size_t size) {
    set_size(b, &NVNqueueBuilder::control_size, kControlSize, size);
}
void nvnQueueBuilderSetCommandFlushThreshold(NVNqueueBuilder* b, size_t size) {
    set_size(b, &NVNqueueBuilder::flush_threshold, kThreshold, size);
}
size_t nvnQueueBuilderGetQueueMemorySize(const NVNqueueBuilder* b) {
    const uint64_t sum = (b->set & kCommandSize ? b->command_size : kDefaultCommand) +
                         (b->set & kComputeSize ? b->compute_size : kDefaultCompute) +
                         (b->set & kControlSize ? b->control_size : kDefaultControl);
    return (sum + 4095) / 4096 * 4096;
}
void nvnQueueBuilderSetQueueMemory(NVNqueueBuilder* b, void* memory, size_t size) {
    b->memory = memory;
    b->memory_size = size;
}
const NVNdevice* nvnQueueBuilderGetDevice(const NVNqueueBuilder* b) {
    return b->device;
}
int nvnQueueBuilderGetFlags(const NVNqueueBuilder* b) {
    return static_cast<int>(b->flags);
}
NVNboolean nvnQueueBuilderGetCommandMemorySize(const NVNqueueBuilder* b, int* out) {
    return get_size(b, &NVNqueueBuilder::command_size, kCommandSize, out);
}
NVNboolean nvnQueueBuilderGetComputeMemorySize(const NVNqueueBuilder* b, int* out) {
    return get_size(b, &NVNqueueBuilder::compute_size, kComputeSize, out);
}
NVNboolean nvnQueueBuilderGetControlMemorySize(const NVNqueueBuilder* b, int* out) {
    return get_size(b, &NVNqueueBuilder::control_size, kControlSize, out);
}
NVNboolean nvnQueueBuilderGetCommandFlushThreshold(const NVNqueueBuilder* b, int* out) {
    return get_size(b, &NVNqueueBuilder::flush_threshold, kThreshold, out);
}
int nvnQueueBuilderGetMemorySize(const NVNqueueBuilder* b) {
    return static_cast<int>(b->memory_size);
}
void* nvnQueueBuilderGetMemory(const NVNqueueBuilder* b) {
    return b->memory;
}

NVNqueueGetErrorResult nvnQueueGetError(NVNqueue*, NVNqueueErrorInfo*) {
    return NVN_QUEUE_GET_ERROR_RESULT_GPU_NO_ERROR;
}
size_t nvnQueueGetTotalCommandMemoryUsed(NVNqueue*) {
    return 0;
}
size_t nvnQueueGetTotalControlMemoryUsed(NVNqueue*) {
    return 0;
}
size_t nvnQueueGetTotalComputeMemoryUsed(NVNqueue*) {
    return 0;
}
void nvnQueueResetMemoryUsageCounts(NVNqueue*) {}

NVNboolean nvnQueueInitialize(NVNqueue* q, const NVNqueueBuilder* b) {
    if (!q || !b)
        return 0;
    q->magic = kQueueMagic;
    q->serial = Host::get().next_serial();
    const std::lock_guard hold(Host::get().submit_lock());
    if (Executor* e = Host::get().executor())
        e->queue_added(q->serial);
    return 1;
}
void nvnQueueFinalize(NVNqueue* q) {
    if (!live(q))
        return;
    const std::lock_guard hold(Host::get().submit_lock());
    if (Executor* e = Host::get().executor()) {
        e->wait(e->flush(), std::numeric_limits<uint64_t>::max());
        e->queue_removed(q->serial);
    }
    q->magic = 0;
}
void nvnQueueSetDebugLabel(NVNqueue*, const char*) {}

void nvnQueueSubmitCommands(NVNqueue* q, int count, const NVNcommandHandle* handles) {
    if (!live(q) || count <= 0 || !handles)
        return;
    const std::lock_guard hold(Host::get().submit_lock());
    if (Executor* e = Host::get().executor())
        e->submit(q->serial, handles, count);
}
void nvnQueueFlush(NVNqueue* q) {
    if (!live(q))
        return;
    const std::lock_guard hold(Host::get().submit_lock());
    if (Executor* e = Host::get().executor())
        e->flush();
}
void nvnQueueFinish(NVNqueue* q) {
    if (!live(q))
        return;
    const std::lock_guard hold(Host::get().submit_lock());
    if (Executor* e = Host::get().executor())
        e->wait(e->flush(), std::numeric_limits<uint64_t>::max());
}
void nvnQueueFenceSync(NVNqueue* q, NVNsync* sync, NVNsyncCondition, int) {
    if (!live(q) || !live(sync))
        return;
    const std::lock_guard hold(Host::get().submit_lock());
    if (Executor* e = Host::get().executor())
        sync->fence.store(e->flush(), std::memory_order_release);
}
// One GPU queue runs everything in order: later work waits by itself.
NVNboolean nvnQueueWaitSync(NVNqueue* q, const NVNsync* sync) {
    return live(q) && live(sync);
}

NVNboolean nvnSyncInitialize(NVNsync* sync, NVNdevice*) {
    if (!sync)
        return 0;
    sync->magic = kSyncMagic;
    sync->reserved = 0;
    sync->fence.store(0, std::memory_order_relaxed);
    return 1;
}
void nvnSyncFinalize(NVNsync* sync) {
    if (live(sync))
        sync->magic = 0;
}
void nvnSyncSetDebugLabel(NVNsync*, const char*) {}
NVNsyncWaitResult nvnSyncWait(const NVNsync* sync, uint64_t timeout) {
    if (!live(sync))
        return NVN_SYNC_WAIT_RESULT_FAILED;
    const uint64_t fence = sync->fence.load(std::memory_order_acquire);
    Executor* e = Host::get().executor();
    if (fence == 0 || !e || e->wait(fence, 0))
        return NVN_SYNC_WAIT_RESULT_ALREADY_SIGNALED;
    if (timeout == 0)
        return NVN_SYNC_WAIT_RESULT_TIMEOUT_EXPIRED;
    return e->wait(fence, timeout) ? NVN_SYNC_WAIT_RESULT_CONDITION_SATISFIED
                                   : NVN_SYNC_WAIT_RESULT_TIMEOUT_EXPIRED;
}

NVNboolean nvnProgramInitialize(NVNprogram* program, NVNdevice*) {
    if (!program)
        return 0;
    program->magic = kProgramMagic;
    program->serial = Host::get().add_program();
    return 1;
}
void nvnProgramFinalize(NVNprogram* program) {
    if (!program || program->magic != kProgramMagic) {
        report(Report::bad_object, "program %p", static_cast<const void*>(program));
        return;
    }
    Host::get().remove_program(program->serial);
    program->magic = 0;
}
void nvnProgramSetDebugLabel(NVNprogram*, const char*) {}
// Keys are taken here: the caller may free the control sections when this returns.
NVNboolean nvnProgramSetShaders(NVNprogram* program, int count, const NVNshaderData* data) {
    if (!program || program->magic != kProgramMagic) {
        report(Report::bad_object, "program %p", static_cast<const void*>(program));
        return 0;
    }
    return Host::get().set_shaders(program->serial, count, data);
}

} // extern "C"
