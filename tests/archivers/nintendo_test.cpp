// Nintendo's containers through their own writers: what is found, where, and which stages belong together.
#include "archivers/scan/readers.h"
#include "tests/archivers/found.h"
#include "tests/writers/nintendo_archives.h"

namespace dmsh {
namespace {

using namespace writers;

std::string all_notes(const ScanResult& r) {
    std::string s;
    for (const std::string& n : r.notes)
        s += n + "\n";
    return s;
}

std::vector<Pair> graphics(uint32_t counter = 1) {
    return {small_pair(Stage::vertex, counter), small_pair(Stage::fragment, counter + 1)};
}

Data graphics_bnsh(uint32_t counter = 1) {
    return bnsh(std::vector<std::vector<Pair>>{graphics(counter)});
}

Data compute_bnsh(uint32_t counter = 50) {
    return bnsh(std::vector<std::vector<Pair>>{{small_pair(Stage::compute, counter)}});
}

// The pairs are found, nothing else, without an error, by the reader of that name.
ScanResult expect_found(const Data& file, const std::vector<Pair>& pairs, std::string_view format) {
    EXPECT_EQ(reader_for(file).format, format);
    return expect_pairs(file, pairs, std::string(format));
}

std::string label(const ScanResult& r, const Pair& p) {
    const ShaderRecord* record = r.find(key_of_pair(p));
    return record ? record->origin : "not found";
}

bool holds_pair(const std::vector<ShaderProgram>& programs, const Pair& a, const Pair& b) {
    return std::ranges::any_of(programs, [&](const ShaderProgram& p) {
        return p.keys[static_cast<size_t>(a.stage)] == key_of_pair(a) &&
               p.keys[static_cast<size_t>(b.stage)] == key_of_pair(b);
    });
}

bool are_paired(const ScanResult& r, const Pair& a, const Pair& b) {
    return holds_pair(r.programs, a, b);
}

// Named together by a list of the engine, which is not all that it draws together (L-002).
bool are_listed(const ScanResult& r, const Pair& a, const Pair& b) {
    return holds_pair(r.listed, a, b);
}

TEST(Bnsh, SingleStageFilesPairWithNothing) {
    // .bnsh_vsh and .bnsh_fsh: two files, each of one stage.
    const auto p = graphics();
    const std::vector<Member> files = {{"a.bnsh_vsh", bnsh(std::vector<std::vector<Pair>>{{p[0]}})},
                                       {"a.bnsh_fsh", bnsh(std::vector<std::vector<Pair>>{{p[1]}})}};
    const ScanResult r = expect_found(sarc(files), p, "sarc");
    EXPECT_TRUE(r.programs.empty());
}

TEST(Bnsh, LongControlSectionsWithDifferentTails) {
    // Layout archives: control sections of 104 KB, which their records take to be 456 bytes longer; what lies
    // there differs between copies of one shader.
    std::vector<Member> files;
    for (const uint8_t filler : {0x11, 0x22}) {
        Pair p = small_pair(Stage::fragment, 1);
        p.control.resize(104 << 10, 0x33);
        set_word(p.control, 0x20, 104 << 10);
        p.control.resize(p.control.size() + 456, filler);
        files.push_back({std::string("layout") + static_cast<char>('a' + files.size()),
                         bnsh(std::vector<std::vector<Pair>>{{p}})});
    }
    const ScanResult r = scan_bytes(sarc(files));
    ASSERT_EQ(r.records.size(), 1u) << errors_of(r);
    EXPECT_EQ(r.records[0].copies, 1u);
    EXPECT_EQ(r.records[0].control.size(), 104u << 10);
    EXPECT_TRUE(r.errors.empty()) << errors_of(r);
}

TEST(Bnsh, VariationsWithoutMachineCodeAreCounted) {
    Data d = bnsh(std::vector<std::vector<Pair>>{graphics()}, 2);
    for (const uint64_t v : {1, 2}) { // their source and intermediate programs remain
        set_word(d, 0xc0 + 0x40 * v + 0x10, 0);
        set_word(d, 0xc0 + 0x40 * v + 8 * (v - 1), 0xc0);
    }
    const ScanResult r = expect_found(d, graphics(), "bnsh");
    EXPECT_NE(all_notes(r).find("2 variations hold source or intermediate programs"), std::string::npos);
}

TEST(Bnsh, SecondStageOfAKindIsLeftOut) {
    const std::vector<Pair> mesh = {small_nvn2_pair(Stage::task, 1), small_nvn2_pair(Stage::mesh, 2)};
    Data d = bnsh(std::vector<std::vector<Pair>>{mesh});
    const uint64_t program = Bytes(d).u64(0xc0 + 0x10);
    set_word(d, program + 0x38, uint32_t(Bytes(d).u64(program + 0x48))); // slot 6 as slot 8
    const ScanResult r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 2u);
    EXPECT_NE(errors_of(r).find("a second stage mesh"), std::string::npos) << errors_of(r);
}

TEST(Bfsha, ModelsByTheirTablesInEveryVersion) {
    for (unsigned major = 4; major <= 9; ++major) {
        const std::vector<ShaderModel> models = {
            {"material", graphics_bnsh(1)}, {"shadow", graphics_bnsh(10)}, {"cull", compute_bnsh(20)}};
        std::vector<Pair> want = graphics(1);
        for (const Pair& p : graphics(10))
            want.push_back(p);
        want.push_back(small_pair(Stage::compute, 20));
        const ScanResult r = expect_found(bfsha_models(models, major), want, "bfsha");
        EXPECT_EQ(label(r, want[0]), "file (material variation 0)") << major;
        EXPECT_EQ(label(r, want[3]), "file (shadow variation 0)") << major;
        EXPECT_EQ(label(r, want[4]), "file (cull variation 0)") << major;
        EXPECT_TRUE(are_paired(r, want[0], want[1]));
        EXPECT_TRUE(are_paired(r, want[2], want[3]));
        EXPECT_EQ(r.programs.size(), 2u);
        EXPECT_EQ(r.formats.at("bfsha").shaders, 5u);
    }
}

TEST(Bfsha, UnknownVersionIsSearchedAndSaid) {
    const ScanResult r =
        expect_found(bfsha_models(std::vector<ShaderModel>{{"m", graphics_bnsh()}}, 10), graphics(), "bfsha");
    EXPECT_NE(all_notes(r).find("BFSHA of version 10"), std::string::npos);
}

TEST(Bfsha, ModelThatPointsElsewhereIsAnErrorAndItsBnshIsFound) {
    const BfshaPlaces at = bfsha_places(8);
    Data d =
        bfsha_models(std::vector<ShaderModel>{{"first", graphics_bnsh(1)}, {"second", graphics_bnsh(5)}}, 8);
    set_word(d, at.models + at.bnsh_pointer, 0x30);
    ScanResult r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 4u);
    EXPECT_NE(errors_of(r).find("first: no BNSH where its record points"), std::string::npos);
    // More models than the file can hold: refused whole.
    d[at.model_count + 1] = 0xff;
    r = scan_bytes(d);
    EXPECT_TRUE(r.records.empty());
    EXPECT_NE(errors_of(r).find("the shader models leave the file"), std::string::npos);
}

TEST(Bfsha, RefusedBnshIsNotFoundAgainAsLooseSections) {
    const BfshaPlaces at = bfsha_places(7);
    Data d = bfsha_models(std::vector<ShaderModel>{{"bad", graphics_bnsh(1)}, {"good", graphics_bnsh(5)}}, 7);
    const uint64_t bad = Bytes(d).u64(at.models + at.bnsh_pointer);
    set_word(d, bad + 0x80, 0x7fffffff); // its variation table
    const ScanResult r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 2u);
    EXPECT_EQ(r.lone_controls, 0u);
    EXPECT_EQ(label(r, graphics(5)[0]), "file (good variation 0)");
    ASSERT_EQ(r.errors.size(), 1u);
}

std::vector<SharcProgram> two_programs() {
    return {{"blur",
             {small_pair(Stage::vertex, 1), small_pair(Stage::fragment, 2), small_pair(Stage::vertex, 3),
              small_pair(Stage::fragment, 4)}},
            {"fog", {small_pair(Stage::vertex, 5), small_pair(Stage::fragment, 6)}}};
}

std::vector<Pair> all_of(const std::vector<SharcProgram>& programs) {
    std::vector<Pair> all;
    for (const SharcProgram& p : programs)
        all.insert(all.end(), p.variations.begin(), p.variations.end());
    return all;
}

TEST(Bahs, EntriesAndPairsOfPrograms) {
    for (const uint32_t version : {9u, 11u, 13u}) {
        const auto all = all_of(two_programs());
        const ScanResult r = expect_found(bahs(two_programs(), version), all, "bahs");
        EXPECT_EQ(r.listed.size(), 3u);
        for (size_t i = 0; i < all.size(); i += 2)
            EXPECT_TRUE(are_listed(r, all[i], all[i + 1])) << i;
        EXPECT_EQ(label(r, all[3]), "file (blur variation 3)");
        EXPECT_EQ(label(r, all[4]), "file (fog variation 4)");
    }
}

TEST(Bahs, ControlSectionsAreSharedAndReachBack) {
    // Two vertex stages of one control section, whose code differs: keys differ, both are found, and each
    // goes with its own pixel stage. Control lengths of both generations of the format.
    for (const uint32_t length : {0x848u, 0x880u, 0x88cu}) {
        Pair a = small_pair(Stage::vertex, 1), b = a;
        for (Pair* p : {&a, &b}) {
            p->control.resize(length);
            set_word(p->control, 0x20, length);
        }
        b.code[0x98] ^= 0x10; // a register of the branch's padding
        const std::vector<SharcProgram> programs = {
            {"p", {a, small_pair(Stage::fragment, 2), b, small_pair(Stage::fragment, 3)}}};
        const ScanResult r = expect_found(bahs(programs), all_of(programs), "bahs");
        EXPECT_EQ(r.listed.size(), 2u);
        EXPECT_TRUE(are_listed(r, b, programs[0].variations[3]));
        EXPECT_EQ(r.find(key_of_pair(a))->offset, r.find(key_of_pair(b))->offset);
    }
}

TEST(Bahs, ComputeAndSwitch2Programs) {
    const std::vector<SharcProgram> programs = {
        {"reduce", {small_pair(Stage::compute, 1), small_pair(Stage::compute, 2)}},
        {"leaf", {small_nvn2_pair(Stage::vertex, 3), small_nvn2_pair(Stage::fragment, 4)}},
        {"cull", {small_nvn2_pair(Stage::compute, 5)}}};
    const ScanResult r = expect_found(bahs(programs), all_of(programs), "bahs");
    EXPECT_EQ(r.listed.size(), 1u);
    EXPECT_TRUE(are_listed(r, programs[1].variations[0], programs[1].variations[1]));
}

TEST(Bahs, EntryThatPointsOutsideAndDataInPlaceOfCode) {
    const Data d = bahs(two_programs());
    const uint64_t first = 0x150 + Bytes(d).u32(0x14) + 8, entry = first + 0x10;
    Data far = d;
    set_word(far, entry + 0xc, 0x7ffffff0);
    ScanResult r = scan_bytes(far);
    EXPECT_TRUE(r.records.empty());
    EXPECT_NE(errors_of(r).find("BAHS entry 0 points outside the file"), std::string::npos);
    far = d;
    set_word(far, entry, 0x7ffffff0); // its code
    EXPECT_NE(errors_of(scan_bytes(far)).find("BAHS entry 0 points outside the file"), std::string::npos);
    // A data blob where the code should be: reported, the rest is read.
    Data blob = d;
    set_word(blob, Bytes(d).u32(0x1c) + Bytes(d).u32(entry), 0x3f800000);
    r = scan_bytes(blob);
    EXPECT_EQ(r.records.size(), 5u);
    EXPECT_NE(errors_of(r).find("BAHS: blur variation 0: "), std::string::npos) << errors_of(r);
}

TEST(Bahs, OtherVersionsAndOrders) {
    Data d = bahs(two_programs(), 8);
    EXPECT_NE(errors_of(scan_bytes(d)).find("BAHS: version 8 is not known"), std::string::npos);
    d = bahs(two_programs());
    std::reverse(d.begin() + 0x0c, d.begin() + 0x10);
    EXPECT_NE(errors_of(scan_bytes(d)).find("big-endian"), std::string::npos);
    // A table of programs that does not fit costs names and pairs, and that is said.
    d = bahs(two_programs());
    const uint64_t tables = 0x150 + Bytes(d).u32(0x14);
    set_word(d, tables, 0x7fffffff);
    const ScanResult r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 6u);
    EXPECT_TRUE(r.listed.empty());
    EXPECT_NE(all_notes(r).find("table of programs does not fit"), std::string::npos);
}

TEST(Bfres, ShaderArchivesAmongEmbeddedFiles) {
    const std::vector<Data> embedded = {bfsha_models(std::vector<ShaderModel>{{"m", graphics_bnsh(1)}}, 8),
                                        Data(100, 'x'), compute_bnsh(20)};
    std::vector<Pair> want = graphics(1);
    want.push_back(small_pair(Stage::compute, 20));
    const ScanResult r = expect_found(bfres(embedded), want, "bfres");
    EXPECT_EQ(label(r, want[0]), "file/archive (m variation 0)");
    EXPECT_EQ(r.formats.at("bfsha").containers, 1u);
}

TEST(Vfxb, GraphicsAndComputeOfEitherForm) {
    std::vector<Pair> want = graphics(1);
    want.push_back(small_pair(Stage::compute, 50));
    ScanResult r = expect_found(vfxb(graphics_bnsh(1), compute_bnsh(50)), want, "vfxb");
    EXPECT_EQ(label(r, want[0]), "file/GRSN (variation 0)");
    EXPECT_EQ(label(r, want[2]), "file/GRSC (variation 0)");
    const Data archive = bfsha_models(std::vector<ShaderModel>{{"m", graphics_bnsh(1)}}, 7);
    r = expect_found(vfxb(archive, compute_bnsh(50)), want, "vfxb");
    EXPECT_EQ(label(r, want[0]), "file/GRSN (m variation 0)");
    // Without graphics the compute section is found all the same.
    expect_found(vfxb({}, compute_bnsh(50)), {want[2]}, "vfxb");
    // As game files nest them: a set of effects, compressed, in a pack.
    const std::vector<Member> pack = {{"Effect/a.sesetlist", yaz0(vfxb(graphics_bnsh(1), {}))}};
    expect_found(sarc(pack), graphics(1), "sarc");
}

TEST(Vfxb, SectionsOutsideAndInACircle) {
    Data d = vfxb(graphics_bnsh(1), {});
    set_word(d, 0x40 + 0x0c, 0);
    EXPECT_NE(errors_of(scan_bytes(d)).find("VFXB: sections form a circle"), std::string::npos);
    set_word(d, 0x40 + 0x0c, 0x7fffffff);
    EXPECT_NE(errors_of(scan_bytes(d)).find("VFXB: a section leaves the file"), std::string::npos);
}

TEST(LayoutArchive, ArchiveShaderOfBothKinds) {
    const std::vector<Member> members = {{"__ArchiveShader.bnsh", graphics_bnsh()},
                                         {"blyt/main.bflyt", Data(64, 'l')},
                                         {"timg/__Combined.bntx", Data(64, 't')}};
    for (const bool big : {false, true}) {
        const ScanResult r = expect_found(sarc(members, big), graphics(), "sarc"); // .blarc
        EXPECT_EQ(label(r, graphics()[0]), "file/__ArchiveShader.bnsh (variation 0)");
        EXPECT_TRUE(are_paired(r, graphics()[0], graphics()[1]));
    }
    expect_found(yaz0(sarc(members)), graphics(), "yaz0"); // .sblarc
    expect_found(zstd(sarc(members)), graphics(), "zstd"); // .blarc.zs
}

TEST(SarcArchive, EntriesWithoutNamesInBothOrders) {
    const std::vector<HashedMember> members = {{0x12345678, graphics_bnsh(1)}, {0x9abcdef0, compute_bnsh(9)}};
    for (const bool big : {false, true}) {
        const ScanResult r = scan_bytes(sarc_without_names(members, big));
        EXPECT_EQ(r.records.size(), 3u) << errors_of(r);
        EXPECT_EQ(label(r, graphics(1)[0]), "file/12345678 (variation 0)");
        EXPECT_EQ(label(r, small_pair(Stage::compute, 9)), "file/9abcdef0 (variation 0)");
        EXPECT_TRUE(r.errors.empty());
    }
}

TEST(SarcArchive, EveryRuleBroken) {
    const std::vector<Member> members = {{"a", graphics_bnsh(1)}};
    const auto broken = [&](size_t at, uint32_t value) {
        Data d = sarc(members);
        set_word(d, at, value);
        return errors_of(scan_bytes(d));
    };
    const auto has = [](const std::string& text, const char* what) {
        return text.find(what) != std::string::npos;
    };
    EXPECT_TRUE(has(broken(0x06, 0x1234), "no byte order mark"));
    EXPECT_TRUE(has(broken(0x08, 0x7fffffff), "its length leaves the file"));
    EXPECT_TRUE(has(broken(0x14, 0), "file table leaves the archive"));
    EXPECT_TRUE(has(broken(0x1a, 0x00654000), "16384 members"));
    EXPECT_TRUE(has(broken(0x1a, 0x00653fff), "file table leaves the archive"));
    EXPECT_TRUE(has(broken(0x28, 0x7fffffff), "member a leaves the archive"));
    EXPECT_TRUE(has(broken(0x2c, 0x7fffffff), "member a leaves the archive"));
    // A name that lies outside the names costs the name only.
    Data d = sarc(members);
    set_word(d, 0x24, 0x01ffffff);
    const ScanResult r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 2u);
}

std::vector<Member> tree() {
    return {{"shader/a.bnsh", graphics_bnsh(1)},
            {"shader/post/b.bnsh", compute_bnsh(50)},
            {"top.txt", Data(30, 't')},
            {"z/last.bin", raw_pair(small_pair(Stage::geometry, 60))}};
}

std::vector<Pair> tree_pairs() {
    std::vector<Pair> want = graphics(1);
    want.push_back(small_pair(Stage::compute, 50));
    want.push_back(small_pair(Stage::geometry, 60));
    return want;
}

TEST(U8, PathsInBothOrders) {
    for (const bool little : {false, true}) {
        const ScanResult r = expect_found(u8_archive(tree(), little), tree_pairs(), "u8");
        EXPECT_EQ(label(r, tree_pairs()[0]), "file/shader/a.bnsh (variation 0)");
        EXPECT_EQ(label(r, tree_pairs()[2]), "file/shader/post/b.bnsh (variation 0)");
        EXPECT_EQ(label(r, tree_pairs()[3]), "file/z/last.bin");
        EXPECT_EQ(r.members, 4u);
    }
}

TEST(U8, DirectoriesThatEndOutsideAndNodesOutside) {
    Data d = u8_archive(tree(), true);
    const auto broken = [&](size_t at, uint32_t value) {
        Data copy = d;
        set_word(copy, at, value);
        return errors_of(scan_bytes(copy));
    };
    EXPECT_NE(broken(0x20 + 8, 10000).find("more nodes than the table"), std::string::npos);
    EXPECT_NE(broken(0x20 + 12 * 2 + 8, 1).find("ends outside of the one around it"), std::string::npos);
    EXPECT_NE(broken(0x20 + 12 + 4, 0x7fffffff).find("member top.txt leaves the archive"), std::string::npos);
}

std::vector<BeaEntry> bea_entries() {
    return {{"System/shader/m.bfsha", bfsha_models(std::vector<ShaderModel>{{"m", graphics_bnsh(1)}}, 8)},
            {"layout/__ArchiveShader.bnsh", compute_bnsh(50), true},
            {"note.txt", Data(500, 'n')}};
}

TEST(BeaReader, BothForms) {
    std::vector<Pair> want = graphics(1);
    want.push_back(small_pair(Stage::compute, 50));
    for (const uint32_t version : {0x10100u, 0x50000u, 0x60000u}) {
        const ScanResult r = expect_found(bea(bea_entries(), version), want, "bea");
        EXPECT_EQ(label(r, want[0]), "file/System/shader/m.bfsha (m variation 0)");
        EXPECT_EQ(label(r, want[2]), "file/layout/__ArchiveShader.bnsh (variation 0)");
        EXPECT_EQ(r.members, 3u);
    }
}

TEST(BeaReader, WrongEntriesAndVersions) {
    EXPECT_NE(errors_of(scan_bytes(bea(bea_entries(), 0x20000))).find("BEA: version 0x20000 is not known"),
              std::string::npos);
    for (const uint32_t version : {0x10100u, 0x60000u}) {
        const Data d = bea(bea_entries(), version);
        const bool in_place = version >= 0x50000;
        const uint64_t first = in_place ? Bytes(d).u64(0x28) : Bytes(d).u64(Bytes(d).u64(0x28));
        Data copy = d;
        set_word(copy, first, 0);
        ScanResult r = scan_bytes(copy);
        EXPECT_TRUE(r.records.empty());
        EXPECT_NE(errors_of(r).find("entry 0 is not an ASST entry"), std::string::npos);
        // A wrong decoded size costs the entry only.
        copy = d;
        set_word(copy, first + 0x18, Bytes(d).u32(first + 0x18) + 1);
        r = scan_bytes(copy);
        EXPECT_EQ(r.records.size(), 1u);
        EXPECT_NE(errors_of(r).find("file/System/shader/m.bfsha: BEA: does not decode to its size"),
                  std::string::npos)
            << errors_of(r);
        // Data outside the file: the index cannot be believed.
        copy = d;
        set_word(copy, first + 0x14, 0x7fffffff);
        EXPECT_NE(errors_of(scan_bytes(copy)).find("entry 0 leaves the file"), std::string::npos);
        if (in_place) {
            copy = d;
            set_word(copy, first + 4, 0);
            EXPECT_NE(errors_of(scan_bytes(copy)).find("entry 0 has an impossible size"), std::string::npos);
        }
    }
}

TEST(Cra, NamedAndNotRead) {
    Buffer b;
    b.text(0, "CRA.");
    b.reserve_to(0x1000);
    const ScanResult r = scan_bytes(b.bytes, "42");
    ASSERT_EQ(r.errors.size(), 1u);
    EXPECT_NE(r.errors[0].text().find("42: CRA: a scrambled archive indexed by the game's code"),
              std::string::npos);
}

} // namespace
} // namespace dmsh
