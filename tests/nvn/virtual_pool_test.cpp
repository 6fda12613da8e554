// Virtual memory pools: page table, alias and page-mapped forms, holes, runs, textures over pages.
#include "runtime/nvn/virtual_pool.h"
#include "tests/nvn/guest.h"
#include <atomic>
#include <functional>
#include <random>
#include <thread>

namespace dmsh::nvn {
namespace {

constexpr uint64_t kPage = 4096;

class VirtualPools : public FreshHost {};

struct Virtual {
    Guest<NVNmemoryPool> pool;
    explicit Virtual(uint64_t size) {
        Guest<NVNmemoryPoolBuilder> b;
        nvnMemoryPoolBuilderSetDevice(b, nullptr);
        nvnMemoryPoolBuilderSetDefaults(b);
        nvnMemoryPoolBuilderSetStorage(b, nullptr, size);
        nvnMemoryPoolBuilderSetFlags(b, NVN_MEMORY_POOL_FLAGS_VIRTUAL | NVN_MEMORY_POOL_FLAGS_CPU_UNCACHED |
                                            NVN_MEMORY_POOL_FLAGS_GPU_CACHED);
        EXPECT_TRUE(nvnMemoryPoolInitialize(pool, b));
    }
    ~Virtual() { nvnMemoryPoolFinalize(pool); }
    bool map(NVNmemoryPool* physical, uint64_t physical_offset, uint64_t offset, uint64_t size) {
        const NVNmappingRequest r{physical, static_cast<int64_t>(physical_offset), static_cast<int64_t>(offset), size,
                                  0, 0};
        return nvnMemoryPoolMapVirtual(pool, 1, &r);
    }
    uint64_t address() { return nvnMemoryPoolGetBufferAddress(pool); }
};

GuestPool physical(size_t size) {
    return GuestPool(size, NVN_MEMORY_POOL_FLAGS_CPU_CACHED | NVN_MEMORY_POOL_FLAGS_GPU_CACHED |
                               NVN_MEMORY_POOL_FLAGS_PHYSICAL);
}

// Random mappings against a plain array of pages.
TEST(PageTable, EqualsAnArrayOfPages) {
    std::mt19937 random(5);
    PageTable table;
    std::vector<uint64_t> pages(64, 0); // physical page + 1
    for (int round = 0; round < 2000; ++round) {
        const uint64_t from = random() % 64, size = 1 + random() % (64 - from);
        if (random() % 2) {
            const uint64_t at = random() % 1000;
            table.map(from * kPage, {size * kPage, 1, at * kPage, 0});
            for (uint64_t i = 0; i < size; ++i)
                pages[from + i] = at + i + 1;
        } else {
            table.unmap(from * kPage, size * kPage);
            for (uint64_t i = 0; i < size; ++i)
                pages[from + i] = 0;
        }
        std::vector<uint64_t> found(64, 0);
        for (const auto& [at, piece] : table.pieces())
            for (uint64_t i = 0; i < piece.size / kPage; ++i) {
                ASSERT_EQ(found[at / kPage + i], 0u);
                found[at / kPage + i] = piece.physical / kPage + i + 1;
            }
        ASSERT_EQ(found, pages);
        // Runs are the maximal mapped stretches that touch the range.
        const uint64_t a = random() % 64, n = 1 + random() % (64 - a);
        bool any = false;
        for (uint64_t i = a; i < a + n; ++i)
            any |= pages[i] != 0;
        EXPECT_EQ(table.any(a * kPage, n * kPage), any);
        size_t expected = 0;
        for (uint64_t i = 0; i < 64;) {
            if (!pages[i]) {
                ++i;
                continue;
            }
            uint64_t end = i;
            while (end < 64 && pages[end])
                ++end;
            expected += i <= a + n && end >= a;
            i = end;
        }
        ASSERT_EQ(table.runs(a * kPage, n * kPage).size(), expected);
    }
}

TEST_F(VirtualPools, WholeFirstRequestMakesAnAlias) {
    GuestPool p = physical(0x20000);
    Virtual v(0x10000);
    ASSERT_TRUE(v.map(p.get(), 0x4000, 0, 0x10000));
    EXPECT_EQ(v.address(), p.address() + 0x4000);
    EXPECT_EQ(nvnMemoryPoolMap(v.pool), p.memory() + 0x4000);
}

TEST_F(VirtualPools, AnAddressThatIsOutMakesThePoolSparse) {
    GuestPool p = physical(0x20000);
    Virtual v(0x10000);
    const uint64_t before = v.address();
    ASSERT_NE(before, 0u);
    ASSERT_TRUE(v.map(p.get(), 0x4000, 0, 0x10000));
    EXPECT_EQ(v.address(), before);
    p.memory()[0x4123] = 77;
    EXPECT_EQ(reinterpret_cast<const uint8_t*>(before)[0x123], 77);
}

TEST_F(VirtualPools, BothAddressesNameTheSameMemory) {
    GuestPool p = physical(0x20000);
    std::memset(p.memory(), 1, p.size());
    Virtual v(0x100000);
    ASSERT_TRUE(v.map(p.get(), 0x3000, 0x81000, 0x2000));
    const uint64_t base = v.address();
    auto* here = reinterpret_cast<uint8_t*>(base + 0x81000);
    EXPECT_EQ(here[0], 1); // what was there before the mapping
    here[5] = 9;
    EXPECT_EQ(p.memory()[0x3005], 9);
    p.memory()[0x4fff] = 8;
    EXPECT_EQ(here[0x1fff], 8);
    EXPECT_TRUE(Host::get().pool_at(base + 0x81000, 0x2000));
    EXPECT_FALSE(Host::get().pool_at(base + 0x81000, 0x2001));
    EXPECT_FALSE(Host::get().pool_at(base + 0x80fff, 1));
    EXPECT_TRUE(Host::get().in_reservation(base));
    EXPECT_FALSE(Host::get().in_reservation(0x1000));
}

TEST_F(VirtualPools, HolesReadZeroAndDropStores) {
    GuestPool p = physical(0x10000);
    std::memset(p.memory(), 7, p.size());
    Virtual v(0x100000);
    ASSERT_TRUE(v.map(p.get(), 0, 0x1000, 0x1000));
    ASSERT_TRUE(v.map(p.get(), 0x5000, 0x3000, 0x1000));
    const uint64_t base = v.address();
    std::vector<uint8_t> bytes(0x5000, 0xee);
    ASSERT_TRUE(Host::get().read_guest(base, bytes.data(), bytes.size()));
    for (size_t i = 0; i < bytes.size(); ++i)
        ASSERT_EQ(bytes[i], (i >= 0x1000 && i < 0x2000) || (i >= 0x3000 && i < 0x4000) ? 7 : 0) << i;
    std::fill(bytes.begin(), bytes.end(), 3);
    ASSERT_TRUE(Host::get().write_guest(base, bytes.data(), bytes.size()));
    EXPECT_EQ(p.memory()[0], 3);
    EXPECT_EQ(p.memory()[0x5fff], 3);
    EXPECT_EQ(p.memory()[0x1000], 7);
    EXPECT_FALSE(Host::get().read_guest(base + 0x100000 - 1, bytes.data(), 2));
}

TEST_F(VirtualPools, RunsJoinAndSplit) {
    GuestPool p = physical(0x10000);
    Virtual v(0x10000);
    (void)v.address(); // sparse from the start
    ASSERT_TRUE(v.map(p.get(), 0, 0, 0x1000));
    ASSERT_TRUE(v.map(p.get(), 0x8000, 0x2000, 0x1000));
    const uint64_t base = v.address();
    EXPECT_FALSE(Host::get().pool_at(base, 0x3000));
    ASSERT_TRUE(v.map(p.get(), 0x4000, 0x1000, 0x1000)); // joins three
    EXPECT_TRUE(Host::get().pool_at(base, 0x3000));
    ASSERT_TRUE(v.map(nullptr, 0, 0x1000, 0x1000)); // splits
    EXPECT_FALSE(Host::get().pool_at(base, 0x1001));
    EXPECT_TRUE(Host::get().pool_at(base, 0x1000));
    EXPECT_TRUE(Host::get().pool_at(base + 0x2000, 0x1000));
    EXPECT_FALSE(Host::get().pool_at(base + 0x1800, 1));
}

TEST_F(VirtualPools, MoreThanAThousandRuns) {
    GuestPool p = physical(0x1000);
    Virtual v(uint64_t{4096} * kPage);
    const uint64_t base = v.address();
    for (uint64_t i = 0; i < 1100; ++i)
        ASSERT_TRUE(v.map(p.get(), 0, 2 * i * kPage, kPage));
    for (uint64_t i = 0; i < 1100; ++i)
        ASSERT_TRUE(Host::get().pool_at(base + 2 * i * kPage, kPage)) << i;
    EXPECT_EQ(report_count(Report::sparse_runs), 1u);
}

TEST_F(VirtualPools, ManyPoolsAtOnce) {
    GuestPool p = physical(0x10000);
    std::vector<std::unique_ptr<Virtual>> pools;
    for (int i = 0; i < 221; ++i) {
        pools.push_back(std::make_unique<Virtual>(uint64_t{1} << 30));
        ASSERT_TRUE(pools.back()->map(p.get(), 0x1000, 0x7000, 0x1000));
    }
    p.memory()[0x1000] = 42;
    for (auto& v : pools)
        EXPECT_EQ(*reinterpret_cast<uint8_t*>(v->address() + 0x7000), 42);
}

TEST_F(VirtualPools, PoolsKeepTheirContentWhenTheyStopBeingShared) {
    auto* memory = static_cast<uint8_t*>(std::aligned_alloc(kPage, 0x4000));
    std::memset(memory, 5, 0x4000);
    Guest<NVNmemoryPoolBuilder> b;
    nvnMemoryPoolBuilderSetDevice(b, nullptr);
    nvnMemoryPoolBuilderSetDefaults(b);
    nvnMemoryPoolBuilderSetStorage(b, memory, 0x4000);
    Guest<NVNmemoryPool> p;
    ASSERT_TRUE(nvnMemoryPoolInitialize(p, b));
    Virtual v(0x10000);
    ASSERT_TRUE(v.map(p, 0, 0x1000, 0x4000));
    reinterpret_cast<uint8_t*>(v.address())[0x1001] = 6;
    nvnMemoryPoolFinalize(p);
    EXPECT_EQ(memory[0], 5);
    EXPECT_EQ(memory[1], 6);
    std::free(memory);
}

TEST_F(VirtualPools, WrongRequestsAreRefused) {
    GuestPool p = physical(0x10000);
    Virtual v(0x10000);
    EXPECT_FALSE(v.map(p.get(), 0, 0x800, 0x1000));
    EXPECT_FALSE(v.map(p.get(), 0x800, 0, 0x1000));
    EXPECT_FALSE(v.map(p.get(), 0, 0, 0x1001));
    EXPECT_FALSE(v.map(p.get(), 0, 0, 0x11000));
    EXPECT_FALSE(v.map(p.get(), 0xf000, 0, 0x2000));
    EXPECT_FALSE(v.map(p.get(), ~uint64_t{0xfff}, 0, 0x1000));
    EXPECT_FALSE(v.map(p.get(), 0, ~uint64_t{0xfff}, 0x1000));
    EXPECT_FALSE(v.map(v.pool, 0, 0, 0x1000));
    EXPECT_FALSE(v.map(reinterpret_cast<NVNmemoryPool*>(0x1234), 0, 0, 0x1000));
    EXPECT_FALSE(nvnMemoryPoolMapVirtual(p.get(), 0, nullptr));
    EXPECT_GE(report_count(Report::bad_argument), 9u);
    EXPECT_FALSE(Host::get().pool_at(v.address(), 1));
}

// An address that is mapped all along is found by every look-up while its neighbours come and go.
TEST_F(VirtualPools, LookUpsSeeTheOldRunsOrTheNew) {
    GuestPool p = physical(0x10000);
    Virtual v(0x10000);
    const uint64_t base = v.address();
    ASSERT_TRUE(v.map(p.get(), 0x1000, 0x1000, 0x1000));
    std::atomic<bool> stop{false};
    std::atomic<int> missing{0};
    std::thread reader([&] {
        while (!stop)
            missing += !Host::get().pool_at(base + 0x1000, 0x1000);
    });
    for (int i = 0; i < 300; ++i) {
        v.map(p.get(), 0, 0, 0x1000);
        v.map(p.get(), 0x2000, 0x2000, 0x1000);
        v.map(nullptr, 0, 0, 0x1000);
        v.map(nullptr, 0, 0x2000, 0x1000);
    }
    stop = true;
    reader.join();
    EXPECT_EQ(missing, 0);
}

// Streamed textures: made before anything is mapped, tail first, finer levels later.
// A replay that only watches: `removed` is called where the real one waits for the GPU.
struct Watcher final : Executor {
    std::function<void(const PoolInfo&)> removed;
    std::vector<PoolInfo> added;
    void pool_added(const PoolInfo& p) override { added.push_back(p); }
    void pool_removed(const PoolInfo& p) override {
        if (removed)
            removed(p);
    }
    void queue_added(uint32_t) override {}
    void queue_removed(uint32_t) override {}
    void program_removed(uint32_t) override {}
    void submit(uint32_t, const NVNcommandHandle*, int) override {}
    void flush() override {}
    void store_texture(const TextureDesc&) override {}
    uint64_t fence_receipt(uint32_t) override { return 1; }
    void wait_receipt(uint32_t, uint64_t) override {}
    bool receipt_done(uint64_t) override { return true; }
    uint64_t present(uint32_t, const Present&) override { return 1; }
    void publish_signals() override {}
    void advance() override {}
    bool await_receipt(uint64_t, uint64_t) override { return true; }
    void finish(uint32_t) override {}
};

// Rules 19 to 21: until the GPU has passed them, unmapped pages keep their bytes; for look-ups they are holes at once,
// and what stays mapped is there before the old run goes.
TEST_F(VirtualPools, UnmappedPagesStayUntilTheGpuHasPassedThem) {
    Watcher watcher;
    Host::get().set_executor(&watcher);
    {
        GuestPool p = physical(0x20000);
        Virtual v(0x10000);
        const uint64_t base = v.address();
        ASSERT_TRUE(v.map(p.get(), 0, 0x1000, 0x4000));
        std::memset(p.memory(), 0x5a, 0x4000);
        int waits = 0;
        watcher.added.clear();
        watcher.removed = [&](const PoolInfo& run) {
            ++waits;
            EXPECT_EQ(reinterpret_cast<uint64_t>(run.memory), base + 0x1000);
            EXPECT_EQ(run.size, 0x4000u);
            uint8_t through_table[0x4000];
            EXPECT_TRUE(Host::get().read_guest(base + 0x1000, through_table, sizeof through_table));
            for (size_t i = 0; i < sizeof through_table; ++i) {
                ASSERT_EQ(run.memory[i], 0x5a) << "the GPU may read it still";
                ASSERT_EQ(through_table[i], i / 0x1000 == 1 ? 0 : 0x5a) << "the second page is a hole";
            }
            ASSERT_EQ(watcher.added.size(), 2u);
            EXPECT_TRUE(Host::get().pool_at(base + 0x1000, 0x1000));
            EXPECT_FALSE(Host::get().pool_at(base + 0x2000));
            EXPECT_TRUE(Host::get().pool_at(base + 0x3000, 0x2000));
        };
        ASSERT_TRUE(v.map(nullptr, 0, 0x2000, 0x1000));
        EXPECT_EQ(waits, 1);
        EXPECT_TRUE(Host::get().in_reservation(base + 0x2000));
        // A page mapped anew waits the same way before it names other memory.
        std::memset(p.memory() + 0x10000, 0x77, 0x1000);
        watcher.removed = [&](const PoolInfo& run) {
            ++waits;
            for (size_t i = 0; i < run.size; i += 64)
                ASSERT_EQ(run.memory[i], 0x5a);
        };
        ASSERT_TRUE(v.map(p.get(), 0x10000, 0x1000, 0x1000));
        EXPECT_EQ(waits, 2);
        EXPECT_EQ(*reinterpret_cast<const uint8_t*>(base + 0x1000), 0x77);
        watcher.removed = nullptr;
    }
    Host::get().set_executor(nullptr);
}

TEST_F(VirtualPools, TexturesReadThroughThePageTable) {
    GuestPool p = physical(0x80000);
    Virtual v(0x100000);
    Guest<NVNtextureBuilder> b;
    nvnTextureBuilderSetDevice(b, nullptr);
    nvnTextureBuilderSetDefaults(b);
    nvnTextureBuilderSetFormat(b, NVN_FORMAT_RGBA8);
    nvnTextureBuilderSetSize2D(b, 256, 256);
    nvnTextureBuilderSetLevels(b, 9);
    nvnTextureBuilderSetFlags(b, NVN_TEXTURE_FLAGS_SPARSE);
    nvnTextureBuilderSetStorage(b, v.pool, 0x10000);
    Guest<NVNtexture> t;
    ASSERT_TRUE(nvnTextureInitialize(t, b));
    NVNtextureSparseTileLayout tiles;
    nvnTextureGetSparseTileLayout(t, &tiles);
    EXPECT_EQ(tiles.tiled_levels, 2); // 4 tiles and 1
    const uint64_t tail = 5 * 0x10000;
    EXPECT_EQ(nvnTextureGetTextureAddress(t), v.address() + 0x10000);
    std::vector<uint8_t> texels(256 * 256 * 4, 0xee);
    const NVNcopyRegion whole{0, 0, 0, 256, 256, 1}, small{0, 0, 0, 64, 64, 1};
    nvnTextureReadTexels(t, nullptr, &whole, texels.data());
    for (const uint8_t x : texels)
        ASSERT_EQ(x, 0);
    // The tail, written by the CPU into the physical pool.
    ASSERT_TRUE(v.map(p.get(), 0x3000, 0x10000 + tail, 0x6000));
    std::memset(p.memory() + 0x3000, 4, 0x6000);
    Guest<NVNtextureView> view;
    nvnTextureViewSetDefaults(view);
    nvnTextureViewSetLevels(view, 2, 1);
    nvnTextureReadTexels(t, view, &small, texels.data());
    for (size_t i = 0; i < 64 * 64 * 4; ++i)
        ASSERT_EQ(texels[i], 4);
    // One tile of level 0: the others stay zero, stores into holes are dropped.
    ASSERT_TRUE(v.map(p.get(), 0x20000, 0x10000, 0x10000));
    std::memset(texels.data(), 9, texels.size());
    nvnTextureWriteTexels(t, nullptr, &whole, texels.data());
    nvnTextureReadTexels(t, nullptr, &whole, texels.data());
    for (size_t y = 0; y < 256; ++y)
        for (size_t x = 0; x < 256 * 4; ++x)
            ASSERT_EQ(texels[y * 1024 + x], y < 128 && x < 512 ? 9 : 0);
    EXPECT_EQ(p.memory()[0x20000], 9);
}

} // namespace
} // namespace dmsh::nvn
