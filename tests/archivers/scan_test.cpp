// The scan over trees of files: roots, images, workers, errors, budgets.
#include "archivers/nvn/prepare_program.h"
#include "archivers/scan/scan.h"
#include "tests/archivers/corpus.h"
#include "tests/writers/sample.h"
#include <random>
#include <set>
#include <unistd.h>

namespace dmsh {
namespace {

namespace fs = std::filesystem;
using writers::Data;
using writers::Member;
using writers::Pair;
using writers::small_pair;

// A folder that goes when the test ends.
class Folder {
  public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "dmsh_scan_XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~Folder() { fs::remove_all(path_); }
    std::string put(const std::string& name, const Data& d) const {
        const fs::path p = path_ / name;
        fs::create_directories(p.parent_path());
        std::ofstream(p, std::ios::binary)
            .write(reinterpret_cast<const char*>(d.data()), static_cast<std::streamsize>(d.size()));
        return p.string();
    }
    std::string at(const std::string& name = "") const { return (path_ / name).string(); }

  private:
    fs::path path_;
};

Data bnsh_of(Stage stage, uint32_t counter) {
    return writers::bnsh(std::vector<std::vector<Pair>>{{small_pair(stage, counter)}});
}

std::vector<Member> tree() {
    std::vector<Member> files;
    for (uint32_t i = 0; i < 24; ++i) {
        const Pair vs = small_pair(Stage::vertex, i), fs = small_pair(Stage::fragment, i);
        const Data d = writers::bnsh(std::vector<std::vector<Pair>>{{vs, fs}});
        const std::vector<Member> one = {{"s.bnsh", d}};
        files.push_back({"dir" + std::to_string(i % 5) + "/f" + std::to_string(i),
                         i % 2 ? writers::yaz0(writers::sarc(one)) : d});
    }
    files.push_back({"again/f0", files[0].data});
    return files;
}

std::string dump(const ScanResult& r) {
    std::string s;
    for (const ShaderRecord& x : r.records)
        s += key_text(x.key) + " " + std::string(stage_name(x.stage)) + " " + x.origin + " " +
             std::to_string(x.offset) + " " + std::to_string(x.copies) + "\n";
    for (const ShaderProgram& p : r.programs) {
        for (const uint64_t k : p.keys)
            s += key_text(k) + " ";
        s += p.origin + "\n";
    }
    for (const Error& e : r.errors)
        s += e.text() + "\n";
    return s;
}

ScanResult scan_paths(std::vector<std::string> paths, unsigned workers = 2) {
    ScanOptions o;
    o.paths = std::move(paths);
    o.workers = workers;
    auto r = scan(o);
    EXPECT_TRUE(r);
    return *std::move(r);
}

TEST(Scan, FolderAndImagesGiveTheSame) {
    const Folder folder, images;
    for (const Member& m : tree())
        folder.put(m.name, m.data);
    const Data level3 = writers::romfs(tree());
    const ScanResult r = scan_paths({folder.at()});
    EXPECT_EQ(r.records.size(), 48u);
    EXPECT_EQ(r.programs.size(), 24u);
    EXPECT_EQ(r.found, 50u);
    EXPECT_EQ(dump(r), dump(scan_paths({images.put("l3", level3)})));
    EXPECT_EQ(dump(r), dump(scan_paths({images.put("ivfc", writers::ivfc(level3))})));
}

TEST(TableDeterminism, AnyNumberOfWorkers) {
    const Folder folder;
    for (const Member& m : tree())
        folder.put(m.name, m.data);
    folder.put("bad1", Data{'S', 'A', 'R', 'C', 1, 2});
    folder.put("bad2", Data{'Y', 'a', 'z', '0', 1, 2});
    const std::string one = dump(scan_paths({folder.at()}, 1));
    for (const unsigned workers : {2u, 5u, 12u})
        EXPECT_EQ(one, dump(scan_paths({folder.at()}, workers)));
}

// One archive of a megabyte and more, whose members several workers read: the same lists, lines and counts.
TEST(TableDeterminism, MembersOfOneLargeFile) {
    std::mt19937 random(4);
    std::vector<Member> members;
    for (uint32_t i = 0; i < 120; ++i) {
        Data d = writers::bnsh(std::vector<std::vector<Pair>>{
            {small_pair(Stage::vertex, i % 50), small_pair(Stage::fragment, i)}});
        d.resize(d.size() + 20000, static_cast<uint8_t>(random()));
        const Data inner = writers::sarc(std::vector<Member>{{"s.bnsh", d}, {"bad", Data{'S', 'A', 'R', 'C', 1}}});
        members.push_back({"m" + std::to_string(i), i % 3 ? inner : writers::yaz0(inner)});
    }
    members.push_back({"cut", Data(writers::yaz0(Data(30000, 3)).size() / 2, 'Y')});
    // An archive inside that is refused after it gave members: their shaders go, their lines stay.
    Data refused = writers::sarc(std::vector<Member>(members.begin(), members.begin() + 20));
    const uint32_t beyond = 0x7fffffff;
    std::memcpy(refused.data() + 0x20 + 19 * 16 + 12, &beyond, 4);
    members.push_back({"refused", refused});
    const Folder folder;
    folder.put("large", writers::sarc(members));
    folder.put("small", bnsh_of(Stage::compute, 7));
    const ScanResult one = scan_paths({folder.at()}, 1);
    EXPECT_EQ(one.records.size(), 171u);
    EXPECT_EQ(one.errors.size(), 65u); // 64, and how many more
    for (const unsigned workers : {2u, 3u, 8u})
        for (int round = 0; round < 5; ++round) {
            const ScanResult r = scan_paths({folder.at()}, workers);
            ASSERT_EQ(dump(one), dump(r)) << workers;
            EXPECT_EQ(one.members, r.members);
            EXPECT_EQ(one.found, r.found);
        }
}

// A file that breaks its budgets is cut off at the same place, however many read it.
TEST(TableDeterminism, BudgetsOfOneLargeFile) {
    std::vector<Member> members;
    for (uint32_t i = 0; i < 60; ++i)
        members.push_back({"m" + std::to_string(i), writers::zstd(Data(1 << 20, static_cast<uint8_t>(i)), 3)});
    Data noise(3 << 20);
    std::mt19937 random(4);
    for (uint8_t& b : noise)
        b = static_cast<uint8_t>(random());
    for (Member& m : members)
        m.data.insert(m.data.end(), noise.begin(), noise.begin() + 20000); // no zstd any more behind the frame
    members.push_back({"noise", noise});
    const Folder folder;
    folder.put("large", writers::sarc(members));
    const std::string one = dump(scan_paths({folder.at()}, 1));
    for (const unsigned workers : {2u, 6u})
        EXPECT_EQ(one, dump(scan_paths({folder.at()}, workers)));
}

TEST(Scan, SingleFilesOfOneNameAreAllRead) {
    const Folder a, b;
    a.put("x", bnsh_of(Stage::vertex, 1));
    b.put("x", bnsh_of(Stage::vertex, 2));
    const ScanResult r = scan_paths({a.at("x"), b.at("x"), a.at("x")});
    ASSERT_EQ(r.records.size(), 2u);
    EXPECT_EQ(r.files, 2u);
    std::set<std::string> origins = {r.records[0].origin, r.records[1].origin};
    EXPECT_TRUE(origins.contains("x (variation 0)"));
    EXPECT_TRUE(origins.contains(b.at("x") + " (variation 0)"));
}

TEST(Scan, LengthsWithoutBytes) {
    const Folder folder;
    folder.put("x", writers::yaz0(bnsh_of(Stage::vertex, 1)));
    ScanOptions o;
    o.paths = {folder.at()};
    const auto with = scan(o);
    o.keep_bytes = false;
    const auto without = scan(o);
    ASSERT_TRUE(with && without);
    EXPECT_EQ(dump(*with), dump(*without));
    EXPECT_EQ(without->records[0].control.size(), 0u);
    EXPECT_EQ(without->records[0].code_bytes, with->records[0].code.size());
    EXPECT_EQ(without->records[0].control_bytes, with->records[0].control.size());
}

TEST(Scan, TreeOfContainers) {
    const Folder folder;
    const Data b = bnsh_of(Stage::vertex, 1);
    folder.put("x", writers::yaz0(writers::sarc(std::vector<Member>{{"a", b}, {"b", b}})));
    folder.put("y", b);
    const ScanResult r = scan_paths({folder.at()});
    ASSERT_TRUE(r.tree.contains("yaz0 > sarc > bnsh"));
    EXPECT_EQ(r.tree.at("yaz0 > sarc > bnsh").containers, 2u);
    EXPECT_EQ(r.tree.at("yaz0 > sarc > bnsh").shaders, 2u);
    EXPECT_EQ(r.tree.at("yaz0 > sarc").shaders, 0u);
    EXPECT_EQ(r.tree.at("bnsh").shaders, 1u);
    EXPECT_EQ(r.formats.at("bnsh").shaders, 3u);
}

TEST(ReaderIsolation, OneBadFileCostsOneLine) {
    const Folder folder;
    folder.put("a", bnsh_of(Stage::vertex, 1));
    Data bad = writers::yaz0(bnsh_of(Stage::vertex, 2));
    bad.resize(bad.size() / 2);
    folder.put("b.szs", bad);
    folder.put("c", bnsh_of(Stage::vertex, 3));
    const ScanResult r = scan_paths({folder.at()});
    EXPECT_EQ(r.records.size(), 2u);
    ASSERT_EQ(r.errors.size(), 1u);
    EXPECT_EQ(r.errors[0].text(), "b.szs: Yaz0: stream ends too early (its shaders are left out)");
}

TEST(Scan, LaterRootsOverrideEarlierOnesFileByFile) {
    const Folder base, update;
    base.put("x", bnsh_of(Stage::vertex, 1));
    base.put("y", bnsh_of(Stage::vertex, 2));
    update.put("y", bnsh_of(Stage::vertex, 3));
    update.put("z", bnsh_of(Stage::vertex, 4));
    const ScanResult r = scan_paths({base.at(), update.at()});
    EXPECT_EQ(r.records.size(), 3u);
    const Pair gone = small_pair(Stage::vertex, 2);
    EXPECT_EQ(r.find(program_key(gone.control, gone.code)), nullptr);
}

TEST(Scan, ExefsAndNro) {
    const Folder folder;
    folder.put("romfs/x", bnsh_of(Stage::vertex, 1));
    folder.put("exefs/main", writers::nso(Data(64), bnsh_of(Stage::fragment, 2), Data(8)));
    folder.put("exefs/main.npdm", Data(64, 1));
    folder.put("a.nro", writers::nro(Data(64), bnsh_of(Stage::fragment, 3), Data(8)));
    ScanOptions o;
    o.paths = {folder.at("romfs")};
    o.exefs = {folder.at("exefs")};
    o.nro = {folder.at("a.nro")};
    const auto r = scan(o);
    ASSERT_TRUE(r);
    std::set<std::string> origins;
    for (const ShaderRecord& x : r->records)
        origins.insert(x.origin);
    EXPECT_EQ(origins, (std::set<std::string>{"x (variation 0)", "exefs/main (variation 0)",
                                              "nro/a.nro (variation 0)"}));
}

TEST(Scan, MissingPathsAreAnErrorAndEmptyOnesAreNot) {
    ScanOptions o;
    EXPECT_FALSE(scan(o));
    o.paths = {"/nonexistent/path"};
    EXPECT_FALSE(scan(o));
    const Folder folder;
    EXPECT_TRUE(scan_paths({folder.at()}).records.empty());
}

TEST(Scan, LinkedFoldersAreReadOnceAndCirclesEnd) {
    const Folder folder, other;
    folder.put("a/x", bnsh_of(Stage::vertex, 1));
    other.put("y", bnsh_of(Stage::vertex, 2));
    fs::create_directory_symlink(folder.at(), folder.at("a/circle"));
    fs::create_directory_symlink(other.at(), folder.at("linked"));
    fs::create_symlink("nowhere", folder.at("dangling"));
    const ScanResult r = scan_paths({folder.at()});
    EXPECT_EQ(r.found, 2u);
    ASSERT_EQ(r.errors.size(), 1u);
    EXPECT_EQ(r.errors[0].origin, "dangling");
}

TEST(Scan, ProgressEndsAtTheWhole) {
    const Folder folder;
    for (const Member& m : tree())
        folder.put(m.name, m.data);
    ScanOptions o;
    o.paths = {folder.at()};
    ScanProgress p;
    o.progress = [&](const ScanProgress& now) { p = now; };
    const auto r = scan(o);
    ASSERT_TRUE(r);
    EXPECT_EQ(p.done_bytes, p.all_bytes);
    EXPECT_EQ(p.done_bytes, r->bytes);
    EXPECT_EQ(p.members, r->members);
    EXPECT_EQ(p.shaders, r->found);
}

TEST(Scan, RecordsOutliveTheirFiles) {
    ScanResult r;
    {
        const Folder folder;
        Data big = bnsh_of(Stage::vertex, 1);
        big.resize(2 << 20); // mapped, not read
        folder.put("big", big);
        folder.put("small", bnsh_of(Stage::vertex, 2));
        r = scan_paths({folder.at()});
    }
    ASSERT_EQ(r.records.size(), 2u);
    for (const ShaderRecord& x : r.records)
        EXPECT_EQ(program_key(x.control.bytes, x.code.bytes), x.key);
}

// The sample RomFS holds every shader of tests/data but those of runtime/examples, whichever way it is given.
TEST(Sample, EveryShaderIsFound) {
    const writers::Sample sample = writers::sample_romfs();
    const Folder folder;
    for (const Member& m : sample.romfs)
        folder.put("romfs/" + m.name, m.data);
    folder.put("exefs/main", sample.main.data);
    ScanOptions o;
    o.paths = {folder.at("romfs")};
    o.exefs = {folder.at("exefs")};
    const auto r = scan(o);
    ASSERT_TRUE(r);
    EXPECT_TRUE(r->errors.empty()) << dump(*r);
    EXPECT_EQ(r->lone_controls, 0u);
    unsigned count = 0;
    const auto expect = [&](const Pair& p, const std::string& name) {
        const ShaderRecord* record = r->find(program_key(p.control, p.code));
        ASSERT_NE(record, nullptr) << name;
        EXPECT_EQ(record->stage, p.stage);
        EXPECT_EQ(record->origin.starts_with("headsurface/"), name.find("headsurface") != name.npos)
            << record->origin;
        EXPECT_TRUE(prepare_program(record->control.bytes, record->code.bytes)) << name;
        ++count;
    };
    const std::set<std::string> of_examples = {"fs_mrt_float8",     "real_cs_nbody_tile",   "gs_triangles_explode_normals",
                                               "tes_tri_equal_ccw", "tcs_tri_distance_lod", "fs_shadow_2d"};
    const fs::path data = fs::path(DMSH_SOURCE_DIR) / "tests/data";
    for (const auto& e : fs::directory_iterator(data / "shaders"))
        if (const std::string name = e.path().stem().string();
            e.path().extension() == ".json" && !of_examples.count(name))
            expect(writers::sample_pair(name), name);
    for (const char* name : {"vertex", "fragment", "fragment_blend", "fragment_blend_offset",
                             "fragment_overlay", "fragment_pixelShift", "fragment_reversePrime",
                             "fragment_blend_offset_customSampling", "fragment_yuv420_overlay"})
        expect(writers::headsurface_pair(name), std::string("headsurface ") + name);
    EXPECT_EQ(r->records.size(), count);
    EXPECT_EQ(count, 37u);
    EXPECT_EQ(r->programs.size(), 8u);
    o.paths = {folder.put("romfs.bin", writers::romfs(sample.romfs))};
    const auto image = scan(o);
    ASSERT_TRUE(image);
    EXPECT_EQ(dump(*r), dump(*image));
}

TEST(NestBudget, HonestLayoutArchivesPass) {
    // A SARC whose one member expands 9 times, and members that add up to it again: below both budgets.
    std::vector<Member> inner;
    for (uint32_t i = 0; i < 12; ++i)
        inner.push_back({"s" + std::to_string(i), writers::raw_pair(small_pair(Stage::vertex, i))});
    Data filler(200000);
    inner.push_back({"filler", filler});
    std::vector<Member> outer = {{"l.szs", writers::yaz0(writers::sarc(inner))}};
    Data random(20000);
    for (size_t i = 0; i < random.size(); ++i)
        random[i] = static_cast<uint8_t>(i * i >> 3 ^ i * 37);
    outer.push_back({"x", random});
    const ScanResult r = scan_blob("f", Blob::own(writers::sarc(outer)));
    EXPECT_EQ(r.records.size(), 12u);
    EXPECT_TRUE(r.errors.empty());
}

// A SARC whose entries all cover the same bytes.
Data fan_out(const Data& inner, unsigned count) {
    std::vector<Member> members;
    for (unsigned i = 0; i < count; ++i)
        members.push_back({"m" + std::to_string(i), i ? Data() : inner});
    Data d = writers::sarc(members);
    // Find the entry that is not empty and copy its range to the others.
    uint64_t range = 0;
    for (unsigned i = 0; i < count; ++i)
        if (Bytes(d).u32(0x20 + 16 * i + 12) != Bytes(d).u32(0x20 + 16 * i + 8))
            range = Bytes(d).u64(0x20 + 16 * i + 8);
    for (unsigned i = 0; i < count; ++i)
        std::memcpy(d.data() + 0x20 + 16 * i + 8, &range, 8);
    return d;
}

TEST(NestBudget, OverlappingFanOutStops) {
    Data d = writers::raw_pair(small_pair(Stage::vertex));
    for (int level = 0; level < 6; ++level)
        d = fan_out(d, 8);
    const ScanResult r = scan_blob("f", Blob::own(d));
    EXPECT_LE(r.members * d.size(), 2u << 20); // of 8^6
    ASSERT_FALSE(r.errors.empty());
    EXPECT_NE(r.errors.back().text().find("more than 16 times the file"), std::string::npos);
}

TEST(NestBudget, CompressedFanOutStops) {
    Data d = writers::raw_pair(small_pair(Stage::vertex));
    for (int level = 0; level < 6; ++level)
        d = fan_out(writers::yaz0(d), 8);
    const ScanResult r = scan_blob("f", Blob::own(d));
    EXPECT_LE(r.members, 5000u); // of 2 * 8^6
    EXPECT_FALSE(r.errors.empty());
    // At a size past the floor of 1 MiB the factor of 16 alone counts.
    Data noise(100000);
    uint32_t state = 1;
    for (uint8_t& b : noise)
        b = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
    d = writers::sarc(std::vector<Member>{{"noise", noise}});
    for (int level = 0; level < 6; ++level)
        d = fan_out(writers::yaz0(d), 8);
    EXPECT_LE(scan_blob("f", Blob::own(d)).members, 40u);
}

TEST(NestBudget, SixteenDeepAndNoFurther) {
    Data d = bnsh_of(Stage::vertex, 1);
    const auto wrap = [](const Data& in) { return writers::sarc(std::vector<Member>{{"m", in}}); };
    for (unsigned depth = 0; depth < 16; ++depth)
        d = wrap(d);
    EXPECT_EQ(scan_blob("f", Blob::own(d)).records.size(), 1u);
    const ScanResult r = scan_blob("f", Blob::own(wrap(d)));
    EXPECT_TRUE(r.records.empty());
    ASSERT_EQ(r.errors.size(), 1u);
    EXPECT_NE(r.errors[0].text().find("nest more than 16 deep"), std::string::npos);
}

} // namespace
} // namespace dmsh
