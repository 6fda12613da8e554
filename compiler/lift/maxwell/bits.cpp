// Logic, shifts, bit fields, byte permutation.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

// F::pred_op: false, true, result == 0, result != 0.
Value* logic_predicate(LiftContext& c, Value* result) {
    switch (c.get(F::pred_op)) {
    case 0: return c.i1(false);
    case 1: return c.i1(true);
    case 2: return c.b.CreateICmpEQ(result, c.i32(0));
    default: return c.b.CreateICmpNE(result, c.i32(0));
    }
}

void write_logic(LiftContext& c, Value* result) {
    c.set_reg(c.get(F::dst), result);
    if (c.has(F::dst_pred) && c.get(F::dst_pred) != isa::kPt)
        c.set_predicate(c.get(F::dst_pred), logic_predicate(c, result));
    if (c.flag(F::cc))
        c.set_integer_flags(result);
}

// A function of two words by its truth table of four bits, index x << 1 | y.
Value* logic2(LiftContext& c, unsigned table, Value* x, Value* y) {
    auto inv = [&](Value* v) { return c.b.CreateNot(v); };
    switch (table & 15) {
    case 0: return c.i32(0);
    case 1: return inv(c.b.CreateOr(x, y));
    case 2: return c.b.CreateAnd(inv(x), y);
    case 3: return inv(x);
    case 4: return c.b.CreateAnd(x, inv(y));
    case 5: return inv(y);
    case 6: return c.b.CreateXor(x, y);
    case 7: return inv(c.b.CreateAnd(x, y));
    case 8: return c.b.CreateAnd(x, y);
    case 9: return inv(c.b.CreateXor(x, y));
    case 10: return y;
    case 11: return c.b.CreateOr(inv(x), y);
    case 12: return x;
    case 13: return c.b.CreateOr(x, inv(y));
    case 14: return c.b.CreateOr(x, y);
    default: return c.i32(0xffffffff);
    }
}

// A function of three words by its truth table of eight bits, index a << 2 | b << 1 | c.
Value* logic3(LiftContext& c, unsigned table, Value* x, Value* y, Value* z) {
    const unsigned without = table & 15, with = table >> 4 & 15; // a = 0, a = 1
    if (with == without)
        return logic2(c, with, y, z);
    if (with == (~without & 15))
        return c.b.CreateXor(x, logic2(c, without, y, z));
    if (without == 0)
        return c.b.CreateAnd(x, logic2(c, with, y, z));
    if (with == 15)
        return c.b.CreateOr(x, logic2(c, without, y, z));
    if (with == 0)
        return c.b.CreateAnd(c.b.CreateNot(x), logic2(c, without, y, z));
    if (without == 15)
        return c.b.CreateOr(c.b.CreateNot(x), logic2(c, with, y, z));
    Value* one = c.b.CreateAnd(x, logic2(c, with, y, z));
    return c.b.CreateOr(one, c.b.CreateAnd(c.b.CreateNot(x), logic2(c, without, y, z)));
}

std::optional<uint32_t> constant(Value* v) {
    if (auto* k = llvm::dyn_cast<llvm::ConstantInt>(v))
        return static_cast<uint32_t>(k->getZExtValue());
    return std::nullopt;
}

Value* unsigned_min(LiftContext& c, Value* v, uint32_t limit) {
    if (const auto k = constant(v))
        return c.i32(std::min(*k, limit));
    return c.math(llvm::Intrinsic::umin, {v, c.i32(limit)});
}

void write_shifted(LiftContext& c, Value* result) {
    c.set_reg(c.get(F::dst), result);
    if (c.flag(F::cc))
        c.set_integer_flags(result);
}

// Position and length of a bit field: bits 0..7 and 8..15 of an operand.
struct BitField {
    Value *position, *length;
};
BitField bit_field(LiftContext& c, Value* v) { return {c.b.CreateAnd(v, 0xff), c.b.CreateAnd(c.b.CreateLShr(v, 8), 0xff)}; }

// (1 << length) - 1 as i64, for lengths up to 32 and beyond.
Value* mask64(LiftContext& c, Value* length) {
    return c.b.CreateSub(c.b.CreateShl(c.i64(1), c.zext64(unsigned_min(c, length, 32))), c.i64(1));
}

Value* extract_constant(LiftContext& c, Value* v, uint32_t position, uint32_t length, bool is_signed) {
    if (length == 0)
        return c.i32(0);
    if (position > 31) {
        if (!is_signed)
            return c.i32(0);
        return c.b.CreateAShr(v, 31);
    }
    if (position + length >= 32)
        return is_signed ? c.b.CreateAShr(v, position) : c.b.CreateLShr(v, position);
    if (is_signed)
        return c.b.CreateAShr(c.b.CreateShl(v, 32 - position - length), 32 - length);
    return c.b.CreateAnd(c.b.CreateLShr(v, position), c.i32((1u << length) - 1));
}

Value* extract(LiftContext& c, Value* v, Value* field, bool is_signed) {
    if (const auto k = constant(field))
        return extract_constant(c, v, *k & 255, *k >> 8 & 255, is_signed);
    const BitField f = bit_field(c, field);
    Value* position = c.zext64(unsigned_min(c, f.position, 63));
    if (!is_signed)
        return c.low32(c.b.CreateAnd(c.b.CreateLShr(c.zext64(v), position), mask64(c, f.length)));
    Value* shifted = c.b.CreateAShr(c.sext64(v), position);
    Value* length = unsigned_min(c, f.length, 32);
    Value* up = c.b.CreateSub(c.i64(64), c.zext64(c.math(llvm::Intrinsic::umax, {length, c.i32(1)})));
    Value* result = c.low32(c.b.CreateAShr(c.b.CreateShl(shifted, up), up));
    return c.b.CreateSelect(c.b.CreateICmpEQ(length, c.i32(0)), c.i32(0), result);
}

// Byte `index` (0..3) of a PRMT result; `selector` is 0..7 plus 8 for "its sign in all bits".
Value* constant_byte(LiftContext& c, Value* low, Value* high, uint32_t selector, unsigned index) {
    Value* source = selector & 4 ? high : low;
    const unsigned from = 8 * (selector & 3), to = 8 * index;
    if (selector & 8) {
        Value* sign = c.b.CreateAShr(c.b.CreateShl(source, 24 - from), 31);
        return c.b.CreateAnd(sign, c.i32(0xffu << to));
    }
    Value* v = source;
    if (from > to)
        v = c.b.CreateLShr(v, from - to);
    else if (to > from)
        v = c.b.CreateShl(v, to - from);
    return c.b.CreateAnd(v, c.i32(0xffu << to));
}

Value* permute_constant(LiftContext& c, Value* low, Value* high, uint32_t selectors) {
    auto nibble = [&](unsigned i) { return selectors >> 4 * i & 15; };
    if ((selectors & 0xffff) == 0x3210)
        return low;
    if ((selectors & 0xffff) == 0x7654)
        return high;
    // Runs of bytes that move together share a shift and a mask.
    Value* result = nullptr;
    for (unsigned i = 0; i < 4;) {
        unsigned n = 1;
        while (i + n < 4 && !(nibble(i) & 8) && nibble(i + n) == nibble(i) + n && (nibble(i + n) & 4) == (nibble(i) & 4))
            ++n;
        Value* part = nullptr;
        if (n == 1) {
            part = constant_byte(c, low, high, nibble(i), i);
        } else {
            part = nibble(i) & 4 ? high : low;
            const unsigned from = 8 * (nibble(i) & 3), to = 8 * i;
            if (from > to)
                part = c.b.CreateLShr(part, from - to);
            else if (to > from)
                part = c.b.CreateShl(part, to - from);
            const uint32_t mask = (n == 4 ? 0xffffffffu : (1u << 8 * n) - 1) << to;
            part = c.b.CreateAnd(part, c.i32(mask));
        }
        result = result ? c.b.CreateOr(result, part) : part;
        i += n;
    }
    return result;
}

Value* permute(LiftContext& c, Value* low, Value* high, Value* selectors) {
    if (const auto k = constant(selectors))
        return permute_constant(c, low, high, *k);
    Value* whole = c.b.CreateOr(c.zext64(low), c.b.CreateShl(c.zext64(high), 32));
    Value* result = c.i32(0);
    for (unsigned i = 0; i < 4; ++i) {
        Value* selector = c.b.CreateLShr(selectors, 4 * i);
        Value* shift = c.zext64(c.b.CreateShl(c.b.CreateAnd(selector, 7), 3));
        Value* byte = c.b.CreateAnd(c.low32(c.b.CreateLShr(whole, shift)), 0xff);
        Value* sign = c.b.CreateAnd(c.b.CreateAShr(c.b.CreateShl(byte, 24), 31), 0xff);
        byte = c.b.CreateSelect(c.b.CreateICmpNE(c.b.CreateAnd(selector, 8), c.i32(0)), sign, byte);
        result = c.b.CreateOr(result, c.b.CreateShl(byte, 8 * i));
    }
    return result;
}

// The selectors that a PRMT mode stands for, by the low two bits of b: F4E, B4E, RC8, ECL, ECR, RC16 (PTX ISA, prmt).
constexpr uint16_t kPermuteModes[7][4] = {
    {},
    {0x3210, 0x4321, 0x5432, 0x6543},
    {0x5670, 0x6701, 0x7012, 0x0123},
    {0x0000, 0x1111, 0x2222, 0x3333},
    {0x3210, 0x3211, 0x3222, 0x3333},
    {0x0000, 0x1110, 0x2210, 0x3210},
    {0x1010, 0x3232, 0x1010, 0x3232},
};

} // namespace

void lop(LiftContext& c) {
    if (c.flag(F::x))
        return c.refuse("with .X is not implemented");
    Value *x = c.src_a(), *y = c.src_b();
    if (c.flag(F::inv_a))
        x = c.b.CreateNot(x);
    if (c.flag(F::inv_b))
        y = c.b.CreateNot(y);
    switch (c.get(F::lop)) {
    case 0: return write_logic(c, c.b.CreateAnd(x, y));
    case 1: return write_logic(c, c.b.CreateOr(x, y));
    case 2: return write_logic(c, c.b.CreateXor(x, y));
    default: return write_logic(c, y);
    }
}

void lop3(LiftContext& c) {
    if (c.flag(F::x))
        return c.refuse("with .X is not implemented");
    Value *x = c.src_a(), *y = c.src_b(), *z = c.src_c();
    write_logic(c, logic3(c, static_cast<unsigned>(c.get(F::lut)), x, y, z));
}

// Counts of 32 and more give 0, or the sign; .W takes the count modulo 32.
void shl(LiftContext& c) {
    if (c.flag(F::x))
        return c.refuse("with .X is not implemented");
    Value *x = c.src_a(), *count = c.src_b();
    if (c.flag(F::wrap))
        count = c.b.CreateAnd(count, 31);
    if (const auto k = constant(count))
        return write_shifted(c, *k > 31 ? c.i32(0) : c.b.CreateShl(x, *k));
    Value* result = c.b.CreateShl(x, c.b.CreateAnd(count, 31));
    if (!c.flag(F::wrap))
        result = c.b.CreateSelect(c.b.CreateICmpULT(count, c.i32(32)), result, c.i32(0));
    write_shifted(c, result);
}

void shr(LiftContext& c) {
    if (c.get(F::xmode))
        return c.refuse("with an extended shift is not implemented");
    Value *x = c.src_a(), *count = c.src_b();
    if (c.flag(F::brev))
        x = c.math(llvm::Intrinsic::bitreverse, {x});
    if (c.flag(F::wrap))
        count = c.b.CreateAnd(count, 31);
    if (c.flag(F::is_signed))
        return write_shifted(c, c.b.CreateAShr(x, unsigned_min(c, count, 31)));
    if (const auto k = constant(count))
        return write_shifted(c, *k > 31 ? c.i32(0) : c.b.CreateLShr(x, *k));
    Value* result = c.b.CreateLShr(x, c.b.CreateAnd(count, 31));
    if (!c.flag(F::wrap))
        result = c.b.CreateSelect(c.b.CreateICmpULT(count, c.i32(32)), result, c.i32(0));
    write_shifted(c, result);
}

// Funnel shift of {c, a}: left gives the upper word, right the lower one. The count stops at 32, with .U64 and .S64 at 64; .W wraps.
void shf(LiftContext& c) {
    const uint64_t type = c.get(F::shf_type);
    const bool right = c.flag(F::shf_right), is_signed = type == 3, wide = type >= 2;
    // .HI of a right shift: the upper word of the shifted pair.
    const bool upper = c.get(F::shf_x) == 1 && right;
    if (c.get(F::shf_x) && !upper)
        return c.refuse("with this half of the result is not implemented");
    if (!right && is_signed)
        return c.refuse("to the left of a signed pair is not implemented");
    Value *low = c.src_a(), *count = c.src_b(), *high = c.src_c();
    if (c.flag(F::wrap))
        count = c.b.CreateAnd(count, wide ? 63 : 31);
    else if (!wide)
        count = unsigned_min(c, count, 32);
    if (const auto k = constant(count); k && *k < 32 && *k > 0 && !upper) {
        Value* result = right ? c.b.CreateOr(c.b.CreateLShr(low, *k), c.b.CreateShl(high, 32 - *k))
                              : c.b.CreateOr(c.b.CreateShl(high, *k), c.b.CreateLShr(low, 32 - *k));
        return write_shifted(c, result);
    }
    Value* whole = c.b.CreateOr(c.zext64(low), c.b.CreateShl(c.zext64(high), 32));
    Value* by = c.zext64(unsigned_min(c, count, 63));
    Value* shifted = !right ? c.b.CreateShl(whole, by) : is_signed ? c.b.CreateAShr(whole, by) : c.b.CreateLShr(whole, by);
    Value* result = right && !upper ? c.low32(shifted) : c.high32(shifted);
    if (wide && !is_signed && !c.flag(F::wrap))
        result = c.b.CreateSelect(c.b.CreateICmpULT(count, c.i32(64)), result, c.i32(0));
    write_shifted(c, result);
}

void bfe(LiftContext& c) {
    Value *x = c.src_a(), *field = c.src_b();
    if (c.flag(F::brev))
        x = c.math(llvm::Intrinsic::bitreverse, {x});
    write_shifted(c, extract(c, x, field, c.flag(F::is_signed)));
}

// The low `length` bits of a, put into c at `position`; what falls off the word is dropped.
void bfi(LiftContext& c) {
    Value *x = c.src_a(), *field = c.src_b(), *base = c.src_c();
    if (const auto k = constant(field)) {
        const uint32_t position = *k & 255, length = std::min<uint32_t>(*k >> 8 & 255, 32);
        if (position > 31 || length == 0)
            return write_shifted(c, base);
        const auto mask = static_cast<uint32_t>(((uint64_t{1} << length) - 1) << position);
        Value* inserted = c.b.CreateAnd(c.b.CreateShl(x, position), c.i32(mask));
        return write_shifted(c, c.b.CreateOr(inserted, c.b.CreateAnd(base, c.i32(~mask))));
    }
    const BitField f = bit_field(c, field);
    Value* position = c.zext64(unsigned_min(c, f.position, 32));
    Value* mask = c.low32(c.b.CreateShl(mask64(c, f.length), position));
    Value* inserted = c.b.CreateAnd(c.low32(c.b.CreateShl(c.zext64(x), position)), mask);
    write_shifted(c, c.b.CreateOr(inserted, c.b.CreateAnd(base, c.b.CreateNot(mask))));
}

// Position of the highest one, of signed values of the highest bit that differs from the sign; all bits where there is none.
void flo(LiftContext& c) {
    Value* x = c.src_b();
    if (c.flag(F::inv_b))
        x = c.b.CreateNot(x);
    if (c.flag(F::is_signed))
        x = c.b.CreateXor(x, c.b.CreateAShr(x, 31));
    Value* zeros = c.b.CreateCall(c.math_function(llvm::Intrinsic::ctlz, x->getType()), {x, c.i1(false)});
    Value* found = c.flag(F::sh) ? zeros : c.b.CreateSub(c.i32(31), zeros);
    write_shifted(c, c.b.CreateSelect(c.b.CreateICmpEQ(x, c.i32(0)), c.i32(0xffffffff), found));
}

void popc(LiftContext& c) {
    Value* x = c.src_b();
    if (c.flag(F::inv_b))
        x = c.b.CreateNot(x);
    c.set_reg(c.get(F::dst), c.math(llvm::Intrinsic::ctpop, {x}));
}

void prmt(LiftContext& c) {
    Value *low = c.src_a(), *selectors = c.src_b(), *high = c.src_c();
    const uint64_t mode = c.get(F::prmt_mode);
    if (mode > 6)
        return c.refuse("with this mode is not implemented");
    if (mode) {
        const uint16_t* by = kPermuteModes[mode];
        if (const auto k = constant(selectors)) {
            selectors = c.i32(by[*k & 3]);
        } else {
            Value* odd = c.b.CreateICmpNE(c.b.CreateAnd(selectors, 1), c.i32(0));
            Value* upper = c.b.CreateICmpNE(c.b.CreateAnd(selectors, 2), c.i32(0));
            selectors = c.b.CreateSelect(upper, c.b.CreateSelect(odd, c.i32(by[3]), c.i32(by[2])),
                                         c.b.CreateSelect(odd, c.i32(by[1]), c.i32(by[0])));
        }
    }
    c.set_reg(c.get(F::dst), permute(c, low, high, selectors));
}

} // namespace dmsh::maxwell
