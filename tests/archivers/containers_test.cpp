// Every container through its own writer, alone and nested, under any name and at any alignment.
#include "archivers/scan/readers.h"
#include "archivers/scan/scan.h"
#include "tests/archivers/found.h"

namespace dmsh {
namespace {

using writers::Buffer;
using writers::Data;
using writers::Member;
using writers::Pair;
using writers::small_pair;

std::vector<Pair> graphics() {
    return {small_pair(Stage::vertex, 1), small_pair(Stage::fragment, 2)};
}

Data one_bnsh() {
    const std::vector<Pair> programs[] = {graphics(), {small_pair(Stage::compute, 3)}};
    return writers::bnsh(programs);
}

std::vector<Pair> bnsh_pairs() {
    return {small_pair(Stage::vertex, 1), small_pair(Stage::fragment, 2), small_pair(Stage::compute, 3)};
}

TEST(BnshReader, AllStagesAndPrograms) {
    const std::vector<Pair> five = {small_pair(Stage::vertex, 1), small_pair(Stage::tess_control, 2),
                                    small_pair(Stage::tess_evaluation, 3), small_pair(Stage::geometry, 4),
                                    small_pair(Stage::fragment, 5)};
    const std::vector<Pair> programs[] = {five, {small_pair(Stage::compute, 6)}};
    const ScanResult r = scan_bytes(writers::bnsh(programs, 3));
    EXPECT_EQ(r.records.size(), 6u) << errors_of(r);
    ASSERT_EQ(r.programs.size(), 1u);
    EXPECT_EQ(r.programs[0].stages, 0b011111);
    for (const Pair& p : five)
        EXPECT_EQ(r.programs[0].keys[static_cast<size_t>(p.stage)], key_of_pair(p));
    EXPECT_EQ(r.formats.at("bnsh").shaders, 6u);
}

TEST(BnshReader, PointerPastTheEnd) {
    Data d = one_bnsh();
    const uint64_t program = Bytes(d).u64(0xc0 + 0x10), record = Bytes(d).u64(program + 0x28);
    set_word(d, record + 0x10, 0x7fffffff);
    const ScanResult r = scan_bytes(d);
    EXPECT_TRUE(r.records.empty());
    ASSERT_EQ(r.errors.size(), 1u);
    EXPECT_EQ(r.errors[0].text(),
              "file+0x0: BNSH: variation 0: stage fragment leaves the file (its shaders are left out)");
}

TEST(BnshReader, Nvn2Slots) {
    const std::vector<Pair> mesh = {writers::small_nvn2_pair(Stage::task, 1),
                                    writers::small_nvn2_pair(Stage::mesh, 2),
                                    writers::small_nvn2_pair(Stage::fragment, 3)};
    const std::vector<Pair> programs[] = {mesh};
    Data d = writers::bnsh(programs);
    const ScanResult r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 3u) << errors_of(r);
    ASSERT_EQ(r.programs.size(), 1u);
    EXPECT_EQ(r.programs[0].stages, 1u << 1 | 1u << 6 | 1u << 7);
    // Words of older files there are no stages.
    const std::vector<Pair> old[] = {graphics()};
    Data older = writers::bnsh(old);
    const uint64_t program = Bytes(older).u64(0xc0 + 0x10);
    set_word(older, program + 0x40, 0x12345);
    set_word(older, program + 0x48, uint32_t(Bytes(older).u64(program + 0x08)));
    expect_pairs(older, graphics(), "older BNSH");
    // A stage that does not belong there is an error.
    const uint64_t p2 = Bytes(d).u64(0xc0 + 0x10);
    set_word(d, p2 + 0x40, uint32_t(Bytes(d).u64(p2 + 0x28)));
    EXPECT_NE(errors_of(scan_bytes(d)).find("slot 7 holds stage 1"), std::string::npos);
}

TEST(BnshReader, OneWrongStageCostsThatStageOnly) {
    const std::vector<Pair> programs[] = {{small_pair(Stage::vertex, 1), small_pair(Stage::fragment, 2)}};
    Data d = writers::bnsh(programs);
    const uint64_t program = Bytes(d).u64(0xc0 + 0x10), record = Bytes(d).u64(program + 0x08);
    set_word(d, Bytes(d).u64(record + 0x10) + 0x30, 0); // the vertex stage's SPH
    const ScanResult r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 1u);
    EXPECT_EQ(r.errors.size(), 1u);
}

TEST(GlslcReader, OneStageSeveralStagesBothForms) {
    for (const Stage stage : {Stage::vertex, Stage::fragment, Stage::compute}) {
        const Pair p[] = {small_pair(stage, 7)};
        expect_pairs(writers::glslc_output(p), {p[0]}, "one stage");
        const Pair q[] = {writers::small_nvn2_pair(stage, 7)};
        expect_pairs(writers::glslc_output_nvn2(q), {q[0]}, "one NVN2 stage");
    }
    const ScanResult r = scan_bytes(writers::glslc_output(graphics()));
    ASSERT_EQ(r.programs.size(), 1u);
    EXPECT_EQ(r.programs[0].stages, 3);
}

TEST(GlslcReader, ControlLengthThatIsTwelveShortOrOdd) {
    Pair p = small_pair(Stage::fragment);
    p.control.resize(0x840);
    set_word(p.control, 0x20, 0x834);
    const Pair list[] = {p};
    ScanResult r = scan_bytes(writers::glslc_output(list));
    ASSERT_EQ(r.records.size(), 1u) << errors_of(r);
    EXPECT_EQ(r.records[0].key, program_key(std::span(p.control).first(0x834), p.code));
    set_word(p.control, 0x20, 0x136b);
    const Pair odd[] = {p};
    r = scan_bytes(writers::glslc_output(odd));
    ASSERT_EQ(r.records.size(), 1u) << errors_of(r);
    EXPECT_EQ(r.records[0].key, key_of_pair(p));
}

TEST(GlslcReader, ListsOfOutputsAndTruncation) {
    Buffer list; // count, then {hash, size, output}
    list.u32(0, 3);
    std::vector<Pair> pairs;
    for (uint32_t i = 0; i < 3; ++i) {
        pairs.push_back(small_pair(i % 2 ? Stage::fragment : Stage::vertex, i));
        const Data o = writers::glslc_output(std::span(&pairs.back(), 1));
        list.u32(list.size(), 0x1000 + i);
        list.u32(list.size(), o.size());
        list.append(o);
    }
    expect_pairs(list.bytes, pairs, "list of outputs");
    list.bytes.resize(list.size() - 64);
    const ScanResult r = scan_bytes(list.bytes);
    EXPECT_EQ(r.records.size(), 2u);
    EXPECT_NE(errors_of(r).find("its length leaves the file"), std::string::npos);
}

std::vector<Member> sarc_members() {
    return {{"shaders/a.bnsh", one_bnsh()}, {"readme.txt", Data(40, 'r')}};
}

TEST(Sarc, BothByteOrders) {
    for (const bool big : {false, true})
        expect_pairs(writers::sarc(sarc_members(), big), bnsh_pairs(), "SARC");
    const ScanResult r = scan_bytes(writers::sarc(sarc_members()), "Pack/x.sarc");
    EXPECT_EQ(r.find(key_of_pair(bnsh_pairs()[2]))->origin, "Pack/x.sarc/shaders/a.bnsh (variation 1)");
    EXPECT_EQ(r.members, 2u);
}

TEST(Sarc, EpdPacks) {
    // Yaz0(SARC(Yaz0(SARC(bfsha)))), as resource packs nest; and zstd around.
    const std::vector<Member> inner = {{"x.bfsha", writers::bfsha(one_bnsh())}};
    const Data szs = writers::yaz0(writers::sarc(inner));
    const std::vector<Member> outer = {{"inner.szs", szs}};
    expect_pairs(writers::yaz0(writers::sarc(outer)), bnsh_pairs(), "nested packs");
    expect_pairs(writers::zstd(writers::sarc(outer)), bnsh_pairs(), "zstd pack");
    expect_pairs(writers::zstd(writers::zstd(writers::sarc(outer)), 3, false), bnsh_pairs(), "zstd twice");
}

TEST(Executables, Nso) {
    Buffer rodata;
    rodata.text(0, "constants ");
    const std::vector<Pair> one = {small_pair(Stage::fragment, 9)};
    rodata.append(writers::glslc_output(one));
    rodata.append(one_bnsh());
    Data text(0x2000, 0x1f);
    const uint32_t magics[] = {0x98761234, 0x19866891, 0x48534e42}; // constants in code
    for (int i = 0; i < 30; ++i)
        set_word(text, 0x100 + 68 * i, magics[i % 3]);
    std::vector<Pair> want = bnsh_pairs();
    want.push_back(one[0]);
    const Pair loose = small_pair(Stage::vertex, 77);
    want.push_back(loose);
    for (const bool compress : {false, true}) {
        const Data nso = writers::nso(text, rodata.bytes, writers::raw_pair(loose), compress);
        expect_pairs(nso, want, "NSO");
        const ScanResult r = scan_bytes(nso, "main");
        EXPECT_EQ(r.find(key_of_pair(one[0]))->origin, "main");
        EXPECT_EQ(r.find(key_of_pair(one[0]))->offset, 0x2000u + 10 + 0x90 + 2 * 0x90); // module address
        EXPECT_TRUE(r.notes.empty());
        EXPECT_EQ(r.lone_controls, 0u);
    }
    Data wrong_hash = writers::nso(text, rodata.bytes, writers::raw_pair(loose));
    wrong_hash[0xa0] ^= 1;
    const ScanResult r = scan_bytes(wrong_hash);
    EXPECT_EQ(r.records.size(), want.size());
    EXPECT_EQ(r.notes.size(), 1u);
}

TEST(Executables, NroWithAssets) {
    const std::vector<Member> files = {{"a/b.bnsh", one_bnsh()}};
    const Pair loose = small_pair(Stage::vertex, 77);
    const Data nro = writers::nro(Data(100), writers::raw_pair(loose), Data(10), writers::romfs(files));
    std::vector<Pair> want = bnsh_pairs();
    want.push_back(loose);
    expect_pairs(nro, want, "NRO");
    EXPECT_EQ(scan_bytes(nro, "x.nro").find(key_of_pair(bnsh_pairs()[2]))->origin,
              "x.nro/romfs/a/b.bnsh (variation 1)");
}

TEST(Romfs, ImagesOfBothKinds) {
    const std::vector<Member> files = {
        {"top.bnsh", one_bnsh()},
        {"a/glslc.bin", writers::glslc_output(std::vector{small_pair(Stage::fragment, 8)})},
        {"a/b/c/empty", {}},
        {"z/raw", writers::raw_pair(small_pair(Stage::geometry, 5))}};
    std::vector<Pair> want = bnsh_pairs();
    want.push_back(small_pair(Stage::fragment, 8));
    want.push_back(small_pair(Stage::geometry, 5));
    const Data level3 = writers::romfs(files);
    expect_pairs(level3, want, "level 3");
    expect_pairs(writers::ivfc(level3), want, "IVFC");
}

TEST(Unaligned, EveryFixtureShiftedByOneToSeven) {
    for (unsigned shift = 1; shift < 8; ++shift) {
        const auto shifted = [&](const Data& d) {
            Buffer b;
            b.reserve_to(shift);
            b.append(d);
            return b.bytes;
        };
        expect_pairs(shifted(one_bnsh()), bnsh_pairs(), "BNSH");
        expect_pairs(shifted(writers::glslc_output(graphics())), graphics(), "GLSLC");
        expect_pairs(shifted(writers::raw_pair(graphics()[0], 1)), {graphics()[0]}, "raw pair");
    }
}

TEST(PreFilter, EveryPackedMemberReachesItsReader) {
    // None of these shows a shader magic in its stored bytes.
    const Data packed[] = {writers::zstd(one_bnsh()), writers::yaz0(one_bnsh()),
                           writers::zstd(writers::sarc(sarc_members()), 3, false)};
    for (const Data& d : packed) {
        expect_pairs(d, bnsh_pairs(), "packed");
        const std::vector<Member> member = {{"x", d}};
        expect_pairs(writers::sarc(member), bnsh_pairs(), "packed member");
        expect_pairs(writers::romfs(member), bnsh_pairs(), "packed file");
    }
}

TEST(Readers, EachIsFoundByContentAndNamedOnce) {
    std::set<std::string_view> names;
    for (const Reader* r : readers())
        EXPECT_TRUE(names.insert(r->format).second) << r->format;
    EXPECT_EQ(reader_for(Bytes()).format, "data");
    EXPECT_EQ(reader_for(one_bnsh()).format, "bnsh");
    EXPECT_EQ(reader_for(writers::ivfc(writers::romfs({}))).format, "romfs");
}

TEST(SameShader, TailsDifferOrInsideDiffers) {
    // Descriptors that run past the control section's own length: same shader.
    Pair a = small_pair(Stage::fragment, 1), b = a;
    a.control.resize(0x880 + 456, 0x11);
    b.control.resize(0x880 + 456, 0x22);
    std::vector<Member> files = {{"a", writers::bnsh(std::vector<std::vector<Pair>>{{a}})},
                                 {"b", writers::bnsh(std::vector<std::vector<Pair>>{{b}})}};
    ScanResult r = scan_bytes(writers::sarc(files));
    ASSERT_EQ(r.records.size(), 1u);
    EXPECT_EQ(r.records[0].copies, 1u);
    EXPECT_TRUE(r.errors.empty());
    // Past what the key covers but inside the own length: not the same, and that is said.
    set_word(a.control, 0x20, 0xa00);
    set_word(b.control, 0x20, 0xa00);
    files = {{"a", writers::bnsh(std::vector<std::vector<Pair>>{{a}})},
             {"b", writers::bnsh(std::vector<std::vector<Pair>>{{b}})}};
    r = scan_bytes(writers::sarc(files));
    EXPECT_EQ(r.records.size(), 1u);
    ASSERT_EQ(r.errors.size(), 1u);
    EXPECT_NE(errors_of(r).find("another shader of this key"), std::string::npos);
}

TEST(SameShader, KeySkip) {
    Pair a = small_pair(Stage::fragment, 1), b = a;
    b.control[0x778] ^= 0xff;
    const std::vector<Member> files = {{"a", writers::raw_pair(a)}, {"b", writers::raw_pair(b)}};
    const Data d = writers::sarc(files);
    EXPECT_EQ(scan_bytes(d).records.size(), 2u);
    const ScanResult r = scan_blob("file", Blob::view(d), KeySkip{0x770, 0x78});
    EXPECT_EQ(r.records.size(), 1u);
    EXPECT_TRUE(r.errors.empty()) << errors_of(r);
}

} // namespace
} // namespace dmsh
