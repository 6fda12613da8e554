// Queues, syncs and programs: what reaches the executor.
#include "runtime/nvn/host.h"
#include <algorithm>

namespace dmsh::nvn {
namespace {

enum SizeBit : uint16_t { kCommandSize = 1, kComputeSize = 2, kControlSize = 4, kThreshold = 8, kRayTracing = 16 };

// Defaults of the device integers 0x52, 0x55, 0x5c.
constexpr uint64_t kLongWait = 1000000000; // ns: a wait that expires after this is reported
constexpr uint32_t kDefaultCommand = 65536, kDefaultCompute = 262144, kDefaultControl = 16384;

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

void set_size(NVNqueueBuilder* b, uint32_t NVNqueueBuilder::*field, SizeBit bit, size_t size) {
    b->*field = static_cast<uint32_t>(std::min<size_t>(size, 0xffffffffu));
    b->set = static_cast<uint16_t>(b->set | bit);
}

// The driver's contract: the size as a 32-bit word through the pointer, the set flag as result.
NVNboolean get_size(const NVNqueueBuilder* b, uint32_t NVNqueueBuilder::*field, SizeBit bit, int* out) {
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
    b->priority = NVN_QUEUE_PRIORITY_NORMAL;
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
    const uint64_t sum = uint64_t{b->set & kCommandSize ? b->command_size : kDefaultCommand} +
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
void nvnQueueBuilderSetQueuePriority(NVNqueueBuilder* b, int priority) {
    b->priority = static_cast<uint16_t>(std::clamp(priority, 0, 0xffff));
}
int nvnQueueBuilderGetQueuePriority(const NVNqueueBuilder* b) {
    return b->priority;
}
void nvnQueueBuilderSetRayTracingMemorySize(NVNqueueBuilder* b, size_t size) {
    set_size(b, &NVNqueueBuilder::ray_tracing_size, kRayTracing, size);
}
NVNboolean nvnQueueBuilderGetRayTracingMemorySize(const NVNqueueBuilder* b, int* out) {
    return get_size(b, &NVNqueueBuilder::ray_tracing_size, kRayTracing, out);
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
    Host::get().track(NVN_DEBUG_OBJECT_TYPE_QUEUE, q);
    const std::lock_guard hold(Host::get().submit_lock());
    if (Executor* e = Host::get().executor())
        e->queue_added(q->serial);
    return 1;
}
void nvnQueueFinalize(NVNqueue* q) {
    if (!live(q))
        return;
    {
        const std::lock_guard hold(Host::get().submit_lock());
        if (Executor* e = Host::get().executor())
            e->queue_removed(q->serial);
    }
    Host::get().untrack(NVN_DEBUG_OBJECT_TYPE_QUEUE, q);
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
    if (Executor* e = Host::get().executor())
        e->finish(q->serial);
}
void nvnQueueFenceSync(NVNqueue* q, NVNsync* sync, NVNsyncCondition, int) {
    if (!live(q) || !live(sync))
        return;
    const std::lock_guard hold(Host::get().submit_lock());
    if (Executor* e = Host::get().executor())
        sync->fence.store(e->fence_receipt(q->serial), std::memory_order_release);
}
// The wait keeps the receipt that the sync has now; a sync never fenced does not block.
NVNboolean nvnQueueWaitSync(NVNqueue* q, const NVNsync* sync) {
    if (!live(q) || !live(sync))
        return 0;
    const std::lock_guard hold(Host::get().submit_lock());
    if (Executor* e = Host::get().executor())
        e->wait_receipt(q->serial, sync->fence.load(std::memory_order_acquire));
    return 1;
}

NVNboolean nvnSyncInitialize(NVNsync* sync, NVNdevice*) {
    if (!sync)
        return 0;
    sync->magic = kSyncMagic;
    sync->reserved = 0;
    sync->fence.store(0, std::memory_order_relaxed);
    Host::get().track(NVN_DEBUG_OBJECT_TYPE_SYNC, sync);
    return 1;
}
void nvnSyncFinalize(NVNsync* sync) {
    if (!live(sync))
        return;
    Host::get().untrack(NVN_DEBUG_OBJECT_TYPE_SYNC, sync);
    sync->magic = 0;
}
void nvnSyncSetDebugLabel(NVNsync*, const char*) {}
NVNsyncWaitResult nvnSyncWait(const NVNsync* sync, uint64_t timeout) {
    if (!live(sync))
        return NVN_SYNC_WAIT_RESULT_FAILED;
    const uint64_t receipt = sync->fence.load(std::memory_order_acquire);
    Executor* e = Host::get().executor();
    if (receipt == 0 || !e)
        return NVN_SYNC_WAIT_RESULT_ALREADY_SIGNALED;
    {
        const std::lock_guard hold(Host::get().submit_lock());
        if (e->receipt_done(receipt))
            return NVN_SYNC_WAIT_RESULT_ALREADY_SIGNALED;
    }
    if (timeout == 0)
        return NVN_SYNC_WAIT_RESULT_TIMEOUT_EXPIRED;
    if (e->await_receipt(receipt, timeout))
        return NVN_SYNC_WAIT_RESULT_CONDITION_SATISFIED;
    if (timeout >= kLongWait)
        report(Report::stalled, "sync %p, receipt %llu, after %llu ms", static_cast<const void*>(sync),
               static_cast<unsigned long long>(receipt), static_cast<unsigned long long>(timeout / 1000000));
    return NVN_SYNC_WAIT_RESULT_TIMEOUT_EXPIRED;
}

NVNboolean nvnProgramInitialize(NVNprogram* program, NVNdevice*) {
    if (!program)
        return 0;
    program->magic = kProgramMagic;
    program->serial = Host::get().add_program();
    Host::get().track(NVN_DEBUG_OBJECT_TYPE_PROGRAM, program);
    return 1;
}
void nvnProgramFinalize(NVNprogram* program) {
    if (!program || program->magic != kProgramMagic) {
        report(Report::bad_object, "program %p", static_cast<const void*>(program));
        return;
    }
    Host::get().remove_program(program->serial);
    Host::get().untrack(NVN_DEBUG_OBJECT_TYPE_PROGRAM, program);
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
NVNboolean nvnProgramSetSampleShading(NVNprogram* program, NVNsampleShadingMode mode) {
    if (!program || program->magic != kProgramMagic) {
        report(Report::bad_object, "program %p", static_cast<const void*>(program));
        return 0;
    }
    return Host::get().set_sample_shading(program->serial, mode);
}

} // extern "C"
