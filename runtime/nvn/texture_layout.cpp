// Computes texture layouts.
#include "runtime/nvn/texture_layout.h"
#include <algorithm>
#include <string>

namespace dmsh::nvn {
namespace {

constexpr uint32_t ceil_div(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}
constexpr uint64_t round_up(uint64_t a, uint64_t b) {
    return (a + b - 1) / b * b;
}

// Block height in GOBs from rows of blocks (not 3D), block depth from slices (3D): the same thresholds.
uint32_t automatic_block(uint32_t n) {
    const uint32_t scaled = n + n / 2;
    return scaled >= 16 ? 16 : scaled >= 8 ? 8 : scaled >= 4 ? 4 : scaled >= 2 ? 2 : 1;
}

struct Blocks {
    uint32_t height = 1, depth = 1;
    uint32_t columns = 1; // sparse: GOB columns of a tile
};

// The 64 KB tile of a sparse texture by bytes per block (docs/textures.md).
bool sparse_blocks(const LayoutInput& in, Blocks& out) {
    switch (in.bytes) {
    case 1: out = in.is_3d ? Blocks{4, 32, 1} : Blocks{32, 1, 4}; return true;
    case 2: out = in.is_3d ? Blocks{4, 32, 1} : Blocks{16, 1, 8}; return true;
    case 4: out = in.is_3d ? Blocks{4, 16, 2} : Blocks{16, 1, 8}; return true;
    case 8: out = in.is_3d ? Blocks{2, 16, 4} : Blocks{8, 1, 16}; return true;
    case 16: out = in.is_3d ? Blocks{2, 16, 4} : Blocks{8, 1, 16}; return true;
    default: return false;
    }
}

Blocks automatic_blocks(const LayoutInput& in, uint32_t rows) {
    if (in.is_3d)
        return {1, automatic_block(in.depth)};
    const uint32_t scaled = rows + rows / 2;
    return {scaled >= 128 ? 16u : scaled >= 64 ? 8u : scaled >= 32 ? 4u : scaled >= 16 ? 2u : 1u, 1};
}

// Levels and layer size with the given level-0 blocks.
TextureLayout lay_out(const LayoutInput& in, uint32_t width, uint32_t height, Blocks blocks) {
    TextureLayout out;
    out.level_count = in.levels;
    out.layers = in.layers;
    uint64_t offset = 0;
    if (in.sparse) {
        out.tiles.width = std::max(1u, kGobWidth * blocks.columns / in.bytes);
        out.tiles.height = kGobHeight * blocks.height;
        out.tiles.depth = blocks.depth;
    }
    for (uint32_t i = 0; i < in.levels; ++i) {
        LevelLayout& l = out.levels[i];
        l.width = ceil_div(std::max(1u, width >> i), in.block_width);
        l.height = ceil_div(std::max(1u, height >> i), in.block_height);
        l.depth = in.is_3d ? std::max(1u, in.depth >> i) : 1;
        l.row_bytes = l.width * in.bytes;
        // A block that a level fills to half or less shrinks, level 0 included.
        l.block_height = blocks.height;
        while (l.block_height > 1 && l.height <= l.block_height / 2 * kGobHeight)
            l.block_height /= 2;
        l.block_depth = blocks.depth;
        while (l.block_depth > 1 && l.depth <= l.block_depth / 2)
            l.block_depth /= 2;
        l.columns = ceil_div(l.row_bytes, kGobWidth);
        const bool tiled = in.sparse && l.width >= out.tiles.width && l.height >= out.tiles.height &&
                           l.depth >= out.tiles.depth;
        if (tiled) {
            l.columns = static_cast<uint32_t>(round_up(l.columns, blocks.columns));
            out.tiles.levels = i + 1;
        }
        l.bytes = uint64_t{l.columns} * (round_up(l.height, uint64_t{kGobHeight} * l.block_height) / kGobHeight) *
                  round_up(l.depth, l.block_depth) * kGobBytes;
        l.offset = offset;
        offset += l.bytes;
        if (tiled)
            out.tiles.tail_offset = offset;
    }
    if (in.has_layers && in.sparse)
        offset = round_up(offset, kSparseTileBytes);
    else if (in.has_layers)
        offset =
            round_up(offset, uint64_t{kGobBytes} * out.levels[0].block_height * out.levels[0].block_depth);
    out.layer_bytes = offset;
    out.storage_bytes = offset * in.layers;
    return out;
}

} // namespace

Result<TextureLayout> texture_layout(const LayoutInput& in) {
    const auto in_range = [](uint32_t v, uint32_t most) { return v >= 1 && v <= most; };
    if (!in_range(in.width, in.linear ? 1u << 27 : 16384) || !in_range(in.height, 16384) ||
        !in_range(in.depth, 2048) || !in_range(in.layers, 2048 * 6))
        return Error{"texture size is out of range"};
    if (!in_range(in.levels, kMaxTextureLevels) || in.bytes == 0 || in.block_width == 0 ||
        in.block_height == 0)
        return Error{"texture levels or format are out of range"};
    uint32_t scale_x = 1, scale_y = 1;
    switch (in.samples) {
    case 0:
    case 1: break;
    case 2: scale_x = 2; break;
    case 4: scale_x = scale_y = 2; break;
    case 8: scale_x = 4, scale_y = 2; break;
    case 16: scale_x = scale_y = 4; break;
    default: return Error{"texture sample count is unknown"};
    }
    const uint32_t width = in.width * scale_x, height = in.height * scale_y;
    if (in.linear || in.linear_target) {
        TextureLayout out;
        out.linear = true;
        out.level_count = 1;
        LevelLayout& l = out.levels[0];
        l.width = ceil_div(width, in.block_width);
        l.height = ceil_div(height, in.block_height);
        l.depth = 1;
        l.row_bytes = l.width * in.bytes;
        l.columns = ceil_div(l.row_bytes, kGobWidth);
        const uint32_t alignment = in.linear_target ? 128 : 32;
        out.stride = in.stride ? in.stride : static_cast<uint32_t>(round_up(l.row_bytes, alignment));
        out.alignment = alignment;
        // Rows are counted in pixels, for compressed formats too.
        l.bytes = out.layer_bytes = out.storage_bytes = uint64_t{out.stride} * height;
        return out;
    }
    if (in.packaged)
        return lay_out(in, width, height,
                       {1u << std::min<uint8_t>(in.packaged_height, 5),
                        in.is_3d ? 1u << std::min<uint8_t>(in.packaged_depth, 5) : 1u,
                        1u << std::min<uint8_t>(in.packaged_columns, 4)});
    if (in.sparse) {
        Blocks tile;
        if (in.samples > 1 || !sparse_blocks(in, tile))
            return Error{"sparse tiles of " + std::to_string(in.bytes) + "-byte texels with " +
                         std::to_string(in.samples) + " samples are not known"};
        return lay_out(in, width, height, tile);
    }
    if (in.video_decode && !in.is_3d)
        return lay_out(in, width, height, {2, 1});
    TextureLayout out = lay_out(in, width, height, automatic_blocks(in, ceil_div(height, in.block_height)));
    if (in.minimal) {
        TextureLayout small = lay_out(in, width, height, {1, 1});
        if (out.layer_bytes > small.layer_bytes)
            return small;
    }
    return out;
}

uint64_t block_linear_offset(const LevelLayout& l, uint32_t x, uint32_t y, uint32_t z, GobOrder order) {
    const uint64_t block_bytes = uint64_t{kGobBytes} * l.block_height * l.block_depth;
    const uint64_t row_of_blocks = l.columns * block_bytes;
    const uint64_t slice_group = ceil_div(l.height, kGobHeight * l.block_height) * row_of_blocks;
    return z / l.block_depth * slice_group + y / (kGobHeight * l.block_height) * row_of_blocks +
           x / kGobWidth * block_bytes + z % l.block_depth * (uint64_t{kGobBytes} * l.block_height) +
           y / kGobHeight % l.block_height * kGobBytes + gob_offset(x % kGobWidth, y % kGobHeight, order);
}

} // namespace dmsh::nvn
