// Single and double precision of Ampere: what differs from Maxwell's encodings and operations.
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

// Where arithmetic flushes: only in exact mode (numerics.md). Comparisons flush in both.
bool arithmetic_ftz(LiftContext& c) {
    return c.exact() && c.flag(F::ftz);
}

Value* raw_a(LiftContext& c) {
    return sign_modifiers(c, c.as_float(c.src_a()), c.flag(F::abs_a), c.flag(F::neg_a));
}
Value* raw_b(LiftContext& c) {
    return sign_modifiers(c, c.src_b_float(), c.flag(F::abs_b), c.flag(F::neg_b));
}
void write_float(LiftContext& c, Value* result) {
    result = flush(c, result, arithmetic_ftz(c));
    if (c.flag(F::sat))
        result = saturate(c, result);
    c.set_reg(c.get(F::dst), result);
}

Value* double_b(LiftContext& c) {
    return sign_modifiers(c, c.as_double(c.src_b64()), c.flag(F::abs_b), c.flag(F::neg_b));
}
Value* double_a(LiftContext& c) {
    return sign_modifiers(c, c.reg_double(c.get(F::src_a)), c.flag(F::abs_a), c.flag(F::neg_a));
}

} // namespace

// The other operand where one is NaN (T-020), or NaN with .NAN; the predicate chooses the minimum. .XORSIGN
// gives the magnitude of the result the sign of both operands' product.
void fmnmx(LiftContext& c) {
    Value *x = raw_a(c), *y = raw_b(c), *choose = c.src_predicate();
    x = flush(c, x, arithmetic_ftz(c));
    y = flush(c, y, arithmetic_ftz(c));
    Value* result = nullptr;
    if (auto* k = llvm::dyn_cast<llvm::ConstantInt>(choose))
        result = c.math(k->isOne() ? llvm::Intrinsic::minnum : llvm::Intrinsic::maxnum, {x, y});
    else
        result = c.b.CreateSelect(choose, c.math(llvm::Intrinsic::minnum, {x, y}),
                                  c.math(llvm::Intrinsic::maxnum, {x, y}));
    if (c.flag(F::xorsign)) {
        Value* sign = c.b.CreateXor(c.src_a(), c.src_b());
        Value* bits = c.b.CreateOr(c.b.CreateAnd(c.as_int(result), 0x7fffffff),
                                   c.b.CreateAnd(sign, 0x80000000));
        result = c.as_float(bits);
    }
    if (c.flag(F::nan))
        result = c.b.CreateSelect(c.b.CreateFCmpUNO(x, y), c.as_float(c.i32(0x7fffffff)), result);
    write_float(c, result);
}

void fsel(LiftContext& c) {
    Value* x = flush(c, raw_a(c), arithmetic_ftz(c));
    Value* y = flush(c, raw_b(c), arithmetic_ftz(c));
    c.set_reg(c.get(F::dst), c.b.CreateSelect(c.src_predicate(), x, y));
}

// SIN and COS count turns (T-107); the F16 form takes a half of b and gives a half (T-130).
void mufu(LiftContext& c) {
    const uint64_t op = c.get(F::mufu86_op);
    if (op == 6 || op == 7) { // RCP64H, RSQ64H: the operand is the upper word of a double
        Value* high = c.src_b();
        if (c.flag(F::abs_b))
            high = c.b.CreateAnd(high, 0x7fffffff);
        if (c.flag(F::neg_b))
            high = c.b.CreateXor(high, 0x80000000);
        c.set_reg(c.get(F::dst),
                  c.call(Intrinsic::mufu64h, {c.i32(static_cast<uint32_t>(op - 6)), high}));
        return;
    }
    static constexpr MufuOp kOps[10] = {MufuOp::cos, MufuOp::sin, MufuOp::ex2, MufuOp::lg2,  MufuOp::rcp,
                                        MufuOp::rsq, MufuOp::rcp, MufuOp::rsq, MufuOp::sqrt, MufuOp::tanh};
    if (op > 9)
        return c.refuse();
    const bool half = c.flag(F::mufu_f16);
    Value* x = nullptr;
    if (half) {
        Value* word = c.src_b();
        if (c.get(F::hpart_b))
            word = c.b.CreateLShr(word, 16);
        x = c.b.CreateFPExt(c.b.CreateBitCast(c.b.CreateTrunc(word, c.b.getInt16Ty()), c.b.getHalfTy()),
                            c.b.getFloatTy());
        x = sign_modifiers(c, x, c.flag(F::abs_b), c.flag(F::neg_b));
    } else {
        x = raw_b(c);
    }
    if (kOps[op] == MufuOp::cos || kOps[op] == MufuOp::sin)
        x = c.b.CreateFMul(x, c.f32(6.283185307179586));
    Value* result = c.call(Intrinsic::mufu, {c.i32(static_cast<uint32_t>(kOps[op])), x});
    if (!half)
        return write_float(c, result);
    Value* bits = c.b.CreateBitCast(c.b.CreateFPTrunc(result, c.b.getHalfTy()), c.b.getInt16Ty());
    c.set_reg(c.get(F::dst), c.b.CreateZExt(bits, c.b.getInt32Ty()));
}

// Codes 0 and 15 choose for a minimum and a maximum: the first predicate takes a, the second tells that both are NaN. -0 is
// less than 0 here (px_fp64 of the cuda corpus).
void dsetp(LiftContext& c) {
    enum : uint64_t { kMin = 0, kMax = 15 };
    Value *x = double_a(c), *y = double_b(c), *with = c.src_predicate();
    const uint64_t op = c.get(F::dsetp_cmp), bop = c.get(F::bop);
    if (op != kMin && op != kMax)
        return maxwell::write_setp(c, float_compare(c, op, x, y));
    Value* take = op == kMin ? c.b.CreateFCmpOLT(x, y) : c.b.CreateFCmpOGT(x, y);
    Value* negative = c.b.CreateICmpSLT(c.as_int(x), c.i64(0));
    Value* tie = c.b.CreateAnd(c.b.CreateFCmpOEQ(x, y), op == kMin ? negative : c.b.CreateNot(negative));
    take = c.b.CreateOr(c.b.CreateOr(take, tie), c.b.CreateFCmpUNO(y, y));
    Value* both = c.b.CreateAnd(c.b.CreateFCmpUNO(x, x), c.b.CreateFCmpUNO(y, y));
    c.set_predicate(c.get(F::dst_pred), combine(c, bop, take, with));
    c.set_predicate(c.get(F::dst_pred2), combine(c, bop, both, with));
}

} // namespace dmsh::ampere
