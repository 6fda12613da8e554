// WorkBudget: how much reading one input file may cause, however its members nest.
#pragma once
#include "runtime/abi/result.h"
#include <algorithm>
#include <cstdint>

namespace dmsh {

constexpr uint64_t kBudgetFactor = 16;          // both budgets, times the file's size
constexpr unsigned kMaxNesting = 16;            // archives in archives
constexpr uint64_t kMaxAllocation = 1ull << 30; // one decoded member
// Small files, and blank data above all, compress better than 16 times: up to here no file is refused.
constexpr uint64_t kBudgetFloor = 1ull << 20;

// One per file of the input. `stored`: sizes of the members opened below the file, as they lie in their
// archives. `expanded`: what decoding gives, charged before decoding wherever the size is declared.
class WorkBudget {
  public:
    explicit WorkBudget(uint64_t file_bytes)
        : stored_(std::max(times(file_bytes), kBudgetFloor)), expanded_(stored_) {}

    Result<void> charge_stored(uint64_t bytes) {
        if (bytes > stored_)
            return Error{"the archive members add up to more than 16 times the file"};
        stored_ -= bytes;
        return {};
    }
    Result<void> charge_expanded(uint64_t bytes) {
        if (bytes > kMaxAllocation)
            return Error{"a member expands to more than 1 GiB"};
        if (bytes > expanded_)
            return Error{"the archive members expand to more than 16 times the file"};
        expanded_ -= bytes;
        return {};
    }
    uint64_t expanded_left() const { return std::min(expanded_, kMaxAllocation); }

  private:
    static uint64_t times(uint64_t n) {
        return n > ~uint64_t{0} / kBudgetFactor ? ~uint64_t{0} : n * kBudgetFactor;
    }
    uint64_t stored_;
    uint64_t expanded_;
};

} // namespace dmsh
