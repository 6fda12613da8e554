// WorkBudget: how much reading one input file may cause, however its members nest.
#pragma once
#include "runtime/abi/result.h"
#include <algorithm>
#include <atomic>
#include <cstdint>

namespace dmsh {

constexpr uint64_t kBudgetFactor = 16;          // both budgets, times the file's size
constexpr unsigned kMaxNesting = 16;            // archives in archives
constexpr uint64_t kMaxAllocation = 1ull << 30; // one decoded member
// Small files, and blank data above all, compress better than 16 times: up to here no file is refused.
constexpr uint64_t kBudgetFloor = 1ull << 20;
constexpr uint64_t kGzipFloor = 1ull << 30; // gzip streams may add up to this, or 16 times the file

// One per file of the input, shared by the workers that read its members. `stored`: sizes of the members opened
// below the file, as they lie in their archives. `expanded`: what decoding gives, charged before decoding
// wherever the size is declared. Whether anything was refused is remembered: which member met the limit then
// depends on the workers' order, and the scan reads the file again with one.
class WorkBudget {
  public:
    explicit WorkBudget(uint64_t file_bytes)
        : stored_(std::max(times(file_bytes), kBudgetFloor)), expanded_(stored_.load()),
          gzip_(std::max(times(file_bytes), kGzipFloor)) {}

    Result<void> charge_stored(uint64_t bytes) {
        return take(stored_, bytes) ? Result<void>()
                                    : Error{"the archive members add up to more than 16 times the file"};
    }
    Result<void> charge_expanded(uint64_t bytes) {
        if (bytes > kMaxAllocation)
            return Error{"a member expands to more than 1 GiB"};
        return take(expanded_, bytes) ? Result<void>()
                                      : Error{"the archive members expand to more than 16 times the file"};
    }
    Result<void> charge_gzip(uint64_t bytes) {
        return bytes <= kMaxAllocation && take(gzip_, bytes) ? Result<void>()
                                                             : Error{"decodes to more than the budget"};
    }
    uint64_t expanded_left() const { return std::min(expanded_.load(), kMaxAllocation); }
    uint64_t gzip_left() const { return std::min(gzip_.load(), kMaxAllocation); }

    // Another file joins what the budgets are 16 times of.
    void grow(uint64_t file_bytes) {
        for (std::atomic<uint64_t>* account : {&stored_, &expanded_, &gzip_})
            if (*account + times(file_bytes) >= *account)
                *account += times(file_bytes);
    }
    // Was a charge refused, or a stream without a declared size cut off?
    bool exhausted() const { return exhausted_; }
    void set_exhausted() { exhausted_ = true; }

  private:
    static uint64_t times(uint64_t n) {
        return n > ~uint64_t{0} / kBudgetFactor ? ~uint64_t{0} : n * kBudgetFactor;
    }
    bool take(std::atomic<uint64_t>& account, uint64_t bytes) {
        for (uint64_t left = account; left >= bytes;)
            if (account.compare_exchange_weak(left, left - bytes))
                return true;
        exhausted_ = true;
        return false;
    }
    std::atomic<uint64_t> stored_, expanded_, gzip_;
    std::atomic<bool> exhausted_{false};
};

} // namespace dmsh
