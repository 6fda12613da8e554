// Our AIR, executed: kernels of the cuda corpus against the golden buffers of a real GPU, and what the executor does with bad programs.
#include "compiler/emit/air/air_emitter.h"
#include "compiler/lift/lifter.h"
#include "compiler/sim/air/guest.h"
#include "tests/air/make_shader.h"
#include "tests/support/cuda_kernel.h"
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace dmsh {
namespace {

// Goldens that no execution of the shipped code can give. px_v*: goldens and manual disagree on MRG_16H; px_cvt_f64: made by sm_90, which
// converts a NaN to 8 bits in one step; px_f16: the bits of a NaN that the compiler folded.
const std::set<std::string> kDiffer = {"px_vmax", "px_vshl", "px_vsub", "px_cvt_f64", "px_f16"};

// Barrier, shared memory, shuffle, ballot and atomics of the hand-made kernel, against plain C++.
TEST(AirExecutor, RunsAKernelThatWeUnderstand) {
    const ShaderModule s = test::kernel_shader();
    auto f = emit_air(s, Target::macos);
    ASSERT_TRUE(f) << f.error().text();
    auto kernel = sim::AirMachine::load(f->bitcode);
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_EQ(kernel->kind(), "kernel");
    std::vector<uint32_t> memory(128);
    for (uint32_t i = 0; i < 128; ++i)
        memory[i] = i * 3 % 50;
    const std::vector<uint32_t> before = memory;
    uint64_t arguments[] = {reinterpret_cast<uintptr_t>(memory.data())};
    sim::AirLaunch launch;
    launch.threads = {64, 1, 1};
    launch.buffers[0] = {reinterpret_cast<uint8_t*>(arguments), sizeof arguments};
    launch.reachable.push_back({reinterpret_cast<uint8_t*>(memory.data()), memory.size() * 4});
    auto r = kernel->run(launch);
    ASSERT_TRUE(r) << r.error().text();
    EXPECT_EQ(kernel->faults, "");
    // A thread reads its neighbour's word, and the shuffle gives it back the neighbour's neighbour's: its own.
    for (uint32_t t = 1; t < 64; ++t) {
        uint32_t votes = 0;
        for (uint32_t l = 0; l < 32; ++l)
            votes |= uint32_t{before[t / 32 * 32 + l] > 3} << l;
        const uint32_t sum = votes + before[t];
        EXPECT_EQ(memory[t], (sum & ~0xffu) | (before[t] & 0xff)) << t;
    }
}

TEST(AirExecutor, CudaKernelsGiveTheirGoldenBuffers) {
    const auto kernels = cuda_kernels("53");
    if (kernels.empty())
        GTEST_SKIP() << "the cuda corpus is not there";
    unsigned matched = 0;
    std::map<std::string, std::string> others;
    const char* only = std::getenv("DMSH_ONLY");
    for (const std::string& name : kernels) {
        if (only && name != only)
            continue;
        auto k = CudaKernel::load(name, "53");
        ASSERT_TRUE(k) << k.error().text();
        if (!k->golden || k->uses_textures)
            continue;
        ShaderInput input;
        input.abi = &guest_abi(GuestAbiId::cuda);
        input.code = k->code;
        input.constants = k->banks[2];
        input.float_mode = FloatMode::exact;
        input.local_size = k->block;
        input.shared_bytes = k->shared_bytes;
        input.local_bytes = k->local_bytes;
        auto shader = lift(input);
        if (!shader) {
            others[name] = "refused: " + shader.error().text();
            continue;
        }
        auto passed = run_passes(*shader);
        if (passed)
            passed = legalize_metal(*shader);
        if (!passed) {
            others[name] = "refused: " + passed.error().text();
            continue;
        }
        auto guest = sim::AirGuest::compile(*shader);
        if (!guest) {
            others[name] = "refused: " + guest.error().text();
            continue;
        }
        sim::Launch launch;
        for (unsigned b = 0; b < 32; ++b)
            launch.banks[b] = k->banks[b];
        for (CudaKernel::Buffer& b : k->buffers)
            launch.global.push_back({b.address, b.bytes});
        launch.block = k->block;
        launch.grid = k->grid;
        const auto ran = guest->run(launch);
        const std::string difference = !ran ? "not run: " + ran.error().text() : !guest->faults().empty() ? "faults: " + guest->faults() + k->difference() : k->difference();
        if (difference.empty())
            ++matched;
        else
            others[name] = difference;
        EXPECT_EQ(difference.empty(), !kDiffer.count(name)) << name << ": " << difference;
    }
    for (const auto& [name, text] : others)
        std::printf("%s: %s\n", name.c_str(), text.c_str());
    std::printf("%u kernels match\n", matched);
    if (!only) {
        EXPECT_GE(matched, 59u);
    }
}

} // namespace
} // namespace dmsh
