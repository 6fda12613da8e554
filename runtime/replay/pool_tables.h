// The tables of memory pools that raw accesses search (pool_table.h of the ABI), and the words that name them, re-pointed at every commit.
#pragma once
#include "runtime/abi/pool_table.h"
#include "runtime/nvn/host.h"
#include <memory>
#include <vector>

namespace dmsh::replay {

class Backend;

// One table: never changed after it was built, since earlier work may read it still. A backend keeps the device's
// copy, and beside it a zeroed write log of log_bytes(), under `id`; a log's bits mean this table and no other (B-067).
struct PoolTable {
    uint64_t id = 0; // never reused
    std::vector<uint8_t> bytes;
    uint32_t entries = 0, hints = 0;
    std::vector<nvn::PoolInfo> pools; // of entries 1, 2, ...; cut where pools overlap

    uint32_t log_bytes() const { return entries / 8; }
    // Calls `each` with the pools whose bits a finished log has set. `log` holds log_bytes().
    template <class F>
    void written(const uint32_t* log, F each) const {
        for (size_t k = 1; k <= pools.size(); ++k)
            if (log[k / 32] >> (k % 32) & 1)
                each(pools[k - 1]);
    }
};

// A pool's guest range and where the same bytes lie on the device.
struct PoolPlace {
    nvn::PoolInfo pool;
    uint64_t device = 0; // address of the pool's first byte
};

// Lays a table out. `places` are in the order of their guest addresses; where they overlap the earlier one has the
// bytes. Entries: a power of two of at least 4,096, so that a search takes log2 of them; hints: enough for one each
// of the touched chunks of 2 MiB, at most 65,536. What does not fit 2^20 entries is left out (reported).
PoolTable build_pool_table(const std::vector<PoolPlace>& places);

class PoolTables {
  public:
    // Words that named a table when work was committed (B-069).
    struct Counts {
        uint64_t words = 0;   // noted since start
        uint64_t older = 0;   // of them: held an older table than the newest
        uint64_t lagging = 0; // of them: held the newest, which lacked a change of pools
        uint64_t tables = 0;  // built since start
    };

    // The table of the pools as they are now: those of which the guest holds an address and that the backend can
    // reach. A new one when they changed, else the last. Under submit_lock().
    const std::shared_ptr<const PoolTable>& current(const Backend& backend);
    // Work that is encoded holds `table`'s address; `word` is the backend's name for the place, in which table and log
    // stand together.
    void note(uint64_t word, std::shared_ptr<const PoolTable> table) { noted_.push_back({word, std::move(table)}); }
    // The backend is about to hand encoded work to the GPU, the whole of a submission, a part of it, or what a wait in
    // its middle needs: `repoint(word, table)` for each noted word whose table is not that of the pools of now. Words are
    // forgotten: what runs keeps its table.
    template <class F>
    void commit(const Backend& backend, F repoint) {
        if (noted_.empty())
            return;
        const std::shared_ptr<const PoolTable> before = current_, now = current(backend);
        for (Word& w : noted_) {
            ++counts_.words;
            if (w.table == now)
                continue;
            ++(w.table == before ? counts_.lagging : counts_.older);
            repoint(w.word, now);
        }
        noted_.clear();
    }
    const Counts& counts() const { return counts_; }

  private:
    struct Word {
        uint64_t word;
        std::shared_ptr<const PoolTable> table;
    };
    std::shared_ptr<const PoolTable> current_;
    uint64_t generation_ = 0; // Host::pools_generation() that current_ is of
    std::vector<Word> noted_;
    Counts counts_;
};

} // namespace dmsh::replay
