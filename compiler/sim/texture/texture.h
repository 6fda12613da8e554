// The reference sampler: textures, samplers and what a look-up returns, by the rules that Vulkan and NVN share. Written for reading.
#pragma once
#include "runtime/abi/binding_kinds.h"
#include <array>
#include <cstdint>
#include <vector>

namespace dmsh::sim {

using Texel = std::array<uint32_t, 4>; // floats as bits, or integers

// Formats that a texel can be stored in: components, their bits, and what they mean.
enum class TexelKind : uint8_t { unorm, snorm, uint, sint, real, srgb };
struct TexelFormat {
    uint8_t components = 4;
    uint8_t bits = 32; // per component; 8, 16 or 32
    TexelKind kind = TexelKind::real;
    uint32_t bytes() const { return components * bits / 8u; }
    bool integer() const { return kind == TexelKind::uint || kind == TexelKind::sint; }
};
Texel decode_texel(const TexelFormat& format, const uint8_t* bytes);
void encode_texel(const TexelFormat& format, const Texel& texel, uint8_t* bytes);

struct Texture {
    ImageDim dim = ImageDim::d2;
    bool arrayed = false;
    TexelFormat format;
    uint32_t width = 1, height = 1, depth = 1; // of level 0
    uint32_t layers = 1;                       // cubes: six for each
    uint32_t samples = 1;
    std::vector<std::vector<uint8_t>> levels; // texels: x, then y, then z or layer, then sample

    uint32_t width_at(uint32_t level) const { return width >> level ? width >> level : 1; }
    uint32_t height_at(uint32_t level) const { return height >> level ? height >> level : 1; }
    uint32_t depth_at(uint32_t level) const { return depth >> level ? depth >> level : 1; }
    // Makes room for `count` levels of zeros.
    void allocate(uint32_t count);
    // The place of a texel, or nullptr outside. `z` is the slice of 3D textures, else the layer (cubes: 6 * cube + face).
    uint8_t* at(uint32_t level, int64_t x, int64_t y, int64_t z, uint32_t sample = 0);
    const uint8_t* at(uint32_t level, int64_t x, int64_t y, int64_t z, uint32_t sample = 0) const {
        return const_cast<Texture*>(this)->at(level, x, y, z, sample);
    }
};

enum class Wrap : uint8_t { repeat, mirror, clamp_to_edge, clamp_to_border, mirror_once };
enum class Filter : uint8_t { nearest, linear };
enum class Mip : uint8_t { none, nearest, linear };
enum class Compare : uint8_t { never, less, equal, less_equal, greater, not_equal, greater_equal, always };

struct Sampler {
    std::array<Wrap, 3> wrap{};
    Filter mag = Filter::nearest, min = Filter::nearest;
    Mip mip = Mip::nearest;
    Compare compare = Compare::less_equal; // used by look-ups with a reference value
    float lod_min = -1000, lod_max = 1000, lod_bias = 0;
    Texel border{};
};

// Where a look-up goes. Coordinates count 0..1 over the texture (cubes: a direction); offsets count texels.
struct Lookup {
    std::array<float, 3> at{};
    uint32_t layer = 0;
    std::array<int32_t, 3> offset{};
    bool compares = false;
    float reference = 0;
};

// Level of detail of coordinates that change by dx and dy from pixel to pixel; before bias and clamps. Cubes: the direction's change.
float level_of_detail(const Texture& t, const std::array<float, 3>& at, const std::array<float, 3>& dx, const std::array<float, 3>& dy);
// Bias and clamps of the sampler, then those of the texture's levels.
float clamped_level(const Texture& t, const Sampler& s, float lod);

// A filtered texel at a level of detail (before the sampler's clamps). Integer textures are not filtered. With a reference the result of
// the comparison in component 0.
Texel sample(const Texture& t, const Sampler& s, const Lookup& where, float lod);
// Component `component` of the four texels that a bilinear look-up at level 0 reads: (0,1), (1,1), (1,0), (0,0). `offsets` displace each.
Texel gather(const Texture& t, const Sampler& s, const Lookup& where, uint32_t component, const std::array<std::array<int32_t, 2>, 4>& offsets);
// One texel by integer coordinates; zeros outside.
Texel fetch(const Texture& t, const std::array<int32_t, 3>& at, uint32_t layer, int32_t level, uint32_t sample_index);

} // namespace dmsh::sim
