// The command line as people use it: every --emit form, lists, extraction, exit codes.
#include "tests/writers/sample.h"
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace dmsh {
namespace {

namespace fs = std::filesystem;

struct Ran {
    int code;
    std::string out; // standard output and standard error
};

Ran dmshc(const std::string& arguments) {
    std::FILE* pipe = popen((std::string(DMSHC) + " " + arguments + " 2>&1").c_str(), "r");
    std::string out;
    std::array<char, 4096> buffer;
    size_t n;
    while ((n = fread(buffer.data(), 1, buffer.size(), pipe)) != 0)
        out.append(buffer.data(), n);
    const int status = pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out};
}

class Command : public testing::Test {
  protected:
    Command() : root_(fs::temp_directory_path() / ("dmsh_command_" + std::to_string(getpid()))) {
        fs::remove_all(root_);
        fs::create_directories(root_);
    }
    ~Command() override { fs::remove_all(root_); }
    std::string path(const std::string& name) const { return (root_ / name).string(); }
    template <class Data> void put(const std::string& name, const Data& data) {
        std::ofstream f(root_ / name, std::ios::binary);
        f.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
    }
    std::string get(const std::string& name) const {
        std::ifstream f(root_ / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(f), {}};
    }
    fs::path root_;
};

const std::string kShaders = DMSH_SOURCE_DIR "/tests/data/shaders/";
const std::string kRaw = kShaders + "fs_tex_2d.bin --raw --arch sm53 --stage fragment ";

TEST_F(Command, VerifyComparesAndSaysWhatItDid) {
    const Ran text = dmshc("verify " + kShaders + "fs_discard_simple.bin --raw --stage fragment --cases 5");
    EXPECT_EQ(text.code, 0) << text.out;
    EXPECT_NE(text.out.find("equal on 5 cases"), std::string::npos) << text.out;
    const Ran json = dmshc("verify " + kShaders + "fs_tex_2d.bin --raw --stage fragment --cases 3 --json");
    EXPECT_EQ(json.code, 0) << json.out;
    EXPECT_TRUE(nlohmann::json::parse(json.out)["shaders"][0]["equal"].get<bool>()) << json.out;
    EXPECT_EQ(dmshc("verify " + path("missing") + " --raw --stage fragment").code, 5);
    EXPECT_EQ(dmshc("verify " + kShaders + "fs_tex_2d.bin --raw").code, 2);
}

TEST_F(Command, RunExecutesAJobAndTracesRegisters) {
    const std::string job = DMSH_SOURCE_DIR "/tests/data/jobs/discard.json";
    const Ran ran = dmshc("run " + kShaders + "fs_discard_simple.bin --raw --stage fragment --job " + job);
    ASSERT_EQ(ran.code, 0) << ran.out;
    const auto j = nlohmann::json::parse(ran.out)["invocations"];
    // Alpha 1, 0.25, 0.5, 0.49: below a half is discarded.
    EXPECT_FALSE(j[0]["killed"].get<bool>());
    EXPECT_TRUE(j[1]["killed"].get<bool>());
    EXPECT_FALSE(j[2]["killed"].get<bool>());
    EXPECT_TRUE(j[3]["killed"].get<bool>());
    EXPECT_EQ(j[0]["colours"]["0.x"], "0x3f000000");
    const Ran trace = dmshc("run " + kShaders + "fs_discard_simple.bin --raw --stage fragment --trace --thread 1 --job " + job);
    EXPECT_NE(trace.out.find("P0 = 1"), std::string::npos) << trace.out;
}

TEST_F(Command, ShaderEmitsEveryForm) {
    const std::pair<const char*, const char*> forms[] = {
        {"disasm", "EXIT"},    {"cfg", "exit"},         {"ir-raw", "dmsh.tex."},  {"ir", "dmsh.btex."},
        {"spirv-asm", "OpEntryPoint Fragment"},         {"msl", "fragment"},      {"air", "!air.fragment"},
        {"reflect", "texture"}, {"control", "fragment"},
    };
    for (const auto& [form, expected] : forms) {
        const Ran r = dmshc("shader " + kRaw + "--emit " + form);
        EXPECT_EQ(r.code, 0) << form << "\n" << r.out.substr(0, 2000);
        EXPECT_NE(r.out.find(expected), std::string::npos) << form << "\n" << r.out.substr(0, 2000);
    }
    EXPECT_EQ(dmshc("shader " + kRaw + "--emit spirv -o " + path("a.spv")).code, 0);
    EXPECT_EQ(get("a.spv").substr(0, 4), std::string("\x03\x02\x23\x07"));
    EXPECT_EQ(dmshc("shader " + kRaw + "--emit metallib -o " + path("a.metallib")).code, 0);
    EXPECT_EQ(get("a.metallib").substr(0, 4), "MTLB");
    const Ran inspected = dmshc("inspect " + path("a.metallib"));
    EXPECT_EQ(inspected.code, 0) << inspected.out;
    EXPECT_NE(inspected.out.find("main0"), std::string::npos) << inspected.out;
}

TEST_F(Command, PrintAfterShowsThePass) {
    const Ran r = dmshc("shader " + kRaw + "--emit reflect --print-after lift");
    EXPECT_EQ(r.code, 0) << r.out;
    EXPECT_NE(r.out.find("; after lift"), std::string::npos);
    const Ran unknown = dmshc("shader " + kRaw + "--emit reflect --print-after nonsense");
    EXPECT_EQ(unknown.code, 2) << unknown.out;
    EXPECT_NE(unknown.out.find("passes:"), std::string::npos);
}

TEST_F(Command, ShaderFromContainers) {
    put("pair.bin", writers::raw_pair(writers::sample_pair("fs_tex_2d"), 256));
    const Ran one = dmshc("shader " + path("pair.bin") + " --emit spirv-asm");
    EXPECT_EQ(one.code, 0) << one.out.substr(0, 2000);
    const Ran list = dmshc("shader " + path("pair.bin") + " --list");
    EXPECT_EQ(list.code, 0);
    ASSERT_GE(list.out.size(), 16u);
    const std::string key = list.out.substr(0, 16);
    EXPECT_EQ(dmshc("shader " + path("pair.bin") + " --key " + key + " --emit control").code, 0);
    EXPECT_EQ(dmshc("shader " + path("pair.bin") + " --key 0000000000000000").code, 4);
}

TEST_F(Command, HeadsurfaceAbiTracesItsHandles) {
    const Ran r = dmshc("shader " DMSH_SOURCE_DIR "/tests/data/headsurface/nvidia_headsurface_fragment_overlay.maxwell.bin "
                        "--raw --arch sm53 --stage fragment --abi headsurface --emit reflect");
    EXPECT_EQ(r.code, 0) << r.out;
    EXPECT_NE(r.out.find("texture"), std::string::npos) << r.out;
}

TEST_F(Command, BuildScanAndLib) {
    fs::create_directories(root_ / "romfs");
    put("romfs/a.bin", writers::raw_pair(writers::sample_pair("fs_tex_2d"), 256));
    put("romfs/b.bin", writers::raw_pair(writers::sample_pair("vs_fullscreen_triangle"), 256));
    const Ran scanned = dmshc("scan " + path("romfs") + " --json");
    EXPECT_EQ(scanned.code, 0) << scanned.out;
    const auto json = nlohmann::json::parse(scanned.out, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << scanned.out;
    ASSERT_EQ(json["shaders"].size(), 2u);

    const Ran built = dmshc("build " + path("romfs") + " -o " + path("out") + " --target vulkan --target macos --target ios");
    EXPECT_EQ(built.code, 0) << built.out;
    for (const char* target : {"vulkan", "macos", "ios"}) {
        const Ran lib = dmshc("lib " + path("out/library.") + target + ".dmlib --json");
        EXPECT_EQ(lib.code, 0) << lib.out;
        const auto listed = nlohmann::json::parse(lib.out, nullptr, false);
        ASSERT_FALSE(listed.is_discarded()) << lib.out;
        EXPECT_EQ(listed["programs"].size(), 2u);
        EXPECT_EQ(listed["target"], target);
    }
    const std::string key = json["shaders"][0]["key"];
    EXPECT_EQ(dmshc("lib " + path("out/library.macos.dmlib") + " " + key + " -o " + path("x")).code, 0);
    EXPECT_EQ(get("x/" + key + ".metallib").substr(0, 4), "MTLB");
}

TEST_F(Command, ExitCodes) {
    EXPECT_EQ(dmshc("").code, 2);
    EXPECT_EQ(dmshc("--help").code, 0);
    EXPECT_EQ(dmshc("frobnicate").code, 2);
    EXPECT_EQ(dmshc("build " + path(".") + " -o " + path("o") + " --target ps4").code, 2);
    EXPECT_EQ(dmshc("shader " + kShaders + "fs_tex_2d.bin --raw").code, 2);
    EXPECT_EQ(dmshc("shader " + kRaw + "--emit poem").code, 2);
    EXPECT_EQ(dmshc("scan " + path("nowhere")).code, 5);
    fs::create_directories(root_ / "empty");
    EXPECT_EQ(dmshc("scan " + path("empty")).code, 4);
    EXPECT_EQ(dmshc("build " + path("empty") + " -o " + path("o")).code, 4);
    put("noise.bin", std::string(4096, 'x'));
    EXPECT_EQ(dmshc("lib " + path("noise.bin")).code, 5);
    EXPECT_EQ(dmshc("inspect " + path("noise.bin")).code, 5);
    // Code that no table row matches is refused by name with place and bits (T-002).
    std::string bad(0x50 + 64, '\0');
    bad[0] = 0x62, bad[1] = 0x14; // pixel header
    for (size_t i = 0x50 + 8; i < 0x50 + 16; ++i)
        bad[i] = static_cast<char>(0xfe);
    put("bad.bin", bad);
    const Ran refused = dmshc("shader " + path("bad.bin") + " --raw --arch sm53 --stage fragment --emit spirv-asm");
    EXPECT_EQ(refused.code, 3) << refused.out;
    EXPECT_NE(refused.out.find("0x8"), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("fefefefefefefefe"), std::string::npos) << refused.out;
}

} // namespace
} // namespace dmsh
