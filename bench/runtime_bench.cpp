// The runtime's costs: recording and replaying a draw, submitting nothing, texture copies.
#include "runtime/nvn/recorder.h"
#include "runtime/replay/interpreter.h"
#include "runtime/replay/null/null_backend.h"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdlib>

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

// Texture copies beside memcpy of the same bytes: 1024 x 1024 elements of some bytes, both piece orders.
constexpr uint32_t kSide = 1024;

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

void Deswizzle(benchmark::State& state) {
    Texels t(state.range(0));
    const nvn::LevelLayout& l = t.layout.levels[0];
    for (auto _ : state) {
        nvn::deswizzle(l, t.in.bytes, t.storage.data(), l.bytes, {0, 0, 0, l.width, l.height, 1}, t.rows.data(),
                       l.row_bytes, t.rows.size(), static_cast<nvn::GobOrder>(state.range(1)));
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * t.rows.size()));
}
BENCHMARK(Deswizzle)->ArgNames({"bytes", "order"})->ArgsProduct({{1, 2, 4, 8, 16}, {0, 1}});

void Swizzle(benchmark::State& state) {
    Texels t(state.range(0));
    const nvn::LevelLayout& l = t.layout.levels[0];
    for (auto _ : state) {
        nvn::swizzle(l, t.in.bytes, t.storage.data(), l.bytes, {0, 0, 0, l.width, l.height, 1}, t.rows.data(),
                     l.row_bytes, t.rows.size(), static_cast<nvn::GobOrder>(state.range(1)));
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * t.rows.size()));
}
BENCHMARK(Swizzle)->ArgNames({"bytes", "order"})->ArgsProduct({{1, 2, 4, 8, 16}, {0, 1}});

void Memcpy(benchmark::State& state) {
    std::vector<uint8_t> from(size_t{kSide} * kSide * static_cast<size_t>(state.range(0)), 1), to(from.size());
    for (auto _ : state) {
        std::memcpy(to.data(), from.data(), from.size());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * from.size()));
}
BENCHMARK(Memcpy)->ArgName("bytes")->Arg(1)->Arg(2)->Arg(4)->Arg(8)->Arg(16);

} // namespace
} // namespace dmsh
