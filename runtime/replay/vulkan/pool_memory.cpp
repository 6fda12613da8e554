// Implements guest pools as Vulkan buffers.
#include "runtime/replay/vulkan/pool_memory.h"
#include <cstring>

namespace dmsh::replay::vulkan {

PoolMemory::~PoolMemory() {
    for (Pool& p : pools_)
        device_.destroy(p.buffer);
}

void PoolMemory::add(const nvn::PoolInfo& info) {
    Pool p;
    p.info = info;
    p.in_place = import_ && device_.import_buffer(info.memory, info.size, p.buffer);
    if (!p.in_place && !device_.make_buffer(info.size, p.buffer))
        return;
    pools_.push_back(p);
}

void PoolMemory::remove(const nvn::PoolInfo& info) {
    std::erase_if(pools_, [&](Pool& p) {
        if (p.info.serial != info.serial)
            return false;
        device_.destroy(p.buffer);
        return true;
    });
}

const PoolMemory::Pool* PoolMemory::pool_at(uint64_t address, uint64_t bytes) const {
    for (const Pool& p : pools_) {
        const uint64_t from = reinterpret_cast<uint64_t>(p.info.memory);
        if (address >= from && address - from < p.info.size && bytes <= p.info.size - (address - from))
            return &p;
    }
    return nullptr;
}

bool PoolMemory::find(uint64_t address, uint64_t bytes, Place& out) const {
    const Pool* p = pool_at(address, bytes);
    if (!p)
        return false;
    out = {p->buffer.buffer, address - reinterpret_cast<uint64_t>(p->info.memory)};
    return true;
}

void PoolMemory::note_write(uint64_t address, uint64_t bytes) {
    const Pool* p = pool_at(address, bytes);
    if (p && !p->in_place)
        writes_.push_back({address, bytes});
}

void PoolMemory::before_submit() {
    for (const Pool& p : pools_)
        if (!p.in_place)
            std::memcpy(p.buffer.map, p.info.memory, p.info.size);
}

void PoolMemory::after_submit(uint64_t fence) {
    if (writes_.empty())
        return;
    device_.wait(fence, ~uint64_t{0});
    for (const Write& w : writes_)
        if (const Pool* p = pool_at(w.address, w.bytes))
            std::memcpy(reinterpret_cast<void*>(w.address),
                        p->buffer.map + (w.address - reinterpret_cast<uint64_t>(p->info.memory)), w.bytes);
    writes_.clear();
}

} // namespace dmsh::replay::vulkan
