// LaneFibers: threads of a workgroup as fibers, which meet at operations across lanes and at barriers.
//
// Of the lanes of a simdgroup that wait, those at the earliest call site go on together, once every other lane waits too or has ended: the
// reconvergence that structured code has on hardware. A barrier opens when every thread that has not ended waits at one,
// unless the machine has rules of its own.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <ucontext.h>
#include <vector>

namespace dmsh::sim {

class LaneFibers {
  public:
    // Lanes of a group: consecutive threads. Bytes of stack for each thread.
    explicit LaneFibers(uint32_t lanes = 32, size_t stack_bytes = 64 * 1024) : lanes_(lanes), stack_bytes_(stack_bytes) {}

    // Runs `count` threads to their ends. `body` runs on the thread's fiber; `meet` gets the threads of one lane group that have met at a
    // call site, in order of their numbers, and runs between fibers. `barriers` gets the threads that have not ended once all of them wait
    // at barriers, and lets at least one go on (open); without it all go on. False: stop() was called.
    using Meeting = std::function<void(std::span<const uint32_t>)>;
    bool run(uint32_t count, const std::function<void(uint32_t)>& body, const Meeting& meet, const Meeting& barriers = {});
    // From `barriers`: the thread goes on.
    void open(uint32_t thread) { fibers_[thread].wait = Wait::none; }

    // From a fiber: wait for the lanes that come to the same site. Sites are ordered as the program is.
    void wait_lanes(uintptr_t site) { wait(Wait::lanes, site); }
    void wait_barrier() { wait(Wait::barrier, 0); }
    // From a fiber: gives the whole run up; never comes back.
    [[noreturn]] void stop();

    uint32_t current() const { return current_; }
    // The stack of a thread that runs.
    std::span<uint8_t> stack(uint32_t thread) { return {stacks_[thread].get(), stack_bytes_}; }

  private:
    enum class Wait : uint8_t { none, lanes, barrier, done };
    struct Fiber {
        ucontext_t context;
        Wait wait = Wait::none;
        uintptr_t site = 0;
        void* fake_stack = nullptr; // the address sanitizer's, while the fiber waits
    };
    void wait(Wait what, uintptr_t site);
    void leave(Fiber& f, bool for_good);
    void enter(Fiber& f);
    void first_steps();
    static void start();

    uint32_t lanes_;
    size_t stack_bytes_;
    std::vector<Fiber> fibers_;
    std::vector<std::unique_ptr<uint8_t[]>> stacks_; // kept from run to run
    ucontext_t scheduler_{};
    const void* scheduler_stack_ = nullptr;
    size_t scheduler_stack_bytes_ = 0;
    uint32_t current_ = 0;
    bool stopped_ = false;
    const std::function<void(uint32_t)>* body_ = nullptr;
};

} // namespace dmsh::sim
