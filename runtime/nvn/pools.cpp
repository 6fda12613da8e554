// Texture and sampler pools: tables of ids, content copied at registration.
#include "runtime/nvn/host.h"

namespace dmsh::nvn {
namespace {

constexpr int64_t kDescriptorBytes = 32;

template <class Pool>
bool place(Pool* pool, const NVNmemoryPool* memory, ptrdiff_t offset, int count, uint32_t magic, int most) {
    const auto p = Host::get().pool(memory);
    if (!pool || !p || offset < 0 || count < 0 || count > most || static_cast<uint64_t>(offset) > p->size ||
        static_cast<uint64_t>(count * kDescriptorBytes) > p->size - static_cast<uint64_t>(offset)) {
        report(Report::bad_argument, "descriptor pool of %d at %td", count, offset);
        return false;
    }
    pool->magic = magic;
    pool->pool = memory;
    pool->offset = offset;
    pool->count = count;
    pool->reserved = 0;
    return true;
}

template <class Pool>
bool live(const Pool* pool, uint32_t magic) {
    if (pool && pool->magic == magic)
        return true;
    report(Report::bad_object, "descriptor pool %p", static_cast<const void*>(pool));
    return false;
}

void register_texture(const NVNtexturePool* pool, int id, const NVNtexture* texture,
                      const NVNtextureView* view) {
    if (!live(pool, kTexturePoolMagic))
        return;
    if (!texture || texture->magic != kTextureMagic) {
        report(Report::bad_object, "texture %p for id %d", static_cast<const void*>(texture), id);
        return;
    }
    Host::get().set_texture(pool->serial, id, {{texture->desc, view ? *view : NVNtextureView{}}, true});
}

} // namespace
} // namespace dmsh::nvn

using namespace dmsh::nvn;

extern "C" {

NVNboolean nvnTexturePoolInitialize(NVNtexturePool* pool, const NVNmemoryPool* memory, ptrdiff_t offset,
                                    int count) {
    if (!place(pool, memory, offset, count, kTexturePoolMagic, static_cast<int>(dmsh::kTexturePoolSize)))
        return 0;
    pool->serial = Host::get().add_texture_pool(count);
    Host::get().track(NVN_DEBUG_OBJECT_TYPE_TEXTURE_POOL, pool);
    return 1;
}
void nvnTexturePoolSetDebugLabel(NVNtexturePool*, const char*) {}
void nvnTexturePoolFinalize(NVNtexturePool* pool) {
    if (!live(pool, kTexturePoolMagic))
        return;
    Host::get().remove_texture_pool(pool->serial);
    Host::get().untrack(NVN_DEBUG_OBJECT_TYPE_TEXTURE_POOL, pool);
    pool->magic = 0;
}
void nvnTexturePoolRegisterTexture(const NVNtexturePool* pool, int id, const NVNtexture* texture,
                                   const NVNtextureView* view) {
    register_texture(pool, id, texture, view);
}
// The same table: what an id is used as decides the binding.
void nvnTexturePoolRegisterImage(const NVNtexturePool* pool, int id, const NVNtexture* texture,
                                 const NVNtextureView* view) {
    register_texture(pool, id, texture, view);
}
const NVNmemoryPool* nvnTexturePoolGetMemoryPool(const NVNtexturePool* pool) {
    return pool ? pool->pool : nullptr;
}
ptrdiff_t nvnTexturePoolGetMemoryOffset(const NVNtexturePool* pool) {
    return pool ? pool->offset : 0;
}
int nvnTexturePoolGetSize(const NVNtexturePool* pool) {
    return pool ? pool->count : 0;
}

NVNboolean nvnSamplerPoolInitialize(NVNsamplerPool* pool, const NVNmemoryPool* memory, ptrdiff_t offset,
                                    int count) {
    if (!place(pool, memory, offset, count, kSamplerPoolMagic, static_cast<int>(dmsh::kSamplerPoolSize)))
        return 0;
    pool->serial = Host::get().add_sampler_pool(count);
    Host::get().track(NVN_DEBUG_OBJECT_TYPE_SAMPLER_POOL, pool);
    return 1;
}
void nvnSamplerPoolSetDebugLabel(NVNsamplerPool*, const char*) {}
void nvnSamplerPoolFinalize(NVNsamplerPool* pool) {
    if (!live(pool, kSamplerPoolMagic))
        return;
    Host::get().remove_sampler_pool(pool->serial);
    Host::get().untrack(NVN_DEBUG_OBJECT_TYPE_SAMPLER_POOL, pool);
    pool->magic = 0;
}
void nvnSamplerPoolRegisterSampler(const NVNsamplerPool* pool, int id, const NVNsampler* sampler) {
    if (!live(pool, kSamplerPoolMagic))
        return;
    if (!sampler || sampler->magic != kSamplerMagic) {
        report(Report::bad_object, "sampler %p for id %d", static_cast<const void*>(sampler), id);
        return;
    }
    Host::get().set_sampler(pool->serial, id, {sampler->desc, true});
}
void nvnSamplerPoolRegisterSamplerBuilder(const NVNsamplerPool* pool, int id,
                                          const NVNsamplerBuilder* builder) {
    if (live(pool, kSamplerPoolMagic) && builder)
        Host::get().set_sampler(pool->serial, id, {builder->desc, true});
}
const NVNmemoryPool* nvnSamplerPoolGetMemoryPool(const NVNsamplerPool* pool) {
    return pool ? pool->pool : nullptr;
}
ptrdiff_t nvnSamplerPoolGetMemoryOffset(const NVNsamplerPool* pool) {
    return pool ? pool->offset : 0;
}
int nvnSamplerPoolGetSize(const NVNsamplerPool* pool) {
    return pool ? pool->count : 0;
}

} // extern "C"
