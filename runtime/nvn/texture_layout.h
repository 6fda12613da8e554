// Block-linear and linear texture layouts as pure functions of a description.
// Rules and numbers: docs/textures.md; worked shapes are tests/nvn/texture_layout_test.cpp.
#pragma once
#include "runtime/abi/result.h"
#include "runtime/nvn/enums.h"
#include <array>
#include <cstdint>

namespace dmsh::nvn {

constexpr uint32_t kGobBytes = 512, kGobWidth = 64, kGobHeight = 8;
constexpr uint32_t kMaxTextureLevels = 16;
constexpr uint32_t kSparseTileBytes = 65536;

// Order of the 16-byte pieces in a GOB; a property of the machine the guest was built for.
enum class GobOrder : uint8_t { tegra_x1, switch2 };

// What a layout depends on. Depth is slices for 3D and layers (faces included) for arrays and cubes.
struct LayoutInput {
    uint32_t width = 1, height = 1, depth = 1;
    uint32_t layers = 1;
    uint32_t levels = 1;
    uint32_t samples = 1;
    uint8_t bytes = 4;                         // per texel or block
    uint8_t block_width = 1, block_height = 1; // of the format, in texels
    bool is_3d = false;
    bool has_layers = false; // arrays and cubes: the layer stride is rounded
    bool linear = false;
    bool linear_target = false;
    bool minimal = false;
    bool packaged = false;       // block sizes below are given by the file
    uint8_t packaged_height = 0; // log2 GOBs
    uint8_t packaged_depth = 0;  // log2 slices, 3D only
    bool sparse = false;          // 64 KB tiles; packaged ones give their own tile width
    uint8_t packaged_columns = 0; // log2 GOB columns of a sparse tile
    bool video_decode = false;
    uint32_t stride = 0;         // linear: bytes between rows, 0 = by rule
};

struct LevelLayout {
    uint64_t offset = 0;                       // in the layer
    uint32_t width = 0, height = 0, depth = 0; // blocks of the format (texels where uncompressed)
    uint32_t row_bytes = 0;                    // width * bytes
    uint32_t columns = 0;                      // of GOBs, sparse rounding included
    uint32_t block_height = 1;                 // GOBs
    uint32_t block_depth = 1;                  // slices
    uint64_t bytes = 0;
};

// Tiles of a sparse texture; none: all zero.
struct SparseTiles {
    uint32_t levels = 0;                       // tiled ones; the others are the tail
    uint32_t width = 0, height = 0, depth = 0; // of a tile, in blocks of the format
    uint64_t tail_offset = 0;                  // in the layer
};

struct TextureLayout {
    bool linear = false;
    uint32_t level_count = 0, layers = 1;
    uint32_t stride = 0;      // linear
    uint64_t layer_bytes = 0; // layer stride
    uint64_t storage_bytes = 0;
    uint32_t alignment = kGobBytes;
    SparseTiles tiles;
    std::array<LevelLayout, kMaxTextureLevels> levels{};
};

// Refuses sizes of 0 or over 16384 x 16384 x 2048 x 2048 layers, unknown sample counts and more than 16
// levels.
Result<TextureLayout> texture_layout(const LayoutInput& input);

// Offset of byte x, row y (both in a level's blocks), slice z of a block-linear level, from the level's
// start.
uint64_t block_linear_offset(const LevelLayout& level, uint32_t x, uint32_t y, uint32_t z,
                             GobOrder order = GobOrder::tegra_x1);

// Offset in one GOB.
constexpr uint32_t gob_offset(uint32_t x, uint32_t y, GobOrder order) {
    if (order == GobOrder::switch2)
        return x / 32 * 256 + y / 4 * 128 + x % 32 / 16 * 64 + y % 4 / 2 * 32 + y % 2 * 16 + x % 16;
    return x / 32 * 256 + y / 2 * 64 + x % 32 / 16 * 32 + y % 2 * 16 + x % 16;
}

// A box of a level, in blocks of the format.
struct Box {
    uint32_t x = 0, y = 0, z = 0, width = 0, height = 0, depth = 0;
};

// Copies a box between tight or strided rows and block-linear storage. `storage` holds `storage_bytes` from
// the level's start; the box must lie in the level. Padding bytes of the storage stay untouched. Answers
// false, having copied nothing, if box or storage do not fit.
bool deswizzle(const LevelLayout& level, uint32_t bytes, const uint8_t* storage, uint64_t storage_bytes,
               const Box& box, uint8_t* out, uint64_t row_stride, uint64_t slice_stride,
               GobOrder order = GobOrder::tegra_x1);
bool swizzle(const LevelLayout& level, uint32_t bytes, uint8_t* storage, uint64_t storage_bytes,
             const Box& box, const uint8_t* in, uint64_t row_stride, uint64_t slice_stride,
             GobOrder order = GobOrder::tegra_x1);

} // namespace dmsh::nvn
