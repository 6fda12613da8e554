// Conversions between integers and floats of all sizes, and half-precision pairs.
#include "compiler/sim/operands.h"
#include <algorithm>
#include <limits>

namespace dmsh::sim {

float half_to_float(uint16_t h) {
    const uint32_t sign = uint32_t{h & 0x8000u} << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;
    if (exponent == 31)
        return as_float(sign | 0x7f800000 | mantissa << 13);
    if (exponent == 0) {
        const float v = static_cast<float>(mantissa) * 0x1p-24f;
        return sign ? -v : v;
    }
    return as_float(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t float_to_half(float f, uint64_t rnd) {
    const uint32_t v = std::bit_cast<uint32_t>(f);
    const uint16_t sign = static_cast<uint16_t>(v >> 16 & 0x8000);
    if (f != f)
        return 0x7fff;
    const bool negative = sign != 0;
    const float magnitude = std::fabs(f);
    if (magnitude == std::numeric_limits<float>::infinity())
        return sign | 0x7c00;
    const auto up = [&](bool odd, int cmp_half) { // is the magnitude rounded away from zero?
        switch (rnd) {
        case 0: return cmp_half > 0 || (cmp_half == 0 && odd);
        case 1: return negative;
        case 2: return !negative;
        default: return false;
        }
    };
    // The magnitude in units of the last place of its binade (2^-24 below 2^-14), exact as a double.
    int exponent = std::max(std::ilogb(magnitude == 0 ? 1.0f : magnitude), -14);
    const double scaled = std::ldexp(static_cast<double>(magnitude), 10 - exponent);
    const double whole = std::floor(scaled);
    const double rest = scaled - whole;
    uint32_t m = static_cast<uint32_t>(whole);
    if (rest != 0 && up(m & 1, rest > 0.5 ? 1 : rest == 0.5 ? 0 : -1))
        ++m;
    if (m >= 2048) {
        m /= 2;
        ++exponent;
    }
    if (exponent > 15) {
        const bool infinite = rnd == 0 || (rnd == 1 && negative) || (rnd == 2 && !negative);
        return static_cast<uint16_t>(sign | (infinite ? 0x7c00 : 0x7bff));
    }
    return static_cast<uint16_t>(m < 1024 ? sign | m : sign | static_cast<uint32_t>(exponent + 15) << 10 | (m & 0x3ff));
}

namespace {

// A float of format 1 (f16), 2 (f32), 3 (f64) in the flexible source, as a double, which holds all of them.
double float_source(const Lane& l, const Instruction& i, const Group& g) {
    const bool absolute = i.flag(F::abs_b), negate = i.flag(F::neg_b), ftz = i.flag(F::ftz);
    switch (i.get(F::fmt_float_s)) {
    case 1: {
        const uint32_t w = source_b(l, i, g);
        const float f = half_to_float(static_cast<uint16_t>(i.flag(F::h1_b) ? w >> 16 : w));
        return as_float(sign32(std::bit_cast<uint32_t>(f), absolute, negate));
    }
    case 2: return as_float(flush_if(ftz, sign32(source_b(l, i, g), absolute, negate)));
    default: return as_double(sign64(source_b64(l, i, g), absolute, negate));
    }
}

double round_integral(double v, uint64_t mode) {
    switch (mode) {
    case 0: return std::nearbyint(v);
    case 1: return std::floor(v);
    case 2: return std::ceil(v);
    default: return std::trunc(v);
    }
}

// Stores `v` in format 1..3, rounded once from the exact value.
void store_float(Lane& l, const Instruction& i, double v, uint64_t rnd, bool ftz) {
    const bool sat = i.flag(F::sat);
    if (sat)
        v = v > 0 ? std::min(v, 1.0) : 0.0;
    switch (i.get(F::fmt_float_d)) {
    case 1: {
        // To float by round-to-odd, then to half: the second rounding sees what the first one cut off.
        float f = static_cast<float>(v);
        if (v == v && static_cast<double>(f) != v) {
            uint32_t w = std::bit_cast<uint32_t>(f);
            if (std::fabs(static_cast<double>(f)) > std::fabs(v))
                w -= 1;
            f = as_float(w | 1);
        }
        set_dst(l, i, float_to_half(f, rnd));
        break;
    }
    case 2: {
        volatile double x = v;
        volatile float f;
        {
            Rounding r(rnd);
            f = static_cast<float>(double{x});
        }
        set_dst(l, i, flush_if(ftz, bits(float{f})));
        break;
    }
    default: set_dst_pair(l, i, bits(v)); break;
    }
}

// Saturating conversion. NaN gives 0, but 1 << (width - 1) where source or result has 64 bits.
uint64_t to_integer(double v, unsigned width, bool is_signed, bool from_double) {
    if (v != v)
        return width == 64 || from_double ? uint64_t{1} << (width - 1) : 0;
    if (is_signed) {
        const double limit = std::ldexp(1.0, static_cast<int>(width) - 1);
        if (v >= limit)
            return (uint64_t{1} << (width - 1)) - 1;
        if (v <= -limit)
            return ~uint64_t{0} << (width - 1);
        return static_cast<uint64_t>(static_cast<int64_t>(v));
    }
    if (v <= 0)
        return 0;
    if (v >= std::ldexp(1.0, static_cast<int>(width)))
        return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    return static_cast<uint64_t>(v);
}

// Integer source of 8 << fmt bits, extended; byte_b picks the part of a word.
int64_t integer_source(const Lane& l, const Instruction& i, const Group& g, bool& is_unsigned64) {
    const uint64_t fmt = i.get(F::fmt_int_s);
    const bool is_signed = i.flag(F::signed_s);
    is_unsigned64 = false;
    if (fmt == 3) {
        is_unsigned64 = !is_signed;
        uint64_t v;
        if (i.form() == Form::imm)
            v = static_cast<uint64_t>(int64_t{static_cast<int32_t>(i.imm32())});
        else
            v = source_b64(l, i, g);
        return static_cast<int64_t>(v);
    }
    const uint32_t w = source_b(l, i, g) >> i.get(F::byte_b) * 8;
    switch (fmt) {
    case 0: return is_signed ? int64_t{static_cast<int8_t>(w)} : int64_t{static_cast<uint8_t>(w)};
    case 1: return is_signed ? int64_t{static_cast<int16_t>(w)} : int64_t{static_cast<uint16_t>(w)};
    default: return is_signed ? int64_t{static_cast<int32_t>(w)} : int64_t{w};
    }
}

[[gnu::noinline]] float int_to_float(int64_t v) { return static_cast<float>(v); }
[[gnu::noinline]] float uint_to_float(uint64_t v) { return static_cast<float>(v); }
[[gnu::noinline]] double int_to_double(int64_t v) { return static_cast<double>(v); }
[[gnu::noinline]] double uint_to_double(uint64_t v) { return static_cast<double>(v); }

} // namespace

Answer convert_op(Lane& l, const Instruction& i, Group& g) {
    if (i.op() != Op::F2F && i.op() != Op::F2I && i.op() != Op::I2F && i.op() != Op::I2I)
        return kNotMine;
    if (i.flag(F::cc) && i.op() != Op::I2I)
        return "writes the condition code";
    // B1 and B3 go with bytes, H1 with halves; what they take of other sources is not shown.
    if (const uint64_t part = i.get(F::byte_b); part && ((i.get(F::fmt_int_s) == 1 && part != 2) || i.get(F::fmt_int_s) > 1))
        return "selects a part of a word";
    switch (i.op()) {
    case Op::F2F: {
        double v = float_source(l, i, g);
        const bool same = i.get(F::fmt_float_d) == i.get(F::fmt_float_s);
        if (same && i.flag(F::round)) {
            v = round_integral(v, i.get(F::rnd));
            store_float(l, i, v, 0, i.flag(F::ftz));
            return kOk;
        }
        if (same && !i.flag(F::sat) && i.get(F::fmt_float_s) == 3) { // a move with the source's modifiers: NaNs keep their bits
            set_dst_pair(l, i, sign64(source_b64(l, i, g), i.flag(F::abs_b), i.flag(F::neg_b)));
            return kOk;
        }
        if (same && !i.flag(F::sat)) { // a move with the source's modifiers: NaNs keep their bits
            const bool half = i.get(F::fmt_float_s) == 1;
            uint32_t w = source_b(l, i, g);
            w = half ? (i.flag(F::h1_b) ? w >> 16 : w & 0xffff) << 16 : w;
            w = sign32(w, i.flag(F::abs_b), i.flag(F::neg_b));
            set_dst(l, i, half ? w >> 16 : flush_if(i.flag(F::ftz), w));
            return kOk;
        }
        store_float(l, i, v, same ? 0 : i.get(F::rnd), i.flag(F::ftz));
        return kOk;
    }
    case Op::F2I: {
        const double v = round_integral(float_source(l, i, g), i.get(F::rnd_int));
        const unsigned width = 8u << i.get(F::fmt_int_d);
        const uint64_t r = to_integer(v, width, i.flag(F::signed_d), i.get(F::fmt_float_s) == 3);
        if (width == 64)
            set_dst_pair(l, i, r);
        else
            set_dst(l, i, static_cast<uint32_t>(r)); // narrower results are extended to the register
        return kOk;
    }
    case Op::I2F: {
        bool unsigned64 = false;
        int64_t v = integer_source(l, i, g, unsigned64);
        if (i.flag(F::abs_b) && !unsigned64 && v < 0)
            v = static_cast<int64_t>(0 - static_cast<uint64_t>(v)), unsigned64 = true;
        if (i.flag(F::neg_b)) {
            if (unsigned64)
                return "negates an unsigned 64-bit source";
            v = static_cast<int64_t>(0 - static_cast<uint64_t>(v));
        }
        Rounding r(i.get(F::rnd));
        switch (i.get(F::fmt_float_d)) {
        case 1: set_dst(l, i, float_to_half(unsigned64 ? uint_to_float(static_cast<uint64_t>(v)) : int_to_float(v), i.get(F::rnd))); break;
        case 2: set_dst(l, i, bits(unsigned64 ? uint_to_float(static_cast<uint64_t>(v)) : int_to_float(v))); break;
        default: set_dst_pair(l, i, bits(unsigned64 ? uint_to_double(static_cast<uint64_t>(v)) : int_to_double(v))); break;
        }
        return kOk;
    }
    case Op::I2I: {
        bool unsigned64 = false;
        int64_t v = integer_source(l, i, g, unsigned64);
        const unsigned width = 8u << i.get(F::fmt_int_d);
        if (width == 64 || unsigned64 || i.get(F::fmt_int_s) == 3)
            return "converts 64-bit integers";
        if (i.flag(F::abs_b))
            v = v < 0 ? -v : v;
        if (i.flag(F::neg_b))
            v = -v;
        const bool is_signed = i.flag(F::signed_d);
        const int64_t low = is_signed ? -(int64_t{1} << (width - 1)) : 0;
        const int64_t high = is_signed ? (int64_t{1} << (width - 1)) - 1 : (int64_t{1} << width) - 1;
        if (i.flag(F::sat)) {
            v = std::clamp(v, low, high);
        } else {
            const unsigned cut = 64 - width;
            v = is_signed ? static_cast<int64_t>(static_cast<uint64_t>(v) << cut) >> cut
                          : static_cast<int64_t>(static_cast<uint64_t>(v) << cut >> cut);
        }
        set_dst(l, i, static_cast<uint32_t>(v));
        if (i.flag(F::cc))
            l.set_flags(static_cast<uint32_t>(v) == 0, static_cast<int32_t>(v) < 0, false, false);
        return kOk;
    }
    default: return kNotMine;
    }
}

namespace {

struct HalfPair {
    float x, y;
    bool single = false; // one f32 for both
};

HalfPair unpack(uint32_t v, uint64_t selector) {
    const float low = half_to_float(static_cast<uint16_t>(v)), high = half_to_float(static_cast<uint16_t>(v >> 16));
    switch (selector) {
    case 0: return {low, high};
    case 1: return {as_float(v), as_float(v), true};
    case 2: return {low, low};
    default: return {high, high};
    }
}
float sign_of(float f, bool absolute, bool negate) {
    return as_float(sign32(std::bit_cast<uint32_t>(f), absolute, negate));
}
HalfPair sign_of(HalfPair p, bool absolute, bool negate) {
    return {sign_of(p.x, absolute, negate), sign_of(p.y, absolute, negate), p.single};
}
// .FTZ: denormals of the operand's own width are zeros.
float flush_operand(bool on, float f, bool single) { return on && std::fabs(f) < (single ? 0x1p-126f : 0x1p-14f) ? std::copysign(0.0f, f) : f; }
HalfPair flush_operand(bool on, HalfPair p) { return {flush_operand(on, p.x, p.single), flush_operand(on, p.y, p.single), p.single}; }

// Rounds an exact double to half through round-to-odd, so that no double rounding happens.
uint16_t round_half(double v) {
    float f = static_cast<float>(v);
    if (v == v && static_cast<double>(f) != v) {
        uint32_t w = std::bit_cast<uint32_t>(f);
        if (std::fabs(static_cast<double>(f)) > std::fabs(v))
            w -= 1;
        f = as_float(w | 1);
    }
    return float_to_half(f);
}

} // namespace

Answer half_op(Lane& l, const Instruction& i, Group& g) {
    const Op op = i.op();
    const bool add = op == Op::HADD2 || op == Op::HADD2_32I, mul = op == Op::HMUL2 || op == Op::HMUL2_32I;
    const bool fma = op == Op::HFMA2 || op == Op::HFMA2_32I, set = op == Op::HSET2, setp = op == Op::HSETP2;
    if (!add && !mul && !fma && !set && !setp)
        return kNotMine;
    const bool fmz = i.get(F::fmz_h) == 2;
    const bool ftz = i.flag(F::ftz) || i.get(F::fmz_h) != 0;
    const bool immediate = i.form() == Form::imm || i.form() == Form::imm32;
    const HalfPair a = flush_operand(ftz, sign_of(unpack(reg(l, i, F::src_a), i.get(F::hsel_a)), i.flag(F::abs_a), i.flag(F::neg_a)));
    // Constants are read as one f32 for both halves when no selector field says otherwise.
    const uint64_t select_b = i.has(F::hsel_b) ? i.get(F::hsel_b) : i.form() == Form::cbuf ? 1 : 0;
    const HalfPair b = flush_operand(ftz, sign_of(unpack(source_b(l, i, g), immediate ? 0 : select_b), i.flag(F::abs_b), i.flag(F::neg_b)));
    if (set || setp) {
        const bool p = source_pred(l, i);
        const uint64_t code = i.get(F::float_cmp), bop = i.get(F::bop);
        const bool x = compare(code, a.x, b.x), y = compare(code, a.y, b.y);
        if (set) {
            const bool u = combine(bop, x, p), v = combine(bop, y, p);
            const uint32_t yes = i.flag(F::bf) ? 0x3c00 : 0xffff;
            set_dst(l, i, (u ? yes : 0) | (v ? yes << 16 : 0));
            return kOk;
        }
        const bool first = i.flag(F::h_and) ? x && y : x, second = i.flag(F::h_and) ? !(x && y) : y;
        l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred2)), combine(bop, second, p));
        l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), combine(bop, first, p));
        return kOk;
    }
    HalfPair c{0, 0, false};
    if (fma) {
        const uint64_t select_c = i.has(F::hsel_c) ? i.get(F::hsel_c) : i.form() == Form::reg_cbuf ? 1 : 0;
        c = flush_operand(ftz, sign_of(unpack(source_c(l, i, g), select_c), false, i.flag(F::neg_c)));
    }
    // One f32 operand makes it an operation of singles, whose result is rounded again where it becomes a half.
    const bool singles = a.single || b.single || c.single;
    const auto one = [&](float x, float y, float z) -> float {
        double v; // exact, but for the sum of a product
        if (fmz && !add && (x == 0 || y == 0))
            v = fma ? 0.0 + z : 0.0; // -0 becomes +0
        else if (add)
            v = static_cast<double>(x) + y;
        else if (singles)
            v = fma ? static_cast<double>(std::fma(x, y, z)) : static_cast<double>(x) * y;
        else
            v = fma ? static_cast<double>(x) * y + z : static_cast<double>(x) * y;
        float r = singles ? static_cast<float>(v) : half_to_float(round_half(v));
        r = flush_operand(ftz, r, singles);
        if (i.flag(F::sat))
            r = as_float(saturate(std::bit_cast<uint32_t>(r)));
        return r;
    };
    const float x = one(a.x, b.x, c.x), y = one(a.y, b.y, c.y);
    const uint32_t old = reg(l, i, F::dst), low = float_to_half(x), high = float_to_half(y);
    switch (i.get(F::half_out)) {
    case 0: set_dst(l, i, low | high << 16); break;
    case 1: set_dst(l, i, bits(x)); break;
    case 2: set_dst(l, i, (old & 0xffff0000) | low); break;
    default: set_dst(l, i, (old & 0xffff) | high << 16); break;
    }
    return kOk;
}

} // namespace dmsh::sim
