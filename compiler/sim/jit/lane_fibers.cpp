// The scheduler of LaneFibers.
#include "compiler/sim/jit/lane_fibers.h"
#include <algorithm>

#if defined(__SANITIZE_ADDRESS__)
#define DMSH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DMSH_ASAN 1
#endif
#endif
#ifdef DMSH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace dmsh::sim {
namespace {

thread_local LaneFibers* starting = nullptr; // makecontext passes no pointers

void switch_begins([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* bottom, [[maybe_unused]] size_t size) {
#ifdef DMSH_ASAN
    __sanitizer_start_switch_fiber(fake_stack, bottom, size);
#endif
}
void switch_ends([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** bottom, [[maybe_unused]] size_t* size) {
#ifdef DMSH_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, bottom, size);
#endif
}

} // namespace

void LaneFibers::start() { starting->first_steps(); }

void LaneFibers::first_steps() {
    switch_ends(nullptr, &scheduler_stack_, &scheduler_stack_bytes_);
    (*body_)(current_);
    fibers_[current_].wait = Wait::done;
    leave(fibers_[current_], true);
}

void LaneFibers::enter(Fiber& f) {
    void* fake = nullptr;
    switch_begins(&fake, stacks_[current_].get(), stack_bytes_);
    starting = this;
    swapcontext(&scheduler_, &f.context);
    switch_ends(fake, nullptr, nullptr);
}

void LaneFibers::leave(Fiber& f, bool for_good) {
    switch_begins(for_good ? nullptr : &f.fake_stack, scheduler_stack_, scheduler_stack_bytes_);
    swapcontext(&f.context, &scheduler_);
    switch_ends(f.fake_stack, &scheduler_stack_, &scheduler_stack_bytes_);
}

void LaneFibers::wait(Wait what, uintptr_t site) {
    Fiber& f = fibers_[current_];
    f.wait = what;
    f.site = site;
    leave(f, false);
}

void LaneFibers::stop() {
    stopped_ = true;
    for (;;)
        leave(fibers_[current_], true);
}

bool LaneFibers::run(uint32_t count, const std::function<void(uint32_t)>& body, const Meeting& meet, const Meeting& barriers) {
    body_ = &body;
    stopped_ = false;
    fibers_.assign(count, Fiber{});
    while (stacks_.size() < count)
        stacks_.emplace_back(new uint8_t[stack_bytes_]);
    for (uint32_t i = 0; i < count; ++i) {
        ucontext_t& c = fibers_[i].context;
        getcontext(&c);
        c.uc_stack.ss_sp = stacks_[i].get();
        c.uc_stack.ss_size = stack_bytes_;
        c.uc_link = nullptr;
        makecontext(&c, &LaneFibers::start, 0);
    }
    std::vector<uint32_t> group;
    for (;;) {
        bool alive = false, met = false;
        for (current_ = 0; current_ < count; ++current_) {
            if (fibers_[current_].wait == Wait::none)
                enter(fibers_[current_]);
            if (stopped_)
                return false;
            alive |= fibers_[current_].wait != Wait::done;
        }
        if (!alive)
            return true;
        for (uint32_t first = 0; first < count; first += lanes_) {
            const uint32_t end = std::min(first + lanes_, count);
            uintptr_t site = ~uintptr_t{0};
            group.clear();
            for (uint32_t i = first; i < end; ++i) {
                if (fibers_[i].wait != Wait::lanes || fibers_[i].site > site)
                    continue;
                if (fibers_[i].site < site)
                    group.clear();
                site = fibers_[i].site;
                group.push_back(i);
            }
            if (group.empty())
                continue;
            met = true;
            meet(group);
            for (const uint32_t i : group)
                fibers_[i].wait = Wait::none;
        }
        if (met)
            continue;
        // Whoever is left waits at a barrier.
        group.clear();
        for (uint32_t i = 0; i < count; ++i)
            if (fibers_[i].wait == Wait::barrier)
                group.push_back(i);
        if (barriers)
            barriers(group);
        else
            for (const uint32_t i : group)
                open(i);
    }
}

} // namespace dmsh::sim
