// Counts what a test program allocates from the heap: replaces the allocation operators, so one source of a program may include it.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

inline std::atomic<uint64_t> g_allocations{0};

// The thread sanitizer brings these operators itself; there nothing is counted.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DMSH_ALLOCATIONS_NOT_COUNTED
#endif
#elif defined(__SANITIZE_THREAD__)
#define DMSH_ALLOCATIONS_NOT_COUNTED
#endif

#ifndef DMSH_ALLOCATIONS_NOT_COUNTED
// The operators below are a pair; g++ sees them inlined apart.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

void* operator new(size_t bytes) {
    ++g_allocations;
    if (void* p = std::malloc(bytes ? bytes : 1))
        return p;
    std::abort();
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
    ++g_allocations;
    return std::malloc(bytes ? bytes : 1);
}
void* operator new[](size_t bytes, const std::nothrow_t& t) noexcept { return operator new(bytes, t); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
#endif
