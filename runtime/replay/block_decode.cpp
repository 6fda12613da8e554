// Decodes BC blocks and walks levels.
#include "runtime/replay/block_decode.h"
#include "runtime/nvn/formats.h"
#include <algorithm>
#include <cstring>

namespace dmsh::replay {
namespace {

bool in(int format, int first, int last) {
    return format >= first && format <= last;
}

bool is_astc(int format) {
    return in(format, NVN_FORMAT_RGBA_ASTC_4x4, NVN_FORMAT_RGBA_ASTC_12x12) ||
           in(format, NVN_FORMAT_RGBA_ASTC_4x4_SRGB, NVN_FORMAT_RGBA_ASTC_12x12_SRGB);
}

void expand_565(uint32_t c, uint32_t out[3]) {
    const uint32_t r = c >> 11 & 31, g = c >> 5 & 63, b = c & 31;
    out[0] = r << 3 | r >> 2;
    out[1] = g << 2 | g >> 4;
    out[2] = b << 3 | b >> 2;
}

// Colours of a BC1 block; `opaque`: the four-colour form whatever the order (BC2, BC3). `punch`: black is
// transparent.
void colors(const uint8_t* block, bool opaque, bool punch, uint8_t texels[64]) {
    uint16_t c0, c1;
    uint32_t bits;
    std::memcpy(&c0, block, 2);
    std::memcpy(&c1, block + 2, 2);
    std::memcpy(&bits, block + 4, 4);
    uint32_t a[3], b[3];
    expand_565(c0, a);
    expand_565(c1, b);
    uint8_t palette[4][4] = {};
    const bool four = opaque || c0 > c1;
    for (int k = 0; k < 3; ++k) {
        palette[0][k] = static_cast<uint8_t>(a[k]);
        palette[1][k] = static_cast<uint8_t>(b[k]);
        palette[2][k] = static_cast<uint8_t>(four ? (2 * a[k] + b[k] + 1) / 3 : (a[k] + b[k] + 1) / 2);
        palette[3][k] = static_cast<uint8_t>(four ? (a[k] + 2 * b[k] + 1) / 3 : 0);
    }
    for (auto& p : palette)
        p[3] = 255;
    if (!four && punch)
        palette[3][3] = 0;
    for (int i = 0; i < 16; ++i)
        std::memcpy(texels + i * 4, palette[bits >> 2 * i & 3], 4);
}

// One channel of BC3's alpha, BC4 and BC5, into every `stride`-th byte.
void channel(const uint8_t* block, bool is_signed, uint8_t* out, int stride) {
    const auto value = [&](int i) {
        return is_signed ? std::max<int>(-127, static_cast<int8_t>(block[i])) : int{block[i]};
    };
    int palette[8] = {value(0), value(1)};
    const bool eight = palette[0] > palette[1];
    const auto mix = [](int sum, int n) { // rounded to nearest, away from zero
        return sum >= 0 ? (2 * sum + n) / (2 * n) : -((-2 * sum + n) / (2 * n));
    };
    for (int i = 2; i < 8; ++i)
        palette[i] = eight    ? mix((8 - i) * palette[0] + (i - 1) * palette[1], 7)
                     : i < 6  ? mix((6 - i) * palette[0] + (i - 1) * palette[1], 5)
                     : i == 6 ? (is_signed ? -127 : 0)
                              : (is_signed ? 127 : 255);
    uint64_t bits = 0;
    std::memcpy(&bits, block + 2, 6);
    for (int i = 0; i < 16; ++i)
        out[i * stride] = static_cast<uint8_t>(palette[bits >> 3 * i & 7]);
}

void decode_block(int format, const uint8_t* block, const nvn::FormatInfo& f, uint8_t* texels) {
    if (is_astc(format)) {
        decode_astc_block(block, f.block_width, f.block_height, format >= NVN_FORMAT_RGBA_ASTC_4x4_SRGB,
                          texels);
        return;
    }
    switch (format) {
    case NVN_FORMAT_RGB_DXT1:
    case NVN_FORMAT_RGB_DXT1_SRGB: colors(block, false, false, texels); return;
    case NVN_FORMAT_RGBA_DXT1:
    case NVN_FORMAT_RGBA_DXT1_SRGB: colors(block, false, true, texels); return;
    case NVN_FORMAT_RGBA_DXT3:
    case NVN_FORMAT_RGBA_DXT3_SRGB:
        colors(block + 8, true, false, texels);
        for (int i = 0; i < 16; ++i)
            texels[i * 4 + 3] = static_cast<uint8_t>((block[i / 2] >> 4 * (i & 1) & 15) * 17);
        return;
    case NVN_FORMAT_RGBA_DXT5:
    case NVN_FORMAT_RGBA_DXT5_SRGB:
        colors(block + 8, true, false, texels);
        channel(block, false, texels + 3, 4);
        return;
    case NVN_FORMAT_RGTC1_UNORM:
    case NVN_FORMAT_RGTC1_SNORM: channel(block, format == NVN_FORMAT_RGTC1_SNORM, texels, 1); return;
    default:
        channel(block, format == NVN_FORMAT_RGTC2_SNORM, texels, 2);
        channel(block + 8, format == NVN_FORMAT_RGTC2_SNORM, texels + 1, 2);
    }
}

} // namespace

DecodedTexel decoded_texel(int format) {
    if (is_astc(format) || in(format, NVN_FORMAT_RGB_DXT1, NVN_FORMAT_RGBA_DXT5_SRGB))
        return DecodedTexel::rgba8;
    switch (format) {
    case NVN_FORMAT_RGTC1_UNORM: return DecodedTexel::r8;
    case NVN_FORMAT_RGTC1_SNORM: return DecodedTexel::r8_signed;
    case NVN_FORMAT_RGTC2_UNORM: return DecodedTexel::rg8;
    case NVN_FORMAT_RGTC2_SNORM: return DecodedTexel::rg8_signed;
    default: return DecodedTexel::none;
    }
}

uint32_t decoded_bytes(DecodedTexel texel) {
    switch (texel) {
    case DecodedTexel::none: return 0;
    case DecodedTexel::rgba8: return 4;
    case DecodedTexel::r8:
    case DecodedTexel::r8_signed: return 1;
    default: return 2;
    }
}

void decode_blocks(int format, const uint8_t* blocks, uint32_t width, uint32_t height, uint8_t* texels) {
    const nvn::FormatInfo f = nvn::format_info(format);
    const uint32_t bytes = decoded_bytes(decoded_texel(format));
    uint8_t block[12 * 12 * 4];
    for (uint32_t y = 0; y < height; y += f.block_height)
        for (uint32_t x = 0; x < width; x += f.block_width, blocks += f.bytes) {
            decode_block(format, blocks, f, block);
            const uint32_t w = std::min<uint32_t>(f.block_width, width - x),
                           h = std::min<uint32_t>(f.block_height, height - y);
            for (uint32_t row = 0; row < h; ++row)
                std::memcpy(texels + (uint64_t{y + row} * width + x) * bytes,
                            block + row * f.block_width * bytes, w * bytes);
        }
}

} // namespace dmsh::replay
