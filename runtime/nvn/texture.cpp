// Textures, their builders and views.
#include "runtime/nvn/formats.h"
#include "runtime/nvn/host.h"
#include "runtime/nvn/safe_memory.h"
#include <algorithm>
#include <array>
#include <cstring>

namespace dmsh::nvn {
namespace {

constexpr size_t kZCullBytes = 4096; // any size but 0 will do: a guest allocator breaks on 0
constexpr int kRawStorageClassLinear = NVN_RAW_STORAGE_CLASS_LINEAR;

bool live(const NVNtexture* t) {
    if (t && t->magic == kTextureMagic)
        return true;
    report(Report::bad_object, "texture %p", static_cast<const void*>(t));
    return false;
}

uint64_t storage_bytes(const TextureDesc& d) {
    const auto layout = layout_of(d);
    if (!layout) {
        report(Report::bad_argument, "texture %ux%ux%u format %s: %s", d.width, d.height, d.depth,
               format_name(d.format), layout.error().message.c_str());
        return 0;
    }
    return layout->storage_bytes;
}

void tile_layout(const TextureDesc& d, NVNtextureSparseTileLayout* out) {
    if (!out)
        return;
    *out = {};
    const auto layout = layout_of(d);
    if (!layout || !layout->tiles.width) {
        report(Report::bad_argument, "sparse tiles of a texture that has none");
        return;
    }
    const FormatInfo f = format_info(d.format);
    out->tiled_levels = static_cast<int32_t>(layout->tiles.levels);
    out->width = static_cast<int32_t>(layout->tiles.width * f.block_width);
    out->height = static_cast<int32_t>(layout->tiles.height * f.block_height);
    out->depth = static_cast<int32_t>(layout->tiles.depth);
}

void unpack_swizzle(uint16_t word, NVNtextureSwizzle* r, NVNtextureSwizzle* g, NVNtextureSwizzle* b,
                    NVNtextureSwizzle* a) {
    *r = static_cast<NVNtextureSwizzle>(word & 15);
    *g = static_cast<NVNtextureSwizzle>(word >> 4 & 15);
    *b = static_cast<NVNtextureSwizzle>(word >> 8 & 15);
    *a = static_cast<NVNtextureSwizzle>(word >> 12 & 15);
}

// Copies texels between the guest's rows and the texture's storage.
void transfer(const NVNtexture* texture, const NVNtextureView* view, const NVNcopyRegion* region,
              uint8_t* data, int64_t row_stride, int64_t image_stride, bool write) {
    if (!live(texture) || !region || !data)
        return;
    BoundTexture bound{texture->desc, view ? *view : NVNtextureView{}};
    const ResolvedView v = resolve_view(bound);
    const FormatInfo f = format_info(texture->desc.format);
    const auto layout = layout_of(texture->desc);
    // The record is the guest's: only what the description says counts.
    const bool whole = layout && Host::get().pool_at(texture->desc.address, layout->storage_bytes).has_value();
    if (!layout || f.bytes == 0 || (!whole && !Host::get().in_reservation(texture->desc.address))) {
        report(Report::bad_object, "texture %p has no storage", static_cast<const void*>(texture));
        return;
    }
    const LevelLayout& level = layout->levels[v.base_level];
    const bool is_1d_array = texture->desc.target == NVN_TEXTURE_TARGET_1D_ARRAY;
    const bool is_3d = texture->desc.target == NVN_TEXTURE_TARGET_3D;
    // A 1D array's layer is y, other arrays' z.
    const int64_t first_layer = is_3d ? 0 : is_1d_array ? region->yoffset : region->zoffset;
    const int64_t layers = is_3d ? 1 : is_1d_array ? region->height : region->depth;
    Box box;
    box.x = static_cast<uint32_t>(region->xoffset) / f.block_width;
    box.y = is_1d_array ? 0 : static_cast<uint32_t>(region->yoffset) / f.block_height;
    box.z = is_3d ? static_cast<uint32_t>(region->zoffset) + v.base_layer : 0; // a view's layers are slices
    box.width = (static_cast<uint32_t>(region->width) + f.block_width - 1) / f.block_width;
    box.height =
        is_1d_array ? 1 : (static_cast<uint32_t>(region->height) + f.block_height - 1) / f.block_height;
    box.depth = is_3d ? static_cast<uint32_t>(region->depth) : 1;
    if (region->xoffset < 0 || region->yoffset < 0 || region->zoffset < 0 || region->width <= 0 ||
        region->height <= 0 || region->depth <= 0 || (!is_3d && first_layer + v.base_layer + layers > layout->layers)) {
        report(Report::bad_argument, "texel region of texture %p", static_cast<const void*>(texture));
        return;
    }
    const uint64_t rows = row_stride ? static_cast<uint64_t>(row_stride) : uint64_t{box.width} * f.bytes;
    const uint64_t images = image_stride ? static_cast<uint64_t>(image_stride) : rows * box.height;
    if (!write && Host::get().executor()) { // the newest content may be on the GPU
        const std::lock_guard hold(Host::get().submit_lock());
        Host::get().executor()->store_texture(texture->desc);
    }
    std::vector<uint8_t> gathered; // of storage with holes
    for (int64_t i = 0; i < layers; ++i) {
        const uint64_t at =
            (is_3d ? 0 : static_cast<uint64_t>(v.base_layer + first_layer + i)) * layout->layer_bytes +
            level.offset;
        uint8_t* storage = reinterpret_cast<uint8_t*>(texture->desc.address) + at;
        if (!whole) {
            gathered.resize(level.bytes);
            if (!Host::get().read_guest(texture->desc.address + at, gathered.data(), level.bytes)) {
                report(Report::bad_object, "texture %p has no storage", static_cast<const void*>(texture));
                return;
            }
            storage = gathered.data();
        }
        uint8_t* out = data + static_cast<uint64_t>(i) * images;
        bool done = true;
        if (layout->linear) {
            // One level of rows; rows that overlap (a stride below their width) still end inside.
            done = !f.compressed() && layers == 1 && box.depth == 1 && box.z == 0 &&
                   uint64_t{box.x} + box.width <= level.width && uint64_t{box.y} + box.height <= level.height &&
                   rows >= uint64_t{box.width} * f.bytes &&
                   uint64_t{box.y + box.height - 1} * layout->stride + uint64_t{box.x + box.width} * f.bytes <=
                       level.bytes;
            for (uint32_t y = 0; done && y < box.height; ++y) {
                uint8_t* texels = storage + uint64_t{box.y + y} * layout->stride + uint64_t{box.x} * f.bytes;
                if (write)
                    std::memcpy(texels, out + y * rows, uint64_t{box.width} * f.bytes);
                else
                    std::memcpy(out + y * rows, texels, uint64_t{box.width} * f.bytes);
            }
        } else if (write) {
            done =
                swizzle(level, f.bytes, storage, level.bytes, box, out, rows, images, Host::get().gob_order);
        } else {
            done = deswizzle(level, f.bytes, storage, level.bytes, box, out, rows, images,
                             Host::get().gob_order);
        }
        if (!done) {
            report(Report::bad_argument, "texel region of texture %p", static_cast<const void*>(texture));
            return;
        }
        if (write && !whole)
            Host::get().write_guest(texture->desc.address + at, gathered.data(), level.bytes);
    }
}

} // namespace
} // namespace dmsh::nvn

using namespace dmsh::nvn;

extern "C" {

void nvnTextureBuilderSetDevice(NVNtextureBuilder* b, NVNdevice* device) {
    b->device = device;
}
void nvnTextureBuilderSetDefaults(NVNtextureBuilder* b) {
    const NVNdevice* device = b->device;
    *b = {};
    b->device = device;
    b->desc.swizzle = kIdentitySwizzle;
}
void nvnTextureBuilderSetFlags(NVNtextureBuilder* b, int flags) {
    b->desc.flags = static_cast<uint16_t>(flags);
}
void nvnTextureBuilderSetTarget(NVNtextureBuilder* b, NVNtextureTarget target) {
    b->desc.target = static_cast<uint8_t>(target);
}
void nvnTextureBuilderSetWidth(NVNtextureBuilder* b, int v) {
    b->desc.width = static_cast<uint32_t>(v);
}
void nvnTextureBuilderSetHeight(NVNtextureBuilder* b, int v) {
    b->desc.height = static_cast<uint32_t>(v);
}
void nvnTextureBuilderSetDepth(NVNtextureBuilder* b, int v) {
    b->desc.depth = static_cast<uint32_t>(v);
}
void nvnTextureBuilderSetSize1D(NVNtextureBuilder* b, int w) {
    nvnTextureBuilderSetSize3D(b, w, 1, 1);
}
void nvnTextureBuilderSetSize2D(NVNtextureBuilder* b, int w, int h) {
    nvnTextureBuilderSetSize3D(b, w, h, 1);
}
void nvnTextureBuilderSetSize3D(NVNtextureBuilder* b, int w, int h, int d) {
    b->desc.width = static_cast<uint32_t>(w);
    b->desc.height = static_cast<uint32_t>(h);
    b->desc.depth = static_cast<uint32_t>(d);
}
void nvnTextureBuilderSetLevels(NVNtextureBuilder* b, int n) {
    b->desc.levels = static_cast<uint8_t>(n);
}
void nvnTextureBuilderSetFormat(NVNtextureBuilder* b, NVNformat f) {
    b->desc.format = static_cast<uint8_t>(f);
}
void nvnTextureBuilderSetSamples(NVNtextureBuilder* b, int n) {
    b->desc.samples = static_cast<uint8_t>(n);
}
void nvnTextureBuilderSetSwizzle(NVNtextureBuilder* tb, NVNtextureSwizzle r, NVNtextureSwizzle g,
                                 NVNtextureSwizzle b, NVNtextureSwizzle a) {
    tb->desc.swizzle = pack_swizzle(r, g, b, a);
}
void nvnTextureBuilderSetDepthStencilMode(NVNtextureBuilder* b, NVNtextureDepthStencilMode mode) {
    b->desc.stencil_mode = static_cast<uint8_t>(mode);
}
size_t nvnTextureBuilderGetStorageSize(const NVNtextureBuilder* b) {
    return storage_bytes(b->desc);
}
size_t nvnTextureBuilderGetStorageAlignment(const NVNtextureBuilder* b) {
    const auto layout = layout_of(b->desc);
    return layout ? layout->alignment : kGobBytes;
}
void nvnTextureBuilderSetStorage(NVNtextureBuilder* b, NVNmemoryPool* pool, ptrdiff_t offset) {
    b->pool = pool;
    b->offset = offset;
}
void nvnTextureBuilderSetPackagedTextureData(NVNtextureBuilder* b, const void* data) {
    b->packaged_data = data;
}
void nvnTextureBuilderSetPackagedTextureLayout(NVNtextureBuilder* b, const NVNpackagedTextureLayout* layout) {
    b->desc.packaged = layout != nullptr;
    b->desc.packaged_blocks = layout ? layout->bytes[0] : 0;
    b->desc.packaged_columns = layout ? layout->bytes[1] & 15 : 0;
    std::memset(b->packaged_layout, 0, sizeof b->packaged_layout);
    if (layout)
        std::memcpy(b->packaged_layout, layout->bytes, sizeof b->packaged_layout);
}
void nvnTextureBuilderSetStride(NVNtextureBuilder* b, ptrdiff_t stride) {
    b->desc.stride = static_cast<uint32_t>(stride);
}
void nvnTextureBuilderSetGLTextureName(NVNtextureBuilder* b, uint32_t name) {
    b->gl_name = name;
}
NVNstorageClass nvnTextureBuilderGetStorageClass(const NVNtextureBuilder*) {
    return 0;
}
NVNtextureFlags nvnTextureBuilderGetFlags(const NVNtextureBuilder* b) {
    return static_cast<NVNtextureFlags>(b->desc.flags);
}
NVNtextureTarget nvnTextureBuilderGetTarget(const NVNtextureBuilder* b) {
    return static_cast<NVNtextureTarget>(b->desc.target);
}
int nvnTextureBuilderGetWidth(const NVNtextureBuilder* b) {
    return static_cast<int>(b->desc.width);
}
int nvnTextureBuilderGetHeight(const NVNtextureBuilder* b) {
    return static_cast<int>(b->desc.height);
}
int nvnTextureBuilderGetDepth(const NVNtextureBuilder* b) {
    return static_cast<int>(b->desc.depth);
}
int nvnTextureBuilderGetLevels(const NVNtextureBuilder* b) {
    return b->desc.levels;
}
NVNformat nvnTextureBuilderGetFormat(const NVNtextureBuilder* b) {
    return static_cast<NVNformat>(b->desc.format);
}
int nvnTextureBuilderGetSamples(const NVNtextureBuilder* b) {
    return b->desc.samples;
}
void nvnTextureBuilderGetSwizzle(const NVNtextureBuilder* tb, NVNtextureSwizzle* r, NVNtextureSwizzle* g,
                                 NVNtextureSwizzle* b, NVNtextureSwizzle* a) {
    unpack_swizzle(tb->desc.swizzle, r, g, b, a);
}
NVNtextureDepthStencilMode nvnTextureBuilderGetDepthStencilMode(const NVNtextureBuilder* b) {
    return static_cast<NVNtextureDepthStencilMode>(b->desc.stencil_mode);
}
const void* nvnTextureBuilderGetPackagedTextureData(const NVNtextureBuilder* b) {
    return b->packaged_data;
}
ptrdiff_t nvnTextureBuilderGetStride(const NVNtextureBuilder* b) {
    return b->desc.stride;
}
void nvnTextureBuilderGetSparseTileLayout(const NVNtextureBuilder* b, NVNtextureSparseTileLayout* layout) {
    tile_layout(b->desc, layout);
}
void nvnTextureGetSparseTileLayout(const NVNtexture* t, NVNtextureSparseTileLayout* layout) {
    if (live(t))
        tile_layout(t->desc, layout);
}
uint32_t nvnTextureBuilderGetGLTextureName(const NVNtextureBuilder* b) {
    return b->gl_name;
}
size_t nvnTextureBuilderGetZCullStorageSize(const NVNtextureBuilder*) {
    return kZCullBytes;
}
NVNmemoryPool* nvnTextureBuilderGetMemoryPool(const NVNtextureBuilder* b) {
    return b->pool;
}
ptrdiff_t nvnTextureBuilderGetMemoryOffset(const NVNtextureBuilder* b) {
    return b->offset;
}
const NVNdevice* nvnTextureBuilderGetDevice(const NVNtextureBuilder* b) {
    return b->device;
}
NVNboolean nvnTextureBuilderGetPackagedTextureLayout(const NVNtextureBuilder* b,
                                                     NVNpackagedTextureLayout* layout) {
    if (b->desc.packaged && layout)
        std::memcpy(layout->bytes, b->packaged_layout, sizeof layout->bytes);
    return b->desc.packaged;
}
NVNrawStorageClass nvnTextureBuilderGetRawStorageClass(const NVNtextureBuilder*) {
    return static_cast<NVNrawStorageClass>(kRawStorageClassLinear);
}

void nvnTextureViewSetDefaults(NVNtextureView* v) {
    *v = {};
}
void nvnTextureViewSetLevels(NVNtextureView* v, int base, int count) {
    v->set |= kViewLevels;
    v->base_level = static_cast<uint8_t>(base);
    v->level_count = static_cast<uint8_t>(count);
}
void nvnTextureViewSetLayers(NVNtextureView* v, int first, int count) {
    v->set |= kViewLayers;
    v->min_layer = static_cast<uint16_t>(first);
    v->layer_count = static_cast<uint16_t>(count);
}
void nvnTextureViewSetFormat(NVNtextureView* v, NVNformat format) {
    v->set |= kViewFormat;
    v->format = static_cast<uint8_t>(format);
}
void nvnTextureViewSetSwizzle(NVNtextureView* v, NVNtextureSwizzle r, NVNtextureSwizzle g,
                              NVNtextureSwizzle b, NVNtextureSwizzle a) {
    v->set |= kViewSwizzle;
    v->swizzle = pack_swizzle(r, g, b, a);
}
void nvnTextureViewSetDepthStencilMode(NVNtextureView* v, NVNtextureDepthStencilMode mode) {
    v->set |= kViewStencilMode;
    v->stencil_mode = static_cast<uint8_t>(mode);
}
void nvnTextureViewSetTarget(NVNtextureView* v, NVNtextureTarget target) {
    v->set |= kViewTarget;
    v->target = static_cast<uint8_t>(target);
}
NVNboolean nvnTextureViewGetLevels(const NVNtextureView* v, int* base, int* count) {
    *base = v->base_level;
    *count = v->level_count;
    return (v->set & kViewLevels) != 0;
}
NVNboolean nvnTextureViewGetLayers(const NVNtextureView* v, int* first, int* count) {
    *first = v->min_layer;
    *count = v->layer_count;
    return (v->set & kViewLayers) != 0;
}
NVNboolean nvnTextureViewGetFormat(const NVNtextureView* v, NVNformat* format) {
    *format = static_cast<NVNformat>(v->format);
    return (v->set & kViewFormat) != 0;
}
NVNboolean nvnTextureViewGetSwizzle(const NVNtextureView* v, NVNtextureSwizzle* r, NVNtextureSwizzle* g,
                                    NVNtextureSwizzle* b, NVNtextureSwizzle* a) {
    unpack_swizzle(v->swizzle, r, g, b, a);
    return (v->set & kViewSwizzle) != 0;
}
NVNboolean nvnTextureViewGetDepthStencilMode(const NVNtextureView* v, NVNtextureDepthStencilMode* mode) {
    *mode = static_cast<NVNtextureDepthStencilMode>(v->stencil_mode);
    return (v->set & kViewStencilMode) != 0;
}
NVNboolean nvnTextureViewGetTarget(const NVNtextureView* v, NVNtextureTarget* target) {
    *target = static_cast<NVNtextureTarget>(v->target);
    return (v->set & kViewTarget) != 0;
}
NVNboolean nvnTextureViewCompare(const NVNtextureView* a, const NVNtextureView* b) {
    if (a->set != b->set)
        return 0;
    return (!(a->set & kViewLevels) ||
            (a->base_level == b->base_level && a->level_count == b->level_count)) &&
           (!(a->set & kViewLayers) || (a->min_layer == b->min_layer && a->layer_count == b->layer_count)) &&
           (!(a->set & kViewFormat) || a->format == b->format) &&
           (!(a->set & kViewSwizzle) || a->swizzle == b->swizzle) &&
           (!(a->set & kViewStencilMode) || a->stencil_mode == b->stencil_mode) &&
           (!(a->set & kViewTarget) || a->target == b->target);
}

NVNboolean nvnTextureInitialize(NVNtexture* texture, const NVNtextureBuilder* b) {
    if (!texture || !b)
        return 0;
    const auto pool = Host::get().pool(b->pool);
    const uint64_t bytes = storage_bytes(b->desc);
    if (!pool || bytes == 0 || b->offset < 0 || static_cast<uint64_t>(b->offset) > pool->size ||
        bytes > pool->size - static_cast<uint64_t>(b->offset)) {
        report(Report::bad_argument, "texture %ux%u %s of %llu bytes at %lld has no storage", b->desc.width,
               b->desc.height, format_name(b->desc.format), static_cast<unsigned long long>(bytes),
               static_cast<long long>(b->offset));
        return 0;
    }
    texture->magic = kTextureMagic;
    texture->reserved = 0;
    texture->desc = b->desc;
    texture->desc.address = reinterpret_cast<uint64_t>(pool->memory) + static_cast<uint64_t>(b->offset);
    texture->pool = b->pool;
    texture->offset = b->offset;
    texture->storage_bytes = bytes;
    // In pieces: what the builder's pointer names may not exist.
    if (b->packaged_data) {
        std::array<uint8_t, 4096> piece;
        for (uint64_t at = 0; at < bytes; at += piece.size()) {
            const uint64_t n = std::min<uint64_t>(piece.size(), bytes - at);
            if (safe_read(reinterpret_cast<uint64_t>(b->packaged_data) + at, piece.data(), n) != n) {
                report(Report::bad_argument, "packaged data at %p ends after %llu of %llu bytes", b->packaged_data,
                       static_cast<unsigned long long>(at), static_cast<unsigned long long>(bytes));
                break;
            }
            Host::get().write_guest(texture->desc.address + at, piece.data(), n);
        }
    }
    return 1;
}
size_t nvnTextureGetZCullStorageSize(const NVNtexture*) {
    return kZCullBytes;
}
void nvnTextureFinalize(NVNtexture* t) {
    if (live(t))
        t->magic = 0;
}
void nvnTextureSetDebugLabel(NVNtexture*, const char*) {}
NVNstorageClass nvnTextureGetStorageClass(const NVNtexture*) {
    return 0;
}
ptrdiff_t nvnTextureGetViewOffset(const NVNtexture* t, const NVNtextureView* view) {
    if (!live(t))
        return 0;
    const auto layout = layout_of(t->desc);
    const ResolvedView v = resolve_view({t->desc, view ? *view : NVNtextureView{}});
    return layout ? static_cast<ptrdiff_t>(v.base_layer * layout->layer_bytes +
                                           layout->levels[v.base_level].offset)
                  : 0;
}
NVNtextureFlags nvnTextureGetFlags(const NVNtexture* t) {
    return static_cast<NVNtextureFlags>(live(t) ? t->desc.flags : 0);
}
NVNtextureTarget nvnTextureGetTarget(const NVNtexture* t) {
    return static_cast<NVNtextureTarget>(live(t) ? t->desc.target : 0);
}
int nvnTextureGetWidth(const NVNtexture* t) {
    return live(t) ? static_cast<int>(t->desc.width) : 0;
}
int nvnTextureGetHeight(const NVNtexture* t) {
    return live(t) ? static_cast<int>(t->desc.height) : 0;
}
int nvnTextureGetDepth(const NVNtexture* t) {
    return live(t) ? static_cast<int>(t->desc.depth) : 0;
}
int nvnTextureGetLevels(const NVNtexture* t) {
    return live(t) ? t->desc.levels : 0;
}
NVNformat nvnTextureGetFormat(const NVNtexture* t) {
    return static_cast<NVNformat>(live(t) ? t->desc.format : 0);
}
int nvnTextureGetSamples(const NVNtexture* t) {
    return live(t) ? t->desc.samples : 0;
}
void nvnTextureGetSwizzle(const NVNtexture* t, NVNtextureSwizzle* r, NVNtextureSwizzle* g,
                          NVNtextureSwizzle* b, NVNtextureSwizzle* a) {
    unpack_swizzle(live(t) ? t->desc.swizzle : kIdentitySwizzle, r, g, b, a);
}
NVNtextureDepthStencilMode nvnTextureGetDepthStencilMode(const NVNtexture* t) {
    return static_cast<NVNtextureDepthStencilMode>(live(t) ? t->desc.stencil_mode : 0);
}
ptrdiff_t nvnTextureGetStride(const NVNtexture* t) {
    if (!live(t))
        return 0;
    const auto layout = layout_of(t->desc);
    return layout && layout->linear ? layout->stride : 0;
}
NVNtextureAddress nvnTextureGetTextureAddress(const NVNtexture* t) {
    return live(t) ? t->desc.address : 0;
}
void nvnTextureWriteTexels(const NVNtexture* t, const NVNtextureView* v, const NVNcopyRegion* r,
                           const void* data) {
    transfer(t, v, r, static_cast<uint8_t*>(const_cast<void*>(data)), 0, 0, true);
}
void nvnTextureWriteTexelsStrided(const NVNtexture* t, const NVNtextureView* v, const NVNcopyRegion* r,
                                  const void* data, ptrdiff_t row_stride, ptrdiff_t image_stride) {
    transfer(t, v, r, static_cast<uint8_t*>(const_cast<void*>(data)), row_stride, image_stride, true);
}
void nvnTextureReadTexels(const NVNtexture* t, const NVNtextureView* v, const NVNcopyRegion* r, void* data) {
    transfer(t, v, r, static_cast<uint8_t*>(data), 0, 0, false);
}
void nvnTextureReadTexelsStrided(const NVNtexture* t, const NVNtextureView* v, const NVNcopyRegion* r,
                                 void* data, ptrdiff_t row_stride, ptrdiff_t image_stride) {
    transfer(t, v, r, static_cast<uint8_t*>(data), row_stride, image_stride, false);
}
void nvnTextureFlushTexels(const NVNtexture*, const NVNtextureView*, const NVNcopyRegion*) {}
void nvnTextureInvalidateTexels(const NVNtexture*, const NVNtextureView*, const NVNcopyRegion*) {}
NVNmemoryPool* nvnTextureGetMemoryPool(const NVNtexture* t) {
    return live(t) ? t->pool : nullptr;
}
ptrdiff_t nvnTextureGetMemoryOffset(const NVNtexture* t) {
    return live(t) ? t->offset : 0;
}
int nvnTextureGetStorageSize(const NVNtexture* t) {
    return live(t) ? static_cast<int>(t->storage_bytes) : 0;
}
NVNboolean nvnTextureCompare(const NVNtexture* a, const NVNtexture* b) {
    return live(a) && live(b) && a->desc == b->desc;
}
uint64_t nvnTextureGetDebugID(const NVNtexture*) {
    return 0;
}
NVNrawStorageClass nvnTextureGetRawStorageClass(const NVNtexture*) {
    return static_cast<NVNrawStorageClass>(kRawStorageClassLinear);
}

} // extern "C"
