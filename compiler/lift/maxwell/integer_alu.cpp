// Integer addition with carries, scaled addition, comparisons, minimum and maximum.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

Value* carry_in(LiftContext& c) { return c.b.CreateZExt(c.flag(kFlagC), c.b.getInt32Ty()); }

struct Sum {
    Value* result = nullptr;
    Value* carry = nullptr;    // of the unsigned sum; of a difference: no borrow
    Value* overflow = nullptr; // of the signed sum
};

Value* signed_overflow(LiftContext& c, Value* x, Value* y, Value* sum) {
    if (!c.overflow_wanted())
        return nullptr;
    Value* changed = c.b.CreateAnd(c.b.CreateXor(sum, x), c.b.CreateXor(sum, y));
    return c.b.CreateICmpSLT(changed, c.i32(0));
}

// x + y as the hardware's adder does it: a negated operand is inverted and one is carried in; with .X the carry flag is carried in
// instead; both negated means .PO, plus one. `flags` asks for carry and overflow.
Sum add(LiftContext& c, Value* x, bool neg_x, Value* y, bool neg_y, bool extended, bool flags) {
    Sum s;
    if (neg_x && neg_y) {
        if (extended) {
            c.refuse("with .PO and .X is not implemented");
            return {c.i32(0), c.i1(false), c.i1(false)};
        }
        Value* t = c.b.CreateAdd(x, y);
        s.result = c.b.CreateAdd(t, c.i32(1));
        if (flags) {
            s.carry = c.b.CreateOr(c.b.CreateICmpULT(t, x), c.b.CreateICmpEQ(s.result, c.i32(0)));
            s.overflow = signed_overflow(c, x, y, s.result);
        }
        return s;
    }
    if (!extended && (neg_x || neg_y)) {
        if (neg_x)
            std::swap(x, y);
        s.result = c.b.CreateSub(x, y);
        if (flags) {
            s.carry = c.b.CreateICmpUGE(x, y);
            s.overflow = signed_overflow(c, x, c.b.CreateNot(y), s.result);
        }
        return s;
    }
    if (neg_x)
        x = c.b.CreateNot(x);
    if (neg_y)
        y = c.b.CreateNot(y);
    Value* t = c.b.CreateAdd(x, y);
    s.result = extended ? c.b.CreateAdd(t, carry_in(c)) : t;
    if (flags) {
        s.carry = c.b.CreateICmpULT(t, x);
        if (extended)
            s.carry = c.b.CreateOr(s.carry, c.b.CreateICmpULT(s.result, t));
        s.overflow = signed_overflow(c, x, y, s.result);
    }
    return s;
}

// Z of an extended operation also needs that of the lower words.
void write_sum(LiftContext& c, const Sum& s, bool extended) {
    Value* lower_zero = extended && c.flag(F::cc) ? c.flag(kFlagZ) : nullptr;
    c.set_reg(c.get(F::dst), s.result);
    if (!c.flag(F::cc))
        return;
    c.set_integer_flags(s.result, s.carry, s.overflow, lower_zero);
}

Value* iadd3_operand(LiftContext& c, Value* v, F half) {
    switch (c.get(half)) {
    case 1: return half_word(c, v, false, false);
    case 2: return half_word(c, v, true, false);
    default: return v;
    }
}

// Compare of a 64-bit value's upper words after the lower words were subtracted with .CC.
Value* extended_compare(LiftContext& c, uint64_t op, bool is_signed, Value* x, Value* y) {
    Value* less = c.b.CreateSelect(c.flag(kFlagC), integer_compare(c, 1, is_signed, x, y), integer_compare(c, 3, is_signed, x, y));
    Value* equal = c.b.CreateAnd(c.flag(kFlagZ), c.b.CreateICmpEQ(x, y));
    switch (op & 7) {
    case 1: return less;
    case 2: return equal;
    case 3: return c.b.CreateOr(less, equal);
    case 4: return c.b.CreateNot(c.b.CreateOr(less, equal));
    case 5: return c.b.CreateNot(equal);
    case 6: return c.b.CreateNot(less);
    default: return c.i1((op & 7) == 7);
    }
}

Value* compare(LiftContext& c) {
    Value *x = c.src_a(), *y = c.src_b();
    const uint64_t op = c.get(F::int_cmp);
    return c.flag(F::x) ? extended_compare(c, op, c.flag(F::is_signed), x, y) : integer_compare(c, op, c.flag(F::is_signed), x, y);
}

} // namespace

void iadd(LiftContext& c) {
    Value *x = c.src_a(), *y = c.src_b();
    const bool neg_x = c.flag(F::neg_a), neg_y = c.flag(F::neg_b);
    if (c.flag(F::sat)) {
        if (c.flag(F::x) || c.flag(F::cc) || (neg_x && neg_y))
            return c.refuse("with .SAT and carries is not implemented");
        if (neg_x)
            std::swap(x, y);
        c.set_reg(c.get(F::dst), c.math(neg_x || neg_y ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::sadd_sat, {x, y}));
        return;
    }
    write_sum(c, add(c, x, neg_x, y, neg_y, c.flag(F::x), c.flag(F::cc)), c.flag(F::x));
}

// a + b, shifted by 16 with the 33rd bit kept, + c.
void iadd3(LiftContext& c) {
    Value* x = iadd3_operand(c, c.src_a(), F::half_a);
    Value* y = iadd3_operand(c, c.src_b(), F::half_b);
    Value* z = iadd3_operand(c, c.src_c(), F::half_c);
    const bool neg_x = c.flag(F::neg_a), neg_y = c.flag(F::neg_b), neg_z = c.flag(F::neg_c);
    const uint64_t shift = c.get(F::iadd3_shift);
    if (shift) {
        if (neg_x || neg_y || neg_z || c.flag(F::cc) || c.flag(F::x))
            return c.refuse("with a shift and negation or carries is not implemented");
        Value* sum = nullptr;
        if (shift == 1)
            sum = c.low32(c.b.CreateLShr(c.b.CreateAdd(c.zext64(x), c.zext64(y)), 16));
        else
            sum = c.b.CreateShl(c.b.CreateAdd(x, y), 16);
        c.set_reg(c.get(F::dst), c.b.CreateAdd(sum, z));
        return;
    }
    if (!c.flag(F::cc) && !c.flag(F::x)) {
        if (neg_x)
            x = c.b.CreateNeg(x);
        Value* sum = neg_y ? c.b.CreateSub(x, y) : c.b.CreateAdd(x, y);
        c.set_reg(c.get(F::dst), neg_z ? c.b.CreateSub(sum, z) : c.b.CreateAdd(sum, z));
        return;
    }
    // With carries: one sum of 34 bits. A negated operand is inverted and counts one more, but with .X the carry flag counts instead.
    const unsigned negated = neg_x + neg_y + neg_z;
    if (negated > 1)
        return c.refuse("with carries and two negated operands is not implemented");
    auto wide = [&](Value* v, bool neg) { return c.zext64(neg ? c.b.CreateNot(v) : v); };
    Value* sum = c.b.CreateAdd(c.b.CreateAdd(wide(x, neg_x), wide(y, neg_y)), wide(z, neg_z));
    if (c.flag(F::x))
        sum = c.b.CreateAdd(sum, c.b.CreateZExt(c.flag(kFlagC), c.b.getInt64Ty()));
    else if (negated)
        sum = c.b.CreateAdd(sum, c.i64(1));
    Value* result = c.low32(sum);
    Value* carry = c.b.CreateICmpUGT(sum, c.i64(0xffffffff));
    write_sum(c, {result, carry, nullptr}, c.flag(F::x));
}

void iscadd(LiftContext& c) {
    Value* x = c.b.CreateShl(c.src_a(), c.get(F::shift));
    write_sum(c, add(c, x, c.flag(F::neg_a), c.src_b(), c.flag(F::neg_b), false, c.flag(F::cc)), false);
}

// LEA: (a << shift) + b. LEA.HI: the upper word of ({c, a} << shift), + b.
void lea(LiftContext& c) {
    const bool neg = c.flag(F::neg_a), extended = c.flag(F::x);
    // The predicate of LEA.HI.X: does the address lie above 4 GiB, where no window of shared or local memory is (px_ldg and others of the
    // cuda corpus choose between ATOM and ATOMS by it).
    const uint64_t above = c.get(F::dst_pred);
    if (above != isa::kPt && (!c.flag(F::hi) || !extended || neg || c.flag(F::cc)))
        return c.refuse("with a predicate result is not implemented");
    const uint64_t shift = c.get(F::shift);
    Value* x = c.src_a();
    Value* y = c.src_b();
    if (!c.flag(F::hi)) {
        write_sum(c, add(c, c.b.CreateShl(x, shift), neg, y, false, extended, c.flag(F::cc)), extended);
        return;
    }
    Value* high = c.src_c();
    if (neg && !extended) {
        // The negation is of the whole pair.
        Value* whole = c.b.CreateOr(c.zext64(x), c.b.CreateShl(c.zext64(high), 32));
        whole = c.b.CreateNeg(c.b.CreateShl(whole, shift));
        write_sum(c, add(c, c.high32(whole), false, y, false, false, c.flag(F::cc)), false);
        return;
    }
    Value* upper = shift ? c.b.CreateOr(c.b.CreateShl(high, shift), c.b.CreateLShr(x, 32 - shift)) : high;
    const Sum sum = add(c, upper, neg, y, false, extended, c.flag(F::cc));
    write_sum(c, sum, extended);
    if (above != isa::kPt)
        c.set_predicate(above, c.b.CreateICmpNE(sum.result, c.i32(0)));
}

// A 64-bit minimum or maximum is XHI.CC on the upper words, then XLO on the lower ones, which follows its choice through the flags:
// Z = equal, S = a less, C = a not less.
void imnmx(LiftContext& c) {
    Value *x = c.src_a(), *y = c.src_b(), *minimum = c.src_predicate();
    const bool is_signed = c.flag(F::is_signed);
    const uint64_t part = c.get(F::minmax_x);
    Value* less = integer_compare(c, 1, is_signed, x, y);
    if (part == 1 || part == 2)
        less = c.b.CreateSelect(c.flag(kFlagZ), integer_compare(c, 1, false, x, y), c.flag(kFlagS));
    Value* result = nullptr;
    if (auto* k = llvm::dyn_cast<llvm::ConstantInt>(minimum); k && part == 0) {
        const auto id = is_signed ? (k->isOne() ? llvm::Intrinsic::smin : llvm::Intrinsic::smax)
                                  : (k->isOne() ? llvm::Intrinsic::umin : llvm::Intrinsic::umax);
        result = c.math(id, {x, y});
    } else {
        result = c.b.CreateSelect(c.b.CreateXor(less, c.b.CreateNot(minimum)), x, y);
    }
    Value* equal = c.b.CreateICmpEQ(x, y);
    if (part == 2)
        equal = c.b.CreateAnd(equal, c.flag(kFlagZ));
    c.set_reg(c.get(F::dst), result);
    if (!c.flag(F::cc))
        return;
    if (part == 0) {
        c.set_integer_flags(result);
        return;
    }
    c.set_flag(kFlagZ, equal);
    c.set_flag(kFlagS, less);
    c.set_flag(kFlagC, c.b.CreateNot(less));
    c.set_flag(kFlagO, c.i1(false));
}

void iset(LiftContext& c) { write_set(c, compare(c)); }
void isetp(LiftContext& c) { write_setp(c, compare(c)); }

// Chooses a or b by comparing c with zero.
void icmp(LiftContext& c) {
    Value* condition = integer_compare(c, c.get(F::int_cmp), c.flag(F::is_signed), c.src_c(), c.i32(0));
    Value* x = c.src_a();
    c.set_reg(c.get(F::dst), c.b.CreateSelect(condition, x, c.src_b()));
}

} // namespace dmsh::maxwell
