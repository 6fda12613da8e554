// Searches covers by number of shaders, over the sets that no other set contains.
#include "archivers/scan/cover.h"
#include <algorithm>

namespace dmsh {
namespace {

using Inputs = std::bitset<256>;

constexpr size_t kExact = 4;          // shaders up to which the fewest are searched for
constexpr size_t kSteps = 4'000'000;  // tries of that search; then it is left
constexpr size_t kExactSets = 400;    // sets up to which it is begun

bool contains(const Inputs& a, const Inputs& b) {
    return (b & ~a).none();
}

class Search {
  public:
    Search(const std::vector<CoverInput>& sets, const Inputs& all) : sets_(sets), all_(all) {}

    // Does a cover of `count` shaders exist? The first in order of keys.
    bool run(size_t count) {
        chosen_.clear();
        return step({}, 0, count);
    }
    const std::vector<uint64_t>& chosen() const { return chosen_; }

  private:
    bool step(const Inputs& have, size_t from, size_t left) {
        if (have == all_)
            return true;
        for (size_t i = from; left && i < sets_.size() && steps_ < kSteps; ++i) {
            ++steps_;
            if (contains(have, sets_[i].inputs))
                continue;
            chosen_.push_back(sets_[i].key);
            if (step(have | sets_[i].inputs, i + 1, left - 1))
                return true;
            chosen_.pop_back();
        }
        return false;
    }
    const std::vector<CoverInput>& sets_;
    const Inputs& all_;
    std::vector<uint64_t> chosen_;
    size_t steps_ = 0;
};

} // namespace

std::vector<uint64_t> smallest_cover(std::vector<CoverInput> shaders) {
    std::sort(shaders.begin(), shaders.end(), [](const CoverInput& a, const CoverInput& b) { return a.key < b.key; });
    Inputs all;
    // A set inside another (or equal to an earlier one) is in no smallest cover that we need.
    std::vector<CoverInput> sets;
    for (const CoverInput& s : shaders) {
        all |= s.inputs;
        if (s.inputs.none() ||
            std::any_of(sets.begin(), sets.end(), [&](const CoverInput& t) { return contains(t.inputs, s.inputs); }))
            continue;
        std::erase_if(sets, [&](const CoverInput& t) { return contains(s.inputs, t.inputs); });
        sets.push_back(s);
    }
    if (sets.size() <= kExactSets) {
        Search search(sets, all);
        for (size_t count = 1; count <= kExact; ++count)
            if (search.run(count))
                return search.chosen();
    }
    std::vector<uint64_t> chosen;
    for (Inputs have; have != all;) {
        const auto best = std::max_element(sets.begin(), sets.end(), [&](const CoverInput& a, const CoverInput& b) {
            const size_t x = (a.inputs & ~have).count(), y = (b.inputs & ~have).count();
            return x != y ? x < y : a.key > b.key;
        });
        have |= best->inputs;
        chosen.push_back(best->key);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

} // namespace dmsh
