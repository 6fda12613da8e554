// IEEE arithmetic written with integers only, free of branches, once for the host (tests) and once for IR
// (legalisation).
//
// SoftFloat<O> computes on 64-bit words through the operations of O:
//   O::Word  +, -, *, &, |, ^, <<, >> (logical), ==, !=, < (unsigned), with Word or uint64_t on the right
//   O::Bool  &, |, !, ==
//   o.word(uint64_t), o.select(Bool, x, y) for words and bools, o.clz(Word) (64 for 0)
// Shift amounts are always below 64. Formats are template arguments; values travel as their bits in the low
// end of a word. Rounding: 0 nearest even, 1 towards minus infinity, 2 towards plus infinity, 3 towards zero
// (the codes of dmsh.*.rnd). NaN results are the guest's own NaN.
#pragma once
#include <cstdint>

namespace dmsh {

struct FloatFormat {
    unsigned exponent_bits, mantissa_bits;
    constexpr unsigned bits() const { return 1 + exponent_bits + mantissa_bits; }
    constexpr uint64_t bias() const { return (uint64_t{1} << (exponent_bits - 1)) - 1; }
    constexpr uint64_t max_exponent() const { return (uint64_t{1} << exponent_bits) - 1; }
    constexpr uint64_t sign() const { return uint64_t{1} << (bits() - 1); }
    constexpr uint64_t infinity() const { return max_exponent() << mantissa_bits; }
    constexpr uint64_t magnitude() const { return sign() - 1; }
    // The NaN that the guest's arithmetic makes: all ones but the sign; of doubles the negative quiet one.
    constexpr uint64_t nan() const { return mantissa_bits == 52 ? uint64_t{0xfff8000000000000} : magnitude(); }
};
inline constexpr FloatFormat kHalf{5, 10}, kSingle{8, 23}, kDouble{11, 52};

template <class O>
class SoftFloat {
  public:
    using W = typename O::Word;
    using B = typename O::Bool;
    explicit SoftFloat(O& ops) : o(ops) {}

    W add(const FloatFormat& f, unsigned round, W a, W b) {
        const Parts x = unpack(f, a), y = unpack(f, b);
        // Zeros take the other exponent, so that they never shift it.
        const W ex = o.select(x.zero, y.exponent, x.exponent), ey = o.select(y.zero, x.exponent, y.exponent);
        W r = add_parts(f, round, x.sign, ex, x.significand >> 1, y.sign, ey, y.significand >> 1);
        r = o.select(y.inf, b, r);
        r = o.select(x.inf, a, r);
        const B invalid = x.nan | y.nan | (x.inf & y.inf & !(x.sign == y.sign));
        return o.select(invalid, o.word(f.nan()), r);
    }

    W mul(const FloatFormat& f, unsigned round, W a, W b) {
        const Parts x = unpack(f, a), y = unpack(f, b);
        const B sign = !(x.sign == y.sign);
        W hi = o.word(0), lo = o.word(0);
        W exponent = multiply(f, x, y, hi, lo);
        const W sig = hi | flag(lo != 0);
        const W zero = signed_word(f, sign, o.word(0));
        W r = o.select(x.zero | y.zero, zero, round_pack(f, round, sign, exponent, sig));
        r = o.select(x.inf | y.inf, zero | f.infinity(), r);
        const B invalid = x.nan | y.nan | (x.inf & y.zero) | (x.zero & y.inf);
        return o.select(invalid, o.word(f.nan()), r);
    }

    W fma(const FloatFormat& f, unsigned round, W a, W b, W c) {
        const Parts x = unpack(f, a), y = unpack(f, b), z = unpack(f, c);
        const B sign = !(x.sign == y.sign);
        const B no_product = x.zero | y.zero;
        W hi = o.word(0), lo = o.word(0);
        W ep = multiply(f, x, y, hi, lo);
        hi = o.select(no_product, o.word(0), hi);
        lo = o.select(no_product, o.word(0), lo);
        const W ex = o.select(no_product, z.exponent, ep), ez = o.select(z.zero, ex, z.exponent);
        W r = o.word(0);
        if (f.mantissa_bits <= 23) // the product fits 64 bits with room to spare
            r = add_parts(f, round, sign, ex, hi >> 1, z.sign, ez, z.significand >> 1);
        else
            r = add_wide(f, round, sign, ex, hi, lo, z.sign, ez, z.significand);
        const B product_inf = x.inf | y.inf;
        r = o.select(z.inf, c, r);
        r = o.select(product_inf, signed_word(f, sign, o.word(f.infinity())), r);
        const B invalid = x.nan | y.nan | z.nan | (x.inf & y.zero) | (x.zero & y.inf) |
                          (product_inf & z.inf & !(sign == z.sign));
        return o.select(invalid, o.word(f.nan()), r);
    }

    // From one format to another.
    W convert(const FloatFormat& from, const FloatFormat& to, unsigned round, W a) {
        const Parts x = unpack(from, a);
        const W exponent = x.exponent + (to.bias() - from.bias());
        const W zero = signed_word(to, x.sign, o.word(0));
        W r = round_pack(to, round, x.sign, exponent, x.significand);
        r = o.select(x.zero, zero, r);
        r = o.select(x.inf, zero | to.infinity(), r);
        return o.select(x.nan, o.word(to.nan()), r);
    }

    W from_int(const FloatFormat& f, unsigned round, bool is_signed, W v) {
        B negative = is_signed ? (v >> 63) != 0 : o.word(0) != 0;
        const W magnitude = o.select(negative, o.word(0) - v, v);
        const W shift = o.clz(magnitude) & 63;
        const W exponent = o.word(f.bias() + 63) - shift;
        return o.select(magnitude == 0, o.word(0),
                        round_pack(f, round, negative, exponent, magnitude << shift));
    }

    // Towards zero; saturates at `bits` wide integers; NaN gives 0. The result is sign- or zero-extended to
    // 64 bits.
    W to_int(const FloatFormat& f, unsigned bits, bool is_signed, W a) {
        const Parts x = unpack(f, a);
        // floor(|a|) as a word: significand >> (63 - (exponent - bias)).
        const W e = x.exponent - f.bias(); // two's complement
        const B below_one = (e >> 63) != 0;
        const B above = (!below_one) & !(e < 64);
        const W magnitude = o.select(below_one | x.zero, o.word(0), x.significand >> ((o.word(63) - e) & 63));
        const uint64_t top =
            is_signed ? uint64_t{1} << (bits - 1) : (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
        W r = o.word(0);
        if (is_signed) {
            const B big = above | x.inf;
            const W most = o.word(top - 1), least = o.word(0) - top;
            const W positive = o.select(big | !(magnitude < top), most, magnitude);
            const W negative = o.select(big | !(magnitude < top), least, o.word(0) - magnitude);
            r = o.select(x.sign, negative, positive);
        } else {
            const B big = above | x.inf | (o.word(top) < magnitude);
            r = o.select(x.sign, o.word(0), o.select(big, o.word(top), magnitude));
        }
        return o.select(x.nan, o.word(0), r);
    }

    // To an integral value in the same format: nearest even, floor, ceil or trunc by `round`.
    W round_to_integral(const FloatFormat& f, unsigned round, W a) {
        const Parts x = unpack(f, a);
        const W e = x.exponent - f.bias();
        const B below_one = (e >> 63) != 0;
        const B whole = (!below_one) & !(e < f.mantissa_bits);
        // Fixed point with the integral part above `point` bits of fraction; values below 1 are 0 or
        // something with the right comparison to one half.
        const W shift = o.select(below_one, o.word(63), (o.word(63) - e) & 63);
        const W integral = o.select(below_one, o.word(0), x.significand >> shift);
        // The fraction, moved up so that one half is bit 63.
        const W up = o.select(below_one, o.word(0), (e + 1) & 63);
        W fraction = x.significand << up;
        // |a| < 0.5 must look smaller than one half, whatever its significand.
        fraction = o.select(below_one & !(e == ~uint64_t{0}), o.word(1), fraction);
        fraction = o.select(x.zero, o.word(0), fraction);
        const W carry = increment(round, x.sign, integral, fraction, uint64_t{1} << 63);
        W r = from_int(f, 0, false, integral + carry) | o.select(x.sign, o.word(f.sign()), o.word(0));
        r = o.select(whole | x.inf | x.zero, a, r);
        return o.select(x.nan, o.word(f.nan()), r);
    }

    B is_nan(const FloatFormat& f, W a) { return o.word(f.infinity()) < (a & f.magnitude()); }
    // Ordered comparisons: false with a NaN.
    B equal(const FloatFormat& f, W a, W b) {
        const B zeros = ((a | b) & f.magnitude()) == 0;
        return ((a == b) | zeros) & !is_nan(f, a) & !is_nan(f, b);
    }
    B less(const FloatFormat& f, W a, W b) { return (key(f, a) < key(f, b)) & !is_nan(f, a) & !is_nan(f, b); }

  private:
    struct Parts {
        B sign, zero, inf, nan;
        W exponent;    // biased, two's complement; below 1 for subnormals, which are normalised
        W significand; // leading one at bit 63
    };
    O& o;

    W flag(B b) { return o.select(b, o.word(1), o.word(0)); }
    W signed_word(const FloatFormat& f, B sign, W magnitude) {
        return magnitude | o.select(sign, o.word(f.sign()), o.word(0));
    }

    Parts unpack(const FloatFormat& f, W a) {
        const W exponent = (a >> f.mantissa_bits) & f.max_exponent();
        const W fraction = a & ((uint64_t{1} << f.mantissa_bits) - 1);
        const B low = exponent == 0, high = exponent == f.max_exponent();
        const W raw = o.select(low, fraction << 1, fraction | (uint64_t{1} << f.mantissa_bits))
                      << (63 - f.mantissa_bits);
        const W shift = o.clz(raw) & 63; // not 0 for subnormals only
        const B blank = fraction == 0;
        return {((a >> (f.bits() - 1)) & 1) != 0,
                B(low & blank),
                B(high & blank),
                B(high & !blank),
                exponent - shift,
                raw << shift};
    }

    // v >> n with everything lost ORed into bit 0; any n below 2^63.
    W shift_sticky(W v, W n) {
        const W by = o.select(n < 63, n, o.word(63));
        const W r = v >> by;
        return r | flag((r << by) != v);
    }

    // 1 if the kept part must grow: `rest` is what is cut off, `half` its one half.
    W increment(unsigned round, B sign, W kept, W rest, uint64_t half) {
        switch (round) {
        case 0: return flag((o.word(half) < rest) | ((rest == half) & ((kept & 1) != 0)));
        case 1: return flag(sign & (rest != 0));
        case 2: return flag((!sign) & (rest != 0));
        default: return o.word(0);
        }
    }

    // Rounds significand / 2^63 * 2^(exponent - bias), leading one at bit 63 (or 0, giving 0), bit 0 sticky.
    W round_pack(const FloatFormat& f, unsigned round, B sign, W exponent, W significand) {
        const unsigned cut = 63 - f.mantissa_bits;
        const B tiny = ((exponent - 1) >> 63) != 0; // exponent < 1
        const W sig = o.select(tiny, shift_sticky(significand, (o.word(1) - exponent) & (~uint64_t{0} >> 1)),
                               significand);
        const W kept = sig >> cut;
        const W rest = sig & ((uint64_t{1} << cut) - 1);
        // The hidden bit adds 1 to the exponent field; a carry out of the mantissa does the right thing too.
        const W field = o.select(tiny, o.word(0), exponent - 1) << f.mantissa_bits;
        W r = field + kept + increment(round, sign, kept, rest, uint64_t{1} << (cut - 1));
        const B over = (!tiny) & ((!(exponent < f.max_exponent())) | (!(r < f.infinity())));
        const uint64_t largest = f.infinity() - 1;
        W limit = o.word(f.infinity());
        if (round == 1)
            limit = o.select(sign, o.word(f.infinity()), o.word(largest));
        else if (round == 2)
            limit = o.select(sign, o.word(largest), o.word(f.infinity()));
        else if (round == 3)
            limit = o.word(largest);
        return signed_word(f, sign, o.select(over, limit, r));
    }

    // Product of the significands with its leading one at bit 127 of hi:lo; returns its exponent.
    W multiply(const FloatFormat& f, const Parts& x, const Parts& y, W& hi, W& lo) {
        const W a = x.significand >> 32, b = y.significand >> 32;
        if (f.mantissa_bits <= 23) {
            hi = a * b;
        } else {
            const W al = x.significand & 0xffffffff, bl = y.significand & 0xffffffff;
            const W low = al * bl, mid1 = a * bl, mid2 = al * b;
            const W mid = (low >> 32) + (mid1 & 0xffffffff) + (mid2 & 0xffffffff);
            lo = (mid << 32) | (low & 0xffffffff);
            hi = a * b + (mid1 >> 32) + (mid2 >> 32) + (mid >> 32);
        }
        const B one_less = (hi >> 63) == 0;
        hi = o.select(one_less, (hi << 1) | (lo >> 63), hi);
        lo = o.select(one_less, lo << 1, lo);
        return x.exponent + y.exponent - f.bias() + o.select(one_less, o.word(0), o.word(1));
    }

    // Signs of exact zero sums: the common one, else minus only when rounding down.
    W zero_sum(const FloatFormat& f, unsigned round, B sx, B sy) {
        const B down = round == 1 ? o.word(0) == 0 : o.word(0) != 0;
        return signed_word(f, o.select(sx == sy, sx, down), o.word(0));
    }

    // Sum of two numbers whose leading ones are at bit 62 (or that are zero), with at least two free bits at
    // the low end.
    W add_parts(const FloatFormat& f, unsigned round, B sx, W ex, W x, B sy, W ey, W y) {
        const B swap = ((ex - ey) >> 63) != 0; // ex < ey
        const W e = o.select(swap, ey, ex);
        const W distance = o.select(swap, ey - ex, ex - ey);
        const W big = o.select(swap, y, x), small = shift_sticky(o.select(swap, x, y), distance);
        const B big_sign = o.select(swap, sy, sx);
        const B same = sx == sy;
        const W raw = o.select(same, big + small, big - small);
        const B flip = (!same) & ((raw >> 63) != 0);
        const W sum = o.select(flip, o.word(0) - raw, raw);
        const W shift = o.clz(sum) & 63;
        const B sign = !(big_sign == flip);
        return o.select(sum == 0, zero_sum(f, round, sx, sy),
                        round_pack(f, round, sign, e + 1 - shift, sum << shift));
    }

    // The same in 128 bits: product hi:lo with its leading one at bit 127, addend at bit 63 of its word.
    W add_wide(const FloatFormat& f, unsigned round, B sp, W ep, W hi, W lo, B sz, W ez, W z) {
        // One bit of room for the carry; the low bits are zero.
        W phi = hi >> 1, plo = (lo >> 1) | (hi << 63);
        W zhi = z >> 1, zlo = z << 63;
        const B swap = ((ep - ez) >> 63) != 0;
        const W e = o.select(swap, ez, ep);
        const W distance = o.select(swap, ez - ep, ep - ez);
        const W big_hi = o.select(swap, zhi, phi), big_lo = o.select(swap, zlo, plo);
        W small_hi = o.select(swap, phi, zhi), small_lo = o.select(swap, plo, zlo);
        // small >>= distance, sticky
        const B far = !(distance < 64);
        const W lost = o.select(far, small_lo, o.word(0));
        small_lo = o.select(far, small_hi, small_lo);
        small_hi = o.select(far, o.word(0), small_hi);
        const W rest = o.select(far, distance - 64, distance);
        const W by = o.select(rest < 63, rest, o.word(63));
        const W left = (o.word(63) - by) & 63; // 63 - by, so that the shift by 64 - by is two shifts
        const W down = (small_lo >> by) | o.select(by == 0, o.word(0), (small_hi << 1) << left);
        // What the low word loses: its bits below `by`; beyond 63 the whole rest counts as lost too.
        const B lose = (((small_lo >> by) << by) != small_lo) | (lost != 0) |
                       ((!(rest < 64)) & ((small_hi | small_lo) != 0));
        small_lo = down | flag(lose);
        small_hi = small_hi >> by;
        const B same = sp == sz;
        // sum or difference with carry
        const W sum_lo = big_lo + small_lo;
        const W sum_hi = big_hi + small_hi + flag(sum_lo < big_lo);
        const W dif_lo = big_lo - small_lo;
        const W dif_hi = big_hi - small_hi - flag(big_lo < small_lo);
        const B flip = (!same) & ((dif_hi >> 63) != 0);
        const W neg_lo = o.word(0) - dif_lo;
        const W neg_hi = o.word(0) - dif_hi - flag(dif_lo != 0);
        W r_hi = o.select(same, sum_hi, o.select(flip, neg_hi, dif_hi));
        W r_lo = o.select(same, sum_lo, o.select(flip, neg_lo, dif_lo));
        const B zero = (r_hi | r_lo) == 0;
        // normalise
        const B low_only = r_hi == 0;
        r_hi = o.select(low_only, r_lo, r_hi);
        r_lo = o.select(low_only, o.word(0), r_lo);
        const W shift = o.clz(r_hi) & 63;
        const W top = (r_hi << shift) | ((r_lo >> 1) >> (o.word(63) - shift));
        const W tail = r_lo << shift;
        const W exponent = e + 1 - shift - o.select(low_only, o.word(64), o.word(0));
        const B sign = !(o.select(swap, sz, sp) == flip);
        return o.select(zero, zero_sum(f, round, sp, sz),
                        round_pack(f, round, sign, exponent, top | flag(tail != 0)));
    }

    // Orders all non-NaN values; both zeros get one key.
    W key(const FloatFormat& f, W a) {
        const W magnitude = a & f.magnitude();
        return o.select((a & f.sign()) != 0, o.word(f.sign()) - magnitude, magnitude + f.sign());
    }
};

// SoftFloat on the host's own integers.
struct HostWords {
    using Word = uint64_t;
    using Bool = bool;
    static uint64_t word(uint64_t v) { return v; }
    template <class T>
    static T select(bool c, T a, T b) {
        return c ? a : b;
    }
    static uint64_t clz(uint64_t v) { return v ? static_cast<uint64_t>(__builtin_clzll(v)) : 64; }
};

} // namespace dmsh
