// Implements guest pools as Vulkan buffers.
#include "runtime/replay/vulkan/pool_memory.h"
#include <algorithm>
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

uint64_t PoolMemory::device_address(const nvn::PoolInfo& info) const {
    for (const Pool& p : pools_)
        if (p.info.serial == info.serial)
            return p.buffer.address;
    return 0;
}

void PoolMemory::note_raw_writes() {
    raw_ = true;
    raw_fence_ = device_.next_fence();
}

void PoolMemory::note(uint64_t address, uint64_t bytes, const uint8_t* data) {
    const uint64_t fence = device_.next_fence();
    if (!data) // a draw's storage buffers, bound again and again
        for (size_t i = writes_.size(); i > 0 && i + 16 > writes_.size(); --i)
            if (writes_[i - 1].address == address && writes_[i - 1].bytes == bytes && !writes_[i - 1].data &&
                writes_[i - 1].fence == fence)
                return;
    if (writes_.size() >= kMaxWrites) {
        everything_ = true;
        everything_fence_ = fence;
        return;
    }
    writes_.push_back({address, bytes, data, fence});
}

bool PoolMemory::read(uint64_t address, void* out, uint64_t bytes) const {
    const auto overlaps = [&](const Write& w) {
        return w.address < address + bytes && address < w.address + w.bytes;
    };
    if (everything_ || raw_)
        return false;
    for (const Write& w : writes_)
        if (!w.data && overlaps(w))
            return false;
    std::memcpy(out, reinterpret_cast<const void*>(address), bytes);
    for (const Write& w : writes_) {
        if (!overlaps(w))
            continue;
        const uint64_t from = std::max(address, w.address),
                       to = std::min(address + bytes, w.address + w.bytes);
        std::memcpy(static_cast<uint8_t*>(out) + (from - address), w.data + (from - w.address), to - from);
    }
    return true;
}

void PoolMemory::settle(uint64_t fence) {
    std::erase_if(writes_, [&](const Write& w) { return w.fence <= fence; });
    if (everything_fence_ <= fence)
        everything_ = false;
    if (raw_fence_ <= fence)
        raw_ = false;
}

void PoolMemory::before_submit() {
    for (const Pool& p : pools_)
        if (!p.in_place)
            std::memcpy(p.buffer.map, p.info.memory, p.info.size);
}

void PoolMemory::copy_back(const Pool& p) {
    if (!p.in_place)
        std::memcpy(p.info.memory, p.buffer.map, p.info.size);
}

void PoolMemory::after_submit(uint64_t fence, const std::function<void(const Visit&)>& raw) {
    const bool copies = std::any_of(pools_.begin(), pools_.end(), [](const Pool& p) { return !p.in_place; });
    const bool copied = std::any_of(writes_.begin(), writes_.end(), [&](const Write& w) {
        const Pool* p = pool_at(w.address, w.bytes);
        return p && !p->in_place;
    });
    if (!copied && !everything_ && !(raw_ && copies)) {
        settle(device_.completed());
        return;
    }
    device_.wait(fence, ~uint64_t{0});
    if (everything_)
        for (const Pool& p : pools_)
            copy_back(p);
    else if (raw_)
        raw([&](const nvn::PoolInfo& info) {
            for (const Pool& p : pools_)
                if (p.info.serial == info.serial)
                    copy_back(p);
        });
    for (const Write& w : writes_)
        if (const Pool* p = pool_at(w.address, w.bytes); p && !p->in_place)
            std::memcpy(reinterpret_cast<void*>(w.address),
                        p->buffer.map + (w.address - reinterpret_cast<uint64_t>(p->info.memory)), w.bytes);
    settle(fence);
}

} // namespace dmsh::replay::vulkan
