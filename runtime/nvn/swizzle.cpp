// Copies between rows and block-linear storage, 16-byte piece by piece.
#include "runtime/nvn/texture_layout.h"
#include <algorithm>
#include <cstring>

namespace dmsh::nvn {
namespace {

bool fits(const LevelLayout& l, uint32_t bytes, uint64_t storage_bytes, const Box& b, uint64_t row_stride,
          uint64_t slice_stride) {
    const auto inside = [](uint32_t at, uint32_t n, uint32_t size) { return n <= size && at <= size - n; };
    return bytes && l.width && inside(b.x, b.width, l.width) && inside(b.y, b.height, l.height) &&
           inside(b.z, b.depth, l.depth) && storage_bytes >= l.bytes &&
           uint64_t{l.width} * bytes == l.row_bytes && row_stride >= uint64_t{b.width} * bytes &&
           (b.depth <= 1 || slice_stride >= row_stride);
}

// `copy(storage offset, linear offset, bytes)` for every piece of the box; pieces never cross 16 bytes of a
// row.
template <class Copy>
void for_pieces(const LevelLayout& l, uint32_t bytes, const Box& b, uint64_t row_stride,
                uint64_t slice_stride, GobOrder order, Copy copy) {
    const uint64_t columns = (l.row_bytes + kGobWidth - 1) / kGobWidth;
    const uint64_t block_bytes = uint64_t{kGobBytes} * l.block_height * l.block_depth;
    const uint64_t row_of_blocks = columns * block_bytes;
    const uint32_t block_rows = kGobHeight * l.block_height;
    const uint64_t slice_group = (l.height + block_rows - 1) / block_rows * row_of_blocks;
    const uint32_t first = b.x * bytes, last = (b.x + b.width) * bytes;
    for (uint32_t z = b.z; z < b.z + b.depth; ++z) {
        const uint64_t slice =
            z / l.block_depth * slice_group + z % l.block_depth * (uint64_t{kGobBytes} * l.block_height);
        for (uint32_t y = b.y; y < b.y + b.height; ++y) {
            const uint64_t row =
                slice + y / block_rows * row_of_blocks + y / kGobHeight % l.block_height * kGobBytes;
            const uint32_t in_gob = y % kGobHeight;
            // Offsets of the four pieces of a GOB row.
            const uint32_t piece[4] = {gob_offset(0, in_gob, order), gob_offset(16, in_gob, order),
                                       gob_offset(32, in_gob, order), gob_offset(48, in_gob, order)};
            uint64_t linear = (z - b.z) * slice_stride + (y - b.y) * row_stride;
            uint32_t x = first;
            while (x < last) {
                const uint64_t gob = row + x / kGobWidth * block_bytes;
                if (x % kGobWidth == 0 && last - x >= kGobWidth) { // a whole GOB row: four fixed-size copies
                    copy(gob + piece[0], linear, std::integral_constant<uint32_t, 16>());
                    copy(gob + piece[1], linear + 16, std::integral_constant<uint32_t, 16>());
                    copy(gob + piece[2], linear + 32, std::integral_constant<uint32_t, 16>());
                    copy(gob + piece[3], linear + 48, std::integral_constant<uint32_t, 16>());
                    x += kGobWidth;
                    linear += kGobWidth;
                    continue;
                }
                const uint32_t n = std::min(16 - x % 16, last - x);
                copy(gob + piece[x % kGobWidth / 16] + x % 16, linear, n);
                x += n;
                linear += n;
            }
        }
    }
}

} // namespace

bool deswizzle(const LevelLayout& level, uint32_t bytes, const uint8_t* storage, uint64_t storage_bytes,
               const Box& box, uint8_t* out, uint64_t row_stride, uint64_t slice_stride, GobOrder order) {
    if (!fits(level, bytes, storage_bytes, box, row_stride, slice_stride))
        return false;
    for_pieces(level, bytes, box, row_stride, slice_stride, order,
               [&](uint64_t at, uint64_t linear, auto n) { std::memcpy(out + linear, storage + at, n); });
    return true;
}

bool swizzle(const LevelLayout& level, uint32_t bytes, uint8_t* storage, uint64_t storage_bytes,
             const Box& box, const uint8_t* in, uint64_t row_stride, uint64_t slice_stride, GobOrder order) {
    if (!fits(level, bytes, storage_bytes, box, row_stride, slice_stride))
        return false;
    for_pieces(level, bytes, box, row_stride, slice_stride, order,
               [&](uint64_t at, uint64_t linear, auto n) { std::memcpy(storage + at, in + linear, n); });
    return true;
}

} // namespace dmsh::nvn
