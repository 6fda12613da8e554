// Implements receipts and event signals.
#include "runtime/replay/receipts.h"

namespace dmsh::replay {

uint64_t Receipts::add() {
    prune();
    fences_.push_back(kUnresolved);
    return base_ + fences_.size() - 1;
}

void Receipts::resolve(uint64_t receipt, uint64_t fence) {
    if (receipt >= base_ && receipt - base_ < fences_.size())
        fences_[receipt - base_] = fence;
}

bool Receipts::resolved(uint64_t receipt) const {
    return receipt < base_ || receipt - base_ >= fences_.size() || fences_[receipt - base_] != kUnresolved;
}

uint64_t Receipts::fence(uint64_t receipt) const {
    return receipt < base_ || receipt - base_ >= fences_.size() || fences_[receipt - base_] == kUnresolved
               ? 0
               : fences_[receipt - base_];
}

bool Receipts::done(uint64_t receipt) {
    if (!resolved(receipt))
        return false;
    const uint64_t f = fence(receipt);
    return f == 0 || backend_.wait(f, 0);
}

// Forgets the oldest receipts that are complete, half of the list at a time.
void Receipts::prune() {
    constexpr size_t kLeast = 256;
    if (fences_.size() < kLeast || fences_.size() < fences_.capacity())
        return;
    size_t n = 0;
    while (n < fences_.size() / 2 && fences_[n] != kUnresolved && backend_.wait(fences_[n], 0))
        ++n;
    fences_.erase(fences_.begin(), fences_.begin() + static_cast<ptrdiff_t>(n));
    base_ += n;
}

void Signals::flushed(uint64_t fence) {
    for (size_t i = pending_.size(); i > head_ && pending_[i - 1].fence == 0; --i)
        pending_[i - 1].fence = fence;
}

void Signals::publish() {
    while (head_ < pending_.size()) {
        const Signal& s = pending_[head_];
        if (s.fence == 0 || !backend_.wait(s.fence, 0))
            break;
        if (nvn::Host::get().covers(s.address, 4)) { // the pool may be gone meanwhile
            auto* word = reinterpret_cast<uint32_t*>(s.address);
            if (s.mode == NVN_EVENT_SIGNAL_MODE_ADD)
                __atomic_fetch_add(word, s.value, __ATOMIC_RELEASE);
            else
                __atomic_store_n(word, s.value, __ATOMIC_RELEASE);
        }
        ++head_;
    }
    if (head_ == pending_.size()) {
        pending_.clear();
        head_ = 0;
    }
}

bool Signals::value(uint64_t address, uint32_t& out) const {
    for (size_t i = pending_.size(); i > head_; --i) {
        const Signal& s = pending_[i - 1];
        if (s.address != address)
            continue;
        out = s.value;
        return s.mode == NVN_EVENT_SIGNAL_MODE_WRITE;
    }
    out = __atomic_load_n(reinterpret_cast<const uint32_t*>(address), __ATOMIC_ACQUIRE);
    return true;
}

} // namespace dmsh::replay
