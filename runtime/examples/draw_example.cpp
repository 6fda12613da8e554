// Records an example as a guest would: objects, programs, textures and pools, one command list.
#include "runtime/examples/example.h"
#include "runtime/examples/guest_calls.h"
#include <deque>
#include <memory>

namespace dmsh::examples {
namespace {

constexpr int kAllStages = NVN_SHADER_STAGE_ALL_GRAPHICS_BITS | NVN_SHADER_STAGE_COMPUTE_BIT;
constexpr uint64_t kTimeout = uint64_t{120} * 1000000000;

NVNshaderStage stage_of(ShaderStage s) {
    constexpr NVNshaderStage stages[] = {NVN_SHADER_STAGE_VERTEX,          NVN_SHADER_STAGE_FRAGMENT,
                                         NVN_SHADER_STAGE_GEOMETRY,        NVN_SHADER_STAGE_TESS_CONTROL,
                                         NVN_SHADER_STAGE_TESS_EVALUATION, NVN_SHADER_STAGE_COMPUTE};
    return stages[static_cast<unsigned>(s)];
}

// One run of an example: everything that must live until the GPU is done.
class Player {
  public:
    Player(const Example& example, const std::map<std::string, GuestShader>& shaders, std::string& problem)
        : example_(example), shaders_(shaders), problem_(problem) {}

    std::vector<uint8_t> play(PFNNVNGENERICFUNCPTRPROC (*loader)(const char*)) {
        if (!nvn.load(loader, problem_) || !make_device() || !make_programs() || !make_textures())
            return {};
        for (const auto& b : example_.buffers)
            buffers_.push_back(base_ + heap_->put(b.data(), b.size()));
        constexpr size_t kCommandBytes = 1 << 20;
        const size_t memory = heap_->take(kCommandBytes);
        if (!nvn.nvnCommandBufferInitialize(cmd_, device_))
            return fail("nvnCommandBufferInitialize");
        nvn.nvnCommandBufferAddCommandMemory(cmd_, pool_, static_cast<ptrdiff_t>(memory), kCommandBytes);
        nvn.nvnCommandBufferAddControlMemory(cmd_, control_.data(), control_.size() * 8);
        nvn.nvnCommandBufferBeginRecording(cmd_);
        nvn.nvnCommandBufferSetTexturePool(cmd_, texture_pool_);
        nvn.nvnCommandBufferSetSamplerPool(cmd_, sampler_pool_);
        for (const ExampleStep& step : example_.steps)
            record(step);
        const ExampleTexture& t = example_.textures[example_.picture];
        const size_t bytes = size_t{t.width} * t.height * 4, out = heap_->take(bytes);
        const NVNcopyRegion whole{0, 0, 0, static_cast<int>(t.width), static_cast<int>(t.height), 1};
        nvn.nvnCommandBufferBarrier(cmd_, NVN_BARRIER_ORDER_FRAGMENTS_BIT);
        nvn.nvnCommandBufferCopyTextureToBuffer(cmd_, textures_[example_.picture], nullptr, &whole,
                                                base_ + out, 0);
        const NVNcommandHandle list = nvn.nvnCommandBufferEndRecording(cmd_);
        Object<NVNsync> done;
        nvn.nvnSyncInitialize(done, device_);
        nvn.nvnQueueSubmitCommands(*queue_, 1, &list);
        nvn.nvnQueueFenceSync(*queue_, done, NVN_SYNC_CONDITION_ALL_GPU_COMMANDS_COMPLETE,
                              NVN_SYNC_FLAG_FLUSH_FOR_CPU_BIT);
        nvn.nvnQueueFlush(*queue_);
        if (nvn.nvnSyncWait(done, kTimeout) == NVN_SYNC_WAIT_RESULT_TIMEOUT_EXPIRED)
            return fail("nvnSyncWait");
        std::vector<uint8_t> picture(heap_->memory + out, heap_->memory + out + bytes);
        nvn.nvnSyncFinalize(done);
        finish();
        return picture;
    }

  private:
    std::vector<uint8_t> fail(const std::string& what) {
        problem_ = what;
        return {};
    }
    bool check(bool good, const char* what) {
        if (!good)
            problem_ = what;
        return good;
    }

    bool make_device() {
        Object<NVNdeviceBuilder> builder;
        nvn.nvnDeviceBuilderSetDefaults(builder);
        nvn.nvnDeviceBuilderSetFlags(builder, 0);
        if (!check(nvn.nvnDeviceInitialize(device_, builder), "nvnDeviceInitialize"))
            return false;
        nvn.nvnDeviceSetDepthMode(device_, NVN_DEPTH_MODE_NEAR_IS_ZERO);
        Object<NVNmemoryPoolBuilder> pool;
        nvn.nvnMemoryPoolBuilderSetDevice(pool, device_);
        nvn.nvnMemoryPoolBuilderSetDefaults(pool);
        nvn.nvnMemoryPoolBuilderSetStorage(pool, heap_->memory, Heap::kSize);
        nvn.nvnMemoryPoolBuilderSetFlags(pool, NVN_MEMORY_POOL_FLAGS_CPU_CACHED |
                                                   NVN_MEMORY_POOL_FLAGS_GPU_CACHED |
                                                   NVN_MEMORY_POOL_FLAGS_SHADER_CODE);
        if (!check(nvn.nvnMemoryPoolInitialize(pool_, pool), "nvnMemoryPoolInitialize"))
            return false;
        base_ = nvn.nvnMemoryPoolGetBufferAddress(pool_);
        Object<NVNqueueBuilder> queue;
        nvn.nvnQueueBuilderSetDevice(queue, device_);
        nvn.nvnQueueBuilderSetDefaults(queue);
        return check(nvn.nvnQueueInitialize(*queue_, queue), "nvnQueueInitialize");
    }

    // One program per shader: stages are bound one by one.
    bool make_programs() {
        for (const std::string& name : example_.shaders()) {
            const auto it = shaders_.find(name);
            if (!check(it != shaders_.end(), "the shaders are not all there"))
                return false;
            Object<NVNprogram>& p = programs_[name];
            const NVNshaderData data{base_ + heap_->put(it->second.code.data(), it->second.code.size()),
                                     it->second.control.data()};
            if (!check(nvn.nvnProgramInitialize(p, device_) && nvn.nvnProgramSetShaders(p, 1, &data),
                       "nvnProgramSetShaders"))
                return false;
        }
        return true;
    }

    bool make_textures() {
        for (const ExampleTexture& t : example_.textures) {
            Object<NVNtextureBuilder> b;
            nvn.nvnTextureBuilderSetDevice(b, device_);
            nvn.nvnTextureBuilderSetDefaults(b);
            nvn.nvnTextureBuilderSetTarget(b, NVN_TEXTURE_TARGET_2D);
            nvn.nvnTextureBuilderSetFlags(b, t.texels.empty() ? NVN_TEXTURE_FLAGS_COMPRESSIBLE : 0);
            nvn.nvnTextureBuilderSetSize2D(b, static_cast<int>(t.width), static_cast<int>(t.height));
            nvn.nvnTextureBuilderSetLevels(b, 1);
            nvn.nvnTextureBuilderSetFormat(b, t.format);
            const size_t at = heap_->take(nvn.nvnTextureBuilderGetStorageSize(b),
                                          nvn.nvnTextureBuilderGetStorageAlignment(b));
            nvn.nvnTextureBuilderSetStorage(b, pool_, static_cast<ptrdiff_t>(at));
            if (!check(nvn.nvnTextureInitialize(textures_.emplace_back(), b), "nvnTextureInitialize"))
                return false;
            const NVNcopyRegion whole{0, 0, 0, static_cast<int>(t.width), static_cast<int>(t.height), 1};
            if (!t.texels.empty())
                nvn.nvnTextureWriteTexels(textures_.back(), nullptr, &whole, t.texels.data());
        }
        const int ids = kFirstId + static_cast<int>(example_.textures.size()) + 2;
        const auto table = [&] { return static_cast<ptrdiff_t>(heap_->take(static_cast<size_t>(ids) * 32)); };
        if (!check(nvn.nvnTexturePoolInitialize(texture_pool_, pool_, table(), ids) &&
                       nvn.nvnSamplerPoolInitialize(sampler_pool_, pool_, table(), ids),
                   "nvnTexturePoolInitialize"))
            return false;
        for (size_t i = 0; i < textures_.size(); ++i)
            nvn.nvnTexturePoolRegisterTexture(texture_pool_, kFirstId + static_cast<int>(i), textures_[i],
                                              nullptr);
        for (const bool shadow : {false, true}) {
            Object<NVNsamplerBuilder> b;
            Object<NVNsampler> s;
            nvn.nvnSamplerBuilderSetDevice(b, device_);
            nvn.nvnSamplerBuilderSetDefaults(b);
            nvn.nvnSamplerBuilderSetMinMagFilter(b, NVN_MIN_FILTER_LINEAR_MIPMAP_LINEAR,
                                                 NVN_MAG_FILTER_LINEAR);
            const auto wrap = NVN_WRAP_MODE_REPEAT;
            nvn.nvnSamplerBuilderSetWrapMode(b, wrap, wrap, wrap);
            nvn.nvnSamplerBuilderSetLodClamp(b, 0, 16);
            if (shadow)
                nvn.nvnSamplerBuilderSetCompare(b, NVN_COMPARE_MODE_COMPARE_R_TO_TEXTURE,
                                                NVN_COMPARE_FUNC_LEQUAL);
            nvn.nvnSamplerInitialize(s, b);
            nvn.nvnSamplerPoolRegisterSampler(sampler_pool_, kFirstId + shadow, s);
        }
        return true;
    }

    void bind(const ExampleBinding& b) {
        const NVNshaderStage stage = stage_of(b.stage);
        const int slot = static_cast<int>(b.slot);
        if (b.kind == ExampleBinding::uniform) {
            nvn.nvnCommandBufferBindUniformBuffer(cmd_, stage, slot, buffers_[b.index],
                                                  example_.buffers[b.index].size());
        } else if (b.kind == ExampleBinding::storage) {
            nvn.nvnCommandBufferBindStorageBuffer(cmd_, stage, slot, buffers_[b.index],
                                                  example_.buffers[b.index].size());
        } else {
            const int sampler = kFirstId + (b.kind == ExampleBinding::shadow_texture);
            nvn.nvnCommandBufferBindTexture(
                cmd_, stage, slot,
                nvn.nvnDeviceGetTextureHandle(device_, kFirstId + static_cast<int>(b.index), sampler));
        }
    }

    void record(const ExampleStep& step) {
        if (step.copy_bytes) {
            nvn.nvnCommandBufferCopyBufferToBuffer(cmd_, buffers_[step.copy_from], buffers_[step.copy_to],
                                                   step.copy_bytes, 0);
            return;
        }
        if (!step.compute.empty()) {
            nvn.nvnCommandBufferBindProgram(cmd_, programs_[step.compute], NVN_SHADER_STAGE_COMPUTE_BIT);
            for (const ExampleBinding& b : step.bindings)
                bind(b);
            nvn.nvnCommandBufferDispatchCompute(cmd_, static_cast<int>(step.groups[0]),
                                                static_cast<int>(step.groups[1]),
                                                static_cast<int>(step.groups[2]));
            nvn.nvnCommandBufferBarrier(cmd_,
                                        NVN_BARRIER_ORDER_PRIMITIVES_BIT | NVN_BARRIER_INVALIDATE_SHADER_BIT);
            return;
        }
        std::vector<NVNtexture*> colors;
        for (const uint32_t c : step.colors)
            colors.push_back(textures_[c]);
        NVNtexture* depth = step.depth < 0 ? nullptr : textures_[static_cast<size_t>(step.depth)].get();
        nvn.nvnCommandBufferBarrier(cmd_,
                                    NVN_BARRIER_ORDER_FRAGMENTS_BIT | NVN_BARRIER_INVALIDATE_TEXTURE_BIT);
        nvn.nvnCommandBufferSetRenderTargets(cmd_, static_cast<int>(colors.size()), colors.data(), nullptr,
                                             depth, nullptr);
        const ExampleTexture& size =
            example_.textures[step.colors.empty() ? static_cast<size_t>(step.depth) : step.colors[0]];
        const int w = static_cast<int>(size.width), h = static_cast<int>(size.height);
        nvn.nvnCommandBufferSetViewport(cmd_, 0, 0, w, h);
        nvn.nvnCommandBufferSetScissor(cmd_, 0, 0, w, h);
        for (size_t i = 0; i < colors.size() && !step.keep; ++i)
            nvn.nvnCommandBufferClearColor(cmd_, static_cast<int>(i), step.clear.data(), 15);
        if (depth)
            nvn.nvnCommandBufferClearDepthStencil(cmd_, 1.0f, 1, 0, 0);
        NVNchannelMaskState mask;
        nvn.nvnChannelMaskStateSetDefaults(&mask);
        for (int i = 0; i < 8; ++i)
            nvn.nvnChannelMaskStateSetChannelMask(&mask, i, 1, 1, 1, 0);
        nvn.nvnCommandBufferBindChannelMaskState(cmd_, &mask);
        for (const ExampleDraw& d : step.draws)
            record(d);
    }

    void record(const ExampleDraw& d) {
        nvn.nvnCommandBufferBindProgram(cmd_, nullptr, kAllStages);
        for (const std::string& name : d.shaders)
            nvn.nvnCommandBufferBindProgram(cmd_, programs_[name], stage_bit(name));
        for (const ExampleBinding& b : d.bindings)
            bind(b);
        NVNdepthStencilState ds;
        nvn.nvnDepthStencilStateSetDefaults(&ds);
        nvn.nvnDepthStencilStateSetDepthTestEnable(&ds, d.depth_test);
        nvn.nvnDepthStencilStateSetDepthWriteEnable(&ds, d.depth_test);
        nvn.nvnDepthStencilStateSetDepthFunc(&ds, NVN_DEPTH_FUNC_LESS);
        nvn.nvnCommandBufferBindDepthStencilState(cmd_, &ds);
        NVNpolygonState polygon;
        nvn.nvnPolygonStateSetDefaults(&polygon);
        nvn.nvnPolygonStateSetCullFace(&polygon, NVN_FACE_NONE);
        nvn.nvnCommandBufferBindPolygonState(cmd_, &polygon);
        NVNcolorState color;
        nvn.nvnColorStateSetDefaults(&color);
        nvn.nvnColorStateSetBlendEnable(&color, 0, d.multiply);
        nvn.nvnCommandBufferBindColorState(cmd_, &color);
        NVNblendState blend;
        nvn.nvnBlendStateSetDefaults(&blend);
        nvn.nvnBlendStateSetBlendTarget(&blend, 0);
        nvn.nvnBlendStateSetBlendFunc(&blend, NVN_BLEND_FUNC_DST_COLOR, NVN_BLEND_FUNC_ZERO,
                                      NVN_BLEND_FUNC_ZERO, NVN_BLEND_FUNC_ONE);
        nvn.nvnBlendStateSetBlendEquation(&blend, NVN_BLEND_EQUATION_ADD, NVN_BLEND_EQUATION_ADD);
        nvn.nvnCommandBufferBindBlendState(cmd_, &blend);
        constexpr NVNformat kFloats[] = {NVN_FORMAT_NONE, NVN_FORMAT_R32F, NVN_FORMAT_RG32F,
                                         NVN_FORMAT_RGB32F, NVN_FORMAT_RGBA32F};
        std::vector<NVNvertexAttribState> attribs(d.attributes.size());
        std::vector<NVNvertexStreamState> streams(d.attributes.size());
        for (size_t i = 0; i < attribs.size(); ++i) {
            const ExampleAttribute& a = d.attributes[i];
            nvn.nvnVertexAttribStateSetDefaults(&attribs[i]);
            nvn.nvnVertexAttribStateSetFormat(&attribs[i], kFloats[a.components], a.offset);
            nvn.nvnVertexAttribStateSetStreamIndex(&attribs[i], static_cast<int>(i));
            nvn.nvnVertexStreamStateSetDefaults(&streams[i]);
            nvn.nvnVertexStreamStateSetStride(&streams[i], a.stride);
            nvn.nvnCommandBufferBindVertexBuffer(cmd_, static_cast<int>(i), buffers_[a.buffer],
                                                 example_.buffers[a.buffer].size());
        }
        nvn.nvnCommandBufferBindVertexAttribState(cmd_, static_cast<int>(attribs.size()), attribs.data());
        nvn.nvnCommandBufferBindVertexStreamState(cmd_, static_cast<int>(streams.size()), streams.data());
        if (d.patch)
            nvn.nvnCommandBufferSetPatchSize(cmd_, static_cast<int>(d.patch));
        if (d.indices.empty())
            nvn.nvnCommandBufferDrawArraysInstanced(cmd_, d.primitive, 0, static_cast<int>(d.vertices), 0,
                                                    static_cast<int>(d.instances));
        else
            nvn.nvnCommandBufferDrawElements(cmd_, d.primitive, NVN_INDEX_TYPE_UNSIGNED_INT,
                                             static_cast<int>(d.indices.size()),
                                             base_ + heap_->put(d.indices.data(), d.indices.size() * 4));
    }

    // From the name: the sample shaders say their stage in it.
    static int stage_bit(const std::string& name) {
        const auto has = [&](const char* part) {
            return name.starts_with(part) || name.starts_with(std::string("real_") + part);
        };
        return has("vs_")    ? NVN_SHADER_STAGE_VERTEX_BIT
               : has("gs_")  ? NVN_SHADER_STAGE_GEOMETRY_BIT
               : has("tcs_") ? NVN_SHADER_STAGE_TESS_CONTROL_BIT
               : has("tes_") ? NVN_SHADER_STAGE_TESS_EVALUATION_BIT
                             : NVN_SHADER_STAGE_FRAGMENT_BIT;
    }

    void finish() {
        nvn.nvnCommandBufferFinalize(cmd_);
        nvn.nvnTexturePoolFinalize(texture_pool_);
        nvn.nvnSamplerPoolFinalize(sampler_pool_);
        for (auto& t : textures_)
            nvn.nvnTextureFinalize(t);
        for (auto& [name, p] : programs_)
            nvn.nvnProgramFinalize(p);
        nvn.nvnQueueFinalize(*queue_);
        nvn.nvnMemoryPoolFinalize(pool_);
        nvn.nvnDeviceFinalize(device_);
    }

    const Example& example_;
    const std::map<std::string, GuestShader>& shaders_;
    std::string& problem_;
    Calls nvn;
    Object<NVNdevice> device_;
    std::unique_ptr<Heap> heap_ = std::make_unique<Heap>();
    Object<NVNmemoryPool> pool_;
    std::unique_ptr<Object<NVNqueue>> queue_ = std::make_unique<Object<NVNqueue>>();
    NVNbufferAddress base_ = 0;
    std::map<std::string, Object<NVNprogram>> programs_;
    std::deque<Object<NVNtexture>> textures_;
    Object<NVNtexturePool> texture_pool_;
    Object<NVNsamplerPool> sampler_pool_;
    std::vector<NVNbufferAddress> buffers_;
    Object<NVNcommandBuffer> cmd_;
    std::vector<uint64_t> control_ = std::vector<uint64_t>(1024);
};

} // namespace

std::vector<uint8_t> draw_example(const Example& example, const std::map<std::string, GuestShader>& shaders,
                                  PFNNVNGENERICFUNCPTRPROC (*loader)(const char*), std::string& problem) {
    return std::make_unique<Player>(example, shaders, problem)->play(loader);
}

} // namespace dmsh::examples
