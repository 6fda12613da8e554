// The host's virtual pools: reservations, mapping requests, runs that the replay knows as pools of their own.
#include "runtime/nvn/virtual_pool.h"
#include "runtime/nvn/host.h"
#include "runtime/nvn/recorder.h"
#include <algorithm>
#include <cstring>

namespace dmsh::nvn {
namespace {

bool on_grid(uint64_t v, uint64_t grid) {
    return v % grid == 0;
}

} // namespace

bool Host::add_virtual(const NVNmemoryPool* object) {
    auto made = std::make_unique<VirtualPool>();
    VirtualPool& v = *made;
    v.info.object = object;
    v.info.size = object->size;
    v.info.flags = object->flags;
    v.info.serial = next_serial();
    v.info.memory = v.base = reserve_range(object->size);
    if (!v.base) {
        report(Report::bad_argument, "virtual pool of %llu bytes: the host has no such range",
               static_cast<unsigned long long>(object->size));
        return false;
    }
    const std::unique_lock hold(pools_lock_);
    virtual_pools_.push_back(std::move(made));
    return true;
}

Host::VirtualPool* Host::virtual_pool(const NVNmemoryPool* object) const {
    for (const auto& v : virtual_pools_)
        if (v->info.object == object)
            return v.get();
    return nullptr;
}

void Host::remove_virtual(const NVNmemoryPool* object) {
    const std::lock_guard submit(submit_lock_);
    VirtualPool* v = nullptr;
    {
        const std::shared_lock hold(pools_lock_);
        v = virtual_pool(object);
    }
    if (!v)
        return;
    replace_runs(*v, {0, v->info.size}, {});
    Recorders::get().forget_memory(v->base, v->info.size);
    release_range(v->base, v->info.size);
    const std::unique_lock hold(pools_lock_);
    addressed_.erase(v->info.object);
    std::erase_if(virtual_pools_, [&](const auto& x) { return x.get() == v; });
}

// Replaces the runs that touch `span` by `runs`, in one step for every look-up: the new ones are known to the
// replay before, the old ones until after.
void Host::replace_runs(VirtualPool& v, PageTable::Span span, const std::vector<PageTable::Span>& runs) {
    std::vector<PoolInfo> added, removed;
    {
        const std::shared_lock hold(pools_lock_);
        for (const PoolInfo& p : pools_)
            if (p.object == v.info.object) {
                const uint64_t from = static_cast<uint64_t>(p.memory - v.base);
                if (from <= span.from + span.size && span.from <= from + p.size)
                    removed.push_back(p);
            }
    }
    for (const PageTable::Span& run : runs) {
        PoolInfo p = v.info;
        p.memory = v.base + run.from;
        p.size = run.size;
        p.serial = next_serial();
        added.push_back(p);
        if (executor_)
            executor_->pool_added(p);
    }
    {
        const std::unique_lock hold(pools_lock_);
        std::erase_if(pools_, [&](const PoolInfo& p) {
            return std::any_of(removed.begin(), removed.end(),
                               [&](const PoolInfo& r) { return r.serial == p.serial; });
        });
        pools_.insert(pools_.end(), added.begin(), added.end());
        std::sort(pools_.begin(), pools_.end(),
                  [](const PoolInfo& a, const PoolInfo& b) { return a.memory < b.memory; });
        ++pools_generation_;
    }
    for (const PoolInfo& p : removed)
        if (executor_)
            executor_->pool_removed(p); // waits for the GPU
    v.run_count = v.run_count + added.size() - removed.size();
    if (v.run_count >= 1024 && v.run_count >= 2 * v.reported_runs) {
        v.reported_runs = v.run_count;
        report(Report::sparse_runs, "%zu separate runs in virtual pool %p", v.run_count,
               static_cast<const void*>(v.info.object));
    }
}

// The pages of a physical pool, made shareable at their first mapping.
SharedPages* Host::shared_pages(const PoolInfo& pool) {
    auto& pages = shared_pages_[pool.serial];
    if (pages)
        return pages.get();
    pages = std::make_unique<SharedPages>();
    // No buffer may keep the old pages.
    if (executor_)
        executor_->pool_removed(pool);
    const bool ok = pages->open(pool.memory, pool.size);
    if (executor_)
        executor_->pool_added(pool);
    if (!ok) {
        shared_pages_.erase(pool.serial);
        report(Report::bad_argument, "pages of pool %p cannot be shared", static_cast<const void*>(pool.object));
        return nullptr;
    }
    return pages.get();
}

bool Host::map_virtual(const NVNmemoryPool* object, int count, const NVNmappingRequest* requests) {
    const std::lock_guard submit(submit_lock_);
    VirtualPool* v = nullptr;
    {
        const std::shared_lock hold(pools_lock_);
        v = virtual_pool(object);
    }
    if (!v || count < 0 || (count && !requests)) {
        report(Report::bad_argument, "%d mapping requests for pool %p", count, static_cast<const void*>(object));
        return false;
    }
    // The first request decides: one that covers the whole pool makes it an alias of the physical one, unless an
    // address of its own range is out.
    if (v->kind == VirtualPool::Kind::fresh && count == 1 && requests[0].pool &&
        requests[0].virtual_offset == 0 && requests[0].size == v->info.size && !v->leaked) {
        const auto p = pool(requests[0].pool);
        if (p && !p->is_virtual() && requests[0].physical_offset >= 0 &&
            static_cast<uint64_t>(requests[0].physical_offset) <= p->size &&
            requests[0].size <= p->size - static_cast<uint64_t>(requests[0].physical_offset)) {
            const std::unique_lock hold(pools_lock_);
            v->kind = VirtualPool::Kind::alias;
            v->info.memory = p->memory + requests[0].physical_offset;
            v->alias_of = p->serial;
            return true;
        }
    }
    if (v->kind == VirtualPool::Kind::alias) {
        report(Report::unsupported, "mapping a virtual pool that is an alias of a physical one anew");
        return false;
    }
    v->kind = VirtualPool::Kind::sparse;
    bool all = true;
    for (int i = 0; i < count; ++i)
        all &= map_pages(*v, requests[i]);
    return all;
}

bool Host::map_pages(VirtualPool& v, const NVNmappingRequest& r) {
    const auto from = static_cast<uint64_t>(r.virtual_offset), physical = static_cast<uint64_t>(r.physical_offset);
    if (r.virtual_offset < 0 || from > v.info.size || r.size > v.info.size - from || !on_grid(from, kGuestPage) ||
        !on_grid(r.size, kGuestPage) || r.size == 0) {
        report(Report::bad_argument, "mapping of %llu bytes at 0x%llx of a virtual pool",
               static_cast<unsigned long long>(r.size), static_cast<unsigned long long>(from));
        return false;
    }
    std::optional<PoolInfo> p;
    SharedPages* pages = nullptr;
    if (r.pool) {
        p = pool(r.pool);
        if (!p || p->is_virtual() || r.physical_offset < 0 || physical > p->size || r.size > p->size - physical ||
            !on_grid(physical, kGuestPage) || !on_grid(physical, host_page_bytes()) ||
            !on_grid(from, host_page_bytes()) || !on_grid(r.size, host_page_bytes())) {
            report(Report::bad_argument, "mapping of %llu bytes at 0x%llx of physical pool %p",
                   static_cast<unsigned long long>(r.size), static_cast<unsigned long long>(physical),
                   static_cast<const void*>(r.pool));
            return false;
        }
        pages = shared_pages(*p);
        if (!pages)
            return false;
    }
    const PageTable::Span span{from, r.size};
    const bool was_mapped = v.table.any(from, r.size);
    if (was_mapped) {
        // Look-ups see holes from now on; the pages go when the GPU has passed what may use them.
        {
            const std::unique_lock hold(pools_lock_);
            v.table.unmap(from, r.size);
        }
        replace_runs(v, span, v.table.runs(from, r.size));
        Recorders::get().forget_memory(v.base + from, r.size);
        close_pages(v.base + from, r.size);
    }
    if (!pages)
        return true;
    if (!pages->alias(v.base + from, physical, r.size)) {
        report(Report::backend, "the host refuses to map %llu bytes of a virtual pool",
               static_cast<unsigned long long>(r.size));
        return false;
    }
    {
        const std::unique_lock hold(pools_lock_);
        v.table.map(from, {r.size, p->serial, physical, ++mapping_generation_});
    }
    replace_runs(v, span, v.table.runs(from, r.size));
    return true;
}

bool Host::in_reservation(uint64_t address) const {
    const std::shared_lock hold(pools_lock_);
    for (const auto& v : virtual_pools_) {
        const uint64_t base = reinterpret_cast<uint64_t>(v->base);
        if (address >= base && address - base < v->info.size)
            return true;
    }
    return false;
}

// Walks the range by what is mapped: `each(offset in the range, bytes, host memory or null for a hole)`.
template <class F>
bool Host::for_mapped(uint64_t address, uint64_t bytes, F each) const {
    if (const auto p = pool_at(address, bytes)) {
        each(0, bytes, reinterpret_cast<uint8_t*>(address));
        return true;
    }
    const std::shared_lock hold(pools_lock_);
    for (const auto& v : virtual_pools_) {
        const uint64_t base = reinterpret_cast<uint64_t>(v->base), at = address - base;
        if (address < base || at > v->info.size || bytes > v->info.size - at)
            continue;
        uint64_t done = 0;
        auto it = v->table.pieces().upper_bound(at);
        if (it != v->table.pieces().begin())
            --it;
        for (; it != v->table.pieces().end() && it->first < at + bytes; ++it) {
            const uint64_t from = std::max(it->first, at), to = std::min(it->first + it->second.size, at + bytes);
            if (to <= from)
                continue;
            if (from - at > done)
                each(done, from - at - done, nullptr);
            each(from - at, to - from, v->base + from);
            done = to - at;
        }
        if (done < bytes)
            each(done, bytes - done, nullptr);
        return true;
    }
    return false;
}

bool Host::read_guest(uint64_t address, void* out, uint64_t bytes) const {
    return for_mapped(address, bytes, [&](uint64_t at, uint64_t n, const uint8_t* memory) {
        if (memory)
            std::memcpy(static_cast<uint8_t*>(out) + at, memory, n);
        else
            std::memset(static_cast<uint8_t*>(out) + at, 0, n);
    });
}

bool Host::write_guest(uint64_t address, const void* data, uint64_t bytes) const {
    return for_mapped(address, bytes, [&](uint64_t at, uint64_t n, uint8_t* memory) {
        if (memory)
            std::memcpy(memory, static_cast<const uint8_t*>(data) + at, n);
    });
}

} // namespace dmsh::nvn
