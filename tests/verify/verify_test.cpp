// verify over whole shaders of the repository, and that a wrong value is found.
#include "compiler/sim/verify/verify.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

namespace dmsh::test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::vector<uint8_t> read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

struct Loaded {
    std::vector<uint8_t> bytes, constants;
    ShaderInput input;
};

// A shader as the maxwell-gfx corpus describes it.
bool load(const fs::path& json_path, Loaded& out) {
    const Json j = Json::parse(std::ifstream(json_path), nullptr, false);
    if (!j.is_object() || !j.contains("stage") || j.value("arch", "") != "sm53")
        return false;
    const std::map<std::string, Stage> stages = {{"vert", Stage::vertex},          {"frag", Stage::fragment},        {"comp", Stage::compute},
                                                 {"geom", Stage::geometry},        {"tesc", Stage::tess_control},    {"tese", Stage::tess_evaluation}};
    const auto stage = stages.find(j["stage"].get<std::string>());
    fs::path bin = json_path, c1 = json_path;
    bin.replace_extension(".bin");
    c1.replace_extension(".c1.bin");
    out.bytes = read(bin);
    out.constants = fs::exists(c1) ? read(c1) : std::vector<uint8_t>();
    const size_t header = j.value("instruction_offset", size_t{0});
    if (stage == stages.end() || out.bytes.size() <= header)
        return false;
    ShaderInput& in = out.input;
    in.stage = stage->second;
    in.sph = std::span(out.bytes).first(header);
    in.code = std::span(out.bytes).subspan(header, j.value("instruction_bytes", out.bytes.size() - header));
    in.constants = out.constants;
    in.shared_bytes = j.value("shared_bytes", 0u);
    in.local_bytes = j.value("local_mem_bytes", 0u);
    if (j["local_size"].is_array())
        for (size_t k = 0; k < 3; ++k)
            in.local_size[k] = j["local_size"][k];
    in.abi = &guest_abi(GuestAbiId::nvn);
    in.float_mode = FloatMode::exact;
    return true;
}

class Verify : public testing::TestWithParam<const char*> {};

TEST_P(Verify, ShaderIsEqualInEveryForm) {
    Loaded shader;
    ASSERT_TRUE(load(fs::path(DMSH_SOURCE_DIR "/tests/data/shaders") / (std::string(GetParam()) + ".json"), shader));
    const sim::Verdict v = sim::verify_shader_code(shader.input, {.seed = 1, .cases = 5});
    EXPECT_FALSE(v.difference) << v.difference->text();
    EXPECT_TRUE(v.passed());
    for (const auto& refused : v.refused)
        EXPECT_FALSE(refused) << refused->text();
}

INSTANTIATE_TEST_SUITE_P(Repository, Verify,
                         testing::Values("fs_discard_simple", "fs_tex_2d", "cs_shared_reduce_sum", "vs_passthrough", "cs_ssbo_vector_widths"));

// FADD.FTZ flushes in the interpreter and not in the mode that is shipped: with a denormal operand the difference is found, at the
// instruction and the register that make it.
TEST(VerifyReport, FirstDifferenceNamesInstructionAndRegister) {
    constexpr uint64_t kExit = 0xe30000000007000f, kNop = 0x50b0000000070f00;
    using isa::F;
    const auto word = [](isa::Op op, isa::Form form, std::initializer_list<std::pair<F, uint64_t>> fields) {
        return isa::assemble(isa::Arch::sm_53, op, form, fields).value_or(isa::Word{}).lo;
    };
    const uint64_t words[] = {
        0,
        word(isa::Op::MOV, isa::Form::cbuf, {{F::dst, 0}, {F::cbuf_bank, 3}, {F::cbuf_offset, 0}, {F::lane_mask, 15}}),
        word(isa::Op::FADD, isa::Form::reg, {{F::dst, 1}, {F::src_a, 0}, {F::src_b, isa::kRz}, {F::ftz, 1}}),
        word(isa::Op::MOV, isa::Form::cbuf, {{F::dst, 2}, {F::cbuf_bank, 0}, {F::cbuf_offset, 0x310}, {F::lane_mask, 15}}),
        0,
        word(isa::Op::MOV, isa::Form::cbuf, {{F::dst, 3}, {F::cbuf_bank, 0}, {F::cbuf_offset, 0x314}, {F::lane_mask, 15}}),
        word(isa::Op::STG, isa::Form::reg, {{F::src_a, 2}, {F::src_b, 1}, {F::e, 1}, {F::mem_size_st, 4}}),
        kExit,
        0,
        kNop,
        kNop,
        kNop,
    };
    ShaderInput in;
    in.code = {reinterpret_cast<const uint8_t*>(words), sizeof words};
    in.abi = &guest_abi(GuestAbiId::nvn);
    sim::Job job;
    job.memory.push_back({0x1000000000, std::vector<uint8_t>(16)});
    job.banks[0].resize(0x400);
    std::memcpy(job.banks[0].data() + 0x310, &job.memory[0].address, 8);
    job.banks[3] = {1, 0, 0, 0}; // the least denormal
    const sim::Verdict v = sim::verify_jobs(in, std::span(&job, 1));
    ASSERT_TRUE(v.difference);
    EXPECT_EQ(v.difference->pc, 0x10u);
    EXPECT_EQ(v.difference->reg, "R1");
    EXPECT_EQ(v.difference->expected, 0u);
    EXPECT_EQ(v.difference->got, 1u);
    EXPECT_NE(v.difference->sass.find("FADD.FTZ R1, R0"), std::string::npos) << v.difference->text();
    in.float_mode = FloatMode::exact;
    EXPECT_FALSE(sim::verify_jobs(in, std::span(&job, 1)).difference);
}

} // namespace
} // namespace dmsh::test
