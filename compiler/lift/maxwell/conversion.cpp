// Conversions between floats, integers and their widths.
#include "compiler/lift/maxwell/conversion.h"
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {

llvm::Intrinsic::ID rounding(uint64_t mode) {
    constexpr llvm::Intrinsic::ID ids[4] = {llvm::Intrinsic::roundeven, llvm::Intrinsic::floor, llvm::Intrinsic::ceil, llvm::Intrinsic::trunc};
    return ids[mode & 3];
}

Value* float_source(LiftContext& c, uint64_t format, bool ftz) {
    Value* v = nullptr;
    switch (format) {
    case kF16: {
        if (c.inst().form() == Form::imm) {
            c.refuse("of a half immediate is not implemented");
            return nullptr;
        }
        Value* word = c.src_b();
        if (c.flag(F::h1_b) || c.get(F::hpart_b))
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

void write_converted(LiftContext& c, uint64_t format, Value* v) {
    if (c.flag(F::sat))
        v = saturate(c, v);
    const uint64_t d = c.get(F::dst);
    if (format == kF16)
        c.set_reg(d, c.b.CreateZExt(c.b.CreateBitCast(v, c.b.getInt16Ty()), c.b.getInt32Ty()));
    else if (format == kF32)
        c.set_reg(d, v);
    else
        c.set_reg64(d, v);
    if (c.flag(F::cc))
        c.set_float_flags(v);
}

namespace {

Value* to_double(LiftContext& c, Value* v) { return v->getType()->isDoubleTy() ? v : c.b.CreateFPExt(v, c.b.getDoubleTy()); }

// An 8, 16 or 32-bit integer source as i32.
Value* integer_source(LiftContext& c, uint64_t format, bool is_signed) {
    Value* v = c.src_b();
    const uint64_t shift = 8 * c.get(F::byte_b) + 16 * c.get(F::half86_b);
    if (format == k32)
        return v;
    if (shift)
        v = c.b.CreateLShr(v, shift);
    llvm::Type* narrow = format == k8 ? c.b.getInt8Ty() : c.b.getInt16Ty();
    v = c.b.CreateTrunc(v, narrow);
    return is_signed ? c.b.CreateSExt(v, c.b.getInt32Ty()) : c.b.CreateZExt(v, c.b.getInt32Ty());
}

Value* absolute(LiftContext& c, Value* v) {
    return c.b.CreateCall(c.math_function(llvm::Intrinsic::abs, v->getType()), {v, c.i1(false)});
}

} // namespace

void f2f(LiftContext& c) {
    const uint64_t from = c.get(F::fmt_float_s), to = c.get(c.has(F::f2f_d) ? F::f2f_d : F::fmt_float_d), mode = c.get(F::rnd);
    const bool ftz = c.exact() && c.flag(F::ftz);
    Value* v = float_source(c, from, ftz);
    if (!v)
        return;
    if (from == to) {
        if (c.flag(F::round)) {
            // Integral values of a half are exact in a float.
            if (from == kF16)
                v = c.b.CreateFPTrunc(c.math(rounding(mode), {c.b.CreateFPExt(v, c.b.getFloatTy())}), c.b.getHalfTy());
            else
                v = c.math(rounding(mode), {v});
        }
        return write_converted(c, to, from == kF32 ? flush(c, v, ftz) : v);
    }
    if (c.flag(F::round))
        return c.refuse("to another format with integral rounding is not implemented");
    Value* round = c.i32(static_cast<uint32_t>(mode));
    switch (to) {
    case kF16:
        if (!mode)
            v = c.b.CreateFPTrunc(v, c.b.getHalfTy());
        else { // two roundings into one direction are one
            if (from == kF64)
                v = c.call(Intrinsic::f64_to_f32_rnd, {round, v});
            v = c.call(Intrinsic::f32_to_f16_rnd, {round, v});
        }
        break;
    case kF32:
        if (from == kF16)
            v = c.b.CreateFPExt(v, c.b.getFloatTy());
        else
            v = mode ? c.call(Intrinsic::f64_to_f32_rnd, {round, v}) : c.b.CreateFPTrunc(v, c.b.getFloatTy());
        v = flush(c, v, ftz);
        break;
    case kF64: v = to_double(c, v); break;
    default: return c.refuse();
    }
    write_converted(c, to, v);
}

// Rounds, then clamps to the destination's range. NaN gives 0, but the top bit alone where the source is a double or the destination
// has 64 bits (CUDA's __double2int_rn, __float2ll_rn and others say so; the goldens agree).
void f2i(LiftContext& c) {
    const uint64_t to = c.get(F::fmt_int_d);
    const bool is_signed = c.flag(F::signed_d);
    Value* v = float_source(c, c.get(F::fmt_float_s), c.exact() && c.flag(F::ftz));
    if (!v)
        return;
    if (v->getType()->isHalfTy())
        v = c.b.CreateFPExt(v, c.b.getFloatTy());
    if (const uint64_t mode = c.get(F::rnd_int); mode != 3)
        v = c.math(rounding(mode), {v});
    llvm::Type* type = c.b.getIntNTy(8u << to);
    const auto id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    Value* source = v;
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
    if (c.flag(F::cc))
        c.set_integer_flags(v);
}

void i2f(LiftContext& c) {
    const uint64_t from = c.get(F::fmt_int_s), to = c.get(F::fmt_float_d), mode = c.get(F::rnd);
    const bool is_signed = c.flag(F::signed_s), neg = c.flag(F::neg_b), abs = c.flag(F::abs_b);
    if ((neg || abs) && !is_signed)
        return c.refuse("of an unsigned source with a sign modifier is not implemented");
    if (from == k64 && c.inst().form() == Form::imm)
        return c.refuse("of a 64-bit immediate is not implemented");
    Value* v = from == k64 ? c.src_b64() : integer_source(c, from, is_signed);
    if (neg || abs || mode) {
        // In 64 bits, so that the absolute value of the lowest number is right.
        if (from != k64)
            v = is_signed ? c.sext64(v) : c.zext64(v);
        if (abs)
            v = absolute(c, v);
        if (neg)
            v = c.b.CreateNeg(v);
    }
    llvm::Type* type = to == kF64 ? c.b.getDoubleTy() : c.b.getFloatTy();
    if (mode && to != kF16)
        v = c.call(to == kF64 ? Intrinsic::i64_to_f64_rnd : Intrinsic::i64_to_f32_rnd, {c.i32(static_cast<uint32_t>(mode)), c.i32(is_signed), v});
    else if (mode)
        return c.refuse("with this rounding is not implemented");
    else
        v = is_signed ? c.b.CreateSIToFP(v, type) : c.b.CreateUIToFP(v, type);
    // Up to 2^24 a float holds the integer exactly, and beyond 65520 every half is infinite: no double rounding.
    if (to == kF16)
        v = c.b.CreateFPTrunc(v, c.b.getHalfTy());
    write_converted(c, to, v);
}

void i2i(LiftContext& c) {
    const uint64_t from = c.get(F::fmt_int_s), to = c.get(F::fmt_int_d);
    const bool signed_s = c.flag(F::signed_s), signed_d = c.flag(F::signed_d);
    if (from == k64 || to == k64)
        return c.refuse("of 64 bits is not implemented");
    Value* v = integer_source(c, from, signed_s);
    if (!c.flag(F::sat)) {
        if (c.flag(F::abs_b))
            v = absolute(c, v);
        if (c.flag(F::neg_b))
            v = c.b.CreateNeg(v);
        if (to != k32) {
            v = c.b.CreateTrunc(v, c.b.getIntNTy(8u << to));
            v = signed_d ? c.b.CreateSExt(v, c.b.getInt32Ty()) : c.b.CreateZExt(v, c.b.getInt32Ty());
        }
    } else {
        Value* wide = signed_s ? c.sext64(v) : c.zext64(v);
        if (c.flag(F::abs_b))
            wide = absolute(c, wide);
        if (c.flag(F::neg_b))
            wide = c.b.CreateNeg(wide);
        const unsigned bits = 8u << to;
        const int64_t low = signed_d ? -(int64_t{1} << (bits - 1)) : 0;
        const int64_t high = (int64_t{1} << (signed_d ? bits - 1 : bits)) - 1;
        auto k = [&](int64_t x) { return c.i64(static_cast<uint64_t>(x)); };
        wide = c.math(llvm::Intrinsic::smin, {c.math(llvm::Intrinsic::smax, {wide, k(low)}), k(high)});
        v = c.low32(wide);
    }
    c.set_reg(c.get(F::dst), v);
    if (c.flag(F::cc))
        c.set_integer_flags(v);
}

} // namespace dmsh::maxwell
