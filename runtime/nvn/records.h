// Command records: what a recording writes into the guest's command memory and the replay reads back.
//
// A record is whole 32-bit words: a header, then fields. Command memory is 4-byte aligned, so 64-bit values
// are two words. Records are no longer than needed: guests measure them. docs/nvn.md lists the sizes.
#pragma once
#include "runtime/nvn/objects.h"
#include <cstring>

namespace dmsh::nvn {

enum class Op : uint16_t {
    nop = 0,
    bind_handle,
    bind_handles,
    bind_buffers,
    bind_program,
    bind_blend,
    bind_color,
    bind_channel_mask,
    bind_multisample,
    bind_polygon,
    bind_depth_stencil,
    bind_vertex_attribs,
    bind_vertex_streams,
    set_pool,
    set_viewports,
    set_scissors,
    set_depth_ranges,
    set_stencil,
    set_scalar,
    set_vector,
    set_render_targets,
    clear_color,
    clear_depth_stencil,
    draw,
    draw_elements,
    dispatch,
    copy_buffer,
    copy_buffer_texture,
    copy_texture,
    clear_buffer,
    update_uniform,
    barrier,
    fence_sync,
    wait_sync,
    // Parameters or results in GPU memory (gpu_commands.cpp).
    draw_indirect,
    dispatch_indirect,
    draw_mesh,
    draw_mesh_indirect,
    feedback,
    draw_feedback,
    report_counter,
    reset_counter,
    report_value,
    render_enable,
    clear_texture,
    downsample,
    push_constants,
    set_viewport_swizzles,
    set_coverage_table,
    wait_event,
    signal_event,
    bind_handles_deferred,
    count
};

struct RecordHeader {
    uint16_t op;
    uint16_t words; // of the whole record
};

constexpr size_t kMaxRecordBytes = 65535 * 4;

struct Word64 {
    uint32_t lo, hi;
    constexpr uint64_t value() const { return lo | uint64_t{hi} << 32; }
};
constexpr Word64 word64(uint64_t v) {
    return {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
}

enum class HandleKind : uint8_t { texture, image, separate_texture, separate_sampler };
enum class BufferKind : uint8_t { uniform, storage, vertex, feedback };
enum class PoolKind : uint8_t { texture, sampler };
enum class Scalar : uint16_t {
    patch_size,
    point_size,
    line_width,
    alpha_ref,
    sample_mask,
    rasterizer_discard,
    depth_clamp,
    primitive_restart, // second word: the index
    conservative_raster,
    conservative_dilate,
    subpixel_bias, // x bits in the low half, y bits in the high
    float_blend_clamp,
};
enum class Vector : uint16_t { blend_color, polygon_offset, depth_bounds, tess_inner, tess_outer };
enum class Feedback : uint16_t { begin, end, pause, resume };
enum class RenderEnable : uint16_t { off, on, if_equal, if_not_equal };
enum class StencilValue : uint8_t { reference, value_mask, write_mask };

// One bind; the handle lies 0x10 bytes behind the record's start, where guests patch it.
struct BindHandleRecord {
    RecordHeader header;
    uint8_t stage;
    HandleKind kind;
    uint16_t index;
    uint32_t zero[2];
    uint32_t handle;
};
static_assert(offsetof(BindHandleRecord, handle) == 0x10 && sizeof(BindHandleRecord) == 20);

struct BindHandlesRecord { // + count handles
    RecordHeader header;
    uint8_t stage;
    HandleKind kind;
    uint8_t first, count;
};
static_assert(sizeof(BindHandlesRecord) == 8);
constexpr uint32_t kMaxHandlesPerBind = 128; // separate textures of a stage

struct BufferRange {
    Word64 address;
    uint32_t size;
};
struct BindBuffersRecord { // + count ranges
    RecordHeader header;
    BufferKind kind;
    uint8_t stage, first, count;
};
static_assert(sizeof(BindBuffersRecord) == 8 && sizeof(BufferRange) == 12);

struct BindProgramRecord {
    RecordHeader header;
    uint32_t stages; // bit mask
    uint32_t serial; // 0: unbind
};
static_assert(sizeof(BindProgramRecord) == 12);

struct StateRecord32 {
    RecordHeader header;
    uint32_t word;
};
struct StateRecord64 {
    RecordHeader header;
    Word64 word;
};
static_assert(sizeof(StateRecord32) == 8 && sizeof(StateRecord64) == 12);

struct CountedRecord { // + elements
    RecordHeader header;
    uint16_t first, count;
};
static_assert(sizeof(CountedRecord) == 8);

struct StencilRecord {
    RecordHeader header;
    StencilValue which;
    uint8_t faces;
    uint8_t value;
    uint8_t zero;
};
static_assert(sizeof(StencilRecord) == 8);

struct ScalarRecord {
    RecordHeader header;
    Scalar which;
    uint16_t flag;
    uint32_t word;
};
static_assert(sizeof(ScalarRecord) == 12);

struct VectorRecord { // + floats, as many as the vector has
    RecordHeader header;
    Vector which;
    uint16_t flag;
};
static_assert(sizeof(VectorRecord) == 8);
constexpr uint32_t vector_floats(Vector which) {
    return which == Vector::polygon_offset                                     ? 3
           : which == Vector::depth_bounds || which == Vector::tess_inner ? 2
                                                                               : 4;
}

// A bound texture in record words.
struct TextureRecord {
    uint32_t words[sizeof(BoundTexture) / 4];
    BoundTexture bound() const {
        BoundTexture b;
        std::memcpy(static_cast<void*>(&b), words, sizeof b);
        return b;
    }
};
static_assert(sizeof(TextureRecord) == 56);

struct RenderTargetsRecord { // + a TextureRecord per bit of `present`, colours first, depth-stencil last
    RecordHeader header;
    uint16_t color_count;
    uint16_t present; // bit per colour target; bit 8: depth-stencil
};
static_assert(sizeof(RenderTargetsRecord) == 8);

struct ClearColorRecord {
    RecordHeader header;
    uint8_t index, mask;
    uint8_t type; // 0 float, 1 signed, 2 unsigned
    uint8_t zero;
    uint32_t words[4];
};
static_assert(sizeof(ClearColorRecord) == 24);

struct ClearDepthStencilRecord {
    RecordHeader header;
    float depth;
    uint8_t clear_depth, stencil, stencil_mask, zero;
};
static_assert(sizeof(ClearDepthStencilRecord) == 12);

// + {base instance, instances} where they are not 0 and 1
struct DrawRecord {
    RecordHeader header;
    uint16_t mode, zero;
    uint32_t first, count;
};
static_assert(sizeof(DrawRecord) == 16);

// + {base vertex, base instance, instances} where they are not 0, 0 and 1
struct DrawElementsRecord {
    RecordHeader header;
    uint16_t mode, index_type;
    Word64 indices;
    uint32_t count;
};
static_assert(sizeof(DrawElementsRecord) == 20);

struct DispatchRecord {
    RecordHeader header;
    uint32_t groups[3];
};
static_assert(sizeof(DispatchRecord) == 16);

struct CopyBufferRecord {
    RecordHeader header;
    Word64 source, destination, size;
};
static_assert(sizeof(CopyBufferRecord) == 28);

struct CopyBufferTextureRecord { // + {row stride, image stride} where one was set
    RecordHeader header;
    uint16_t flags;
    uint16_t to_buffer; // 0: buffer to texture
    Word64 buffer;
    TextureRecord texture;
    NVNcopyRegion region;
};
static_assert(sizeof(CopyBufferTextureRecord) == 96);

struct CopyTextureRecord {
    RecordHeader header;
    uint32_t flags;
    TextureRecord source, destination;
    NVNcopyRegion source_region, destination_region;
};
static_assert(sizeof(CopyTextureRecord) == 168);

struct ClearBufferRecord {
    RecordHeader header;
    Word64 address, size;
    uint32_t value;
};
static_assert(sizeof(ClearBufferRecord) == 24);

struct UpdateUniformRecord { // + size bytes of data
    RecordHeader header;
    Word64 address;
    uint32_t size;
};
static_assert(sizeof(UpdateUniformRecord) == 16);

struct BarrierRecord {
    RecordHeader header;
    uint32_t bits;
};

struct SyncRecord {
    RecordHeader header;
    Word64 sync;
};
static_assert(sizeof(SyncRecord) == 12);

// One or more draws whose parameters lie in GPU memory. + {address of the indices} where indexed, + the count
// where counted.
struct DrawIndirectRecord {
    RecordHeader header;
    uint8_t mode;
    uint8_t index_type; // kNoIndices: not indexed
    uint8_t counted, zero;
    Word64 records;
};
struct DrawIndirectCount {
    Word64 count; // address of the number of draws
    uint32_t max_draws, stride;
};
static_assert(sizeof(DrawIndirectRecord) == 16 && sizeof(DrawIndirectCount) == 16);
constexpr uint8_t kNoIndices = 0xff;

// An address, with a word whose meaning is the op's: counter type, value, primitive.
struct AddressRecord {
    RecordHeader header;
    uint32_t word;
    Word64 address;
};
static_assert(sizeof(AddressRecord) == 16);

struct DrawMeshRecord {
    RecordHeader header;
    uint32_t groups[3];
    uint32_t first;
};
static_assert(sizeof(DrawMeshRecord) == 20);

struct ClearTextureRecord {
    RecordHeader header;
    uint8_t mask;
    uint8_t type; // 0 float, 1 signed, 2 unsigned
    uint16_t zero;
    TextureRecord texture;
    NVNcopyRegion region;
    uint32_t words[4];
};
static_assert(sizeof(ClearTextureRecord) == 104);

struct DownsampleRecord {
    RecordHeader header;
    TextureRecord source, destination;
};
static_assert(sizeof(DownsampleRecord) == 116);

struct PushConstantsRecord { // + size bytes of data
    RecordHeader header;
    uint8_t compute, zero;
    uint16_t offset;
    uint32_t size;
};
static_assert(sizeof(PushConstantsRecord) == 12);
constexpr uint32_t kPushBytes = 256; // of a stage group; more is refused

struct CoverageTableRecord {
    RecordHeader header;
    float table[16];
};
static_assert(sizeof(CoverageTableRecord) == 68);

// Waits and signals of events; the address is that of the event's value.
struct EventRecord {
    RecordHeader header;
    uint32_t mode;
    Word64 address;
    uint32_t value;
};
static_assert(sizeof(EventRecord) == 20);

// Handles that are read at execution.
struct BindDeferredRecord {
    RecordHeader header;
    uint8_t stage;
    HandleKind kind;
    uint8_t first, count;
    Word64 address; // of 64-bit handle words
};
static_assert(sizeof(BindDeferredRecord) == 16);

// Control memory: 8-byte entries. A run names records in command memory, a link the next block of entries.
//   bits 0..45 address / 4; bits 46..61 run length in words, 0 = link or empty end; bit 63 last entry
struct ControlEntry {
    static constexpr uint32_t kMaxWords = 0xffff;
    static constexpr uint64_t kAddress = (uint64_t{1} << 46) - 1;
    uint64_t word = 0;
    static ControlEntry run(const void* from, uint32_t words) {
        return {(reinterpret_cast<uint64_t>(from) >> 2 & kAddress) | uint64_t{words} << 46};
    }
    static ControlEntry link(const void* to) { return run(to, 0); }
    uint64_t address() const { return (word & kAddress) << 2; }
    uint32_t words() const { return static_cast<uint32_t>(word >> 46 & kMaxWords); }
    bool last() const { return word >> 63; }
    void set_last() { word |= uint64_t{1} << 63; }
};
static_assert(sizeof(ControlEntry) == 8);

} // namespace dmsh::nvn
