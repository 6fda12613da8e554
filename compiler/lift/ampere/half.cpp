// Pairs of halves: arithmetic, comparisons, packing.
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::ampere {

using isa::F;
using isa::Form;
using maxwell::combine;
using maxwell::float_compare;
using maxwell::flush;
using maxwell::saturate;
using maxwell::sign_modifiers;

namespace {

struct Pair {
    Value* lane[2];
};

// Lanes of bfloat16 are computed as floats.
Value* bfloat_of(LiftContext& c, Value* word, bool upper) {
    return c.as_float(upper ? c.b.CreateAnd(word, 0xffff0000) : c.b.CreateShl(word, 16));
}

// To nearest even; NaN becomes the canonical one.
Value* to_bfloat(LiftContext& c, Value* v, bool towards_zero = false) {
    Value *bits = c.as_int(v), *up = c.b.CreateLShr(bits, 16);
    Value* rounded = c.b.CreateAdd(bits, c.b.CreateAdd(c.b.CreateAnd(up, 1), c.i32(0x7fff)));
    Value* result = towards_zero ? up : c.b.CreateLShr(rounded, 16);
    return c.b.CreateSelect(c.b.CreateFCmpUNO(v, v), c.i32(0x7fff), result);
}

Value* half_of(LiftContext& c, Value* word, bool upper) {
    Value* bits = c.b.CreateTrunc(upper ? c.b.CreateLShr(word, 16) : word, c.b.getInt16Ty());
    return c.b.CreateBitCast(bits, c.b.getHalfTy());
}

// Denormal halves to zeros of their sign.
Value* flush_half(LiftContext& c, Value* v, bool on) {
    if (!on || !v->getType()->isHalfTy())
        return v;
    Value* bits = c.b.CreateBitCast(v, c.b.getInt16Ty());
    Value* small = c.b.CreateICmpEQ(c.b.CreateAnd(bits, 0x7c00), c.b.getInt16(0));
    return c.b.CreateBitCast(c.b.CreateSelect(small, c.b.CreateAnd(bits, 0x8000), bits), c.b.getHalfTy());
}

// Values of F::hsel_*: 0 both halves, 1 one float, 2 the low half twice, 3 the high half twice; F::hsel86_b
// also 4: the low lane takes the high half negated, the high lane the low half (T-138).
Pair operand(LiftContext& c, Value* word, uint64_t select, bool absolute, bool negated, bool ftz) {
    Pair p{};
    if (select == 1) {
        p.lane[0] = p.lane[1] = c.b.CreateFPTrunc(c.as_float(word), c.b.getHalfTy());
    } else {
        const auto part = c.flag(F::bf16) ? bfloat_of : half_of;
        p.lane[0] = part(c, word, select == 3 || select == 4);
        p.lane[1] = part(c, word, select == 0 || select == 3);
    }
    for (Value*& lane : p.lane)
        lane = flush_half(c, sign_modifiers(c, lane, absolute, negated), ftz);
    if (select == 4)
        p.lane[0] = c.b.CreateFNeg(p.lane[0]);
    return p;
}

bool arithmetic_ftz(LiftContext& c) {
    return c.exact() && (c.flag(F::ftz) || c.get(F::fmz_h));
}

// Operands of one float, and results in floats are refused.
bool plain(LiftContext& c, std::initializer_list<uint64_t> selects) {
    bool ok = !c.flag(F::h2_f32);
    for (const uint64_t s : selects)
        ok = ok && s != 1 && s <= 4;
    if (!ok)
        c.refuse("in this form is not implemented");
    return ok;
}

uint64_t select_b(LiftContext& c) {
    return c.has(F::hsel86_b) ? c.get(F::hsel86_b) : c.get(F::hsel_b);
}

Pair operand_a(LiftContext& c, bool ftz) {
    return operand(c, c.src_a(), c.get(F::hsel_a), c.flag(F::abs_a), c.flag(F::neg_a), ftz);
}
Pair operand_b(LiftContext& c, bool ftz) {
    return operand(c, c.src_b(), select_b(c), c.flag(F::abs_b), c.flag(F::neg_b), ftz);
}

Value* pack(LiftContext& c, Value* low, Value* high) {
    const auto bits = [&](Value* v) {
        if (v->getType()->isFloatTy())
            return to_bfloat(c, v);
        return c.b.CreateZExt(c.b.CreateBitCast(v, c.b.getInt16Ty()), c.b.getInt32Ty());
    };
    return c.b.CreateOr(bits(low), c.b.CreateShl(bits(high), 16));
}

void write_pair(LiftContext& c, Pair r, bool ftz) {
    for (Value*& lane : r.lane) {
        lane = flush_half(c, lane, ftz);
        if (c.flag(F::sat))
            lane = saturate(c, lane);
        if (c.flag(F::relu)) // NaN stays
            lane = c.b.CreateSelect(
                c.b.CreateFCmpOLT(lane, llvm::ConstantFP::get(lane->getType(), 0.0)),
                llvm::ConstantFP::get(lane->getType(), 0.0), lane);
    }
    c.set_reg(c.get(F::dst), pack(c, r.lane[0], r.lane[1]));
}

Value* any_zero(LiftContext& c, Value* x, Value* y) {
    Value* zero = llvm::ConstantFP::get(x->getType(), 0.0);
    return c.b.CreateOr(c.b.CreateFCmpOEQ(x, zero), c.b.CreateFCmpOEQ(y, zero));
}

constexpr uint64_t kFmz = 2; // F::fmz_h

Pair compare(LiftContext& c) {
    const bool ftz = c.flag(F::ftz);
    const Pair x = operand_a(c, ftz), y = operand_b(c, ftz);
    const uint64_t op = c.get(F::float_cmp);
    return {float_compare(c, op, x.lane[0], y.lane[0]), float_compare(c, op, x.lane[1], y.lane[1])};
}

} // namespace

// With .F32 the halves of a and b that are chosen are added as floats.
void hadd2(LiftContext& c) {
    if (c.flag(F::h2_f32)) {
        const auto widened = [&](Value* word, uint64_t select, bool absolute, bool negated) {
            Value* v = select == 1
                           ? c.as_float(word)
                           : c.b.CreateFPExt(half_of(c, word, select == 3), c.b.getFloatTy());
            return sign_modifiers(c, v, absolute, negated);
        };
        Value* x = widened(c.src_a(), c.get(F::hsel_a), c.flag(F::abs_a), c.flag(F::neg_a));
        Value* y = widened(c.src_b(), c.get(F::hsel_b), c.flag(F::abs_b), c.flag(F::neg_b));
        Value* sum = flush(c, c.b.CreateFAdd(x, y), arithmetic_ftz(c));
        return c.set_reg(c.get(F::dst), c.flag(F::sat) ? saturate(c, sum) : sum);
    }
    if (!plain(c, {c.get(F::hsel_a), select_b(c)}))
        return;
    const bool ftz = arithmetic_ftz(c);
    const Pair x = operand_a(c, ftz), y = operand_b(c, ftz);
    write_pair(c, {c.b.CreateFAdd(x.lane[0], y.lane[0]), c.b.CreateFAdd(x.lane[1], y.lane[1])}, ftz);
}

void hmul2(LiftContext& c) {
    if (!plain(c, {c.get(F::hsel_a), select_b(c)}))
        return;
    const bool ftz = arithmetic_ftz(c);
    const Pair x = operand_a(c, ftz), y = operand_b(c, ftz);
    Pair r{};
    for (unsigned i = 0; i < 2; ++i) {
        r.lane[i] = c.b.CreateFMul(x.lane[i], y.lane[i]);
        if (c.get(F::fmz_h) == kFmz)
            r.lane[i] = c.b.CreateSelect(any_zero(c, x.lane[i], y.lane[i]),
                                         llvm::ConstantFP::get(r.lane[i]->getType(), 0.0), r.lane[i]);
    }
    write_pair(c, r, ftz);
}

void hfma2(LiftContext& c) {
    if (!plain(c, {c.get(F::hsel_a), select_b(c), c.get(F::hsel_c)}))
        return;
    if (c.flag(F::relu) && (c.get(F::src_pred) != isa::kPt || c.flag(F::src_pred_neg)))
        return c.refuse("with a predicate operand is not implemented");
    const bool ftz = arithmetic_ftz(c);
    const Pair x = operand_a(c, ftz), y = operand_b(c, ftz);
    const Pair z = operand(c, c.src_c(), c.get(F::hsel_c), c.flag(F::abs_c), c.flag(F::neg_c), ftz);
    Pair r{};
    for (unsigned i = 0; i < 2; ++i) {
        r.lane[i] = c.math(llvm::Intrinsic::fma, {x.lane[i], y.lane[i], z.lane[i]});
        if (c.get(F::fmz_h) == kFmz)
            r.lane[i] = c.b.CreateSelect(any_zero(c, x.lane[i], y.lane[i]), z.lane[i], r.lane[i]);
    }
    write_pair(c, r, ftz);
}

// The other half where one is NaN, or NaN with .NAN; the predicate chooses the minimum.
void hmnmx2(LiftContext& c) {
    if (!plain(c, {c.get(F::hsel_a), select_b(c)}))
        return;
    const bool ftz = arithmetic_ftz(c);
    const Pair x = operand_a(c, ftz), y = operand_b(c, ftz);
    Value* choose = c.src_predicate();
    const Pair a = operand(c, c.src_a(), c.get(F::hsel_a), false, false, false);
    const Pair b = operand(c, c.src_b(), select_b(c), false, false, false);
    Pair r{};
    for (unsigned i = 0; i < 2; ++i) {
        llvm::Type* type = x.lane[i]->getType();
        Value* low = c.math(llvm::Intrinsic::minnum, {x.lane[i], y.lane[i]});
        Value* high = c.math(llvm::Intrinsic::maxnum, {x.lane[i], y.lane[i]});
        r.lane[i] = c.b.CreateSelect(choose, low, high);
        if (c.flag(F::xorsign)) { // the sign of the product of the operands as they are
            Value* sign = c.b.CreateXor(c.as_int(a.lane[i]), c.as_int(b.lane[i]));
            r.lane[i] = c.math(llvm::Intrinsic::copysign, {r.lane[i], c.b.CreateBitCast(sign, type)});
        }
        if (c.flag(F::nan))
            r.lane[i] = c.b.CreateSelect(c.b.CreateFCmpUNO(x.lane[i], y.lane[i]), llvm::ConstantFP::getNaN(type, false, 0x7fffff), r.lane[i]);
    }
    write_pair(c, r, ftz);
}

void hset2(LiftContext& c) {
    if (!plain(c, {c.get(F::hsel_a), select_b(c)}))
        return;
    const Pair r = compare(c);
    Value* with = c.src_predicate();
    const uint32_t yes = c.flag(F::bf) ? 0x3c00 : 0xffff;
    Value* low = c.bool_to_int(combine(c, c.get(F::bop), r.lane[0], with), yes);
    Value* high = c.bool_to_int(combine(c, c.get(F::bop), r.lane[1], with), yes << 16);
    c.set_reg(c.get(F::dst), c.b.CreateOr(low, high));
}

// The two lanes' results, or with .H_AND both lanes together and the opposite.
void hsetp2(LiftContext& c) {
    if (!plain(c, {c.get(F::hsel_a), select_b(c)}))
        return;
    const Pair r = compare(c);
    Value *with = c.src_predicate(), *first = r.lane[0], *second = r.lane[1];
    if (c.flag(F::h_and)) {
        first = c.b.CreateAnd(first, second);
        second = c.b.CreateNot(first);
    }
    first = combine(c, c.get(F::bop), first, with);
    second = combine(c, c.get(F::bop), second, with);
    c.set_predicate(c.get(F::dst_pred), first);
    c.set_predicate(c.get(F::dst_pred2), second);
}

// Two floats to a pair of halves: a above b; .MERGE_C keeps a half of c above instead (T-131).
void f2fp(LiftContext& c) {
    constexpr uint64_t kTowardsZero = 3; // F::f2fp_rz
    if (c.flag(F::satfinite) || c.flag(F::relu) || c.has(F::f2fp_rs))
        return c.refuse("in this form is not implemented");
    if (c.flag(F::bf16_pack)) {
        const bool towards_zero = c.get(F::f2fp_rz) == kTowardsZero, merge = c.flag(F::f2fp_merge);
        if (merge)
            return c.refuse("of one bfloat16 is not implemented");
        Value* low = to_bfloat(c, sign_modifiers(c, c.src_b_float(), c.flag(F::abs_b), c.flag(F::neg_b)), towards_zero);
        Value* high = to_bfloat(c, sign_modifiers(c, c.as_float(c.src_a()), c.flag(F::abs_a), c.flag(F::neg_a)), towards_zero);
        return c.set_reg(c.get(F::dst), c.b.CreateOr(low, c.b.CreateShl(high, 16)));
    }
    const auto narrow = [&](Value* v) -> Value* {
        if (c.get(F::f2fp_rz) == kTowardsZero)
            return c.call(Intrinsic::f32_to_f16_rnd, {c.i32(kTowardsZero), v});
        return c.b.CreateFPTrunc(v, c.b.getHalfTy());
    };
    Value* low = narrow(sign_modifiers(c, c.src_b_float(), c.flag(F::abs_b), c.flag(F::neg_b)));
    Value* high = nullptr;
    if (c.flag(F::f2fp_merge)) {
        if (c.flag(F::neg_c) || c.flag(F::abs_c))
            return c.refuse("in this form is not implemented");
        high = half_of(c, c.src_c(), c.flag(F::h1_c));
    } else {
        high = narrow(sign_modifiers(c, c.as_float(c.src_a()), c.flag(F::abs_a), c.flag(F::neg_a)));
    }
    c.set_reg(c.get(F::dst), pack(c, low, high));
}

} // namespace dmsh::ampere
