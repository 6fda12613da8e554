// Guest-side helpers for tests: objects in exactly the bytes a guest reserves, with guards, and page-aligned
// pools.
#pragma once
#include "runtime/nvn/host.h"
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

namespace dmsh::nvn {

// Every test starts and ends with a host without objects; reports are counted and print nothing.
class FreshHost : public ::testing::Test {
  protected:
    void SetUp() override {
        Host::get().reset();
        reset_reports();
        set_report_sink([](Report, const char*, void*) {}, nullptr);
    }
    void TearDown() override {
        set_report_sink(nullptr, nullptr);
        Host::get().reset();
    }
};

// An object in kGuestBytes<T> bytes between two guards that must stay as they are.
template <class T>
class Guest {
  public:
    explicit Guest(uint8_t old = 0xcd) {
        std::memset(bytes_, 0xa5, sizeof bytes_);
        std::memset(bytes_ + kGuard, old, kGuestBytes<T>);
    }
    ~Guest() { EXPECT_TRUE(guards_hold()); }
    T* get() { return reinterpret_cast<T*>(bytes_ + kGuard); }
    T* operator->() { return get(); }
    operator T*() { return get(); }
    uint8_t* bytes() { return bytes_ + kGuard; }
    bool guards_hold() const {
        for (size_t i = 0; i < kGuard; ++i)
            if (bytes_[i] != 0xa5 || bytes_[kGuard + kGuestBytes<T> + i] != 0xa5)
                return false;
        return true;
    }

  private:
    static constexpr size_t kGuard = 64;
    alignas(64) uint8_t bytes_[kGuestBytes<T> + 2 * kGuard];
};

// A memory pool over page-aligned memory of its own.
class GuestPool {
  public:
    explicit GuestPool(size_t size,
                       int flags = NVN_MEMORY_POOL_FLAGS_CPU_CACHED | NVN_MEMORY_POOL_FLAGS_GPU_CACHED)
        : size_(size),
          memory_(static_cast<uint8_t*>(std::aligned_alloc(65536, (size + 65535) / 65536 * 65536))) {
        std::memset(memory_, 0, size);
        Guest<NVNmemoryPoolBuilder> b;
        nvnMemoryPoolBuilderSetDevice(b, nullptr);
        nvnMemoryPoolBuilderSetDefaults(b);
        nvnMemoryPoolBuilderSetStorage(b, memory_, size);
        nvnMemoryPoolBuilderSetFlags(b, flags);
        EXPECT_TRUE(nvnMemoryPoolInitialize(pool_, b));
    }
    ~GuestPool() {
        nvnMemoryPoolFinalize(pool_);
        std::free(memory_);
    }
    NVNmemoryPool* get() { return pool_; }
    uint8_t* memory() { return memory_; }
    uint64_t address() const { return reinterpret_cast<uint64_t>(memory_); }
    size_t size() const { return size_; }

  private:
    size_t size_;
    uint8_t* memory_;
    Guest<NVNmemoryPool> pool_;
};

} // namespace dmsh::nvn
