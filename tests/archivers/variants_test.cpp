// Forms that the documents allow and our writers do not give: made here from what they give, byte by byte.
#include "tests/archivers/found.h"
#include "tests/writers/nintendo_archives.h"
#include "tests/writers/nintendo_packs.h"
#include <fcntl.h>
#include <unistd.h>

namespace dmsh {
namespace {

using namespace writers;

Pair shader(uint32_t counter) {
    return small_pair(Stage::fragment, counter);
}

Data file_of(uint32_t counter) {
    return bnsh(std::vector<std::vector<Pair>>{{shader(counter)}});
}

void set_be(Data& d, uint64_t at, uint32_t v) {
    for (int i = 0; i < 4; ++i)
        d[at + static_cast<uint64_t>(i)] = static_cast<uint8_t>(v >> (24 - 8 * i));
}

Data two_entries() {
    return bea(std::vector<BeaEntry>{{"a", file_of(1), false}, {"b", file_of(2), true}}, 0x60000);
}

TEST(Variants, BeaWhoseLastEntryLeadsNowhere) {
    Data d = two_entries();
    const uint64_t first = Bytes(d).u64(0x28), second = first + Bytes(d).u32(first + 4);
    set_word(d, second + 4, 0);
    expect_pairs(d, {shader(1), shader(2)}, "bea");
}

TEST(Variants, BeaWhoseEntriesAreListedOnly) {
    Data d = two_entries();
    const uint64_t first = Bytes(d).u64(0x28), second = first + Bytes(d).u32(first + 4);
    // The second entry moves to the end, the array at the end names both.
    d.resize((d.size() + 7) / 8 * 8);
    const uint64_t moved = d.size();
    d.insert(d.end(), d.begin() + static_cast<ptrdiff_t>(second), d.begin() + static_cast<ptrdiff_t>(second) + 0x48);
    std::memset(d.data() + second, 0, 4);
    const uint64_t array[] = {first, moved}, at = d.size();
    d.resize(at + sizeof array);
    std::memcpy(d.data() + at, array, sizeof array);
    std::memcpy(d.data() + 0x30, &at, 8);
    expect_pairs(d, {shader(1), shader(2)}, "bea");
}

TEST(Variants, GfpakOffsetsOfWhichHalfIsUsed) {
    Data d = gfpak(std::vector<PackedFile>{{"a", file_of(1), Packing::lz4}, {"b", file_of(2), Packing::none}});
    set_word(d, Bytes(d).u64(0x18) + 0x14, 0xcc);
    expect_pairs(d, {shader(1), shader(2)}, "gfpak");
}

TEST(Variants, NarcWhoseFirstHeaderIsBigEndian) {
    Data d = narc(std::vector<Member>{{"a", file_of(1)}});
    set_be(d, 0x08, Bytes(d).u32(0x08));
    d[0x0c] = 0, d[0x0d] = 0x10;
    expect_pairs(d, {shader(1)}, "narc");
}

TEST(Variants, NarcMembersThatTellThemselvesWithoutATag) {
    const std::vector<Member> inner = {{"x", file_of(2)}};
    const Data d = narc(std::vector<Member>{{"a", glslc_output(std::vector{shader(1)})}, {"b", u8_archive(inner)}});
    expect_pairs(d, {shader(1), shader(2)}, "narc");
}

TEST(Variants, LittleEndianU8WithTheTypeFirst) {
    Data d = u8_archive(std::vector<Member>{{"x/y", file_of(1)}, {"z", file_of(2)}}, true);
    const Bytes b(d);
    const uint32_t first = b.u32(4), count = b.u32(first + 8);
    for (uint64_t node = first; node < first + 12ull * count; node += 12) {
        const uint32_t word = b.u32(node);
        set_word(d, node, word << 8 | word >> 24);
    }
    expect_pairs(d, {shader(1), shader(2)}, "u8");
}

// What lies around, between and at the edges of holes is found; the holes take no time.
TEST(Variants, HolesOfSparseFilesArePassedOver) {
    char name[] = "/tmp/dmsh_sparse_XXXXXX";
    const int fd = mkstemp(name);
    ASSERT_GE(fd, 0);
    constexpr uint64_t kBytes = 1ull << 36, kPage = 4096;
    const uint64_t places[] = {0, (3ull << 30) + kPage - 2, (5ull << 30) - 3, kBytes - (1 << 20)};
    bool written = ftruncate(fd, static_cast<off_t>(kBytes)) == 0;
    for (uint32_t i = 0; i < 4; ++i) {
        const Data d = raw_pair(shader(i + 1));
        written = written && pwrite(fd, d.data(), d.size(), static_cast<off_t>(places[i])) == static_cast<ssize_t>(d.size());
    }
    const bool sparse = lseek(fd, 1 << 20, SEEK_HOLE) == 1 << 20;
    close(fd);
    if (!written || !sparse) {
        unlink(name);
        GTEST_SKIP() << "no sparse files of that size here";
    }
    ScanOptions o;
    o.paths = {name};
    const auto r = scan(o);
    unlink(name);
    ASSERT_TRUE(r);
    for (uint32_t i = 0; i < 4; ++i)
        EXPECT_NE(r->find(key_of_pair(shader(i + 1))), nullptr) << i << errors_of(*r);
}

// One hash gives the key and more: the key is the runtime's, at every length.
TEST(Variants, ProgramHashHasTheKeyOfTheRuntime) {
    const Data code(4000, 7);
    for (const size_t control : {0u, 16u, 0x34u, 0xc0u, 0x760u, 0x880u, 0xa00u})
        for (const size_t length : {0u, 1u, 17u, 129u, 200u, 240u, 241u, 1024u, 4000u})
            for (const uint32_t major : {1u, 0xc9u})
                for (const KeySkip skip : {KeySkip{}, KeySkip{0x10, 0x20}}) {
                    Data c(control, 3);
                    if (control >= 8)
                        set_word(c, 4, major);
                    const std::span<const uint8_t> part(code.data(), length);
                    EXPECT_EQ(program_hash(c, part, skip).key, program_key(c, part, skip)) << control << " " << length;
                }
}

} // namespace
} // namespace dmsh
