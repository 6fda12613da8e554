// Video instructions: arithmetic on bytes, halves or words of two operands, then saturation, then a merge or a second operation with c
// (meaning: PTX ISA, "Scalar Video Instructions").
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

// F::video_op: where the result goes in c, or what is done with c.
enum : uint64_t { kHighHalf = 0, kLowHalf = 1, kByte0 = 2, kByte2 = 3, kAccumulate = 4, kMin = 5, kMax = 6, kNone = 7 };

// The part that a selector names (bytes 0..3, halves 4..5, the word 6) as i64 of its value.
Value* part(LiftContext& c, Value* v, uint64_t select, bool is_signed) {
    if (select < 4) {
        const auto up = static_cast<uint32_t>(24 - 8 * select);
        v = c.b.CreateShl(v, up);
        v = is_signed ? c.b.CreateAShr(v, 24) : c.b.CreateLShr(v, 24);
    } else if (select < 6) {
        v = half_word(c, v, select & 1, is_signed);
    }
    return is_signed ? c.sext64(v) : c.zext64(v);
}

Value* video_a(LiftContext& c) { return part(c, c.src_a(), c.get(F::video_sel_a), c.flag(F::video_signed_a)); }
Value* video_b(LiftContext& c) {
    const bool is_signed = c.flag(F::video_signed_b);
    if (c.inst().form() == Form::imm)
        return part(c, c.i32(c.inst().imm32()), 4, is_signed);
    return part(c, c.src_b(), c.get(F::video_sel_b), is_signed);
}

Value* clamp(LiftContext& c, Value* v, unsigned bits, bool is_signed) {
    const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    const int64_t high = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    v = c.math(llvm::Intrinsic::smax, {v, c.i64(static_cast<uint64_t>(low))});
    return c.math(llvm::Intrinsic::smin, {v, c.i64(static_cast<uint64_t>(high))});
}

// The 32 bits that an i64 result becomes.
void write(LiftContext& c, Value* wide, bool is_signed) {
    if (c.flag(F::cc))
        return c.refuse("with .CC is not implemented");
    const uint64_t op = c.get(F::video_op);
    if (c.flag(F::sat))
        wide = clamp(c, wide, op == kByte0 || op == kByte2 ? 8 : op == kHighHalf || op == kLowHalf ? 16 : 32, is_signed);
    Value* v = c.low32(wide);
    Value* z = c.src_c();
    auto merge = [&](uint32_t mask, unsigned shift) {
        Value* moved = c.b.CreateAnd(shift ? c.b.CreateShl(v, shift) : v, c.i32(mask));
        return c.b.CreateOr(moved, c.b.CreateAnd(z, c.i32(~mask)));
    };
    switch (op) {
    case kHighHalf: return c.refuse("with a merge into the upper half is not implemented"); // the goldens contradict the PTX text
    case kLowHalf: v = merge(0xffff, 0); break;
    case kByte0: v = merge(0xff, 0); break;
    case kByte2: v = merge(0xff0000, 16); break;
    case kAccumulate: v = c.b.CreateAdd(v, z); break;
    case kMin: v = c.math(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, {v, z}); break;
    case kMax: v = c.math(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, {v, z}); break;
    default: break;
    }
    c.set_reg(c.get(F::dst), v);
}

// Shift count: modulo 32, or at most 32.
Value* shift_count(LiftContext& c) {
    Value* count = video_b(c);
    return c.flag(F::wrap) ? c.b.CreateAnd(count, 31) : c.math(llvm::Intrinsic::umin, {count, c.i64(32)});
}

} // namespace

void vadd(LiftContext& c) {
    const bool neg_a = c.flag(F::neg_a), neg_b = c.flag(F::neg_b);
    Value *x = video_a(c), *y = video_b(c);
    Value* sum = nullptr;
    if (neg_a == neg_b)
        sum = neg_a ? c.b.CreateAdd(c.b.CreateAdd(x, y), c.i64(1)) : c.b.CreateAdd(x, y); // both: .PO
    else
        sum = neg_a ? c.b.CreateSub(y, x) : c.b.CreateSub(x, y);
    write(c, sum, c.flag(F::video_ud));
}

void vmad(LiftContext& c) {
    if (c.flag(F::sat) || c.flag(F::cc) || c.flag(F::neg_a) || c.flag(F::neg_c) || c.get(F::vmad_scale))
        return c.refuse("with this modifier is not implemented");
    c.set_reg(c.get(F::dst), c.b.CreateAdd(c.low32(c.b.CreateMul(video_a(c), video_b(c))), c.src_c()));
}

void vmnmx(LiftContext& c) {
    const auto id = c.flag(F::video_mx) ? llvm::Intrinsic::smax : llvm::Intrinsic::smin;
    write(c, c.math(id, {video_a(c), video_b(c)}), c.flag(F::video_ud));
}

void vabsdiff(LiftContext& c) {
    Value* difference = c.b.CreateSub(video_a(c), video_b(c));
    Value* negative = c.b.CreateICmpSLT(difference, c.i64(0));
    write(c, c.b.CreateSelect(negative, c.b.CreateNeg(difference), difference), c.flag(F::video_sd));
}

void vset(LiftContext& c) {
    Value* condition = integer_compare(c, c.get(F::int_cmp), true, video_a(c), video_b(c));
    write(c, c.b.CreateSelect(condition, c.i64(1), c.i64(0)), false);
}

void vsetp(LiftContext& c) { write_setp(c, integer_compare(c, c.get(F::int_cmp), true, video_a(c), video_b(c))); }

void vshl(LiftContext& c) {
    if (c.flag(F::sat))
        return c.refuse("with .SAT is not implemented"); // what overflows at 34 bits is not documented
    Value* x = video_a(c);
    write(c, c.b.CreateShl(x, shift_count(c)), c.flag(F::video_ud));
}

void vshr(LiftContext& c) {
    Value* x = video_a(c);
    write(c, c.b.CreateAShr(x, shift_count(c)), c.flag(F::video_ud));
}

// The four bytes' absolute differences: each in its byte, or summed onto c.
void vabsdiff4(LiftContext& c) {
    constexpr uint64_t kAsTheyAre = 4, kAllBytes = 15;
    const bool plain_b = c.inst().form() == Form::reg && c.get(F::vabs4_sel_b) == kAsTheyAre;
    if (c.get(F::vabs4_sel_a) != kAsTheyAre || !plain_b || c.get(F::vabs4_mask) != kAllBytes || c.flag(F::cc) || c.flag(F::sat))
        return c.refuse("with this selection of bytes is not implemented");
    Value *x = c.src_a(), *y = c.src_b();
    Value* result = c.flag(F::vabs4_op) ? c.src_c() : c.i32(0);
    for (unsigned i = 0; i < 4; ++i) {
        Value* difference = c.b.CreateSub(part(c, x, i, c.flag(F::vabs4_signed_a)), part(c, y, i, c.flag(F::vabs4_signed_b)));
        Value* negative = c.b.CreateICmpSLT(difference, c.i64(0));
        Value* one = c.low32(c.b.CreateSelect(negative, c.b.CreateNeg(difference), difference));
        if (c.flag(F::vabs4_op))
            result = c.b.CreateAdd(result, one);
        else
            result = c.b.CreateOr(result, c.b.CreateShl(c.b.CreateAnd(one, 0xff), 8 * i));
    }
    c.set_reg(c.get(F::dst), result);
}

} // namespace dmsh::maxwell
