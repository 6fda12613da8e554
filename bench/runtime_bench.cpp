// The runtime's costs: recording and replaying a draw, submitting nothing, texture copies.
#include "runtime/nvn/recorder.h"
#include "runtime/replay/interpreter.h"
#include "runtime/replay/null/null_backend.h"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <ctime>

namespace dmsh {
namespace {

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

// Texture copies beside memcpy of the same bytes: 1024 x 1024 elements, both piece orders. A row's `of_memcpy` is its
// bandwidth over memcpy's, the best of kRounds each, taken in turns so that both meet the same machine.
constexpr uint32_t kSide = 1024;
constexpr int kRounds = 25;

struct Texels {
    nvn::LayoutInput in;
    nvn::TextureLayout layout;
    std::vector<uint8_t> storage, rows;
    explicit Texels(int64_t bytes) {
        in.bytes = static_cast<uint8_t>(bytes);
        in.width = in.height = kSide;
        layout = *nvn::texture_layout(in);
        storage.assign(layout.levels[0].bytes, 1);
        rows.assign(size_t{layout.levels[0].row_bytes} * layout.levels[0].height, 2);
    }
};

template <class F>
double seconds(F f) {
    timespec from, to; // of this thread: other work on the machine does not count
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    f();
    benchmark::ClobberMemory();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return static_cast<double>(to.tv_sec - from.tv_sec) + 1e-9 * static_cast<double>(to.tv_nsec - from.tv_nsec);
}

// `copy` moves all of the texture between its storage and its rows, to the storage if `in`.
template <class F>
void beside_memcpy(benchmark::State& state, bool in, F copy) {
    Texels t(state.range(0));
    double best = 1e9, best_memcpy = 1e9;
    const auto kernel = [&] { copy(t, static_cast<nvn::GobOrder>(state.range(1))); };
    const auto plain = [&] {
        if (in)
            std::memcpy(t.storage.data(), t.rows.data(), t.rows.size());
        else
            std::memcpy(t.rows.data(), t.storage.data(), t.rows.size());
    };
    for (auto _ : state) { // each once untimed, so that it meets the caches that it leaves and not the other's
        kernel();
        const double took = seconds(kernel);
        state.SetIterationTime(took);
        best = std::min(best, took);
        plain();
        best_memcpy = std::min(best_memcpy, seconds(plain));
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * t.rows.size()));
    state.counters["of_memcpy"] = best_memcpy / best;
}

void Deswizzle(benchmark::State& state) {
    beside_memcpy(state, false, [](Texels& t, nvn::GobOrder order) {
        const nvn::LevelLayout& l = t.layout.levels[0];
        nvn::deswizzle(l, t.in.bytes, t.storage.data(), l.bytes, {0, 0, 0, l.width, l.height, 1}, t.rows.data(), l.row_bytes,
                       t.rows.size(), order);
    });
}

void Swizzle(benchmark::State& state) {
    beside_memcpy(state, true, [](Texels& t, nvn::GobOrder order) {
        const nvn::LevelLayout& l = t.layout.levels[0];
        nvn::swizzle(l, t.in.bytes, t.storage.data(), l.bytes, {0, 0, 0, l.width, l.height, 1}, t.rows.data(), l.row_bytes,
                     t.rows.size(), order);
    });
}

void texel_rows(benchmark::internal::Benchmark* b) {
    b->ArgNames({"bytes", "order"})->ArgsProduct({{1, 2, 4, 8, 16}, {0, 1}})->UseManualTime()->Iterations(kRounds);
}
BENCHMARK(Deswizzle)->Apply(texel_rows);
BENCHMARK(Swizzle)->Apply(texel_rows);

} // namespace
} // namespace dmsh
