// How fast files are searched and containers are read: bytes and shaders a second.
#include "archivers/core/codecs.h"
#include "archivers/core/find_magic.h"
#include "archivers/nvn/prepare_program.h"
#include "archivers/scan/scan.h"
#include "tests/writers/codecs.h"
#include "tests/writers/general.h"
#include "tests/writers/nintendo_archives.h"
#include "tests/writers/sample.h"
#include <algorithm>
#include <atomic>
#include <benchmark/benchmark.h>
#include <chrono>
#include <ctime>
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

// Vertex and fragment shader number `i`: the sample's larger ones in turn, each with an identity of its own.
std::vector<writers::Pair> program(unsigned i) {
    static const std::vector<writers::Pair> vertex = [] {
        std::vector<writers::Pair> v;
        for (const char* name : {"real_vs_skinning_4bone", "real_vs_particles_soa", "vs_texel_fetch_heightmap",
                                 "vs_mvp_matrices", "vs_lights_loop_break"})
            v.push_back(writers::sample_pair(name));
        return v;
    }();
    static const std::vector<writers::Pair> fragment = [] {
        std::vector<writers::Pair> v;
        for (const char* name : {"real_fs_parallax_occlusion", "real_fs_terrain_splat", "real_fs_water_surface",
                                 "real_fs_text_sdf", "real_fs_toon_outline", "fs_math_transcendental"})
            v.push_back(writers::sample_pair(name));
        return v;
    }();
    std::vector<writers::Pair> stages = {vertex[i % vertex.size()], fragment[i % fragment.size()]};
    for (writers::Pair& s : stages)
        std::memcpy(s.control.data() + 0x7d0, &i, 4); // compile information: another key
    return stages;
}

// A BNSH of `count` distinct programs.
Data many_shaders(unsigned count) {
    std::vector<std::vector<writers::Pair>> programs;
    for (unsigned i = 0; i < count; ++i)
        programs.push_back(program(i));
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
        WorkBudget budget(~uint64_t{0});
        if (!decode_yaz0(packed, budget))
            std::abort();
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * shaders().size()));
}
BENCHMARK(DecodeYaz0);

void DecodeZstd(benchmark::State& state) {
    static const Data packed = writers::zstd(shaders());
    for (auto _ : state) {
        WorkBudget budget(~uint64_t{0});
        if (!decode_zstd(packed, budget))
            std::abort();
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

double processor_seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Times both in turn, so that a busy machine slows both, and reports the median of each and their ratio: by the wall
// clock, and by processor time of all threads, which other processes disturb less.
void ratio(benchmark::State& state, uint64_t bytes, const std::function<void()>& codec, const std::function<void()>& scan) {
    std::vector<double> times[4];
    for (auto _ : state)
        for (int side = 0; side < 2; ++side) {
            const double before = processor_seconds();
            times[side].push_back(seconds_of(side ? scan : codec));
            times[2 + side].push_back(processor_seconds() - before);
        }
    const auto median = [](std::vector<double>& v) {
        std::nth_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(v.size() / 2), v.end());
        return v[v.size() / 2];
    };
    const auto n = static_cast<double>(bytes);
    state.counters["codec_MB/s"] = n / median(times[0]) / 1e6;
    state.counters["scan_MB/s"] = n / median(times[1]) / 1e6;
    state.counters["ratio"] = median(times[0]) / median(times[1]);
    state.counters["cpu_ratio"] = median(times[2]) / median(times[3]);
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
            members.push_back({"s" + std::to_string(k) + ".bnsh",
                               writers::bnsh(std::vector<std::vector<writers::Pair>>{program(++counter)})});
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
BENCHMARK(BnshInSarcInYaz0)->Iterations(15)->UseRealTime();

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
BENCHMARK(BnshInBeaInZstd)->Iterations(15)->UseRealTime();

void DecodeCrilayla(benchmark::State& state) {
    static const Data packed = writers::crilayla(shaders());
    for (auto _ : state) {
        WorkBudget budget(~uint64_t{0});
        if (!decode_crilayla(packed, budget))
            std::abort();
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
            WorkBudget budget(~uint64_t{0});
            if (!decode_gzip(packed, budget))
                std::abort();
        });
}
BENCHMARK(Gzip)->Iterations(31)->UseRealTime();

// Data of other kinds that compresses about 2 to 1: four bits a byte.
const Data& nibbles() {
    static const Data d = [] {
        Data v(noise().begin(), noise().begin() + (4 << 20));
        for (uint8_t& x : v)
            x &= 15;
        return v;
    }();
    return d;
}

// Members of a zip file read by the scan, checksums and all, against libdeflate on the same streams.
void Zip(benchmark::State& state) {
    constexpr unsigned kMembers = 16;
    static const std::unique_ptr<Temporary> file = [] {
        std::vector<writers::ZipMember> members;
        for (unsigned i = 0; i < kMembers; ++i)
            members.push_back({.name = "f" + std::to_string(i), .data = nibbles()});
        return std::make_unique<Temporary>(writers::zip(members));
    }();
    static const Data stream = [] {
        Data out(nibbles().size());
        libdeflate_compressor* c = libdeflate_alloc_compressor(6);
        out.resize(libdeflate_deflate_compress(c, nibbles().data(), nibbles().size(), out.data(), out.size()));
        libdeflate_free_compressor(c);
        return out;
    }();
    ratio(
        state, kMembers * nibbles().size(),
        [] {
            on_two(kMembers, [](size_t) {
                libdeflate_decompressor* d = libdeflate_alloc_decompressor();
                const std::unique_ptr<uint8_t[]> out(new uint8_t[nibbles().size()]);
                if (libdeflate_deflate_decompress(d, stream.data(), stream.size(), out.get(), nibbles().size(), nullptr) != 0)
                    std::abort();
                libdeflate_free_decompressor(d);
            });
        },
        [] { benchmark::DoNotOptimize(scan_path(file->path, 2)); });
}
BENCHMARK(Zip)->Iterations(15)->UseRealTime();

// A sparse file, in which nothing can lie.
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

// Incompressible data from the page cache: 1 GiB. What may be held besides the files' own pages is measured along.
void NoiseFile(benchmark::State& state) {
    static const std::unique_ptr<Temporary> file = [] {
        Data d;
        for (int i = 0; i < 16; ++i)
            d.insert(d.end(), noise().begin(), noise().end());
        return std::make_unique<Temporary>(d);
    }();
    double best = 1e9;
    for (auto _ : state)
        best = std::min(best, seconds_of([] { benchmark::DoNotOptimize(scan_path(file->path, 2)); }));
    state.counters["GB/s"] = static_cast<double>(16 * noise().size()) / best / 1e9;
}
BENCHMARK(NoiseFile)->Iterations(5)->UseRealTime();

// Memory that is the process's own: files' pages left out.
uint64_t own_kilobytes() {
    uint64_t sum = 0;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:"))
            sum += std::stoull(line.substr(8));
    return sum;
}

// The most that a scan holds above what the process held before: 20,000 shaders of 400 packed archives, bytes kept.
void PeakMemory(benchmark::State& state) {
    const PackedRomfs p = packed_romfs([](const std::vector<Member>& members, PackedRomfs& out) {
        const Data d = writers::sarc(members);
        out.bytes += d.size();
        return writers::yaz0(d);
    });
    uint64_t most = 0;
    const uint64_t before = own_kilobytes();
    for (auto _ : state) {
        std::atomic<bool> done{false};
        std::thread watch([&] {
            while (!done) {
                most = std::max(most, own_kilobytes());
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
        ScanOptions options;
        options.paths = {p.image->path};
        options.workers = 2;
        if (!scan(options))
            std::abort();
        done = true;
        watch.join();
    }
    state.counters["MB"] = static_cast<double>(most - before) / 1024;
    state.counters["decoded_MB"] = static_cast<double>(p.bytes) / 1e6;
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
