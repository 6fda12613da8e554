// Makes up textures, samplers and images.
#include "compiler/sim/texture/texture_set.h"
#include <bit>
#include <cstdio>
#include <cstring>

namespace dmsh::sim {
namespace {

constexpr uint32_t kTextureIds = 1u << 20;

// SplitMix64 of seed and what is drawn.
uint64_t draw(uint64_t seed, uint64_t what) {
    uint64_t z = seed + (what + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

struct Size {
    uint32_t width, height, depth, levels;
};
Size size_of(uint64_t seed, uint32_t id) {
    const uint64_t r = draw(seed, id);
    Size s{4 + static_cast<uint32_t>(r & 15), 4 + static_cast<uint32_t>(r >> 4 & 15), 2 + static_cast<uint32_t>(r >> 8 & 3), 1};
    while ((std::max(s.width, s.height) >> s.levels) > 0)
        ++s.levels;
    return s;
}

// Code reads buffers as textures of one dimension: they are one thing here.
ImageDim linear(ImageDim dim) { return dim == ImageDim::buffer ? ImageDim::d1 : dim; }

void shape(Texture& t, uint64_t seed, uint32_t id, ImageDim dim, bool arrayed) {
    const Size s = size_of(seed, id);
    t.dim = dim;
    t.arrayed = arrayed;
    t.width = s.width;
    t.height = dim == ImageDim::d1 || dim == ImageDim::buffer ? 1 : dim == ImageDim::cube ? s.width : s.height;
    t.depth = dim == ImageDim::d3 ? s.depth : 1;
    t.layers = (arrayed ? s.depth : 1) * (dim == ImageDim::cube ? 6 : 1);
}

} // namespace

const Texture& TextureSet::texture(uint32_t handle, ImageDim dim, bool arrayed, bool multisampled) {
    dim = linear(dim);
    const uint32_t id = handle % kTextureIds;
    const auto [it, fresh] = textures_.try_emplace({id, dim, arrayed, multisampled});
    Texture& t = it->second;
    if (!fresh)
        return t;
    shape(t, seed_, id, dim, arrayed);
    constexpr TexelFormat formats[] = {{4, 8, TexelKind::unorm}, {4, 16, TexelKind::unorm}, {4, 8, TexelKind::snorm}, {2, 8, TexelKind::unorm}};
    t.format = formats[draw(seed_, id) >> 16 & 3];
    t.samples = multisampled ? 4 : 1;
    t.allocate(multisampled ? 1 : size_of(seed_, id).levels);
    uint64_t n = uint64_t{id} << 32 | uint64_t(dim) << 28 | uint64_t{arrayed} << 27;
    for (auto& level : t.levels)
        for (uint8_t& byte : level)
            byte = static_cast<uint8_t>(draw(seed_, n++) >> 40);
    return t;
}

const Sampler& TextureSet::sampler(uint32_t handle) {
    const uint32_t id = handle >> 20;
    const auto [it, fresh] = samplers_.try_emplace(id);
    Sampler& s = it->second;
    if (!fresh)
        return s;
    const uint64_t r = draw(seed_ ^ 0x5a3717, id);
    for (unsigned k = 0; k < 3; ++k)
        s.wrap[k] = static_cast<Wrap>((r >> 3 * k & 7) % 5);
    s.mag = r >> 9 & 1 ? Filter::linear : Filter::nearest;
    s.min = r >> 10 & 1 ? Filter::linear : Filter::nearest;
    s.mip = static_cast<Mip>((r >> 11 & 3) % 3);
    s.compare = static_cast<Compare>(r >> 13 & 7);
    if (r >> 16 & 1)
        s.lod_bias = static_cast<float>(static_cast<int>(r >> 17 & 7) - 4) / 4;
    if (r >> 20 & 1)
        s.lod_min = 1, s.lod_max = 2.5f;
    for (unsigned k = 0; k < 4; ++k)
        s.border[k] = std::bit_cast<uint32_t>(r >> (24 + k) & 1 ? 1.0f : 0.0f);
    return s;
}

Texture& TextureSet::image(uint32_t handle, ImageDim dim, bool arrayed, uint32_t texel_bytes) {
    dim = linear(dim);
    const uint32_t id = handle % kTextureIds;
    const auto [it, fresh] = images_.try_emplace({id, dim, arrayed, texel_bytes});
    Texture& t = it->second;
    if (!fresh)
        return t;
    shape(t, seed_, id, dim, arrayed);
    t.format = {static_cast<uint8_t>(texel_bytes < 4 ? 1 : texel_bytes / 4), static_cast<uint8_t>(texel_bytes < 4 ? texel_bytes * 8 : 32), TexelKind::uint};
    t.allocate(1);
    uint64_t n = uint64_t{id} << 32 | uint64_t{texel_bytes} << 24;
    for (uint8_t& byte : t.levels[0])
        byte = static_cast<uint8_t>(draw(seed_, n++) >> 40);
    return t;
}

std::array<uint32_t, 4> TextureSet::size(uint32_t handle, uint32_t level) const {
    const Size s = size_of(seed_, handle % kTextureIds);
    const uint32_t l = std::min(level, 31u);
    return {std::max(s.width >> l, 1u), std::max(s.height >> l, 1u), s.depth, s.levels};
}

void TextureSet::set(uint32_t handle, bool multisampled, Texture texture) {
    const Shape key{handle % kTextureIds, texture.dim, texture.arrayed, multisampled};
    textures_[key] = std::move(texture);
}

std::string TextureSet::difference(const TextureSet& other) const {
    // An image that one side alone touched holds there what a fresh one holds.
    TextureSet a = *this, b = other;
    for (const auto* list : {&images_, &other.images_})
        for (const auto& [key, unused] : *list) {
            const auto [id, dim, arrayed, bytes] = key;
            const Texture &x = a.image(id, dim, arrayed, bytes), &y = b.image(id, dim, arrayed, bytes);
            for (size_t k = 0; k < x.levels[0].size(); ++k)
                if (x.levels[0][k] != y.levels[0][k]) {
                    char text[120];
                    std::snprintf(text, sizeof text, "image %u, texel %zu of %u bytes: byte 0x%02x in the interpreter, 0x%02x in the IR", id, k / bytes, bytes,
                                  x.levels[0][k], y.levels[0][k]);
                    return text;
                }
        }
    return {};
}

} // namespace dmsh::sim
