// Recording calls whose parameters or results lie in GPU memory: indirect work, transform feedback, counters,
// conditional rendering; and what was left over: texture clears, downsampling, push constants, mesh tasks.
#include "runtime/nvn/recording.h"

namespace dmsh::nvn {
namespace {

constexpr int kMaxFeedbackBuffers = 4, kMaxSwizzles = 16, kVertexStage = 0;
constexpr uint32_t kArraysRecordBytes = 16, kElementsRecordBytes = 20;

void address_record(NVNcommandBuffer* cmd, Op op, uint32_t word, uint64_t address) {
    if (auto* r = record<AddressRecord>(cmd, op)) {
        r->word = word;
        r->address = word64(address);
    }
}

void draw_indirect(NVNcommandBuffer* cmd, int mode, uint8_t index_type, uint64_t indices, uint64_t records,
                   uint64_t count, int64_t max_draws, int64_t stride, const char* call) {
    if (!in_range(mode, 1, NVN_DRAW_PRIMITIVE_PATCHES + 1, call))
        return;
    if (max_draws < 0 || max_draws > 0x7fffffff || stride < 0 || stride > 0x7fffffff || stride % 4) {
        report(Report::bad_argument, "%s: %lld draws, stride %lld", call, static_cast<long long>(max_draws),
               static_cast<long long>(stride));
        return;
    }
    const bool indexed = index_type != kNoIndices, counted = count != 0 || max_draws != 1;
    if (auto* r = record<DrawIndirectRecord>(
            cmd, Op::draw_indirect, (indexed ? sizeof(Word64) : 0) + (counted ? sizeof(DrawIndirectCount) : 0))) {
        r->mode = static_cast<uint8_t>(mode);
        r->index_type = index_type;
        r->counted = counted;
        r->zero = 0;
        r->records = word64(records);
        auto* at = reinterpret_cast<uint8_t*>(r + 1);
        if (indexed) {
            const Word64 word = word64(indices);
            std::memcpy(at, &word, sizeof word);
            at += sizeof word;
        }
        if (counted) {
            const DrawIndirectCount c{word64(count), static_cast<uint32_t>(max_draws),
                                      static_cast<uint32_t>(stride)};
            std::memcpy(at, &c, sizeof c);
        }
    }
}

// The index type as recorded; kNoIndices (reported) for a value that NVN does not have.
uint8_t index_byte(int type, const char* call) {
    return in_range(type, 1, NVN_INDEX_TYPE_UNSIGNED_INT + 1, call) ? static_cast<uint8_t>(type) : kNoIndices;
}

void clear_texture(NVNcommandBuffer* cmd, const NVNtexture* texture, const NVNtextureView* view,
                   const NVNcopyRegion* region, const void* color, int mask, uint8_t type, const char* call) {
    TextureRecord t;
    if (!region || !color || !fill(t, texture, view, call))
        return;
    if (auto* r = record<ClearTextureRecord>(cmd, Op::clear_texture)) {
        r->mask = static_cast<uint8_t>(mask & 15);
        r->type = type;
        r->zero = 0;
        r->texture = t;
        r->region = *region;
        std::memcpy(r->words, color, sizeof r->words);
    }
}

void downsample(NVNcommandBuffer* cmd, const NVNtexture* source, const NVNtextureView* source_view,
                const NVNtexture* destination, const NVNtextureView* destination_view, const char* call) {
    TextureRecord from, to;
    if (!fill(from, source, source_view, call) || !fill(to, destination, destination_view, call))
        return;
    if (auto* r = record<DownsampleRecord>(cmd, Op::downsample)) {
        r->source = from;
        r->destination = to;
    }
}

void push_constants(NVNcommandBuffer* cmd, bool compute, uint32_t offset, uint32_t size, const void* data,
                    const char* call) {
    if (offset > kPushBytes || size > kPushBytes - offset || offset % 4 || size % 4 || (size && !data)) {
        report(Report::bad_argument, "%s: offset %u, size %u", call, offset, size);
        return;
    }
    if (auto* r = record<PushConstantsRecord>(cmd, Op::push_constants, size)) {
        r->compute = compute;
        r->zero = 0;
        r->offset = static_cast<uint16_t>(offset);
        r->size = size;
        if (size)
            std::memcpy(r + 1, data, size);
    }
}

} // namespace
} // namespace dmsh::nvn

using namespace dmsh::nvn;

extern "C" {

void nvnCommandBufferBindTransformFeedbackBuffer(NVNcommandBuffer* cmd, int index, NVNbufferAddress buffer,
                                                 size_t size) {
    const NVNbufferRange range{buffer, size};
    bind_buffers(cmd, BufferKind::feedback, kVertexStage, index, 1, kMaxFeedbackBuffers, &range, __func__);
}
void nvnCommandBufferBindTransformFeedbackBuffers(NVNcommandBuffer* cmd, int first, int count,
                                                  const NVNbufferRange* buffers) {
    bind_buffers(cmd, BufferKind::feedback, kVertexStage, first, count, kMaxFeedbackBuffers, buffers,
                 __func__);
}
void nvnCommandBufferBeginTransformFeedback(NVNcommandBuffer* cmd, NVNbufferAddress buffer) {
    address_record(cmd, Op::feedback, static_cast<uint32_t>(Feedback::begin), buffer);
}
void nvnCommandBufferEndTransformFeedback(NVNcommandBuffer* cmd, NVNbufferAddress buffer) {
    address_record(cmd, Op::feedback, static_cast<uint32_t>(Feedback::end), buffer);
}
void nvnCommandBufferPauseTransformFeedback(NVNcommandBuffer* cmd, NVNbufferAddress buffer) {
    address_record(cmd, Op::feedback, static_cast<uint32_t>(Feedback::pause), buffer);
}
void nvnCommandBufferResumeTransformFeedback(NVNcommandBuffer* cmd, NVNbufferAddress buffer) {
    address_record(cmd, Op::feedback, static_cast<uint32_t>(Feedback::resume), buffer);
}
void nvnCommandBufferDrawTransformFeedback(NVNcommandBuffer* cmd, NVNdrawPrimitive mode,
                                           NVNbufferAddress buffer) {
    address_record(cmd, Op::draw_feedback, static_cast<uint32_t>(mode), buffer);
}

void nvnCommandBufferDrawArraysIndirect(NVNcommandBuffer* cmd, NVNdrawPrimitive mode,
                                        NVNbufferAddress buffer) {
    draw_indirect(cmd, mode, kNoIndices, 0, buffer, 0, 1, kArraysRecordBytes, __func__);
}
void nvnCommandBufferDrawElementsIndirect(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, NVNindexType type,
                                          NVNbufferAddress indices, NVNbufferAddress buffer) {
    if (const uint8_t t = index_byte(type, __func__); t != kNoIndices)
        draw_indirect(cmd, mode, t, indices, buffer, 0, 1, kElementsRecordBytes, __func__);
}
void nvnCommandBufferMultiDrawArraysIndirectCount(NVNcommandBuffer* cmd, NVNdrawPrimitive mode,
                                                  NVNbufferAddress records, NVNbufferAddress count,
                                                  int max_draws, ptrdiff_t stride) {
    draw_indirect(cmd, mode, kNoIndices, 0, records, count, max_draws, stride, __func__);
}
void nvnCommandBufferMultiDrawElementsIndirectCount(NVNcommandBuffer* cmd, NVNdrawPrimitive mode,
                                                    NVNindexType type, NVNbufferAddress indices,
                                                    NVNbufferAddress records, NVNbufferAddress count,
                                                    int max_draws, ptrdiff_t stride) {
    if (const uint8_t t = index_byte(type, __func__); t != kNoIndices)
        draw_indirect(cmd, mode, t, indices, records, count, max_draws, stride, __func__);
}
void nvnCommandBufferDispatchComputeIndirect(NVNcommandBuffer* cmd, NVNbufferAddress buffer) {
    address_record(cmd, Op::dispatch_indirect, 0, buffer);
}

void nvnCommandBufferDrawMeshTasks(NVNcommandBuffer* cmd, uint32_t count, uint32_t first) {
    if (auto* r = record<DrawMeshRecord>(cmd, Op::draw_mesh)) {
        r->groups[0] = count;
        r->groups[1] = r->groups[2] = 1;
        r->first = first;
    }
}
void nvnCommandBufferDrawMeshTasks3D(NVNcommandBuffer* cmd, uint32_t x, uint32_t y, uint32_t z) {
    if (auto* r = record<DrawMeshRecord>(cmd, Op::draw_mesh)) {
        r->groups[0] = x;
        r->groups[1] = y;
        r->groups[2] = z;
        r->first = 0;
    }
}
void nvnCommandBufferDrawMeshTasksIndirect(NVNcommandBuffer* cmd, NVNbufferAddress buffer) {
    address_record(cmd, Op::draw_mesh_indirect, 0, buffer);
}

void nvnCommandBufferSetViewportSwizzles(NVNcommandBuffer* cmd, int first, int count,
                                         const NVNviewportSwizzle* swizzles) {
    constexpr size_t kBytes = 4 * sizeof(NVNviewportSwizzle); // x, y, z, w of one viewport
    counted(cmd, Op::set_viewport_swizzles, first, count, kMaxSwizzles, swizzles, kBytes, __func__);
}
void nvnCommandBufferSetInnerTessellationLevels(NVNcommandBuffer* cmd, const float* levels) {
    if (levels)
        vector(cmd, Vector::tess_inner, 0, levels[0], levels[1], 0, 0);
}
void nvnCommandBufferSetOuterTessellationLevels(NVNcommandBuffer* cmd, const float* levels) {
    if (levels)
        vector(cmd, Vector::tess_outer, 0, levels[0], levels[1], levels[2], levels[3]);
}
void nvnCommandBufferSetConservativeRasterEnable(NVNcommandBuffer* cmd, NVNboolean enable) {
    scalar(cmd, Scalar::conservative_raster, uint32_t{enable});
}
void nvnCommandBufferSetConservativeRasterDilate(NVNcommandBuffer* cmd, float dilate) {
    scalar(cmd, Scalar::conservative_dilate, dilate);
}
void nvnCommandBufferSetSubpixelPrecisionBias(NVNcommandBuffer* cmd, int x, int y) {
    scalar(cmd, Scalar::subpixel_bias, (static_cast<uint32_t>(x) & 0xffff) | static_cast<uint32_t>(y) << 16);
}
void nvnCommandBufferSetFloatBlendClamp(NVNcommandBuffer* cmd, NVNboolean clamp) {
    scalar(cmd, Scalar::float_blend_clamp, uint32_t{clamp});
}
void nvnCommandBufferBindCoverageModulationTable(NVNcommandBuffer* cmd, const float* table) {
    if (!table)
        return;
    if (auto* r = record<CoverageTableRecord>(cmd, Op::set_coverage_table))
        std::memcpy(r->table, table, sizeof r->table);
}

void nvnCommandBufferClearTexture(NVNcommandBuffer* cmd, const NVNtexture* texture,
                                  const NVNtextureView* view, const NVNcopyRegion* region, const float* color,
                                  int mask) {
    clear_texture(cmd, texture, view, region, color, mask, 0, __func__);
}
void nvnCommandBufferClearTexturei(NVNcommandBuffer* cmd, const NVNtexture* texture,
                                   const NVNtextureView* view, const NVNcopyRegion* region, const int* color,
                                   int mask) {
    clear_texture(cmd, texture, view, region, color, mask, 1, __func__);
}
void nvnCommandBufferClearTextureui(NVNcommandBuffer* cmd, const NVNtexture* texture,
                                    const NVNtextureView* view, const NVNcopyRegion* region,
                                    const uint32_t* color, int mask) {
    clear_texture(cmd, texture, view, region, color, mask, 2, __func__);
}

void nvnCommandBufferReportCounter(NVNcommandBuffer* cmd, NVNcounterType counter, NVNbufferAddress buffer) {
    address_record(cmd, Op::report_counter, static_cast<uint32_t>(counter), buffer);
}
void nvnCommandBufferResetCounter(NVNcommandBuffer* cmd, NVNcounterType counter) {
    address_record(cmd, Op::reset_counter, static_cast<uint32_t>(counter), 0);
}
void nvnCommandBufferReportValue(NVNcommandBuffer* cmd, uint32_t value, NVNbufferAddress buffer) {
    address_record(cmd, Op::report_value, value, buffer);
}
void nvnCommandBufferSetRenderEnable(NVNcommandBuffer* cmd, NVNboolean enable) {
    address_record(cmd, Op::render_enable,
                   static_cast<uint32_t>(enable ? RenderEnable::on : RenderEnable::off), 0);
}
void nvnCommandBufferSetRenderEnableConditional(NVNcommandBuffer* cmd, NVNconditionalRenderMode mode,
                                                NVNbufferAddress address) {
    address_record(cmd, Op::render_enable,
                   static_cast<uint32_t>(mode == NVN_CONDITIONAL_RENDER_MODE_RENDER_IF_EQUAL
                                             ? RenderEnable::if_equal
                                             : RenderEnable::if_not_equal),
                   address);
}

// Tiling is the guest GPU's business: the tiled forms resolve like the others.
void nvnCommandBufferDownsample(NVNcommandBuffer* cmd, const NVNtexture* source,
                                const NVNtexture* destination) {
    downsample(cmd, source, nullptr, destination, nullptr, __func__);
}
void nvnCommandBufferTiledDownsample(NVNcommandBuffer* cmd, const NVNtexture* source,
                                     const NVNtexture* destination) {
    downsample(cmd, source, nullptr, destination, nullptr, __func__);
}
void nvnCommandBufferDownsampleTextureView(NVNcommandBuffer* cmd, const NVNtexture* source,
                                           const NVNtextureView* source_view, const NVNtexture* destination,
                                           const NVNtextureView* destination_view) {
    downsample(cmd, source, source_view, destination, destination_view, __func__);
}
void nvnCommandBufferTiledDownsampleTextureView(NVNcommandBuffer* cmd, const NVNtexture* source,
                                                const NVNtextureView* source_view,
                                                const NVNtexture* destination,
                                                const NVNtextureView* destination_view) {
    downsample(cmd, source, source_view, destination, destination_view, __func__);
}
// The host keeps depth uncompressed, or keeps its compression to itself.
void nvnCommandBufferResolveDepthBuffer(NVNcommandBuffer*) {}

void nvnCommandBufferPushGraphicsConstants(NVNcommandBuffer* cmd, uint32_t offset, uint32_t size,
                                           const void* data) {
    push_constants(cmd, false, offset, size, data, __func__);
}
void nvnCommandBufferPushComputeConstants(NVNcommandBuffer* cmd, uint32_t offset, uint32_t size,
                                          const void* data) {
    push_constants(cmd, true, offset, size, data, __func__);
}

} // extern "C"
