// Every program of the corpora lifts, or is on the list of what is refused.
#include "archivers/nvn/sph.h"
#include "compiler/lift/lifter.h"
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

namespace dmsh::test {
namespace {

std::filesystem::path corpus() {
    const char* shared = std::getenv("DMSH_SHARED");
    return std::filesystem::path(shared ? shared : DMSH_SOURCE_DIR "/../shared") / "corpus";
}

std::vector<uint8_t> read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Totals {
    size_t programs = 0, lifted = 0, instructions = 0;
    double ms = 0;
};

void lift_one(const std::string& name, ShaderInput& input, const std::set<std::string>& refused, Totals& totals) {
    ++totals.programs;
    // DMSH_LIFT_REPEAT=n lifts each program n times more, for a steadier measurement.
    const char* repeat = std::getenv("DMSH_LIFT_REPEAT");
    for (int i = repeat ? std::atoi(repeat) : 0; i > 0; --i)
        (void)lift(input);
    const auto start = std::chrono::steady_clock::now();
    auto shader = lift(input);
    totals.ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (!shader) {
        EXPECT_TRUE(refused.count(name)) << name << ": " << shader.error().text();
        return;
    }
    if (refused.count(name))
        std::cout << name << " lifts now: take it off the list\n";
    const auto verified = verify_shader(*shader, false);
    EXPECT_TRUE(verified) << name << ": " << (verified ? "" : verified.error().text());
    ++totals.lifted;
    totals.instructions += shader->instruction_count;
}

void report(const char* what, const Totals& t) {
    std::cout << what << ": " << t.lifted << " of " << t.programs << " programs lift, " << t.instructions << " instructions, "
              << static_cast<size_t>(static_cast<double>(t.instructions) / t.ms) << " instructions/ms\n";
}

constexpr size_t kSphBytes = 0x50;

} // namespace

Stage stage_of(const std::string& extension) {
    return extension == "vert"   ? Stage::vertex
           : extension == "frag" ? Stage::fragment
           : extension == "geom" ? Stage::geometry
           : extension == "tesc" ? Stage::tess_control
           : extension == "tese" ? Stage::tess_evaluation
                                 : Stage::compute;
}

TEST(LiftCorpus, MaxwellGraphics) {
    const auto folder = corpus() / "maxwell-gfx";
    if (!std::filesystem::exists(folder))
        GTEST_SKIP() << "no corpus";
    const std::set<std::string> refused = {};
    Totals totals;
    for (const auto& e : std::filesystem::directory_iterator(folder)) {
        const std::string file = e.path().filename().string();
        if (e.path().extension() != ".json" || file == "manifest.json")
            continue;
        const auto meta = nlohmann::json::parse(read_file(e.path()));
        const std::string name = e.path().stem().string(), stage = meta["stage"];
        const std::vector<uint8_t> bin = read_file(folder / (name + ".bin")), constants = read_file(folder / (name + ".c1.bin"));
        ShaderInput input;
        input.abi = &guest_abi(GuestAbiId::nvn);
        input.constants = constants;
        input.stage = stage_of(stage);
        std::span<const uint8_t> all = bin;
        if (input.stage != Stage::compute) {
            input.sph = all.first(kSphBytes);
            all = all.subspan(kSphBytes);
        }
        input.code = all;
        lift_one(name, input, refused, totals);
    }
    report("maxwell-gfx", totals);
}

TEST(LiftCorpus, NvidiaGlslc) {
    const auto folder = corpus() / "nvidia-glslc";
    if (!std::filesystem::exists(folder))
        GTEST_SKIP() << "no corpus";
    const std::set<std::string> refused = {};
    Totals totals;
    for (const auto& e : std::filesystem::directory_iterator(folder)) {
        const std::string file = e.path().filename().string();
        if (!file.ends_with(".maxwell.bin"))
            continue;
        const std::string name = file.substr(0, file.size() - 12);
        const std::vector<uint8_t> bin = read_file(e.path()), constants = read_file(folder / (name + ".maxwell.c1.bin"));
        ShaderInput input;
        input.abi = &guest_abi(GuestAbiId::headsurface);
        input.constants = constants;
        input.stage = name.find("vertex") != name.npos ? Stage::vertex : Stage::fragment;
        const std::span<const uint8_t> all = bin;
        input.sph = all.first(kSphBytes);
        input.code = all.subspan(kSphBytes);
        lift_one(name, input, refused, totals);
    }
    report("nvidia-glslc", totals);
}

TEST(LiftCorpus, Cuda) {
    const auto folder = corpus() / "cuda";
    if (!std::filesystem::exists(folder))
        GTEST_SKIP() << "no corpus";
    const std::set<std::string> refused = {};
    Totals totals;
    for (const auto& e : std::filesystem::directory_iterator(folder)) {
        const std::string file = e.path().filename().string();
        if (!file.ends_with(".53.bin"))
            continue;
        const std::string name = file.substr(0, file.size() - 7);
        const std::vector<uint8_t> bin = read_file(e.path()), constants = read_file(folder / (name + ".53.c2.bin"));
        ShaderInput input;
        input.abi = &guest_abi(GuestAbiId::cuda);
        input.constants = constants;
        input.code = bin;
        lift_one(name, input, refused, totals);
    }
    report("cuda", totals);
}

TEST(LiftCorpus, AmpereGraphics) {
    const auto folder = corpus() / "ampere-gfx";
    if (!std::filesystem::exists(folder))
        GTEST_SKIP() << "no corpus";
    const std::set<std::string> refused = {
        // Constant buffers by descriptor (cx), which NVK uses and NVN does not.
        "cs_unopt_o0", "real_cs_tiled_light_cull", "cs_ssbo_dynamic_block", "real_cs_nbody_tile", "c_robust_bounds",
        "vs_ubo_block_array_dynamic", "c_storage8", "real_cs_prefix_sum", "fs_ubo_array_dynamic_block", "cs_ubo_slots",
        "real_cs_gaussian_blur_shared", "cs_append_counter", "real_cs_frustum_cull_indirect",
        "f_barycentric",       // LDTRAM
    };
    Totals totals;
    for (const auto& e : std::filesystem::directory_iterator(folder)) {
        if (e.path().extension() != ".json" || e.path().filename() == "manifest.json")
            continue;
        const auto meta = nlohmann::json::parse(read_file(e.path()));
        const std::string name = e.path().stem().string(), stage = meta["stage"];
        if (stage == "task" || stage == "mesh")
            continue;
        const std::vector<uint8_t> bin = read_file(folder / (name + ".bin")), constants = read_file(folder / (name + ".data.bin"));
        ShaderInput input;
        input.arch = Arch::sm86;
        input.abi = &guest_abi(GuestAbiId::nvk);
        input.constants = constants;
        input.stage = stage_of(stage);
        const size_t header = meta["header_bytes"];
        input.sph = std::span(bin).first(header);
        input.code = std::span(bin).subspan(header);
        lift_one(name, input, refused, totals);
    }
    report("ampere-gfx", totals);
}

TEST(LiftCorpus, NvidiaGlslcAmpere) {
    const auto folder = corpus() / "nvidia-glslc";
    if (!std::filesystem::exists(folder))
        GTEST_SKIP() << "no corpus";
    Totals totals;
    for (const auto& e : std::filesystem::directory_iterator(folder)) {
        const std::string file = e.path().filename().string();
        if (!file.ends_with(".ampere.bin"))
            continue;
        const std::string name = file.substr(0, file.size() - 11);
        const std::vector<uint8_t> bin = read_file(e.path()), constants = read_file(folder / (name + ".ampere.c1.bin"));
        ShaderInput input;
        input.arch = Arch::sm86;
        input.abi = &guest_abi(GuestAbiId::headsurface);
        input.constants = constants;
        input.stage = name.find("vertex") != name.npos ? Stage::vertex : Stage::fragment;
        input.sph = std::span(bin).first(kSphBytes4);
        input.code = std::span(bin).subspan(kSphBytes4);
        lift_one(name, input, {}, totals);
    }
    report("nvidia-glslc, ampere", totals);
}

} // namespace dmsh::test
