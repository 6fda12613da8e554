// Worker threads over an index range: results go to slots, so that the outcome does not depend on the worker count.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace dmsh {

// Calls body(i) once for each i in [0, count) on up to `workers` threads (0 = one per hardware thread). Indices are handed out in
// order, so big items should come first. `body` must not throw.
template <class Body> void parallel_for(size_t count, unsigned workers, Body body) {
    if (workers == 0)
        workers = std::max(1u, std::thread::hardware_concurrency());
    workers = static_cast<unsigned>(std::min<size_t>(workers, count));
    if (workers <= 1) {
        for (size_t i = 0; i < count; ++i)
            body(i);
        return;
    }
    std::atomic<size_t> next{0};
    const auto work = [&] {
        for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1))
            body(i);
    };
    std::vector<std::thread> threads;
    for (unsigned t = 1; t < workers; ++t)
        threads.emplace_back(work);
    work();
    for (std::thread& t : threads)
        t.join();
}

} // namespace dmsh
