// The table of memory pools that raw global accesses search (rules B-060..B-069): its layout, shared by compiled shaders and the runtime.
#pragma once
#include <cstdint>

namespace dmsh {

// One pool: guest addresses start <= a < end lie `delta` below the same bytes' addresses on the device (device = guest + delta, modulo
// 2^64). The buffer behind BindingKind::pool_table holds `count` entries, then `hints` hints, all little-endian:
//   entry 0       an empty range (start = end = 0); its delta is `count`, its last word `hints`. A fresh invocation's last entry.
//   entries 1..n  the pools, disjoint, by start
//   the rest      start = end = all ones, so that a search over the whole table never chooses them
// `count` is a power of two of at least kPoolTableEntries and at most kPoolTableMost; `hints` is a power of two of at least 1.
struct PoolTableEntry {
    uint64_t start, end, delta, hints;
};
static_assert(sizeof(PoolTableEntry) == 32);

constexpr uint32_t kPoolTableEntries = 4096;
constexpr uint32_t kPoolTableMost = 1u << 20;

// Hint k, for the chunks of guest memory whose number is k modulo `hints`: chunk (address >> kPoolChunkBits, low 32 bits) has an address in
// entry `entry`. An unused hint names entry 0.
struct PoolTableHint {
    uint32_t chunk, entry;
};
constexpr unsigned kPoolChunkBits = 21;

// The buffer behind BindingKind::pool_write_log: bit (k & 31) of word k / 32 is set once a store or an atomic has gone through entry k of the
// table that is bound beside it.

} // namespace dmsh
