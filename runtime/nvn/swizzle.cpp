// Copies between rows and block-linear storage: whole GOBs by kernels, their cut edges piece by piece.
#include "runtime/nvn/swizzle_kernels.h"
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

// Copies of so many bytes do not stay in the caches: stores pass them by.
constexpr uint64_t kStreamBytes = 4 << 20;

// One direction of the copy: `gob` and `rows` are where a piece or a row of GOBs starts on each side.
struct ToRows {
    SwizzleKernels::ToRows kernel;
    void piece(const uint8_t* gob, uint8_t* row, uint32_t n) const { std::memcpy(row, gob, n); }
    void gobs(const uint8_t* gobs, uint64_t step, uint32_t count, uint8_t* rows, uint64_t stride) const {
        kernel(gobs, step, count, rows, stride);
    }
};
struct ToGobs {
    SwizzleKernels::ToGobs kernel;
    void piece(uint8_t* gob, const uint8_t* row, uint32_t n) const { std::memcpy(gob, row, n); }
    void gobs(uint8_t* gobs, uint64_t step, uint32_t count, const uint8_t* rows, uint64_t stride) const {
        kernel(gobs, step, count, rows, stride);
    }
};

template <class Copy, class Gob, class Row>
void copy_box(const LevelLayout& l, uint32_t bytes, const Box& b, Gob* storage, Row* linear,
              uint64_t row_stride, uint64_t slice_stride, GobOrder order, const Copy& copy) {
    const uint64_t block_bytes = uint64_t{kGobBytes} * l.block_height * l.block_depth;
    const uint64_t row_of_blocks = l.columns * block_bytes;
    const uint32_t block_rows = kGobHeight * l.block_height;
    const uint64_t slice_group = (l.height + block_rows - 1) / block_rows * row_of_blocks;
    const uint32_t first = b.x * bytes, last = (b.x + b.width) * bytes;
    // Whole GOB columns of the box.
    const uint32_t whole_from = (first + kGobWidth - 1) / kGobWidth * kGobWidth,
                   whole_to = std::max(last / kGobWidth * kGobWidth, whole_from);
    for (uint32_t z = b.z; z < b.z + b.depth; ++z) {
        Gob* slice = storage + z / l.block_depth * slice_group +
                     z % l.block_depth * (uint64_t{kGobBytes} * l.block_height);
        Row* plane = linear + (z - b.z) * slice_stride;
        for (uint32_t y = b.y; y < b.y + b.height;) {
            Gob* gob_row = slice + y / block_rows * row_of_blocks + y / kGobHeight % l.block_height * kGobBytes;
            Row* row = plane + (y - b.y) * row_stride;
            const uint32_t in_gob = y % kGobHeight;
            const uint32_t rows = std::min(kGobHeight - in_gob, b.y + b.height - y);
            const bool kernel = rows == kGobHeight && whole_to > whole_from;
            if (kernel)
                copy.gobs(gob_row + whole_from / kGobWidth * block_bytes, block_bytes,
                          (whole_to - whole_from) / kGobWidth, row + (whole_from - first), row_stride);
            for (uint32_t k = 0; k < rows; ++k, row += row_stride) {
                for (uint32_t x = first; x < last;) {
                    if (kernel && x == whole_from) {
                        x = whole_to;
                        continue;
                    }
                    const uint32_t n = std::min(16 - x % 16, last - x);
                    copy.piece(gob_row + x / kGobWidth * block_bytes +
                                   gob_offset(x % kGobWidth, in_gob + k, order),
                               row + (x - first), n);
                    x += n;
                }
            }
            y += rows;
        }
    }
}

} // namespace

bool deswizzle(const LevelLayout& level, uint32_t bytes, const uint8_t* storage, uint64_t storage_bytes,
               const Box& box, uint8_t* out, uint64_t row_stride, uint64_t slice_stride, GobOrder order) {
    return deswizzle_with(swizzle_kernels().back(), level, bytes, storage, storage_bytes, box, out, row_stride,
                          slice_stride, order);
}

bool swizzle(const LevelLayout& level, uint32_t bytes, uint8_t* storage, uint64_t storage_bytes,
             const Box& box, const uint8_t* in, uint64_t row_stride, uint64_t slice_stride, GobOrder order) {
    return swizzle_with(swizzle_kernels().back(), level, bytes, storage, storage_bytes, box, in, row_stride,
                        slice_stride, order);
}

bool deswizzle_with(const SwizzleKernels& kernels, const LevelLayout& level, uint32_t bytes,
                    const uint8_t* storage, uint64_t storage_bytes, const Box& box, uint8_t* out,
                    uint64_t row_stride, uint64_t slice_stride, GobOrder order) {
    if (!fits(level, bytes, storage_bytes, box, row_stride, slice_stride))
        return false;
    copy_box(level, bytes, box, storage, out, row_stride, slice_stride, order,
             ToRows{kernels.to_rows[static_cast<unsigned>(order)]});
    return true;
}

bool swizzle_with(const SwizzleKernels& kernels, const LevelLayout& level, uint32_t bytes, uint8_t* storage,
                  uint64_t storage_bytes, const Box& box, const uint8_t* in, uint64_t row_stride,
                  uint64_t slice_stride, GobOrder order) {
    if (!fits(level, bytes, storage_bytes, box, row_stride, slice_stride))
        return false;
    const auto i = static_cast<unsigned>(order);
    const bool stream = kernels.stream_to_gobs[i] && row_stride * box.height * box.depth >= kStreamBytes &&
                        reinterpret_cast<uintptr_t>(storage) % kernels.alignment == 0;
    copy_box(level, bytes, box, storage, in, row_stride, slice_stride, order,
             ToGobs{stream ? kernels.stream_to_gobs[i] : kernels.to_gobs[i]});
    return true;
}

} // namespace dmsh::nvn
