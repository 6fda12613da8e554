// Hostile input: every reader's fixture cut at every byte, with every word changed, mutated at random, and
// nested in itself.
#include "archivers/nvn/prepare_program.h"
#include "archivers/scan/scan.h"
#include "tests/archivers/corpus.h"
#include "tests/writers/writers.h"
#include <chrono>
#include <random>

namespace dmsh {
namespace {

using writers::Buffer;
using writers::Data;
using writers::Member;
using writers::Pair;

Pair tiny(Stage stage, uint32_t counter = 1) {
    Pair p = writers::small_pair(stage, counter, stage != Stage::compute);
    p.control.resize(0x760);
    const uint32_t length = 0x760;
    std::memcpy(p.control.data() + 0x20, &length, 4);
    std::memcpy(p.control.data() + 0x71c, &counter, 4);
    return p;
}

struct Fixture {
    const char* name;
    Data data;
    size_t shaders;
};

const std::vector<Fixture>& fixtures() {
    static const std::vector<Fixture> list = [] {
        const Pair vs = tiny(Stage::vertex), cs = tiny(Stage::compute);
        const Data b = writers::bnsh(std::vector<std::vector<Pair>>{{cs}});
        const std::vector<Member> files = {{"a/s", b}, {"t", Data(5, 't')}};
        return std::vector<Fixture>{
            {"raw pair", writers::raw_pair(vs), 1},
            {"GLSLC", writers::glslc_output(std::vector{vs}), 1},
            {"NVN2 GLSLC", writers::glslc_output_nvn2(std::vector{writers::small_nvn2_pair(Stage::fragment)}),
             1},
            {"BNSH", b, 1},
            {"NVN2 BNSH",
             writers::bnsh(std::vector<std::vector<Pair>>{
                 {writers::small_nvn2_pair(Stage::task), writers::small_nvn2_pair(Stage::mesh)}}),
             2},
            {"BFSHA", writers::bfsha(b), 1},
            {"SARC", writers::sarc(files), 1},
            {"big-endian SARC", writers::sarc(files, true), 1},
            {"Yaz0", writers::yaz0(b), 1},
            {"zstd", writers::zstd(b), 1},
            {"unsized zstd", writers::zstd(b, 3, false), 1},
            {"NSO", writers::nso(Data(32, 1), b, Data(32, 2)), 1},
            {"plain NSO", writers::nso(Data(32, 1), b, Data(32, 2), false), 1},
            {"NRO", writers::nro(Data(32, 1), Data(32, 2), Data(32, 3), writers::romfs(files)), 1},
            {"RomFS", writers::romfs(files), 1},
            {"SARC in Yaz0 in SARC",
             writers::sarc(std::vector<Member>{{"i", writers::yaz0(writers::sarc(files))},
                                               {"j", writers::raw_pair(vs)}}),
             2},
        };
    }();
    return list;
}

// Scans, and checks what must hold of any input.
ScanResult survive(const Data& d) {
    // The input in memory of its own, so that a sanitizer sees every byte past its end.
    const std::unique_ptr<uint8_t[]> copy(new uint8_t[d.size()]);
    if (!d.empty())
        std::memcpy(copy.get(), d.data(), d.size());
    const ScanResult r = scan_blob("f", Blob::view(Bytes(copy.get(), d.size())));
    for (const ShaderRecord& s : r.records) {
        EXPECT_EQ(program_key(s.control.bytes, s.code.bytes), s.key);
        (void)prepare_program(s.control.bytes, s.code.bytes);
    }
    for (const Error& e : r.errors)
        EXPECT_EQ(e.text().find('\n'), std::string::npos);
    return r;
}

TEST(Hostile, FixturesAreWhole) {
    for (const Fixture& f : fixtures()) {
        const ScanResult r = survive(f.data);
        EXPECT_EQ(r.records.size(), f.shaders) << f.name;
        EXPECT_TRUE(r.errors.empty()) << f.name << ": " << (r.errors.empty() ? "" : r.errors[0].text());
    }
}

TEST(Hostile, TruncatedAtEveryByte) {
    for (const Fixture& f : fixtures()) {
        size_t silent = 0; // lost shaders without a line
        const size_t step = f.data.size() > 6000 ? 7 : 1;
        for (size_t n = 0; n < f.data.size(); n += step) {
            const ScanResult r = survive(Data(f.data.begin(), f.data.begin() + n));
            EXPECT_LE(r.records.size(), f.shaders);
            silent += r.records.size() < f.shaders && r.errors.empty() && !r.lone_controls;
        }
        // What is too short to be known as its format is a data file without shaders; nothing else is silent.
        EXPECT_LE(silent * step, std::string_view(f.name) == "raw pair" || std::string_view(f.name) == "BFSHA"
                                     ? 0x2000u
                                     : 0x80u)
            << f.name;
    }
}

TEST(Hostile, EveryWordChanged) {
    for (const Fixture& f : fixtures()) {
        const uint32_t size = static_cast<uint32_t>(f.data.size());
        const size_t step = f.data.size() > 6000 ? 12 : 4;
        for (size_t at = 0; at + 4 <= f.data.size(); at += step)
            for (const uint32_t value : {0u, 1u, 0xffffffffu, 0x7fffffffu, 0x80000000u, size, size - 4}) {
                Data d = f.data;
                std::memcpy(d.data() + at, &value, 4);
                survive(d);
            }
    }
}

TEST(Hostile, RandomMutations) {
    std::mt19937 random(20);
    for (const Fixture& f : fixtures())
        for (int round = 0; round < 1500; ++round) {
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
            survive(d);
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
                                                          {{"BNSH\0\0\0\0", 8}, 0}};
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
        const ScanResult r =
            survive(writers::romfs(std::vector<Member>{{"a", good}, {"m", bad}, {"z", f.data}}));
        EXPECT_GE(r.records.size(), 1 + f.shaders) << f.name;
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
    for (const char* target : {"control_section", "glslc", "bnsh", "sarc", "yaz0", "zstd", "nso", "romfs"})
        for (const auto& e : std::filesystem::directory_iterator(
                 std::string(DMSH_SOURCE_DIR "/tests/fuzz/seeds/") + target)) {
            survive(read_file(e.path()));
            ++count;
        }
    EXPECT_GE(count, 20u);
}

} // namespace
} // namespace dmsh
