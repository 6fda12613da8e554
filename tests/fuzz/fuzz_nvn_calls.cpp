// Any sequence of NVN calls over objects whose bytes the input may overwrite: no crash, no write outside of guest
// memory. An input is a list of steps: a call number, then its arguments.
#include "runtime/nvn/recorder.h"
#include "runtime/replay/interpreter.h"
#include "runtime/replay/null/null_backend.h"
#include <cstdlib>
#include <cstring>

using namespace dmsh;
using namespace dmsh::nvn;

namespace {

constexpr size_t kPoolBytes = 0x8000, kVirtualBytes = 0x10000, kControlBytes = 4096;

// Reads the input; zeros past its end.
struct Input {
    const uint8_t* at;
    const uint8_t* end;
    bool empty() const { return at >= end; }
    template <class T = uint8_t>
    T get() {
        T v{};
        const size_t n = std::min<size_t>(sizeof v, static_cast<size_t>(end - at));
        if (n)
            std::memcpy(&v, at, n);
        at += n;
        return v;
    }
    // Mostly small, sometimes anything.
    int number() {
        const uint8_t b = get();
        return b < 0xf0 ? b % 40 : get<int>();
    }
};

// Objects in exactly the bytes that a guest reserves: neighbours are the sanitizer's.
template <class T, size_t N>
struct Slots {
    uint8_t* memory[N];
    Slots() {
        for (auto& m : memory) {
            m = static_cast<uint8_t*>(std::aligned_alloc(16, (kGuestBytes<T> + 15) / 16 * 16));
            std::memset(m, 0, kGuestBytes<T>);
        }
    }
    ~Slots() {
        for (auto& m : memory)
            std::free(m);
    }
    T* pick(Input& in) { return reinterpret_cast<T*>(memory[in.get() % N]); }
    T* pick_or_null(Input& in) {
        const uint8_t b = in.get();
        return b == 0xff ? nullptr : reinterpret_cast<T*>(memory[b % N]);
    }
    void poke(Input& in) {
        uint8_t* m = memory[in.get() % N];
        const size_t at = in.get<uint16_t>() % kGuestBytes<T>, n = 1 + in.get() % 8;
        for (size_t i = at; i < std::min(at + n, kGuestBytes<T>); ++i)
            m[i] = in.get();
    }
};

struct Guest {
    Input in;
    replay::NullBackend backend;
    replay::Interpreter interpreter{backend};
    uint8_t* memory[2];
    Slots<NVNmemoryPool, 3> pools; // the third is virtual
    Slots<NVNmemoryPoolBuilder, 1> pool_builders;
    Slots<NVNcommandBuffer, 3> cmds;
    Slots<NVNqueue, 2> queues;
    Slots<NVNqueueBuilder, 1> queue_builders;
    Slots<NVNtexturePool, 2> texture_pools;
    Slots<NVNsamplerPool, 2> sampler_pools;
    Slots<NVNtexture, 3> textures;
    Slots<NVNtextureBuilder, 2> texture_builders;
    Slots<NVNtextureView, 2> views;
    Slots<NVNsampler, 2> samplers;
    Slots<NVNsamplerBuilder, 1> sampler_builders;
    Slots<NVNbuffer, 2> buffers;
    Slots<NVNbufferBuilder, 1> buffer_builders;
    Slots<NVNprogram, 2> programs;
    Slots<NVNsync, 2> syncs;
    Slots<NVNevent, 2> events;
    Slots<NVNeventBuilder, 1> event_builders;
    Slots<NVNwindow, 1> windows;
    Slots<NVNwindowBuilder, 1> window_builders;
    uint8_t* control;
    std::vector<NVNcommandHandle> handles{0, 8, 0x1000};
    static inline std::vector<uint8_t> scratch = std::vector<uint8_t>(1 << 20); // texels, any data

    Guest(const uint8_t* data, size_t size) : in{data, data + size} {
        Host::get().reset();
        Host::get().set_executor(&interpreter);
        Host::get().stall_limit_ns = 0;
        for (auto& m : memory) {
            m = static_cast<uint8_t*>(std::aligned_alloc(4096, kPoolBytes));
            std::memset(m, 0, kPoolBytes);
        }
        control = static_cast<uint8_t*>(std::aligned_alloc(16, kControlBytes));
        std::memset(control, 0, kControlBytes);
        // A state from which anything can go on.
        for (unsigned i = 0; i < 3; ++i)
            make_pool(i);
        NVNqueueBuilder qb{};
        for (uint8_t* q : queues.memory)
            nvnQueueInitialize(reinterpret_cast<NVNqueue*>(q), &qb);
        for (uint8_t* c : cmds.memory)
            nvnCommandBufferInitialize(reinterpret_cast<NVNcommandBuffer*>(c), nullptr);
    }
    ~Guest() {
        Host::get().reset();
        for (auto& m : memory)
            std::free(m);
        std::free(control);
    }
    void make_pool(unsigned i) {
        auto* b = reinterpret_cast<NVNmemoryPoolBuilder*>(pool_builders.memory[0]);
        nvnMemoryPoolBuilderSetDefaults(b);
        nvnMemoryPoolBuilderSetStorage(b, i < 2 ? memory[i] : nullptr, i < 2 ? kPoolBytes : kVirtualBytes);
        nvnMemoryPoolBuilderSetFlags(b, (i < 2 ? NVN_MEMORY_POOL_FLAGS_PHYSICAL : NVN_MEMORY_POOL_FLAGS_VIRTUAL) |
                                            (in.get() & NVN_MEMORY_POOL_FLAGS_CPU_NO_ACCESS) |
                                            NVN_MEMORY_POOL_FLAGS_CPU_CACHED);
        nvnMemoryPoolInitialize(reinterpret_cast<NVNmemoryPool*>(pools.memory[i]), b);
    }
    uint64_t address() {
        const uint8_t b = in.get();
        const uint64_t offset = in.get<uint32_t>();
        if (b < 0x60)
            return reinterpret_cast<uint64_t>(memory[b & 1]) + offset % (kPoolBytes + 64);
        if (b < 0x80)
            return nvnMemoryPoolGetBufferAddress(reinterpret_cast<NVNmemoryPool*>(pools.memory[2])) +
                   offset % kVirtualBytes;
        return b < 0xc0 ? in.get<uint64_t>() : b < 0xe0 ? 0 : ~uint64_t{0} - offset;
    }
    // Offsets and sizes like those that a guest passes, and wild ones.
    int64_t offset() {
        const uint8_t b = in.get();
        return b < 0xf0 ? int64_t{in.get<uint16_t>()} * (b & 1 ? 4 : 512) % int64_t{kPoolBytes} : in.get<int64_t>();
    }
    NVNcommandHandle handle() { return handles[in.get() % handles.size()]; }
    NVNcopyRegion region() {
        NVNcopyRegion r;
        r.xoffset = in.number(), r.yoffset = in.number(), r.zoffset = in.get() % 4;
        r.width = in.number(), r.height = in.number(), r.depth = in.get() % 4;
        return r;
    }
    // A region whose texels fit the scratch memory, whatever the texture is.
    bool scratch_region(NVNcopyRegion& r) {
        r = region();
        return r.width <= 128 && r.height <= 64 && r.depth <= 4;
    }
    float real() { return static_cast<float>(in.number()); }

    // A shader that binds what the input says, as if a program with it were bound.
    void use_shader() {
        NVNqueue* q = queues.pick(in);
        replay::QueueState* state = interpreter.state(q->serial);
        if (!state)
            return;
        const auto stage = static_cast<Stage>(in.get() % kStageCount);
        auto shader = std::make_shared<Shader>();
        shader->id = 1 + in.get();
        shader->reflection.interface.stage = stage;
        for (unsigned n = in.get() % 6; n > 0; --n) {
            Binding b;
            b.kind = static_cast<BindingKind>(in.get() % 20);
            b.slot = in.get();
            b.count = 1 + in.get() % 4;
            b.bank = in.get() % 32;
            b.offset = in.get<uint16_t>();
            b.dim = static_cast<ImageDim>(in.get() % 5);
            b.bytes_read = in.get<uint16_t>();
            shader->reflection.interface.bindings.push_back(b);
        }
        auto program = std::make_shared<Program>();
        ProgramStage& s = program->stages[static_cast<unsigned>(stage)];
        s.present = true;
        s.stage = stage;
        s.shader = shader;
        state->programs[static_cast<unsigned>(stage)] = program;
    }

    void poke() {
        switch (in.get() % 22) {
        case 0: pools.poke(in); break;
        case 1: pool_builders.poke(in); break;
        case 2: cmds.poke(in); break;
        case 3: queues.poke(in); break;
        case 4: queue_builders.poke(in); break;
        case 5: texture_pools.poke(in); break;
        case 6: sampler_pools.poke(in); break;
        case 7: textures.poke(in); break;
        case 8: texture_builders.poke(in); break;
        case 9: views.poke(in); break;
        case 10: samplers.poke(in); break;
        case 11: sampler_builders.poke(in); break;
        case 12: buffers.poke(in); break;
        case 13: buffer_builders.poke(in); break;
        case 14: programs.poke(in); break;
        case 15: syncs.poke(in); break;
        case 16: events.poke(in); break;
        case 17: event_builders.poke(in); break;
        case 18: windows.poke(in); break;
        case 19: window_builders.poke(in); break;
        case 20: { // command memory
            const size_t at = in.get<uint16_t>() % (kPoolBytes - 4); // any word of either pool
            const uint32_t v = in.get<uint32_t>();
            std::memcpy(memory[in.get() & 1] + at / 4 * 4, &v, 4);
            break;
        }
        default: { // control memory
            const size_t at = in.get<uint16_t>() % (kControlBytes - 8);
            const uint64_t v = in.get<uint64_t>();
            std::memcpy(control + at / 8 * 8, &v, 8);
        }
        }
    }

    void step();
    void record_step(NVNcommandBuffer* cmd);
};

void Guest::record_step(NVNcommandBuffer* cmd) {
    const auto stage = static_cast<NVNshaderStage>(in.get() % 10);
    const auto mode = static_cast<NVNdrawPrimitive>(in.get() % 17);
    const float f[4] = {real(), real(), real(), real()};
    const uint32_t words[4] = {in.get<uint32_t>(), 1, 2, 3};
    switch (in.get() % 46) {
    case 0: nvnCommandBufferBindTexture(cmd, stage, in.number(), in.get<uint64_t>()); break;
    case 1: nvnCommandBufferBindImage(cmd, stage, in.number(), in.get<uint32_t>()); break;
    case 2: nvnCommandBufferBindUniformBuffer(cmd, stage, in.number(), address(), in.get<uint32_t>()); break;
    case 3: nvnCommandBufferBindStorageBuffer(cmd, stage, in.number(), address(), in.get<uint32_t>()); break;
    case 4: nvnCommandBufferBindVertexBuffer(cmd, in.number(), address(), in.get<uint32_t>()); break;
    case 5: nvnCommandBufferBindProgram(cmd, programs.pick_or_null(in), in.get<int>()); break;
    case 6: nvnCommandBufferSetTexturePool(cmd, texture_pools.pick_or_null(in)); break;
    case 7: nvnCommandBufferSetSamplerPool(cmd, sampler_pools.pick_or_null(in)); break;
    case 8: nvnCommandBufferSetViewports(cmd, in.number() % 20, in.get() % 2, f); break;
    case 9: nvnCommandBufferSetScissor(cmd, in.number(), in.number(), in.number(), in.number()); break;
    case 10: nvnCommandBufferSetDepthRange(cmd, f[0], f[1]); break;
    case 11: nvnCommandBufferSetStencilRef(cmd, static_cast<NVNface>(in.get()), in.number()); break;
    case 12: nvnCommandBufferSetPatchSize(cmd, in.number()); break;
    case 13: nvnCommandBufferSetBlendColor(cmd, f); break;
    case 14: {
        const NVNtexture* colors[3] = {textures.pick_or_null(in), textures.pick_or_null(in), nullptr};
        const NVNtextureView* color_views[3] = {views.pick_or_null(in), nullptr, nullptr};
        nvnCommandBufferSetRenderTargets(cmd, in.get() % 4, colors, color_views, textures.pick_or_null(in), nullptr);
        break;
    }
    case 15: nvnCommandBufferClearColor(cmd, in.number(), f, in.get()); break;
    case 16: nvnCommandBufferClearDepthStencil(cmd, f[0], in.get(), in.get(), in.get()); break;
    case 17: nvnCommandBufferDrawArrays(cmd, mode, in.number(), in.number()); break;
    case 18: nvnCommandBufferDrawElements(cmd, mode, static_cast<NVNindexType>(in.get() % 4), in.number(), address());
        break;
    case 19: nvnCommandBufferDispatchCompute(cmd, in.number(), in.number(), in.number()); break;
    case 20: nvnCommandBufferDrawArraysIndirect(cmd, mode, address()); break;
    case 21: nvnCommandBufferDrawElementsIndirect(cmd, mode, static_cast<NVNindexType>(in.get() % 4), address(),
                                                  address());
        break;
    case 22: nvnCommandBufferMultiDrawArraysIndirectCount(cmd, mode, address(), address(), in.number(), in.number());
        break;
    case 23: nvnCommandBufferDispatchComputeIndirect(cmd, address()); break;
    case 24: nvnCommandBufferDrawMeshTasks(cmd, static_cast<uint32_t>(in.number()), 0); break;
    case 25: {
        const NVNcopyRegion r = region();
        nvnCommandBufferCopyBufferToTexture(cmd, address(), textures.pick_or_null(in), views.pick_or_null(in), &r,
                                            in.get());
        break;
    }
    case 26: {
        const NVNcopyRegion r = region(), to = region();
        nvnCommandBufferCopyTextureToTexture(cmd, textures.pick_or_null(in), nullptr, &r, textures.pick_or_null(in),
                                             views.pick_or_null(in), &to, in.get());
        break;
    }
    case 27: nvnCommandBufferCopyBufferToBuffer(cmd, address(), address(), in.get<uint32_t>(), 0); break;
    case 28: nvnCommandBufferClearBuffer(cmd, address(), in.get<uint32_t>(), in.get<uint32_t>()); break;
    case 29: nvnCommandBufferUpdateUniformBuffer(cmd, address(), in.get<uint16_t>(), in.number(), in.get() * 16u,
                                                 scratch.data());
        break;
    case 30: nvnCommandBufferBarrier(cmd, in.get<int>()); break;
    case 31: nvnCommandBufferFenceSync(cmd, syncs.pick_or_null(in), NVN_SYNC_CONDITION_ALL_GPU_COMMANDS_COMPLETE, 0);
        break;
    case 32: nvnCommandBufferWaitSync(cmd, syncs.pick_or_null(in)); break;
    case 33: nvnCommandBufferWaitEvent(cmd, events.pick_or_null(in), static_cast<NVNeventWaitMode>(in.get() % 3),
                                       in.get());
        break;
    case 34: nvnCommandBufferSignalEvent(cmd, events.pick_or_null(in), static_cast<NVNeventSignalMode>(in.get() % 3),
                                         NVN_EVENT_SIGNAL_LOCATION_TOP, 0, in.get());
        break;
    case 35: nvnCommandBufferReportCounter(cmd, static_cast<NVNcounterType>(in.get() % 20), address()); break;
    case 36: nvnCommandBufferReportValue(cmd, in.get(), address()); break;
    case 37: nvnCommandBufferSetRenderEnableConditional(cmd, static_cast<NVNconditionalRenderMode>(in.get() % 3),
                                                        address());
        break;
    case 38: {
        const NVNcopyRegion r = region();
        nvnCommandBufferClearTextureui(cmd, textures.pick_or_null(in), views.pick_or_null(in), &r, words, in.get());
        break;
    }
    case 39: nvnCommandBufferDownsample(cmd, textures.pick_or_null(in), textures.pick_or_null(in)); break;
    case 40: nvnCommandBufferPushComputeConstants(cmd, static_cast<uint32_t>(in.number()), in.get(), scratch.data());
        break;
    case 41: nvnCommandBufferBindTexturesDeferred(cmd, stage, in.number(), in.number(), address()); break;
    case 42: nvnCommandBufferBindTransformFeedbackBuffer(cmd, in.number(), address(), in.get<uint32_t>()); break;
    case 43: nvnCommandBufferBeginTransformFeedback(cmd, address()); break;
    case 44: nvnCommandBufferSetCopyRowStride(cmd, in.get<int>()); break;
    default: nvnCommandBufferSetSampleMask(cmd, in.get<int>());
    }
}

void Guest::step() {
    NVNcommandBuffer* cmd = cmds.pick_or_null(in);
    const uint8_t op = in.get();
    if (op < 96)
        return record_step(cmd);
    if (op < 112)
        return poke();
    switch (op % 56) {
    case 0: make_pool(in.get() % 3); break;
    case 1: nvnMemoryPoolFinalize(pools.pick_or_null(in)); break;
    case 2: nvnMemoryPoolMap(pools.pick_or_null(in)); break;
    case 3: {
        NVNmappingRequest r[2];
        for (auto& m : r)
            m = {in.get() & 1 ? pools.pick(in) : nullptr, int64_t{in.get() % 20} * 0x1000, int64_t{in.get() % 20} * 0x1000,
                 uint64_t{in.get() % 6u} * 0x1000, 0, 0};
        nvnMemoryPoolMapVirtual(pools.pick_or_null(in), 1 + in.get() % 2, r);
        break;
    }
    case 4: nvnCommandBufferInitialize(cmd, nullptr); break;
    case 5: nvnCommandBufferFinalize(cmd); break;
    case 6: nvnCommandBufferAddCommandMemory(cmd, pools.pick_or_null(in), offset(), in.get<uint16_t>()); break;
    case 7: {
        const size_t at = in.get() * 8u % (kControlBytes - 64);
        nvnCommandBufferAddControlMemory(cmd, control + at, std::min<size_t>(in.get() * 8u, kControlBytes - at));
        break;
    }
    case 8:
    case 9: nvnCommandBufferBeginRecording(cmd); break;
    case 10:
    case 11: handles.push_back(nvnCommandBufferEndRecording(cmd)); break;
    case 12: {
        const NVNcommandHandle h[2] = {handle(), handle()};
        nvnCommandBufferCallCommands(cmd, 1 + in.get() % 2, h);
        break;
    }
    case 13: {
        const NVNcommandHandle h[2] = {handle(), handle()};
        nvnCommandBufferCopyCommands(cmd, 1 + in.get() % 2, h);
        break;
    }
    case 14:
    case 15:
    case 16: {
        const NVNcommandHandle h[2] = {handle(), handle()};
        nvnQueueSubmitCommands(queues.pick_or_null(in), 1 + in.get() % 2, h);
        break;
    }
    case 17: nvnQueueFlush(queues.pick_or_null(in)); break;
    case 18: nvnQueueFinish(queues.pick_or_null(in)); break;
    case 19: nvnQueueFenceSync(queues.pick_or_null(in), syncs.pick_or_null(in),
                               NVN_SYNC_CONDITION_ALL_GPU_COMMANDS_COMPLETE, 0);
        break;
    case 20: nvnQueueWaitSync(queues.pick_or_null(in), syncs.pick_or_null(in)); break;
    case 21: nvnQueueFinalize(queues.pick_or_null(in)); break;
    case 22: nvnQueueInitialize(queues.pick_or_null(in),
                                reinterpret_cast<NVNqueueBuilder*>(queue_builders.memory[0]));
        break;
    case 23: nvnSyncInitialize(syncs.pick_or_null(in), nullptr); break;
    case 24: nvnSyncWait(syncs.pick_or_null(in), in.get()); break;
    case 25: nvnSyncFinalize(syncs.pick_or_null(in)); break;
    case 26: {
        auto* b = event_builders.pick(in);
        nvnEventBuilderSetStorage(b, pools.pick_or_null(in), offset());
        nvnEventInitialize(events.pick_or_null(in), b);
        break;
    }
    case 27: nvnEventSignal(events.pick_or_null(in), static_cast<NVNeventSignalMode>(in.get() & 1), in.get()); break;
    case 28: nvnEventGetValue(events.pick_or_null(in)); break;
    case 29: nvnEventFinalize(events.pick_or_null(in)); break;
    case 30: {
        auto* b = texture_builders.pick(in);
        if (in.get() & 1)
            nvnTextureBuilderSetDefaults(b);
        nvnTextureBuilderSetFormat(b, static_cast<NVNformat>(in.get()));
        nvnTextureBuilderSetTarget(b, static_cast<NVNtextureTarget>(in.get() % 12));
        nvnTextureBuilderSetSize3D(b, in.number(), in.number(), in.number());
        nvnTextureBuilderSetLevels(b, in.get() % 18);
        nvnTextureBuilderSetSamples(b, in.get() % 9);
        nvnTextureBuilderSetFlags(b, in.get<uint16_t>());
        nvnTextureBuilderSetStride(b, in.number());
        break;
    }
    case 31: {
        auto* b = texture_builders.pick(in);
        nvnTextureBuilderSetStorage(b, pools.pick_or_null(in), offset());
        nvnTextureInitialize(textures.pick_or_null(in), b);
        break;
    }
    case 32: nvnTextureFinalize(textures.pick_or_null(in)); break;
    case 33: {
        NVNcopyRegion r;
        const NVNtexture* t = textures.pick_or_null(in);
        const NVNtextureView* v = views.pick_or_null(in);
        if (scratch_region(r))
            nvnTextureWriteTexels(t, v, &r, scratch.data());
        break;
    }
    case 34: {
        NVNcopyRegion r;
        const NVNtexture* t = textures.pick_or_null(in);
        const NVNtextureView* v = views.pick_or_null(in);
        if (scratch_region(r))
            nvnTextureReadTexels(t, v, &r, scratch.data());
        break;
    }
    case 35: nvnTextureGetViewOffset(textures.pick_or_null(in), views.pick_or_null(in)); break;
    case 36: nvnTextureViewSetLevels(views.pick(in), in.number(), in.number()); break;
    case 37: nvnTextureViewSetLayers(views.pick(in), in.number(), in.number()); break;
    case 38: nvnTexturePoolInitialize(texture_pools.pick_or_null(in), pools.pick_or_null(in), offset(), in.number());
        break;
    case 39: nvnTexturePoolRegisterTexture(texture_pools.pick_or_null(in), in.number(), textures.pick_or_null(in),
                                           views.pick_or_null(in));
        break;
    case 40: nvnTexturePoolFinalize(texture_pools.pick_or_null(in)); break;
    case 41: nvnSamplerPoolInitialize(sampler_pools.pick_or_null(in), pools.pick_or_null(in), offset(), in.number());
        break;
    case 42: nvnSamplerPoolRegisterSampler(sampler_pools.pick_or_null(in), in.number(), samplers.pick_or_null(in));
        break;
    case 43: nvnSamplerInitialize(samplers.pick_or_null(in), sampler_builders.pick(in)); break;
    case 44: {
        auto* b = buffer_builders.pick(in);
        nvnBufferBuilderSetStorage(b, pools.pick_or_null(in), offset(), in.get<uint16_t>());
        nvnBufferInitialize(buffers.pick_or_null(in), b);
        break;
    }
    case 45: nvnBufferGetAddress(buffers.pick_or_null(in)); break;
    case 46: nvnBufferMap(buffers.pick_or_null(in)); break;
    case 47: nvnProgramInitialize(programs.pick_or_null(in), nullptr); break;
    case 48: nvnProgramFinalize(programs.pick_or_null(in)); break;
    case 49: {
        NVNshaderData d[2];
        for (auto& s : d)
            s = {address(), reinterpret_cast<const void*>(address())};
        nvnProgramSetShaders(programs.pick_or_null(in), in.get() % 3, d);
        break;
    }
    case 50: {
        auto* b = window_builders.pick(in);
        NVNtexture* list[2] = {textures.pick(in), textures.pick(in)};
        nvnWindowBuilderSetTextures(b, in.get() % 3, list);
        nvnWindowInitialize(windows.pick_or_null(in), b);
        break;
    }
    case 51: {
        int index = 0;
        nvnWindowAcquireTexture(windows.pick_or_null(in), syncs.pick_or_null(in), &index);
        break;
    }
    case 52: {
        int index = 0;
        nvnQueueAcquireTexture(queues.pick_or_null(in), windows.pick_or_null(in), &index);
        break;
    }
    case 53: nvnQueuePresentTexture(queues.pick_or_null(in), windows.pick_or_null(in), in.number()); break;
    case 54: nvnWindowFinalize(windows.pick_or_null(in)); break;
    default: use_shader();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const bool quiet = [] {
        set_report_sink([](Report, const char*, void*) {}, nullptr);
        return true;
    }();
    (void)quiet;
    Guest guest(data, size);
    for (int steps = 0; !guest.in.empty() && steps < 500; ++steps)
        guest.step();
    return 0;
}
