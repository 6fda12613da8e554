// Memory pools and buffers. Pools are used in place: guest GPU addresses are host addresses.
#include "runtime/nvn/host.h"

namespace dmsh::nvn {
namespace {

constexpr uint64_t kPoolAlignment = kGuestPage;
constexpr uint64_t kMaxVirtual = uint64_t{64} << 30; // engines reserve that much at most

bool live(const NVNmemoryPool* pool) {
    if (pool && pool->magic == kPoolMagic)
        return true;
    report(Report::bad_object, "memory pool %p", static_cast<const void*>(pool));
    return false;
}

// The pool that a buffer record names, looked up and never followed.
std::optional<PoolInfo> pool_of(const NVNbuffer* buffer) {
    if (!buffer)
        return std::nullopt;
    auto p = Host::get().pool(buffer->pool);
    if (!p || buffer->offset < 0 || static_cast<uint64_t>(buffer->offset) > p->size) {
        report(Report::bad_object, "buffer %p", static_cast<const void*>(buffer));
        return std::nullopt;
    }
    return p;
}

} // namespace
} // namespace dmsh::nvn

using namespace dmsh::nvn;

extern "C" {

void nvnMemoryPoolBuilderSetDevice(NVNmemoryPoolBuilder* b, NVNdevice* device) {
    b->device = device;
}
void nvnMemoryPoolBuilderSetDefaults(NVNmemoryPoolBuilder* b) {
    b->memory = nullptr;
    b->size = 0;
    b->flags = NVN_MEMORY_POOL_FLAGS_CPU_UNCACHED | NVN_MEMORY_POOL_FLAGS_GPU_CACHED;
}
void nvnMemoryPoolBuilderSetStorage(NVNmemoryPoolBuilder* b, void* memory, size_t size) {
    b->memory = memory;
    b->size = size;
}
void nvnMemoryPoolBuilderSetFlags(NVNmemoryPoolBuilder* b, int flags) {
    b->flags = static_cast<uint32_t>(flags);
}
void* nvnMemoryPoolBuilderGetMemory(const NVNmemoryPoolBuilder* b) {
    return b->memory;
}
size_t nvnMemoryPoolBuilderGetSize(const NVNmemoryPoolBuilder* b) {
    return b->size;
}
NVNmemoryPoolFlags nvnMemoryPoolBuilderGetFlags(const NVNmemoryPoolBuilder* b) {
    return static_cast<NVNmemoryPoolFlags>(b->flags);
}
const NVNdevice* nvnMemoryPoolBuilderGetDevice(const NVNmemoryPoolBuilder* b) {
    return b->device;
}

NVNboolean nvnMemoryPoolInitialize(NVNmemoryPool* pool, const NVNmemoryPoolBuilder* b) {
    if (!pool || !b)
        return 0;
    const bool is_virtual = b->flags & NVN_MEMORY_POOL_FLAGS_VIRTUAL;
    const bool memory_ok = is_virtual || (b->memory && reinterpret_cast<uintptr_t>(b->memory) % kPoolAlignment == 0);
    if (!memory_ok || b->size == 0 || b->size % kPoolAlignment || (is_virtual && b->size > kMaxVirtual)) {
        report(Report::bad_argument, "memory pool of %llu bytes at %p",
               static_cast<unsigned long long>(b->size), b->memory);
        return 0;
    }
    if (Host::get().pool(pool)) // initialised twice: the first one ends here
        Host::get().remove_pool(pool);
    pool->magic = kPoolMagic;
    pool->flags = b->flags;
    pool->memory = is_virtual ? nullptr : b->memory;
    pool->size = b->size;
    if (!Host::get().add_pool(pool)) {
        pool->magic = 0;
        return 0;
    }
    Host::get().track(NVN_DEBUG_OBJECT_TYPE_MEMORY_POOL, pool);
    return 1;
}
void nvnMemoryPoolFinalize(NVNmemoryPool* pool) {
    if (!live(pool))
        return;
    Host::get().remove_pool(pool);
    Host::get().untrack(NVN_DEBUG_OBJECT_TYPE_MEMORY_POOL, pool);
    pool->magic = 0;
}
void nvnMemoryPoolSetDebugLabel(NVNmemoryPool*, const char*) {}
void* nvnMemoryPoolMap(const NVNmemoryPool* pool) {
    if (!live(pool))
        return nullptr;
    const auto p = Host::get().pool(pool);
    return p && p->cpu_access() ? p->memory : nullptr;
}
// CPU and GPU see the same bytes on every host; copies are brought up to date at submissions.
void nvnMemoryPoolFlushMappedRange(const NVNmemoryPool*, ptrdiff_t, size_t) {}
void nvnMemoryPoolInvalidateMappedRange(const NVNmemoryPool*, ptrdiff_t, size_t) {}
NVNbufferAddress nvnMemoryPoolGetBufferAddress(const NVNmemoryPool* pool) {
    const auto p = Host::get().pool(pool);
    if (!p)
        return 0;
    const uint64_t address = reinterpret_cast<uint64_t>(p->memory);
    Host::get().address_taken(pool, address);
    return address;
}
NVNboolean nvnMemoryPoolMapVirtual(NVNmemoryPool* pool, int count, const NVNmappingRequest* requests) {
    return live(pool) && Host::get().map_virtual(pool, count, requests);
}
size_t nvnMemoryPoolGetSize(const NVNmemoryPool* pool) {
    return live(pool) ? pool->size : 0;
}
NVNmemoryPoolFlags nvnMemoryPoolGetFlags(const NVNmemoryPool* pool) {
    return static_cast<NVNmemoryPoolFlags>(live(pool) ? pool->flags : 0);
}

void nvnBufferBuilderSetDevice(NVNbufferBuilder* b, NVNdevice* device) {
    b->device = device;
}
void nvnBufferBuilderSetDefaults(NVNbufferBuilder* b) {
    b->pool = nullptr;
    b->offset = 0;
    b->size = 0;
}
void nvnBufferBuilderSetStorage(NVNbufferBuilder* b, NVNmemoryPool* pool, ptrdiff_t offset, size_t size) {
    b->pool = pool;
    b->offset = offset;
    b->size = size;
}
NVNmemoryPool* nvnBufferBuilderGetMemoryPool(const NVNbufferBuilder* b) {
    return b->pool;
}
ptrdiff_t nvnBufferBuilderGetMemoryOffset(const NVNbufferBuilder* b) {
    return b->offset;
}
size_t nvnBufferBuilderGetSize(const NVNbufferBuilder* b) {
    return b->size;
}
const NVNdevice* nvnBufferBuilderGetDevice(const NVNbufferBuilder* b) {
    return b->device;
}

NVNboolean nvnBufferInitialize(NVNbuffer* buffer, const NVNbufferBuilder* b) {
    if (!buffer || !b)
        return 0;
    const auto p = Host::get().pool(b->pool);
    if (!p || b->offset < 0 || static_cast<uint64_t>(b->offset) > p->size ||
        b->size > p->size - static_cast<uint64_t>(b->offset)) {
        report(Report::bad_argument, "buffer of %llu bytes at %lld", static_cast<unsigned long long>(b->size),
               static_cast<long long>(b->offset));
        return 0;
    }
    buffer->offset = b->offset;
    buffer->size = b->size;
    buffer->pool = b->pool;
    return 1;
}
void nvnBufferFinalize(NVNbuffer*) {}
void nvnBufferSetDebugLabel(NVNbuffer*, const char*) {}
void* nvnBufferMap(const NVNbuffer* buffer) {
    const auto p = pool_of(buffer);
    return p && p->cpu_access() ? p->memory + buffer->offset : nullptr;
}
NVNbufferAddress nvnBufferGetAddress(const NVNbuffer* buffer) {
    const auto p = pool_of(buffer);
    if (!p)
        return 0;
    const uint64_t address = reinterpret_cast<uint64_t>(p->memory) + static_cast<uint64_t>(buffer->offset);
    Host::get().address_taken(buffer->pool, address);
    return address;
}
void nvnBufferFlushMappedRange(const NVNbuffer*, ptrdiff_t, size_t) {}
void nvnBufferInvalidateMappedRange(const NVNbuffer*, ptrdiff_t, size_t) {}
NVNmemoryPool* nvnBufferGetMemoryPool(const NVNbuffer* buffer) {
    return buffer ? buffer->pool : nullptr;
}
ptrdiff_t nvnBufferGetMemoryOffset(const NVNbuffer* buffer) {
    return buffer ? buffer->offset : 0;
}
size_t nvnBufferGetSize(const NVNbuffer* buffer) {
    return buffer ? buffer->size : 0;
}
uint64_t nvnBufferGetDebugID(const NVNbuffer*) {
    return 0;
}

} // extern "C"
