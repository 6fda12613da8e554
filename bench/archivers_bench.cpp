// How fast files are searched and containers are read: bytes and shaders a second.
#include "archivers/core/codecs.h"
#include "archivers/core/find_magic.h"
#include "archivers/nvn/prepare_program.h"
#include "archivers/scan/scan.h"
#include "tests/writers/codecs.h"
#include "tests/writers/nintendo_archives.h"
#include "tests/writers/sample.h"
#include <atomic>
#include <benchmark/benchmark.h>
#include <chrono>
#include <fstream>
#include <functional>
#include <libdeflate.h>
#include <random>
#include <thread>
#include <unistd.h>

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

// A file that goes with the process.
class Temporary {
  public:
    explicit Temporary(std::span<const uint8_t> data) {
        const int fd = mkstemp(path.data());
        if (fd < 0 || write(fd, data.data(), data.size()) != static_cast<ssize_t>(data.size()))
            std::abort();
        close(fd);
    }
    ~Temporary() { unlink(path.c_str()); }
    std::string path = "/tmp/dmsh_bench_XXXXXX";
};

double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Times both in turn, so that a busy machine slows both, and reports the best of each and their ratio.
void ratio(benchmark::State& state, uint64_t bytes, const std::function<void()>& codec, const std::function<void()>& scan) {
    double best_codec = 1e9, best_scan = 1e9;
    for (auto _ : state) {
        best_codec = std::min(best_codec, seconds_of(codec));
        best_scan = std::min(best_scan, seconds_of(scan));
    }
    const auto n = static_cast<double>(bytes);
    state.counters["codec_MB/s"] = n / best_codec / 1e6;
    state.counters["scan_MB/s"] = n / best_scan / 1e6;
    state.counters["ratio"] = best_codec / best_scan;
}

uint64_t scan_path(const std::string& path, unsigned workers) {
    ScanOptions options;
    options.paths = {path};
    options.workers = workers;
    options.keep_bytes = false;
    const auto r = scan(options);
    if (!r || !r->errors.empty())
        std::abort();
    return r->found;
}

// Runs body(i) for every i on two threads, as the codec alone would run.
void on_two(size_t count, const std::function<void(size_t)>& body) {
    std::atomic<size_t> next{0};
    const auto work = [&] {
        for (size_t i; (i = next.fetch_add(1)) < count;)
            body(i);
    };
    std::thread other(work);
    work();
    other.join();
}

// 10,000 BNSH of two stages, 25 to an archive, each archive packed: a RomFS of 400 files.
constexpr unsigned kArchives = 400, kInArchive = 25;

struct PackedRomfs {
    std::vector<Data> streams; // what the codec alone decodes
    uint64_t bytes = 0;        // decoded
    std::unique_ptr<Temporary> image;
};

PackedRomfs packed_romfs(const std::function<Data(const std::vector<Member>&, PackedRomfs&)>& archive) {
    PackedRomfs p;
    std::vector<Member> files;
    unsigned counter = 0;
    for (unsigned i = 0; i < kArchives; ++i) {
        std::vector<Member> members;
        for (unsigned k = 0; k < kInArchive; ++k) {
            std::vector<writers::Pair> stages = {writers::sample_pair("vs_mvp_matrices"),
                                                 writers::sample_pair("real_fs_parallax_occlusion")};
            ++counter;
            for (writers::Pair& s : stages)
                std::memcpy(s.control.data() + 0x7d0, &counter, 4);
            members.push_back({"s" + std::to_string(k) + ".bnsh", writers::bnsh(std::vector<std::vector<writers::Pair>>{stages})});
        }
        files.push_back({"dir/f" + std::to_string(i), archive(members, p)});
    }
    p.image = std::make_unique<Temporary>(writers::romfs(files));
    return p;
}

void BnshInSarcInYaz0(benchmark::State& state) {
    static const PackedRomfs p = packed_romfs([](const std::vector<Member>& members, PackedRomfs& out) {
        const Data d = writers::sarc(members);
        out.bytes += d.size();
        out.streams.push_back(writers::yaz0(d));
        return out.streams.back();
    });
    ratio(
        state, p.bytes,
        [] {
            on_two(p.streams.size(), [](size_t i) {
                WorkBudget budget(p.streams[i].size());
                benchmark::DoNotOptimize(decode_yaz0(p.streams[i], budget));
            });
        },
        [] { benchmark::DoNotOptimize(scan_path(p.image->path, 2)); });
}
BENCHMARK(BnshInSarcInYaz0)->Iterations(5)->UseRealTime();

void BnshInBeaInZstd(benchmark::State& state) {
    static const PackedRomfs p = packed_romfs([](const std::vector<Member>& members, PackedRomfs& out) {
        std::vector<writers::BeaEntry> entries;
        for (const Member& m : members) {
            out.bytes += m.data.size();
            out.streams.push_back(writers::zstd(m.data, 9));
            entries.push_back({m.name, m.data});
        }
        return writers::bea(entries, 0x60000);
    });
    ratio(
        state, p.bytes,
        [] {
            on_two(p.streams.size(), [](size_t i) {
                WorkBudget budget(~uint64_t{0});
                benchmark::DoNotOptimize(decode_zstd(p.streams[i], budget));
            });
        },
        [] { benchmark::DoNotOptimize(scan_path(p.image->path, 2)); });
}
BENCHMARK(BnshInBeaInZstd)->Iterations(5)->UseRealTime();

void DecodeCrilayla(benchmark::State& state) {
    static const Data packed = writers::crilayla(shaders());
    for (auto _ : state) {
        WorkBudget budget(packed.size());
        benchmark::DoNotOptimize(decode_crilayla(packed, budget));
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * shaders().size()));
}
BENCHMARK(DecodeCrilayla);

// Ours against libdeflate called with nothing around it.
void Gzip(benchmark::State& state) {
    static const Data packed = writers::gzip(shaders());
    ratio(
        state, shaders().size(),
        [] {
            libdeflate_decompressor* d = libdeflate_alloc_decompressor();
            const std::unique_ptr<uint8_t[]> out(new uint8_t[shaders().size()]);
            size_t n = 0;
            if (libdeflate_gzip_decompress(d, packed.data(), packed.size(), out.get(), shaders().size(), &n) != 0)
                std::abort();
            benchmark::DoNotOptimize(out.get());
            libdeflate_free_decompressor(d);
        },
        [] {
            WorkBudget budget(packed.size());
            benchmark::DoNotOptimize(decode_gzip(packed, budget));
        });
}
BENCHMARK(Gzip)->Iterations(30)->UseRealTime();

// A sparse file: no data, no page of which can hold a shader. The codec here is memory: adding up the same pages.
void SparseFile(benchmark::State& state) {
    constexpr uint64_t kBytes = 20ull << 30;
    static const Temporary file{{}};
    if (truncate(file.path.c_str(), kBytes) != 0)
        std::abort();
    double best = 1e9;
    for (auto _ : state)
        best = std::min(best, seconds_of([] { benchmark::DoNotOptimize(scan_path(file.path, 2)); }));
    state.counters["GB/s"] = static_cast<double>(kBytes) / best / 1e9;
}
BENCHMARK(SparseFile)->Iterations(1)->UseRealTime();

// Incompressible data from the page cache.
void NoiseFile(benchmark::State& state) {
    static const Temporary file{noise()};
    double best = 1e9;
    for (auto _ : state)
        best = std::min(best, seconds_of([] { benchmark::DoNotOptimize(scan_path(file.path, 2)); }));
    state.counters["GB/s"] = static_cast<double>(noise().size()) / best / 1e9;
}
BENCHMARK(NoiseFile)->Iterations(10)->UseRealTime();

// What the process held at most so far, files' pages left out.
void PeakMemory(benchmark::State& state) {
    for (auto _ : state) {
    }
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:"))
            state.counters["MB"] = std::stod(line.substr(6)) / 1024;
}
BENCHMARK(PeakMemory)->Iterations(1);

void PrepareProgram(benchmark::State& state) {
    const writers::Pair p = writers::sample_pair("real_fs_parallax_occlusion");
    for (auto _ : state)
        benchmark::DoNotOptimize(prepare_program(p.control, p.code));
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * p.code.size()));
}
BENCHMARK(PrepareProgram);

} // namespace
} // namespace dmsh
