// Kernels that copy whole GOBs between storage and rows, one set per instruction set.
#pragma once
#include "runtime/nvn/texture_layout.h"
#include <span>

namespace dmsh::nvn {

// Copies `count` GOBs of one row of GOBs: GOB i is at gobs + i * step, its 8 rows of 64 bytes at
// rows + i * 64 + y * stride. No alignment is asked for.
struct SwizzleKernels {
    using ToRows = void (*)(const uint8_t* gobs, uint64_t step, uint32_t count, uint8_t* rows, uint64_t stride);
    using ToGobs = void (*)(uint8_t* gobs, uint64_t step, uint32_t count, const uint8_t* rows, uint64_t stride);
    const char* name;
    ToRows to_rows[2]; // by GobOrder
    ToGobs to_gobs[2];
    // to_gobs with stores that pass the caches by, for copies larger than these; gobs must be aligned to
    // `alignment`. Null: none.
    ToGobs stream_to_gobs[2];
    uint32_t alignment;
};

// The sets that this machine runs, the best last; the first is plain C++.
std::span<const SwizzleKernels> swizzle_kernels();

// deswizzle() and swizzle() of texture_layout.h with a set of kernels of the caller's choice.
bool deswizzle_with(const SwizzleKernels& kernels, const LevelLayout& level, uint32_t bytes,
                    const uint8_t* storage, uint64_t storage_bytes, const Box& box, uint8_t* out,
                    uint64_t row_stride, uint64_t slice_stride, GobOrder order);
bool swizzle_with(const SwizzleKernels& kernels, const LevelLayout& level, uint32_t bytes, uint8_t* storage,
                  uint64_t storage_bytes, const Box& box, const uint8_t* in, uint64_t row_stride,
                  uint64_t slice_stride, GobOrder order);

} // namespace dmsh::nvn
