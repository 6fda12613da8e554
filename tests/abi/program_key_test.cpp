// Keys: the rules S-003, S-006 and S-019 on synthetic sections.
#include "runtime/abi/driver_segments.h"
#include "runtime/abi/program_key.h"
#include <gtest/gtest.h>
#include <vector>

namespace dmsh {
namespace {

std::vector<uint8_t> bytes(size_t n, uint8_t seed) {
    std::vector<uint8_t> v(n);
    for (size_t i = 0; i < n; ++i)
        v[i] = static_cast<uint8_t>(seed + i * 31);
    return v;
}

TEST(Key, CoversFirst0x880BytesOfControlOnly) {
    auto control = bytes(0xa10, 1);
    const auto code = bytes(0x100, 2);
    const uint64_t whole = program_key(control, code);
    EXPECT_EQ(whole, program_key(std::span(control).first(0x880), code));
    control[0x880] ^= 1;
    EXPECT_EQ(whole, program_key(control, code));
    control[0x87f] ^= 1;
    EXPECT_NE(whole, program_key(control, code));
}

TEST(Key, SkipRangeHashesAsZeros) {
    auto a = bytes(0x880, 1), b = a;
    const auto code = bytes(0x100, 2);
    b[0x778] ^= 0xff;
    EXPECT_NE(program_key(a, code), program_key(b, code));
    EXPECT_EQ(program_key(a, code, {0x770, 0x78}), program_key(b, code, {0x770, 0x78}));
    b[0x7e8] ^= 0xff;
    EXPECT_NE(program_key(a, code, {0x770, 0x78}), program_key(b, code, {0x770, 0x78}));
}

TEST(Nvn2Key, OffsetWordIsNotPartOfTheKey) {
    auto a = bytes(0xc0, 1);
    a[4] = 0xc9, a[5] = a[6] = a[7] = 0;
    auto b = a;
    b[0x30] ^= 0x55;
    const auto code = bytes(0x100, 2);
    EXPECT_EQ(program_key(a, code), program_key(b, code));
}

TEST(Nvn2Key, CoversWhatAllFormsOfASectionHave) {
    auto a = bytes(0xc0, 1);
    a[4] = 0xc9, a[5] = a[6] = a[7] = 0;
    const auto code = bytes(0x100, 2);
    const uint64_t key = program_key(a, code);
    auto padded = bytes(0x880, 9); // as the runtime reads it where nothing says how long it is
    std::copy(a.begin(), a.end(), padded.begin());
    EXPECT_EQ(program_key(padded, code), key);
    a[0x58] ^= 1; // the workgroup's threads
    EXPECT_NE(program_key(a, code), key);
}

TEST(Abi, TableEntriesNeedAlignment) {
    const GuestAbi& nvn = guest_abi(GuestAbiId::nvn);
    EXPECT_EQ(nvn.storage[static_cast<int>(Stage::mesh)].entry(0x770), 0u);
    EXPECT_EQ(nvn.storage[static_cast<int>(Stage::mesh)].entry(0x7b0), 4u);
    EXPECT_FALSE(nvn.storage[static_cast<int>(Stage::mesh)].entry(0x774));
    EXPECT_EQ(nvn.textures.entry(0x20 + 8 * 39), 39u);
    EXPECT_FALSE(nvn.textures.entry(0x20 + 8 * 40));
    EXPECT_EQ(guest_abi_by_name("headsurface")->handle_bank, 4);
    EXPECT_EQ(guest_abi_by_name("nope"), nullptr);
}

} // namespace
} // namespace dmsh
