// Raw global memory: look-ups in the pool table, run on the CPU against pools of known content (B-060..B-064).
#include "runtime/abi/pool_table.h"
#include "tests/passes/ir_shader.h"
#include "tests/support/ir_machine.h"
#include <cstring>

namespace dmsh {
namespace {

using namespace test;

constexpr uint64_t kGuest = 0x7100000000ull; // of the first pool; its bytes are the machine's, from its first on
constexpr uint64_t kDelta = IrMachine::kDeviceBase - kGuest;
constexpr uint32_t kPoolBytes = 0x1000;

// A table with pools one page long at `starts`, all mapped by the same delta.
std::vector<uint8_t> table_of(const std::vector<uint64_t>& starts, uint32_t count, const std::vector<PoolTableHint>& hints) {
    std::vector<uint8_t> bytes(count * sizeof(PoolTableEntry) + hints.size() * sizeof(PoolTableHint));
    std::vector<PoolTableEntry> entries(count, {~0ull, ~0ull, 0, 0});
    entries[0] = {0, 0, count, hints.size()};
    for (size_t k = 0; k < starts.size(); ++k)
        entries[k + 1] = {starts[k], starts[k] + kPoolBytes, kDelta, 0};
    memcpy(bytes.data(), entries.data(), count * sizeof(PoolTableEntry));
    memcpy(bytes.data() + count * sizeof(PoolTableEntry), hints.data(), hints.size() * sizeof(PoolTableHint));
    return bytes;
}

std::string constant(uint64_t address) { return std::to_string(static_cast<int64_t>(address)); }

struct Outcome {
    std::vector<uint8_t> memory, log;
    std::map<uint32_t, uint32_t> colours;
};

// Runs `body` after the pass, with guest memory word k holding 100 + k.
Outcome run(const std::string& body, std::vector<uint8_t> table, uint32_t bytes = 4 * kPoolBytes) {
    auto s = shader_from(body);
    after(s, raw_memory);
    const auto verified = verify_shader(s, true);
    EXPECT_TRUE(verified) << (verified ? "" : verified.error().text());
    IrMachine m;
    m.global.resize(bytes);
    for (uint32_t k = 0; k < bytes / 4; ++k) {
        const uint32_t v = 100 + k;
        memcpy(m.global.data() + 4 * k, &v, 4);
    }
    uint32_t log = ~0u;
    for (uint32_t k = 0; k < s.interface.bindings.size(); ++k)
        if (s.interface.bindings[k].kind == BindingKind::pool_table)
            m.buffers[k] = table;
        else if (s.interface.bindings[k].kind == BindingKind::pool_write_log)
            m.buffers[log = k].resize(kPoolTableMost / 8);
    const auto ran = m.run(std::move(s));
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().text());
    EXPECT_EQ(m.faults, "");
    return {m.global, log == ~0u ? std::vector<uint8_t>{} : m.buffers[log], m.colours};
}

std::string load(const std::string& name, uint64_t address, uint32_t colour) {
    return "  " + name + " = call i32 @dmsh.global.load.i32(i64 " + constant(address) + ")\n  call void @dmsh.frag.colour(i32 0, i32 " +
           std::to_string(colour) + ", i32 " + name + ")\n";
}

const std::vector<uint64_t> kPools = {kGuest, kGuest + 0x1000, kGuest + 0x3000}; // two adjacent ones, a gap, one more

} // namespace

TEST(RawMem, LoadsInsideAndOutsideOfPools) {
    const auto r = run(load("%a", kGuest, 0) + load("%b", kGuest + 0x1ffc, 1) + load("%c", kGuest + 0x2000, 2) + load("%d", kGuest + 0x3004, 3) +
                           load("%e", kGuest - 4, 4) + load("%f", 0, 5) + load("%g", ~0ull - 3, 6) + load("%h", kGuest + 0x4000, 7) + "  ret void",
                       table_of(kPools, kPoolTableEntries, {{0, 0}}));
    const std::map<uint32_t, uint32_t> expected = {{0, 100}, {1, 100 + 0x1ffc / 4}, {2, 0}, {3, 100 + 0x3004 / 4}, {4, 0}, {5, 0}, {6, 0}, {7, 0}};
    EXPECT_EQ(r.colours, expected);
}

TEST(RawMem, LastEntryHintAndSearchAgree) { // B-063: runs that stay, leave and return; a wrong hint; adjacent pools
    const auto chunk = static_cast<uint32_t>(kGuest >> kPoolChunkBits);
    for (const PoolTableHint hint : {PoolTableHint{chunk, 1}, PoolTableHint{chunk, 3}, PoolTableHint{chunk + 1, 2}, PoolTableHint{0, 0}}) {
        std::string body;
        const uint64_t offsets[] = {0, 8, 0x1000, 0x1008, 0x3000, 4, 0x2000, 0xc, 0x3ffc};
        std::map<uint32_t, uint32_t> expected;
        for (uint32_t k = 0; k < std::size(offsets); ++k) {
            body += load("%v" + std::to_string(k), kGuest + offsets[k], k);
            expected[k] = offsets[k] == 0x2000 ? 0 : static_cast<uint32_t>(100 + offsets[k] / 4);
        }
        EXPECT_EQ(run(body + "  ret void", table_of(kPools, kPoolTableEntries, {hint})).colours, expected) << hint.chunk << " " << hint.entry;
    }
}

TEST(RawMem, SearchReachesEveryEntryOfATable) { // B-062: thousands of pools
    for (const uint32_t count : {4096u, 8192u}) {
        std::vector<uint64_t> starts;
        for (uint32_t k = 0; k + 1 < count; ++k)
            starts.push_back(kGuest + uint64_t{k} * 2 * kPoolBytes);
        const uint32_t last = count - 2;
        std::string body = load("%a", starts[last], 0) + load("%b", starts[last] + kPoolBytes, 1) + load("%c", starts[1], 2) +
                           load("%d", starts[count / 2], 3) + "  ret void";
        const auto r = run(body, table_of(starts, count, {{0, 0}}), count * 2 * kPoolBytes);
        EXPECT_EQ(r.colours.at(0), 100 + last * 2 * kPoolBytes / 4);
        EXPECT_EQ(r.colours.at(1), 0u);
        EXPECT_EQ(r.colours.at(2), 100 + 2 * kPoolBytes / 4);
        EXPECT_EQ(r.colours.at(3), 100 + count * kPoolBytes / 4);
    }
}

TEST(RawMem, StoresAndAtomicsMarkTheirPool) { // B-060, B-064
    const auto address = [](uint64_t offset) { return constant(kGuest + offset); };
    const auto r = run("  call void @dmsh.global.store.i32(i64 " + address(0x1010) + ", i32 7)\n  call void @dmsh.global.store.i32(i64 " +
                           address(0x2010) + ", i32 7)\n  call void @dmsh.global.store.i8(i64 " + address(0x3001) +
                           ", i8 -1)\n  call void @dmsh.global.store.i16(i64 " + address(0x3006) +
                           ", i16 4660)\n  %o = call i32 @dmsh.global.atomic.i32(i64 " + address(0x3010) +
                           ", i32 0, i32 5, i32 0)\n  call void @dmsh.frag.colour(i32 0, i32 0, i32 %o)\n"
                           "  %p = call i32 @dmsh.global.atomic.i32(i64 " + address(0x2010) +
                           ", i32 0, i32 5, i32 0)\n  call void @dmsh.frag.colour(i32 0, i32 1, i32 %p)\n"
                           "  %b = call i8 @dmsh.global.load.i8(i64 " + address(0x3001) +
                           ")\n  %c = zext i8 %b to i32\n  call void @dmsh.frag.colour(i32 0, i32 2, i32 %c)\n  ret void",
                       table_of(kPools, kPoolTableEntries, {{0, 0}}));
    const auto word = [&](uint32_t offset) {
        uint32_t v;
        memcpy(&v, r.memory.data() + offset, 4);
        return v;
    };
    EXPECT_EQ(word(0x1010), 7u);
    EXPECT_EQ(word(0x2010), 100 + 0x2010 / 4); // in no pool: dropped
    EXPECT_EQ(word(0x3000), ((100 + 0x3000 / 4) & ~0xff00u) | 0xff00u);
    EXPECT_EQ(word(0x3004), ((100 + 0x3004 / 4) & 0xffffu) | 4660u << 16);
    EXPECT_EQ(word(0x3010), 100 + 0x3010 / 4 + 5);
    EXPECT_EQ(r.colours.at(0), 100u + 0x3010 / 4);
    EXPECT_EQ(r.colours.at(1), 0u);
    EXPECT_EQ(r.colours.at(2), 0xffu);
    ASSERT_GE(r.log.size(), 4u);
    EXPECT_EQ(r.log[0], 0b1100); // entries 2 and 3
}

TEST(RawMem, LoadsAloneNeedNoLog) {
    auto s = shader_from(load("%a", kGuest, 0) + "  ret void");
    after(s, raw_memory);
    ASSERT_EQ(s.interface.bindings.size(), 1u);
    EXPECT_FALSE(s.interface.bindings[0].written);
}

TEST(RawMem, WordsOfOneInstructionShareALookUp) {
    auto s = shader_from("  %x = call i32 @dmsh.special(i32 0)\n  %l = zext i32 %x to i64\n"
                         "  %a = call i32 @dmsh.global.load.i32(i64 %l), !dmsh.pc !0\n  %m = add i64 %l, 4\n"
                         "  %b = call i32 @dmsh.global.load.i32(i64 %m), !dmsh.pc !0\n"
                         "  call void @dmsh.frag.colour(i32 0, i32 0, i32 %a)\n  call void @dmsh.frag.colour(i32 0, i32 1, i32 %b)\n"
                         "  ret void\n}\n!0 = !{i32 16}\ndefine void @unused() {\n  ret void");
    EXPECT_EQ(count(after(s, raw_memory), "phi i1"), 1u);
}

} // namespace dmsh
