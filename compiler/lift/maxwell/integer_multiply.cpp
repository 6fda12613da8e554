// Integer products: whole words, 24 bits, and the 16-bit XMAD.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

Value* wide_product(LiftContext& c, Value* x, Value* y) {
    Value* wx = c.flag(F::signed_a) ? c.sext64(x) : c.zext64(x);
    Value* wy = c.flag(F::signed_b) ? c.sext64(y) : c.zext64(y);
    return c.b.CreateMul(wx, wy);
}

// x + y + carry in, with flags where asked.
void write_added(LiftContext& c, Value* x, Value* y, bool extended) {
    Value* t = c.b.CreateAdd(x, y);
    Value* result = extended ? c.b.CreateAdd(t, c.b.CreateZExt(c.flag(kFlagC), c.b.getInt32Ty())) : t;
    Value* lower_zero = extended && c.flag(F::cc) ? c.flag(kFlagZ) : nullptr;
    c.set_reg(c.get(F::dst), result);
    if (!c.flag(F::cc))
        return;
    Value* carry = c.b.CreateICmpULT(t, x);
    if (extended)
        carry = c.b.CreateOr(carry, c.b.CreateICmpULT(result, t));
    Value* overflow = nullptr;
    if (c.overflow_wanted()) {
        Value* changed = c.b.CreateAnd(c.b.CreateXor(result, x), c.b.CreateXor(result, y));
        overflow = c.b.CreateICmpSLT(changed, c.i32(0));
    }
    c.set_integer_flags(result, carry, overflow, lower_zero);
}

// The part of a word that IMADSP multiplies: 0 U32, 1 S32, 2 U24, 3 S24, 4 U16H0, 5 S16H0, 6 U16H1, 7 S16H1.
Value* imadsp_part(LiftContext& c, Value* v, uint64_t part) {
    const bool is_signed = part & 1;
    switch (part >> 1) {
    case 1:
        v = c.b.CreateShl(v, 8);
        return is_signed ? c.b.CreateAShr(v, 8) : c.b.CreateLShr(v, 8);
    case 2: return half_word(c, v, false, is_signed);
    case 3: return half_word(c, v, true, is_signed);
    default: return v;
    }
}

} // namespace

void imul(LiftContext& c) {
    Value *x = c.src_a(), *y = c.src_b();
    Value* result = c.flag(F::hi) ? c.high32(wide_product(c, x, y)) : c.b.CreateMul(x, y);
    c.set_reg(c.get(F::dst), result);
    if (c.flag(F::cc))
        c.set_integer_flags(result);
}

void imad(LiftContext& c) {
    Value *x = c.src_a(), *y = c.src_b(), *z = c.src_c();
    const bool neg_product = c.flag(F::neg_a), neg_z = c.flag(F::neg_c), extended = c.flag(F::x);
    const bool plus_one = neg_product && neg_z; // .PO
    Value* product = nullptr;
    if (c.flag(F::hi)) {
        Value* wide = wide_product(c, x, y);
        product = c.high32(neg_product && !plus_one ? c.b.CreateNeg(wide) : wide);
    } else {
        product = c.b.CreateMul(x, y);
        if (neg_product && !plus_one)
            product = c.b.CreateNeg(product);
    }
    if ((neg_product || neg_z) && (extended || c.flag(F::cc)))
        return c.refuse("with negation and carries is not implemented");
    if (c.flag(F::sat)) {
        if (extended || c.flag(F::cc) || plus_one)
            return c.refuse("with .SAT and carries is not implemented");
        c.set_reg(c.get(F::dst), c.math(neg_z ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::sadd_sat, {product, z}));
        return;
    }
    if (plus_one)
        product = c.b.CreateAdd(product, c.i32(1));
    else if (neg_z)
        z = c.b.CreateNeg(z);
    write_added(c, product, z, extended);
}

void imadsp(LiftContext& c) {
    const uint64_t part_a = c.get(F::imadsp_a), part_b = c.get(F::imadsp_b);
    const bool is_signed = (part_a | part_b) & 1;
    Value* x = imadsp_part(c, c.src_a(), part_a);
    Value* y = imadsp_part(c, c.src_b(), part_b + 2);
    Value* z = imadsp_part(c, c.src_c(), c.get(F::imadsp_c) << 1 | is_signed);
    write_added(c, c.b.CreateMul(x, y), z, false);
}

// 16 x 16 bits + c; chains of it make wider products.
void xmad(LiftContext& c) {
    Value *whole_b = c.src_b(), *z = c.src_c();
    Value* whole_a = c.src_a();
    Value* x = half_word(c, whole_a, c.flag(F::h1_a), c.flag(F::signed_a));
    Value* y = half_word(c, whole_b, c.flag(F::h1_b), c.flag(F::signed_b));
    Value* product = c.b.CreateMul(x, y);
    if (c.flag(F::psl))
        product = c.b.CreateShl(product, 16);
    switch (c.get(F::xmad_mode)) {
    case 0: break;
    case 1: z = half_word(c, z, false, false); break;
    case 2: z = half_word(c, z, true, false); break;
    case 3: {
        // The upper product of a signed 32 x 32: takes back what the unsigned shift of the middle products' sum (IADD3.RS) will
        // count too much, 2^16 for each of them that is negative.
        if (!c.flag(F::h1_a) || !c.flag(F::h1_b) || !c.flag(F::signed_a) || !c.flag(F::signed_b) || c.flag(F::psl))
            return c.refuse("with this form of c is not implemented");
        auto excess = [&](Value* v, Value* other) {
            Value* low = half_word(c, other, false, false);
            Value* negative = c.b.CreateAnd(c.b.CreateICmpSLT(v, c.i32(0)), c.b.CreateICmpNE(low, c.i32(0)));
            return c.bool_to_int(negative, 0x10000);
        };
        z = c.b.CreateSub(c.b.CreateSub(z, excess(whole_a, whole_b)), excess(whole_b, whole_a));
        break;
    }
    case 4: z = c.b.CreateAdd(c.b.CreateShl(whole_b, 16), z); break;
    default: return c.refuse("with this form of c is not implemented");
    }
    if (!c.flag(F::mrg))
        return write_added(c, product, z, c.flag(F::x));
    if (c.flag(F::x) || c.flag(F::cc))
        return c.refuse("with .MRG and carries is not implemented");
    Value* low = half_word(c, c.b.CreateAdd(product, z), false, false);
    c.set_reg(c.get(F::dst), c.b.CreateOr(low, c.b.CreateShl(whole_b, 16)));
}

} // namespace dmsh::maxwell
