// Logic by truth table, funnel shifts, bit fields and bit counts.
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::ampere {

using isa::F;
using isa::Form;

namespace {

bool is_constant(Value* v, bool ones) {
    auto* k = llvm::dyn_cast<llvm::ConstantInt>(v);
    return k && (ones ? k->isMinusOne() : k->isZero());
}

// A function of words or predicates by its truth table: bit i is the result where the operands, first one
// uppermost, spell i.
Value* by_table(LiftContext& c, uint32_t table, llvm::ArrayRef<Value*> operands, llvm::Type* type) {
    if (operands.empty())
        return table & 1 ? llvm::ConstantInt::getAllOnesValue(type) : llvm::ConstantInt::getNullValue(type);
    const unsigned half = 1u << (operands.size() - 1);
    const uint32_t mask = (1u << half) - 1, low = table & mask, high = table >> half & mask;
    const auto rest = operands.drop_front();
    Value* x = operands.front();
    if (low == high)
        return by_table(c, low, rest, type);
    if (low == (~high & mask)) {
        Value* v = by_table(c, low, rest, type);
        if (is_constant(v, false))
            return x;
        return is_constant(v, true) ? c.b.CreateNot(x) : c.b.CreateXor(x, v);
    }
    Value *without = by_table(c, low, rest, type), *with = by_table(c, high, rest, type);
    if (is_constant(without, false))
        return c.b.CreateAnd(x, with);
    if (is_constant(with, true))
        return c.b.CreateOr(x, without);
    if (is_constant(with, false))
        return c.b.CreateAnd(c.b.CreateNot(x), without);
    if (is_constant(without, true))
        return c.b.CreateOr(c.b.CreateNot(x), with);
    return c.b.CreateOr(c.b.CreateAnd(x, with), c.b.CreateAnd(c.b.CreateNot(x), without));
}

Value* count_as_64(LiftContext& c, Value* shift, unsigned bits, bool wrap) {
    if (wrap)
        return c.zext64(c.b.CreateAnd(shift, bits - 1));
    return c.zext64(c.math(llvm::Intrinsic::umin, {shift, c.i32(bits)}));
}

// A shift by a constant of {high : low}, one word of the result; 0 < n < 32.
Value* funnel(LiftContext& c, Value* low, Value* high, uint32_t n, bool right, bool is_signed, bool upper) {
    auto& b = c.b;
    if (right && upper)
        return is_signed ? b.CreateAShr(high, n) : b.CreateLShr(high, n);
    if (right)
        return b.CreateOr(b.CreateLShr(low, n), b.CreateShl(high, 32 - n));
    if (!upper)
        return b.CreateShl(low, n);
    return b.CreateOr(b.CreateShl(high, n), b.CreateLShr(low, 32 - n));
}

Value* flip_if_signed(LiftContext& c, Value* v) {
    return c.flag(F::is_signed) ? c.b.CreateXor(v, c.b.CreateAShr(v, 31)) : v;
}

Value* source(LiftContext& c) {
    Value* v = c.src_b();
    return c.flag(F::inv_b) ? c.b.CreateNot(v) : v;
}

// Ones in bits 0 to count - 1; `count` as i64 up to 32.
Value* low_ones(LiftContext& c, Value* count) {
    return c.low32(c.b.CreateSub(c.b.CreateShl(c.i64(1), count), c.i64(1)));
}

void write_tables(LiftContext& c, std::initializer_list<Value*> operands) {
    Value* first = by_table(c, static_cast<uint32_t>(c.get(F::lut)), operands, c.b.getInt1Ty());
    Value* second = by_table(c, static_cast<uint32_t>(c.get(F::lut2)), operands, c.b.getInt1Ty());
    c.set_predicate(c.get(F::dst_pred), first);
    c.set_predicate(c.get(F::dst_pred2), second);
}

} // namespace

void lop3(LiftContext& c) {
    Value* operands[3] = {c.src_a(), c.src_b(), c.src_c()};
    Value* result = by_table(c, static_cast<uint32_t>(c.get(F::lut)), operands, c.b.getInt32Ty());
    Value* with = c.get(F::dst_pred) == isa::kPt ? nullptr : c.src_predicate();
    c.set_reg(c.get(F::dst), result);
    if (!with)
        return;
    Value* any = c.b.CreateICmpNE(result, c.i32(0));
    c.set_predicate(c.get(F::dst_pred), c.flag(F::pand) ? c.b.CreateAnd(any, with) : c.b.CreateOr(any, with));
}

// Two functions of three predicates, of which the third may be uniform. Operands that are words stand for their
// sign bits.
void plop3(LiftContext& c) {
    const auto sign = [&](Value* word) { return c.b.CreateICmpSLT(word, c.i32(0)); };
    if (c.inst().form() != Form::none) {
        Value* second = sign(c.src_b());
        Value* first = c.has(F::src_a) ? sign(c.src_a()) : c.src_predicate();
        Value* third = c.has(F::src_c) ? sign(c.src_c())
                                       : c.predicate(c.get(F::src_pred3), c.flag(F::src_pred3_neg));
        return write_tables(c, {first, second, third});
    }
    Value* third = c.has(F::src_upred) ? c.upredicate(c.get(F::src_upred), c.flag(F::src_upred_neg))
                                       : c.predicate(c.get(F::src_pred3), c.flag(F::src_pred3_neg));
    write_tables(c, {c.src_predicate(), c.predicate(c.get(F::src_pred2), c.flag(F::src_pred2_neg)), third});
}

// {c : a} shifted by b; types of 32 bits limit the count to 32, those of 64 bits to 64.
void shf(LiftContext& c) {
    enum : uint64_t { kS64 = 0, kU64 = 1, kS32 = 2, kU32 = 3 };
    const uint64_t type = c.get(F::shf86_type);
    const bool right = c.flag(F::shf_right), upper = c.flag(F::hi), wrap = c.flag(F::wrap);
    const bool is_signed = type == kS64 || type == kS32;
    const unsigned bits = type == kS32 || type == kU32 ? 32 : 64;
    Value *low = c.src_a(), *count = c.src_b(), *high = c.src_c();
    if (auto* k = llvm::dyn_cast<llvm::ConstantInt>(count)) {
        const uint64_t given = k->getZExtValue();
        const auto n = static_cast<uint32_t>(wrap ? given & (bits - 1) : std::min<uint64_t>(given, bits));
        if (n == 0)
            return c.set_reg(c.get(F::dst), upper ? high : low);
        if (n < 32)
            return c.set_reg(c.get(F::dst), funnel(c, low, high, n, right, is_signed, upper));
    }
    Value* n = count_as_64(c, count, bits, wrap);
    Value* whole = c.b.CreateOr(c.zext64(low), c.b.CreateShl(c.zext64(high), 32));
    Value* at_most = c.math(llvm::Intrinsic::umin, {n, c.i64(63)});
    Value* shifted = right ? (is_signed ? c.b.CreateAShr(whole, at_most) : c.b.CreateLShr(whole, at_most))
                           : c.b.CreateShl(whole, at_most);
    if (bits == 64 && !wrap && !(right && is_signed)) // a count of 64 leaves nothing
        shifted = c.b.CreateSelect(c.b.CreateICmpEQ(n, c.i64(64)), c.i64(0), shifted);
    c.set_reg(c.get(F::dst), upper ? c.high32(shifted) : c.low32(shifted));
}

// The lowest b bits of a, extended; .W takes b modulo 32, else 32 and more leave a as it is.
void sgxt(LiftContext& c) {
    Value *v = c.src_a(), *bits = count_as_64(c, c.src_b(), 32, c.flag(F::wrap));
    if (!c.flag(F::is_signed))
        return c.set_reg(c.get(F::dst), c.b.CreateAnd(v, low_ones(c, bits)));
    Value* away = c.b.CreateSub(c.i64(64), bits);
    Value* shifted = c.b.CreateShl(c.zext64(v), c.math(llvm::Intrinsic::umin, {away, c.i64(63)}));
    Value* result = c.low32(c.b.CreateAShr(shifted, c.math(llvm::Intrinsic::umin, {away, c.i64(63)})));
    c.set_reg(c.get(F::dst), c.b.CreateSelect(c.b.CreateICmpEQ(bits, c.i64(0)), c.i32(0), result));
}

// b ones from bit a on (T-141).
void bmsk(LiftContext& c) {
    const bool wrap = c.flag(F::wrap);
    Value *from = count_as_64(c, c.src_a(), 32, wrap), *count = count_as_64(c, c.src_b(), 32, wrap);
    Value* ones = c.zext64(low_ones(c, count));
    c.set_reg(c.get(F::dst), c.low32(c.b.CreateShl(ones, from)));
}

void brev(LiftContext& c) {
    c.set_reg(c.get(F::dst), c.math(llvm::Intrinsic::bitreverse, {c.src_b()}));
}

// Bit number of the highest bit that is set (signed: that differs from the sign), or with .SH how far it is
// from bit 31; all ones where there is none.
void flo(LiftContext& c) {
    if (c.get(F::dst_pred) != isa::kPt)
        return c.refuse("with a predicate result is not implemented");
    Value* v = flip_if_signed(c, source(c));
    Value* zeros = c.b.CreateCall(c.math_function(llvm::Intrinsic::ctlz, v->getType()), {v, c.i1(false)});
    Value* result = c.flag(F::sh) ? zeros : c.b.CreateSub(c.i32(31), zeros);
    if (c.flag(F::sh))
        result = c.b.CreateSelect(c.b.CreateICmpEQ(v, c.i32(0)), c.i32(0xffffffff), result);
    c.set_reg(c.get(F::dst), result);
}

void popc(LiftContext& c) {
    c.set_reg(c.get(F::dst), c.math(llvm::Intrinsic::ctpop, {source(c)}));
}

} // namespace dmsh::ampere
