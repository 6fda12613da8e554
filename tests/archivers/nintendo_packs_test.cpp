// Archives whose members are packed one by one: each packing, wrong sizes, unknown packings, files in two
// parts.
#include "archivers/scan/readers.h"
#include "tests/archivers/found.h"
#include "tests/writers/codecs.h"
#include "tests/writers/nintendo_archives.h"
#include "tests/writers/nintendo_packs.h"

namespace dmsh {
namespace {

using namespace writers;

ScanResult scan_files(const std::vector<Member>& files, bool oodle = false) {
    std::vector<NamedBlob> blobs;
    for (const Member& m : files)
        blobs.push_back({m.name, Blob::view(m.data)});
    ScanOptions options;
    options.workers = 1;
    if (oodle) {
        options.oodle = DMSH_OODLE_STAND_IN;
        options.oodle_host = DMSH_OODLE_HOST;
    }
    auto r = scan_memory(std::move(blobs), options);
    EXPECT_TRUE(r);
    return *std::move(r);
}

ScanResult scan_one(const Data& d, bool oodle = false) {
    return scan_files({{"file", d}}, oodle);
}

bool says(const ScanResult& r, const std::string& what) {
    return errors_of(r).find(what) != std::string::npos;
}

Pair shader(uint32_t counter) {
    return small_pair(Stage::fragment, counter);
}

Data file_of(uint32_t counter) {
    return bnsh(std::vector<std::vector<Pair>>{{shader(counter)}});
}

std::string origin(const ScanResult& r, uint32_t counter) {
    const ShaderRecord* record = r.find(key_of_pair(shader(counter)));
    return record ? record->origin : "not found";
}

// What the stand-in library decodes: 8c, 'd', and the data XORed with 55.
Data oodle_stream(const Data& data) {
    Data d = {0x8c, 'd'};
    for (const uint8_t c : data)
        d.push_back(c ^ 0x55);
    return d;
}

TEST(CmpReader, BothCodecsWithAndWithoutRecordedSize) {
    const Data b = file_of(1);
    for (const Data& frame : {zstd(b), zstd(b, 3, false), lz4_frame(b), lz4_frame(b, false)}) {
        const Data d = size_prefixed(b, frame);
        EXPECT_EQ(reader_for(d).format, "cmp");
        const ScanResult r = scan_one(d);
        EXPECT_EQ(r.records.size(), 1u) << errors_of(r);
        EXPECT_EQ(origin(r, 1), "file (variation 0)");
        EXPECT_TRUE(r.errors.empty()) << errors_of(r);
    }
}

TEST(CmpReader, HashBeforeAFrameIsAnotherFile) {
    // A frame that records another size than the word before it: read as it is, without a line.
    const Data b = file_of(1);
    for (const Data& frame : {zstd(b), lz4_frame(b)}) {
        Data d = size_prefixed(b, frame);
        set_word(d, 0, 0xdeadbeef);
        EXPECT_EQ(reader_for(d).format, "data");
        const ScanResult r = scan_one(d);
        EXPECT_TRUE(r.errors.empty()) << errors_of(r);
        EXPECT_TRUE(r.records.empty());
    }
}

TEST(CmpReader, FrameWithoutASizeMustGiveThePrefix) {
    const Data b = file_of(1);
    for (const Data& frame : {zstd(b, 3, false), lz4_frame(b, false)})
        for (const int difference : {-1, 1}) {
            Data d = size_prefixed(b, frame);
            set_word(d, 0, static_cast<uint32_t>(static_cast<int>(b.size()) + difference));
            const ScanResult r = scan_one(d);
            EXPECT_TRUE(r.records.empty());
            EXPECT_TRUE(says(r, "size-prefixed frame does not decode to its prefix")) << errors_of(r);
        }
}

TEST(NarcReader, PlainMembersWithAndWithoutNames) {
    const std::vector<Member> members = {{"shader/a.nsb", file_of(1)},
                                         {"shader/deep/b.nsb", file_of(2)},
                                         {"top.bntx", {'B', 'N', 'T', 'X', 0, 1, 2, 3}}};
    for (const bool named : {true, false}) {
        const Data d = narc(members, named);
        EXPECT_EQ(reader_for(d).format, "narc");
        const ScanResult r = scan_one(d);
        EXPECT_EQ(r.records.size(), 2u) << errors_of(r);
        EXPECT_TRUE(r.errors.empty()) << errors_of(r);
        EXPECT_EQ(origin(r, 2), named ? "file/shader/deep/b.nsb (variation 0)" : "file/#1 (variation 0)");
    }
}

TEST(NarcReader, StandardStreamsBehindAPackingByte) {
    const auto behind = [](const Data& header, const Data& stream) {
        Data d = header;
        d.insert(d.end(), stream.begin(), stream.end());
        return d;
    };
    const std::vector<Member> members = {{"a", behind({0x31}, zstd(file_of(1)))},
                                         {"b", behind({0x41, 0, 0, 0}, lz4_frame(file_of(2)))},
                                         {"c", behind({0x50, 9, 9, 9, 0, 0, 0, 0}, zlib(file_of(3)))},
                                         {"d", zstd(file_of(4))}};
    const ScanResult r = scan_one(narc(members));
    EXPECT_EQ(r.records.size(), 4u) << errors_of(r);
    EXPECT_TRUE(r.errors.empty()) << errors_of(r);
    for (uint32_t i = 1; i <= 4; ++i)
        EXPECT_EQ(origin(r, i), std::string("file/") + "abcd"[i - 1] + " (variation 0)");
}

TEST(NarcReader, UnknownPackingsAreNamedAndCounted) {
    Data lz = zlib(file_of(1));
    lz.insert(lz.begin(), 0x50);
    lz.resize(lz.size() - 9); // a stream that has no end is none
    const std::vector<Member> members = {
        {"a", Data(100, 0x11)}, {"b", Data(90, 0x11)}, {"c", lz}, {"d", file_of(2)}};
    const ScanResult r = scan_one(narc(members));
    EXPECT_EQ(r.records.size(), 1u);
    EXPECT_EQ(r.errors.size(), 2u) << errors_of(r);
    EXPECT_TRUE(says(r, "NARC member kind 0x11 is not known (2 members)")) << errors_of(r);
    EXPECT_TRUE(says(r, "NARC member kind 0x50 is not known (1 members)")) << errors_of(r);
}

TEST(NarcReader, WrongBlocksAndRanges) {
    const Data d = narc(std::vector<Member>{{"a", file_of(1)}});
    const auto broken = [&](size_t at, uint32_t value) {
        Data copy = d;
        set_word(copy, at, value);
        return errors_of(scan_one(copy));
    };
    EXPECT_NE(broken(0x08, 0x7fffffff).find("its length leaves the file"), std::string::npos);
    EXPECT_NE(broken(0x10, 0).find("its blocks do not follow each other"), std::string::npos);
    EXPECT_NE(broken(0x18, 0x7fffffff).find("more members than the table can hold"), std::string::npos);
    EXPECT_NE(broken(0x20, 0x7fffffff).find("member a leaves the archive"), std::string::npos);
}

std::vector<PackedFile> gfpak_files() {
    return {
        {"bin/a.bnsh_fsh", file_of(1), Packing::lz4},
        {"bin/b.bnsh", file_of(2), Packing::zlib},
        {"bin/c.bnsh", file_of(3), Packing::none},
        {"bin/d.bnsh", oodle_stream(file_of(4)), Packing::oodle, static_cast<uint32_t>(file_of(4).size())}};
}

TEST(GfpakReader, EachCompression) {
    const Data d = gfpak(gfpak_files());
    EXPECT_EQ(reader_for(d).format, "gfpak");
    const ScanResult r = scan_one(d, true);
    EXPECT_EQ(r.records.size(), 4u) << errors_of(r);
    EXPECT_TRUE(r.errors.empty()) << errors_of(r);
    char name[64];
    std::snprintf(name, sizeof name, "file/%016llx (variation 0)",
                  static_cast<unsigned long long>(path_hash("bin/b.bnsh")));
    EXPECT_EQ(origin(r, 2), name);
}

TEST(GfpakReader, OodleWithoutALibraryIsOneLine) {
    std::vector<PackedFile> files = gfpak_files();
    files.push_back({"bin/e.bnsh", oodle_stream(file_of(5)), Packing::oodle, 100});
    const ScanResult r = scan_one(gfpak(files));
    EXPECT_EQ(r.records.size(), 3u);
    ASSERT_EQ(r.errors.size(), 1u) << errors_of(r);
    EXPECT_TRUE(says(r, "2")) << errors_of(r);
    EXPECT_TRUE(says(r, "Oodle")) << errors_of(r);
}

TEST(GfpakReader, UnknownCompressionsWrongSizesAndJunk) {
    const std::vector<PackedFile> files = gfpak_files();
    const Data d = gfpak(files);
    const uint64_t records = Bytes(d).u64(0x18);
    Data copy = d;
    copy[records + 2] = 9;
    ScanResult r = scan_one(copy, true);
    EXPECT_EQ(r.records.size(), 3u);
    EXPECT_TRUE(says(r, "entry 0 has compression 9, which is not known")) << errors_of(r);
    for (const uint64_t entry : {0, 1, 3}) { // a decoded size one more than the stream gives
        copy = d;
        set_word(copy, records + 0x18 * entry + 4, Bytes(d).u32(records + 0x18 * entry + 4) + 1);
        r = scan_one(copy, true);
        EXPECT_EQ(r.records.size(), 3u) << entry;
        EXPECT_EQ(r.errors.size(), 1u) << errors_of(r);
    }
    copy = d;
    set_word(copy, records + 0x10, 0x7fffffff);
    EXPECT_TRUE(says(scan_one(copy, true), "GFPAK: entry 0 leaves the archive"));
    set_word(copy, 0x10, 0x7fffffff);
    EXPECT_TRUE(says(scan_one(copy, true), "GFPAK: the file table leaves the archive"));
}

std::vector<Member> trinity_packs() {
    const PackedFile first[] = {{"shader/a.bnsh", file_of(1), Packing::none},
                                {"shader/b.bnsh", oodle_stream(file_of(2)), Packing::oodle,
                                 static_cast<uint32_t>(file_of(2).size())}};
    const PackedFile second[] = {
        {"ui/layout.truiv", sarc(std::vector<Member>{{"__ArchiveShader.bnsh", file_of(3)}}), Packing::none}};
    return {{"arc/system.trpak", trinity_pack(first)}, {"arc/ui.trpak", trinity_pack(second)}};
}

TEST(TrinityReader, PacksByNameAndByHash) {
    const auto packs = trinity_packs();
    const Data archive = trinity_archive(packs);
    EXPECT_EQ(reader_for(archive).format, "trpfs");
    const auto hash = [](const char* path) {
        char text[24];
        std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(path_hash(path)));
        return std::string(text);
    };
    ScanResult r =
        scan_files({{"arc/data.trpfd", trinity_descriptor(packs)}, {"arc/data.trpfs", archive}}, true);
    EXPECT_EQ(r.records.size(), 3u) << errors_of(r);
    EXPECT_TRUE(r.errors.empty()) << errors_of(r);
    EXPECT_EQ(origin(r, 2), "arc/data.trpfs/arc/system.trpak/" + hash("shader/b.bnsh") + " (variation 0)");
    // Alone, its packs are bounded by each other and named by their hashes.
    r = scan_one(archive, true);
    EXPECT_EQ(r.records.size(), 3u) << errors_of(r);
    EXPECT_EQ(origin(r, 3), "file/" + hash("arc/ui.trpak") + "/" + hash("ui/layout.truiv") +
                                "/__ArchiveShader.bnsh (variation 0)");
}

TEST(TrinityReader, OodleWithoutALibraryIsOneLine) {
    std::vector<Member> packs;
    for (uint32_t i = 0; i < 5; ++i)
        packs.push_back({"arc/" + std::to_string(i),
                         trinity_pack(std::vector<PackedFile>{
                             {"a", oodle_stream(file_of(i)), Packing::oodle, 100}, {"b", file_of(10 + i)}})});
    const ScanResult r = scan_one(trinity_archive(packs));
    EXPECT_EQ(r.records.size(), 5u);
    ASSERT_EQ(r.errors.size(), 1u) << errors_of(r);
    EXPECT_TRUE(says(r, "file: 5 members need an Oodle decoder")) << errors_of(r);
}

TEST(TrinityReader, DamagedTables) {
    const auto packs = trinity_packs();
    Data d = trinity_archive(packs);
    set_word(d, 8, 0x7fffffff);
    EXPECT_TRUE(says(scan_one(d), "Trinity: the file system leaves the file"));
    // A pack that is longer than the file, by the descriptor: the others are read.
    std::vector<Member> longer = packs;
    longer[0].data.resize(1 << 20);
    const ScanResult r = scan_files(
        {{"data.trpfd", trinity_descriptor(longer)}, {"data.trpfs", trinity_archive(packs)}}, true);
    EXPECT_EQ(r.records.size(), 1u);
    EXPECT_TRUE(says(r, "data.trpfs/arc/system.trpak: Trinity: pack leaves the file")) << errors_of(r);
    // Descriptor of something else.
    EXPECT_TRUE(says(scan_files({{"data.trpfd", Data(100, 0xff)}, {"data.trpfs", trinity_archive(packs)}}),
                     "data.trpfd does not fit"));
    // A file whose packing is not known.
    const PackedFile files[] = {{"a", file_of(1), Packing::none}};
    Data pack = trinity_pack(files);
    const auto at = std::find(pack.begin(), pack.end(), 0xff);
    ASSERT_NE(at, pack.end());
    *at = 7;
    EXPECT_TRUE(says(scan_one(trinity_archive(std::vector<Member>{{"p", pack}})),
                     "file 0 has compression 7, which is not known"));
}

TEST(NlgDict, BothRevisionsPackedAndPlain) {
    const std::vector<Data> blocks = {file_of(1), Data(300, 'x'), raw_pair(shader(2))};
    for (const unsigned revision : {2u, 3u})
        for (const bool packed : {true, false}) {
            const NlgArchive a = nlg_archive(blocks, revision, packed);
            EXPECT_EQ(reader_for(a.dictionary).format, "nlg");
            // Without the data file beside it, its plain bytes are a file like any other.
            const ScanResult r = scan_files({{"init.dict", a.dictionary}, {"init.data", a.data}});
            EXPECT_EQ(r.records.size(), 2u) << revision << packed << errors_of(r);
            EXPECT_TRUE(r.errors.empty()) << errors_of(r);
            if (packed) {
                EXPECT_EQ(origin(r, 1), "init.dict/.data block 0 (variation 0)");
            }
            EXPECT_TRUE(says(scan_files({{"init.dict", a.dictionary}}), "init.data is not there (3 blocks)"));
        }
}

TEST(NlgDict, UnknownRevisionsAreNamedByTheirHeader) {
    const std::vector<Data> blocks = {file_of(1)};
    for (const unsigned revision : {2u, 3u}) {
        const NlgArchive a = nlg_archive(blocks, revision);
        const uint64_t count = revision == 2 ? 0x08 : 0x0c;
        const uint64_t table = revision == 2 ? 0x14 + 24 + 1 : 0x10 + 48;
        Data d = a.dictionary; // one more block than the index holds
        d[count] = 0x7f;
        ScanResult r = scan_files({{"a.dict", d}, {"a.data", a.data}});
        EXPECT_TRUE(says(r, "revision that is not known: 58 24 f3 a9 01 40 01 00")) << errors_of(r);
        d = a.dictionary; // a data file's number that is their count
        d[table + 14] = 2;
        r = scan_files({{"a.dict", d}, {"a.data", a.data}});
        EXPECT_TRUE(says(r, "revision that is not known: 58 24 f3 a9")) << errors_of(r);
        EXPECT_TRUE(r.records.empty());
        d = a.dictionary; // a block outside its data file costs the block
        set_word(d, table, 0x7fffffff);
        EXPECT_TRUE(says(scan_files({{"a.dict", d}, {"a.data", a.data}}), "block leaves its data file"));
    }
}

TEST(ZsDic, DictionaryOfAPackIsFoundByItsNumber) {
    // Pack/ZsDic.pack.zs is a plain zstd SARC of dictionaries; files name one by its ID, in any order of
    // files.
    const Data sample = sarc(std::vector<Member>{{"a", file_of(1)}, {"b", file_of(2)}});
    const Data dictionary = zstd_dictionary(sample, 77);
    const Data pack = zstd(sarc(std::vector<Member>{{"zs.zsdic", dictionary}}));
    const Data file = zstd_with_dictionary(sample, dictionary);
    const Data cmp = size_prefixed(sample, file);
    for (const std::string name : {"A/first.zs", "Z/last.zs"}) {
        ScanResult r = scan_files({{"Pack/ZsDic.pack.zs", pack}, {name, file}});
        EXPECT_EQ(r.records.size(), 2u) << errors_of(r);
        EXPECT_TRUE(r.errors.empty()) << errors_of(r);
        r = scan_files({{"Pack/ZsDic.pack.zs", pack}, {name, cmp}});
        EXPECT_EQ(r.records.size(), 2u) << errors_of(r);
    }
    EXPECT_TRUE(says(scan_files({{"x.zs", file}}), "dictionary 77"));
}

} // namespace
} // namespace dmsh
