// Decodes ASTC blocks of the LDR profile; names follow the specification.
#include "runtime/replay/block_decode.h"
#include <algorithm>
#include <array>
#include <cstring>

namespace dmsh::replay {
namespace {

// A range of integers that the sequence encoding stores: levels = (1, 3 or 5) << bits.
struct Range {
    uint8_t trits, quints, bits;
    uint32_t levels() const { return (trits ? 3u : quints ? 5u : 1u) << bits; }
    uint32_t stored(uint32_t count) const {
        return bits * count + (trits ? (8 * count + 4) / 5 : 0) + (quints ? (7 * count + 2) / 3 : 0);
    }
};
// Ranges 2, 3, 4, 5, 6, 8, ... 256 in order; weights use the first twelve.
constexpr Range kRanges[] = {{0, 0, 1}, {1, 0, 0}, {0, 0, 2}, {0, 1, 0}, {1, 0, 1}, {0, 0, 3}, {0, 1, 1},
                             {1, 0, 2}, {0, 0, 4}, {0, 1, 2}, {1, 0, 3}, {0, 0, 5}, {0, 1, 3}, {1, 0, 4},
                             {0, 0, 6}, {0, 1, 4}, {1, 0, 5}, {0, 0, 7}, {0, 1, 5}, {1, 0, 6}, {0, 0, 8}};
constexpr int kSmallestColorRange = 4; // 0..5

struct Bits {
    const uint8_t* data;
    bool reversed; // weights are stored from the top, bit by bit
    uint32_t get(uint32_t at, uint32_t count, uint32_t end) const {
        uint32_t v = 0;
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t bit = at + i;
            if (bit >= end)
                break; // missing bits of the last group are zero
            const uint32_t from = reversed ? 127 - bit : bit;
            v |= (data[from / 8] >> from % 8 & 1u) << i;
        }
        return v;
    }
};

void trits_of(uint32_t t, uint32_t out[5]) {
    uint32_t c;
    if ((t >> 2 & 7) == 7) {
        c = (t >> 5 & 7) << 2 | (t & 3);
        out[4] = out[3] = 2;
    } else {
        c = t & 31;
        out[4] = (t >> 5 & 3) == 3 ? 2 : t >> 7 & 1;
        out[3] = (t >> 5 & 3) == 3 ? t >> 7 & 1 : t >> 5 & 3;
    }
    if ((c & 3) == 3) {
        out[2] = 2;
        out[1] = c >> 4 & 1;
        out[0] = (c >> 3 & 1) << 1 | (c >> 2 & 1 & ~(c >> 3));
    } else if ((c >> 2 & 3) == 3) {
        out[2] = out[1] = 2;
        out[0] = c & 3;
    } else {
        out[2] = c >> 4 & 1;
        out[1] = c >> 2 & 3;
        out[0] = (c >> 1 & 1) << 1 | (c & 1 & ~(c >> 1));
    }
}

void quints_of(uint32_t q, uint32_t out[3]) {
    if ((q >> 1 & 3) == 3 && (q >> 5 & 3) == 0) {
        const uint32_t low = q & 1;
        out[2] = low << 2 | (q >> 4 & 1 & ~low) << 1 | (q >> 3 & 1 & ~low);
        out[1] = out[0] = 4;
        return;
    }
    uint32_t c;
    if ((q >> 1 & 3) == 3) {
        out[2] = 4;
        c = (q >> 3 & 3) << 3 | (~(q >> 5) & 3) << 1 | (q & 1);
    } else {
        out[2] = q >> 5 & 3;
        c = q & 31;
    }
    out[1] = (c & 7) == 5 ? 4 : c >> 3 & 3;
    out[0] = (c & 7) == 5 ? c >> 3 & 3 : c & 7;
}

// `count` integers from bit `at` on; the sequence ends at `at` + its size.
void sequence(const Bits& bits, uint32_t at, const Range& r, uint32_t count, uint8_t* out) {
    const uint32_t end = at + r.stored(count);
    const uint32_t group = r.trits ? 5 : r.quints ? 3 : 1;
    for (uint32_t i = 0; i < count; i += group) {
        uint32_t low[5] = {}, high[5] = {};
        // Digits lie between the low bits of the group's values.
        constexpr uint32_t kTritBits[5] = {2, 2, 1, 2, 1}, kQuintBits[3] = {3, 2, 2};
        uint32_t packed = 0, shift = 0;
        for (uint32_t k = 0; k < group; ++k) {
            low[k] = bits.get(at, r.bits, end);
            at += r.bits;
            const uint32_t n = r.trits ? kTritBits[k] : r.quints ? kQuintBits[k] : 0;
            packed |= bits.get(at, n, end) << shift;
            shift += n;
            at += n;
        }
        if (r.trits)
            trits_of(packed, high);
        else if (r.quints)
            quints_of(packed, high);
        for (uint32_t k = 0; k < group && i + k < count; ++k)
            out[i + k] = static_cast<uint8_t>(high[k] << r.bits | low[k]);
    }
}

uint32_t replicate(uint32_t v, uint32_t from, uint32_t to) {
    uint32_t out = 0;
    for (int shift = static_cast<int>(to - from); shift > -static_cast<int>(from);
         shift -= static_cast<int>(from))
        out |= shift >= 0 ? v << shift : v >> -shift;
    return out & ((1u << to) - 1);
}

// Places bits of `v` (b is bit 1, c bit 2, ...) by a pattern of letters, most significant first.
uint32_t pattern(const char* letters, uint32_t v) {
    uint32_t out = 0;
    for (; *letters; ++letters)
        out = out << 1 | (*letters == '0' ? 0 : v >> (*letters - 'a') & 1);
    return out;
}

uint32_t color_value(uint32_t v, const Range& r) {
    if (!r.trits && !r.quints)
        return replicate(v, r.bits, 8);
    struct Row {
        const char* b;
        uint32_t c;
    };
    constexpr Row kTrits[7] = {{"", 0},           {"000000000", 204}, {"b000b0bb0", 93}, {"cb000cbcb", 44},
                               {"dcb000dcb", 22}, {"edcb000ed", 11},  {"fedcb000f", 5}};
    constexpr Row kQuints[6] = {{"", 0},           {"000000000", 113}, {"b0000bb00", 54},
                                {"cb0000cbc", 26}, {"dcb0000dc", 13},  {"edcb0000e", 6}};
    const Row& row = r.trits ? kTrits[r.bits] : kQuints[r.bits];
    const uint32_t a = v & 1 ? 0x1ff : 0, d = v >> r.bits;
    const uint32_t t = (d * row.c + pattern(row.b, v)) ^ a;
    return (a & 0x80) | t >> 2;
}

uint32_t weight_value(uint32_t v, const Range& r) {
    uint32_t w;
    if (!r.trits && !r.quints) {
        w = replicate(v, r.bits, 6);
    } else if (r.bits == 0) {
        constexpr uint8_t kThree[3] = {0, 32, 63}, kFive[5] = {0, 16, 32, 47, 63};
        w = r.trits ? kThree[v] : kFive[v];
    } else {
        struct Row {
            const char* b;
            uint32_t c;
        };
        constexpr Row kTrits[4] = {{"", 0}, {"0000000", 50}, {"b000b0b", 23}, {"cb000cb", 11}};
        constexpr Row kQuints[3] = {{"", 0}, {"0000000", 28}, {"b0000b0", 13}};
        const Row& row = r.trits ? kTrits[r.bits] : kQuints[r.bits];
        const uint32_t a = v & 1 ? 0x7f : 0, d = v >> r.bits;
        const uint32_t t = (d * row.c + pattern(row.b, v)) ^ a;
        w = (a & 0x20) | t >> 2;
    }
    return w > 32 ? w + 1 : w;
}

struct Mode {
    uint32_t width = 0, height = 0, range = 0;
    bool dual = false;
};

// The weight grid; false: reserved.
bool block_mode(uint32_t m, Mode& out) {
    const uint32_t a = m >> 5 & 3;
    uint32_t b = m >> 7 & 3, r;
    bool high = m >> 9 & 1;
    out.dual = m >> 10 & 1;
    if (m & 3) {
        r = (m & 3) << 1 | (m >> 4 & 1);
        switch (m >> 2 & 3) {
        case 0: out.width = b + 4, out.height = a + 2; break;
        case 1: out.width = b + 8, out.height = a + 2; break;
        case 2: out.width = a + 2, out.height = b + 8; break;
        default:
            if (b & 2)
                out.width = (b & 1) + 2, out.height = a + 2;
            else
                out.width = a + 2, out.height = (b & 1) + 6;
        }
    } else {
        r = (m >> 2 & 3) << 1 | (m >> 4 & 1);
        if ((m >> 2 & 3) == 0)
            return false;
        switch (b) {
        case 0: out.width = 12, out.height = a + 2; break;
        case 1: out.width = a + 2, out.height = 12; break;
        case 2:
            b = m >> 9 & 3;
            out.width = a + 6, out.height = b + 6;
            out.dual = high = false;
            break;
        default:
            if (a > 1)
                return false;
            out.width = a ? 10 : 6, out.height = a ? 6 : 10;
        }
    }
    if (r < 2)
        return false;
    out.range = r - 2 + (high ? 6 : 0);
    return true;
}

uint32_t partition_of(uint32_t seed, uint32_t x, uint32_t y, uint32_t count, bool small) {
    if (small)
        x <<= 1, y <<= 1;
    seed += (count - 1) * 1024;
    uint32_t p = seed;
    p ^= p >> 15;
    p -= p << 17;
    p += p << 7;
    p += p << 4;
    p ^= p >> 5;
    p += p << 16;
    p ^= p >> 7;
    p ^= p >> 3;
    p ^= p << 6;
    p ^= p >> 17;
    uint32_t s[8];
    for (uint32_t i = 0; i < 8; ++i) {
        s[i] = p >> 4 * i & 15;
        s[i] *= s[i];
    }
    const uint32_t shift_a = seed & 2 ? 4 : 5, shift_b = count == 3 ? 6 : 5;
    const uint32_t first = seed & 1 ? shift_a : shift_b, second = seed & 1 ? shift_b : shift_a;
    for (uint32_t i = 0; i < 8; ++i)
        s[i] >>= i & 1 ? second : first;
    const uint32_t a = (s[0] * x + s[1] * y + (p >> 14)) & 63, b = (s[2] * x + s[3] * y + (p >> 10)) & 63;
    const uint32_t c = count > 2 ? (s[4] * x + s[5] * y + (p >> 6)) & 63 : 0;
    const uint32_t d = count > 3 ? (s[6] * x + s[7] * y + (p >> 2)) & 63 : 0;
    return a >= b && a >= c && a >= d ? 0 : b >= c && b >= d ? 1 : c >= d ? 2 : 3;
}

using Color = std::array<int, 4>;

Color contract(int r, int g, int b, int a) {
    return {(r + b) >> 1, (g + b) >> 1, b, a};
}
void transfer(int& a, int& b) {
    b = b >> 1 | (a & 0x80);
    a = a >> 1 & 0x3f;
    if (a & 0x20)
        a -= 0x40;
}
Color clamped(Color c) {
    for (int& v : c)
        v = std::clamp(v, 0, 255);
    return c;
}

// End points of a colour mode; false: an HDR mode.
bool endpoints(uint32_t mode, const uint8_t* values, Color& e0, Color& e1) {
    int v[8];
    for (uint32_t i = 0; i < (mode / 4 + 1) * 2; ++i)
        v[i] = values[i];
    switch (mode) {
    case 0: e0 = {v[0], v[0], v[0], 255}, e1 = {v[1], v[1], v[1], 255}; return true;
    case 1: {
        const int l0 = v[0] >> 2 | (v[1] & 0xc0), l1 = std::min(l0 + (v[1] & 0x3f), 255);
        e0 = {l0, l0, l0, 255}, e1 = {l1, l1, l1, 255};
        return true;
    }
    case 4: e0 = {v[0], v[0], v[0], v[2]}, e1 = {v[1], v[1], v[1], v[3]}; return true;
    case 5:
        transfer(v[1], v[0]);
        transfer(v[3], v[2]);
        e0 = clamped({v[0], v[0], v[0], v[2]});
        e1 = clamped({v[0] + v[1], v[0] + v[1], v[0] + v[1], v[2] + v[3]});
        return true;
    case 6:
    case 10:
        e0 = {v[0] * v[3] >> 8, v[1] * v[3] >> 8, v[2] * v[3] >> 8, mode == 10 ? v[4] : 255};
        e1 = {v[0], v[1], v[2], mode == 10 ? v[5] : 255};
        return true;
    case 8:
    case 12: {
        const int a0 = mode == 12 ? v[6] : 255, a1 = mode == 12 ? v[7] : 255;
        if (v[1] + v[3] + v[5] >= v[0] + v[2] + v[4])
            e0 = {v[0], v[2], v[4], a0}, e1 = {v[1], v[3], v[5], a1};
        else
            e0 = contract(v[1], v[3], v[5], a1), e1 = contract(v[0], v[2], v[4], a0);
        return true;
    }
    case 9:
    case 13: {
        transfer(v[1], v[0]);
        transfer(v[3], v[2]);
        transfer(v[5], v[4]);
        int a0 = 255, a1 = 255;
        if (mode == 13) {
            transfer(v[7], v[6]);
            a0 = v[6], a1 = v[6] + v[7];
        }
        if (v[1] + v[3] + v[5] >= 0) {
            e0 = clamped({v[0], v[2], v[4], a0});
            e1 = clamped({v[0] + v[1], v[2] + v[3], v[4] + v[5], a1});
        } else {
            e0 = clamped(contract(v[0] + v[1], v[2] + v[3], v[4] + v[5], a1));
            e1 = clamped(contract(v[0], v[2], v[4], a0));
        }
        return true;
    }
    default: return false;
    }
}

} // namespace

void decode_astc_block(const uint8_t* block, uint32_t bw, uint32_t bh, bool srgb, uint8_t* texels) {
    const uint32_t count = bw * bh;
    const auto fill = [&](const uint8_t c[4]) {
        for (uint32_t i = 0; i < count; ++i)
            std::memcpy(texels + i * 4, c, 4);
    };
    constexpr uint8_t kError[4] = {255, 0, 255, 255};
    const Bits bits{block, false}, weight_bits{block, true};
    const auto get = [&](uint32_t at, uint32_t n) { return bits.get(at, n, 128); };

    const uint32_t m = get(0, 11);
    if ((m & 0x1ff) == 0x1fc) { // one colour
        const bool hdr = m >> 9 & 1;
        uint8_t c[4];
        for (uint32_t k = 0; k < 4; ++k)
            c[k] = static_cast<uint8_t>(get(64 + 16 * k, 16) >> 8);
        fill(hdr || get(10, 2) != 3 ? kError : c);
        return;
    }
    Mode mode;
    if (!block_mode(m, mode) || mode.width > bw || mode.height > bh)
        return fill(kError);
    const Range& weights_range = kRanges[mode.range];
    const uint32_t planes = mode.dual ? 2 : 1, weights = mode.width * mode.height * planes;
    const uint32_t stored = weights_range.stored(weights);
    const uint32_t parts = get(11, 2) + 1;
    if (weights > 64 || stored < 24 || stored > 96 || (mode.dual && parts == 4))
        return fill(kError);

    uint32_t modes[4], below = 128 - stored, color_start = 17;
    if (parts == 1) {
        modes[0] = get(13, 4);
    } else {
        color_start = 29;
        uint32_t cem = get(23, 6);
        const uint32_t type = cem & 3;
        if (type == 0) {
            std::fill_n(modes, parts, cem >> 2);
        } else {
            const uint32_t extra = 3 * parts - 4;
            below -= extra;
            cem |= get(below, extra) << 6;
            for (uint32_t p = 0; p < parts; ++p)
                modes[p] = (type - 1 + (cem >> (2 + p) & 1)) * 4 + (cem >> (2 + parts + 2 * p) & 3);
        }
    }
    uint32_t plane_channel = 4;
    if (mode.dual) {
        below -= 2;
        plane_channel = get(below, 2);
    }
    uint32_t values = 0;
    for (uint32_t p = 0; p < parts; ++p)
        values += (modes[p] / 4 + 1) * 2;
    if (values > 18 || below < color_start)
        return fill(kError);
    int range = static_cast<int>(std::size(kRanges)) - 1;
    while (range >= kSmallestColorRange && kRanges[range].stored(values) > below - color_start)
        --range;
    if (range < kSmallestColorRange)
        return fill(kError);

    uint8_t raw[64], color[18];
    sequence(bits, color_start, kRanges[range], values, color);
    for (uint32_t i = 0; i < values; ++i)
        color[i] = static_cast<uint8_t>(color_value(color[i], kRanges[range]));
    Color ends[4][2];
    const uint8_t* at = color;
    for (uint32_t p = 0; p < parts; ++p) {
        if (!endpoints(modes[p], at, ends[p][0], ends[p][1]))
            return fill(kError);
        at += (modes[p] / 4 + 1) * 2;
    }
    sequence(weight_bits, 0, weights_range, weights, raw);
    int grid[2][64 + 16] = {}; // what lies past the grid has no weight in the sum
    for (uint32_t i = 0; i < weights; ++i)
        grid[i % planes][i / planes] = static_cast<int>(weight_value(raw[i], weights_range));

    const uint32_t ds = (1024 + bw / 2) / (bw - 1), dt = (1024 + bh / 2) / (bh - 1);
    const uint32_t seed = parts > 1 ? get(13, 10) : 0;
    for (uint32_t y = 0; y < bh; ++y)
        for (uint32_t x = 0; x < bw; ++x) {
            const uint32_t gs = (ds * x * (mode.width - 1) + 32) >> 6,
                           gt = (dt * y * (mode.height - 1) + 32) >> 6;
            const uint32_t fs = gs & 15, ft = gt & 15, v0 = (gs >> 4) + (gt >> 4) * mode.width;
            const int w11 = static_cast<int>((fs * ft + 8) >> 4), w10 = static_cast<int>(ft) - w11,
                      w01 = static_cast<int>(fs) - w11, w00 = 16 - static_cast<int>(fs + ft) + w11;
            int w[2];
            for (uint32_t p = 0; p < planes; ++p)
                w[p] = (grid[p][v0] * w00 + grid[p][v0 + 1] * w01 + grid[p][v0 + mode.width] * w10 +
                        grid[p][v0 + mode.width + 1] * w11 + 8) >>
                       4;
            const uint32_t part = parts > 1 ? partition_of(seed, x, y, parts, count < 31) : 0;
            for (uint32_t k = 0; k < 4; ++k) {
                const int weight = mode.dual && k == plane_channel ? w[1] : w[0];
                const auto wide = [&](int c) { return srgb && k < 3 ? c << 8 | 0x80 : c << 8 | c; };
                const int c =
                    (wide(ends[part][0][k]) * (64 - weight) + wide(ends[part][1][k]) * weight + 32) >> 6;
                texels[(y * bw + x) * 4 + k] = static_cast<uint8_t>(c >> 8);
            }
        }
}

} // namespace dmsh::replay
