// Single and double precision arithmetic, comparisons, minimum and maximum, multi-function operations.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

constexpr uint64_t kFmz = 2; // of F::fmz; 1 is FTZ

// Where arithmetic flushes: only in exact mode (numerics.md). Comparisons flush in both.
bool arithmetic_ftz(LiftContext& c) { return c.exact() && (c.flag(F::ftz) || c.get(F::fmz) != 0); }

Value* operand_a(LiftContext& c) {
    return flush(c, sign_modifiers(c, c.as_float(c.src_a()), c.flag(F::abs_a), c.flag(F::neg_a)), arithmetic_ftz(c));
}
Value* operand_b(LiftContext& c) {
    return flush(c, sign_modifiers(c, c.src_b_float(), c.flag(F::abs_b), c.flag(F::neg_b)), arithmetic_ftz(c));
}

void write_float(LiftContext& c, Value* result) {
    result = flush(c, result, arithmetic_ftz(c));
    if (c.flag(F::sat))
        result = saturate(c, result);
    c.set_reg(c.get(F::dst), result);
    if (c.flag(F::cc))
        c.set_float_flags(result);
}

void write_double(LiftContext& c, Value* result) {
    c.set_reg64(c.get(F::dst), result);
    if (c.flag(F::cc))
        c.set_float_flags(result);
}

// .FMZ: a product with a zero factor is +0, whatever the other factor; a sum with it is +0 + z, so that -0 becomes +0 and a NaN the
// machine's own.
Value* zero_factor(LiftContext& c, Value* x, Value* y, Value* otherwise, Value* if_zero) {
    Value* zero = c.f32(0.0);
    Value* any = c.b.CreateOr(c.b.CreateFCmpOEQ(x, zero), c.b.CreateFCmpOEQ(y, zero));
    return c.b.CreateSelect(any, if_zero, otherwise);
}

Value* round_code(LiftContext& c) { return c.i32(static_cast<uint32_t>(c.get(F::rnd))); }

// FMUL's factor: F::scale of sm_53, F::scale86 of sm_86.
double product_scale(LiftContext& c) {
    static constexpr double kScale[8] = {1.0, 0.5, 0.25, 0.125, 8.0, 4.0, 2.0, 1.0};
    static constexpr double kScale86[8] = {1.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0};
    return c.has(F::scale86) ? kScale86[c.get(F::scale86) & 7] : kScale[c.get(F::scale) & 7];
}

void multiply(LiftContext& c, Value* x, Value* y) {
    Value* product = nullptr;
    if (const double scale = product_scale(c); scale != 1.0 && c.exact()) {
        // The product is scaled before it is rounded: both are exact as doubles.
        const auto wide = [&](Value* v) { return c.b.CreateFPExt(v, c.b.getDoubleTy()); };
        Value* scaled = c.b.CreateFMul(c.b.CreateFMul(wide(x), wide(y)), c.f64(scale));
        product = c.get(F::rnd) ? c.call(Intrinsic::f64_to_f32_rnd, {round_code(c), scaled}) : c.b.CreateFPTrunc(scaled, c.b.getFloatTy());
    } else {
        product = c.get(F::rnd) ? c.call(Intrinsic::fmul_rnd, {round_code(c), x, y}) : c.b.CreateFMul(x, y);
        if (scale != 1.0) // differs where the unscaled product leaves the range alone
            product = c.b.CreateFMul(product, c.f32(scale));
    }
    if (c.get(F::fmz) == kFmz)
        product = zero_factor(c, x, y, product, c.f32(0.0));
    write_float(c, product);
}

void multiply_add(LiftContext& c, Value* x, Value* y, Value* z) {
    Value* sum = c.get(F::rnd) ? c.call(Intrinsic::ffma_rnd, {round_code(c), x, y, z}) : c.math(llvm::Intrinsic::fma, {x, y, z});
    if (c.get(F::fmz) == kFmz)
        sum = zero_factor(c, x, y, sum, c.get(F::rnd) ? c.call(Intrinsic::fadd_rnd, {round_code(c), z, c.f32(0.0)}) : c.b.CreateFAdd(z, c.f32(0.0)));
    write_float(c, sum);
}

// Operands of comparisons: .FTZ flushes them in both float modes (T-021).
Value* compared_a(LiftContext& c) {
    return flush(c, sign_modifiers(c, c.as_float(c.src_a()), c.flag(F::abs_a), c.flag(F::neg_a)), c.flag(F::ftz));
}
Value* compared_b(LiftContext& c) {
    return flush(c, sign_modifiers(c, c.src_b_float(), c.flag(F::abs_b), c.flag(F::neg_b)), c.flag(F::ftz));
}

Value* double_a(LiftContext& c) {
    return sign_modifiers(c, c.reg_double(c.get(F::src_a)), c.flag(F::abs_a), c.flag(F::neg_a));
}
Value* double_b(LiftContext& c) {
    return sign_modifiers(c, c.as_double(c.src_b64()), c.flag(F::abs_b), c.flag(F::neg_b));
}

} // namespace

void fadd(LiftContext& c) {
    Value *x = operand_a(c), *y = operand_b(c);
    write_float(c, c.get(F::rnd) ? c.call(Intrinsic::fadd_rnd, {round_code(c), x, y}) : c.b.CreateFAdd(x, y));
}

void fmul(LiftContext& c) { multiply(c, operand_a(c), operand_b(c)); }

// FFMA and FFMA32I: neg_b (of the register forms) and neg_a (of the immediate form) negate the product.
void ffma(LiftContext& c) {
    Value *x = operand_a(c), *y = operand_b(c);
    Value* z = flush(c, sign_modifiers(c, c.src_c_float(), c.flag(F::abs_c), c.flag(F::neg_c)), arithmetic_ftz(c));
    multiply_add(c, x, y, z);
}

// The other operand where one is NaN (T-020); the predicate chooses the minimum.
void fmnmx(LiftContext& c) {
    Value *x = operand_a(c), *y = operand_b(c), *choose = c.src_predicate();
    if (auto* k = llvm::dyn_cast<llvm::ConstantInt>(choose)) {
        write_float(c, c.math(k->isOne() ? llvm::Intrinsic::minnum : llvm::Intrinsic::maxnum, {x, y}));
        return;
    }
    Value* low = c.math(llvm::Intrinsic::minnum, {x, y});
    write_float(c, c.b.CreateSelect(choose, low, c.math(llvm::Intrinsic::maxnum, {x, y})));
}

void fset(LiftContext& c) { write_set(c, float_compare(c, c.get(F::float_cmp), compared_a(c), compared_b(c))); }
void fsetp(LiftContext& c) { write_setp(c, float_compare(c, c.get(F::float_cmp), compared_a(c), compared_b(c))); }

// Chooses a or b by comparing c with zero; a and b pass as they are.
void fcmp(LiftContext& c) {
    Value* test = flush(c, c.src_c_float(), c.flag(F::ftz));
    Value* condition = float_compare(c, c.get(F::float_cmp), test, c.f32(0.0));
    Value* x = c.src_a();
    c.set_reg(c.get(F::dst), c.b.CreateSelect(condition, x, c.src_b()));
}

void fchk(LiftContext& c) {
    Value* x = sign_modifiers(c, c.as_float(c.src_a()), c.flag(F::abs_a), c.flag(F::neg_a));
    Value* y = sign_modifiers(c, c.src_b_float(), c.flag(F::abs_b), c.flag(F::neg_b));
    c.set_predicate(c.get(F::dst_pred), c.call(Intrinsic::fchk, {x, y}));
}

void mufu(LiftContext& c) {
    const uint64_t op = c.get(F::mufu_op);
    if (op == 6 || op == 7) { // RCP64H, RSQ64H: the operand is the upper word of a double
        Value* high = c.src_a();
        if (c.flag(F::abs_a))
            high = c.b.CreateAnd(high, 0x7fffffff);
        if (c.flag(F::neg_a))
            high = c.b.CreateXor(high, 0x80000000);
        if (c.flag(F::sat))
            return c.refuse("with .SAT is not implemented");
        c.set_reg(c.get(F::dst), c.call(Intrinsic::mufu64h, {c.i32(static_cast<uint32_t>(op - 6)), high}));
        return;
    }
    static constexpr MufuOp kOps[9] = {MufuOp::cos, MufuOp::sin, MufuOp::ex2, MufuOp::lg2, MufuOp::rcp, MufuOp::rsq, MufuOp::rcp, MufuOp::rsq, MufuOp::sqrt};
    if (op > 8)
        return c.refuse();
    Value* x = sign_modifiers(c, c.as_float(c.src_a()), c.flag(F::abs_a), c.flag(F::neg_a));
    write_float(c, c.call(Intrinsic::mufu, {c.i32(static_cast<uint32_t>(kOps[op])), x}));
}

// The pair RRO, MUFU is the function of the plain argument (T-024), so the reduction is a move.
void rro(LiftContext& c) { c.set_reg(c.get(F::dst), sign_modifiers(c, c.src_b_float(), c.flag(F::abs_b), c.flag(F::neg_b))); }

void dadd(LiftContext& c) {
    Value *x = double_a(c), *y = double_b(c);
    write_double(c, c.get(F::rnd) ? c.call(Intrinsic::dadd_rnd, {round_code(c), x, y}) : c.b.CreateFAdd(x, y));
}

void dmul(LiftContext& c) {
    Value *x = double_a(c), *y = double_b(c);
    write_double(c, c.get(F::rnd) ? c.call(Intrinsic::dmul_rnd, {round_code(c), x, y}) : c.b.CreateFMul(x, y));
}

void dfma(LiftContext& c) {
    Value *x = double_a(c), *y = double_b(c);
    Value* z = sign_modifiers(c, c.as_double(c.src_c64()), c.flag(F::abs_c), c.flag(F::neg_c));
    write_double(c, c.get(F::rnd) ? c.call(Intrinsic::dfma_rnd, {round_code(c), x, y, z}) : c.math(llvm::Intrinsic::fma, {x, y, z}));
}

void dmnmx(LiftContext& c) {
    Value *x = double_a(c), *y = double_b(c), *choose = c.src_predicate();
    Value* low = c.math(llvm::Intrinsic::minnum, {x, y});
    write_double(c, c.b.CreateSelect(choose, low, c.math(llvm::Intrinsic::maxnum, {x, y})));
}

void dset(LiftContext& c) { write_set(c, float_compare(c, c.get(F::float_cmp), double_a(c), double_b(c))); }
void dsetp(LiftContext& c) { write_setp(c, float_compare(c, c.get(F::float_cmp), double_a(c), double_b(c))); }

} // namespace dmsh::maxwell
