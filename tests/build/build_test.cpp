// The main job on the sample RomFS: outputs, exit codes, the same bytes at any worker count and from folder or image.
#include "compiler/build/library_build.h"
#include "compiler/build/exit_codes.h"
#include "compiler/build/files.h"
#include "compiler/build/report.h"
#include "runtime/pack/library_pack.h"
#include "tests/writers/sample.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dmsh {
namespace {

namespace fs = std::filesystem;

class Build : public testing::Test {
  protected:
    Build() {
        root_ = fs::temp_directory_path() / ("dmsh_build_" + std::to_string(getpid()));
        fs::remove_all(root_);
        const auto sample = writers::sample_romfs();
        for (const auto& file : sample.romfs)
            put("romfs/" + std::string(file.name), file.data);
        put("exefs/" + std::string(sample.main.name), sample.main.data);
        put("romfs.bin", writers::romfs(sample.romfs));
    }
    ~Build() override { fs::remove_all(root_); }

    template <class Data> void put(const std::string& name, const Data& data) {
        fs::create_directories((root_ / name).parent_path());
        ASSERT_TRUE(write_file((root_ / name).string(), std::span(reinterpret_cast<const uint8_t*>(data.data()), data.size())));
    }
    BuildOptions options(const std::string& romfs, const std::string& out) const {
        BuildOptions o;
        o.scan.paths = {(root_ / romfs).string()};
        o.scan.exefs = {(root_ / "exefs").string()};
        o.output = (root_ / out).string();
        o.profile = *load_profile(DMSH_SOURCE_DIR "/profiles/sample.toml");
        return o;
    }
    std::vector<uint8_t> bytes(const std::string& name) const {
        auto b = read_file((root_ / name).string());
        return b ? *b : std::vector<uint8_t>{};
    }
    fs::path root_;
};

TEST_F(Build, SampleGivesPacksAndReports) {
    const BuildOptions o = options("romfs", "out");
    const BuildResult r = build_library(o);
    EXPECT_TRUE(r.input_errors.empty()) << r.input_errors.front().text();
    EXPECT_TRUE(r.output_errors.empty());
    EXPECT_GE(r.programs.size(), 30u);
    for (const ProgramReport& p : r.programs) {
        EXPECT_FALSE(p.refused) << p.origin << ": " << p.refused->text();
        EXPECT_FALSE(p.vulkan_refused) << p.origin << ": " << p.vulkan_refused->text();
        EXPECT_FALSE(p.metal_refused) << p.origin << ": " << p.metal_refused->text();
    }
    for (const char* name : {"library.vulkan.dmlib", "library.macos.dmlib", "shader_map.tsv", "shader_pairs.tsv", "build.json"})
        EXPECT_FALSE(bytes(std::string("out/") + name).empty()) << name;

    const auto json = nlohmann::json::parse(bytes("out/build.json"));
    EXPECT_EQ(json["programs"].size(), r.programs.size());
    EXPECT_TRUE(json["programs"][0].contains("ms"));

    const auto pack = LibraryPack::open((root_ / "out/library.vulkan.dmlib").string());
    ASSERT_TRUE(pack) << pack.error().text();
    for (const ProgramReport& p : r.programs) {
        if (p.refused || p.vulkan_refused)
            continue;
        const uint32_t index = pack->find(p.key);
        ASSERT_NE(index, LibraryPack::kNotFound) << p.origin;
        const auto slice = pack->slice(index);
        ASSERT_TRUE(slice);
        ASSERT_GE(slice->bytes.size(), 20u);
        EXPECT_EQ(slice->bytes[0], 0x03); // SPIR-V magic 0x07230203
        const auto reflection = pack->reflection(index);
        ASSERT_TRUE(reflection);
        EXPECT_EQ(reflection->interface.stage, p.stage);
    }
}

TEST_F(Build, SameBytesAtAnyWorkerCountAndFromAnImage) {
    BuildOptions one = options("romfs", "one");
    one.workers = 1;
    BuildOptions four = options("romfs", "four");
    four.workers = 4;
    BuildOptions image = options("romfs.bin", "image");
    build_library(one);
    build_library(four);
    build_library(image);
    for (const char* name : {"library.vulkan.dmlib", "library.macos.dmlib"}) {
        const auto expected = bytes(std::string("one/") + name);
        EXPECT_FALSE(expected.empty());
        EXPECT_EQ(expected, bytes(std::string("four/") + name)) << name;
        EXPECT_EQ(expected, bytes(std::string("image/") + name)) << name;
    }
    EXPECT_EQ(bytes("one/shader_map.tsv"), bytes("four/shader_map.tsv"));
    EXPECT_EQ(bytes("one/shader_pairs.tsv"), bytes("four/shader_pairs.tsv"));
}

TEST_F(Build, ExitCodeNamesTheGravestFailure) {
    BuildOptions o = options("romfs", "out");
    o.scan.exefs.clear();
    o.scan.paths = {(root_ / "nowhere").string()};
    EXPECT_EQ(build_library(o).exit_code(), kExitInput);

    fs::create_directories(root_ / "empty");
    o.scan.paths = {(root_ / "empty").string()};
    EXPECT_EQ(build_library(o).exit_code(), kExitNoShader);

    // A broken file costs its own shaders only.
    put("broken/a.szs", std::string("Yaz0\0\0\1\0\0\0\0\0\0\0\0\0", 16));
    fs::copy(root_ / "romfs/compute", root_ / "broken/compute", fs::copy_options::recursive);
    o.scan.paths = {(root_ / "broken").string()};
    const BuildResult broken = build_library(o);
    EXPECT_EQ(broken.exit_code(), kExitInput);
    EXPECT_FALSE(broken.programs.empty());
    ASSERT_EQ(broken.input_errors.size(), 1u);
    EXPECT_NE(broken.input_errors[0].text().find("a.szs"), std::string::npos);

    o.scan.paths = {(root_ / "romfs/compute").string()};
    put("file", std::string("not a folder"));
    o.output = (root_ / "file/out").string();
    EXPECT_EQ(build_library(o).exit_code(), kExitOutput);
}

TEST_F(Build, StampSeesWhatChangesOutputs) {
    Profile a, b;
    b.key_skip = {0x770, 0x78};
    EXPECT_NE(build_stamp(a, FloatMode::ship), build_stamp(b, FloatMode::ship));
    EXPECT_NE(build_stamp(a, FloatMode::ship), build_stamp(a, FloatMode::exact));
    EXPECT_LE(build_stamp(a, FloatMode::exact).size(), 32u);
}

} // namespace
} // namespace dmsh
