// Control sections, code areas, two-part vertex programs: rules S-001..S-024 on synthetic bytes, and the
// corpora's code.
#include "archivers/nvn/check_stage.h"
#include "archivers/nvn/prepare_program.h"
#include "archivers/nvn/vertex_ab.h"
#include "archivers/scan/scan.h"
#include "tests/archivers/corpus.h"
#include "tests/writers/writers.h"

namespace dmsh {
namespace {

using writers::Buffer;
using writers::Data;
using writers::Pair;
using writers::small_pair;

constexpr Stage kNvnStages[] = {Stage::vertex,       Stage::fragment,        Stage::geometry,
                                Stage::tess_control, Stage::tess_evaluation, Stage::compute};

Result<FoundShader> check(const Data& control, const Data& code, std::optional<Stage> tag = {}) {
    return check_stage(Blob::view(control), Blob::view(code), tag);
}

void put32(Data& d, size_t at, uint32_t v) {
    std::memcpy(d.data() + at, &v, 4);
}

TEST(Sections, Magics) {
    for (const Stage stage : kNvnStages) {
        const Pair p = small_pair(stage);
        const auto s = check(p.control, p.code);
        ASSERT_TRUE(s) << s.error().text();
        EXPECT_EQ(s->stage, stage);
        EXPECT_EQ(s->arch, Arch::sm53);
        for (int bit = 0; bit < 32; ++bit) {
            Pair q = p;
            q.control[bit / 8] ^= 1 << bit % 8;
            EXPECT_FALSE(check(q.control, q.code)) << bit;
            q = p;
            q.code[bit / 8] ^= 1 << bit % 8;
            // A flipped code magic leaves headerless compute where a thread group is named; else nothing.
            if (stage != Stage::compute) {
                EXPECT_FALSE(check(q.control, q.code)) << bit;
            }
        }
    }
}

TEST(Sections, Fields) {
    writers::Wrapping how;
    how.stage = Stage::compute;
    how.group = {8, 4, 2};
    how.shared_bytes = 0x1230;
    how.local_bytes = 0x40;
    const Data c1 = {1, 2, 3, 4, 5, 6, 7, 8};
    const Pair small = small_pair(Stage::compute, 0, false);
    const Pair p = writers::wrap(Bytes(small.code).clamp(0, 32), c1, how);
    const auto prepared = prepare_program(p.control, p.code);
    ASSERT_TRUE(prepared) << prepared.error().text();
    EXPECT_EQ(prepared->local_size, (std::array<uint32_t, 3>{8, 4, 2}));
    EXPECT_EQ(prepared->shared_bytes, 0x1230u);
    EXPECT_EQ(prepared->local_bytes, 0x40u);
    EXPECT_EQ(Data(prepared->constants.data(), prepared->constants.data() + 8), c1);
    EXPECT_EQ(prepared->constants.size(), 8u);
    EXPECT_EQ(prepared->instructions.data(), p.code.data() + 0x100);
    EXPECT_TRUE(prepared->sph_bytes.empty());
    // c1 that begins behind the code area or before the instructions is refused.
    for (const uint32_t offset : {uint32_t(p.code.size() + 1), 0xffffffffu, 0x80u}) {
        Data bad = p.control;
        put32(bad, 0x700, offset);
        EXPECT_FALSE(prepare_program(bad, p.code)) << offset;
    }
}

TEST(Sections, NoConstants) {
    Pair p = small_pair(Stage::vertex);
    put32(p.control, 0x700, 0);
    const auto prepared = prepare_program(p.control, p.code);
    ASSERT_TRUE(prepared) << prepared.error().text();
    EXPECT_TRUE(prepared->constants.empty());
    EXPECT_EQ(prepared->instructions.size(), p.code.size() - 0x80);
    put32(p.control, 0x6fc, 16);
    EXPECT_FALSE(prepare_program(p.control, p.code));
}

TEST(StageCheck, EachConditionAloneIsRefused) {
    const Pair p = small_pair(Stage::vertex);
    Data control = p.control, code = p.code;
    put32(control, 0x700, uint32_t(code.size() - 8)); // lengths
    put32(control, 0x704, uint32_t(code.size() - 8));
    EXPECT_TRUE(check(control, code)); // the container rounded up
    put32(control, 0x704, uint32_t(code.size() + 8));
    EXPECT_FALSE(check(control, code));
    put32(control, 0x704, 8);
    code.resize(0x200);
    EXPECT_FALSE(check(control, code));
    EXPECT_FALSE(check(p.control, {}));
    EXPECT_FALSE(check({}, p.code));
    code = p.code;
    put32(code, 0x30, 0); // no SPH
    EXPECT_FALSE(check(p.control, code));
}

TEST(Key, LengthValidity) {
    // The container gives 0x880 bytes and noise behind; the key covers what +0x20 says.
    const Pair whole = small_pair(Stage::fragment);
    for (const uint32_t length : {0x760u, 0x840u, 0x848u, 0x850u, 0x880u}) {
        Data c(whole.control.begin(), whole.control.begin() + length);
        put32(c, 0x20, length);
        const auto exact = check(c, whole.code);
        ASSERT_TRUE(exact) << exact.error().text();
        EXPECT_EQ(exact->control.size(), length);
        Data longer = c;
        longer.resize(0xa00, 0xee);
        const auto noisy = check(longer, whole.code);
        ASSERT_TRUE(noisy);
        EXPECT_EQ(program_key(exact->control.bytes, exact->code.bytes),
                  program_key(noisy->control.bytes, noisy->code.bytes));
    }
    // Odd or short values are no lengths: the container's own counts.
    for (const uint32_t stored : {0x136bu, 0x75cu, 0u, 0x100000u}) {
        Data c = whole.control;
        put32(c, 0x20, stored);
        const auto s = check(c, whole.code);
        ASSERT_TRUE(s) << s.error().text();
        EXPECT_EQ(s->control.size(), 0x880u);
    }
    Data c = whole.control;
    put32(c, 0x20, 0x136b);
    c.resize(0x75c);
    EXPECT_FALSE(check(c, whole.code));
}

TEST(CodeStart, Both) {
    const auto with = prepare_program(small_pair(Stage::compute, 0, true).control,
                                      small_pair(Stage::compute, 0, true).code);
    const Pair headerless = small_pair(Stage::compute, 0, false);
    const auto without = prepare_program(headerless.control, headerless.code);
    ASSERT_TRUE(with) << with.error().text();
    ASSERT_TRUE(without) << without.error().text();
    EXPECT_EQ(without->instructions.data(), headerless.code.data());
    Data impossible = headerless.control;
    put32(impossible, 0x748, 2048);
    EXPECT_FALSE(prepare_program(impossible, headerless.code));
    put32(impossible, 0x748, 0);
    EXPECT_FALSE(prepare_program(impossible, headerless.code));
}

TEST(CodeStart, Padding) {
    Pair p = small_pair(Stage::compute);
    ASSERT_TRUE(prepare_program(p.control, p.code));
    p.code[0xa3] = 1;
    const auto r = prepare_program(p.control, p.code);
    ASSERT_FALSE(r);
    EXPECT_NE(r.error().text().find("padding"), std::string::npos);
}

TEST(CodeStart, SelfCheckKnowsEveryProgramOfTheCorpora) {
    DMSH_NEED_CORPUS("maxwell-gfx");
    unsigned count = 0;
    const auto one = [&](const std::string& file, size_t start) {
        const auto data = read_file(file);
        const Bytes code = Bytes(data).clamp(start);
        EXPECT_TRUE(check_program_start(Arch::sm53, code)) << file;
        for (const uint64_t shift : {8u, 16u, 24u})
            EXPECT_FALSE(check_program_start(Arch::sm53, code.clamp(shift))) << file << " + " << shift;
        ++count;
    };
    for (const auto& file : corpus_files("maxwell-gfx", ".json"))
        if (const auto j = read_json(file); j.contains("instruction_offset"))
            one(file.substr(0, file.size() - 5) + ".bin", j["instruction_offset"]);
    for (const auto& file : corpus_files("nvidia-glslc", ".maxwell.bin"))
        one(file, kSphBytes3);
    EXPECT_GT(count, 200u);
    for (const auto& file : corpus_files("ampere-gfx", ".json")) {
        const auto j = read_json(file);
        if (!j.contains("header_bytes"))
            continue;
        const auto data = read_file(file.substr(0, file.size() - 5) + ".bin");
        EXPECT_TRUE(check_program_start(Arch::sm86, Bytes(data).clamp(j["header_bytes"].get<uint64_t>())))
            << file;
    }
}

TEST(Sections, WrappedCorpusProgramsComeBack) {
    DMSH_NEED_CORPUS("maxwell-gfx");
    const std::map<std::string, Stage> stages = {
        {"vert", Stage::vertex},   {"tesc", Stage::tess_control}, {"tese", Stage::tess_evaluation},
        {"geom", Stage::geometry}, {"frag", Stage::fragment},     {"comp", Stage::compute}};
    for (const auto& file : corpus_files("maxwell-gfx", ".json")) {
        const auto j = read_json(file);
        if (!j.contains("instruction_offset"))
            continue;
        SCOPED_TRACE(file);
        const std::string base = file.substr(0, file.size() - 5);
        const auto program = read_file(base + ".bin"), c1 = read_file(base + ".c1.bin");
        writers::Wrapping how;
        how.stage = stages.at(j["stage"]);
        if (j["local_size"].is_array())
            how.group = j["local_size"];
        for (auto& n : how.group)
            n = std::max(n, 1u);
        how.shared_bytes = j["shared_bytes"];
        for (const bool header : {true, false}) {
            how.header = header;
            const Pair p = writers::wrap(program, c1, how);
            const auto got = prepare_program(p.control, p.code);
            ASSERT_TRUE(got) << got.error().text();
            EXPECT_EQ(got->stage, how.stage);
            const size_t start = j["instruction_offset"];
            ASSERT_GE(got->instructions.size(), program.size() - start);
            EXPECT_EQ(std::memcmp(got->instructions.data(), program.data() + start, program.size() - start),
                      0);
            EXPECT_EQ(Data(got->constants.data(), got->constants.data() + got->constants.size()), c1);
            EXPECT_EQ(got->sph_bytes.size(), start);
        }
    }
}

TEST(Stage, Order) {
    // The container's word must agree.
    const Pair p = small_pair(Stage::geometry);
    EXPECT_TRUE(check(p.control, p.code, Stage::geometry));
    EXPECT_FALSE(check(p.control, p.code, Stage::vertex));
    // NVN2: the stage byte, not the SPH, tells task and mesh (S-020).
    for (const Stage stage : {Stage::task, Stage::mesh, Stage::vertex, Stage::fragment, Stage::compute}) {
        const Pair q = writers::small_nvn2_pair(stage);
        const auto s = check(q.control, q.code);
        ASSERT_TRUE(s) << s.error().text();
        EXPECT_EQ(s->stage, stage);
        EXPECT_EQ(s->arch, Arch::sm86);
    }
    Pair q = writers::small_nvn2_pair(Stage::fragment);
    q.control[0x56] = static_cast<uint8_t>(Stage::vertex);
    EXPECT_FALSE(check(q.control, q.code));
    q.control[0x56] = 8;
    EXPECT_FALSE(check(q.control, q.code));
}

TEST(Nvn2Stage, Facts) {
    Pair p = writers::small_nvn2_pair(Stage::mesh);
    const uint16_t vertices = 64, primitives = 126;
    std::memcpy(p.control.data() + 0x60, &vertices, 2);
    std::memcpy(p.control.data() + 0x62, &primitives, 2);
    put32(p.control, 0x64, 0x30);
    p.control[0x68] = 0x80;
    const auto c = read_control(p.control);
    ASSERT_TRUE(c);
    EXPECT_EQ(c->max_vertices, 64);
    EXPECT_EQ(c->max_primitives, 126);
    auto prepared = prepare_program(p.control, p.code);
    ASSERT_TRUE(prepared) << prepared.error().text();
    EXPECT_EQ(prepared->primitive_sph.size(), 0x80u);
    EXPECT_EQ(prepared->local_size[0], 32u);
    put32(p.control, 0x64, 0xfffffff0);
    EXPECT_FALSE(prepare_program(p.control, p.code));
}

// S-021: the counts and the length are those of `1002069a331ceded`.
TEST(Nvn2Compute, Total) {
    Pair p = writers::small_nvn2_pair(Stage::compute);
    const auto without = read_control(p.control);
    ASSERT_TRUE(without);
    EXPECT_FALSE(without->layout);
    p.control[0xb1] = 13, p.control[0xb3] = 4, p.control[0xb4] = 32, p.control[0xb5] = 13, p.control[0xb6] = 5;
    const uint16_t bytes = 0x290;
    std::memcpy(p.control.data() + 0xba, &bytes, 2);
    const auto prepared = prepare_program(p.control, p.code);
    ASSERT_TRUE(prepared) << prepared.error().text();
    ASSERT_TRUE(prepared->layout);
    EXPECT_EQ(prepared->layout->separate_textures, 32);
    EXPECT_EQ(prepared->layout->end(), bytes);
    p.control[0xa9] = 1;
    EXPECT_FALSE(read_control(p.control));
}

TEST(Ctl, EarlyTests) {
    for (const bool flag : {false, true})
        for (const bool depth : {false, true}) {
            Pair p = small_pair(Stage::fragment);
            p.control[0x718] = flag;
            p.code[0x30 + 19 * 4] = depth ? 2 : 0; // SPH word 19
            const auto got = prepare_program(p.control, p.code);
            ASSERT_TRUE(got);
            EXPECT_EQ(got->early_tests, flag && !depth);
        }
}

// Part A writes the position, part B generic 0.
Pair two_part(bool jump_in_b = false) {
    const Pair part = small_pair(Stage::vertex);
    Data a(part.code.begin() + 0x30, part.code.begin() + 0x30 + 0x70), b = a;
    put32(a, 0, 0x00010061 | 1u << 26); // shader type 0, global store, load or store
    a[0x36] = 0;
    put32(b, 0, 0x00060461);
    b[0x35] = 0;
    put32(a, 4, 0x10);
    put32(b, 4, 0x20);
    if (jump_in_b)
        put32(b, 0x50 + 28, 0xe2500000);
    Buffer code;
    code.u32(0, 0x12345678);
    code.reserve_to(0x30);
    code.append(a);
    code.align(256);
    const uint64_t part_b = code.size();
    code.reserve_to(part_b + 0x30);
    code.append(b);
    const uint64_t c1 = code.size();
    code.reserve_to(c1 + 0x10);
    code.align(256);
    Pair p = part;
    p.code = code.bytes;
    put32(p.control, 0x700, uint32_t(part_b));
    put32(p.control, 0x704, uint32_t(code.size()));
    put32(p.control, 0x748, 0x30);
    put32(p.control, 0x74c, uint32_t(a.size()));
    put32(p.control, 0x754, uint32_t(part_b + 0x30));
    put32(p.control, 0x758, uint32_t(b.size()));
    return p;
}

TEST(VertexAB, MergesBothParts) {
    const Pair p = two_part();
    ASSERT_TRUE(check(p.control, p.code));
    const auto got = prepare_program(p.control, p.code);
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_TRUE(got->merged);
    EXPECT_EQ(got->stage, Stage::vertex);
    EXPECT_TRUE(got->sph.writes(0x070));
    EXPECT_EQ(got->sph.generic_outputs(0), 15);
    EXPECT_EQ(got->sph.shader_type, 1);
    EXPECT_TRUE(got->sph.global_store);
    EXPECT_TRUE(got->sph.load_or_store);
    EXPECT_EQ(got->sph.local_low_bytes, 0x20u);
    // A's EXIT (slot 1 of its group) became a branch to B's first instruction.
    EXPECT_EQ(got->instructions.size(), 0x40u);
    EXPECT_EQ(got->instructions.u64(8), 0xe24000000000000full | 7u << 16 | uint64_t{0x28 - 0x10} << 20);
    EXPECT_EQ(got->instructions.u64(0x28), 0xe30000000007000full);
    // c1 is what follows part B.
    EXPECT_TRUE(got->constants.all_zero(0, got->constants.size()));
    EXPECT_EQ(got->constants.data() + got->constants.size(), p.code.data() + p.code.size());
}

TEST(VertexAB, RefusesTableJumps) {
    const Pair p = two_part(true);
    const auto got = prepare_program(p.control, p.code);
    ASSERT_FALSE(got);
    EXPECT_NE(got.error().text().find("jump"), std::string::npos);
}

TEST(VertexAB, PartAAloneIsAnOrdinaryVertexShader) {
    Pair p = small_pair(Stage::vertex);
    put32(p.code, 0x30, 0x00060061);
    const auto got = prepare_program(p.control, p.code);
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_FALSE(got->merged);
    EXPECT_EQ(got->stage, Stage::vertex);
}

TEST(VertexAB, PredicatedExitsBranchUnderTheirPredicate) {
    Data a(0x70), b(0x70);
    const uint64_t exit = 0xe30000000000000full | 3u << 16; // @P3
    std::memcpy(a.data() + 0x50 + 8, &exit, 8);
    const uint64_t never = 0xe300000000070018; // on a condition code: stays
    std::memcpy(a.data() + 0x50 + 16, &never, 8);
    const auto merged = merge_vertex_parts(a, b);
    ASSERT_TRUE(merged);
    EXPECT_EQ(Bytes(*merged).u64(0x50 + 8) & 0xfff00000000f0000, 0xe240000000030000);
    EXPECT_EQ(Bytes(*merged).u64(0x50 + 16), never);
}

ScanResult scan_data(const Data& d) {
    return scan_blob("file", Blob::view(d));
}

TEST(Sections, WalkBackToBack) {
    // Control sections with extra data, with text, and with padding before their code.
    Buffer stream;
    unsigned counter = 0;
    for (const Stage stage : {Stage::vertex, Stage::fragment, Stage::compute, Stage::geometry}) {
        Pair p = small_pair(stage, ++counter);
        if (stage == Stage::vertex) { // 16 entries of 12 bytes behind the section
            put32(p.control, 0x7e8, 0x880);
            put32(p.control, 0x7ec, 0xc0);
            put32(p.control, 0x7f0, 16);
            p.control.resize(0x880 + 0xc0, 0x55);
        }
        if (stage == Stage::fragment) { // assembly text of an odd length that the own length covers
            p.control.resize(0x9a4, 'x');
            put32(p.control, 0x18, 0x9a4 - 0x880);
            put32(p.control, 0x20, 0x9a4);
        }
        stream.append(p.control);
        if (stage == Stage::fragment)
            stream.align(8);
        if (stage == Stage::geometry)
            stream.align(0x200);
        stream.append(p.code);
    }
    const ScanResult r = scan_data(stream.bytes);
    EXPECT_EQ(r.records.size(), 4u);
    EXPECT_EQ(r.lone_controls, 0u);
    EXPECT_TRUE(r.errors.empty());
}

TEST(Sections, CodeBeforeControl) {
    Buffer b;
    const Pair p = small_pair(Stage::vertex, 1), q = small_pair(Stage::compute, 2, false);
    b.text(0, "some header....");
    b.append(p.code);
    b.append(p.control);
    b.append(q.code);
    b.append(q.control);
    const ScanResult r = scan_data(b.bytes);
    EXPECT_EQ(r.records.size(), 2u);
}

TEST(Sections, TwoNeighbours) {
    // Code on both sides: the program length of the control section tells which one is its own.
    Pair own = small_pair(Stage::vertex, 1), other = small_pair(Stage::vertex, 2);
    Buffer long_program;
    long_program.append(Bytes(other.code).clamp(0x30, 0x70));
    for (int i = 0; i < 16; ++i) // same code length, longer program
        long_program.append(Bytes(other.code).clamp(0x80, 32));
    writers::Wrapping how;
    other = writers::wrap(long_program.bytes, {}, how);
    Buffer padded;
    padded.append(own.code);
    padded.reserve_to(other.code.size());
    own.code = padded.bytes;
    put32(own.control, 0x704, uint32_t(own.code.size()));
    for (const bool own_first : {true, false}) {
        Buffer b;
        b.append(own_first ? own.code : other.code);
        b.append(own.control);
        b.append(own_first ? other.code : own.code);
        const ScanResult r = scan_data(b.bytes);
        ASSERT_EQ(r.records.size(), 1u) << own_first;
        EXPECT_EQ(r.records[0].key, program_key(own.control, own.code));
    }
    // Without evidence neither is taken, and that is said.
    const Pair p = small_pair(Stage::vertex, 1), q = small_pair(Stage::vertex, 2);
    Buffer b;
    b.append(q.code);
    b.append(p.control);
    b.append(p.code);
    const ScanResult r = scan_data(b.bytes);
    EXPECT_TRUE(r.records.empty());
    ASSERT_EQ(r.errors.size(), 1u);
    EXPECT_NE(r.errors[0].text().find("both sides"), std::string::npos);
}

TEST(Sections, LoneControlsAreCounted) {
    const Pair p = small_pair(Stage::vertex);
    const ScanResult r = scan_data(p.control);
    EXPECT_TRUE(r.records.empty());
    EXPECT_EQ(r.lone_controls, 1u);
}

} // namespace
} // namespace dmsh
