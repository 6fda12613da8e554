// Texture and image functions of a running IrMachine: raw ones by handle, bound ones by the handles that their bindings stand for.
#include "compiler/sim/jit/guest_bindings.h"
#include "compiler/sim/jit/ir_run.h"
#include "compiler/sim/texture/texture_set.h"
#include <bit>
#include <cstring>

namespace dmsh::sim {
namespace {

using F4 = float __attribute__((vector_size(16)));
using I4 = uint32_t __attribute__((vector_size(16)));

F4 floats(const Texel& t) { return std::bit_cast<F4>(t); }
I4 words(const Texel& t) { return std::bit_cast<I4>(t); }

TextureSet& set() { return *ir_run->textures; }
Stage stage() { return ir_run->launch->graphics ? ir_run->launch->graphics->stage : Stage::compute; }

// The handle word that element `element` of a binding stands for.
uint32_t handle_of(uint32_t index, uint32_t element) {
    const Binding& b = ir_binding(index);
    const auto word = bound_handle(b, *ir_run->abi, element, ir_constant);
    if (!word)
        ir_fault("a texture access of binding kind " + std::string(binding_kind_name(b.kind)));
    return word.value_or(0);
}
uint32_t handle_of(uint32_t texture, uint32_t texture_element, uint32_t sampler, uint32_t sampler_element) {
    if (sampler == ~0u)
        return handle_of(texture, texture_element);
    return handle_of(texture, texture_element) | handle_of(sampler, sampler_element);
}

void four_bit_offsets(Lookup& where, uint32_t word) {
    for (unsigned k = 0; k < 3; ++k)
        where.offset[k] = static_cast<int32_t>(word << (28 - 4 * k)) >> 28;
}

const Texture& texture_for(uint32_t handle, const TexDesc& d) { return set().texture(handle, d.dim, d.arrayed, d.multisampled); }

#define SITE reinterpret_cast<uintptr_t>(__builtin_return_address(0))

F4 sample_by_handle(uint32_t handle, uint32_t desc, const std::array<float, 3>& at, uint32_t layer, float ref, float lod, uint32_t offset, uintptr_t site) {
    const TexDesc d = TexDesc::unpack(desc);
    Lookup where{at, layer, {}, d.depth, ref};
    if (d.offset != TexDesc::no_offset)
        four_bit_offsets(where, offset);
    const Texture& t = texture_for(handle, d);
    float level = lod;
    if (d.lod == TexDesc::zero)
        level = 0;
    else if (d.lod != TexDesc::level) {
        if (stage() == Stage::fragment)
            ir_wait(LaneOp::quad, site, {std::bit_cast<uint32_t>(at[0]), std::bit_cast<uint32_t>(at[1]), std::bit_cast<uint32_t>(at[2]), 0});
        level = implicit_level(t, at, ir_run->now->dx, ir_run->now->dy, stage()) + (d.lod == TexDesc::bias ? lod : 0);
    }
    return floats(sample(t, set().sampler(handle), where, level));
}
F4 tex_sample(uint32_t h, uint32_t d, float x, float y, float z, uint32_t layer, float ref, float lod, uint32_t offset) {
    return sample_by_handle(h, d, {x, y, z}, layer, ref, lod, offset, SITE);
}
F4 btex_sample(uint32_t t, uint32_t te, uint32_t s, uint32_t se, uint32_t d, float x, float y, float z, uint32_t layer, float ref, float lod, uint32_t offset) {
    return sample_by_handle(handle_of(t, te, s, se), d, {x, y, z}, layer, ref, lod, offset, SITE);
}

F4 tex_grad(uint32_t h, uint32_t desc, float x, float y, float z, uint32_t layer, float ax, float ay, float az, float bx, float by, float bz, uint32_t offset) {
    const TexDesc d = TexDesc::unpack(desc);
    Lookup where{{x, y, z}, layer, {}, false, 0};
    if (d.offset != TexDesc::no_offset)
        four_bit_offsets(where, offset);
    const Texture& t = texture_for(h, d);
    return floats(sample(t, set().sampler(h), where, level_of_detail(t, where.at, {ax, ay, az}, {bx, by, bz})));
}
F4 btex_grad(uint32_t t, uint32_t te, uint32_t s, uint32_t se, uint32_t d, float x, float y, float z, uint32_t layer, float ax, float ay, float az, float bx,
             float by, float bz, uint32_t offset) {
    return tex_grad(handle_of(t, te, s, se), d, x, y, z, layer, ax, ay, az, bx, by, bz, offset);
}

F4 tex_fetch(uint32_t h, uint32_t desc, uint32_t x, uint32_t y, uint32_t z, uint32_t layer, uint32_t lod, uint32_t index, uint32_t offset) {
    const TexDesc d = TexDesc::unpack(desc);
    Lookup where;
    if (d.offset != TexDesc::no_offset)
        four_bit_offsets(where, offset);
    const std::array<uint32_t, 3> in{x, y, z};
    std::array<int32_t, 3> at{};
    for (unsigned k = 0; k < 3; ++k)
        at[k] = static_cast<int32_t>(in[k] + static_cast<uint32_t>(where.offset[k]));
    return floats(fetch(texture_for(h, d), at, layer, static_cast<int32_t>(lod), index));
}
F4 btex_fetch(uint32_t t, uint32_t te, uint32_t s, uint32_t se, uint32_t d, uint32_t x, uint32_t y, uint32_t z, uint32_t layer, uint32_t lod, uint32_t index,
              uint32_t offset) {
    return tex_fetch(handle_of(t, te, s, se), d, x, y, z, layer, lod, index, offset);
}

F4 tex_gather(uint32_t h, uint32_t desc, float x, float y, float z, uint32_t layer, float ref, uint32_t offset0, uint32_t offset1) {
    const TexDesc d = TexDesc::unpack(desc);
    const Lookup where{{x, y, z}, layer, {}, d.depth, ref};
    std::array<std::array<int32_t, 2>, 4> offsets{};
    const auto field = [](uint32_t w, unsigned at, unsigned bits) { return static_cast<int32_t>(w << (32 - bits - at)) >> (32 - bits); };
    for (unsigned k = 0; k < 4; ++k) {
        const uint32_t w = k < 2 ? offset0 : offset1;
        if (d.offset == TexDesc::aoffi)
            offsets[k] = {field(offset0, 0, 6), field(offset0, 8, 6)};
        else if (d.offset == TexDesc::ptp)
            offsets[k] = {field(w, 16 * (k % 2), 8), field(w, 16 * (k % 2) + 8, 8)};
    }
    return floats(gather(texture_for(h, d), set().sampler(h), where, d.component, offsets));
}
F4 btex_gather(uint32_t t, uint32_t te, uint32_t s, uint32_t se, uint32_t d, float x, float y, float z, uint32_t layer, float ref, uint32_t o0, uint32_t o1) {
    return tex_gather(handle_of(t, te, s, se), d, x, y, z, layer, ref, o0, o1);
}

I4 tex_size(uint32_t h, uint32_t, uint32_t lod) { return words(set().size(h, lod)); }
I4 btex_size(uint32_t t, uint32_t te, uint32_t s, uint32_t se, uint32_t d, uint32_t lod) { return tex_size(handle_of(t, te, s, se), d, lod); }

F4 lod_by_handle(uint32_t h, uint32_t desc, const std::array<float, 3>& at, uintptr_t site) {
    const Texture& t = texture_for(h, TexDesc::unpack(desc));
    const Sampler& s = set().sampler(h);
    if (stage() == Stage::fragment)
        ir_wait(LaneOp::quad, site, {std::bit_cast<uint32_t>(at[0]), std::bit_cast<uint32_t>(at[1]), std::bit_cast<uint32_t>(at[2]), 0});
    const float lod = implicit_level(t, at, ir_run->now->dx, ir_run->now->dy, stage());
    return F4{clamped_level(t, s, lod), lod + s.lod_bias, 0, 0};
}
F4 tex_lod(uint32_t h, uint32_t d, float x, float y, float z, uint32_t) { return lod_by_handle(h, d, {x, y, z}, SITE); }
F4 btex_lod(uint32_t t, uint32_t te, uint32_t s, uint32_t se, uint32_t d, float x, float y, float z, uint32_t) {
    return lod_by_handle(handle_of(t, te, s, se), d, {x, y, z}, SITE);
}

// ---- images --------------------------------------------------------------------------------------------------------------

uint32_t access_bytes(ImageAccess a) {
    constexpr uint32_t bytes[] = {16, 1, 2, 4, 8, 16};
    return bytes[static_cast<unsigned>(a) % 6];
}

uint8_t* texel_of(uint32_t handle, const ImgDesc& d, uint32_t x, uint32_t y, uint32_t z, uint32_t layer) {
    Texture& image = set().image(handle, d.dim, d.arrayed, access_bytes(d.access));
    std::array<int64_t, 4> at{static_cast<int32_t>(x), static_cast<int32_t>(y), static_cast<int32_t>(z), layer};
    const int64_t limit[] = {image.width, image.height, image.depth, image.layers};
    for (unsigned k = 0; k < 4 && d.bounds == ImgDesc::near; ++k)
        at[k] = std::clamp<int64_t>(at[k], 0, limit[k] - 1);
    return image.at(0, at[0], at[1], d.dim == ImageDim::d3 ? at[2] : at[3]);
}

I4 img_load(uint32_t h, uint32_t desc, uint32_t x, uint32_t y, uint32_t z, uint32_t layer) {
    const ImgDesc d = ImgDesc::unpack(desc);
    Texel t{};
    if (const uint8_t* p = texel_of(h, d, x, y, z, layer))
        std::memcpy(t.data(), p, access_bytes(d.access));
    return words(t);
}
void img_store(uint32_t h, uint32_t desc, uint32_t x, uint32_t y, uint32_t z, uint32_t layer, I4 value) {
    const ImgDesc d = ImgDesc::unpack(desc);
    uint8_t* p = texel_of(h, d, x, y, z, layer);
    if (!p || ir_run->now->dead())
        return;
    const auto t = std::bit_cast<Texel>(value);
    const uint32_t bytes = access_bytes(d.access);
    for (unsigned k = 0; 4 * k < bytes; ++k)
        if (d.access != ImageAccess::formatted || d.mask >> k & 1)
            std::memcpy(p + 4 * k, &t[k], std::min(bytes, 4u));
}
uint32_t img_atomic(uint32_t h, uint32_t desc, uint32_t x, uint32_t y, uint32_t z, uint32_t layer, uint32_t op, uint32_t value, uint32_t comparand) {
    uint8_t* p = texel_of(h, ImgDesc::unpack(desc), x, y, z, layer);
    if (!p)
        return 0;
    uint32_t old;
    std::memcpy(&old, p, 4);
    const uint32_t next = ir_apply_atomic(op, old, value, comparand);
    if (!ir_run->now->dead())
        std::memcpy(p, &next, 4);
    return old;
}
I4 bimg_load(uint32_t b, uint32_t e, uint32_t d, uint32_t x, uint32_t y, uint32_t z, uint32_t layer) { return img_load(handle_of(b, e), d, x, y, z, layer); }
void bimg_store(uint32_t b, uint32_t e, uint32_t d, uint32_t x, uint32_t y, uint32_t z, uint32_t layer, I4 value) {
    img_store(handle_of(b, e), d, x, y, z, layer, value);
}
uint32_t bimg_atomic(uint32_t b, uint32_t e, uint32_t d, uint32_t x, uint32_t y, uint32_t z, uint32_t layer, uint32_t op, uint32_t value, uint32_t comparand) {
    return img_atomic(handle_of(b, e), d, x, y, z, layer, op, value, comparand);
}
I4 bimg_size(uint32_t b, uint32_t e, uint32_t) {
    auto size = set().size(handle_of(b, e), 0);
    size[3] = 1;
    return words(size);
}
// The predicate of a surface access, which nothing may read; its value is the interpreter's: not written.
bool img_status() { return false; }

} // namespace

void add_texture_functions(std::map<std::string, void*>& map) {
#define H(name, function) map[name] = reinterpret_cast<void*>(static_cast<decltype(&function)>(&function))
    H("dmsh.tex.sample", tex_sample);
    H("dmsh.tex.grad", tex_grad);
    H("dmsh.tex.fetch", tex_fetch);
    H("dmsh.tex.gather", tex_gather);
    H("dmsh.tex.size", tex_size);
    H("dmsh.tex.lod", tex_lod);
    H("dmsh.btex.sample", btex_sample);
    H("dmsh.btex.grad", btex_grad);
    H("dmsh.btex.fetch", btex_fetch);
    H("dmsh.btex.gather", btex_gather);
    H("dmsh.btex.size", btex_size);
    H("dmsh.btex.lod", btex_lod);
    H("dmsh.img.load", img_load);
    H("dmsh.img.store", img_store);
    H("dmsh.img.atomic", img_atomic);
    H("dmsh.img.status", img_status);
    H("dmsh.bimg.load", bimg_load);
    H("dmsh.bimg.store", bimg_store);
    H("dmsh.bimg.atomic", bimg_atomic);
    H("dmsh.bimg.size", bimg_size);
#undef H
}

} // namespace dmsh::sim
