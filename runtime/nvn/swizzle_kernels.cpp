// GOB copies in plain C++, SSE2, AVX2 and NEON; the best that the machine has is found at run time.
#include "runtime/nvn/swizzle_kernels.h"
#include <array>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace dmsh::nvn {
namespace {

// A GOB is 32 pieces of 16 bytes. Piece (x, y), x = 0..3, y = 0..7:
template <GobOrder Order>
constexpr uint32_t piece(uint32_t x, uint32_t y) {
    return gob_offset(16 * x, y, Order);
}

// Plain and SIMD forms differ in how they move 16 bytes; the compiler unrolls both loops.
#define DMSH_GOB_LOOPS(TARGET, NAME, MOVE16)                                                                 \
    template <GobOrder Order>                                                                                \
    TARGET void NAME##_to_rows(const uint8_t* gobs, uint64_t step, uint32_t count, uint8_t* rows,            \
                               uint64_t stride) {                                                            \
        for (uint32_t i = 0; i < count; ++i, gobs += step, rows += kGobWidth)                                \
            for (uint32_t y = 0; y < kGobHeight; ++y)                                                        \
                for (uint32_t x = 0; x < 4; ++x)                                                             \
                    MOVE16(rows + y * stride + 16 * x, gobs + piece<Order>(x, y));                           \
    }                                                                                                        \
    template <GobOrder Order>                                                                                \
    TARGET void NAME##_to_gobs(uint8_t* gobs, uint64_t step, uint32_t count, const uint8_t* rows,            \
                               uint64_t stride) {                                                            \
        for (uint32_t i = 0; i < count; ++i, gobs += step, rows += kGobWidth)                                \
            for (uint32_t y = 0; y < kGobHeight; ++y)                                                        \
                for (uint32_t x = 0; x < 4; ++x)                                                             \
                    MOVE16(gobs + piece<Order>(x, y), rows + y * stride + 16 * x);                           \
    }
#define DMSH_KERNELS(TEXT, NAME)                                                                             \
    SwizzleKernels {                                                                                         \
        TEXT, {NAME##_to_rows<GobOrder::tegra_x1>, NAME##_to_rows<GobOrder::switch2>},                       \
            {NAME##_to_gobs<GobOrder::tegra_x1>, NAME##_to_gobs<GobOrder::switch2>}, {}, 1,                  \
    }

inline void move16_plain(uint8_t* to, const uint8_t* from) {
    std::memcpy(to, from, 16);
}
DMSH_GOB_LOOPS(, plain, move16_plain)

#if defined(__x86_64__)

inline void move16_sse2(uint8_t* to, const uint8_t* from) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
DMSH_GOB_LOOPS(, sse2, move16_sse2)

// Both orders keep the pieces of rows y and y + 1 (y even) of one column together: 32 bytes of storage are two
// half rows, and two such loads, exchanged by halves, are 32 bytes of two rows.
#define DMSH_AVX2 __attribute__((target("avx2")))

DMSH_AVX2 inline __m256i load32(const uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
template <bool Stream>
DMSH_AVX2 inline void store32(uint8_t* to, __m256i v) {
    if constexpr (Stream)
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to), v);
    else
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
}

// GOBs of a row of GOBs lie a block apart, too far for the hardware's own prefetching.
constexpr uint32_t kAhead = 4;

template <GobOrder Order>
DMSH_AVX2 void avx2_to_rows(const uint8_t* gobs, uint64_t step, uint32_t count, uint8_t* rows,
                            uint64_t stride) {
    for (uint32_t i = 0; i < count; ++i, gobs += step, rows += kGobWidth) {
        if (i + kAhead < count)
            for (uint32_t line = 0; line < kGobBytes; line += 64)
                _mm_prefetch(reinterpret_cast<const char*>(gobs + kAhead * step + line), _MM_HINT_T0);
        for (uint32_t y = 0; y < kGobHeight; y += 2) {
            const __m256i a = load32(gobs + piece<Order>(0, y)), b = load32(gobs + piece<Order>(1, y)),
                          c = load32(gobs + piece<Order>(2, y)), d = load32(gobs + piece<Order>(3, y));
            uint8_t* to = rows + y * stride;
            store32<false>(to, _mm256_permute2x128_si256(a, b, 0x20));
            store32<false>(to + 32, _mm256_permute2x128_si256(c, d, 0x20));
            store32<false>(to + stride, _mm256_permute2x128_si256(a, b, 0x31));
            store32<false>(to + stride + 32, _mm256_permute2x128_si256(c, d, 0x31));
        }
    }
}
template <GobOrder Order, bool Stream>
DMSH_AVX2 void avx2_to_gobs(uint8_t* gobs, uint64_t step, uint32_t count, const uint8_t* rows,
                            uint64_t stride) {
    for (uint32_t i = 0; i < count; ++i, gobs += step, rows += kGobWidth)
        for (uint32_t y = 0; y < kGobHeight; y += 2) {
            const uint8_t* from = rows + y * stride;
            const __m256i a = load32(from), b = load32(from + 32), c = load32(from + stride),
                          d = load32(from + stride + 32);
            store32<Stream>(gobs + piece<Order>(0, y), _mm256_permute2x128_si256(a, c, 0x20));
            store32<Stream>(gobs + piece<Order>(1, y), _mm256_permute2x128_si256(a, c, 0x31));
            store32<Stream>(gobs + piece<Order>(2, y), _mm256_permute2x128_si256(b, d, 0x20));
            store32<Stream>(gobs + piece<Order>(3, y), _mm256_permute2x128_si256(b, d, 0x31));
        }
}

#elif defined(__aarch64__)

inline void move16_neon(uint8_t* to, const uint8_t* from) {
    vst1q_u8(to, vld1q_u8(from));
}
DMSH_GOB_LOOPS(, neon, move16_neon)

#endif

struct Found {
    std::array<SwizzleKernels, 3> sets;
    size_t count = 0;
    Found() {
        sets[count++] = DMSH_KERNELS("plain", plain);
#if defined(__x86_64__)
        sets[count++] = DMSH_KERNELS("sse2", sse2); // every x86-64 has it
        if (__builtin_cpu_supports("avx2"))
            sets[count++] = {
                "avx2",
                {avx2_to_rows<GobOrder::tegra_x1>, avx2_to_rows<GobOrder::switch2>},
                {avx2_to_gobs<GobOrder::tegra_x1, false>, avx2_to_gobs<GobOrder::switch2, false>},
                {avx2_to_gobs<GobOrder::tegra_x1, true>, avx2_to_gobs<GobOrder::switch2, true>},
                32,
            };
#elif defined(__aarch64__)
        sets[count++] = DMSH_KERNELS("neon", neon); // every AArch64 has it
#endif
    }
};

} // namespace

std::span<const SwizzleKernels> swizzle_kernels() {
    static const Found found;
    return {found.sets.data(), found.count};
}

} // namespace dmsh::nvn
