// Receipts of queue work and signals of events: what queues and the CPU wait for.
#pragma once
#include "runtime/replay/backend.h"

namespace dmsh::replay {

// Receipts are numbers 1, 2, ...; each becomes resolved to a fence of the backend when the work before it was
// given to the GPU. All calls under Host::submit_lock().
class Receipts {
  public:
    explicit Receipts(Backend& backend) : backend_(backend) {}
    uint64_t add();
    void resolve(uint64_t receipt, uint64_t fence);
    // True for 0, numbers never given, and whatever was resolved.
    bool resolved(uint64_t receipt) const;
    // The fence behind a resolved receipt; 0 where it is known to be complete.
    uint64_t fence(uint64_t receipt) const;
    bool done(uint64_t receipt);

  private:
    static constexpr uint64_t kUnresolved = ~uint64_t{0};
    void prune();
    Backend& backend_;
    std::vector<uint64_t> fences_; // of receipts base_, base_ + 1, ...
    uint64_t base_ = 1;
};

// Signals that the GPU makes: published in order once the commands before them are complete.
class Signals {
  public:
    explicit Signals(Backend& backend) : backend_(backend) {}
    void add(uint64_t address, uint32_t mode, uint32_t value) { pending_.push_back({address, 0, mode, value}); }
    // Names the fence that ends the commands before all signals that have none yet.
    void flushed(uint64_t fence);
    bool unflushed() const { return head_ < pending_.size() && pending_.back().fence == 0; }
    // Applies the signals whose fence is complete.
    void publish();
    // The value that work given to the GPU now will see: that of the last write under way, else memory's if no
    // signal of the event is under way. False: additions are under way, the value is not known yet.
    bool value(uint64_t address, uint32_t& out) const;

  private:
    struct Signal {
        uint64_t address, fence;
        uint32_t mode, value;
    };
    Backend& backend_;
    std::vector<Signal> pending_;
    size_t head_ = 0;
};

} // namespace dmsh::replay
