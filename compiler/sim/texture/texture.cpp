// Texel formats, addressing, filtering, comparison.
#include "compiler/sim/texture/texture.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace dmsh::sim {
namespace {

float as_float(uint32_t w) { return std::bit_cast<float>(w); }
uint32_t as_word(float f) { return std::bit_cast<uint32_t>(f); }

float half_value(uint32_t h) {
    const int exponent = static_cast<int>(h >> 10 & 31);
    const float mantissa = static_cast<float>(h & 0x3ff);
    const float v = exponent == 31  ? (mantissa != 0 ? NAN : INFINITY)
                    : exponent == 0 ? std::ldexp(mantissa, -24)
                                    : std::ldexp(1024 + mantissa, exponent - 25);
    return h & 0x8000 ? -v : v;
}
// To nearest even, by searching the neighbours of the truncated value.
uint32_t half_bits(float f) {
    if (f != f)
        return 0x7e00;
    const uint32_t sign = as_word(f) >> 16 & 0x8000;
    const float a = std::fabs(f);
    if (a >= 65520)
        return sign | 0x7c00;
    const int exponent = std::max(a == 0 ? -14 : std::ilogb(a), -14);
    const float units = std::nearbyint(std::ldexp(a, 10 - exponent));
    const uint32_t m = static_cast<uint32_t>(units);
    return sign | (m < 1024 ? m : static_cast<uint32_t>(exponent + 14) * 1024 + m); // a carry moves on into the exponent
}

float to_linear(float c) { return c <= 0.04045f ? c / 12.92f : std::pow((c + 0.055f) / 1.055f, 2.4f); }
float to_srgb(float c) { return c <= 0.0031308f ? c * 12.92f : 1.055f * std::pow(c, 1 / 2.4f) - 0.055f; }

// One texel index along an axis, or -1 for the border.
int64_t wrapped(Wrap wrap, int64_t i, int64_t size) {
    const auto modulo = [](int64_t a, int64_t n) { return (a % n + n) % n; };
    switch (wrap) {
    case Wrap::repeat: return modulo(i, size);
    case Wrap::mirror: {
        const int64_t m = modulo(i, 2 * size);
        return m < size ? m : 2 * size - 1 - m;
    }
    case Wrap::clamp_to_edge: return std::clamp<int64_t>(i, 0, size - 1);
    case Wrap::clamp_to_border: return i < 0 || i >= size ? -1 : i;
    default: return std::min<int64_t>(i < 0 ? -1 - i : i, size - 1);
    }
}

struct CubePlace {
    uint32_t face;
    float s, t; // 0..1
};
CubePlace cube_place(const std::array<float, 3>& d) {
    const float ax = std::fabs(d[0]), ay = std::fabs(d[1]), az = std::fabs(d[2]);
    float s = 0, t = 0, m = 0;
    uint32_t face = 0;
    if (az >= ax && az >= ay)
        face = d[2] < 0 ? 5 : 4, s = d[2] < 0 ? -d[0] : d[0], t = -d[1], m = az;
    else if (ay >= ax)
        face = d[1] < 0 ? 3 : 2, s = d[0], t = d[1] < 0 ? -d[2] : d[2], m = ay;
    else
        face = d[0] < 0 ? 1 : 0, s = d[0] < 0 ? d[2] : -d[2], t = -d[1], m = ax;
    if (m == 0)
        return {face, 0.5f, 0.5f};
    return {face, 0.5f * (s / m + 1), 0.5f * (t / m + 1)};
}
// The direction of a place on a face, also outside 0..1.
std::array<float, 3> cube_direction(const CubePlace& p) {
    const float s = 2 * p.s - 1, t = 2 * p.t - 1;
    switch (p.face) {
    case 0: return {1, -t, -s};
    case 1: return {-1, -t, s};
    case 2: return {s, 1, t};
    case 3: return {s, -1, -t};
    case 4: return {s, -t, 1};
    default: return {-s, -t, -1};
    }
}

bool holds(Compare c, float reference, float texel) {
    switch (c) {
    case Compare::never: return false;
    case Compare::less: return reference < texel;
    case Compare::equal: return reference == texel;
    case Compare::less_equal: return reference <= texel;
    case Compare::greater: return reference > texel;
    case Compare::not_equal: return reference != texel;
    case Compare::greater_equal: return reference >= texel;
    default: return true;
    }
}

unsigned axes(ImageDim dim) { return dim == ImageDim::d1 || dim == ImageDim::buffer ? 1 : dim == ImageDim::d3 ? 3 : 2; }

// A level of a texture, with the look-up's face and layer chosen: texels by plain indices.
struct Plane {
    const Texture& texture;
    const Sampler& sampler;
    const Lookup& where;
    uint32_t level;
    uint32_t layer; // cubes: of the face in use
    uint32_t face = 0;

    int64_t size(unsigned axis) const {
        return axis == 0 ? texture.width_at(level) : axis == 1 ? texture.height_at(level) : texture.depth_at(level);
    }
    Texel texel(std::array<int64_t, 3> i) const {
        uint32_t slice = layer;
        if (texture.dim == ImageDim::cube) {
            // Past a face's edge lies the neighbour.
            if (i[0] < 0 || i[1] < 0 || i[0] >= size(0) || i[1] >= size(1)) {
                const CubePlace outside{face, (static_cast<float>(i[0]) + 0.5f) / static_cast<float>(size(0)),
                                        (static_cast<float>(i[1]) + 0.5f) / static_cast<float>(size(1))};
                const CubePlace p = cube_place(cube_direction(outside));
                slice = layer - face + p.face;
                i[0] = std::clamp<int64_t>(static_cast<int64_t>(p.s * static_cast<float>(size(0))), 0, size(0) - 1);
                i[1] = std::clamp<int64_t>(static_cast<int64_t>(p.t * static_cast<float>(size(1))), 0, size(1) - 1);
            }
        } else {
            for (unsigned k = 0; k < axes(texture.dim); ++k) {
                i[k] = wrapped(sampler.wrap[k], i[k], size(k));
                if (i[k] < 0)
                    return finish(sampler.border);
            }
        }
        const uint8_t* p = texture.at(level, i[0], i[1], texture.dim == ImageDim::d3 ? i[2] : slice);
        return finish(p ? decode_texel(texture.format, p) : Texel{});
    }
    Texel finish(const Texel& t) const {
        return where.compares ? Texel{as_word(holds(sampler.compare, where.reference, as_float(t[0])) ? 1.0f : 0.0f), 0, 0, 0} : t;
    }
    // Coordinates of the look-up in texels.
    std::array<float, 3> place(const std::array<float, 3>& at) const {
        std::array<float, 3> u{};
        for (unsigned k = 0; k < axes(texture.dim); ++k)
            u[k] = at[k] * static_cast<float>(size(k)) + static_cast<float>(texture.dim == ImageDim::cube ? 0 : where.offset[k]);
        return u;
    }
};

int64_t floor_index(float f) { return f == f ? static_cast<int64_t>(std::floor(std::clamp(f, -1e6f, 1e6f))) : 0; }

Plane plane_at(const Texture& t, const Sampler& s, const Lookup& where, uint32_t level, std::array<float, 3>& at) {
    Plane p{t, s, where, level, 0, 0};
    at = where.at;
    if (t.dim == ImageDim::cube) {
        const CubePlace c = cube_place(where.at);
        at = {c.s, c.t, 0};
        p.face = c.face;
        p.layer = 6 * std::min(where.layer, t.layers / 6 ? t.layers / 6 - 1 : 0) + c.face;
    } else if (t.arrayed) {
        p.layer = std::min(where.layer, t.layers - 1);
    }
    return p;
}

Texel filtered(const Texture& t, const Sampler& s, const Lookup& where, uint32_t level, Filter filter) {
    std::array<float, 3> at{};
    const Plane plane = plane_at(t, s, where, level, at);
    const std::array<float, 3> u = plane.place(at);
    const unsigned n = axes(t.dim);
    if (filter == Filter::nearest || t.format.integer()) {
        std::array<int64_t, 3> i{};
        for (unsigned k = 0; k < n; ++k)
            i[k] = floor_index(u[k]);
        return plane.texel(i);
    }
    std::array<int64_t, 3> first{};
    std::array<float, 3> weight{};
    for (unsigned k = 0; k < n; ++k) {
        const float below = u[k] - 0.5f;
        first[k] = floor_index(below);
        // Weights have eight bits.
        weight[k] = below == below ? std::floor((below - std::floor(below)) * 256) / 256 : 0;
    }
    std::array<double, 4> sum{};
    for (unsigned corner = 0; corner < 1u << n; ++corner) {
        std::array<int64_t, 3> i = first;
        double w = 1;
        for (unsigned k = 0; k < n; ++k) {
            const bool upper = corner >> k & 1;
            i[k] += upper;
            w *= upper ? static_cast<double>(weight[k]) : 1 - static_cast<double>(weight[k]);
        }
        if (w == 0)
            continue;
        const Texel x = plane.texel(i);
        for (unsigned c = 0; c < 4; ++c)
            sum[c] += w * static_cast<double>(as_float(x[c]));
    }
    Texel out{};
    for (unsigned c = 0; c < 4; ++c)
        out[c] = as_word(static_cast<float>(sum[c]));
    return out;
}

} // namespace

Texel decode_texel(const TexelFormat& f, const uint8_t* bytes) {
    Texel out{0, 0, 0, f.integer() ? 1u : as_word(1.0f)};
    for (unsigned k = 0; k < f.components; ++k) {
        uint32_t w = 0;
        std::memcpy(&w, bytes + k * f.bits / 8, f.bits / 8);
        const uint32_t most = f.bits == 32 ? ~0u : (1u << f.bits) - 1;
        const int32_t is = f.bits == 32 ? static_cast<int32_t>(w) : static_cast<int32_t>(w << (32 - f.bits)) >> (32 - f.bits);
        switch (f.kind) {
        case TexelKind::unorm: out[k] = as_word(static_cast<float>(w) / static_cast<float>(most)); break;
        case TexelKind::srgb: {
            const float c = static_cast<float>(w) / static_cast<float>(most);
            out[k] = as_word(k < 3 ? to_linear(c) : c);
            break;
        }
        case TexelKind::snorm: out[k] = as_word(std::max(static_cast<float>(is) / static_cast<float>(most >> 1), -1.0f)); break;
        case TexelKind::uint: out[k] = w; break;
        case TexelKind::sint: out[k] = static_cast<uint32_t>(is); break;
        case TexelKind::real: out[k] = f.bits == 16 ? as_word(half_value(w)) : w; break;
        }
    }
    return out;
}

void encode_texel(const TexelFormat& f, const Texel& texel, uint8_t* bytes) {
    for (unsigned k = 0; k < f.components; ++k) {
        const float v = as_float(texel[k]);
        const uint32_t most = f.bits == 32 ? ~0u : (1u << f.bits) - 1;
        uint32_t w = texel[k];
        switch (f.kind) {
        case TexelKind::unorm: w = v > 0 ? static_cast<uint32_t>(std::nearbyint(std::min(v, 1.0f) * static_cast<double>(most))) : 0; break;
        case TexelKind::srgb: {
            const float c = v > 0 ? std::min(v, 1.0f) : 0;
            w = static_cast<uint32_t>(std::nearbyint((k < 3 ? to_srgb(c) : c) * static_cast<double>(most)));
            break;
        }
        case TexelKind::snorm:
            w = static_cast<uint32_t>(static_cast<int32_t>(std::nearbyint((v == v ? std::clamp(v, -1.0f, 1.0f) : 0) * static_cast<double>(most >> 1))));
            break;
        case TexelKind::uint: w = std::min(w, most); break;
        case TexelKind::sint: {
            const int32_t limit = static_cast<int32_t>(most >> 1);
            w = static_cast<uint32_t>(std::clamp(static_cast<int32_t>(w), -limit - 1, limit));
            break;
        }
        case TexelKind::real: w = f.bits == 16 ? half_bits(v) : w; break;
        }
        std::memcpy(bytes + k * f.bits / 8, &w, f.bits / 8);
    }
}

void Texture::allocate(uint32_t count) {
    levels.resize(count);
    for (uint32_t l = 0; l < count; ++l)
        levels[l].assign(size_t{width_at(l)} * height_at(l) * (dim == ImageDim::d3 ? depth_at(l) : layers) * samples * format.bytes(), 0);
}

uint8_t* Texture::at(uint32_t level, int64_t x, int64_t y, int64_t z, uint32_t sample_index) {
    if (level >= levels.size())
        return nullptr;
    const int64_t w = width_at(level), h = height_at(level), d = dim == ImageDim::d3 ? depth_at(level) : layers;
    if (x < 0 || y < 0 || z < 0 || x >= w || y >= h || z >= d || sample_index >= samples)
        return nullptr;
    const size_t index = static_cast<size_t>(((z * h + y) * w + x) * samples + sample_index) * format.bytes();
    return levels[level].data() + index;
}

float level_of_detail(const Texture& t, const std::array<float, 3>& at, const std::array<float, 3>& dx, const std::array<float, 3>& dy) {
    std::array<float, 3> sx{}, sy{};
    if (t.dim == ImageDim::cube) {
        // The face coordinates' change: of the two directions on the face of the first.
        const CubePlace here = cube_place(at);
        const auto on_face = [&](const std::array<float, 3>& d) {
            CubePlace p = cube_place({at[0] + d[0], at[1] + d[1], at[2] + d[2]});
            if (p.face != here.face)
                return std::array<float, 3>{0.5f, 0.5f, 0};
            return std::array<float, 3>{p.s - here.s, p.t - here.t, 0};
        };
        sx = on_face(dx), sy = on_face(dy);
    } else {
        sx = dx, sy = dy;
    }
    const float size[3] = {static_cast<float>(t.width), static_cast<float>(t.height), static_cast<float>(t.depth)};
    double xx = 0, yy = 0;
    for (unsigned k = 0; k < axes(t.dim); ++k) {
        const double a = static_cast<double>(sx[k] * size[k]), b = static_cast<double>(sy[k] * size[k]);
        xx += a * a, yy += b * b;
    }
    const double rho = std::max(xx, yy); // squared
    if (!(rho > 0))
        return -1000;
    return std::isinf(rho) ? 1000.0f : static_cast<float>(0.5 * std::log2(rho));
}

float clamped_level(const Texture& t, const Sampler& s, float lod) {
    const float l = lod == lod ? lod + s.lod_bias : 0;
    return std::clamp(std::clamp(l, s.lod_min, std::max(s.lod_min, s.lod_max)), 0.0f, static_cast<float>(t.levels.size() - 1));
}

Texel sample(const Texture& t, const Sampler& s, const Lookup& where, float lod) {
    const float biased = lod == lod ? lod + s.lod_bias : 0;
    const Filter filter = std::clamp(biased, s.lod_min, std::max(s.lod_min, s.lod_max)) <= 0 ? s.mag : s.min;
    const float level = s.mip == Mip::none ? 0 : clamped_level(t, s, lod);
    if (s.mip != Mip::linear)
        return filtered(t, s, where, static_cast<uint32_t>(std::ceil(level + 0.5f) - 1), filter);
    const uint32_t low = static_cast<uint32_t>(level), high = std::min<uint32_t>(low + 1, static_cast<uint32_t>(t.levels.size()) - 1);
    const float weight = std::floor((level - static_cast<float>(low)) * 256) / 256;
    const Texel a = filtered(t, s, where, low, filter);
    if (weight == 0 || t.format.integer())
        return a;
    const Texel b = filtered(t, s, where, high, filter);
    Texel out{};
    for (unsigned c = 0; c < 4; ++c)
        out[c] = as_word(static_cast<float>((1 - static_cast<double>(weight)) * static_cast<double>(as_float(a[c])) +
                                            static_cast<double>(weight) * static_cast<double>(as_float(b[c]))));
    return out;
}

Texel gather(const Texture& t, const Sampler& s, const Lookup& where, uint32_t component, const std::array<std::array<int32_t, 2>, 4>& offsets) {
    std::array<float, 3> at{};
    const Plane plane = plane_at(t, s, where, 0, at);
    const std::array<float, 3> u = plane.place(at);
    constexpr int corner[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    Texel out{};
    for (unsigned k = 0; k < 4; ++k) {
        std::array<int64_t, 3> i{};
        for (unsigned a = 0; a < 2; ++a)
            i[a] = floor_index(u[a] - 0.5f) + corner[k][a] + offsets[k][a];
        out[k] = plane.texel(i)[where.compares ? 0 : component & 3];
    }
    return out;
}

Texel fetch(const Texture& t, const std::array<int32_t, 3>& at, uint32_t layer, int32_t level, uint32_t sample_index) {
    if (level < 0)
        return {};
    const uint8_t* p = t.at(static_cast<uint32_t>(level), at[0], axes(t.dim) > 1 ? at[1] : 0, t.dim == ImageDim::d3 ? at[2] : t.arrayed ? layer : 0, sample_index);
    return p ? decode_texel(t.format, p) : Texel{};
}

} // namespace dmsh::sim
