// Recording calls: each writes one record (recorder.cpp has the memory behind them).
#include "runtime/nvn/host.h"
#include "runtime/nvn/recording.h"
#include "runtime/nvn/states.h"
#include <algorithm>

namespace dmsh::nvn {
namespace {

constexpr int kMaxStages = kStageCount, kMaxUniforms = 14, kMaxStorage = 16, kMaxVertexBuffers = 16;
constexpr int kMaxTextures = 40, kMaxImages = 8, kMaxSeparateTextures = 128, kMaxSeparateSamplers = 128;
constexpr int kMaxViewports = 16, kMaxColors = 8;

void bind_handle(NVNcommandBuffer* cmd, HandleKind kind, int stage, int index, int most, uint64_t handle,
                 const char* call) {
    if (!in_range(stage, 1, kMaxStages, call) || !in_range(index, 1, most, call))
        return;
    if (auto* r = record<BindHandleRecord>(cmd, Op::bind_handle)) {
        r->stage = static_cast<uint8_t>(stage);
        r->kind = kind;
        r->index = static_cast<uint16_t>(index);
        r->zero[0] = r->zero[1] = 0;
        r->handle = static_cast<uint32_t>(handle); // only these bits reach the GPU
    }
}

template <class Handle>
void bind_handles(NVNcommandBuffer* cmd, HandleKind kind, int stage, int first, int count, int most,
                  const Handle* handles, const char* call) {
    if (!in_range(stage, 1, kMaxStages, call) || !in_range(first, count, most, call) || (count && !handles))
        return;
    if (auto* r = record<BindHandlesRecord>(cmd, Op::bind_handles, static_cast<size_t>(count) * 4)) {
        r->stage = static_cast<uint8_t>(stage);
        r->kind = kind;
        r->first = static_cast<uint8_t>(first);
        r->count = static_cast<uint8_t>(count);
        auto* out = reinterpret_cast<uint32_t*>(r + 1);
        for (int i = 0; i < count; ++i) {
            uint64_t word;
            std::memcpy(&word, handles + i, sizeof word);
            out[i] = static_cast<uint32_t>(word);
        }
    }
}

void state32(NVNcommandBuffer* cmd, Op op, const uint32_t* word) {
    if (!word)
        return;
    if (auto* r = record<StateRecord32>(cmd, op))
        r->word = *word;
}

void state64(NVNcommandBuffer* cmd, Op op, const uint64_t* word) {
    if (!word)
        return;
    if (auto* r = record<StateRecord64>(cmd, op))
        r->word = word64(*word);
}

void clear_color(NVNcommandBuffer* cmd, int index, const void* color, int mask, uint8_t type,
                 const char* call) {
    if (!in_range(index, 1, kMaxColors, call) || !color)
        return;
    if (auto* r = record<ClearColorRecord>(cmd, Op::clear_color)) {
        r->index = static_cast<uint8_t>(index);
        r->mask = static_cast<uint8_t>(mask & 15);
        r->type = type;
        r->zero = 0;
        std::memcpy(r->words, color, 16);
    }
}

void stencil(NVNcommandBuffer* cmd, StencilValue which, int faces, int value) {
    if (auto* r = record<StencilRecord>(cmd, Op::set_stencil)) {
        r->which = which;
        r->faces = static_cast<uint8_t>(faces & 3);
        r->value = static_cast<uint8_t>(value);
        r->zero = 0;
    }
}

void draw(NVNcommandBuffer* cmd, int mode, int first, int count, int base_instance, int instances) {
    const bool plain = base_instance == 0 && instances == 1;
    if (auto* r = record<DrawRecord>(cmd, Op::draw, plain ? 0 : 8)) {
        r->mode = static_cast<uint16_t>(mode);
        r->zero = 0;
        r->first = static_cast<uint32_t>(first);
        r->count = static_cast<uint32_t>(count);
        if (!plain) {
            const int more[2] = {base_instance, instances};
            std::memcpy(r + 1, more, sizeof more);
        }
    }
}

void draw_elements(NVNcommandBuffer* cmd, int mode, int type, int count, uint64_t indices, int base_vertex,
                   int base_instance, int instances) {
    const bool plain = base_vertex == 0 && base_instance == 0 && instances == 1;
    if (auto* r = record<DrawElementsRecord>(cmd, Op::draw_elements, plain ? 0 : 12)) {
        r->mode = static_cast<uint16_t>(mode);
        r->index_type = static_cast<uint16_t>(type);
        r->indices = word64(indices);
        r->count = static_cast<uint32_t>(count);
        if (!plain) {
            const int more[3] = {base_vertex, base_instance, instances};
            std::memcpy(r + 1, more, sizeof more);
        }
    }
}

void copy_buffer_texture(NVNcommandBuffer* cmd, bool to_buffer, uint64_t buffer, const NVNtexture* texture,
                         const NVNtextureView* view, const NVNcopyRegion* region, int flags,
                         const char* call) {
    TextureRecord t;
    const Recorder* recorder = recorder_of(cmd);
    if (!recorder || !region || !fill(t, texture, view, call))
        return;
    const bool strides = recorder->row_stride || recorder->image_stride;
    if (auto* r = record<CopyBufferTextureRecord>(cmd, Op::copy_buffer_texture, strides ? 16 : 0)) {
        r->flags = static_cast<uint16_t>(flags);
        r->to_buffer = to_buffer;
        r->buffer = word64(buffer);
        r->texture = t;
        r->region = *region;
        if (strides) {
            const int64_t values[2] = {recorder->row_stride, recorder->image_stride};
            std::memcpy(r + 1, values, sizeof values);
        }
    }
}

void sync_record(NVNcommandBuffer* cmd, Op op, const NVNsync* sync) {
    if (!sync)
        return;
    if (auto* r = record<SyncRecord>(cmd, op))
        r->sync = word64(reinterpret_cast<uint64_t>(sync));
}

} // namespace
} // namespace dmsh::nvn

using namespace dmsh::nvn;

extern "C" {

void nvnCommandBufferBindBlendState(NVNcommandBuffer* cmd, const NVNblendState* s) {
    state64(cmd, Op::bind_blend, s ? &s->word : nullptr);
}
void nvnCommandBufferBindChannelMaskState(NVNcommandBuffer* cmd, const NVNchannelMaskState* s) {
    state32(cmd, Op::bind_channel_mask, s ? &s->word : nullptr);
}
void nvnCommandBufferBindColorState(NVNcommandBuffer* cmd, const NVNcolorState* s) {
    state32(cmd, Op::bind_color, s ? &s->word : nullptr);
}
void nvnCommandBufferBindMultisampleState(NVNcommandBuffer* cmd, const NVNmultisampleState* s) {
    if (!s)
        return;
    const bool positions = multisample::LocationsEnable::get(s->word);
    if (auto* r = record<StateRecord32>(cmd, Op::bind_multisample, positions ? sizeof s->positions : 0)) {
        r->word = s->word;
        if (positions)
            std::memcpy(r + 1, s->positions, sizeof s->positions);
    }
}
void nvnCommandBufferBindPolygonState(NVNcommandBuffer* cmd, const NVNpolygonState* s) {
    state32(cmd, Op::bind_polygon, s ? &s->word : nullptr);
}
void nvnCommandBufferBindDepthStencilState(NVNcommandBuffer* cmd, const NVNdepthStencilState* s) {
    state64(cmd, Op::bind_depth_stencil, s ? &s->word : nullptr);
}
void nvnCommandBufferBindVertexAttribState(NVNcommandBuffer* cmd, int count,
                                           const NVNvertexAttribState* attribs) {
    counted(cmd, Op::bind_vertex_attribs, 0, count, 32, attribs, sizeof *attribs, __func__);
}
void nvnCommandBufferBindVertexStreamState(NVNcommandBuffer* cmd, int count,
                                           const NVNvertexStreamState* streams) {
    counted(cmd, Op::bind_vertex_streams, 0, count, kMaxVertexBuffers, streams, sizeof *streams, __func__);
}

void nvnCommandBufferBindProgram(NVNcommandBuffer* cmd, const NVNprogram* program, int stages) {
    if (program && program->magic != kProgramMagic) {
        report(Report::bad_object, "%s: program %p", __func__, static_cast<const void*>(program));
        return;
    }
    if (auto* r = record<BindProgramRecord>(cmd, Op::bind_program)) {
        r->stages = static_cast<uint32_t>(stages) & ((1u << dmsh::kStageCount) - 1);
        r->serial = program ? program->serial : 0;
    }
}

void nvnCommandBufferBindVertexBuffer(NVNcommandBuffer* cmd, int index, NVNbufferAddress buffer,
                                      size_t size) {
    const NVNbufferRange range{buffer, size};
    bind_buffers(cmd, BufferKind::vertex, 0, index, 1, kMaxVertexBuffers, &range, __func__);
}
void nvnCommandBufferBindVertexBuffers(NVNcommandBuffer* cmd, int first, int count,
                                       const NVNbufferRange* ranges) {
    bind_buffers(cmd, BufferKind::vertex, 0, first, count, kMaxVertexBuffers, ranges, __func__);
}
void nvnCommandBufferBindUniformBuffer(NVNcommandBuffer* cmd, NVNshaderStage stage, int index,
                                       NVNbufferAddress buffer, size_t size) {
    const NVNbufferRange range{buffer, size};
    bind_buffers(cmd, BufferKind::uniform, stage, index, 1, kMaxUniforms, &range, __func__);
}
void nvnCommandBufferBindUniformBuffers(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                        const NVNbufferRange* ranges) {
    bind_buffers(cmd, BufferKind::uniform, stage, first, count, kMaxUniforms, ranges, __func__);
}
void nvnCommandBufferBindStorageBuffer(NVNcommandBuffer* cmd, NVNshaderStage stage, int index,
                                       NVNbufferAddress buffer, size_t size) {
    const NVNbufferRange range{buffer, size};
    bind_buffers(cmd, BufferKind::storage, stage, index, 1, kMaxStorage, &range, __func__);
}
void nvnCommandBufferBindStorageBuffers(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                        const NVNbufferRange* ranges) {
    bind_buffers(cmd, BufferKind::storage, stage, first, count, kMaxStorage, ranges, __func__);
}

void nvnCommandBufferBindTexture(NVNcommandBuffer* cmd, NVNshaderStage stage, int index, NVNtextureHandle h) {
    bind_handle(cmd, HandleKind::texture, stage, index, kMaxTextures, h, __func__);
}
void nvnCommandBufferBindTextures(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                  const NVNtextureHandle* h) {
    bind_handles(cmd, HandleKind::texture, stage, first, count, kMaxTextures, h, __func__);
}
void nvnCommandBufferBindImage(NVNcommandBuffer* cmd, NVNshaderStage stage, int index, NVNimageHandle h) {
    bind_handle(cmd, HandleKind::image, stage, index, kMaxImages, h, __func__);
}
void nvnCommandBufferBindImages(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                const NVNimageHandle* h) {
    bind_handles(cmd, HandleKind::image, stage, first, count, kMaxImages, h, __func__);
}
void nvnCommandBufferBindSeparateTexture(NVNcommandBuffer* cmd, NVNshaderStage stage, int index,
                                         NVNseparateTextureHandle h) {
    bind_handle(cmd, HandleKind::separate_texture, stage, index, kMaxSeparateTextures, h.word, __func__);
}
void nvnCommandBufferBindSeparateSampler(NVNcommandBuffer* cmd, NVNshaderStage stage, int index,
                                         NVNseparateSamplerHandle h) {
    bind_handle(cmd, HandleKind::separate_sampler, stage, index, kMaxSeparateSamplers, h.word, __func__);
}
void nvnCommandBufferBindSeparateTextures(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                          const NVNseparateTextureHandle* h) {
    bind_handles(cmd, HandleKind::separate_texture, stage, first, count, kMaxSeparateTextures, h, __func__);
}
void nvnCommandBufferBindSeparateSamplers(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                          const NVNseparateSamplerHandle* h) {
    bind_handles(cmd, HandleKind::separate_sampler, stage, first, count, kMaxSeparateSamplers, h, __func__);
}

void nvnCommandBufferSetTexturePool(NVNcommandBuffer* cmd, const NVNtexturePool* pool) {
    if (!pool || pool->magic != kTexturePoolMagic) {
        report(Report::bad_object, "%s: pool %p", __func__, static_cast<const void*>(pool));
        return;
    }
    if (auto* r = record<StateRecord64>(cmd, Op::set_pool))
        r->word = {static_cast<uint32_t>(PoolKind::texture), pool->serial};
}
void nvnCommandBufferSetSamplerPool(NVNcommandBuffer* cmd, const NVNsamplerPool* pool) {
    if (!pool || pool->magic != kSamplerPoolMagic) {
        report(Report::bad_object, "%s: pool %p", __func__, static_cast<const void*>(pool));
        return;
    }
    if (auto* r = record<StateRecord64>(cmd, Op::set_pool))
        r->word = {static_cast<uint32_t>(PoolKind::sampler), pool->serial};
}
// Spill memory is the host driver's business.
void nvnCommandBufferSetShaderScratchMemory(NVNcommandBuffer*, const NVNmemoryPool*, ptrdiff_t, size_t) {}

void nvnCommandBufferSetPatchSize(NVNcommandBuffer* cmd, int vertices) {
    scalar(cmd, Scalar::patch_size, static_cast<uint32_t>(vertices));
}
void nvnCommandBufferSetPrimitiveRestart(NVNcommandBuffer* cmd, NVNboolean enable, int index) {
    scalar(cmd, Scalar::primitive_restart, static_cast<uint32_t>(index), enable != 0);
}
void nvnCommandBufferSetPointSize(NVNcommandBuffer* cmd, float v) {
    scalar(cmd, Scalar::point_size, v);
}
void nvnCommandBufferSetLineWidth(NVNcommandBuffer* cmd, float v) {
    scalar(cmd, Scalar::line_width, v);
}
void nvnCommandBufferSetAlphaRef(NVNcommandBuffer* cmd, float v) {
    scalar(cmd, Scalar::alpha_ref, v);
}
void nvnCommandBufferSetSampleMask(NVNcommandBuffer* cmd, int v) {
    scalar(cmd, Scalar::sample_mask, static_cast<uint32_t>(v));
}
void nvnCommandBufferSetRasterizerDiscard(NVNcommandBuffer* cmd, NVNboolean v) {
    scalar(cmd, Scalar::rasterizer_discard, uint32_t{v});
}
void nvnCommandBufferSetDepthClamp(NVNcommandBuffer* cmd, NVNboolean v) {
    scalar(cmd, Scalar::depth_clamp, uint32_t{v});
}
void nvnCommandBufferSetBlendColor(NVNcommandBuffer* cmd, const float* c) {
    if (c)
        vector(cmd, Vector::blend_color, 0, c[0], c[1], c[2], c[3]);
}
void nvnCommandBufferSetPolygonOffsetClamp(NVNcommandBuffer* cmd, float factor, float units, float clamp) {
    vector(cmd, Vector::polygon_offset, 0, factor, units, clamp, 0);
}
void nvnCommandBufferSetDepthBounds(NVNcommandBuffer* cmd, NVNboolean enable, float least, float most) {
    vector(cmd, Vector::depth_bounds, enable != 0, least, most, 0, 0);
}

void nvnCommandBufferSetViewport(NVNcommandBuffer* cmd, int x, int y, int w, int h) {
    const float v[4] = {static_cast<float>(x), static_cast<float>(y), static_cast<float>(w),
                        static_cast<float>(h)};
    counted(cmd, Op::set_viewports, 0, 1, kMaxViewports, v, 16, __func__);
}
void nvnCommandBufferSetViewports(NVNcommandBuffer* cmd, int first, int count, const float* v) {
    counted(cmd, Op::set_viewports, first, count, kMaxViewports, v, 16, __func__);
}
void nvnCommandBufferSetScissor(NVNcommandBuffer* cmd, int x, int y, int w, int h) {
    const int v[4] = {x, y, w, h};
    counted(cmd, Op::set_scissors, 0, 1, kMaxViewports, v, 16, __func__);
}
void nvnCommandBufferSetScissors(NVNcommandBuffer* cmd, int first, int count, const int* v) {
    counted(cmd, Op::set_scissors, first, count, kMaxViewports, v, 16, __func__);
}
void nvnCommandBufferSetDepthRange(NVNcommandBuffer* cmd, float zNear, float zFar) {
    const float v[2] = {zNear, zFar};
    counted(cmd, Op::set_depth_ranges, 0, 1, kMaxViewports, v, 8, __func__);
}
void nvnCommandBufferSetDepthRanges(NVNcommandBuffer* cmd, int first, int count, const float* v) {
    counted(cmd, Op::set_depth_ranges, first, count, kMaxViewports, v, 8, __func__);
}
void nvnCommandBufferSetStencilValueMask(NVNcommandBuffer* cmd, NVNface faces, int mask) {
    stencil(cmd, StencilValue::value_mask, faces, mask);
}
void nvnCommandBufferSetStencilMask(NVNcommandBuffer* cmd, NVNface faces, int mask) {
    stencil(cmd, StencilValue::write_mask, faces, mask);
}
void nvnCommandBufferSetStencilRef(NVNcommandBuffer* cmd, NVNface faces, int ref) {
    stencil(cmd, StencilValue::reference, faces, ref);
}

void nvnCommandBufferSetRenderTargets(NVNcommandBuffer* cmd, int count, const NVNtexture* const* colors,
                                      const NVNtextureView* const* views, const NVNtexture* depth,
                                      const NVNtextureView* depth_view) {
    if (!in_range(0, count, kMaxColors, __func__) || (count && !colors))
        return;
    TextureRecord targets[kMaxColors + 1];
    unsigned present = 0, n = 0;
    for (int i = 0; i < count; ++i)
        if (colors[i] && fill(targets[n], colors[i], views ? views[i] : nullptr, __func__)) {
            present |= 1u << i;
            ++n;
        }
    if (depth && fill(targets[n], depth, depth_view, __func__)) {
        present |= 1u << kMaxColors;
        ++n;
    }
    if (auto* r = record<RenderTargetsRecord>(cmd, Op::set_render_targets, n * sizeof(TextureRecord))) {
        r->color_count = static_cast<uint16_t>(count);
        r->present = static_cast<uint16_t>(present);
        if (n)
            std::memcpy(r + 1, targets, n * sizeof(TextureRecord));
    }
}
// Keeping what may be dropped is valid.
void nvnCommandBufferDiscardColor(NVNcommandBuffer*, int) {}
void nvnCommandBufferDiscardDepthStencil(NVNcommandBuffer*) {}

void nvnCommandBufferClearColor(NVNcommandBuffer* cmd, int index, const float* color, int mask) {
    clear_color(cmd, index, color, mask, 0, __func__);
}
void nvnCommandBufferClearColori(NVNcommandBuffer* cmd, int index, const int* color, int mask) {
    clear_color(cmd, index, color, mask, 1, __func__);
}
void nvnCommandBufferClearColorui(NVNcommandBuffer* cmd, int index, const uint32_t* color, int mask) {
    clear_color(cmd, index, color, mask, 2, __func__);
}
void nvnCommandBufferClearDepthStencil(NVNcommandBuffer* cmd, float depth, NVNboolean depth_mask, int value,
                                       int mask) {
    if (auto* r = record<ClearDepthStencilRecord>(cmd, Op::clear_depth_stencil)) {
        r->depth = depth;
        r->clear_depth = depth_mask != 0;
        r->stencil = static_cast<uint8_t>(value);
        r->stencil_mask = static_cast<uint8_t>(mask);
        r->zero = 0;
    }
}

void nvnCommandBufferDrawArrays(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, int first, int count) {
    draw(cmd, mode, first, count, 0, 1);
}
void nvnCommandBufferDrawArraysInstanced(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, int first, int count,
                                         int base_instance, int instances) {
    draw(cmd, mode, first, count, base_instance, instances);
}
void nvnCommandBufferDrawElements(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, NVNindexType type, int count,
                                  NVNbufferAddress indices) {
    draw_elements(cmd, mode, type, count, indices, 0, 0, 1);
}
void nvnCommandBufferDrawElementsBaseVertex(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, NVNindexType type,
                                            int count, NVNbufferAddress indices, int base_vertex) {
    draw_elements(cmd, mode, type, count, indices, base_vertex, 0, 1);
}
void nvnCommandBufferDrawElementsInstanced(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, NVNindexType type,
                                           int count, NVNbufferAddress indices, int base_vertex,
                                           int base_instance, int instances) {
    draw_elements(cmd, mode, type, count, indices, base_vertex, base_instance, instances);
}
void nvnCommandBufferDispatchCompute(NVNcommandBuffer* cmd, int x, int y, int z) {
    if (auto* r = record<DispatchRecord>(cmd, Op::dispatch)) {
        r->groups[0] = static_cast<uint32_t>(x);
        r->groups[1] = static_cast<uint32_t>(y);
        r->groups[2] = static_cast<uint32_t>(z);
    }
}

void nvnCommandBufferCopyBufferToTexture(NVNcommandBuffer* cmd, NVNbufferAddress buffer,
                                         const NVNtexture* texture, const NVNtextureView* view,
                                         const NVNcopyRegion* region, int flags) {
    copy_buffer_texture(cmd, false, buffer, texture, view, region, flags, __func__);
}
void nvnCommandBufferCopyTextureToBuffer(NVNcommandBuffer* cmd, const NVNtexture* texture,
                                         const NVNtextureView* view, const NVNcopyRegion* region,
                                         NVNbufferAddress buffer, int flags) {
    copy_buffer_texture(cmd, true, buffer, texture, view, region, flags, __func__);
}
void nvnCommandBufferCopyTextureToTexture(NVNcommandBuffer* cmd, const NVNtexture* source,
                                          const NVNtextureView* source_view,
                                          const NVNcopyRegion* source_region, const NVNtexture* destination,
                                          const NVNtextureView* destination_view,
                                          const NVNcopyRegion* destination_region, int flags) {
    TextureRecord from, to;
    if (!source_region || !destination_region || !fill(from, source, source_view, __func__) ||
        !fill(to, destination, destination_view, __func__))
        return;
    if (auto* r = record<CopyTextureRecord>(cmd, Op::copy_texture)) {
        r->flags = static_cast<uint32_t>(flags);
        r->source = from;
        r->destination = to;
        r->source_region = *source_region;
        r->destination_region = *destination_region;
    }
}
void nvnCommandBufferCopyBufferToBuffer(NVNcommandBuffer* cmd, NVNbufferAddress source,
                                        NVNbufferAddress destination, size_t size, int) {
    if (auto* r = record<CopyBufferRecord>(cmd, Op::copy_buffer)) {
        r->source = word64(source);
        r->destination = word64(destination);
        r->size = word64(size);
    }
}
void nvnCommandBufferClearBuffer(NVNcommandBuffer* cmd, NVNbufferAddress buffer, size_t size,
                                 uint32_t value) {
    if (auto* r = record<ClearBufferRecord>(cmd, Op::clear_buffer)) {
        r->address = word64(buffer);
        r->size = word64(size);
        r->value = value;
    }
}
void nvnCommandBufferUpdateUniformBuffer(NVNcommandBuffer* cmd, NVNbufferAddress buffer, size_t buffer_size,
                                         ptrdiff_t offset, size_t size, const void* data) {
    if (offset < 0 || static_cast<size_t>(offset) > buffer_size ||
        size > buffer_size - static_cast<size_t>(offset) || size > 65536 || (size && !data)) {
        report(Report::bad_argument, "%s: offset %td, size %zu of %zu", __func__, offset, size, buffer_size);
        return;
    }
    if (auto* r = record<UpdateUniformRecord>(cmd, Op::update_uniform, size)) {
        r->address = word64(buffer + static_cast<uint64_t>(offset));
        r->size = static_cast<uint32_t>(size);
        if (size)
            std::memcpy(r + 1, data, size);
    }
}

void nvnCommandBufferBarrier(NVNcommandBuffer* cmd, int bits) {
    if (auto* r = record<BarrierRecord>(cmd, Op::barrier))
        r->bits = static_cast<uint32_t>(bits);
}
void nvnCommandBufferFenceSync(NVNcommandBuffer* cmd, NVNsync* sync, NVNsyncCondition, int) {
    sync_record(cmd, Op::fence_sync, sync);
}
void nvnCommandBufferWaitSync(NVNcommandBuffer* cmd, const NVNsync* sync) {
    sync_record(cmd, Op::wait_sync, sync);
}

// Recorder state: takes no command memory, travels with the copies.
void nvnCommandBufferSetCopyRowStride(NVNcommandBuffer* cmd, ptrdiff_t stride) {
    if (Recorder* r = recorder_of(cmd))
        r->row_stride = stride;
}
void nvnCommandBufferSetCopyImageStride(NVNcommandBuffer* cmd, ptrdiff_t stride) {
    if (Recorder* r = recorder_of(cmd))
        r->image_stride = stride;
}
ptrdiff_t nvnCommandBufferGetCopyRowStride(const NVNcommandBuffer* cmd) {
    const Recorder* r = recorder_of(cmd);
    return r ? r->row_stride : 0;
}
ptrdiff_t nvnCommandBufferGetCopyImageStride(const NVNcommandBuffer* cmd) {
    const Recorder* r = recorder_of(cmd);
    return r ? r->image_stride : 0;
}

void nvnCommandBufferBindTexturesDeferred(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                          NVNbufferAddress handles) {
    if (!in_range(stage, 1, kMaxStages, __func__) || !in_range(first, count, kMaxTextures, __func__))
        return;
    if (auto* r = record<BindDeferredRecord>(cmd, Op::bind_handles_deferred)) {
        r->stage = static_cast<uint8_t>(stage);
        r->kind = HandleKind::texture;
        r->first = static_cast<uint8_t>(first);
        r->count = static_cast<uint8_t>(count);
        r->address = word64(handles);
    }
}

// Hints for what this host does not have: hierarchical depth, compressed targets, visibility tests.
void nvnCommandBufferSaveZCullData(NVNcommandBuffer*, NVNbufferAddress, size_t) {}
void nvnCommandBufferRestoreZCullData(NVNcommandBuffer*, NVNbufferAddress, size_t) {}
void nvnCommandBufferSetColorReductionEnable(NVNcommandBuffer*, NVNboolean) {}
void nvnCommandBufferSetColorReductionThresholds(NVNcommandBuffer*, NVNformatClass, int, int) {}
void nvnCommandBufferSetStencilCullCriteria(NVNcommandBuffer*, NVNstencilFunc, int, int) {}
void nvnCommandBufferSetRepresentativeFragmentTest(NVNcommandBuffer*, NVNboolean) {}

// Debug groups and tiling hints change nothing that is drawn.
void nvnCommandBufferPushDebugGroupStatic(NVNcommandBuffer*, uint32_t, const char*) {}
void nvnCommandBufferPushDebugGroupDynamic(NVNcommandBuffer*, uint32_t, const char*) {}
void nvnCommandBufferPushDebugGroup(NVNcommandBuffer*, uint32_t, const char*) {}
void nvnCommandBufferPopDebugGroup(NVNcommandBuffer*) {}
void nvnCommandBufferPopDebugGroupId(NVNcommandBuffer*, uint32_t) {}
void nvnCommandBufferInsertDebugMarkerStatic(NVNcommandBuffer*, uint32_t, const char*) {}
void nvnCommandBufferInsertDebugMarkerDynamic(NVNcommandBuffer*, uint32_t, const char*) {}
void nvnCommandBufferInsertDebugMarker(NVNcommandBuffer*, const char*) {}
void nvnCommandBufferSetTiledCacheAction(NVNcommandBuffer*, NVNtiledCacheAction) {}
void nvnCommandBufferSetTiledCacheTileSize(NVNcommandBuffer*, int, int) {}

} // extern "C"
