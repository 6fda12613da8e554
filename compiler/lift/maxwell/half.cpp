// Pairs of halves: arithmetic and comparisons with operand selection and result merging.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

// Values of F::hsel_*: which halves an operand gives to the two lanes.
enum : uint64_t { kBoth = 0, kFloat = 1, kLowTwice = 2, kHighTwice = 3 };
// Values of F::half_out.
enum : uint64_t { kOutBoth = 0, kOutFloat = 1, kOutLow = 2, kOutHigh = 3 };

constexpr uint64_t kFmz = 2;

struct Pair {
    Value* lane[2];
    bool is_float() const { return lane[0]->getType()->isFloatTy(); }
};

Value* half_of(LiftContext& c, Value* word, bool upper) {
    Value* bits = c.b.CreateTrunc(upper ? c.b.CreateLShr(word, 16) : word, c.b.getInt16Ty());
    return c.b.CreateBitCast(bits, c.b.getHalfTy());
}

// Denormal halves to zeros of their sign.
Value* flush_half(LiftContext& c, Value* v) {
    Value* bits = c.b.CreateBitCast(v, c.b.getInt16Ty());
    auto k = [&](uint16_t x) { return c.b.getInt16(x); };
    Value* small = c.b.CreateICmpEQ(c.b.CreateAnd(bits, k(0x7c00)), k(0));
    Value* flushed = c.b.CreateSelect(small, c.b.CreateAnd(bits, k(0x8000)), bits);
    return c.b.CreateBitCast(flushed, c.b.getHalfTy());
}

Value* flush_lane(LiftContext& c, Value* v, bool on) {
    if (!on)
        return v;
    return v->getType()->isFloatTy() ? flush(c, v, true) : flush_half(c, v);
}

Pair operand(LiftContext& c, Value* word, uint64_t select, bool absolute, bool negated, bool ftz) {
    Pair p{};
    switch (select) {
    case kFloat: p.lane[0] = p.lane[1] = c.as_float(word); break;
    case kLowTwice: p.lane[0] = p.lane[1] = half_of(c, word, false); break;
    case kHighTwice: p.lane[0] = p.lane[1] = half_of(c, word, true); break;
    default:
        p.lane[0] = half_of(c, word, false);
        p.lane[1] = half_of(c, word, true);
        break;
    }
    const bool twice = p.lane[0] == p.lane[1];
    p.lane[0] = flush_lane(c, sign_modifiers(c, p.lane[0], absolute, negated), ftz);
    p.lane[1] = twice ? p.lane[0] : flush_lane(c, sign_modifiers(c, p.lane[1], absolute, negated), ftz);
    return p;
}

// A word of a constant bank is one float for both lanes; immediates are pairs.
uint64_t select_b(LiftContext& c) { return c.inst().form() == Form::cbuf ? uint64_t{kFloat} : c.get(F::hsel_b); }
uint64_t select_c(LiftContext& c) { return c.inst().form() == Form::reg_cbuf ? uint64_t{kFloat} : c.get(F::hsel_c); }

// An operation on mixed widths is done in floats.
void widen(LiftContext& c, std::initializer_list<Pair*> pairs) {
    bool any = false;
    for (const Pair* p : pairs)
        any = any || p->is_float();
    if (!any)
        return;
    for (Pair* p : pairs)
        if (!p->is_float()) {
            const bool twice = p->lane[0] == p->lane[1];
            p->lane[0] = c.b.CreateFPExt(p->lane[0], c.b.getFloatTy());
            p->lane[1] = twice ? p->lane[0] : c.b.CreateFPExt(p->lane[1], c.b.getFloatTy());
        }
}

Value* pack(LiftContext& c, Value* low, Value* high) {
    auto bits = [&](Value* v) { return c.b.CreateZExt(c.b.CreateBitCast(v, c.b.getInt16Ty()), c.b.getInt32Ty()); };
    Value* l = bits(low);
    return c.b.CreateOr(l, c.b.CreateShl(low == high ? l : bits(high), 16));
}

void write_pair(LiftContext& c, Pair r, bool ftz) {
    const uint64_t out = c.has(F::half_out) ? c.get(F::half_out) : uint64_t{kOutBoth};
    auto finish = [&](Value* v, bool as_float) {
        v = flush_lane(c, v, ftz);
        if (c.flag(F::sat))
            v = saturate(c, v);
        if (as_float)
            return v->getType()->isFloatTy() ? v : c.b.CreateFPExt(v, c.b.getFloatTy());
        return v->getType()->isFloatTy() ? c.b.CreateFPTrunc(v, c.b.getHalfTy()) : v;
    };
    const uint64_t d = c.get(F::dst);
    switch (out) {
    case kOutBoth: {
        Value* low = finish(r.lane[0], false);
        c.set_reg(d, pack(c, low, r.lane[0] == r.lane[1] ? low : finish(r.lane[1], false)));
        break;
    }
    case kOutFloat: c.set_reg(d, finish(r.lane[0], true)); break;
    case kOutLow: c.set_reg(d, pack(c, finish(r.lane[0], false), half_of(c, c.reg(d), true))); break;
    default: c.set_reg(d, pack(c, half_of(c, c.reg(d), false), finish(r.lane[1], false))); break;
    }
}

template <class Op> Pair both(Op op, const Pair& x, const Pair& y) {
    Pair r{};
    r.lane[0] = op(x.lane[0], y.lane[0]);
    r.lane[1] = x.lane[0] == x.lane[1] && y.lane[0] == y.lane[1] ? r.lane[0] : op(x.lane[1], y.lane[1]);
    return r;
}

Value* any_zero(LiftContext& c, Value* x, Value* y) {
    Value* zero = llvm::ConstantFP::get(x->getType(), 0.0);
    return c.b.CreateOr(c.b.CreateFCmpOEQ(x, zero), c.b.CreateFCmpOEQ(y, zero));
}

bool arithmetic_ftz(LiftContext& c) { return c.exact() && (c.flag(F::ftz) || c.get(F::fmz_h)); }

struct Comparison {
    Value* lane[2];
};

Comparison compare(LiftContext& c) {
    const bool ftz = c.flag(F::ftz);
    Pair x = operand(c, c.src_a(), c.get(F::hsel_a), c.flag(F::abs_a), c.flag(F::neg_a), ftz);
    Pair y = operand(c, c.src_b(), select_b(c), c.flag(F::abs_b), c.flag(F::neg_b), ftz);
    widen(c, {&x, &y});
    const uint64_t op = c.get(F::float_cmp);
    Comparison r{};
    r.lane[0] = float_compare(c, op, x.lane[0], y.lane[0]);
    r.lane[1] = float_compare(c, op, x.lane[1], y.lane[1]);
    return r;
}

} // namespace

void hadd2(LiftContext& c) {
    const bool ftz = arithmetic_ftz(c);
    Pair x = operand(c, c.src_a(), c.get(F::hsel_a), c.flag(F::abs_a), c.flag(F::neg_a), ftz);
    Pair y = operand(c, c.src_b(), select_b(c), c.flag(F::abs_b), c.flag(F::neg_b), ftz);
    widen(c, {&x, &y});
    write_pair(c, both([&](Value* a, Value* b) { return c.b.CreateFAdd(a, b); }, x, y), ftz);
}

void hmul2(LiftContext& c) {
    const bool ftz = arithmetic_ftz(c), fmz = c.get(F::fmz_h) == kFmz;
    Pair x = operand(c, c.src_a(), c.get(F::hsel_a), c.flag(F::abs_a), c.flag(F::neg_a), ftz);
    Pair y = operand(c, c.src_b(), select_b(c), c.flag(F::abs_b), c.flag(F::neg_b), ftz);
    widen(c, {&x, &y});
    auto multiply = [&](Value* a, Value* b) -> Value* {
        Value* product = c.b.CreateFMul(a, b);
        return fmz ? c.b.CreateSelect(any_zero(c, a, b), llvm::ConstantFP::get(a->getType(), 0.0), product) : product;
    };
    write_pair(c, both(multiply, x, y), ftz);
}

void hfma2(LiftContext& c) {
    const bool ftz = arithmetic_ftz(c), fmz = c.get(F::fmz_h) == kFmz;
    Pair x = operand(c, c.src_a(), c.get(F::hsel_a), false, c.flag(F::neg_a), ftz);
    Pair y = operand(c, c.src_b(), select_b(c), false, c.flag(F::neg_b), ftz);
    Pair z = operand(c, c.src_c(), select_c(c), false, c.flag(F::neg_c), ftz);
    widen(c, {&x, &y, &z});
    Pair r{};
    for (unsigned i = 0; i < 2; ++i) {
        if (i == 1 && x.lane[0] == x.lane[1] && y.lane[0] == y.lane[1] && z.lane[0] == z.lane[1]) {
            r.lane[1] = r.lane[0];
            break;
        }
        r.lane[i] = c.math(llvm::Intrinsic::fma, {x.lane[i], y.lane[i], z.lane[i]});
        if (fmz)
            r.lane[i] = c.b.CreateSelect(any_zero(c, x.lane[i], y.lane[i]),
                                         c.b.CreateFAdd(z.lane[i], llvm::ConstantFP::get(z.lane[i]->getType(), 0.0)), r.lane[i]);
    }
    write_pair(c, r, ftz);
}

void hset2(LiftContext& c) {
    const Comparison r = compare(c);
    Value* with = c.src_predicate();
    const uint32_t yes = c.flag(F::bf) ? 0x3c00 : 0xffff;
    Value* low = c.bool_to_int(combine(c, c.get(F::bop), r.lane[0], with), yes);
    Value* high = c.bool_to_int(combine(c, c.get(F::bop), r.lane[1], with), yes << 16);
    c.set_reg(c.get(F::dst), c.b.CreateOr(low, high));
}

// The two lanes' results, or with .H_AND both lanes together and the opposite.
void hsetp2(LiftContext& c) {
    const Comparison r = compare(c);
    Value* with = c.src_predicate();
    Value* first = r.lane[0];
    Value* second = r.lane[1];
    if (c.flag(F::h_and)) {
        first = c.b.CreateAnd(first, second);
        second = c.b.CreateNot(first);
    }
    first = combine(c, c.get(F::bop), first, with);
    second = combine(c, c.get(F::bop), second, with);
    c.set_predicate(c.get(F::dst_pred), first);
    c.set_predicate(c.get(F::dst_pred2), second);
}

} // namespace dmsh::maxwell
