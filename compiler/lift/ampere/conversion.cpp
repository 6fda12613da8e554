// Conversions between floats, integers and their widths.
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::ampere {

using isa::F;
using isa::Form;
using maxwell::flush;
using maxwell::sign_modifiers;

namespace {

enum : uint64_t { kF16 = 1, kF32 = 2, kF64 = 3 };       // F::fmt_float_*, F::f2f_d
enum : uint64_t { k8 = 0, k16 = 1, k32 = 2, k64 = 3 }; // F::fmt_int_*

llvm::Intrinsic::ID rounding(uint64_t mode) {
    constexpr llvm::Intrinsic::ID ids[4] = {llvm::Intrinsic::roundeven, llvm::Intrinsic::floor,
                                            llvm::Intrinsic::ceil, llvm::Intrinsic::trunc};
    return ids[mode & 3];
}

Value* half_bits(LiftContext& c, Value* half) {
    return c.b.CreateZExt(c.b.CreateBitCast(half, c.b.getInt16Ty()), c.b.getInt32Ty());
}

// b with its modifiers as half, float or double.
Value* float_source(LiftContext& c, bool ftz) {
    const uint64_t format = c.get(F::fmt_float_s);
    Value* v = nullptr;
    switch (format) {
    case kF16: {
        Value* word = c.src_b();
        if (c.get(F::hpart_b))
            word = c.b.CreateLShr(word, 16);
        v = c.b.CreateBitCast(c.b.CreateTrunc(word, c.b.getInt16Ty()), c.b.getHalfTy());
        break;
    }
    case kF32: v = c.src_b_float(); break;
    case kF64: v = c.as_double(c.src_b64()); break;
    default: c.refuse(); return nullptr;
    }
    v = sign_modifiers(c, v, c.flag(F::abs_b), c.flag(F::neg_b));
    return format == kF32 ? flush(c, v, ftz) : v;
}

void write_float(LiftContext& c, Value* v) {
    if (v->getType()->isHalfTy())
        c.set_reg(c.get(F::dst), half_bits(c, v));
    else if (v->getType()->isDoubleTy())
        c.set_reg64(c.get(F::dst), v);
    else
        c.set_reg(c.get(F::dst), v);
}

bool exact_ftz(LiftContext& c) {
    return c.exact() && c.flag(F::ftz);
}

} // namespace

void f2f(LiftContext& c) {
    const uint64_t from = c.get(F::fmt_float_s), to = c.get(F::f2f_d), mode = c.get(F::rnd);
    Value* v = float_source(c, exact_ftz(c));
    if (!v)
        return;
    Value* round = c.i32(static_cast<uint32_t>(mode));
    switch (to) {
    case kF16:
        if (mode && from != kF32)
            return c.refuse("with this rounding is not implemented");
        v = mode ? c.call(Intrinsic::f32_to_f16_rnd, {round, v}) : c.b.CreateFPTrunc(v, c.b.getHalfTy());
        break;
    case kF32:
        if (from == kF16)
            v = c.b.CreateFPExt(v, c.b.getFloatTy());
        else
            v = mode ? c.call(Intrinsic::f64_to_f32_rnd, {round, v})
                     : c.b.CreateFPTrunc(v, c.b.getFloatTy());
        v = flush(c, v, exact_ftz(c));
        break;
    case kF64: v = c.b.CreateFPExt(v, c.b.getDoubleTy()); break;
    default: return c.refuse("to this format is not implemented");
    }
    write_float(c, v);
}

// Rounds, then clamps. NaN gives 0, but the top bit alone where the source is a double or the destination has
// 64 bits (CUDA's conversions; the goldens agree).
void f2i(LiftContext& c) {
    const uint64_t to = c.get(F::fmt_int_d);
    const bool is_signed = c.flag(F::signed_d);
    Value* v = float_source(c, exact_ftz(c));
    if (!v)
        return;
    if (v->getType()->isHalfTy())
        v = c.b.CreateFPExt(v, c.b.getFloatTy());
    if (const uint64_t mode = c.get(F::rnd_int); mode != 3)
        v = c.math(rounding(mode), {v});
    llvm::Type* type = c.b.getIntNTy(8u << to);
    Value* source = v;
    const auto id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    v = c.b.CreateCall(c.math_function(id, type, v->getType()), {v});
    if (to == k64 || source->getType()->isDoubleTy()) {
        Value* top = llvm::ConstantInt::get(type, uint64_t{1} << ((8u << to) - 1));
        v = c.b.CreateSelect(c.b.CreateFCmpUNO(source, source), top, v);
    }
    if (to < k32)
        v = is_signed ? c.b.CreateSExt(v, c.b.getInt32Ty()) : c.b.CreateZExt(v, c.b.getInt32Ty());
    if (to == k64)
        c.set_reg64(c.get(F::dst), v);
    else
        c.set_reg(c.get(F::dst), v);
}

void i2f(LiftContext& c) {
    const uint64_t from = c.get(F::fmt_int_s), to = c.get(F::fmt_float_d), mode = c.get(F::rnd);
    const bool is_signed = c.flag(F::signed_s);
    Value* v = nullptr;
    if (from == k64) {
        v = c.src_b64();
    } else {
        v = c.src_b();
        if (from != k32) {
            const uint64_t shift = from == k8 ? 8 * c.get(F::byte_b) : 16 * c.get(F::half86_b);
            v = c.b.CreateTrunc(shift ? c.b.CreateLShr(v, shift) : v, c.b.getIntNTy(8u << from));
            v = is_signed ? c.b.CreateSExt(v, c.b.getInt32Ty()) : c.b.CreateZExt(v, c.b.getInt32Ty());
        }
    }
    if (mode) {
        if (to == kF16)
            return c.refuse("with this rounding is not implemented");
        if (from != k64)
            v = is_signed ? c.sext64(v) : c.zext64(v);
        v = c.call(to == kF64 ? Intrinsic::i64_to_f64_rnd : Intrinsic::i64_to_f32_rnd,
                   {c.i32(static_cast<uint32_t>(mode)), c.i32(is_signed), v});
    } else {
        llvm::Type* type = to == kF64 ? c.b.getDoubleTy() : c.b.getFloatTy();
        v = is_signed ? c.b.CreateSIToFP(v, type) : c.b.CreateUIToFP(v, type);
    }
    // Up to 2^24 a float holds the integer exactly, and beyond 65520 every half is infinite: no double
    // rounding.
    if (to == kF16)
        v = c.b.CreateFPTrunc(v, c.b.getHalfTy());
    write_float(c, v);
}

void frnd(LiftContext& c) {
    Value* v = float_source(c, exact_ftz(c));
    if (!v)
        return;
    const auto round = rounding(c.get(F::rnd_int));
    if (v->getType()->isHalfTy()) // integral values of a half are exact in a float
        v = c.b.CreateFPTrunc(c.math(round, {c.b.CreateFPExt(v, c.b.getFloatTy())}), c.b.getHalfTy());
    else
        v = c.math(round, {v});
    write_float(c, v->getType()->isFloatTy() ? flush(c, v, exact_ftz(c)) : v);
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
