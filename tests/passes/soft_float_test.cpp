// Soft float against the machine's own arithmetic in all four rounding directions.
#include "compiler/passes/soft_float.h"
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace dmsh {
namespace {

// The native word.
struct Native {
    struct Bool {
        bool v;
        friend Bool operator&(Bool a, Bool b) { return {a.v && b.v}; }
        friend Bool operator|(Bool a, Bool b) { return {a.v || b.v}; }
        friend Bool operator!(Bool a) { return {!a.v}; }
    };
    struct Word {
        uint64_t v;
        friend Word operator+(Word a, Word b) { return {a.v + b.v}; }
        friend Word operator-(Word a, Word b) { return {a.v - b.v}; }
        friend Word operator*(Word a, Word b) { return {a.v * b.v}; }
        friend Word operator&(Word a, Word b) { return {a.v & b.v}; }
        friend Word operator|(Word a, Word b) { return {a.v | b.v}; }
        friend Word operator^(Word a, Word b) { return {a.v ^ b.v}; }
    };
    Word k(uint64_t v) { return {v}; }
    Word shl(Word a, Word n) {
        EXPECT_LT(n.v, 64u);
        return {a.v << (n.v & 63)};
    }
    Word lshr(Word a, Word n) {
        EXPECT_LT(n.v, 64u);
        return {a.v >> (n.v & 63)};
    }
    Bool ult(Word a, Word b) { return {a.v < b.v}; }
    Bool eq(Word a, Word b) { return {a.v == b.v}; }
    Word select(Bool c, Word t, Word f) { return c.v ? t : f; }
    Word clz(Word a) { return {static_cast<uint64_t>(std::countl_zero(a.v))}; }
};

constexpr int kModes[4] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};

template <class T, class U>
T bits_to(U u) {
    T t;
    std::memcpy(&t, &u, sizeof t);
    return t;
}

template <class F, class U>
void expect_same(U got, F want, const char* what, int mode, U a, U b, U c) {
    if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(bits_to<F>(got))) << what << " mode " << mode;
        return;
    }
    EXPECT_EQ(got, bits_to<U>(want)) << std::hex << what << " mode " << mode << " of " << a << " " << b << " "
                                     << c;
}

// Operands that meet: near exponents, boundaries, and random bits.
template <class U>
struct Operands {
    std::mt19937_64 rng{0x5eed};
    FloatFormat f;
    explicit Operands(FloatFormat format) : f(format) {}
    U next() {
        const uint64_t sign = (rng() & 1) << (f.width - 1), top = (uint64_t{1} << f.exponent_bits()) - 1;
        const uint64_t fraction = rng() & f.fraction_mask();
        switch (rng() % 8) {
        case 0: return static_cast<U>(sign | f.infinity());
        case 1: return static_cast<U>(sign);
        case 2: return static_cast<U>(sign | (fraction >> (rng() % f.p)));    // subnormal
        case 3: return static_cast<U>(sign | (f.infinity() - 1 - rng() % 3)); // largest
        case 4:
            return static_cast<U>(sign | (uint64_t(f.bias()) + rng() % 5 - 2) << (f.p - 1) |
                                  (rng() & 1 ? fraction : rng() % 4));
        case 5: return static_cast<U>(sign | (rng() % 70) << (f.p - 1) | fraction); // small
        case 6: return static_cast<U>(sign | f.nan());
        default: return static_cast<U>(sign | (rng() % top) << (f.p - 1) | fraction);
        }
    }
};

template <class F, class U>
void check_arithmetic(FloatFormat f) {
    Native machine;
    SoftFloat<Native> soft(machine);
    Operands<U> operands(f);
    for (int i = 0; i < 50000; ++i) {
        const U a = operands.next(), b = operands.next(), c = operands.next();
        const volatile F x = bits_to<F>(a), y = bits_to<F>(b), z = bits_to<F>(c);
        for (int mode = 0; mode < 4; ++mode) {
            std::fesetround(kModes[mode]);
            const volatile F fma = std::fma(x, y, z), sum = x + y, product = x * y;
            std::fesetround(FE_TONEAREST);
            const auto r = static_cast<Round>(mode);
            expect_same<F, U>(static_cast<U>(soft.fma(f, r, {a}, {b}, {c}).v), fma, "fma", mode, a, b, c);
            expect_same<F, U>(static_cast<U>(soft.add(f, r, {a}, {b}).v), sum, "add", mode, a, b, 0);
            expect_same<F, U>(static_cast<U>(soft.mul(f, r, {a}, {b}).v), product, "mul", mode, a, b, 0);
            if (testing::Test::HasFailure())
                return;
        }
    }
}

TEST(SoftFloat, SingleIsTheMachines) {
    check_arithmetic<float, uint32_t>(kBinary32);
}
TEST(SoftFloat, DoubleIsTheMachines) {
    check_arithmetic<double, uint64_t>(kBinary64);
}

TEST(SoftFloat, ConversionsAreTheMachines) {
    Native machine;
    SoftFloat<Native> soft(machine);
    Operands<uint64_t> operands(kBinary64);
    for (int i = 0; i < 50000; ++i) {
        uint64_t a = operands.next();
        if (i & 1) // into the range of single precision and below it
            a = (a & 0x800fffffffffffffull) | (1023ull - 160 + operands.rng() % 300) << 52;
        const volatile double x = bits_to<double>(a);
        const volatile int64_t s = static_cast<int64_t>(a >> (operands.rng() % 64));
        const volatile uint64_t u = a >> (operands.rng() % 64);
        for (int mode = 0; mode < 4; ++mode) {
            std::fesetround(kModes[mode]);
            const volatile float narrow = static_cast<float>(x), fs = static_cast<float>(s),
                                 fu = static_cast<float>(u);
            const volatile double ds = static_cast<double>(s), du = static_cast<double>(u);
            std::fesetround(FE_TONEAREST);
            const auto r = static_cast<Round>(mode);
            expect_same<float, uint32_t>(static_cast<uint32_t>(soft.convert(kBinary64, kBinary32, r, {a}).v),
                                         narrow, "convert", mode, 0, 0, 0);
            expect_same<float, uint32_t>(
                static_cast<uint32_t>(soft.from_integer(kBinary32, r, true, {static_cast<uint64_t>(s)}).v),
                fs, "s64", mode, 0, 0, 0);
            expect_same<float, uint32_t>(static_cast<uint32_t>(soft.from_integer(kBinary32, r, false, {u}).v),
                                         fu, "u64", mode, 0, 0, 0);
            expect_same<double, uint64_t>(soft.from_integer(kBinary64, r, true, {static_cast<uint64_t>(s)}).v,
                                          ds, "s64 double", mode, 0, 0, 0);
            expect_same<double, uint64_t>(soft.from_integer(kBinary64, r, false, {u}).v, du, "u64 double",
                                          mode, 0, 0, 0);
            if (testing::Test::HasFailure())
                return;
        }
    }
}

// Half: every single-precision value near the halves and between them, against exact neighbours.
TEST(SoftFloat, HalfRoundsToTheNeighbourInTheDirection) {
    Native machine;
    SoftFloat<Native> soft(machine);
    const auto value = [&](uint32_t h) { // exact by definition of the format
        const uint32_t e = h >> 10 & 31, f = h & 1023;
        const double magnitude = e == 31 ? (f ? NAN : INFINITY)
                                 : e     ? std::ldexp(1024 + f, int(e) - 25)
                                         : std::ldexp(f, -24);
        return h & 0x8000 ? -magnitude : magnitude;
    };
    std::mt19937_64 rng(7);
    for (int i = 0; i < 60000; ++i) {
        const uint32_t a = i % 3 ? static_cast<uint32_t>((rng() & 0x80ffffff) | (100 + rng() % 48) << 23)
                                 : static_cast<uint32_t>(rng());
        const float x = bits_to<float>(a);
        for (int mode = 0; mode < 4; ++mode) {
            const auto h =
                static_cast<uint32_t>(soft.convert(kBinary32, kBinary16, static_cast<Round>(mode), {a}).v);
            const double got = value(h);
            if (std::isnan(x)) {
                EXPECT_TRUE(std::isnan(got));
                continue;
            }
            const double down = value(h & 0x8000 ? h + 1
                                      : h        ? h - 1
                                                 : 0x8001),
                         up = value(h & 0x8000 ? (h == 0x8000 ? 1 : h - 1) : h + 1);
            switch (mode) {
            case 0: // 65520 and beyond go to infinity: halfway to the next binade's first value
                EXPECT_LE(std::abs((std::isinf(got) ? std::copysign(65536.0, got) : got) - x),
                          std::isinf(got) ? INFINITY : std::min(std::abs(down - x), std::abs(up - x)));
                break;
            case 1: EXPECT_TRUE(got <= x && (up > x || std::isinf(x))) << std::hex << a; break;
            case 2: EXPECT_TRUE(got >= x && (down < x || std::isinf(x))) << std::hex << a; break;
            default: EXPECT_TRUE(std::abs(got) <= std::abs(x)) << std::hex << a; break;
            }
            EXPECT_EQ(h >> 15, a >> 31);
            if (testing::Test::HasFailure())
                return;
        }
    }
}

} // namespace
} // namespace dmsh
