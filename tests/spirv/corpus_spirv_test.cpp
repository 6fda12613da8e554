// Every shader of the corpora that reaches the emitter comes out as valid SPIR-V and as MSL, or is
// refused by code.
#include "archivers/nvn/sph.h"
#include "compiler/emit/msl/msl.h"
#include "compiler/emit/spirv/spirv_emitter.h"
#include "compiler/lift/lifter.h"
#include "compiler/passes/pipeline.h"
#include <cstdlib>
#include <ctime>
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
    Arch arch = Arch::sm53;
};

std::vector<Sample> samples() {
    std::vector<Sample> list;
    const std::pair<const char*, Stage> kExtensions[] = {
        {"vert", Stage::vertex},       {"frag", Stage::fragment},        {"geom", Stage::geometry},
        {"tesc", Stage::tess_control}, {"tese", Stage::tess_evaluation}, {"comp", Stage::compute}};
    const auto add = [&](const fs::path& code, const char* constants, Stage stage, GuestAbiId abi,
                         Arch arch = Arch::sm53) {
        const std::string name = code.filename().string();
        list.push_back({code, code.parent_path() / (name.substr(0, name.size() - 4) + constants), stage, abi,
                        arch});
    };
    for (const auto& entry : fs::directory_iterator(corpus() / "maxwell-gfx")) {
        const std::string name = entry.path().filename().string();
        for (const auto& [extension, stage] : kExtensions)
            if (const std::string tail = std::string(".glsl.") + extension; name.ends_with(tail))
                add(entry.path().parent_path() / (name.substr(0, name.size() - tail.size()) + ".bin"),
                    ".c1.bin", stage, GuestAbiId::nvn);
    }
    for (const auto& entry : fs::directory_iterator(corpus() / "nvidia-glslc")) {
        const std::string name = entry.path().filename().string();
        const Stage stage = name.find("_vertex") != name.npos ? Stage::vertex : Stage::fragment;
        if (name.ends_with(".maxwell.bin"))
            add(entry.path(), ".c1.bin", stage, GuestAbiId::headsurface);
        if (name.ends_with(".ampere.bin"))
            add(entry.path(), ".c1.bin", stage, GuestAbiId::headsurface, Arch::sm86);
    }
    for (const auto& entry : fs::directory_iterator(corpus() / "cuda"))
        if (entry.path().filename().string().ends_with(".53.bin"))
            add(entry.path(), ".c2.bin", Stage::compute, GuestAbiId::cuda);
        else if (entry.path().filename().string().ends_with(".86.bin"))
            add(entry.path(), ".c2.bin", Stage::compute, GuestAbiId::cuda_sm86, Arch::sm86);
    std::sort(list.begin(), list.end(), [](const Sample& a, const Sample& b) { return a.code < b.code; });
    return list;
}

TEST(Corpus, EmittedShadersValidateOrAreRefusedByCode) {
    if (!fs::exists(corpus() / "maxwell-gfx"))
        GTEST_SKIP() << "no corpus beside the repository";
    struct Count {
        unsigned bound = 0, valid = 0, msl = 0;
    };
    std::map<std::string, Count> folders;
    std::vector<double> ms_per_1000;
    double total_ms = 0;
    const bool verbose = std::getenv("DMSH_VERBOSE");
    const bool with_msl = std::getenv("DMSH_MSL");
    for (const Sample& s : samples()) {
        const std::vector<uint8_t> bytes = read_file(s.code), constants = read_file(s.constants);
        ShaderInput input;
        input.stage = s.stage;
        input.arch = s.arch;
        input.abi = &guest_abi(s.abi);
        const size_t head = s.stage == Stage::compute ? 0 : s.arch == Arch::sm86 ? kSphBytes4 : kSphBytes3;
        ASSERT_GE(bytes.size(), head) << s.code;
        input.sph = std::span(bytes).first(head);
        input.code = std::span(bytes).subspan(head);
        input.constants = constants;
        input.local_bytes = 4096;
        input.shared_bytes = 16384;
        const std::string name = s.code.stem().string();
        auto shader = lift(input);
        if (!shader || !run_passes(*shader) || !legalize_vulkan(*shader))
            continue;
        Count& count = folders[s.code.parent_path().filename().string() +
                               (s.arch == Arch::sm86 ? ", sm_86" : ", sm_53")];
        ++count.bound;
        const std::clock_t start = std::clock(); // processor time: other programs may run beside
        auto words = emit_spirv(*shader);
        const double ms = 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        total_ms += ms;
        ms_per_1000.push_back(ms * 1000 / std::max(shader->instruction_count, 1u));
        if (!words) {
            EXPECT_NE(words.error().code, 0) << name << ": " << words.error().text();
            if (verbose)
                printf("%-44s emit: %s\n", name.c_str(), words.error().text().c_str());
            continue;
        }
        auto valid = validate_spirv(*words);
        EXPECT_TRUE(bool(valid)) << name << ": " << valid.error().text();
        if (valid)
            ++count.valid;
        else if (verbose)
            printf("%s\n", disassemble_spirv(*words).c_str());
        if (!with_msl)
            continue;
        auto flat = emit_spirv(*shader, {.set = 0, .first_binding = 0, .for_msl = true});
        if (!flat)
            continue;
        auto text = spirv_to_msl(*flat, shader->interface, false);
        if (text) {
            ++count.msl;
            int depth = 0, deepest = 0;
            for (char c : *text)
                deepest = std::max(deepest, depth += c == '{' ? 1 : c == '}' ? -1 : 0);
            EXPECT_LE(deepest, 64) << name; // L-085
        } else if (verbose) {
            printf("%-44s msl: %s\n", name.c_str(), text.error().text().c_str());
        }
    }
    for (const auto& [folder, c] : folders)
        printf("%s: %u of %u bound shaders are valid SPIR-V, %u MSL\n", folder.c_str(), c.valid, c.bound,
               c.msl);
    std::sort(ms_per_1000.begin(), ms_per_1000.end());
    if (!ms_per_1000.empty())
        printf("emission: median %.3f ms per 1,000 guest instructions, %.1f ms in all\n",
               ms_per_1000[ms_per_1000.size() / 2], total_ms);
}

} // namespace
} // namespace dmsh
