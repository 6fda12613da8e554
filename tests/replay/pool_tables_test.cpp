// Raw memory's pool tables: their layout, and words that follow the pools at every commit (rules B-060..B-069).
#include "tests/nvn/guest.h"
#include "runtime/replay/interpreter.h"
#include "runtime/replay/null/null_backend.h"
#include <algorithm>
#include <bit>
#include <random>

namespace dmsh::replay {
namespace {

using nvn::Guest;
using nvn::Host;
using nvn::Report;

// What a compiled shader does with a table: hint, then a search of log2(entries) steps over all entries.
struct Reader {
    const PoolTable& table;
    PoolTableEntry entry(uint32_t k) const {
        PoolTableEntry e;
        std::memcpy(&e, table.bytes.data() + k * sizeof e, sizeof e);
        return e;
    }
    PoolTableHint hint(uint64_t chunk) const {
        PoolTableHint h;
        std::memcpy(&h, table.bytes.data() + table.entries * sizeof(PoolTableEntry) + (chunk & (table.hints - 1)) * sizeof h,
                    sizeof h);
        return h;
    }
    // Entry whose range holds the address, 0: none.
    uint32_t search(uint64_t address) const {
        uint32_t at = 0;
        for (uint32_t step = static_cast<uint32_t>(entry(0).delta) / 2; step; step /= 2)
            if (entry(at + step).start <= address)
                at += step;
        return address >= entry(at).start && address < entry(at).end ? at : 0;
    }
};

PoolPlace place(uint64_t guest, uint64_t size, uint64_t device, uint32_t serial = 1) {
    PoolPlace p;
    p.pool.memory = reinterpret_cast<uint8_t*>(guest);
    p.pool.size = size;
    p.pool.serial = serial;
    p.device = device;
    return p;
}

} // namespace

TEST(PoolTable, Build) { // B-061
    const PoolTable t = build_pool_table({place(0x100000, 0x1000, 0x900000), place(0x101000, 0x2000, 0x5000),
                                          place(0x7fff00000000, 0x10000, 0x40)});
    const Reader r{t};
    EXPECT_EQ(t.entries, 4096u);
    EXPECT_EQ(t.bytes.size(), 4096 * sizeof(PoolTableEntry) + t.hints * sizeof(PoolTableHint));
    EXPECT_EQ(t.log_bytes(), 512u);
    EXPECT_EQ(r.entry(0).start, 0u);
    EXPECT_EQ(r.entry(0).end, 0u);
    EXPECT_EQ(r.entry(0).delta, 4096u);
    EXPECT_EQ(r.entry(0).hints, t.hints);
    EXPECT_EQ(r.entry(4095).start, ~uint64_t{0});
    EXPECT_EQ(r.search(0xfffff), 0u);
    EXPECT_EQ(r.search(0x100000), 1u);
    EXPECT_EQ(r.search(0x100fff), 1u);
    EXPECT_EQ(r.search(0x101000), 2u);
    EXPECT_EQ(r.search(0x103000), 0u);
    EXPECT_EQ(r.search(0x7fff0000ffff), 3u);
    EXPECT_EQ(0x100010 + r.entry(1).delta, 0x900010u);
    EXPECT_EQ(0x101004 + r.entry(2).delta, 0x5004u) << "deltas wrap";
}

TEST(PoolTable, IsEmptyWithoutPools) {
    const PoolTable t = build_pool_table({});
    EXPECT_EQ(t.entries, 4096u);
    EXPECT_EQ(Reader{t}.search(0x1000), 0u);
    EXPECT_EQ(Reader{t}.search(~uint64_t{1}), 0u);
    EXPECT_EQ(t.hints, 1u);
}

TEST(PoolTable, OverlappingPoolsAreCut) {
    const PoolTable t = build_pool_table({place(0x10000, 0x8000, 0x10000, 1), place(0x12000, 0x1000, 0x12000, 2),
                                          place(0x16000, 0x6000, 0x16000, 3)});
    const Reader r{t};
    ASSERT_EQ(t.pools.size(), 2u) << "the second is inside of the first";
    EXPECT_EQ(r.entry(2).start, 0x18000u);
    EXPECT_EQ(r.entry(2).end, 0x1c000u);
    EXPECT_EQ(r.entry(2).delta, 0u);
    for (uint64_t a = 0x10000; a < 0x1c000; a += 0x800)
        EXPECT_NE(r.search(a), 0u);
}

TEST(PoolTable, Has5000) { // B-062, B-068: 4,118 and 4,248 pools hung the GPU where the table ended at 4,096
    std::vector<PoolPlace> places;
    for (uint32_t n : {1u, 4095u, 4096u, 4118u, 4248u, 5000u, 8191u, 8192u, 40000u}) {
        places.clear();
        for (uint32_t k = 0; k < n; ++k)
            places.push_back(place(0x1000000 + uint64_t{k} * 0x3000, 0x2000, 0x8000000000 + uint64_t{k} * 0x2000, k + 1));
        const PoolTable t = build_pool_table(places);
        const Reader r{t};
        EXPECT_EQ(t.entries, std::max(4096u, std::bit_ceil(n + 1))) << n;
        for (uint32_t k = 0; k < n; k += n > 5000 ? 97 : 1) {
            const uint64_t a = 0x1000000 + uint64_t{k} * 0x3000;
            ASSERT_EQ(r.search(a + 0x1ffc), k + 1);
            ASSERT_EQ(r.search(a + 0x2000), 0u) << "gap";
            ASSERT_EQ(a + r.entry(k + 1).delta, places[k].device);
        }
    }
}

TEST(PoolTable, HintsNameAnEntryOfTheirChunk) { // B-062: chunks of 2 MiB, 32-bit numbers, also above 4 GiB
    std::mt19937 random(5);
    std::vector<PoolPlace> places;
    uint64_t at = 0x7f0000000000;
    for (uint32_t k = 0; k < 300; ++k) {
        at += (random() % 64) * 0x10000;
        const uint64_t size = (1 + random() % 200) * 0x10000;
        places.push_back(place(at, size, at));
        at += size;
    }
    const PoolTable t = build_pool_table(places);
    const Reader r{t};
    size_t useful = 0, all = 0;
    for (const PoolPlace& p : places)
        for (uint64_t a = reinterpret_cast<uint64_t>(p.pool.memory), end = a + p.pool.size; a < end; a += 0x10000) {
            const PoolTableHint h = r.hint(a >> kPoolChunkBits);
            ++all;
            if (h.chunk != static_cast<uint32_t>(a >> kPoolChunkBits))
                continue;
            ASSERT_LT(h.entry, places.size() + 1);
            const PoolTableEntry e = r.entry(h.entry);
            EXPECT_LT(e.start, (uint64_t{a >> kPoolChunkBits} + 1) << kPoolChunkBits);
            EXPECT_GT(e.end, (a >> kPoolChunkBits) << kPoolChunkBits);
            useful += a >= e.start && a < e.end;
        }
    EXPECT_GT(useful * 10, all * 6);
}

TEST(PoolTable, LogBitsNamePools) { // B-064
    std::vector<PoolPlace> places;
    for (uint32_t k = 0; k < 100; ++k)
        places.push_back(place(0x100000 + uint64_t{k} * 0x1000, 0x1000, 1, k + 50));
    const PoolTable t = build_pool_table(places);
    std::vector<uint32_t> log(t.log_bytes() / 4);
    log[0] = 1u | 1u << 1; // entry 0 is no pool
    log[1] = 1u << 3;
    log[3] = 1u << 4;
    log[4] = 1; // past the last pool
    std::vector<uint32_t> serials;
    t.written(log.data(), [&](const nvn::PoolInfo& p) { serials.push_back(p.serial); });
    EXPECT_EQ(serials, (std::vector<uint32_t>{50, 84, 149}));
}

namespace {

// A guest that makes pools of 4 KB and dispatches a shader with raw accesses.
class RawWords : public ::testing::Test {
  protected:
    void SetUp() override {
        nvn::set_report_sink([](Report, const char*, void*) {}, nullptr);
        nvn::reset_reports();
        Host::get().reset();
        interpreter_ = std::make_unique<Interpreter>(backend_);
        Host::get().set_executor(interpreter_.get());
        pool_ = std::make_unique<nvn::GuestPool>(0x10000);
        nvnMemoryPoolGetBufferAddress(pool_->get());
        Guest<NVNqueueBuilder> b;
        nvnQueueBuilderSetDevice(b, nullptr);
        nvnQueueBuilderSetDefaults(b);
        ASSERT_TRUE(nvnQueueInitialize(queue_, b));
        auto shader = std::make_shared<nvn::Shader>();
        shader->id = 1;
        shader->reflection.interface.stage = Stage::compute;
        shader->reflection.interface.bindings.resize(2);
        shader->reflection.interface.bindings[0].kind = BindingKind::pool_table;
        shader->reflection.interface.bindings[1].kind = BindingKind::pool_write_log;
        auto program = std::make_shared<nvn::Program>();
        nvn::ProgramStage& s = program->stages[static_cast<unsigned>(Stage::compute)];
        s.present = true;
        s.stage = Stage::compute;
        s.shader = shader;
        state().programs[static_cast<unsigned>(Stage::compute)] = program;
        backend_.on_commit = [&](const auto& words) { committed_.push_back(words); };
    }
    void TearDown() override {
        pools_.clear();
        nvnQueueFinalize(queue_);
        pool_.reset();
        Host::get().reset();
        nvn::set_report_sink(nullptr, nullptr);
    }
    QueueState& state() { return *interpreter_->state(queue_->serial); }
    void dispatch() { // encoded, not committed
        const std::lock_guard hold(Host::get().submit_lock());
        nvn::DispatchRecord r{};
        r.header = {static_cast<uint16_t>(nvn::Op::dispatch), sizeof r / 4};
        r.groups[0] = r.groups[1] = r.groups[2] = 1;
        interpreter_->run(state(), reinterpret_cast<const uint8_t*>(&r), sizeof r);
    }
    void commit() {
        const std::lock_guard hold(Host::get().submit_lock());
        interpreter_->flush();
    }
    nvn::GuestPool& make_pool(bool addressed = true) {
        pools_.push_back(std::make_unique<nvn::GuestPool>(0x1000));
        if (addressed)
            nvnMemoryPoolGetBufferAddress(pools_.back()->get());
        return *pools_.back();
    }
    static bool has(const PoolTable& t, const nvn::GuestPool& pool) {
        return Reader{t}.search(pool.address()) != 0;
    }
    const PoolTables::Counts& counts() { return backend_.pool_tables().counts(); }

    NullBackend backend_;
    std::unique_ptr<Interpreter> interpreter_;
    std::unique_ptr<nvn::GuestPool> pool_;
    std::vector<std::unique_ptr<nvn::GuestPool>> pools_;
    std::vector<std::vector<std::shared_ptr<const PoolTable>>> committed_;
    Guest<NVNqueue> queue_;
};

} // namespace

TEST_F(RawWords, AnUnchangedTableLeavesThemAlone) {
    dispatch();
    dispatch();
    commit();
    ASSERT_EQ(committed_.size(), 1u);
    ASSERT_EQ(committed_[0].size(), 2u);
    EXPECT_EQ(committed_[0][0], committed_[0][1]);
    EXPECT_EQ(counts().words, 2u);
    EXPECT_EQ(counts().older + counts().lagging, 0u);
    EXPECT_EQ(counts().tables, 1u);
    EXPECT_TRUE(has(*committed_[0][0], *pool_));
}

TEST_F(RawWords, APoolMadeAfterTwoWordsIsInTheirTable) { // B-066
    dispatch();
    dispatch();
    const auto before = backend_.words[0];
    const std::vector<uint8_t> bytes = before->bytes;
    nvn::GuestPool& late = make_pool();
    commit();
    ASSERT_EQ(committed_[0].size(), 2u);
    for (const auto& table : committed_[0]) {
        EXPECT_NE(table, before) << "a new table, not the old one refilled";
        EXPECT_TRUE(has(*table, late));
        EXPECT_TRUE(has(*table, *pool_));
    }
    EXPECT_EQ(before->bytes, bytes);
    EXPECT_FALSE(has(*before, late));
    EXPECT_EQ(counts().words, 2u);
    EXPECT_EQ(counts().lagging, 2u);
    EXPECT_EQ(counts().older, 0u);
}

TEST_F(RawWords, OlderAndLaggingWordsAreCountedApart) { // B-069
    dispatch();
    make_pool();
    dispatch();
    make_pool();
    commit();
    ASSERT_EQ(committed_[0].size(), 2u);
    EXPECT_EQ(committed_[0][0], committed_[0][1]);
    EXPECT_EQ(counts().older, 1u);
    EXPECT_EQ(counts().lagging, 1u);
    EXPECT_EQ(counts().tables, 3u);
}

TEST_F(RawWords, ACommitWithoutWordsBuildsNothing) {
    make_pool();
    commit();
    EXPECT_EQ(counts().tables, 0u);
    EXPECT_EQ(counts().words, 0u);
    EXPECT_TRUE(committed_.empty());
}

TEST_F(RawWords, CommittedWordsAreNotRewrittenLater) { // a commit in the middle of a submission, as a count wait makes
    dispatch();
    commit();
    nvn::GuestPool& late = make_pool();
    dispatch();
    commit();
    ASSERT_EQ(committed_.size(), 2u);
    ASSERT_EQ(committed_[1].size(), 1u) << "the first word is not noted any more";
    EXPECT_FALSE(has(*committed_[0][0], late));
    EXPECT_TRUE(has(*committed_[1][0], late));
    EXPECT_EQ(counts().words, 2u);
}

TEST_F(RawWords, OnlyAddressedPoolsAreListed) { // B-061
    nvn::GuestPool& hidden = make_pool(false);
    nvn::GuestPool& shown = make_pool(false);
    Guest<NVNbufferBuilder> b;
    nvnBufferBuilderSetDevice(b, nullptr);
    nvnBufferBuilderSetDefaults(b);
    nvnBufferBuilderSetStorage(b, shown.get(), 0x100, 0x100);
    Guest<NVNbuffer> buffer;
    ASSERT_TRUE(nvnBufferInitialize(buffer, b));
    dispatch();
    EXPECT_FALSE(has(*backend_.words[0], shown)) << "no address of it is out";
    nvnBufferGetAddress(buffer);
    commit();
    EXPECT_TRUE(has(*committed_[0][0], shown));
    EXPECT_FALSE(has(*committed_[0][0], hidden));
    make_pool(false); // not listed: the table stays
    dispatch();
    commit();
    EXPECT_EQ(committed_[1][0], committed_[0][0]);
}

TEST_F(RawWords, FinalisedPoolsLeaveAndTheTableShrinks) {
    for (int k = 0; k < 4200; ++k)
        make_pool();
    dispatch();
    commit();
    EXPECT_EQ(committed_[0][0]->entries, 8192u);
    nvn::GuestPool& last = *pools_.back();
    EXPECT_TRUE(has(*committed_[0][0], last));
    pools_.resize(1);
    dispatch();
    commit();
    EXPECT_EQ(committed_.back()[0]->entries, 4096u);
    EXPECT_EQ(committed_.back()[0]->pools.size(), 2u);
}

TEST_F(RawWords, LogFollows) { // B-067: both slots of a call name one table, whose pools a log's bits are
    backend_.device_offset = 0x100000;
    bool seen = false;
    backend_.on_dispatch = [&](const DispatchCall& call) {
        seen = true;
        const auto& r = *call.work.resources;
        ASSERT_EQ(r.size(), 2u);
        EXPECT_EQ(r[0].kind, ResourceKind::pool_table);
        EXPECT_EQ(r[1].kind, ResourceKind::pool_write_log);
        EXPECT_EQ(*r[0].pools, *r[1].pools);
    };
    dispatch();
    EXPECT_TRUE(seen);
    nvn::GuestPool& late = make_pool();
    commit();
    const PoolTable& t = *committed_[0][0];
    const uint32_t k = Reader{t}.search(late.address());
    ASSERT_NE(k, 0u);
    EXPECT_EQ(Reader{t}.entry(k).delta, 0x100000u);
    std::vector<uint32_t> log(t.log_bytes() / 4);
    log[k / 32] = 1u << k % 32;
    std::vector<const NVNmemoryPool*> written;
    t.written(log.data(), [&](const nvn::PoolInfo& p) { written.push_back(p.object); });
    EXPECT_EQ(written, (std::vector<const NVNmemoryPool*>{late.get()}));
}

TEST_F(RawWords, MappedRunsOfVirtualPoolsAreListed) {
    Guest<NVNmemoryPoolBuilder> b;
    nvnMemoryPoolBuilderSetDevice(b, nullptr);
    nvnMemoryPoolBuilderSetDefaults(b);
    nvnMemoryPoolBuilderSetStorage(b, nullptr, 0x100000);
    nvnMemoryPoolBuilderSetFlags(b, NVN_MEMORY_POOL_FLAGS_VIRTUAL);
    Guest<NVNmemoryPool> pages;
    ASSERT_TRUE(nvnMemoryPoolInitialize(pages, b));
    const uint64_t base = nvnMemoryPoolGetBufferAddress(pages);
    dispatch();
    EXPECT_EQ(Reader{*backend_.words[0]}.search(base), 0u) << "holes read zeros";
    const NVNmappingRequest request{pool_->get(), 0, 0x10000, 0x10000, {}, 0};
    ASSERT_TRUE(nvnMemoryPoolMapVirtual(pages, 1, &request)); // the pool's pages move: what was encoded runs first
    EXPECT_EQ(committed_.size(), 1u);
    dispatch();
    commit();
    const Reader r{*committed_.back()[0]};
    EXPECT_EQ(r.search(base), 0u);
    EXPECT_NE(r.search(base + 0x10000), 0u);
    EXPECT_EQ(r.search(base + 0x20000), 0u);
    nvnMemoryPoolFinalize(pages);
}

TEST_F(RawWords, ABackendWithoutAddressesRefusesByName) {
    backend_.addresses = false;
    dispatch();
    EXPECT_EQ(backend_.dispatches, 0u);
    EXPECT_EQ(nvn::report_count(Report::unsupported), 1u);
}

// Whole pools of ids.

TEST(IdPool, TellsWhatChanged) { // rules 71 and 73
    struct Slot {
        int value = 0;
        bool used = false;
    };
    nvn::IdPool<Slot> pool(10000);
    nvn::IdChanges c;
    pool.changes(c);
    EXPECT_TRUE(c.whole) << "the first copy";
    EXPECT_EQ(c.size, 10000u);
    pool.changes(c);
    EXPECT_FALSE(c.whole);
    EXPECT_TRUE(c.ids.empty());
    EXPECT_TRUE(pool.set(7, {1, true}));
    EXPECT_TRUE(pool.set(9999, {2, true}));
    EXPECT_FALSE(pool.set(10000, {3, true})) << "past the end";
    EXPECT_FALSE(pool.set(-1, {3, true}));
    pool.changes(c);
    EXPECT_FALSE(c.whole);
    EXPECT_EQ(c.ids, (std::vector<uint32_t>{7, 9999}));
    EXPECT_EQ(pool.get(9999)->value, 2);
    EXPECT_FALSE(pool.get(8));
    EXPECT_FALSE(pool.get(10000));
    for (int k = 0; k < 8192; ++k)
        pool.set(k, {k, true});
    nvn::IdChanges same = c;
    pool.changes(same);
    EXPECT_FALSE(same.whole);
    EXPECT_EQ(same.ids.size(), 8192u);
    pool.set(0, {0, true});
    pool.changes(c);
    EXPECT_TRUE(c.whole) << "8,193 changes";
}

} // namespace dmsh::replay
