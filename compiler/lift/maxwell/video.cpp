// Video instructions: arithmetic on bytes, halves or words of two operands, with a second operation on a third.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

enum : uint64_t { kAccumulate = 4, kMin = 5, kMax = 6, kNone = 7 }; // F::video_op; below: merges

// The part that a selector names (bytes 0..3, halves 4..5, the word 6) as i32.
Value* part(LiftContext& c, Value* v, uint64_t select, bool is_signed) {
    if (select < 4) {
        const auto up = static_cast<uint32_t>(24 - 8 * select);
        v = c.b.CreateShl(v, up);
        return is_signed ? c.b.CreateAShr(v, 24) : c.b.CreateLShr(v, 24);
    }
    return select < 6 ? half_word(c, v, select & 1, is_signed) : v;
}

Value* video_a(LiftContext& c) { return part(c, c.src_a(), c.get(F::video_sel_a), c.flag(F::video_signed_a)); }
Value* video_b(LiftContext& c) {
    const bool is_signed = c.flag(F::video_signed_b);
    if (c.inst().form() == Form::imm)
        return half_word(c, c.i32(c.inst().imm32()), false, is_signed);
    return part(c, c.src_b(), c.get(F::video_sel_b), is_signed);
}

bool any_signed(LiftContext& c) { return c.flag(F::video_signed_a) || c.flag(F::video_signed_b); }

// Words of unlike signs need 33 bits; compilers do not mix them.
bool mixed_words(LiftContext& c) {
    const bool wide = c.get(F::video_sel_a) == 6 || c.get(F::video_sel_b) == 6;
    return wide && c.flag(F::video_signed_a) != c.flag(F::video_signed_b);
}

void write(LiftContext& c, Value* v, bool is_signed) {
    if (c.flag(F::sat) || c.flag(F::cc))
        return c.refuse("with .SAT or .CC is not implemented");
    Value* z = c.src_c();
    switch (c.get(F::video_op)) {
    case kAccumulate: v = c.b.CreateAdd(v, z); break;
    case kMin: v = c.math(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, {v, z}); break;
    case kMax: v = c.math(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, {v, z}); break;
    case kNone: break;
    default: return c.refuse("with a merge is not implemented");
    }
    c.set_reg(c.get(F::dst), v);
}

} // namespace

void vadd(LiftContext& c) {
    const bool neg_a = c.flag(F::neg_a), neg_b = c.flag(F::neg_b);
    if (neg_a && neg_b)
        return c.refuse("with .PO is not implemented");
    Value *x = video_a(c), *y = video_b(c);
    write(c, neg_a ? c.b.CreateSub(y, x) : neg_b ? c.b.CreateSub(x, y) : c.b.CreateAdd(x, y), c.flag(F::video_ud));
}

void vmad(LiftContext& c) {
    if (c.flag(F::sat) || c.flag(F::cc) || c.flag(F::neg_a) || c.flag(F::neg_c) || c.get(F::vmad_scale))
        return c.refuse("with this modifier is not implemented");
    c.set_reg(c.get(F::dst), c.b.CreateAdd(c.b.CreateMul(video_a(c), video_b(c)), c.src_c()));
}

void vmnmx(LiftContext& c) {
    if (mixed_words(c))
        return c.refuse("of words of unlike signs is not implemented");
    const bool is_signed = any_signed(c), max = c.flag(F::video_mx);
    const auto id = is_signed ? (max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin) : (max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin);
    write(c, c.math(id, {video_a(c), video_b(c)}), c.flag(F::video_ud));
}

void vabsdiff(LiftContext& c) {
    if (mixed_words(c))
        return c.refuse("of words of unlike signs is not implemented");
    const bool is_signed = any_signed(c);
    Value *x = video_a(c), *y = video_b(c);
    Value* less = is_signed ? c.b.CreateICmpSLT(x, y) : c.b.CreateICmpULT(x, y);
    write(c, c.b.CreateSelect(less, c.b.CreateSub(y, x), c.b.CreateSub(x, y)), c.flag(F::video_sd));
}

void vset(LiftContext& c) {
    if (mixed_words(c))
        return c.refuse("of words of unlike signs is not implemented");
    Value* condition = integer_compare(c, c.get(F::int_cmp), any_signed(c), video_a(c), video_b(c));
    write(c, c.bool_to_int(condition, 1), false);
}

void vsetp(LiftContext& c) {
    if (mixed_words(c))
        return c.refuse("of words of unlike signs is not implemented");
    write_setp(c, integer_compare(c, c.get(F::int_cmp), any_signed(c), video_a(c), video_b(c)));
}

} // namespace dmsh::maxwell
