// How fast files are searched and containers are read: bytes and shaders a second.
#include "archivers/core/codecs.h"
#include "archivers/core/find_magic.h"
#include "archivers/nvn/prepare_program.h"
#include "archivers/scan/scan.h"
#include "tests/writers/sample.h"
#include <benchmark/benchmark.h>
#include <random>
#include <unistd.h>
#include <zstd.h>

namespace dmsh {
namespace {

using writers::Data;
using writers::Member;

// Incompressible, no magics but by chance.
const Data& noise() {
    static const Data d = [] {
        std::mt19937_64 random(1);
        Data v(64 << 20);
        for (size_t i = 0; i < v.size(); i += 8) {
            const uint64_t x = random();
            std::memcpy(v.data() + i, &x, 8);
        }
        return v;
    }();
    return d;
}

// A BNSH with `count` distinct copies of the sample's mesh programs.
Data many_shaders(unsigned count) {
    std::vector<std::vector<writers::Pair>> programs;
    for (unsigned i = 0; i < count; ++i) {
        programs.push_back(
            {writers::sample_pair("vs_mvp_matrices"), writers::sample_pair("real_fs_parallax_occlusion")});
        for (writers::Pair& p : programs.back())
            std::memcpy(p.control.data() + 0x7d0, &i, 4); // compile information: another key
    }
    return writers::bnsh(programs);
}

const Data& shaders() {
    static const Data d = many_shaders(400);
    return d;
}

void bytes_and_shaders(benchmark::State& state, uint64_t bytes, uint64_t found) {
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
    state.counters["shaders/s"] =
        benchmark::Counter(static_cast<double>(found), benchmark::Counter::kIsIterationInvariantRate);
}

void FindMagic(benchmark::State& state) {
    for (auto _ : state) {
        uint64_t at = 0, hits = 0;
        while (const auto hit = find_magic(noise(), at, {0x19866891, 0x48534e42, 0x98761234}))
            at = hit->offset + 1, ++hits;
        benchmark::DoNotOptimize(hits);
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * noise().size()));
}
BENCHMARK(FindMagic);

void DecodeYaz0(benchmark::State& state) {
    static const Data packed = writers::yaz0(shaders());
    for (auto _ : state) {
        WorkBudget budget(packed.size());
        benchmark::DoNotOptimize(decode_yaz0(packed, budget));
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * shaders().size()));
}
BENCHMARK(DecodeYaz0);

void DecodeZstd(benchmark::State& state) {
    static const Data packed = writers::zstd(shaders());
    for (auto _ : state) {
        WorkBudget budget(~uint64_t{0});
        benchmark::DoNotOptimize(decode_zstd(packed, budget));
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * shaders().size()));
}
BENCHMARK(DecodeZstd);

void ScanBlob(benchmark::State& state, const Data& file, uint64_t bytes) {
    uint64_t found = 0;
    for (auto _ : state)
        found = scan_blob("f", Blob::view(file), {}, 1ull << 30).found;
    bytes_and_shaders(state, bytes, found);
}
void ScanNoise(benchmark::State& state) {
    ScanBlob(state, noise(), noise().size());
}
void ScanBnsh(benchmark::State& state) {
    ScanBlob(state, shaders(), shaders().size());
}
void ScanSarcInYaz0(benchmark::State& state) {
    static const Data file = writers::yaz0(writers::sarc(std::vector<Member>{{"a.bnsh", shaders()}}));
    ScanBlob(state, file, shaders().size());
}
void ScanSarcInZstd(benchmark::State& state) {
    static const Data file = writers::zstd(writers::sarc(std::vector<Member>{{"a.bnsh", shaders()}}));
    ScanBlob(state, file, shaders().size());
}
void ScanGlslcOutputs(benchmark::State& state) {
    static const Data file = [] {
        writers::Buffer b;
        for (unsigned i = 0; i < 400; ++i) {
            writers::Pair p = writers::sample_pair("real_fs_parallax_occlusion");
            std::memcpy(p.control.data() + 0x7d0, &i, 4);
            b.append(writers::glslc_output(std::vector{p}));
        }
        return b.bytes;
    }();
    ScanBlob(state, file, file.size());
}
BENCHMARK(ScanNoise);
BENCHMARK(ScanBnsh);
BENCHMARK(ScanSarcInYaz0);
BENCHMARK(ScanSarcInZstd);
BENCHMARK(ScanGlslcOutputs);

// The whole scan over an image of many files; the argument is the number of workers.
void ScanRomfs(benchmark::State& state) {
    static const std::string path = [] {
        std::vector<Member> files;
        for (unsigned i = 0; i < 64; ++i) {
            const Data b = many_shaders(20);
            files.push_back({"dir/f" + std::to_string(i), i % 2 ? writers::zstd(b, 3) : writers::yaz0(b)});
        }
        const Data image = writers::romfs(files);
        std::string name = "/tmp/dmsh_bench_XXXXXX";
        const int fd = mkstemp(name.data());
        if (fd < 0 || write(fd, image.data(), image.size()) != static_cast<ssize_t>(image.size()))
            std::abort();
        close(fd);
        return name;
    }();
    ScanOptions options;
    options.paths = {path};
    options.workers = static_cast<unsigned>(state.range(0));
    uint64_t found = 0;
    for (auto _ : state)
        found = scan(options)->found;
    state.counters["shaders/s"] =
        benchmark::Counter(static_cast<double>(found), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(ScanRomfs)->Arg(1)->Arg(2)->UseRealTime();

void PrepareProgram(benchmark::State& state) {
    const writers::Pair p = writers::sample_pair("real_fs_parallax_occlusion");
    for (auto _ : state)
        benchmark::DoNotOptimize(prepare_program(p.control, p.code));
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * p.code.size()));
}
BENCHMARK(PrepareProgram);

} // namespace
} // namespace dmsh
