// Builds the tables of memory pools for raw accesses.
#include "runtime/replay/pool_tables.h"
#include "runtime/replay/backend.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace dmsh::replay {
namespace {

constexpr uint32_t kMostHints = 1u << 16; // 512 KB beside at least 128 KB of entries

} // namespace

PoolTable build_pool_table(const std::vector<PoolPlace>& places) {
    PoolTable t;
    std::vector<PoolTableEntry> entries(1);
    uint64_t end = 0, chunks = 0;
    size_t left_out = 0;
    for (const PoolPlace& p : places) {
        const uint64_t guest = reinterpret_cast<uint64_t>(p.pool.memory);
        const uint64_t from = std::max(guest, end), to = guest + p.pool.size;
        if (from >= to)
            continue;
        if (entries.size() == kPoolTableMost) {
            ++left_out;
            continue;
        }
        end = to;
        entries.push_back({from, to, p.device - guest, 0});
        t.pools.push_back(p.pool);
        chunks += ((to - 1) >> kPoolChunkBits) - (from >> kPoolChunkBits) + 1;
    }
    if (left_out)
        nvn::report(nvn::Report::unsupported, "%zu memory pools more than raw accesses can reach, from 0x%llx on", left_out,
                    static_cast<unsigned long long>(end));
    t.entries = std::max<uint32_t>(kPoolTableEntries, std::bit_ceil(static_cast<uint32_t>(entries.size())));
    t.hints = std::bit_ceil(static_cast<uint32_t>(std::clamp<uint64_t>(chunks, 1, kMostHints)));

    // A chunk's hint names the entry with the most of its bytes; where two chunks share a hint the first has it.
    std::vector<PoolTableHint> hints(t.hints, PoolTableHint{0, 0});
    std::vector<uint64_t> share(t.hints, 0);
    for (uint32_t k = 1; k < entries.size(); ++k) {
        const PoolTableEntry& e = entries[k];
        const uint64_t first = e.start >> kPoolChunkBits, last = (e.end - 1) >> kPoolChunkBits;
        for (uint64_t c = first; c <= last && c - first < kMostHints; ++c) {
            const uint64_t bytes = std::min(e.end, (c + 1) << kPoolChunkBits) - std::max(e.start, c << kPoolChunkBits);
            const size_t at = c & (t.hints - 1);
            const bool own = hints[at].entry && hints[at].chunk == static_cast<uint32_t>(c);
            if (hints[at].entry && (!own || bytes <= share[at]))
                continue;
            hints[at] = {static_cast<uint32_t>(c), k};
            share[at] = bytes;
        }
    }
    entries[0] = {0, 0, t.entries, t.hints};
    entries.resize(t.entries, {~uint64_t{0}, ~uint64_t{0}, 0, 0});
    t.bytes.resize(entries.size() * sizeof(PoolTableEntry) + hints.size() * sizeof(PoolTableHint));
    std::memcpy(t.bytes.data(), entries.data(), entries.size() * sizeof(PoolTableEntry));
    std::memcpy(t.bytes.data() + entries.size() * sizeof(PoolTableEntry), hints.data(), hints.size() * sizeof(PoolTableHint));
    return t;
}

const std::shared_ptr<const PoolTable>& PoolTables::current(const Backend& backend) {
    const uint64_t generation = nvn::Host::get().pools_generation();
    if (current_ && generation == generation_)
        return current_;
    generation_ = generation;
    std::vector<PoolPlace> places;
    for (const nvn::PoolInfo& p : nvn::Host::get().addressed_pools())
        if (const uint64_t device = backend.device_address(p))
            places.push_back({p, device});
    PoolTable fresh = build_pool_table(places);
    if (current_ && current_->bytes == fresh.bytes)
        return current_; // what changed is not in the table
    fresh.id = ++counts_.tables;
    current_ = std::make_shared<const PoolTable>(std::move(fresh));
    return current_;
}

} // namespace dmsh::replay
