// Integer addition with carries in predicates, multiplication, comparisons, dot products and differences.
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::ampere {

using isa::F;
using maxwell::combine;
using maxwell::integer_compare;

namespace {

Value* bit64(LiftContext& c, Value* condition) {
    return c.b.CreateZExt(condition, c.b.getInt64Ty());
}

bool unused(LiftContext& c, F predicate) {
    return !c.has(predicate) || c.get(predicate) == isa::kPt;
}

Value* second_predicate(LiftContext& c) {
    return c.predicate(c.get(F::src_pred2), c.flag(F::src_pred2_neg));
}

struct Addend {
    Value* value; // i32
    bool negated;
};

// A sum of 32-bit addends with its carries. A negated addend is inverted and counts one more; with .X only
// inverted, and carry predicates count instead (T-135). One predicate tells of a sum of 2^32 or more, the other
// of 2^33 or more.
void write_sum(LiftContext& c, llvm::ArrayRef<Addend> addends, llvm::ArrayRef<Value*> carries) {
    const bool extended = c.flag(F::x);
    if (unused(c, F::dst_pred) && unused(c, F::dst_pred2)) {
        Value* sum = nullptr;
        for (const Addend& a : addends) {
            Value* v = a.value;
            if (a.negated && extended)
                v = c.b.CreateNot(v);
            if (a.negated && !extended)
                sum = sum ? c.b.CreateSub(sum, v) : c.b.CreateNeg(v);
            else
                sum = sum ? c.b.CreateAdd(sum, v) : v;
        }
        for (Value* carry : carries)
            sum = c.b.CreateAdd(sum, c.b.CreateZExt(carry, c.b.getInt32Ty()));
        c.set_reg(c.get(F::dst), sum);
        return;
    }
    Value* sum = nullptr;
    uint64_t extra = 0;
    for (const Addend& a : addends) {
        Value* v = c.zext64(a.negated ? c.b.CreateNot(a.value) : a.value);
        sum = sum ? c.b.CreateAdd(sum, v) : v;
        extra += a.negated && !extended;
    }
    for (Value* carry : carries)
        sum = c.b.CreateAdd(sum, bit64(c, carry));
    if (extra)
        sum = c.b.CreateAdd(sum, c.i64(extra));
    const auto reaches = [&](uint64_t bits) {
        return c.b.CreateICmpUGE(sum, c.i64(uint64_t{1} << bits));
    };
    Value *first = reaches(32), *second = unused(c, F::dst_pred2) ? nullptr : reaches(33);
    c.set_reg(c.get(F::dst), c.low32(sum));
    c.set_predicate(c.get(F::dst_pred), first);
    if (second)
        c.set_predicate(c.get(F::dst_pred2), second);
}

Value* negate_or_invert(LiftContext& c, Value* v, bool negated) {
    if (!negated)
        return v;
    return c.flag(F::x) ? c.b.CreateNot(v) : c.b.CreateNeg(v);
}

Value* wide_product(LiftContext& c) {
    Value *x = c.src_a(), *y = c.src_b();
    return c.flag(F::is_signed) ? c.b.CreateMul(c.sext64(x), c.sext64(y))
                                : c.b.CreateMul(c.zext64(x), c.zext64(y));
}

} // namespace

void iadd3(LiftContext& c) {
    if (c.flag(F::wide))
        return c.refuse("of 64 bits is not implemented");
    const Addend addends[3] = {{c.src_a(), c.flag(F::neg_a)},
                               {c.src_b(), c.flag(F::neg_b)},
                               {c.src_c(), c.flag(F::neg_c)}};
    llvm::SmallVector<Value*, 2> carries;
    if (c.flag(F::x)) {
        carries.push_back(c.src_predicate());
        carries.push_back(second_predicate(c));
    }
    write_sum(c, addends, carries);
}

// Low word, .HI (high word of a * b + {c + 1 : c}, T-134) or .WIDE; the carry of the sum goes to a predicate.
void imad(LiftContext& c) {
    const bool wide = c.flag(F::wide), high = c.flag(F::hi), extended = c.flag(F::x);
    if (!wide && !high) {
        Value* product = c.b.CreateMul(c.src_a(), c.src_b());
        Value* sum = c.b.CreateAdd(product, negate_or_invert(c, c.src_c(), c.flag(F::neg_c)));
        if (extended)
            sum = c.b.CreateAdd(sum, c.b.CreateZExt(c.src_predicate(), c.b.getInt32Ty()));
        c.set_reg(c.get(F::dst), sum);
        return;
    }
    Value* product = wide_product(c);
    Value* addend = negate_or_invert(c, c.src_c64(), c.flag(F::neg_c));
    Value* sum = c.b.CreateAdd(product, addend);
    Value* carry = unused(c, F::dst_pred) ? nullptr : c.b.CreateICmpULT(sum, product);
    if (extended) {
        Value* more = c.b.CreateAdd(sum, bit64(c, c.src_predicate()));
        if (carry)
            carry = c.b.CreateOr(carry, c.b.CreateICmpULT(more, sum));
        sum = more;
    }
    if (wide)
        c.set_reg64(c.get(F::dst), sum);
    else
        c.set_reg(c.get(F::dst), c.high32(sum));
    if (carry)
        c.set_predicate(c.get(F::dst_pred), carry);
}

// c + sum of products of bytes of b with bytes (4A) or halves (2A, with the low or high pair of b) of a.
void idp(LiftContext& c) {
    Value *x = c.src_a(), *y = c.src_b(), *sum = negate_or_invert(c, c.src_c(), c.flag(F::neg_c));
    const bool two = c.flag(F::idp_2a);
    const auto part = [&](Value* v, unsigned from, unsigned bits, bool is_signed) {
        v = c.b.CreateTrunc(from ? c.b.CreateLShr(v, from) : v, c.b.getIntNTy(bits));
        return is_signed ? c.b.CreateSExt(v, c.b.getInt32Ty()) : c.b.CreateZExt(v, c.b.getInt32Ty());
    };
    const unsigned count = two ? 2 : 4, step = two ? 16 : 8, first = two && c.flag(F::idp_hi) ? 16 : 0;
    for (unsigned k = 0; k < count; ++k) {
        Value* a = part(x, k * step, step, c.flag(F::idp_a_signed));
        Value* b = part(y, first + k * 8, 8, c.flag(F::idp_b_signed));
        sum = c.b.CreateAdd(sum, c.b.CreateMul(a, b));
    }
    c.set_reg(c.get(F::dst), sum);
}

void imnmx(LiftContext& c) {
    Value *x = c.src_a(), *y = c.src_b(), *choose = c.src_predicate();
    const bool s = c.flag(F::is_signed);
    const auto low = s ? llvm::Intrinsic::smin : llvm::Intrinsic::umin;
    const auto high = s ? llvm::Intrinsic::smax : llvm::Intrinsic::umax;
    if (auto* k = llvm::dyn_cast<llvm::ConstantInt>(choose))
        c.set_reg(c.get(F::dst), c.math(k->isOne() ? low : high, {x, y}));
    else
        c.set_reg(c.get(F::dst), c.b.CreateSelect(choose, c.math(low, {x, y}), c.math(high, {x, y})));
}

void iabs(LiftContext& c) {
    Value* v = c.src_b();
    c.set_reg(c.get(F::dst), c.b.CreateSelect(c.b.CreateICmpSLT(v, c.i32(0)), c.b.CreateNeg(v), v));
}

// .EX compares the upper words; src_pred2 is the comparison of the lower words.
void isetp(LiftContext& c) {
    enum : uint64_t { kLt = 1, kEq = 2, kLe = 3, kGt = 4, kNe = 5, kGe = 6 };
    Value *x = c.src_a(), *y = c.src_b();
    const uint64_t op = c.get(F::int_cmp);
    const bool s = c.flag(F::is_signed);
    if (!c.flag(F::ex))
        return maxwell::write_setp(c, integer_compare(c, op, s, x, y));
    Value *lower = second_predicate(c), *equal = c.b.CreateICmpEQ(x, y);
    Value* result = nullptr;
    switch (op) {
    case kEq: result = c.b.CreateAnd(equal, lower); break;
    case kNe: result = c.b.CreateOr(c.b.CreateNot(equal), lower); break;
    case kLt:
    case kLe:
        result = c.b.CreateOr(integer_compare(c, kLt, s, x, y), c.b.CreateAnd(equal, lower));
        break;
    case kGt:
    case kGe:
        result = c.b.CreateOr(integer_compare(c, kGt, s, x, y), c.b.CreateAnd(equal, lower));
        break;
    default: result = c.i1(op == 7); break;
    }
    maxwell::write_setp(c, result);
}

// b + (a << shift); .HI: b + the upper word of {c : a} << shift, where .SX32 takes a's sign for c.
void lea(LiftContext& c) {
    const auto shift = static_cast<uint32_t>(c.get(F::shift));
    Value *x = c.src_a(), *y = c.src_b(), *scaled = nullptr;
    if (!c.flag(F::hi)) {
        scaled = shift ? c.b.CreateShl(x, shift) : x;
    } else {
        Value* upper = c.flag(F::sx32) ? c.b.CreateAShr(x, 31) : c.src_c();
        scaled = shift ? c.b.CreateOr(c.b.CreateShl(upper, shift), c.b.CreateLShr(x, 32 - shift)) : upper;
    }
    const Addend addends[2] = {{scaled, c.flag(F::neg_a)}, {y, c.flag(F::neg_b)}};
    llvm::SmallVector<Value*, 1> carries;
    if (c.flag(F::x))
        carries.push_back(c.src_predicate());
    write_sum(c, addends, carries);
}

// |a - b| + c.
void vabsdiff(LiftContext& c) {
    if (!unused(c, F::dst_pred))
        return c.refuse("with a predicate result is not implemented");
    Value *x = c.src_a(), *y = c.src_b();
    Value* less = integer_compare(c, 1, c.flag(F::is_signed), x, y);
    Value* difference = c.b.CreateSelect(less, c.b.CreateSub(y, x), c.b.CreateSub(x, y));
    c.set_reg(c.get(F::dst), c.b.CreateAdd(difference, c.src_c()));
}

// The differences of the four bytes, packed, or summed onto c with .ACC.
void vabsdiff4(LiftContext& c) {
    if (!unused(c, F::dst_pred))
        return c.refuse("with a predicate result is not implemented");
    constexpr uint64_t kUnsigned = 0; // F::vabs4_u8
    const bool s = c.get(F::vabs4_u8) != kUnsigned, sum = c.flag(F::vabs4_acc);
    Value *x = c.src_a(), *y = c.src_b(), *result = sum ? c.src_c() : c.i32(0);
    for (unsigned k = 0; k < 4; ++k) {
        const auto byte = [&](Value* v) {
            v = c.b.CreateTrunc(k ? c.b.CreateLShr(v, 8 * k) : v, c.b.getInt8Ty());
            return s ? c.b.CreateSExt(v, c.b.getInt32Ty()) : c.b.CreateZExt(v, c.b.getInt32Ty());
        };
        Value* d = c.b.CreateSub(byte(x), byte(y));
        d = c.b.CreateSelect(c.b.CreateICmpSLT(d, c.i32(0)), c.b.CreateNeg(d), d);
        result = sum ? c.b.CreateAdd(result, d)
                     : c.b.CreateOr(result, c.b.CreateShl(c.b.CreateAnd(d, 0xff), 8 * k));
    }
    c.set_reg(c.get(F::dst), result);
}

} // namespace dmsh::ampere
