// Hostile input: every reader's fixture cut at every byte, with every word changed, mutated at random, and
// nested in itself.
#include "archivers/core/budget.h"
#include "archivers/nvn/prepare_program.h"
#include "archivers/scan/scan.h"
#include "tests/archivers/corpus.h"
#include "tests/writers/fixtures.h"
#include <chrono>
#include <random>
#include <set>

namespace dmsh {
namespace {

using writers::Buffer;
using writers::Data;
using writers::Fixture;
using writers::Member;
using writers::Pair;

Pair tiny(Stage stage, uint32_t counter = 1) {
    return writers::tiny_pair(stage, counter);
}

const std::vector<Fixture>& fixtures() {
    return writers::all_fixtures();
}

// Bytes in memory of their own, so that a sanitizer sees every byte past their end.
Blob own(const Data& d) {
    std::shared_ptr<uint8_t[]> copy(new uint8_t[d.size()]);
    if (!d.empty())
        std::memcpy(copy.get(), d.data(), d.size());
    return {Bytes(copy.get(), d.size()), copy, nullptr};
}

// Scans, and checks what must hold of any input.
ScanResult survive(const Data& d, const std::string& name = "f", const std::vector<Member>& siblings = {}) {
    std::vector<NamedBlob> files = {{name, own(d)}};
    for (const Member& m : siblings)
        files.push_back({m.name, own(m.data)});
    ScanOptions options;
    options.workers = 1;
    auto scanned = scan_memory(std::move(files), options);
    EXPECT_TRUE(scanned);
    ScanResult r = *std::move(scanned);
    for (const ShaderRecord& s : r.records) {
        EXPECT_EQ(program_key(s.control.bytes, s.code.bytes), s.key);
        (void)prepare_program(s.control.bytes, s.code.bytes);
    }
    for (const Error& e : r.errors)
        EXPECT_EQ(e.text().find('\n'), std::string::npos);
    return r;
}

ScanResult survive(const Fixture& f, const Data& d) {
    return survive(d, f.file_name, f.siblings);
}

// The places to try: all of a small fixture, and of a larger one its first bytes and an even selection.
size_t step_of(const Fixture& f, size_t places) {
    return std::max<size_t>(1, f.data.size() / places);
}

std::string lines(const ScanResult& r) {
    std::string s;
    for (const Error& e : r.errors)
        s += e.text() + "\n";
    return s;
}

TEST(Hostile, FixturesAreWhole) {
    std::set<std::string> names;
    for (const Fixture& f : fixtures()) {
        const ScanResult r = survive(f, f.data);
        EXPECT_EQ(r.records.size(), f.shaders) << f.name;
        EXPECT_TRUE(r.errors.empty()) << f.name << ": " << lines(r);
        EXPECT_TRUE(names.insert(f.name).second) << f.name << " is there twice";
    }
}

TEST(Hostile, TruncatedAtEveryByte) {
    for (const Fixture& f : fixtures()) {
        const size_t step = step_of(f, 6000);
        for (size_t n = 0; n < f.data.size(); n += n < 0x400 ? 1 : step) {
            const ScanResult r = survive(f, Data(f.data.begin(), f.data.begin() + n));
            EXPECT_LE(r.records.size(), f.shaders) << f.name << " cut to " << n;
            // What is too short to be known as its format is a data file without shaders; nothing else is
            // silent.
            const bool silent = r.errors.empty() && !r.lone_controls && r.records.size() < f.shaders;
            EXPECT_FALSE(silent && n >= f.silent_bytes) << f.name << " cut to " << n;
        }
    }
}

TEST(Hostile, EveryWordChanged) {
    for (const Fixture& f : fixtures()) {
        const uint32_t size = static_cast<uint32_t>(f.data.size());
        const size_t step = (step_of(f, 1500) + 3) / 4 * 4;
        for (size_t at = 0; at + 4 <= f.data.size(); at += at < 0x400 ? 4 : step)
            for (const uint32_t value : {0u, 1u, 0xffffffffu, 0x7fffffffu, 0x80000000u, size, size - 4,
                                         static_cast<uint32_t>(at), __builtin_bswap32(size), 0x01000000u}) {
                Data d = f.data;
                std::memcpy(d.data() + at, &value, 4);
                survive(f, d);
            }
    }
}

// Every word that could be an offset or length takes the value of another one: ranges overlap, links turn
// back.
TEST(Hostile, OffsetsOfEachOther) {
    for (const Fixture& f : fixtures()) {
        std::vector<size_t> places;
        const Bytes b(f.data);
        for (size_t at = 0; at + 4 <= f.data.size() && places.size() < 48; at += 4)
            if ((b.u32(at) && b.u32(at) < b.size()) || (b.u32be(at) && b.u32be(at) < b.size()))
                places.push_back(at);
        for (const size_t to : places)
            for (const size_t from : places) {
                Data d = f.data;
                std::memcpy(d.data() + to, f.data.data() + from, 4);
                survive(f, d);
            }
    }
}

TEST(Hostile, RandomMutations) {
    std::mt19937 random(20);
    for (const Fixture& f : fixtures())
        for (int round = 0; round < 1000; ++round) {
            Data d = f.data;
            const unsigned changes = 1 + random() % 8;
            for (unsigned i = 0; i < changes && !d.empty(); ++i) {
                const size_t at = random() % d.size();
                switch (random() % 5) {
                case 0: d[at] = static_cast<uint8_t>(random()); break;
                case 1: d[at] ^= 1 << random() % 8; break;
                case 2: { // a word of the file elsewhere
                    const size_t from = random() % d.size();
                    const size_t n = std::min<size_t>({8, d.size() - at, d.size() - from});
                    std::memmove(d.data() + at, d.data() + from, n);
                    break;
                }
                case 3: d.resize(at); break;
                default:
                    d.insert(d.begin() + static_cast<ptrdiff_t>(at), random() % 16,
                             static_cast<uint8_t>(random()));
                }
            }
            survive(f, d);
        }
}

// The other files of a format that lies in two: cut, and with every word changed.
TEST(Hostile, SiblingsAttacked) {
    for (const Fixture& f : fixtures())
        for (size_t i = 0; i < f.siblings.size(); ++i) {
            const Data& whole = f.siblings[i].data;
            const auto with = [&](Data d) {
                std::vector<Member> siblings = f.siblings;
                siblings[i].data = std::move(d);
                const ScanResult r = survive(f.data, f.file_name, siblings);
                EXPECT_LE(r.records.size(), f.shaders) << f.name;
            };
            for (size_t n = 0; n < whole.size(); n += 1 + whole.size() / 2000)
                with(Data(whole.begin(), whole.begin() + n));
            for (size_t at = 0; at + 4 <= whole.size() && at < 2000; at += 4)
                for (const uint32_t value : {0u, 1u, 0xffffffffu, 0x7fffffffu}) {
                    Data d = whole;
                    std::memcpy(d.data() + at, &value, 4);
                    with(std::move(d));
                }
        }
}

TEST(Hostile, WrongChecksumsAreSaid) {
    for (const Fixture& f : fixtures())
        for (const uint64_t at : f.checked) {
            ASSERT_LT(at, f.data.size()) << f.name;
            Data d = f.data;
            d[at] ^= 0x10;
            const ScanResult r = survive(f, d);
            EXPECT_FALSE(r.errors.empty()) << f.name << " changed at " << at;
        }
}

// Each container around itself, and around all others: sixteen levels are read, the next is refused by name.
TEST(Hostile, NestsSixteenDeepAndNoFurther) {
    Data noise(1 << 16); // so that what is wrapped expands little
    std::mt19937 random(23);
    for (uint8_t& b : noise)
        b = static_cast<uint8_t>(random());
    Buffer inner;
    inner.append(writers::raw_pair(tiny(Stage::fragment, 7)));
    inner.append(noise);
    for (const Fixture& f : fixtures()) {
        if (!f.wrap)
            continue;
        Data d = inner.bytes;
        for (unsigned depth = 0; depth < kMaxNesting; ++depth)
            d = f.wrap(d);
        ScanResult r = survive(f, d);
        EXPECT_EQ(r.records.size(), 1u) << f.name << "\n" << lines(r);
        r = survive(f, f.wrap(d));
        EXPECT_TRUE(r.records.empty()) << f.name;
        // Where each level takes as many bytes as the file, the budget of 16 files ends at the same place.
        EXPECT_TRUE(lines(r).find("nest more than 16 deep") != std::string::npos ||
                    lines(r).find("16 times the file") != std::string::npos)
            << f.name << "\n"
            << lines(r);
    }
}

// Much from little: refused by name, or read within the budgets.
TEST(Hostile, ExpansionPastTheBudgets) {
    for (const Fixture& f : fixtures()) {
        if (!f.wrap)
            continue;
        const Data zeros(8 << 20);
        Data d = f.wrap(zeros);
        const bool packs = d.size() * kBudgetFactor < zeros.size();
        const ScanResult r = survive(f, d);
        const bool own_allowance = f.name.find("gzip") != std::string::npos; // and a larger one
        EXPECT_TRUE(!packs || own_allowance || lines(r).find("16 times") != std::string::npos)
            << f.name << "\n"
            << lines(r);
        for (int layer = 0; layer < 3; ++layer)
            d = f.wrap(d);
        survive(f, d);
    }
}

TEST(Hostile, RandomBytesBehindEveryMagic) {
    std::mt19937 random(21);
    const std::pair<std::string_view, size_t> magics[] = {{"SARC", 0},
                                                          {"Yaz0", 0},
                                                          {{"\x28\xb5\x2f\xfd", 4}, 0},
                                                          {"NSO0", 0},
                                                          {"NRO0", 0x10},
                                                          {"IVFC", 0},
                                                          {"FSHA    ", 0},
                                                          {{"\x91\x68\x86\x19", 4}, 0},
                                                          {{"\x34\x12\x76\x98", 4}, 0},
                                                          {{"BNSH\0\0\0\0", 8}, 0},
                                                          {"PK\3\4", 0},
                                                          {"VZIP", 0},
                                                          {"\x1f\x8b\x08", 0},
                                                          {"XNBS\5", 0},
                                                          {{"MGFX\x08\0", 6}, 0},
                                                          {{"MGFX\x05\1", 6}, 0},
                                                          {"NDSR", 0},
                                                          {"NDVE", 0},
                                                          {"VIPR", 0},
                                                          {{"NVSB\x65\0\0\0", 8}, 0},
                                                          {{"TEC\0", 4}, 0}};
    for (const auto& [magic, at] : magics)
        for (int round = 0; round < 200; ++round) {
            Data d(0x20 + random() % 0x1000);
            for (auto& b : d)
                b = random() % 3 ? static_cast<uint8_t>(random()) : 0;
            std::memcpy(d.data() + at, magic.data(), magic.size());
            survive(d);
        }
}

TEST(Hostile, OtherFilesAreIntact) {
    std::mt19937 random(22);
    const Data good = writers::raw_pair(tiny(Stage::fragment, 99));
    for (const Fixture& f : fixtures()) {
        Data bad = f.data;
        for (int i = 0; i < 20; ++i)
            bad[random() % bad.size()] ^= 0x80;
        std::vector<Member> files = {{"a", good}, {"m/" + f.file_name, bad}};
        if (f.siblings.empty()) // formats in two files lie in folders
            files.push_back({"z/" + f.file_name, f.data});
        const ScanResult r = survive(writers::romfs(files));
        EXPECT_GE(r.records.size(), files.size() == 3 ? 1 + f.shaders : 1) << f.name;
    }
}

// A RomFS whose directory's child is itself, and whose files are one file over and over.
TEST(Hostile, CyclesAndSharing) {
    const Data image =
        writers::romfs(std::vector<Member>{{"d/e/f", Data(100, 'f')}, {"d/g", Data(100, 'g')}});
    for (size_t at = 0x50; at + 4 <= image.size(); at += 4)
        for (const uint32_t link : {0u, 0x18u, 0x1cu, 0x20u, 0x24u, 0x34u, 0x38u}) {
            Data d = image;
            std::memcpy(d.data() + at, &link, 4);
            survive(d);
        }
}

// Control sections whose own fields make each other plausible: work stays linear.
TEST(Hostile, ManyControlSectionsCostLinearWork) {
    const auto start = std::chrono::steady_clock::now();
    for (const uint32_t code_length : {0x100000u, 0x8000u, 0x100u}) {
        Buffer b;
        b.reserve_to(2 << 20);
        for (uint64_t at = 0; at + 0x800 < b.size(); at += 0x800) {
            b.u32(at, 0x98761234);
            b.u32(at + 4, 1);
            b.u32(at + 0x20, 0x760);
            b.u32(at + 0x700, code_length);
            b.u32(at + 0x704, code_length);
            for (int i = 0; i < 3; ++i)
                b.u32(at + 0x748 + 4 * i, 1);
        }
        survive(b.bytes);
    }
    Data same(1 << 20);
    const uint32_t magics[] = {0x98761234, 0x19866891, 0x48534e42};
    for (const uint32_t m : magics) {
        for (size_t at = 0; at < same.size(); at += 4)
            std::memcpy(same.data() + at, &m, 4);
        survive(same);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// BNSH headers everywhere, each of which claims all that follows it, and none of which is whole.
TEST(Hostile, ManyDamagedShaderFilesCostLinearWork) {
    constexpr uint64_t kSize = 4 << 20;
    Buffer b;
    b.reserve_to(kSize);
    for (uint64_t at = 0; at + 0x1000 < kSize; at += 0x100) {
        b.text(at, "BNSH");
        b.u16(at + 0x0c, 0xfeff);
        b.u32(at + 0x1c, kSize - at);
        b.text(at + 0x60, "grsc");
        b.u32(at + 0x7c, (kSize - at) / 0x40);
        b.u64(at + 0x80, 0x40); // the last variation leaves the file
    }
    const auto start = std::chrono::steady_clock::now();
    const ScanResult r = survive(b.bytes);
    EXPECT_FALSE(r.errors.empty());
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// A megabyte of code that thousands of variations, each with a program of its own, name as their shader.
TEST(Hostile, OneShaderNamedManyTimesIsHashedOnce) {
    writers::Wrapping how;
    const Data small = tiny(Stage::vertex).code;
    Buffer program;
    program.append(Bytes(small).clamp(0x30, 0x70));
    program.reserve_to(4 << 20);
    const Pair big = writers::wrap(program.bytes, {}, how);
    const std::vector<std::vector<Pair>> first = {{big, tiny(Stage::fragment)}};
    const Data one = writers::bnsh(first, 20000);
    // Each variation gets its own copy of the program record, byte by byte apart from the next.
    Buffer b;
    b.append(one);
    const uint64_t record = Bytes(one).u64(0xc0 + 0x10);
    for (uint64_t v = 0; v < 20000; ++v) {
        b.u64(0xc0 + 0x40 * v + 0x10, b.size());
        b.append(Bytes(one).clamp(record, 0x80));
    }
    b.u32(0x1c, b.size());
    const auto start = std::chrono::steady_clock::now();
    const ScanResult r = survive(b.bytes);
    EXPECT_EQ(r.records.size(), 2u);
    EXPECT_EQ(r.programs.size(), 1u);
    EXPECT_GT(r.found, 40000u);
    EXPECT_LT(std::chrono::steady_clock::now() - start,
              std::chrono::seconds(10)); // 80 GB if hashed each time
}

TEST(Hostile, ErrorLinesOfOneFileAreLimited) {
    std::vector<Member> members;
    for (int i = 0; i < 500; ++i)
        members.push_back({"m" + std::to_string(i), Data{'S', 'A', 'R', 'C'}});
    const ScanResult r = survive(writers::sarc(members));
    EXPECT_EQ(r.errors.size(), 65u);
    EXPECT_NE(r.errors.back().text().find("436 more"), std::string::npos);
}

TEST(Hostile, BombsCostTheirBudget) {
    const Data zeros(32 << 20);
    Data d = writers::zstd(zeros, 3);
    ScanResult r = survive(d);
    ASSERT_EQ(r.errors.size(), 1u);
    EXPECT_NE(r.errors[0].text().find("16 times"), std::string::npos);
    d = writers::yaz0(Bytes(zeros).clamp(0, 2 << 20));
    r = survive(d);
    ASSERT_EQ(r.errors.size(), 1u);
    // Layers of compression around each other.
    d = zeros;
    for (int i = 0; i < 4; ++i)
        d = writers::zstd(d, 3);
    survive(d);
}

TEST(Hostile, NestsInItselfByName) {
    // A member's name with control characters and slashes stays one printable line.
    const ScanResult r =
        survive(writers::sarc(std::vector<Member>{{"a\nb/../c\x1b[2J", Data{'S', 'A', 'R', 'C', 0}}}));
    ASSERT_EQ(r.errors.size(), 1u);
    EXPECT_EQ(r.errors[0].origin, "f/a?b/../c?[2J");
}

TEST(Hostile, SeedsOfTheFuzzTargets) {
    unsigned count = 0;
    for (const char* target : {"control_section", "glslc", "bnsh", "sarc", "yaz0", "zstd", "nso", "romfs",
                               "nvn", "misc", "nintendo"})
        for (const auto& e : std::filesystem::directory_iterator(
                 std::string(DMSH_SOURCE_DIR "/tests/fuzz/seeds/") + target)) {
            survive(read_file(e.path()));
            ++count;
        }
    EXPECT_GE(count, 20u);
}

} // namespace
} // namespace dmsh
