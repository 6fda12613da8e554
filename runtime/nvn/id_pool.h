// The ids of a texture or sampler pool, with a record of what changed: a copy of the whole is patched, not made anew.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace dmsh::nvn {

// What a copy of a pool needs to be as new as the pool.
struct IdChanges {
    uint64_t generation = 0; // of the copy, 0 before the first; afterwards the pool's
    uint32_t size = 0;       // ids of the pool: 0 .. size - 1
    bool whole = false;      // too much changed to tell: take every id
    std::vector<uint32_t> ids;
};

// `Slot` has a member `used`. Not locked: the host does.
template <class Slot>
class IdPool {
  public:
    explicit IdPool(size_t count) : slots_(count) {}

    size_t size() const { return slots_.size(); }
    // False: no such id.
    bool set(int id, const Slot& slot) {
        if (id < 0 || static_cast<size_t>(id) >= slots_.size())
            return false;
        slots_[static_cast<size_t>(id)] = slot;
        if (notes_.empty())
            notes_.resize(kMostPatched);
        notes_[generation_++ % kMostPatched] = static_cast<uint32_t>(id);
        return true;
    }
    // Nothing for ids past the end and for ids that hold nothing.
    std::optional<Slot> get(uint32_t id) const {
        if (id >= slots_.size() || !slots_[id].used)
            return std::nullopt;
        return slots_[id];
    }
    void changes(IdChanges& c) const {
        c.size = static_cast<uint32_t>(slots_.size());
        c.ids.clear();
        c.whole = c.generation == 0 || c.generation > generation_ || generation_ - c.generation > kMostPatched;
        for (uint64_t g = c.generation; !c.whole && g < generation_; ++g)
            c.ids.push_back(notes_[g % kMostPatched]);
        c.generation = generation_;
    }

  private:
    static constexpr uint64_t kMostPatched = 8192; // then a copy is cheaper (rule 73)
    std::vector<Slot> slots_;
    std::vector<uint32_t> notes_; // ring: the id that made generation g into g + 1
    uint64_t generation_ = 1;
};

} // namespace dmsh::nvn
