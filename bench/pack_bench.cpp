// Library packs: opening one of 130,000 programs, looking programs up, reading reflections.
#include "archivers/pack/library_writer.h"
#include "runtime/pack/library_pack.h"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <filesystem>
#include <random>

namespace dmsh {
namespace {

constexpr unsigned kPrograms = 130000;

// A pack of many small programs in a file of its own; keys are random as hashes are.
struct BigPack {
    std::string path = (std::filesystem::temp_directory_path() / "dmsh_bench_pack.dmlib").string();
    std::vector<uint64_t> keys;
    BigPack() {
        std::mt19937_64 random(1);
        LibraryWriter writer("vulkan", "bench");
        ProgramReflection r;
        r.interface.stage = Stage::fragment;
        r.interface.bindings.resize(6);
        const std::vector<uint8_t> code(512, 7);
        const auto encoded = encode_program(0, r, SliceKind::spirv, code);
        for (unsigned i = 0; i < kPrograms; ++i) {
            EncodedProgram p = *encoded;
            p.key = random();
            keys.push_back(p.key);
            writer.add(std::move(p));
        }
        (void)static_cast<bool>(writer.write(path));
        std::shuffle(keys.begin(), keys.end(), random);
    }
    ~BigPack() { std::filesystem::remove(path); }
};

BigPack& big_pack() {
    static BigPack p;
    return p;
}

void PackOpen(benchmark::State& state) {
    big_pack();
    for (auto _ : state) {
        auto pack = LibraryPack::open(big_pack().path);
        benchmark::DoNotOptimize(pack->size());
    }
}
BENCHMARK(PackOpen)->Unit(benchmark::kMicrosecond);

void PackLookUp(benchmark::State& state) {
    auto pack = LibraryPack::open(big_pack().path);
    size_t i = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(pack->find(big_pack().keys[i]));
        i = i + 1 == kPrograms ? 0 : i + 1;
    }
}
BENCHMARK(PackLookUp);

void PackReflection(benchmark::State& state) {
    auto pack = LibraryPack::open(big_pack().path);
    uint32_t i = 0;
    for (auto _ : state) {
        auto r = pack->reflection(i);
        benchmark::DoNotOptimize(r->interface.bindings.size());
        i = i + 1 == pack->size() ? 0 : i + 1;
    }
}
BENCHMARK(PackReflection);

} // namespace
} // namespace dmsh
