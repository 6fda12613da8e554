// Single-precision arithmetic and comparisons, the multi-function unit.
#include "compiler/sim/inexact.h"
#include "compiler/sim/operands.h"

namespace dmsh::sim {
namespace {

// noinline: the operation must happen between the changes of the rounding mode.
[[gnu::noinline]] float add(float a, float b) { return a + b; }
[[gnu::noinline]] float fused(float a, float b, float c) { return std::fma(a, b, c); }
// A product of floats is exact as a double, so is its scaling by a power of two; the conversion rounds once.
[[gnu::noinline]] float product(float a, float b, double scale) {
    return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) * scale);
}

// minNum / maxNum of IEEE 754-2008 with -0 < +0.
uint32_t min_max(uint32_t a, uint32_t b, bool minimum) {
    const float x = as_float(a), y = as_float(b);
    if (x != x)
        return y != y ? kNan32 : b;
    if (y != y)
        return a;
    if (x == y)
        return minimum ? (a >> 31 ? a : b) : (a >> 31 ? b : a);
    return (x < y) == minimum ? a : b;
}

uint32_t finish(const Instruction& i, bool ftz, float f) {
    uint32_t v = flush_if(ftz, bits(f));
    if (i.flag(F::sat))
        v = saturate(v);
    return v;
}

} // namespace

uint32_t multi_function(uint64_t op, uint32_t x) {
    x = flush(x);
    const double d = as_float(x);
    double r = 0;
    switch (op) {
    case 0: r = std::cos(d); break;
    case 1: r = std::sin(d); break;
    case 2: r = std::exp2(d); break;
    case 3: r = std::log2(d); break;
    case 4: r = 1.0 / d; break;
    case 5: r = 1.0 / std::sqrt(d); break;
    case 8: r = std::sqrt(d); break;
    }
    return flush(bits(static_cast<float>(r)));
}

// Upper word of 1/x or 1/sqrt(x) of the double whose upper word is given.
uint32_t multi_function_64h(bool rsq, uint32_t high) {
    const double d = as_double(uint64_t{high} << 32);
    const double r = rsq ? 1.0 / std::sqrt(d) : 1.0 / d;
    return static_cast<uint32_t>(bits(r) >> 32);
}

bool division_needs_care(uint32_t a, uint32_t b) {
    // The quotient leaves the range in which the Newton steps are exact.
    const int ea = static_cast<int>(a >> 23 & 255), eb = static_cast<int>(b >> 23 & 255);
    return ea == 255 || eb == 255 || eb == 0 || eb >= 253 || ea - eb >= 127 || ea - eb <= -126 || ea <= 24;
}

Answer float_op(Lane& l, const Instruction& i, Group& g) {
    const bool ftz = i.get(F::ftz) || i.get(F::fmz);
    const auto a = [&] { return flush_if(ftz, sign32(reg(l, i, F::src_a), i.flag(F::abs_a), i.flag(F::neg_a))); };
    const auto b = [&] { return flush_if(ftz, sign32(source_b(l, i, g), i.flag(F::abs_b), i.flag(F::neg_b))); };
    const auto c = [&] { return flush_if(ftz, sign32(source_c(l, i, g), i.flag(F::abs_c), i.flag(F::neg_c))); };
    uint32_t result = 0; // of arithmetic; the condition code is its own even where RZ is the destination
    const auto put = [&](uint32_t v) { set_dst(l, i, result = v); };
    switch (i.op()) {
    case Op::FADD:
    case Op::FADD32I: {
        const float x = as_float(a()), y = as_float(b());
        Rounding r(i.get(F::rnd));
        put(finish(i, ftz, add(x, y)));
        break;
    }
    case Op::FMUL:
    case Op::FMUL32I: {
        constexpr double scales[] = {1, 0.5, 0.25, 0.125, 8, 4, 2, 1};
        const uint32_t x = a(), y = b();
        if (i.get(F::fmz) == 2 && ((x << 1) == 0 || (y << 1) == 0)) {
            put(0);
            break;
        }
        Rounding r(i.get(F::rnd));
        put(finish(i, ftz, product(as_float(x), as_float(y), scales[i.get(F::scale)])));
        break;
    }
    case Op::FFMA:
    case Op::FFMA32I: {
        uint32_t x = a(), y = b();
        const uint32_t z = c();
        if (i.get(F::fmz) == 2 && ((x << 1) == 0 || (y << 1) == 0))
            x = y = 0;
        Rounding r(i.get(F::rnd));
        put(finish(i, ftz, fused(as_float(x), as_float(y), as_float(z))));
        break;
    }
    case Op::FMNMX: put(min_max(a(), b(), source_pred(l, i))); break;
    case Op::FSET: {
        const bool t = combine(i.get(F::bop), compare(i.get(F::float_cmp), as_float(a()), as_float(b())), source_pred(l, i));
        const uint32_t v = !t ? 0 : i.flag(F::bf) ? 0x3f800000 : ~0u;
        set_dst(l, i, v);
        if (i.flag(F::cc))
            l.set_flags(v == 0, v >> 31, false, false);
        return kOk;
    }
    case Op::FSETP: {
        const bool t = compare(i.get(F::float_cmp), as_float(a()), as_float(b())), p = source_pred(l, i);
        l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred2)), combine(i.get(F::bop), !t, p));
        l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), combine(i.get(F::bop), t, p));
        return kOk;
    }
    case Op::FCMP: {
        // Only the compared operand is flushed (T-021); the two chosen ones are moved.
        const float x = as_float(flush_if(ftz, source_c(l, i, g)));
        set_dst(l, i, compare(i.get(F::float_cmp), x, 0.0f) ? reg(l, i, F::src_a) : source_b(l, i, g));
        return kOk;
    }
    case Op::FCHK: {
        const uint32_t x = sign32(reg(l, i, F::src_a), i.flag(F::abs_a), i.flag(F::neg_a));
        const uint32_t y = sign32(source_b(l, i, g), i.flag(F::abs_b), i.flag(F::neg_b));
        l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), division_needs_care(x, y));
        return kOk;
    }
    case Op::MUFU: {
        const uint32_t x = sign32(reg(l, i, F::src_a), i.flag(F::abs_a), i.flag(F::neg_a));
        const uint64_t op = i.get(F::mufu_op);
        uint32_t v = op == 6 || op == 7 ? multi_function_64h(op == 7, x) : multi_function(op, x);
        if (i.flag(F::sat))
            v = saturate(v);
        set_dst(l, i, v);
        return kOk;
    }
    // The range reduction hands its operand on; SIN and COS then take radians (T-024).
    case Op::RRO: set_dst(l, i, b()); return kOk;
    default: return kNotMine;
    }
    if (i.flag(F::cc)) {
        const float v = as_float(result);
        set_float_flags(l, v == 0, v < 0, v != v);
    }
    return kOk;
}

Answer double_op(Lane& l, const Instruction& i, Group& g) {
    const auto a = [&] { return as_double(sign64(l.pair(static_cast<uint32_t>(i.get(F::src_a))), i.flag(F::abs_a), i.flag(F::neg_a))); };
    const auto b = [&] { return as_double(sign64(source_b64(l, i, g), i.flag(F::abs_b), i.flag(F::neg_b))); };
    const auto c = [&] { return as_double(sign64(source_c64(l, i, g), i.flag(F::abs_c), i.flag(F::neg_c))); };
    uint64_t result = 0;
    const auto put = [&](uint64_t v) { set_dst_pair(l, i, result = v); };
    switch (i.op()) {
    case Op::DADD: {
        volatile double x = a(), y = b();
        Rounding r(i.get(F::rnd));
        volatile double s = x + y;
        put(bits(double{s}));
        break;
    }
    case Op::DMUL: {
        volatile double x = a(), y = b();
        Rounding r(i.get(F::rnd));
        volatile double s = x * y;
        put(bits(double{s}));
        break;
    }
    case Op::DFMA: {
        volatile double x = a(), y = b(), z = c();
        Rounding r(i.get(F::rnd));
        volatile double s = std::fma(double{x}, double{y}, double{z});
        put(bits(double{s}));
        break;
    }
    case Op::DMNMX: {
        const double x = a(), y = b();
        const bool minimum = source_pred(l, i);
        double v;
        if (x != x)
            v = y;
        else if (y != y)
            v = x;
        else if (x == y)
            v = std::signbit(x) == minimum ? x : y;
        else
            v = (x < y) == minimum ? x : y;
        put(bits(v));
        break;
    }
    case Op::DSET: {
        const bool t = combine(i.get(F::bop), compare(i.get(F::float_cmp), a(), b()), source_pred(l, i));
        const uint32_t v = !t ? 0 : i.flag(F::bf) ? 0x3f800000 : ~0u;
        set_dst(l, i, v);
        if (i.flag(F::cc))
            l.set_flags(v == 0, v >> 31, false, false);
        return kOk;
    }
    case Op::DSETP: {
        const bool t = compare(i.get(F::float_cmp), a(), b()), p = source_pred(l, i);
        l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred2)), combine(i.get(F::bop), !t, p));
        l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), combine(i.get(F::bop), t, p));
        return kOk;
    }
    default: return kNotMine;
    }
    if (i.flag(F::cc)) {
        const double v = as_double(result);
        set_float_flags(l, v == 0, v < 0, v != v);
    }
    return kOk;
}

} // namespace dmsh::sim
