// TextureSet: the textures, samplers and images that handles name. What nobody gave is made up, the same for the same seed and handle.
#pragma once
#include "compiler/sim/texture/texture.h"
#include <map>
#include <string>
#include <tuple>

namespace dmsh::sim {

class TextureSet {
  public:
    explicit TextureSet(uint64_t seed = 0) : seed_(seed) {}

    // A texture by handle bits 0..19, in the shape that the instruction asks for. Size, layers and levels depend on the handle alone.
    const Texture& texture(uint32_t handle, ImageDim dim, bool arrayed, bool multisampled);
    // A sampler by handle bits 20..31.
    const Sampler& sampler(uint32_t handle);
    // A storage image by handle bits 0..19: texels of one to sixteen bytes as unsigned words (formatted access: four words).
    Texture& image(uint32_t handle, ImageDim dim, bool arrayed, uint32_t texel_bytes);
    // Width, height, depth or layers, levels.
    std::array<uint32_t, 4> size(uint32_t handle, uint32_t level) const;

    // Gives a texture or sampler of its own to a handle.
    void set(uint32_t handle, bool multisampled, Texture texture);
    void set(uint32_t handle, const Sampler& sampler) { samplers_[handle >> 20] = sampler; }

    // The first image whose texels differ, as text; empty where none does.
    std::string difference(const TextureSet& other) const;

  private:
    using Shape = std::tuple<uint32_t, ImageDim, bool, bool>;                // id, dim, arrayed, multisampled
    using ImageShape = std::tuple<uint32_t, ImageDim, bool, uint32_t>;       // id, dim, arrayed, texel bytes
    uint64_t seed_;
    std::map<Shape, Texture> textures_;
    std::map<uint32_t, Sampler> samplers_;
    std::map<ImageShape, Texture> images_;
};

} // namespace dmsh::sim
