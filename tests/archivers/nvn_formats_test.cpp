// NVN's own containers: Switch 2's packs, single-stage binaries, lists of outputs, tables of offsets.
#include "tests/archivers/corpus.h"
#include "tests/archivers/found.h"
#include "tests/writers/nvn_packs.h"

namespace dmsh {
namespace {

using writers::Buffer;
using writers::Data;
using writers::Member;
using writers::NdsrEntry;
using writers::Pair;
using writers::small_nvn2_pair;
using writers::small_pair;

void append(std::vector<NdsrEntry>& to, const std::vector<NdsrEntry>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

// Three programs of the three kinds of type; the third on an odd entry, behind a 4-byte constant.
std::vector<NdsrEntry> odd_pack(const std::vector<Pair>& p) {
    std::vector<NdsrEntry> entries = writers::ndsr_program(p[0], 0);
    append(entries, writers::ndsr_program(p[1], 3));
    entries.push_back({9, Data(4, 0x11)});
    append(entries, writers::ndsr_program(p[2], 6));
    entries.push_back({2, Data(64, 0x22)});
    return entries;
}

std::vector<Pair> networks() {
    return {small_nvn2_pair(Stage::compute, 1), writers::nvn2_pair_without_offset(Stage::compute, 2),
            small_nvn2_pair(Stage::compute, 3)};
}

// S-003, S-004: from KTGL's shortest sections to layout archives' 104 KB with the assembly in them.
TEST(ControlSections, OfEveryLength) {
    for (const uint32_t length : {0x760u, 0x840u, 0x848u, 0x850u, 0x880u, 0x88cu, 0xa10u, 0x1a004u}) {
        Pair p = small_pair(Stage::fragment, 1);
        p.control.resize(length, 0x3b);
        set_word(p.control, 0x20, length);
        if (length > 0x7f4) { // no extra data
            set_word(p.control, 0x7e8, 0);
            set_word(p.control, 0x7ec, 0);
        }
        const std::string what = "control section of " + std::to_string(length) + " bytes";
        expect_pairs(writers::raw_pair(p, 1), {p}, what);
        expect_pairs(writers::glslc_output(std::vector{p}), {p}, what + " in an output");
        expect_pairs(writers::bnsh(std::vector<std::vector<Pair>>{{p}}), {p}, what + " in a BNSH");
        // What follows the section in its container is not part of it.
        Pair longer = p;
        longer.control.resize(length + 456, 0x77);
        expect_pairs(writers::bnsh(std::vector<std::vector<Pair>>{{longer}}), {p}, what + " and a bit");
        EXPECT_EQ(key_of_pair(p), program_key(std::span(p.control).first(std::min(length, 0x880u)), p.code));
    }
}

TEST(NdsrReader, BothStartsAndOddEntries) {
    for (const uint64_t start : {0x10u, 0x14u}) {
        const ScanResult r =
            expect_pairs(writers::ndsr(odd_pack(networks()), start), networks(), "NDSR pack");
        EXPECT_EQ(r.formats.at("ndsr").shaders, 3u);
        EXPECT_TRUE(r.programs.empty());
        EXPECT_EQ(r.find(key_of_pair(networks()[2]))->origin, "file (entry 5)");
    }
}

TEST(NdsrReader, OffsetsFromTheFileStart) {
    // The magic stands behind other bytes, and the records count from the file's start.
    const Data pack = writers::ndsr(odd_pack(networks()), 0x14);
    Buffer b;
    b.text(0, "VIPR");
    b.reserve_to(0x40);
    b.append(pack);
    for (uint64_t i = 0; i < 8; ++i)
        b.u32(0x40 + 0x14 + 8 * i, Bytes(pack).u32(0x14 + 8 * i) + 0x40);
    expect_pairs(b.bytes, networks(), "offsets from the file");
}

TEST(NdsrReader, DamageCostsItsEntryOnly) {
    Data d = writers::ndsr(odd_pack(networks()), 0x10);
    set_word(d, 0x10 + 8, 0x7fffff00); // the first program's code
    ScanResult r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 2u);
    EXPECT_EQ(errors_of(r), "file+0x10: NDSR entry 0 leaves the pack (its shaders are left out)\n");
    d = writers::ndsr(odd_pack(networks()), 0x10);
    set_word(d, Bytes(d).u32(0x10) + 0x44, 0x1000); // the control section's code length
    r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 2u);
    EXPECT_NE(errors_of(r).find("NDSR entry 0: code length"), std::string::npos) << errors_of(r);
    // Graphics have no place here.
    expect_refused(writers::ndsr(writers::ndsr_program(small_nvn2_pair(Stage::vertex, 9)), 0x10),
                   "container says compute");
}

TEST(NdsrReader, NotAPack) {
    expect_refused(Data{'N', 'D', 'S', 'R', 1, 2, 3, 4}, "NDSR pack: its records lead to no control section");
    const ScanResult r = scan_bytes(Data{'V', 'I', 'P', 'R', 'N', 'D', 'S', 'R', 0, 0});
    EXPECT_TRUE(r.errors.empty());
}

TEST(VzipReader, NetworksInsideAViprResource) {
    const ScanResult r = expect_pairs(writers::vipr(writers::ndsr(odd_pack(networks()))), networks(), "VIPR");
    EXPECT_EQ(r.formats.at("vipr").shaders, 3u);
}

TEST(NdveReader, RawAndTableNamedPrograms) {
    const std::vector<Pair> raw = {small_nvn2_pair(Stage::compute, 1), small_nvn2_pair(Stage::compute, 2)};
    const std::vector<Pair> named = {writers::nvn2_pair_without_offset(Stage::compute, 3),
                                     writers::nvn2_pair_without_offset(Stage::compute, 4)};
    const Data d = writers::ndve(raw, named);
    const std::vector<Pair> all = {raw[0], raw[1], named[0], named[1]};
    const ScanResult r = expect_pairs(d, all, "NDVE");
    EXPECT_EQ(r.formats.at("ndve").shaders, 4u);
    // As the game ships it.
    expect_pairs(writers::zstd(d), all, "NDVE in zstd");
}

TEST(NdveReader, SectionsThatNothingNames) {
    const std::vector<Pair> raw = {small_nvn2_pair(Stage::compute, 1)};
    const std::vector<Pair> named = {writers::nvn2_pair_without_offset(Stage::compute, 3)};
    Data d = writers::ndve(raw, named);
    set_word(d, 0x2c + 12, 0); // the record's code length
    ScanResult r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 1u);
    EXPECT_NE(errors_of(r).find("NDVE program has no code area"), std::string::npos) << errors_of(r);
    d = writers::ndve(raw, named);
    d.resize(Bytes(d).u32(0x2c)); // before the named program
    r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 1u);
    EXPECT_NE(errors_of(r).find("NDVE program of the header's table leaves the file"), std::string::npos)
        << errors_of(r);
    expect_refused(Data{'N', 'D', 'V', 'E', 0, 0, 0, 0}, "NDVE: it holds no control section");
}

// S-019: a pack that pads the section to its code, one that does not, and a single-stage binary hold one
// shader.
TEST(Nvn2Key, PackedFormsAreOneShader) {
    const Pair p = small_nvn2_pair(Stage::compute, 1);
    Pair padded = p;
    padded.control.resize(0x100);
    set_word(padded.control, 0x30, 0x100);
    const std::vector<Member> files = {{"a", writers::ndve(std::vector{p}, {})},
                                       {"b", writers::ndve(std::vector{padded}, {})},
                                       {"c", writers::viper_binary(p)},
                                       {"d", writers::ndsr(writers::ndsr_program(padded))}};
    const ScanResult r = scan_bytes(writers::romfs(files));
    EXPECT_EQ(errors_of(r), "");
    ASSERT_EQ(r.records.size(), 1u);
    EXPECT_EQ(r.records[0].copies, 3u);
    EXPECT_EQ(r.records[0].key, key_of_pair(p));
}

TEST(ViperBinary, EachStage) {
    for (const Stage stage : {Stage::vertex, Stage::fragment, Stage::compute}) {
        const Pair p = small_nvn2_pair(stage, 5);
        const ScanResult r = expect_pairs(writers::viper_binary(p), {p}, "single-stage binary");
        EXPECT_EQ(r.records[0].arch, Arch::sm86);
        EXPECT_TRUE(r.programs.empty());
        // Several in one file, at any byte.
        Buffer b;
        b.reserve_to(3);
        b.append(writers::viper_binary(p));
        b.append(writers::viper_binary(small_nvn2_pair(stage, 6)));
        expect_pairs(b.bytes, {p, small_nvn2_pair(stage, 6)}, "two of them");
    }
}

TEST(ViperBinary, Damaged) {
    const Pair p = small_nvn2_pair(Stage::fragment, 5);
    Data d = writers::viper_binary(p);
    d.resize(d.size() - 8);
    expect_refused(d, "single-stage binary: its lengths leave the file");
    d = writers::viper_binary(p);
    set_word(d, 4, Bytes(d).u32(4) - 8);
    expect_refused(d, "single-stage binary: control section: wrong magic");
    d = writers::viper_binary(p);
    set_word(d, 0x18 + 0x30, 0); // its program header
    expect_refused(d, "single-stage binary: shader program header");
}

std::vector<Data> outputs() {
    const std::vector<Pair> program = {small_pair(Stage::vertex, 1), small_pair(Stage::fragment, 2)};
    return {writers::glslc_output(program),
            writers::glslc_output(std::vector{small_pair(Stage::fragment, 3)})};
}
std::vector<Pair> output_pairs() {
    return {small_pair(Stage::vertex, 1), small_pair(Stage::fragment, 2), small_pair(Stage::fragment, 3)};
}

TEST(GlslcReader, ProgramHeaderCountsWhereTheSectionDisagrees) {
    const Pair vertex = small_pair(Stage::vertex, 1);
    Data d = writers::glslc_output(std::vector{vertex});
    set_word(d, 0x90 + 0x2c, 1);
    EXPECT_EQ(expect_pairs(d, {vertex}, "disagreeing section").notes.size(), 1u);
    set_word(d, 0x90 + 0x2c, 77);
    EXPECT_TRUE(expect_pairs(d, {vertex}, "section without a stage").notes.empty());
}

TEST(OutputLists, CountedTechniquesAndLooseFiles) {
    EXPECT_EQ(expect_pairs(writers::output_list(outputs()), output_pairs(), "list")
                  .formats.at("glslc_list")
                  .shaders,
              3u);
    EXPECT_EQ(expect_pairs(writers::tec(outputs()), output_pairs(), "TEC").formats.at("tec").shaders, 3u);
    const ScanResult r =
        expect_pairs(writers::romfs(std::vector<Member>{{"data/shaders_binary/a.vs", outputs()[0]},
                                                        {"data/shaders_binary/a.ps", outputs()[1]}}),
                     output_pairs(), "loose files");
    ASSERT_EQ(r.programs.size(), 1u);
    EXPECT_EQ(r.programs[0].stages, 3);
}

TEST(OutputLists, EndWhereTheFileDoes) {
    Data d = writers::output_list(outputs());
    d.push_back(0);
    expect_refused(d, "list of GLSLC outputs does not end where the file does");
    d.resize(d.size() - 100);
    ScanResult r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 2u);
    EXPECT_NE(errors_of(r).find("its length leaves the file"), std::string::npos) << errors_of(r);
    d = writers::output_list(outputs());
    set_word(d, 0, 3);
    r = scan_bytes(d);
    EXPECT_EQ(r.records.size(), 3u);
    EXPECT_NE(errors_of(r).find("list of GLSLC outputs: entry 2 leaves the file"), std::string::npos);
}

TEST(Nvsb, OneProgram) {
    const std::vector<Pair> pairs = {output_pairs()[0], output_pairs()[1]};
    const Data d = writers::nvsb(outputs()[0]);
    const ScanResult r = expect_pairs(d, pairs, "NVSB");
    EXPECT_EQ(r.programs.size(), 1u);
    EXPECT_EQ(r.formats.at("nvsb").shaders, 2u);
    expect_refused(writers::nvsb(outputs()[0], 0x66), "NVSB: version 0x66 is not known");
    Data cut = d;
    cut.resize(d.size() - 1);
    expect_refused(cut, "NVSB: its length leaves the file");
}

TEST(OffsetTable, EachControlSectionGetsItsOwnCode) {
    // Both control sections first: the code that follows the second is the first one's.
    const Pair vertex = small_pair(Stage::vertex, 1), fragment = small_pair(Stage::fragment, 2);
    const ScanResult r =
        expect_pairs(writers::offset_table(fragment, vertex), {vertex, fragment}, "offset table");
    ASSERT_EQ(r.programs.size(), 1u);
    EXPECT_EQ(r.programs[0].keys[0], key_of_pair(vertex));
    Data d = writers::offset_table(fragment, vertex);
    set_word(d, 12, 0x7fffff00);
    expect_refused(d, "offset table: pair 1 leaves the file");
}

TEST(OffsetTable, ThePublicSample) {
    DMSH_NEED_CORPUS("public");
    const Data d = read_file(corpus_root() / "public/SV-Exlaunch/imgui.bin");
    const ScanResult r = scan_bytes(d);
    EXPECT_EQ(errors_of(r), "");
    ASSERT_EQ(r.records.size(), 2u);
    ASSERT_EQ(r.programs.size(), 1u);
    for (const ShaderRecord& s : r.records) {
        const bool fragment = s.stage == Stage::fragment;
        EXPECT_EQ(s.offset, fragment ? 0x10u : 0xa00u);
        EXPECT_EQ(s.control.size(), fragment ? 0x990u : 0xa28u);
        ASSERT_EQ(s.code.size(), 0x200u);
        EXPECT_EQ(std::memcmp(s.code.bytes.data(), d.data() + (fragment ? 0x1500 : 0x1700), 0x200), 0);
    }
}

// Of the public samples only the NVN pair holds shaders; none of the others is mistaken for one.
TEST(PublicSamples, NoShaderWhereThereIsNone) {
    DMSH_NEED_CORPUS("public");
    for (const char* folder :
         {"SV-Exlaunch", "nanovg-deko3d", "zstd", "tegra_swizzle", "bcdec", "astc-encoder"}) {
        ScanOptions options;
        options.paths = {(corpus_root() / "public" / folder).string()};
        options.workers = 1;
        const auto r = scan(options);
        ASSERT_TRUE(r) << folder;
        EXPECT_EQ(errors_of(*r), "") << folder;
        EXPECT_EQ(r->records.size(), std::string_view(folder) == "SV-Exlaunch" ? 2u : 0u) << folder;
        EXPECT_EQ(r->lone_controls, 0u) << folder;
    }
}

} // namespace
} // namespace dmsh
