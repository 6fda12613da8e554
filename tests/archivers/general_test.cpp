// Containers that belong to no console: zip and Viper's zip, gzip, tar, Heaps' PAK, GLSL sources.
#include "tests/archivers/found.h"
#include "tests/writers/codecs.h"
#include "tests/writers/general.h"
#include "tests/writers/nvn_packs.h"
#include <random>

namespace dmsh {
namespace {

using writers::Buffer;
using writers::Data;
using writers::Member;
using writers::Pair;
using writers::small_nvn2_pair;
using writers::small_pair;
using writers::ZipMember;
using writers::ZipMethod;

std::vector<Pair> program() {
    return {small_pair(Stage::vertex, 1), small_pair(Stage::fragment, 2)};
}

Data text(const std::string& s) {
    return {s.begin(), s.end()};
}

std::vector<ZipMember> zip_members() {
    return {{"nxcontent/", {}, ZipMethod::stored},
            {"nxcontent/nvsb/a.nvsb", writers::nvsb(writers::glslc_output(program())), ZipMethod::deflate},
            {"b.nvsb", writers::nvsb(writers::glslc_output(std::vector{small_pair(Stage::fragment, 3)})),
             ZipMethod::stored},
            {"readme.txt", text("no shader here"), ZipMethod::deflate},
            {"empty", {}, ZipMethod::deflate}};
}
std::vector<Pair> zip_pairs() {
    return {small_pair(Stage::vertex, 1), small_pair(Stage::fragment, 2), small_pair(Stage::fragment, 3)};
}

TEST(ZipReader, StoredAndDeflatedMembers) {
    const ScanResult r = expect_pairs(writers::zip(zip_members()), zip_pairs(), "zip");
    EXPECT_EQ(r.find(key_of_pair(zip_pairs()[0]))->origin, "file/nxcontent/nvsb/a.nvsb");
    ASSERT_EQ(r.programs.size(), 1u);
    EXPECT_EQ(r.programs[0].stages, 3);
    EXPECT_EQ(r.formats.at("nvsb").containers, 2u);
}

TEST(ZipReader, OtherFormsOfTheArchive) {
    expect_pairs(writers::zip(zip_members(), {{}, false, false, "a comment that holds PK\5\6 too"}),
                 zip_pairs(), "comment");
    expect_pairs(writers::zip(zip_members(), {{}, false, true, ""}), zip_pairs(), "zip64");
    expect_pairs(writers::zip(std::vector<ZipMember>{}), {}, "empty archive");
    Data preamble = text("VZIP");
    preamble.resize(77);
    for (const bool counted : {true, false})
        for (const bool zip64 : {true, false})
            expect_pairs(writers::zip(zip_members(), {preamble, counted, zip64, ""}), zip_pairs(),
                         "preamble");
    expect_pairs(writers::zip(std::vector<ZipMember>{{"inner.zip", writers::zip(zip_members())}}),
                 zip_pairs(), "zip in zip");
}

// The local header's CRC is not looked at: the directory's counts.
uint64_t directory_entry(const Data& d, unsigned index) {
    uint64_t at = Bytes(d).u32(d.size() - 22 + 16);
    for (; index; --index)
        at += 46 + Bytes(d).u16(at + 28) + Bytes(d).u16(at + 30) + Bytes(d).u16(at + 32);
    return at;
}

TEST(ZipReader, DamagedMembersCostThemselves) {
    const Data good = writers::zip(zip_members());
    struct Case {
        unsigned field;
        uint32_t value;
        const char* says;
    };
    const Case cases[] = {{16, 0x1234, "file/nxcontent/nvsb/a.nvsb: bad CRC-32"},
                          {42, 0x7fffffff, "zip: no local header where the directory says"},
                          {20, 0x7fffffff, "zip: leaves the archive"},
                          {8, 0x00080001, "zip: encrypted"},
                          {8, 0x000c0000, "zip: method 12 is not read"},
                          {8, 0x00000000, "zip: local header and directory name different methods"},
                          {24, 100, "decodes to more than declared"},
                          {24, 0x10000, "decodes to less than declared"}};
    for (const Case& c : cases) {
        Data d = good;
        set_word(d, directory_entry(good, 1) + c.field, c.value);
        const ScanResult r = scan_bytes(d);
        EXPECT_EQ(r.records.size(), 1u) << c.says;
        EXPECT_EQ(r.errors.size(), 1u) << errors_of(r);
        EXPECT_NE(errors_of(r).find(c.says), std::string::npos) << errors_of(r);
    }
    Data d = good;
    set_word(d, directory_entry(good, 2) + 16, 1);
    EXPECT_NE(errors_of(scan_bytes(d)).find("b.nvsb: bad CRC-32"), std::string::npos);
}

TEST(ZipReader, DamagedDirectories) {
    const Data good = writers::zip(zip_members());
    Data d = good;
    d.resize(d.size() - 1);
    expect_refused(d, "zip: no end record");
    d = good;
    set_word(d, d.size() - 22 + 12, 0x7fffffff);
    expect_refused(d, "zip: the directory leaves the file");
    d = good;
    d[d.size() - 22 + 10] = 200;
    expect_refused(d, "zip: more entries than its directory holds");
    d = good;
    set_word(d, directory_entry(good, 2), 0);
    EXPECT_NE(errors_of(scan_bytes(d)).find("zip: directory entry 2 is none"), std::string::npos);
    d = good;
    set_word(d, d.size() - 22 + 16, 0xffffffff);
    expect_refused(d, "zip: no zip64 record where the end record needs one");
}

// Every entry of the directory names the same member: budgets end it.
TEST(ZipReader, OneMemberNamedTenThousandTimes) {
    const std::vector<ZipMember> one = {
        {"a", writers::nvsb(writers::glslc_output(std::vector{small_pair(Stage::fragment, 3)})),
         ZipMethod::stored}};
    const Data small = writers::zip(one);
    const uint64_t entry = directory_entry(small, 0), length = small.size() - 22 - entry;
    Buffer b;
    b.append(Bytes(small).clamp(0, entry));
    for (int i = 0; i < 10000; ++i)
        b.append(Bytes(small).clamp(entry, length));
    const uint64_t end = b.append(Bytes(small).clamp(small.size() - 22));
    b.u16(end + 10, 10000);
    b.u32(end + 12, 10000 * length);
    const ScanResult r = scan_bytes(b.bytes);
    ASSERT_GE(r.errors.size(), 1u);
    EXPECT_NE(errors_of(r).find("16 times the file"), std::string::npos) << errors_of(r);
}

Data noise(size_t n) {
    std::mt19937 random(5);
    Data d(n);
    for (uint8_t& c : d)
        c = static_cast<uint8_t>(random());
    return d;
}

// A member of several chunks: the pair lies across the second's end, the third would not shrink.
Data long_member(const std::vector<Pair>& pairs) {
    Buffer b;
    b.reserve_to(0x1ff00);
    for (const Pair& p : pairs)
        b.append(writers::viper_binary(p));
    b.reserve_to(0x20000 + 0x4000);
    b.append(noise(0x1c000));
    return b.bytes;
}

TEST(VzipReader, ChainsRawChunksAndWrappers) {
    const std::vector<Pair> pairs = {small_nvn2_pair(Stage::vertex, 1), small_nvn2_pair(Stage::fragment, 2)};
    const std::vector<ZipMember> members = {
        {"plain", writers::viper_binary(small_nvn2_pair(Stage::compute, 3)), ZipMethod::stored},
        {"long", long_member(pairs), ZipMethod::chain},
        {"short", writers::viper_binary(small_nvn2_pair(Stage::compute, 4)), ZipMethod::chain},
        {"vipr", writers::vipr(writers::ndsr(writers::ndsr_program(small_nvn2_pair(Stage::compute, 5)))),
         ZipMethod::chain}};
    std::vector<Pair> want = pairs;
    for (const uint32_t counter : {3u, 4u, 5u})
        want.push_back(small_nvn2_pair(Stage::compute, counter));
    const Data d = writers::vzip(members);
    ASSERT_TRUE(Bytes(d).starts_with("VZIP"));
    const ScanResult r = expect_pairs(d, want, "VZIP");
    EXPECT_TRUE(r.programs.empty());
    EXPECT_EQ(r.formats.at("zip").containers, 1u);
}

// What a zip of one chained member says when the member's bytes are changed.
std::string chain_error(const std::function<void(Data&)>& change, uint32_t size_more = 0) {
    const Data member = long_member({small_nvn2_pair(Stage::vertex, 1)});
    Data d = writers::vzip(std::vector<ZipMember>{{"m", member, ZipMethod::chain}});
    const uint64_t at = 0x100 + 30 + 1 + 5;
    Data chain(d.begin() + static_cast<ptrdiff_t>(at),
               d.begin() + static_cast<ptrdiff_t>(at + writers::vzip_chain(member).size()));
    change(chain);
    std::copy(chain.begin(), chain.end(), d.begin() + static_cast<ptrdiff_t>(at));
    if (size_more)
        set_word(d, directory_entry(d, 0) + 24, static_cast<uint32_t>(member.size()) + size_more);
    const ScanResult r = scan_bytes(d);
    EXPECT_TRUE(r.records.empty());
    EXPECT_EQ(r.errors.size(), 1u);
    return errors_of(r);
}

TEST(VzipReader, DamagedChains) {
    EXPECT_NE(chain_error([](Data& c) { set_word(c, 0, 0); }).find("a chunk of 0 bytes"), std::string::npos);
    EXPECT_NE(chain_error([](Data& c) { set_word(c, 0, 0x7fffffff); }).find("LZ4 chain ends early"),
              std::string::npos);
    EXPECT_NE(chain_error([](Data& c) { c.back() ^= 1; }).find("bad CRC-32"), std::string::npos);
    EXPECT_NE(chain_error([](Data&) {}, 0x10000).find("LZ4 chain"), std::string::npos);
    EXPECT_NE(chain_error([](Data& c) { set_word(c, 0, Bytes(c).u32(0) - 1); }).find("LZ4 chain"),
              std::string::npos);
}

TEST(GzipReader, TheSameWithAndWithout) {
    const Data archive = writers::sarc(std::vector<Member>{{"a", writers::glslc_output(program())}});
    for (const char* name : {"", "Shaders.arc"}) {
        Data d = writers::gzip(archive, name);
        set_word(d, 4, 0xfd2fb528); // the time, which looks like another format's magic
        EXPECT_EQ(expect_pairs(d, program(), "gzip").formats.at("gzip").containers, 1u);
    }
    // Concatenated members are one stream.
    const Data first = writers::gzip(Bytes(archive).clamp(0, 999)),
               second = writers::gzip(Bytes(archive).clamp(999));
    Buffer both;
    both.append(first);
    both.append(second);
    expect_pairs(both.bytes, program(), "two members");
    EXPECT_EQ(scan_bytes(both.bytes).records[0].origin, "file/a");
}

TEST(GzipReader, DamageGivesNothing) {
    const Data good = writers::gzip(writers::glslc_output(program()));
    const auto changed = [&](const std::function<void(Data&)>& change) {
        Data d = good;
        change(d);
        return d;
    };
    expect_refused(changed([](Data& d) { d[d.size() - 8] ^= 1; }), "gzip"); // CRC
    expect_refused(changed([](Data& d) { d[d.size() - 4] ^= 1; }), "gzip"); // length
    expect_refused(changed([](Data& d) { d.resize(d.size() - 3); }), "gzip");
    expect_refused(changed([](Data& d) { d.resize(d.size() / 2); }), "gzip");
    expect_refused(changed([](Data& d) { d.push_back(7); }), "gzip");
    expect_refused(changed([](Data& d) { d[20] ^= 0xff; }), "gzip");
}

TEST(TarReader, AllKinds) {
    const std::string folder(60, 'd'), name(80, 'n');
    const std::vector<Member> members = {
        {"a", writers::glslc_output(program())},
        {folder + "/" + folder + "/" + name, writers::raw_pair(small_pair(Stage::compute, 4))},
        {"c", {}}};
    std::vector<Pair> want = program();
    want.push_back(small_pair(Stage::compute, 4));
    for (const auto kind : {writers::TarKind::ustar, writers::TarKind::gnu, writers::TarKind::pax}) {
        const ScanResult r = expect_pairs(writers::tar(members, kind), want, "tar");
        EXPECT_EQ(r.find(key_of_pair(want[2]))->origin, "file/" + members[1].name);
        EXPECT_EQ(r.find(key_of_pair(want[0]))->origin, "file/a");
        EXPECT_EQ(r.members, 3u);
    }
    expect_pairs(writers::gzip(writers::tar(members)), want, "tar.gz");
}

TEST(TarReader, Damaged) {
    const std::vector<Member> members = {{"a", Data(600, 'a')}, {"b", Data(600, 'b')}};
    const Data good = writers::tar(members);
    Data d = good;
    d[512 + 512 + 1024] ^= 1; // the name of the third entry
    expect_refused(d, "tar: wrong checksum of a header");
    d = good;
    d.resize(512 + 512 + 100);
    expect_refused(d, "tar: a member leaves the archive");
    d.resize(512);
    expect_refused(d, "tar: ends without its end mark");
}

TEST(HeapsPak, BothVersionsAndPositions) {
    const std::vector<Data> outputs = {writers::glslc_output(program()),
                                       writers::glslc_output(std::vector{small_pair(Stage::compute, 8)})};
    std::vector<Pair> want = program();
    want.push_back(small_pair(Stage::compute, 8));
    const std::vector<Member> files = {{"atlas/a.png", Data(64, 'p')},
                                       {"shaders.cache.nx", writers::heaps_cache(outputs)},
                                       {"zz", Data(3, 'z')}};
    for (const unsigned version : {0u, 1u})
        for (const bool doubles : {false, true}) {
            const ScanResult r = expect_pairs(writers::heaps_pak(files, version, doubles), want, "PAK");
            ASSERT_EQ(r.programs.size(), 1u);
            EXPECT_EQ(r.find(key_of_pair(want[0]))->origin, "file/shaders.cache.nx");
        }
}

TEST(HeapsPak, Damaged) {
    const std::vector<Data> outputs = {writers::glslc_output(program()),
                                       writers::glslc_output(std::vector{small_pair(Stage::compute, 8)})};
    Data cache = writers::heaps_cache(outputs);
    const std::string s(cache.begin(), cache.end());
    const size_t first = s.find("//BIN=") + 6;
    cache[first + 5] = '!';
    ScanResult r = scan_bytes(writers::heaps_pak(std::vector<Member>{{"shaders.cache.nx", cache}}, 1));
    EXPECT_EQ(r.records.size(), 1u);
    EXPECT_NE(errors_of(r).find("BIN comment is not valid base64"), std::string::npos) << errors_of(r);
    cache = writers::heaps_cache(outputs);
    cache.resize(s.rfind('#'));
    r = scan_bytes(writers::heaps_pak(std::vector<Member>{{"shaders.cache.nx", cache}}, 1));
    EXPECT_EQ(r.records.size(), 2u);
    EXPECT_NE(errors_of(r).find("BIN comment without an end"), std::string::npos) << errors_of(r);

    const Data good =
        writers::heaps_pak(std::vector<Member>{{"d/a", Data(9, 'a')}, {"d/b", Data(9, 'b')}}, 0);
    Data d = good;
    d[14] = 200; // children of the root: a root is {0, "", 1, count}
    expect_refused(d, "Heaps PAK: a directory has more children than the tree holds");
    d = good;
    d[14] = 0;
    expect_refused(d, "Heaps PAK: its tree does not end at DATA");
    d = good;
    d[12] = 250; // length of the root's name
    expect_refused(d, "Heaps PAK: a node leaves the tree");
    const Data doubles = writers::heaps_pak(std::vector<Member>{{"a", Data(9, 'a')}}, 0, true);
    d = doubles;
    d[28] ^= 0x40; // the position's exponent
    EXPECT_FALSE(scan_bytes(d).errors.empty());
    // Without DATA at its end it is another file.
    d = good;
    d[Bytes(d).u32(4) - 1] = 'x';
    EXPECT_TRUE(scan_bytes(d).errors.empty());
    EXPECT_EQ(scan_bytes(d).formats.count("heaps_pak"), 0u);
}

// encrypted sources have the names and not the bytes.
TEST(GlslText, SourcesAreNotedAndEncryptedOnesAreNot) {
    const Data source = text("#version 320 es\nvoid main() {\n\tgl_Position = vec4(0);\r\n}\n");
    const auto notes = [](const std::string& name, const Data& d) {
        const ScanResult r = scan_bytes(writers::zip(std::vector<ZipMember>{{name, d}}), "game.zip");
        EXPECT_TRUE(r.errors.empty()) << errors_of(r);
        return r.notes.size();
    };
    EXPECT_EQ(notes("Shaders/a.vert", source), 1u);
    EXPECT_EQ(notes("Shaders/a.frag", source), 1u);
    EXPECT_EQ(notes("Shaders/a.txt", source), 0u);
    EXPECT_EQ(notes("Shaders/Dummy.vert", noise(5000)), 0u);
    EXPECT_EQ(notes("Shaders/empty.frag", {}), 0u);
    Data late = source;
    late.resize(8192, ' ');
    late[4095] = 1;
    EXPECT_EQ(notes("a.frag", late), 0u);
    late[4095] = ' ';
    late[4096] = 1; // past the sample
    EXPECT_EQ(notes("a.frag", late), 1u);
}

// nothing depends on names but where it is said.
TEST(Sniff, GeneralContainersUnderAnyName) {
    const Data d = writers::zip(std::vector<ZipMember>{
        {"x.dat",
         writers::gzip(writers::tar(std::vector<Member>{{"y.bin", writers::glslc_output(program())}}))}});
    expect_pairs(d, program(), "zip of gzip of tar");
}

} // namespace
} // namespace dmsh
