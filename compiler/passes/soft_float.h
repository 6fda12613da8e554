// Soft float: fused multiply-add and conversions in any IEEE binary format and rounding direction, written
// once over an abstract 64-bit word, so that the same text builds IR (expand_rounding.cpp) and runs natively
// in its tests against the machine.
//
// Word W: a value type with + - * & | ^ and unary ~ on W, shl(W, W) and lshr(W, W) for amounts below 64,
// ult(W, W) and eq(W, W) to its Bool, select(Bool, W, W), clz(W) with clz(0) = 64. Bool: & | ! on itself.
// `k(n)` makes a constant. No branches anywhere.
#pragma once
#include <cstdint>

namespace dmsh {

// An IEEE binary format: `p` significant bits (the implicit one included), width in bits.
struct FloatFormat {
    unsigned p, width;
    constexpr unsigned exponent_bits() const { return width - p; }
    constexpr int64_t bias() const { return (int64_t{1} << (exponent_bits() - 1)) - 1; }
    constexpr uint64_t infinity() const { return ((uint64_t{1} << exponent_bits()) - 1) << (p - 1); }
    constexpr uint64_t nan() const { return infinity() | uint64_t{1} << (p - 2); }
    constexpr uint64_t fraction_mask() const { return (uint64_t{1} << (p - 1)) - 1; }
};
constexpr FloatFormat kBinary16{11, 16}, kBinary32{24, 32}, kBinary64{53, 64};

// ROUND operands of the dictionary.
enum class Round : uint32_t { nearest = 0, down = 1, up = 2, zero = 3 };

template <class M>
class SoftFloat {
  public:
    using W = typename M::Word;
    using B = typename M::Bool;
    explicit SoftFloat(M& machine) : m(machine) {}

    // a * b + c, one rounding.
    W fma(FloatFormat f, Round mode, W a, W b, W c) {
        const Parts x = unpack(f, a), y = unpack(f, b), z = unpack(f, c);
        const W sign_p = x.sign ^ y.sign;
        const B zero_p = x.zero | y.zero, inf_p = x.inf | y.inf;
        // The product with its top bit at 127.
        Wide p = multiply(x.mantissa, y.mantissa);
        const B top = !m.ult(p.hi, k(kTop));
        p = pick(top, p, shift_left_1(p));
        W ep = x.exponent + y.exponent + m.select(top, k(1), k(0));
        // Zeros get an exponent so low that they vanish in the alignment; both have a bit of room on top.
        p = pick(zero_p, Wide{k(0), k(0)}, shift_right_1(p));
        ep = m.select(zero_p, k(kFarBelow), ep);
        const Wide q = pick(z.zero, Wide{k(0), k(0)}, shift_right_1(Wide{z.mantissa, k(0)}));
        const W eq = m.select(z.zero, k(kFarBelow), z.exponent);
        const B p_low = less_signed(ep, eq);
        const W e = m.select(p_low, eq, ep);
        const Wide pa = shift_right_jam(p, e - ep), qa = shift_right_jam(q, e - eq);
        // Signed sum.
        const B same = m.eq(sign_p, z.sign);
        const B p_less = less(pa, qa);
        const Wide big = pick(p_less, qa, pa), small = pick(p_less, pa, qa);
        const Wide sum = pick(same, add(pa, qa), subtract(big, small));
        W sign = m.select(same, sign_p, m.select(p_less, z.sign, sign_p));
        const B nothing = m.eq(sum.hi | sum.lo, k(0));
        // x - x is +0, towards minus infinity -0; equal zeros keep their sign.
        sign = m.select(nothing & !same, k(mode == Round::down ? 1 : 0), sign);
        const W n = clz128(sum);
        const Wide normal = shift_left(sum, n);
        W r = round_pack(f, mode, sign, e + k(1) - n, normal.hi, normal.lo);
        r = m.select(nothing, signed_bits(f, sign, k(0)), r);
        // Infinities and NaNs.
        r = m.select(z.inf, signed_bits(f, z.sign, k(f.infinity())), r);
        r = m.select(inf_p, signed_bits(f, sign_p, k(f.infinity())), r);
        const B invalid = (inf_p & zero_p) | (inf_p & z.inf & !same);
        return m.select(x.nan | y.nan | z.nan | invalid, k(f.nan()), r);
    }

    W add(FloatFormat f, Round mode, W a, W b) { return fma(f, mode, a, k(one(f)), b); }

    // The zero that is added has the product's sign, so that it changes nothing.
    W mul(FloatFormat f, Round mode, W a, W b) {
        const W sign = (a ^ b) & k(uint64_t{1} << (f.width - 1));
        return fma(f, mode, a, b, sign);
    }

    W convert(FloatFormat from, FloatFormat to, Round mode, W a) {
        const Parts x = unpack(from, a);
        W r = round_pack(to, mode, x.sign, x.exponent, x.mantissa, k(0));
        r = m.select(x.zero, signed_bits(to, x.sign, k(0)), r);
        r = m.select(x.inf, signed_bits(to, x.sign, k(to.infinity())), r);
        return m.select(x.nan, k(to.nan()), r);
    }

    W from_integer(FloatFormat to, Round mode, bool is_signed, W v) {
        const W sign = is_signed ? m.lshr(v, k(63)) : k(0);
        const W magnitude = is_signed ? m.select(m.eq(sign, k(1)), k(0) - v, v) : v;
        const B zero = m.eq(magnitude, k(0));
        const W n = m.clz(magnitude);
        const W mantissa = m.shl(magnitude, n & k(63));
        return m.select(zero, k(0), round_pack(to, mode, sign, k(63) - n, mantissa, k(0)));
    }

  private:
    static constexpr uint64_t kTop = uint64_t{1} << 63;
    static constexpr uint64_t kFarBelow = static_cast<uint64_t>(int64_t{-100000});
    static constexpr uint64_t one(FloatFormat f) { return static_cast<uint64_t>(f.bias()) << (f.p - 1); }

    // |value| = mantissa / 2^63 * 2^exponent with the mantissa's top bit set.
    struct Parts {
        W sign, exponent, mantissa;
        B nan, inf, zero;
    };
    struct Wide {
        W hi, lo;
    };

    W k(uint64_t v) { return m.k(v); }
    B less_signed(W a, W b) { return m.ult(a ^ k(kTop), b ^ k(kTop)); }
    Wide pick(B c, Wide t, Wide f) { return {m.select(c, t.hi, f.hi), m.select(c, t.lo, f.lo)}; }
    W signed_bits(FloatFormat f, W sign, W magnitude) { return m.shl(sign, k(f.width - 1)) | magnitude; }

    Parts unpack(FloatFormat f, W v) {
        const uint64_t top = (uint64_t{1} << f.exponent_bits()) - 1;
        const W sign = m.lshr(v, k(f.width - 1)) & k(1);
        const W e = m.lshr(v, k(f.p - 1)) & k(top);
        const W fraction = v & k(f.fraction_mask());
        const B low = m.eq(e, k(0)), high = m.eq(e, k(top)), none = m.eq(fraction, k(0));
        const W n = m.clz(fraction);
        const W normal = m.shl(fraction | k(uint64_t{1} << (f.p - 1)), k(64 - f.p));
        const W subnormal = m.shl(fraction, n & k(63));
        // A subnormal is fraction * 2^(emin - p + 1).
        const W es = k(static_cast<uint64_t>(63 + (1 - f.bias()) - int64_t{f.p} + 1)) - n;
        return {sign,
                m.select(low, es, e - k(static_cast<uint64_t>(f.bias()))),
                m.select(low, subnormal, normal),
                high & !none,
                high & none,
                low & none};
    }

    // Rounds hi:lo (top bit of hi set) times 2^(exponent - 63) into the format; overflow goes where the
    // direction says.
    W round_pack(FloatFormat f, Round mode, W sign, W exponent, W hi, W lo) {
        const W biased = exponent + k(static_cast<uint64_t>(f.bias()));
        const B subnormal = less_signed(biased, k(1));
        const W extra = m.select(subnormal, k(1) - biased, k(0));
        const B far = m.ult(k(f.p), extra); // all bits fall below half of the last place
        const W s = m.select(far, k(63),
                             k(64 - f.p) + extra - k(1)); // one less than dropped: leaves the rounding bit
        const W with_bit = m.select(far, k(0), m.lshr(hi, s));
        const W kept = m.lshr(with_bit, k(1));
        const W round_bit = with_bit & k(1);
        const W below = m.select(far, hi, hi & (m.shl(k(1), s) - k(1))) | lo;
        const B sticky = !m.eq(below, k(0));
        const B inexact = sticky | m.eq(round_bit, k(1));
        const B negative = m.eq(sign, k(1));
        W step = k(0);
        switch (mode) {
        case Round::nearest: {
            const B up = m.eq(round_bit, k(1)) & (sticky | m.eq(kept & k(1), k(1)));
            step = m.select(up, k(1), k(0));
            break;
        }
        case Round::down: step = m.select(inexact & negative, k(1), k(0)); break;
        case Round::up: step = m.select(inexact & !negative, k(1), k(0)); break;
        case Round::zero: break;
        }
        // The implicit bit adds one to the exponent field, and a carry of the rounding goes where it belongs.
        const W field = m.select(subnormal, k(0), biased - k(1));
        const W bits = m.shl(field, k(f.p - 1)) + kept + step;
        const uint64_t infinity = f.infinity();
        const B overflow =
            (!m.ult(bits, k(infinity))) | less_signed(k(static_cast<uint64_t>(2 * f.bias())), biased);
        W limit = k(infinity);
        switch (mode) {
        case Round::nearest: break;
        case Round::down: limit = m.select(negative, k(infinity), k(infinity - 1)); break;
        case Round::up: limit = m.select(negative, k(infinity - 1), k(infinity)); break;
        case Round::zero: limit = k(infinity - 1); break;
        }
        return signed_bits(f, sign, m.select(overflow, limit, bits));
    }

    // ---- 128-bit words ----
    Wide multiply(W a, W b) {
        const W mask = k(0xffffffff), al = a & mask, ah = m.lshr(a, k(32)), bl = b & mask,
                bh = m.lshr(b, k(32));
        const W ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
        const W middle = m.lshr(ll, k(32)) + (lh & mask) + (hl & mask);
        return {hh + m.lshr(lh, k(32)) + m.lshr(hl, k(32)) + m.lshr(middle, k(32)),
                (ll & mask) | m.shl(middle, k(32))};
    }
    Wide add(Wide a, Wide b) {
        const W lo = a.lo + b.lo;
        return {a.hi + b.hi + m.select(m.ult(lo, a.lo), k(1), k(0)), lo};
    }
    Wide subtract(Wide a, Wide b) {
        return {a.hi - b.hi - m.select(m.ult(a.lo, b.lo), k(1), k(0)), a.lo - b.lo};
    }
    B less(Wide a, Wide b) { return m.ult(a.hi, b.hi) | (m.eq(a.hi, b.hi) & m.ult(a.lo, b.lo)); }
    Wide shift_left_1(Wide a) { return {m.shl(a.hi, k(1)) | m.lshr(a.lo, k(63)), m.shl(a.lo, k(1))}; }
    Wide shift_right_1(Wide a) {
        return {m.lshr(a.hi, k(1)), m.lshr(a.lo, k(1)) | m.shl(a.hi, k(63)) | (a.lo & k(1))};
    }
    W clz128(Wide a) {
        const B high = m.eq(a.hi, k(0));
        return m.select(high, k(64) + m.clz(a.lo), m.clz(a.hi));
    }
    Wide shift_left(Wide a, W n) { // n <= 128
        const B far = m.ult(k(63), n);
        const W s = n & k(63);
        const B none = m.eq(s, k(0));
        const W carried = m.select(none, k(0), m.lshr(a.lo, (k(64) - s) & k(63)));
        return {m.select(far, m.shl(a.lo, s), m.shl(a.hi, s) | carried), m.select(far, k(0), m.shl(a.lo, s))};
    }
    // Bits that fall out leave a one in the lowest place.
    Wide shift_right_jam(Wide a, W n) {
        const B gone = m.ult(k(127), n), far = m.ult(k(63), n);
        const W s = n & k(63);
        const B none = m.eq(s, k(0));
        const W left = (k(64) - s) & k(63);
        const W out_lo = m.select(none, k(0), m.shl(a.lo, left)),
                out_hi = m.select(none, k(0), m.shl(a.hi, left));
        const W lost = m.select(gone, a.hi | a.lo, m.select(far, a.lo | out_hi, out_lo));
        const W hi = m.select(far, k(0), m.lshr(a.hi, s));
        const W lo = m.select(gone, k(0), m.select(far, m.lshr(a.hi, s), m.lshr(a.lo, s) | out_hi));
        return {m.select(gone, k(0), hi), lo | m.select(m.eq(lost, k(0)), k(0), k(1))};
    }

    M& m;
};

} // namespace dmsh
