// The runtime's costs: opening a pack and looking programs up, recording and replaying a draw, texture
// copies.
#include "archivers/pack/library_writer.h"
#include "runtime/nvn/recorder.h"
#include "runtime/pack/library_pack.h"
#include "runtime/replay/interpreter.h"
#include "runtime/replay/null/null_backend.h"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <filesystem>
#include <random>

namespace dmsh {
namespace {

constexpr unsigned kPrograms = 130000;

// A pack of many small programs in a file of its own; keys are random as hashes are.
struct BigPack {
    std::string path = (std::filesystem::temp_directory_path() / "dmsh_bench_runtime.dmlib").string();
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

// A guest that binds and draws.
struct BenchGuest {
    uint8_t* memory = static_cast<uint8_t*>(std::aligned_alloc(65536, 4 << 20));
    alignas(16) uint8_t pool_bytes[0x100] = {}, cmd_bytes[0xa0] = {},
                        queue_bytes[0x2000] = {}, control[65536];
    NVNmemoryPool* pool = reinterpret_cast<NVNmemoryPool*>(pool_bytes);
    NVNcommandBuffer* cmd = reinterpret_cast<NVNcommandBuffer*>(cmd_bytes);
    NVNqueue* queue = reinterpret_cast<NVNqueue*>(queue_bytes);
    replay::NullBackend backend;
    replay::Interpreter interpreter{backend};

    BenchGuest() {
        nvn::set_report_sink([](nvn::Report, const char*, void*) {}, nullptr);
        nvn::Host::get().reset();
        nvn::Host::get().set_executor(&interpreter);
        NVNmemoryPoolBuilder b{};
        nvnMemoryPoolBuilderSetDefaults(&b);
        nvnMemoryPoolBuilderSetStorage(&b, memory, 4 << 20);
        nvnMemoryPoolInitialize(pool, &b);
        NVNqueueBuilder qb{};
        nvnQueueInitialize(queue, &qb);
        nvnCommandBufferInitialize(cmd, nullptr);
        for (const Stage stage : {Stage::vertex, Stage::fragment}) {
            auto shader = std::make_shared<nvn::Shader>();
            shader->id = 1 + static_cast<uint32_t>(stage);
            shader->reflection.interface.stage = stage;
            Binding uniform;
            uniform.kind = BindingKind::uniform;
            shader->reflection.interface.bindings = {uniform};
            auto program = std::make_shared<nvn::Program>();
            auto& s = program->stages[static_cast<unsigned>(stage)];
            s.present = true;
            s.stage = stage;
            s.shader = shader;
            interpreter.state(queue->serial)->programs[static_cast<unsigned>(stage)] = program;
        }
    }
    ~BenchGuest() {
        nvnQueueFinalize(queue);
        nvnMemoryPoolFinalize(pool);
        nvn::Host::get().reset();
        std::free(memory);
    }
    void begin() {
        nvnCommandBufferAddCommandMemory(cmd, pool, 0, 2 << 20);
        nvnCommandBufferAddControlMemory(cmd, control, sizeof control);
        nvnCommandBufferBeginRecording(cmd);
    }
    // Two uniform buffers, two textures, a draw: 5 records.
    void draw(int i) {
        const uint64_t buffer = reinterpret_cast<uint64_t>(memory) + (3 << 20);
        nvnCommandBufferBindUniformBuffer(cmd, NVN_SHADER_STAGE_VERTEX, 0, buffer, 256);
        nvnCommandBufferBindUniformBuffer(cmd, NVN_SHADER_STAGE_FRAGMENT, 0, buffer, 256);
        nvnCommandBufferBindTexture(cmd, NVN_SHADER_STAGE_FRAGMENT, 0, 256);
        nvnCommandBufferBindTexture(cmd, NVN_SHADER_STAGE_FRAGMENT, 1, 257);
        nvnCommandBufferDrawArrays(cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, i, 3);
    }
};

constexpr int kDraws = 10000;

void RecordDrawWithBinds(benchmark::State& state) {
    BenchGuest g;
    for (auto _ : state) {
        g.begin();
        for (int i = 0; i < kDraws; ++i)
            g.draw(i);
        benchmark::DoNotOptimize(nvnCommandBufferEndRecording(g.cmd));
    }
    state.SetItemsProcessed(state.iterations() * kDraws);
}
BENCHMARK(RecordDrawWithBinds);

void ReplayDrawWithBinds(benchmark::State& state) {
    BenchGuest g;
    g.begin();
    for (int i = 0; i < kDraws; ++i)
        g.draw(i);
    const NVNcommandHandle h = nvnCommandBufferEndRecording(g.cmd);
    for (auto _ : state)
        nvnQueueSubmitCommands(g.queue, 1, &h);
    state.SetItemsProcessed(state.iterations() * kDraws);
}
BENCHMARK(ReplayDrawWithBinds);

void SubmitEmptyList(benchmark::State& state) {
    BenchGuest g;
    g.begin();
    const NVNcommandHandle h = nvnCommandBufferEndRecording(g.cmd);
    for (auto _ : state)
        nvnQueueSubmitCommands(g.queue, 1, &h);
}
BENCHMARK(SubmitEmptyList);

// Texture copies beside memcpy of the same bytes.
void Deswizzle(benchmark::State& state) {
    nvn::LayoutInput in;
    in.bytes = static_cast<uint8_t>(state.range(0));
    in.width = 1024, in.height = 1024;
    const auto layout = nvn::texture_layout(in);
    const nvn::LevelLayout& l = layout->levels[0];
    std::vector<uint8_t> storage(l.bytes, 1), rows(size_t{l.row_bytes} * l.height);
    for (auto _ : state) {
        nvn::deswizzle(l, in.bytes, storage.data(), l.bytes, {0, 0, 0, l.width, l.height, 1}, rows.data(),
                       l.row_bytes, rows.size());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * rows.size()));
}
BENCHMARK(Deswizzle)->Arg(4)->Arg(8)->Arg(16);

void Memcpy(benchmark::State& state) {
    std::vector<uint8_t> from(size_t{1} << 20 << 2, 1), to(from.size());
    for (auto _ : state) {
        std::memcpy(to.data(), from.data(), from.size());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * from.size()));
}
BENCHMARK(Memcpy);

} // namespace
} // namespace dmsh
