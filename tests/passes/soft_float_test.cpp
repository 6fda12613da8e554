// Integer soft-float against the host's FPU in every rounding mode.
#include "compiler/passes/soft_float.h"
#include <bit>
#include <cfenv>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace dmsh;

namespace {

constexpr int kHostModes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};

template <class F>
uint64_t bits_of(F v) {
    if constexpr (sizeof(F) == 8)
        return std::bit_cast<uint64_t>(v);
    else
        return std::bit_cast<uint32_t>(v);
}
template <class F>
F from_bits(uint64_t v) {
    if constexpr (sizeof(F) == 8)
        return std::bit_cast<double>(v);
    else
        return std::bit_cast<float>(static_cast<uint32_t>(v));
}
template <class F>
constexpr FloatFormat format_of() {
    return sizeof(F) == 8 ? kDouble : kSingle;
}

// Boundary values, small differences of exponents, and raw bits.
template <class F>
struct Source {
    std::mt19937_64 random{42};
    uint64_t next() {
        const FloatFormat f = format_of<F>();
        const uint64_t r = random();
        const uint64_t mask = f.magnitude() | f.sign();
        switch (r % 8) {
        case 0: {
            static constexpr int shifts[] = {0, 1, 2};
            const uint64_t specials[] = {0,
                                         1,
                                         f.infinity(),
                                         f.infinity() - 1,
                                         f.nan(),
                                         uint64_t{1} << f.mantissa_bits,
                                         (uint64_t{1} << f.mantissa_bits) - 1,
                                         f.bias() << f.mantissa_bits};
            return (specials[(r >> 8) % 8] + static_cast<uint64_t>(shifts[(r >> 16) % 3]) * (r >> 20 & 1)) |
                   ((r >> 24 & 1) ? f.sign() : 0);
        }
        case 1:
            return (random() & ((uint64_t{1} << f.mantissa_bits) - 1)) |
                   ((r >> 24 & 1) ? f.sign() : 0); // subnormal
        case 2:
        case 3: { // near 1, sparse mantissas
            const uint64_t e = f.bias() + (r >> 8) % 120 - 60;
            const uint64_t m = random() & random() & ((uint64_t{1} << f.mantissa_bits) - 1);
            return (e << f.mantissa_bits) | m | ((r >> 40 & 1) ? f.sign() : 0);
        }
        case 4: { // near 1, dense mantissas
            const uint64_t e = f.bias() + (r >> 8) % 6 - 3;
            return (e << f.mantissa_bits) | (random() & ((uint64_t{1} << f.mantissa_bits) - 1)) |
                   ((r >> 40 & 1) ? f.sign() : 0);
        }
        default: return random() & mask;
        }
    }
};

template <class F>
void expect_same(const char* what, unsigned round, F expected, uint64_t actual, uint64_t a, uint64_t b,
                 uint64_t c) {
    const uint64_t e = std::isnan(expected) ? format_of<F>().nan() : bits_of(expected);
    ASSERT_EQ(e, actual) << what << " round " << round << std::hex << " " << a << " " << b << " " << c;
}

template <class F>
void arithmetic(unsigned count) {
    HostWords host;
    SoftFloat<HostWords> soft(host);
    constexpr FloatFormat f = format_of<F>();
    Source<F> source;
    for (unsigned i = 0; i < count; ++i) {
        const uint64_t a = source.next(), b = source.next();
        uint64_t c = source.next();
        const volatile F x = from_bits<F>(a), y = from_bits<F>(b);
        if (i % 3 == 0) // near cancellation
            c = (bits_of<F>(x * y) ^ f.sign()) + i % 5;
        const volatile F z = from_bits<F>(c);
        for (unsigned round = 0; round < 4; ++round) {
            std::fesetround(kHostModes[round]);
            const volatile F sum = x + y, product = x * y,
                             fused = std::fma(static_cast<F>(x), static_cast<F>(y), static_cast<F>(z));
            std::fesetround(FE_TONEAREST);
            expect_same<F>("add", round, sum, soft.add(f, round, a, b), a, b, 0);
            expect_same<F>("mul", round, product, soft.mul(f, round, a, b), a, b, 0);
            expect_same<F>("fma", round, fused, soft.fma(f, round, a, b, c), a, b, c);
            if (testing::Test::HasFatalFailure())
                return;
        }
        ASSERT_EQ(x < y, soft.less(f, a, b));
        ASSERT_EQ(x == y, soft.equal(f, a, b));
    }
}

} // namespace

TEST(SoftFloat, SingleArithmeticEqualsTheHost) {
    arithmetic<float>(100000);
}
TEST(SoftFloat, DoubleArithmeticEqualsTheHost) {
    arithmetic<double>(100000);
}

TEST(SoftFloat, ConversionsEqualTheHost) {
    HostWords host;
    SoftFloat<HostWords> soft(host);
    Source<double> doubles;
    Source<float> floats;
    for (unsigned i = 0; i < 80000; ++i) {
        const uint64_t a = doubles.next(), b = floats.next(), n = doubles.random() >> (doubles.random() % 64);
        const volatile double x = from_bits<double>(a);
        const volatile float y = from_bits<float>(b);
        expect_same<double>("widen", 0, static_cast<double>(y), soft.convert(kSingle, kDouble, 0, b), b, 0,
                            0);
        for (unsigned round = 0; round < 4; ++round) {
            std::fesetround(kHostModes[round]);
            const volatile float narrow = static_cast<float>(x);
            const volatile uint64_t m = n;
            const volatile double si = static_cast<double>(static_cast<int64_t>(m)),
                                  ui = static_cast<double>(m);
            const volatile float sf = static_cast<float>(static_cast<int64_t>(m)), uf = static_cast<float>(m);
            const volatile double whole = std::nearbyint(x);
            std::fesetround(FE_TONEAREST);
            expect_same<float>("narrow", round, narrow, soft.convert(kDouble, kSingle, round, a), a, 0, 0);
            expect_same<double>("i64 to f64", round, si, soft.from_int(kDouble, round, true, n), n, 0, 0);
            expect_same<float>("i64 to f32", round, sf, soft.from_int(kSingle, round, true, n), n, 0, 0);
            expect_same<double>("integral", round, whole, soft.round_to_integral(kDouble, round, a), a, 0, 0);
            if (n >> 63 == 0 || round != 1) { // the host's own u64 conversions are only right in these cases
                expect_same<double>("u64 to f64", round, ui, soft.from_int(kDouble, round, false, n), n, 0,
                                    0);
                expect_same<float>("u64 to f32", round, uf, soft.from_int(kSingle, round, false, n), n, 0, 0);
            }
            if (testing::Test::HasFatalFailure())
                return;
        }
        // Saturating conversions, by the definition.
        const double t = std::trunc(static_cast<double>(x));
        const uint64_t s32 = std::isnan(t)       ? 0
                             : t >= 2147483648.0 ? 0x7fffffff
                             : t < -2147483648.0 ? ~uint64_t{0x7fffffff}
                                                 : static_cast<uint64_t>(static_cast<int64_t>(t));
        const uint64_t u32 = std::isnan(t) || t < 0 ? 0
                             : t >= 4294967296.0    ? 0xffffffff
                                                    : static_cast<uint64_t>(t);
        const uint64_t s64 = std::isnan(t)                ? 0
                             : t >= 9223372036854775808.0 ? INT64_MAX
                             : t < -9223372036854775808.0 ? uint64_t{1} << 63
                                                          : static_cast<uint64_t>(static_cast<int64_t>(t));
        const uint64_t u64 = std::isnan(t) || t < 0        ? 0
                             : t >= 18446744073709551616.0 ? ~uint64_t{0}
                                                           : static_cast<uint64_t>(t);
        ASSERT_EQ(s32, soft.to_int(kDouble, 32, true, a)) << x;
        ASSERT_EQ(u32, soft.to_int(kDouble, 32, false, a)) << x;
        ASSERT_EQ(s64, soft.to_int(kDouble, 64, true, a)) << x;
        ASSERT_EQ(u64, soft.to_int(kDouble, 64, false, a)) << x;
    }
}
