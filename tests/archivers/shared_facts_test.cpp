// What files of one scan tell each other: dictionaries whatever the order of files, neighbours, Oodle.
#include "archivers/core/codecs.h"
#include "archivers/scan/file_scan.h"
#include "archivers/scan/scan.h"
#include "tests/writers/codecs.h"
#include "tests/writers/fixtures.h"
#include <gtest/gtest.h>

namespace dmsh {
namespace {

using writers::Data;
using writers::Member;
using writers::tiny_pair;

Data bnsh_of(uint32_t counter) {
    return writers::bnsh(std::vector<std::vector<writers::Pair>>{{tiny_pair(Stage::vertex, counter)}});
}

ScanResult scan_files(std::vector<Member> files, unsigned workers = 1) {
    std::vector<NamedBlob> blobs;
    for (Member& m : files)
        blobs.push_back({m.name, Blob::own(std::move(m.data))});
    ScanOptions o;
    o.workers = workers;
    return *scan_memory(std::move(blobs), o);
}

const Data& dictionary() {
    static const Data d = [] {
        Data sample;
        for (uint32_t i = 0; i < 40; ++i) {
            const Data b = bnsh_of(1000 + i);
            sample.insert(sample.end(), b.begin(), b.end());
        }
        return writers::zstd_dictionary(sample, 7);
    }();
    return d;
}

TEST(ZsDic, DictionariesAreFoundInAnyOrderOfFiles) {
    const Data packed = writers::zstd_with_dictionary(bnsh_of(1), dictionary());
    ASSERT_EQ(zstd_frame_dictionary(packed), 7u);
    const Data pack = writers::zstd(writers::sarc(std::vector<Member>{{"zs.zsdic", dictionary()}}));
    std::string first;
    for (const char* name : {"a", "z"})
        for (const unsigned workers : {1u, 3u}) {
            const ScanResult r = scan_files({{name, pack}, {"m1", packed}, {"m2", bnsh_of(2)}}, workers);
            EXPECT_EQ(r.records.size(), 2u);
            EXPECT_TRUE(r.errors.empty()) << r.errors[0].text();
        }
}

TEST(ZsDic, InsideOneArchive) {
    const Data packed = writers::zstd_with_dictionary(bnsh_of(1), dictionary());
    for (const auto& members : {std::vector<Member>{{"d", dictionary()}, {"x", packed}},
                                std::vector<Member>{{"x", packed}, {"y", dictionary()}}}) {
        const ScanResult r = scan_blob("f", Blob::own(writers::sarc(members)));
        EXPECT_EQ(r.records.size(), 1u);
        EXPECT_TRUE(r.errors.empty());
        EXPECT_EQ(r.formats.at("zstd dictionary").containers, 1u);
    }
}

TEST(ZsDic, AMissingDictionaryIsNamed) {
    const Data packed = writers::zstd_with_dictionary(bnsh_of(1), dictionary());
    const ScanResult r = scan_files({{"a", bnsh_of(2)}, {"m", packed}});
    EXPECT_EQ(r.records.size(), 1u);
    ASSERT_EQ(r.errors.size(), 1u);
    EXPECT_EQ(r.errors[0].text(), "m: zstd: dictionary 7 is in no file of the input (its shaders are left out)");
}

TEST(ZsDic, ADamagedDictionaryCostsItsFiles) {
    Data bad = dictionary();
    for (size_t i = 8; i < 200; ++i)
        bad[i] = 0xff;
    const Data packed = writers::zstd_with_dictionary(bnsh_of(1), dictionary());
    const ScanResult r = scan_files({{"d", bad}, {"m", packed}, {"n", bnsh_of(2)}});
    EXPECT_EQ(r.records.size(), 1u);
    EXPECT_EQ(r.errors.size(), 1u);
}

// Output's services for readers, seen through a reader of the test's own.
struct Services {
    std::optional<Blob> near, above, outside, none;
    std::string name;
};
Services seen;

Result<void> ask(const Blob&, Output& out) {
    seen = {};
    seen.name = std::string(out.name());
    seen.near = *out.sibling("index");
    seen.above = *out.sibling("../top");
    seen.outside = *out.sibling("../../top");
    seen.none = *out.sibling("nothing");
    const Data data = {1, 2, 3};
    return out.packed_member("oodle", 3, [](DecodeContext& c) { return c.oodle(Bytes(), 3); });
}
bool never(Bytes) {
    return false;
}
constexpr Reader kAsk = {"ask", never, ask};

TEST(Siblings, FilesOfTheSameTree) {
    ShaderStore store({});
    SharedFacts facts;
    ScanShared shared{store, facts};
    shared.open = [](const std::string& origin) -> Result<std::optional<Blob>> {
        if (origin == "dir/index" || origin == "top")
            return std::optional(Blob::own(Data(origin.begin(), origin.end())));
        return std::optional<Blob>();
    };
    const FileFindings f = scan_file("dir/data", 0, Blob::own(Data(4)), 4, shared, &kAsk);
    EXPECT_EQ(seen.name, "data");
    ASSERT_TRUE(seen.near && seen.above);
    EXPECT_EQ(seen.near->size(), 9u);
    EXPECT_EQ(seen.above->size(), 3u);
    EXPECT_FALSE(seen.outside);
    EXPECT_FALSE(seen.none);
    ASSERT_EQ(f.errors.size(), 1u);
    EXPECT_EQ(f.errors[0].text(),
              "dir/data: 1 members need an Oodle decoder (--oodle) (its shaders are left out)");
}

} // namespace
} // namespace dmsh
