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

// What becomes of an i64 result: saturation to the part that is written, then a merge into c or a second operation with it.
void write(LiftContext& c, Value* wide, bool is_signed, bool whole = false) {
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
    // A minimum or maximum sees the low word, as a number of the result's type; of a left shift the whole (docs/rules-maxwell.md, "Decided").
    const auto second = [&](bool maximum) {
        if (whole)
            return c.low32(c.math(maximum ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, {wide, is_signed ? c.sext64(z) : c.zext64(z)}));
        return c.math(is_signed ? (maximum ? llvm::Intrinsic::smax : llvm::Intrinsic::smin)
                                : (maximum ? llvm::Intrinsic::umax : llvm::Intrinsic::umin),
                      {v, z});
    };
    switch (op) {
    case kHighHalf: v = merge(0xffff0000, 16); break;
    case kLowHalf: v = merge(0xffff, 0); break;
    case kByte0: v = merge(0xff, 0); break;
    case kByte2: v = merge(0xff0000, 16); break;
    case kAccumulate: v = c.b.CreateAdd(v, z); break;
    case kMin: v = second(false); break;
    case kMax: v = second(true); break;
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

// a * b + c, scaled, saturated. The sign bit of a negates the product, that of c negates c, both together mean .PO: plus one.
void vmad(LiftContext& c) {
    constexpr uint64_t kWord = 6;
    constexpr unsigned kShifts[3] = {0, 7, 15}; // F::vmad_scale
    const bool negate_product = c.flag(F::neg_a) && !c.flag(F::neg_c), negate_c = c.flag(F::neg_c) && !c.flag(F::neg_a);
    const bool plus_one = c.flag(F::neg_a) && c.flag(F::neg_c), sat = c.flag(F::sat);
    const bool signed_operand = c.flag(F::video_signed_a) || c.flag(F::video_signed_b);
    const bool is_signed = signed_operand || negate_product || negate_c;
    const uint64_t scale = c.get(F::vmad_scale);
    if (c.flag(F::cc) || scale > 2)
        return c.refuse("with this modifier is not implemented");
    // Signed sums with the product of two unsigned words need 65 bits, which only show above the low word.
    const bool words = c.get(F::video_sel_a) == kWord && c.inst().form() != Form::imm && c.get(F::video_sel_b) == kWord;
    if (is_signed && !signed_operand && words && (sat || scale))
        return c.refuse("of negated unsigned words with saturation or scale is not implemented");
    Value* product = c.b.CreateMul(video_a(c), video_b(c));
    Value* z = is_signed ? c.sext64(c.src_c()) : c.zext64(c.src_c());
    Value* sum = negate_product ? c.b.CreateSub(z, product) : negate_c ? c.b.CreateSub(product, z) : c.b.CreateAdd(product, z);
    if (plus_one)
        sum = c.b.CreateAdd(sum, c.i64(1));
    if (scale)
        sum = is_signed ? c.b.CreateAShr(sum, kShifts[scale]) : c.b.CreateLShr(sum, kShifts[scale]);
    if (sat && is_signed)
        sum = clamp(c, sum, 32, true);
    else if (sat)
        sum = c.math(llvm::Intrinsic::umin, {sum, c.i64(0xffffffff)});
    c.set_reg(c.get(F::dst), c.low32(sum));
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
    if (const uint64_t op = c.get(F::video_op); op == kMin || op == kMax)
        return c.refuse("with a minimum or maximum of a truth value is not implemented");
    Value* condition = integer_compare(c, c.get(F::int_cmp), true, video_a(c), video_b(c));
    write(c, c.b.CreateSelect(condition, c.i64(1), c.i64(0)), false);
}

void vsetp(LiftContext& c) { write_setp(c, integer_compare(c, c.get(F::int_cmp), true, video_a(c), video_b(c))); }

// Saturation looks at the low 34 bits of the shifted value, as a signed number: a value shifted past them saturates by what bit 33
// then holds (goldens of px_vshl).
void vshl(LiftContext& c) {
    constexpr unsigned kBits = 34;
    Value* x = video_a(c);
    Value* shifted = c.b.CreateShl(x, shift_count(c));
    if (c.flag(F::sat))
        shifted = c.b.CreateAShr(c.b.CreateShl(shifted, 64 - kBits), 64 - kBits);
    write(c, shifted, c.flag(F::video_ud), true);
}

void vshr(LiftContext& c) {
    Value* x = video_a(c);
    write(c, c.b.CreateAShr(x, shift_count(c)), c.flag(F::video_ud));
}

// The four bytes' absolute differences, of bytes that two selections take out of {b, a}: each in its byte of those that the mask names (the
// others come from c), or summed onto c.
void vabsdiff4(LiftContext& c) {
    // F::vabs4_sel_a and _b: byte of {b, a} for each lane, lane 0 in the last digit.
    constexpr uint16_t kSelectA[14] = {0x0000, 0x1111, 0x2222, 0x3333, 0x3210, 0x4321, 0x5432, 0x6543, 0x3201, 0x3012, 0x0213, 0x3120, 0x1230, 0x2310};
    constexpr uint16_t kSelectB[11] = {0x4444, 0x5555, 0x6666, 0x7777, 0x7654, 0x6543, 0x5432, 0x4321, 0x4567, 0x6745, 0x5476};
    if (c.inst().form() != Form::reg || c.get(F::vabs4_sel_a) >= 14 || c.get(F::vabs4_sel_b) >= 11 || c.flag(F::cc) ||
        (c.flag(F::sat) && c.flag(F::vabs4_op)))
        return c.refuse("with this selection of bytes is not implemented");
    const uint16_t select_a = kSelectA[c.get(F::vabs4_sel_a)], select_b = kSelectB[c.get(F::vabs4_sel_b)];
    const uint64_t mask = c.get(F::vabs4_mask);
    const bool sum = c.flag(F::vabs4_op), is_signed = c.flag(F::video_sd);
    Value *x = c.src_a(), *y = c.src_b(), *z = c.src_c();
    uint32_t written = 0;
    Value* bytes = nullptr;
    Value* result = z;
    for (unsigned i = 0; i < 4; ++i) {
        if (!(mask >> i & 1))
            continue;
        const unsigned from_a = select_a >> 4 * i & 7, from_b = select_b >> 4 * i & 7;
        Value* difference = c.b.CreateSub(part(c, from_a & 4 ? y : x, from_a & 3, c.flag(F::vabs4_signed_a)),
                                          part(c, from_b & 4 ? y : x, from_b & 3, c.flag(F::vabs4_signed_b)));
        Value* negative = c.b.CreateICmpSLT(difference, c.i64(0));
        Value* wide = c.b.CreateSelect(negative, c.b.CreateNeg(difference), difference);
        if (c.flag(F::sat))
            wide = clamp(c, wide, 8, is_signed);
        Value* one = c.low32(wide);
        if (sum) {
            result = c.b.CreateAdd(result, one);
            continue;
        }
        one = c.b.CreateShl(c.b.CreateAnd(one, 0xff), 8 * i);
        bytes = bytes ? c.b.CreateOr(bytes, one) : one;
        written |= 0xffu << 8 * i;
    }
    if (!sum && bytes)
        result = written == 0xffffffff ? bytes : c.b.CreateOr(bytes, c.b.CreateAnd(z, c.i32(~written)));
    c.set_reg(c.get(F::dst), result);
}

} // namespace dmsh::maxwell
