// Members as files: names that want out of the folder, names that collide, streams around archives.
#include "archivers/scan/unpack.h"
#include "tests/archivers/corpus.h"
#include "tests/writers/codecs.h"
#include "tests/writers/fixtures.h"
#include <unistd.h>

namespace dmsh {
namespace {

namespace fs = std::filesystem;
using writers::Data;
using writers::Member;

class Unpack : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "dmsh_unpack_XXXXXX").string();
        root_ = mkdtemp(name.data());
    }
    void TearDown() override { fs::remove_all(root_); }
    std::string put(const std::string& name, const Data& d) const {
        std::ofstream(root_ / name, std::ios::binary)
            .write(reinterpret_cast<const char*>(d.data()), static_cast<std::streamsize>(d.size()));
        return (root_ / name).string();
    }
    fs::path root_;
};

TEST(HarmlessPath, NeverLeavesTheFolder) {
    EXPECT_EQ(harmless_path("a/b.txt"), "a/b.txt");
    EXPECT_EQ(harmless_path("../../etc/passwd"), "__/__/etc/passwd");
    EXPECT_EQ(harmless_path("/etc/passwd"), "etc/passwd");
    EXPECT_EQ(harmless_path("..\\..\\x"), "__/__/x");
    EXPECT_EQ(harmless_path("C:\\x"), "C_/x");
    EXPECT_EQ(harmless_path("a//./b/"), "a/b");
    EXPECT_EQ(harmless_path(""), "_");
    EXPECT_EQ(harmless_path("."), "_");
    EXPECT_EQ(harmless_path(std::string("a\n\0b", 4)), "a__b");
    EXPECT_LE(harmless_path(std::string(5000, 'x')).size(), 255u);
    for (const std::string& s : {std::string("a/../../b"), std::string("....//"), std::string("..")}) {
        const fs::path p = fs::path("/root") / harmless_path(s);
        EXPECT_TRUE(p.lexically_normal().string().starts_with("/root/")) << s;
    }
}

TEST_F(Unpack, StreamsAreLookedThrough) {
    const Data text = {'h', 'i'};
    const Data inner = writers::sarc(std::vector<Member>{{"z", text}});
    const std::string file = put("f.szs", writers::yaz0(writers::sarc(std::vector<Member>{{"d/a", text}, {"d/in.sarc", inner}})));
    UnpackOptions o;
    o.path = file;
    auto r = unpack(o);
    ASSERT_TRUE(r) << r.error().text();
    EXPECT_EQ(r->format, "yaz0 > sarc");
    ASSERT_EQ(r->members.size(), 2u);
    EXPECT_EQ(r->members[0].file, "");
    o.output = (root_ / "out").string();
    r = unpack(o);
    ASSERT_TRUE(r);
    EXPECT_EQ(read_file(root_ / "out/d/a"), text);
    EXPECT_EQ(read_file(root_ / "out/d/in.sarc"), inner);
    EXPECT_FALSE(unpack(o)) << "the folder is not empty now";
}

TEST_F(Unpack, HostileNamesStayInside) {
    const Data x = {'x'}, y = {'y'};
    const std::string file = put("f", writers::sarc(std::vector<Member>{
                                          {"../evil", x}, {"/abs", x}, {"same", x}, {"same/below", y}, {"n\x1b[2J", x}}));
    UnpackOptions o;
    o.path = file;
    o.output = (root_ / "out").string();
    const auto r = unpack(o);
    ASSERT_TRUE(r) << r.error().text();
    EXPECT_TRUE(r->output_errors.empty());
    EXPECT_EQ(r->members.size(), 5u);
    EXPECT_FALSE(fs::exists(root_ / "evil"));
    size_t files = 0;
    for (const auto& e : fs::recursive_directory_iterator(root_ / "out"))
        files += e.is_regular_file();
    EXPECT_EQ(files, 5u);
    for (const UnpackedMember& m : r->members)
        EXPECT_EQ(m.name.find('\x1b'), std::string::npos);
}

TEST_F(Unpack, DictionariesAreGiven) {
    const Data plain(5000, 'a'), sample = [] {
        Data d;
        for (int i = 0; i < 20000; ++i)
            d.push_back(static_cast<uint8_t>(i * i >> 4));
        return d;
    }();
    const Data dictionary = writers::zstd_dictionary(sample, 9);
    UnpackOptions o;
    o.path = put("f.zs", writers::zstd_with_dictionary(writers::sarc(std::vector<Member>{{"a", plain}}), dictionary));
    EXPECT_FALSE(unpack(o));
    o.dictionaries = {put("d.zsdic", dictionary)};
    const auto r = unpack(o);
    ASSERT_TRUE(r) << r.error().text();
    EXPECT_EQ(r->members.size(), 1u);
}

// Whatever the fixtures hold, their members come out, and cut fixtures are survived.
TEST_F(Unpack, EveryFixture) {
    for (const writers::Fixture& f : writers::all_fixtures())
        for (const size_t part : {f.data.size(), f.data.size() * 2 / 3, f.data.size() / 2}) {
            const std::string name = f.file_name;
            for (const Member& m : f.siblings)
                if (m.name.find('/') == m.name.npos)
                    put(m.name, m.data);
            UnpackOptions o;
            o.path = put(name, Data(f.data.begin(), f.data.begin() + static_cast<ptrdiff_t>(part)));
            o.output = (root_ / "out").string();
            const auto r = unpack(o);
            EXPECT_TRUE(r || part < f.data.size()) << f.name << ": " << r.error().text();
            fs::remove_all(o.output);
        }
}

} // namespace
} // namespace dmsh
