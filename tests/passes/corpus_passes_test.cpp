// Every shader of the Maxwell corpora that lifts goes through all passes, and comes out verified or refused
// with a code.
#include "compiler/lift/intrinsics.h"
#include "compiler/lift/lifter.h"
#include "compiler/passes/pipeline.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

namespace dmsh {
namespace {

namespace fs = std::filesystem;

fs::path corpus() {
    if (const char* shared = std::getenv("DMSH_SHARED"))
        return fs::path(shared) / "corpus";
    return fs::path(DMSH_SOURCE_DIR) / ".." / "shared" / "corpus";
}

std::vector<uint8_t> read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

struct Sample {
    fs::path code, constants;
    Stage stage;
    GuestAbiId abi;
};

std::vector<Sample> samples() {
    std::vector<Sample> list;
    const std::pair<const char*, Stage> kExtensions[] = {
        {"vert", Stage::vertex},       {"frag", Stage::fragment},        {"geom", Stage::geometry},
        {"tesc", Stage::tess_control}, {"tese", Stage::tess_evaluation}, {"comp", Stage::compute}};
    for (const auto& entry : fs::directory_iterator(corpus() / "maxwell-gfx")) {
        const std::string name = entry.path().filename().string();
        for (const auto& [extension, stage] : kExtensions) {
            const std::string tail = std::string(".glsl.") + extension;
            if (name.size() > tail.size() && name.ends_with(tail)) {
                const std::string stem = name.substr(0, name.size() - tail.size());
                list.push_back({entry.path().parent_path() / (stem + ".bin"),
                                entry.path().parent_path() / (stem + ".c1.bin"), stage, GuestAbiId::nvn});
            }
        }
    }
    for (const auto& entry : fs::directory_iterator(corpus() / "nvidia-glslc")) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(".maxwell.bin"))
            list.push_back({entry.path(),
                            entry.path().parent_path() / (name.substr(0, name.size() - 4) + ".c1.bin"),
                            name.find("_vertex") != name.npos ? Stage::vertex : Stage::fragment,
                            GuestAbiId::headsurface});
    }
    for (const auto& entry : fs::directory_iterator(corpus() / "cuda")) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(".53.bin"))
            list.push_back({entry.path(),
                            entry.path().parent_path() / (name.substr(0, name.size() - 4) + ".c2.bin"),
                            Stage::compute, GuestAbiId::cuda});
    }
    std::sort(list.begin(), list.end(), [](const Sample& a, const Sample& b) { return a.code < b.code; });
    return list;
}

TEST(Corpus, EveryLiftedShaderPassesOrIsRefusedByCode) {
    if (!fs::exists(corpus() / "maxwell-gfx")) {
        GTEST_SKIP() << "no corpus beside the repository";
    }
    std::map<std::string, std::pair<unsigned, unsigned>> by_folder; // passed, lifted
    const bool verbose = std::getenv("DMSH_VERBOSE");
    for (const Sample& s : samples()) {
        const std::vector<uint8_t> bytes = read_file(s.code), constants = read_file(s.constants);
        ShaderInput input;
        input.stage = s.stage;
        input.abi = &guest_abi(s.abi);
        const size_t head = s.stage == Stage::compute ? 0 : 0x50;
        ASSERT_GE(bytes.size(), head) << s.code;
        input.sph = std::span(bytes).first(head);
        input.code = std::span(bytes).subspan(head);
        input.constants = constants;
        input.local_bytes = 4096;
        input.shared_bytes = 16384;
        auto& count = by_folder[s.code.parent_path().filename().string()];
        auto shader = lift(input);
        if (!shader) {
            if (verbose)
                printf("%-44s lift: %s\n", s.code.stem().c_str(), shader.error().text().c_str());
            continue;
        }
        ++count.second;
        auto r = run_passes(*shader);
        if (!r) {
            EXPECT_NE(r.error().code, 0) << s.code << ": " << r.error().text();
            if (verbose)
                printf("%-44s pass: %s\n", s.code.stem().c_str(), r.error().text().c_str());
            continue;
        }
        ++count.first;
        const auto verified = verify_shader(*shader, true);
        EXPECT_TRUE(verified) << s.code << ": " << (verified ? "" : verified.error().text());
        auto copy = clone_shader(*shader);
        auto l = legalize_vulkan(copy);
        EXPECT_TRUE(l || l.error().code) << s.code << ": " << l.error().text();
        if (!l && verbose)
            printf("%-44s vulkan: %s\n", s.code.stem().c_str(), l.error().text().c_str());
    }
    for (const auto& [folder, count] : by_folder)
        printf("%s: %u of %u lifted shaders bound\n", folder.c_str(), count.first, count.second);
}

} // namespace
} // namespace dmsh
