// Conversions that Maxwell lacks.
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/maxwell/conversion.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::ampere {

using isa::F;
using isa::Form;
using maxwell::flush;
using maxwell::rounding;
using maxwell::sign_modifiers;

void frnd(LiftContext& c) {
    const bool ftz = c.exact() && c.flag(F::ftz);
    const uint64_t format = c.get(F::fmt_float_s);
    Value* v = maxwell::float_source(c, format, ftz);
    if (!v)
        return;
    const auto round = rounding(c.get(F::rnd_int));
    if (format == maxwell::kF16) // integral values of a half are exact in a float
        v = c.b.CreateFPTrunc(c.math(round, {c.b.CreateFPExt(v, c.b.getFloatTy())}), c.b.getHalfTy());
    else
        v = c.math(round, {v});
    maxwell::write_converted(c, format, format == maxwell::kF32 ? flush(c, v, ftz) : v);
}

void i2fp(LiftContext& c) {
    constexpr uint64_t kTowardsZero = 3; // F::i2fp_rz
    Value* v = c.src_b();
    const bool is_signed = c.flag(F::signed_s);
    if (c.get(F::i2fp_rz) == kTowardsZero)
        v = c.call(Intrinsic::i64_to_f32_rnd,
                   {c.i32(kTowardsZero), c.i32(is_signed), is_signed ? c.sext64(v) : c.zext64(v)});
    else
        v = is_signed ? c.b.CreateSIToFP(v, c.b.getFloatTy()) : c.b.CreateUIToFP(v, c.b.getFloatTy());
    c.set_reg(c.get(F::dst), v);
}

// A signed word clamped to 8 or 16 bits.
void i2i(LiftContext& c) {
    const uint64_t to = c.get(F::i2i_d);
    const bool is_signed = to & 1;
    const unsigned bits = to < 2 ? 8 : 16;
    const uint32_t low = is_signed ? -(1u << (bits - 1)) : 0;
    const uint32_t high = (1u << (is_signed ? bits - 1 : bits)) - 1;
    Value* v = c.math(llvm::Intrinsic::smax, {c.src_b(), c.i32(low)});
    c.set_reg(c.get(F::dst), c.math(llvm::Intrinsic::smin, {v, c.i32(high)}));
}

// Two floats to bytes: b to byte 0, a to byte 1, upper half of the result zero (T-139).
void f2ip(LiftContext& c) {
    if (c.inst().form() != Form::reg || c.get(F::f2ip_d) != 0 || c.get(F::src_c) != isa::kRz ||
        c.flag(F::h1_c) || c.flag(F::relu))
        return c.refuse("in this form is not implemented");
    const auto round = rounding(c.get(F::f2ip_rnd));
    const auto byte = [&](Value* v) {
        v = c.math(round, {v});
        llvm::Type* type = c.b.getInt8Ty();
        v = c.b.CreateCall(c.math_function(llvm::Intrinsic::fptoui_sat, type, v->getType()), {v});
        return c.b.CreateZExt(v, c.b.getInt32Ty());
    };
    Value* low = byte(sign_modifiers(c, c.src_b_float(), c.flag(F::abs_b), c.flag(F::neg_b)));
    Value* high = c.get(F::src_a) == isa::kRz ? c.i32(0) : byte(c.as_float(c.src_a()));
    c.set_reg(c.get(F::dst), c.b.CreateOr(low, c.b.CreateShl(high, 8)));
}

} // namespace dmsh::ampere
