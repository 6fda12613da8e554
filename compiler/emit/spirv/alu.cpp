// Plain LLVM arithmetic, conversions, comparisons, vectors and llvm.* intrinsics.
#include "compiler/emit/spirv/emitter.h"
#include <llvm/IR/PatternMatch.h>

namespace dmsh {
namespace {

const llvm::Type* scalar_of(const llvm::Type* t) {
    return t->getScalarType();
}
unsigned lanes_of(const llvm::Type* t) {
    const auto* v = llvm::dyn_cast<llvm::FixedVectorType>(t);
    return v ? v->getNumElements() : 1;
}
bool is_bool(const llvm::Type* t) {
    return scalar_of(t)->isIntegerTy(1);
}
unsigned width_of(const llvm::Type* t) {
    return scalar_of(t)->getScalarSizeInBits();
}

// The upper word of a 32-bit product, which LLVM writes in 64 bits.
struct UpperProduct {
    const llvm::Value *x, *y;
    bool is_signed;
};
std::optional<UpperProduct> upper_product_of(const llvm::CastInst& trunc) {
    using namespace llvm::PatternMatch;
    llvm::Value *x, *y;
    auto* v = const_cast<llvm::Value*>(trunc.getOperand(0));
    if (trunc.getOpcode() != llvm::Instruction::Trunc || !trunc.getType()->isIntegerTy(32) || !v->getType()->isIntegerTy(64))
        return std::nullopt;
    if (!match(v, m_Shr(m_Mul(m_Value(x), m_Value(y)), m_SpecificInt(32))))
        return std::nullopt;
    // Both factors widened the same way; a constant as the other factor needs it.
    const auto narrowed = [](llvm::Value* wide, bool is_signed) -> llvm::Value* {
        llvm::Value* word;
        if (is_signed ? match(wide, m_SExt(m_Value(word))) : match(wide, m_ZExt(m_Value(word))))
            return word;
        const auto* c = llvm::dyn_cast<llvm::ConstantInt>(wide);
        if (!c || !(is_signed ? c->getValue().isSignedIntN(32) : c->getValue().isIntN(32)))
            return nullptr;
        return llvm::ConstantInt::get(llvm::Type::getInt32Ty(wide->getContext()), c->getValue().trunc(32));
    };
    const bool is_unsigned = narrowed(x, false) && narrowed(y, false);
    x = narrowed(x, !is_unsigned), y = narrowed(y, !is_unsigned);
    if (!x || !y)
        return std::nullopt;
    if (!x->getType()->isIntegerTy(32) || !y->getType()->isIntegerTy(32))
        return std::nullopt;
    return UpperProduct{x, y, !is_unsigned};
}

} // namespace

uint32_t SpirvEmitter::narrow(uint32_t v, const llvm::Type* type) {
    const unsigned w = width_of(type);
    if (w >= 32)
        return v;
    return op(spv::OpBitwiseAnd, type_of(type), {v, int_constant(type, (1u << w) - 1)});
}

uint32_t SpirvEmitter::widen_signed(uint32_t v, const llvm::Type* type) {
    const unsigned w = width_of(type);
    if (w >= 32)
        return v;
    const uint32_t shift = int_constant(type, 32 - w);
    const uint32_t up = op(spv::OpShiftLeftLogical, type_of(type), {v, shift});
    return op(spv::OpShiftRightArithmetic, type_of(type), {up, shift});
}

void SpirvEmitter::emit_binary(const llvm::BinaryOperator& inst) {
    const llvm::Type* type = inst.getType();
    const uint32_t t = type_of(type);
    uint32_t a = operand(inst, 0), c = operand(inst, 1);
    const auto arith = [&](spv::Op o) { define(&inst, exact(op(o, t, {a, c}))); };
    const auto modular = [&](spv::Op o) { define(&inst, narrow(op(o, t, {a, c}), type)); };
    const auto closed = [&](spv::Op o) { define(&inst, op(o, t, {a, c})); };
    if (is_bool(type)) {
        switch (inst.getOpcode()) {
        case llvm::Instruction::And:
        case llvm::Instruction::Mul: return closed(spv::OpLogicalAnd);
        case llvm::Instruction::Or: return closed(spv::OpLogicalOr);
        case llvm::Instruction::Xor:
        case llvm::Instruction::Add:
        case llvm::Instruction::Sub: return closed(spv::OpLogicalNotEqual);
        default: break; // shifts and divisions of one bit
        }
        fail("i1 " + std::string(inst.getOpcodeName()));
        return;
    }
    switch (inst.getOpcode()) {
    case llvm::Instruction::FAdd: { // with a negated operand: a difference
        const auto negated = [&](uint32_t v) {
            const uint32_t* d = definition(v);
            return d && (d[0] & 0xffff) == spv::OpFNegate ? d[3] : 0;
        };
        if (const uint32_t y = negated(c)) {
            c = y;
            return arith(spv::OpFSub);
        }
        if (const uint32_t x = negated(a)) {
            a = c, c = x;
            return arith(spv::OpFSub);
        }
        return arith(spv::OpFAdd);
    }
    case llvm::Instruction::FSub: return arith(spv::OpFSub);
    case llvm::Instruction::FMul: return arith(spv::OpFMul);
    case llvm::Instruction::FDiv: return arith(spv::OpFDiv);
    case llvm::Instruction::FRem: return arith(spv::OpFRem);
    case llvm::Instruction::Add: return modular(spv::OpIAdd);
    case llvm::Instruction::Sub: return modular(spv::OpISub);
    case llvm::Instruction::Mul: return modular(spv::OpIMul);
    case llvm::Instruction::Shl: return modular(spv::OpShiftLeftLogical);
    case llvm::Instruction::LShr: return closed(spv::OpShiftRightLogical);
    case llvm::Instruction::And: return closed(spv::OpBitwiseAnd);
    case llvm::Instruction::Or: return closed(spv::OpBitwiseOr);
    case llvm::Instruction::Xor: return closed(spv::OpBitwiseXor);
    case llvm::Instruction::UDiv: return closed(spv::OpUDiv);
    case llvm::Instruction::URem: return closed(spv::OpUMod);
    case llvm::Instruction::AShr: a = widen_signed(a, type); return modular(spv::OpShiftRightArithmetic);
    case llvm::Instruction::SDiv:
    case llvm::Instruction::SRem: {
        a = widen_signed(a, type);
        c = widen_signed(c, type);
        return modular(inst.getOpcode() == llvm::Instruction::SDiv ? spv::OpSDiv : spv::OpSRem);
    }
    default: break;
    }
    fail("instruction " + std::string(inst.getOpcodeName()) + " is not implemented");
}

uint32_t SpirvEmitter::bitcast(uint32_t v, const llvm::Type* from, const llvm::Type* to) {
    const auto small_ints = [](const llvm::Type* t) {
        return scalar_of(t)->isIntegerTy() && width_of(t) < 32;
    };
    const unsigned bits = width_of(from) * lanes_of(from);
    if (from == to ||
        (scalar_of(from)->isIntegerTy() && scalar_of(to)->isIntegerTy() && lanes_of(from) == lanes_of(to)))
        return v;
    if (!small_ints(from) && !small_ints(to) && bits >= 32)
        return op(spv::OpBitcast, type_of(to), {v});
    if (bits > 32)
        return fail("a bitcast of " + std::to_string(bits) + " bits with small integers");
    // Through one 32-bit word.
    uint32_t word;
    if (scalar_of(from)->isIntegerTy()) {
        const unsigned n = lanes_of(from), w = width_of(from);
        word = n == 1 ? v : op(spv::OpCompositeExtract, u32(), {v, 0});
        for (unsigned k = 1; k < n; ++k) {
            const uint32_t part = op(spv::OpCompositeExtract, u32(), {v, k});
            word = op(spv::OpBitwiseOr, u32(), {word, op(spv::OpShiftLeftLogical, u32(), {part, uc(w * k)})});
        }
    } else if (bits == 32) {
        word = op(spv::OpBitcast, u32(), {v});
    } else { // half
        const uint32_t zero = b_.constant(f16(), 0);
        word = op(spv::OpBitcast, u32(), {op(spv::OpCompositeConstruct, vec(f16(), 2), {v, zero})});
    }
    if (scalar_of(to)->isIntegerTy()) {
        const unsigned n = lanes_of(to), w = width_of(to);
        if (n == 1)
            return word;
        llvm::SmallVector<uint32_t, 4> parts;
        for (unsigned k = 0; k < n; ++k) {
            const uint32_t up = k ? op(spv::OpShiftRightLogical, u32(), {word, uc(w * k)}) : word;
            parts.push_back(op(spv::OpBitwiseAnd, u32(), {up, uc((1u << w) - 1)}));
        }
        return op(spv::OpCompositeConstruct, type_of(to), parts);
    }
    if (bits == 32)
        return op(spv::OpBitcast, type_of(to), {word});
    const uint32_t pair = op(spv::OpBitcast, vec(f16(), 2), {word});
    return op(spv::OpCompositeExtract, f16(), {pair, 0});
}

uint32_t SpirvEmitter::float_to_int_saturated(uint32_t v, const llvm::Type* from, const llvm::Type* to,
                                              bool is_signed) {
    // Clamping in the float domain is not exact at the upper end, so out-of-range values are selected by
    // comparison.
    const unsigned w = width_of(to);
    const uint32_t ft = type_of(from), it = type_of(to);
    if (lanes_of(from) != 1 || (w < 32 && w != 8 && w != 16))
        return fail("a saturating conversion of this shape");
    if (scalar_of(from)->isHalfTy()) {
        v = op(spv::OpFConvert, f32(), {v});
        return float_to_int_saturated(v, llvm::Type::getFloatTy(from->getContext()), to, is_signed);
    }
    const double upper = std::ldexp(1.0, static_cast<int>(is_signed ? w - 1 : w));
    const double lower = is_signed ? -upper : 0.0;
    const auto fconst = [&](double d) {
        return constant(llvm::ConstantFP::get(const_cast<llvm::Type*>(from), d));
    };
    const uint64_t top = is_signed ? (uint64_t{1} << (w - 1)) - 1
                         : w == 64 ? ~uint64_t{0}
                                   : (uint64_t{1} << w) - 1;
    const uint64_t bottom =
        is_signed ? (w == 64 ? uint64_t{1} << 63 : ((~uint64_t{0} << (w - 1)) & ((uint64_t{1} << w) - 1)))
                  : 0;
    const uint32_t high = op(spv::OpFOrdGreaterThanEqual, boolean(), {v, fconst(upper)});
    // A float below `upper` keeps its distance: the largest one is in range, and so is what the clamp gives for everything above it.
    if (from->isFloatTy() && w == 32) {
        const float below = std::nextafter(static_cast<float>(upper), 0.0f);
        const uint32_t inside = ext(ft, GLSLstd450NMin, {ext(ft, GLSLstd450NMax, {v, fconst(lower)}), fc(below)});
        uint32_t r = op(is_signed ? spv::OpConvertFToS : spv::OpConvertFToU, it, {inside});
        if (is_signed) // a NaN became `lower`
            r = select(it, op(spv::OpIsNan, boolean(), {v}), uc(0), r);
        return select(it, high, int_constant(to, top), r);
    }
    const uint32_t low = op(spv::OpFOrdLessThanEqual, boolean(), {v, fconst(lower)});
    const uint32_t nan = op(spv::OpIsNan, boolean(), {v});
    // The conversion itself sees values in range only.
    const uint32_t out = op(spv::OpLogicalOr, boolean(), {op(spv::OpLogicalOr, boolean(), {high, low}), nan});
    const uint32_t safe = select(ft, out, fconst(0), v);
    uint32_t r = op(is_signed ? spv::OpConvertFToS : spv::OpConvertFToU, it, {safe});
    r = narrow(r, to);
    r = select(it, high, int_constant(to, top), r);
    return select(it, low, int_constant(to, bottom), r);
}

uint32_t SpirvEmitter::upper_product(const llvm::CastInst& trunc) {
    const auto p = upper_product_of(trunc);
    if (!p)
        return 0;
    const uint32_t pair = b_.global(spv::OpTypeStruct, 0, {u32(), u32()});
    const uint32_t wide = op(p->is_signed ? spv::OpSMulExtended : spv::OpUMulExtended, pair, {value(p->x), value(p->y)});
    return op(spv::OpCompositeExtract, u32(), {wide, 1});
}

// 64-bit steps on the way to upper products and to nothing else: they need not be written, nor 64-bit integers be there.
bool SpirvEmitter::only_for_upper_products(const llvm::Instruction& inst) {
    const auto all_users = [&](auto&& of_kind) {
        return !inst.use_empty() && llvm::all_of(inst.users(), [&](const llvm::User* u) { return of_kind(*llvm::cast<llvm::Instruction>(u)); });
    };
    switch (inst.getOpcode()) {
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt:
        return all_users([](const llvm::Instruction& u) { return u.getOpcode() == llvm::Instruction::Mul && only_for_upper_products(u); });
    case llvm::Instruction::Mul:
        return all_users([](const llvm::Instruction& u) { return u.isShift() && u.getOpcode() != llvm::Instruction::Shl && only_for_upper_products(u); });
    case llvm::Instruction::LShr:
    case llvm::Instruction::AShr:
        return all_users([](const llvm::Instruction& u) {
            const auto* cast = llvm::dyn_cast<llvm::CastInst>(&u);
            return cast && upper_product_of(*cast);
        });
    default: return false;
    }
}

void SpirvEmitter::emit_cast(const llvm::CastInst& inst) {
    const llvm::Type* from = inst.getSrcTy();
    const llvm::Type* to = inst.getDestTy();
    if (const uint32_t high = upper_product(inst))
        return define(&inst, high);
    const uint32_t t = type_of(to);
    uint32_t v = operand(inst, 0);
    const unsigned wf = width_of(from), wt = width_of(to);
    switch (inst.getOpcode()) {
    case llvm::Instruction::BitCast: return define(&inst, bitcast(v, from, to));
    case llvm::Instruction::ZExt:
        if (is_bool(from))
            v = select(t, v, int_constant(to, 1), int_constant(to, 0));
        else if (wt == 64 && wf < 64)
            v = op(spv::OpUConvert, t, {v});
        return define(&inst, v);
    case llvm::Instruction::SExt:
        if (is_bool(from)) {
            const uint64_t ones = wt >= 64 ? ~uint64_t{0} : (uint64_t{1} << wt) - 1;
            v = select(t, v, int_constant(to, ones), int_constant(to, 0));
        } else {
            v = widen_signed(v, from);
            v = wt == 64 && wf < 64 ? op(spv::OpSConvert, t, {v}) : narrow(v, to);
        }
        return define(&inst, v);
    case llvm::Instruction::Trunc:
        if (is_bool(to)) {
            const uint32_t bit = op(spv::OpBitwiseAnd, type_of(from), {v, int_constant(from, 1)});
            v = op(spv::OpINotEqual, t, {bit, int_constant(from, 0)});
        } else {
            if (wf == 64)
                v = op(spv::OpUConvert, t, {v});
            v = narrow(v, to);
        }
        return define(&inst, v);
    case llvm::Instruction::FPExt:
    case llvm::Instruction::FPTrunc: return define(&inst, op(spv::OpFConvert, t, {v}));
    case llvm::Instruction::FPToUI:
        if (is_bool(to))
            break;
        return define(&inst, narrow(op(spv::OpConvertFToU, t, {v}), to));
    case llvm::Instruction::FPToSI:
        if (is_bool(to))
            break;
        return define(&inst, narrow(op(spv::OpConvertFToS, t, {v}), to));
    case llvm::Instruction::UIToFP:
    case llvm::Instruction::SIToFP: {
        const bool is_signed = inst.getOpcode() == llvm::Instruction::SIToFP;
        if (is_bool(from)) {
            auto* ft = const_cast<llvm::Type*>(to);
            const uint32_t one = constant(llvm::ConstantFP::get(ft, is_signed ? -1.0 : 1.0));
            return define(&inst, select(t, v, one, constant(llvm::ConstantFP::get(ft, 0.0))));
        }
        if (is_signed)
            v = widen_signed(v, from);
        return define(&inst, op(is_signed ? spv::OpConvertSToF : spv::OpConvertUToF, t, {v}));
    }
    default: break;
    }
    fail("conversion " + std::string(inst.getOpcodeName()) + " is not implemented");
}

void SpirvEmitter::emit_compare(const llvm::CmpInst& inst) {
    const llvm::Type* type = inst.getOperand(0)->getType();
    uint32_t a = operand(inst, 0), c = operand(inst, 1);
    const uint32_t t = type_of(inst.getType());
    const auto done = [&](spv::Op o) { define(&inst, op(o, t, {a, c})); };
    using P = llvm::CmpInst::Predicate;
    const P p = inst.getPredicate();
    if (llvm::CmpInst::isIntPredicate(p)) {
        if (is_bool(type)) {
            const uint32_t not_a = op(spv::OpLogicalNot, t, {a}), not_c = op(spv::OpLogicalNot, t, {c});
            switch (p) { // true is 1 unsigned and -1 signed
            case P::ICMP_EQ: return done(spv::OpLogicalEqual);
            case P::ICMP_NE: return done(spv::OpLogicalNotEqual);
            case P::ICMP_UGT:
            case P::ICMP_SLT: return define(&inst, op(spv::OpLogicalAnd, t, {a, not_c}));
            case P::ICMP_ULT:
            case P::ICMP_SGT: return define(&inst, op(spv::OpLogicalAnd, t, {not_a, c}));
            case P::ICMP_UGE:
            case P::ICMP_SLE: return define(&inst, op(spv::OpLogicalOr, t, {a, not_c}));
            default: return define(&inst, op(spv::OpLogicalOr, t, {not_a, c}));
            }
        }
        if (llvm::CmpInst::isSigned(p)) {
            a = widen_signed(a, type);
            c = widen_signed(c, type);
        }
        switch (p) {
        case P::ICMP_EQ: return done(spv::OpIEqual);
        case P::ICMP_NE: return done(spv::OpINotEqual);
        case P::ICMP_UGT: return done(spv::OpUGreaterThan);
        case P::ICMP_UGE: return done(spv::OpUGreaterThanEqual);
        case P::ICMP_ULT: return done(spv::OpULessThan);
        case P::ICMP_ULE: return done(spv::OpULessThanEqual);
        case P::ICMP_SGT: return done(spv::OpSGreaterThan);
        case P::ICMP_SGE: return done(spv::OpSGreaterThanEqual);
        case P::ICMP_SLT: return done(spv::OpSLessThan);
        default: return done(spv::OpSLessThanEqual);
        }
    }
    const auto any_nan = [&] {
        return op(spv::OpLogicalOr, t, {op(spv::OpIsNan, t, {a}), op(spv::OpIsNan, t, {c})});
    };
    switch (p) {
    case P::FCMP_OEQ: return done(spv::OpFOrdEqual);
    case P::FCMP_OGT: return done(spv::OpFOrdGreaterThan);
    case P::FCMP_OGE: return done(spv::OpFOrdGreaterThanEqual);
    case P::FCMP_OLT: return done(spv::OpFOrdLessThan);
    case P::FCMP_OLE: return done(spv::OpFOrdLessThanEqual);
    case P::FCMP_ONE: return done(spv::OpFOrdNotEqual);
    case P::FCMP_UEQ: return done(spv::OpFUnordEqual);
    case P::FCMP_UGT: return done(spv::OpFUnordGreaterThan);
    case P::FCMP_UGE: return done(spv::OpFUnordGreaterThanEqual);
    case P::FCMP_ULT: return done(spv::OpFUnordLessThan);
    case P::FCMP_ULE: return done(spv::OpFUnordLessThanEqual);
    case P::FCMP_UNE: return done(spv::OpFUnordNotEqual);
    case P::FCMP_UNO: return define(&inst, any_nan());
    case P::FCMP_ORD: return define(&inst, op(spv::OpLogicalNot, t, {any_nan()}));
    default: {
        const uint32_t c1 = b_.constant_bool(p == P::FCMP_TRUE);
        return define(&inst, splat(c1, boolean(), lanes_of(inst.getType())));
    }
    }
}

void SpirvEmitter::emit_vector(const llvm::Instruction& inst) {
    if (const auto* e = llvm::dyn_cast<llvm::ExtractElementInst>(&inst)) {
        const uint32_t v = operand(inst, 0);
        if (const auto i = literal(e->getIndexOperand()))
            return define(&inst, op(spv::OpCompositeExtract, type_of(inst.getType()),
                                    {v, std::min(*i, lanes_of(e->getVectorOperandType()) - 1)}));
        return define(&inst, op(spv::OpVectorExtractDynamic, type_of(inst.getType()), {v, operand(inst, 1)}));
    }
    if (llvm::isa<llvm::InsertElementInst>(inst)) {
        const uint32_t v = operand(inst, 0), e = operand(inst, 1);
        if (const auto i = literal(inst.getOperand(2)))
            return define(&inst, op(spv::OpCompositeInsert, type_of(inst.getType()),
                                    {e, v, std::min(*i, lanes_of(inst.getType()) - 1)}));
        return define(&inst,
                      op(spv::OpVectorInsertDynamic, type_of(inst.getType()), {v, e, operand(inst, 2)}));
    }
    if (const auto* s = llvm::dyn_cast<llvm::ShuffleVectorInst>(&inst)) {
        llvm::SmallVector<uint32_t, 6> words{operand(inst, 0), operand(inst, 1)};
        for (int m : s->getShuffleMask())
            words.push_back(m < 0 ? 0u : static_cast<uint32_t>(m));
        return define(&inst, op(spv::OpVectorShuffle, type_of(inst.getType()), words));
    }
    if (const auto* e = llvm::dyn_cast<llvm::ExtractValueInst>(&inst)) {
        if (e->getNumIndices() == 1 && llvm::isa<llvm::WithOverflowInst>(e->getAggregateOperand())) {
            const auto& map = e->getIndices()[0] == 0 ? values_ : overflow_;
            if (const auto it = map.find(e->getAggregateOperand()); it != map.end())
                return define(&inst, it->second);
        }
    }
    fail("instruction " + std::string(inst.getOpcodeName()) + " is not implemented");
}

uint32_t SpirvEmitter::count_leading_zeros(uint32_t v, const llvm::Type* type) {
    const unsigned w = width_of(type);
    if (w == 64) {
        const uint32_t pair = op(spv::OpBitcast, vec(u32(), 2), {v});
        const uint32_t low = op(spv::OpCompositeExtract, u32(), {pair, 0});
        const uint32_t high = op(spv::OpCompositeExtract, u32(), {pair, 1});
        const llvm::Type* i32 = llvm::Type::getInt32Ty(type->getContext());
        const uint32_t l = op(spv::OpIAdd, u32(), {count_leading_zeros(low, i32), uc(32)});
        const uint32_t h = count_leading_zeros(high, i32);
        const uint32_t none = op(spv::OpIEqual, boolean(), {high, uc(0)});
        return op(spv::OpUConvert, u64(), {select(u32(), none, l, h)});
    }
    // FindUMsb of 0 is -1, so that 0 gives the width.
    const uint32_t msb = ext(type_of(type), GLSLstd450FindUMsb, {v});
    return op(spv::OpISub, type_of(type), {int_constant(type, w - 1), msb});
}

uint32_t SpirvEmitter::count_trailing_zeros(uint32_t v, const llvm::Type* type) {
    const unsigned w = width_of(type);
    if (w == 64) {
        const uint32_t pair = op(spv::OpBitcast, vec(u32(), 2), {v});
        const uint32_t low = op(spv::OpCompositeExtract, u32(), {pair, 0});
        const uint32_t high = op(spv::OpCompositeExtract, u32(), {pair, 1});
        const llvm::Type* i32 = llvm::Type::getInt32Ty(type->getContext());
        const uint32_t h = op(spv::OpIAdd, u32(), {count_trailing_zeros(high, i32), uc(32)});
        const uint32_t l = count_trailing_zeros(low, i32);
        const uint32_t none = op(spv::OpIEqual, boolean(), {low, uc(0)});
        return op(spv::OpUConvert, u64(), {select(u32(), none, h, l)});
    }
    const uint32_t lsb = ext(type_of(type), GLSLstd450FindILsb, {v});
    return ext(type_of(type), GLSLstd450UMin, {lsb, int_constant(type, w)});
}

void SpirvEmitter::emit_llvm_intrinsic(const llvm::IntrinsicInst& inst) {
    namespace I = llvm::Intrinsic;
    const llvm::Type* type = inst.getType();
    const unsigned w = type->isVoidTy() || type->isStructTy() ? 0 : width_of(type);
    const auto a = [&](unsigned k) { return value(inst.getArgOperand(k)); };
    const auto glsl = [&](GLSLstd450 g, llvm::ArrayRef<uint32_t> args) {
        define(&inst, ext(type_of(type), g, args));
    };
    switch (inst.getIntrinsicID()) {
    case I::fma:
    case I::fmuladd: return define(&inst, exact(ext(type_of(type), GLSLstd450Fma, {a(0), a(1), a(2)})));
    case I::minnum: return glsl(GLSLstd450NMin, {a(0), a(1)});
    case I::maxnum: return glsl(GLSLstd450NMax, {a(0), a(1)});
    case I::fabs: return glsl(GLSLstd450FAbs, {a(0)});
    case I::floor: return glsl(GLSLstd450Floor, {a(0)});
    case I::ceil: return glsl(GLSLstd450Ceil, {a(0)});
    case I::trunc: return glsl(GLSLstd450Trunc, {a(0)});
    case I::rint:
    case I::nearbyint:
    case I::roundeven: return glsl(GLSLstd450RoundEven, {a(0)});
    case I::sqrt: return glsl(GLSLstd450Sqrt, {a(0)});
    case I::sin: return glsl(GLSLstd450Sin, {a(0)});
    case I::cos: return glsl(GLSLstd450Cos, {a(0)});
    case I::exp2: return glsl(GLSLstd450Exp2, {a(0)});
    case I::log2: return glsl(GLSLstd450Log2, {a(0)});
    case I::pow: return glsl(GLSLstd450Pow, {a(0), a(1)});
    case I::canonicalize: return define(&inst, a(0));
    case I::umin: return glsl(GLSLstd450UMin, {a(0), a(1)});
    case I::umax: return glsl(GLSLstd450UMax, {a(0), a(1)});
    case I::smin:
    case I::smax: {
        const GLSLstd450 g = inst.getIntrinsicID() == I::smin ? GLSLstd450SMin : GLSLstd450SMax;
        const uint32_t r = ext(type_of(type), g, {widen_signed(a(0), type), widen_signed(a(1), type)});
        return define(&inst, narrow(r, type));
    }
    case I::abs:
        return define(&inst, narrow(ext(type_of(type), GLSLstd450SAbs, {widen_signed(a(0), type)}), type));
    case I::copysign: {
        if (!scalar_of(type)->isFloatTy())
            break;
        const unsigned n = lanes_of(type);
        const uint32_t it = vec(u32(), n);
        const uint32_t sign = splat(uc(0x80000000u), u32(), n), rest = splat(uc(0x7fffffffu), u32(), n);
        const uint32_t x = op(spv::OpBitwiseAnd, it, {op(spv::OpBitcast, it, {a(0)}), rest});
        const uint32_t y = op(spv::OpBitwiseAnd, it, {op(spv::OpBitcast, it, {a(1)}), sign});
        return define(&inst, op(spv::OpBitcast, type_of(type), {op(spv::OpBitwiseOr, it, {x, y})}));
    }
    case I::ctpop:
        if (w == 64) {
            const uint32_t pair =
                op(spv::OpBitCount, vec(u32(), 2), {op(spv::OpBitcast, vec(u32(), 2), {a(0)})});
            const uint32_t sum = op(spv::OpIAdd, u32(),
                                    {op(spv::OpCompositeExtract, u32(), {pair, 0}),
                                     op(spv::OpCompositeExtract, u32(), {pair, 1})});
            return define(&inst, op(spv::OpUConvert, u64(), {sum}));
        }
        return define(&inst, op(spv::OpBitCount, type_of(type), {a(0)}));
    case I::ctlz: return define(&inst, count_leading_zeros(a(0), type));
    case I::cttz: return define(&inst, count_trailing_zeros(a(0), type));
    case I::bitreverse:
        if (w == 64) {
            const uint32_t pair =
                op(spv::OpBitReverse, vec(u32(), 2), {op(spv::OpBitcast, vec(u32(), 2), {a(0)})});
            const uint32_t turned = op(spv::OpVectorShuffle, vec(u32(), 2), {pair, pair, 1, 0});
            return define(&inst, op(spv::OpBitcast, u64(), {turned}));
        } else {
            const uint32_t r = op(spv::OpBitReverse, type_of(type), {a(0)});
            return define(
                &inst,
                w < 32 ? op(spv::OpShiftRightLogical, type_of(type), {r, int_constant(type, 32 - w)}) : r);
        }
    case I::bswap: {
        if (w != 32 && w != 16)
            break;
        const uint32_t t = type_of(type), v = a(0);
        const auto shl = [&](uint32_t x, uint32_t n) {
            return op(spv::OpShiftLeftLogical, t, {x, int_constant(type, n)});
        };
        const auto shr = [&](uint32_t x, uint32_t n) {
            return op(spv::OpShiftRightLogical, t, {x, int_constant(type, n)});
        };
        const auto mask = [&](uint32_t x, uint32_t m) {
            return op(spv::OpBitwiseAnd, t, {x, int_constant(type, m)});
        };
        const auto either = [&](uint32_t x, uint32_t y) { return op(spv::OpBitwiseOr, t, {x, y}); };
        if (w == 16)
            return define(&inst, mask(either(shl(v, 8), shr(v, 8)), 0xffff));
        return define(&inst, either(either(shl(v, 24), mask(shl(v, 8), 0xff0000)),
                                    either(mask(shr(v, 8), 0xff00), shr(v, 24))));
    }
    case I::fshl:
    case I::fshr: {
        // The amount counts modulo the width; an amount of 0 must not shift by the whole width.
        if (w != 32 && w != 64)
            break;
        const bool left = inst.getIntrinsicID() == I::fshl;
        const uint32_t t = type_of(type), high = a(0), low = a(1);
        const uint32_t n = op(spv::OpBitwiseAnd, t, {a(2), int_constant(type, w - 1)});
        const uint32_t rest = op(spv::OpISub, t, {int_constant(type, w - 1), n});
        const uint32_t one = int_constant(type, 1);
        uint32_t x, y;
        if (left) { // (high << n) | (low >> 1 >> (w - 1 - n))
            x = op(spv::OpShiftLeftLogical, t, {high, n});
            y = op(spv::OpShiftRightLogical, t, {op(spv::OpShiftRightLogical, t, {low, one}), rest});
        } else {
            x = op(spv::OpShiftLeftLogical, t, {op(spv::OpShiftLeftLogical, t, {high, one}), rest});
            y = op(spv::OpShiftRightLogical, t, {low, n});
        }
        return define(&inst, op(spv::OpBitwiseOr, t, {x, y}));
    }
    case I::fptoui_sat:
    case I::fptosi_sat:
        return define(&inst, float_to_int_saturated(a(0), inst.getArgOperand(0)->getType(), type,
                                                    inst.getIntrinsicID() == I::fptosi_sat));
    case I::uadd_sat: {
        const uint32_t t = type_of(type), x = a(0);
        if (w < 32)
            return glsl(GLSLstd450UMin, {op(spv::OpIAdd, t, {x, a(1)}), int_constant(type, (1u << w) - 1)});
        const uint32_t room = op(spv::OpNot, t, {x});
        return define(&inst, op(spv::OpIAdd, t, {x, ext(t, GLSLstd450UMin, {a(1), room})}));
    }
    case I::usub_sat: {
        const uint32_t t = type_of(type), x = a(0), y = a(1);
        return define(&inst, op(spv::OpISub, t, {ext(t, GLSLstd450UMax, {x, y}), y}));
    }
    case I::sadd_sat:
    case I::ssub_sat: {
        const uint32_t t = type_of(type);
        const uint32_t x = widen_signed(a(0), type), y = widen_signed(a(1), type);
        const bool add = inst.getIntrinsicID() == I::sadd_sat;
        const uint32_t r = op(add ? spv::OpIAdd : spv::OpISub, t, {x, y});
        const uint64_t top = (uint64_t{1} << (w - 1)) - 1;
        if (w < 32) {
            const uint32_t lo = int_constant(type, ~top & 0xffffffffu), hi = int_constant(type, top);
            return define(&inst, narrow(ext(t, GLSLstd450SClamp, {r, lo, hi}), type));
        }
        // Overflow: operands agree (add) or differ (sub) in sign and the result's sign is not x's.
        const uint32_t xy = op(spv::OpBitwiseXor, t, {x, y}), xr = op(spv::OpBitwiseXor, t, {x, r});
        const uint32_t over = op(spv::OpBitwiseAnd, t, {xr, add ? op(spv::OpNot, t, {xy}) : xy});
        const unsigned n = lanes_of(type);
        const uint32_t bt = vec(boolean(), n);
        const uint32_t sign = op(spv::OpShiftRightArithmetic, t, {x, int_constant(type, w - 1)});
        const uint32_t bound = op(spv::OpBitwiseXor, t, {sign, int_constant(type, top)});
        return define(&inst, select(t, op(spv::OpSLessThan, bt, {over, int_constant(type, 0)}), bound, r));
    }
    case I::uadd_with_overflow:
    case I::usub_with_overflow:
    case I::umul_with_overflow:
    case I::sadd_with_overflow:
    case I::ssub_with_overflow: {
        const llvm::Type* it = inst.getArgOperand(0)->getType();
        if (width_of(it) < 32 || lanes_of(it) != 1)
            break;
        const uint32_t t = type_of(it), x = a(0), y = a(1), zero = int_constant(it, 0);
        uint32_t r, over;
        switch (inst.getIntrinsicID()) {
        case I::uadd_with_overflow:
            r = op(spv::OpIAdd, t, {x, y});
            over = op(spv::OpULessThan, boolean(), {r, x});
            break;
        case I::usub_with_overflow:
            r = op(spv::OpISub, t, {x, y});
            over = op(spv::OpULessThan, boolean(), {x, y});
            break;
        case I::umul_with_overflow: {
            if (width_of(it) != 32) {
                fail("llvm.umul.with.overflow of 64 bits");
                return;
            }
            const uint32_t both = op(spv::OpUMulExtended, b_.global(spv::OpTypeStruct, 0, {t, t}), {x, y});
            r = op(spv::OpCompositeExtract, t, {both, 0});
            over = op(spv::OpINotEqual, boolean(), {op(spv::OpCompositeExtract, t, {both, 1}), zero});
            break;
        }
        default: {
            const bool add = inst.getIntrinsicID() == I::sadd_with_overflow;
            r = op(add ? spv::OpIAdd : spv::OpISub, t, {x, y});
            const uint32_t xy = op(spv::OpBitwiseXor, t, {x, y}), xr = op(spv::OpBitwiseXor, t, {x, r});
            const uint32_t bits = op(spv::OpBitwiseAnd, t, {xr, add ? op(spv::OpNot, t, {xy}) : xy});
            over = op(spv::OpSLessThan, boolean(), {bits, zero});
            break;
        }
        }
        values_[&inst] = r;
        overflow_[&inst] = over;
        return;
    }
    case I::assume:
    case I::donothing:
    case I::lifetime_start:
    case I::lifetime_end:
    case I::dbg_value:
    case I::dbg_declare:
    case I::dbg_label: return;
    default: break;
    }
    fail("operation " + inst.getCalledFunction()->getName().str() + " is not implemented");
}

// By bits: a float comparison may itself flush or not.
uint32_t SpirvEmitter::flush_denormal(uint32_t f) {
    const uint32_t bits = to_bits(f);
    const uint32_t exponent = op(spv::OpBitwiseAnd, u32(), {bits, uc(0x7f800000u)});
    const uint32_t small = op(spv::OpIEqual, boolean(), {exponent, uc(0)});
    const uint32_t zero = op(spv::OpBitwiseAnd, u32(), {bits, uc(0x80000000u)});
    return to_float(select(u32(), small, zero, bits));
}

bool SpirvEmitter::emit_float_intrinsic(const llvm::CallInst& call, Intrinsic id) {
    const auto a = [&](unsigned k) { return value(call.getArgOperand(k)); };
    const auto exponent = [&](uint32_t bits) {
        return op(spv::OpBitFieldUExtract, u32(), {bits, uc(23), uc(8)});
    };
    switch (id) {
    case Intrinsic::mufu: {
        const auto f = literal(call.getArgOperand(0));
        const uint32_t x = a(1);
        switch (static_cast<MufuOp>(f.value_or(255))) {
        case MufuOp::cos: define(&call, ext(f32(), GLSLstd450Cos, {x})); return true;
        case MufuOp::sin: define(&call, ext(f32(), GLSLstd450Sin, {x})); return true;
        case MufuOp::ex2: define(&call, ext(f32(), GLSLstd450Exp2, {x})); return true;
        case MufuOp::lg2: define(&call, ext(f32(), GLSLstd450Log2, {x})); return true;
        case MufuOp::rcp: define(&call, exact(op(spv::OpFDiv, f32(), {fc(1.0f), x}))); return true;
        case MufuOp::rsq: define(&call, ext(f32(), GLSLstd450InverseSqrt, {x})); return true;
        case MufuOp::sqrt: define(&call, ext(f32(), GLSLstd450Sqrt, {x})); return true;
        case MufuOp::tanh: define(&call, ext(f32(), GLSLstd450Tanh, {x})); return true;
        }
        fail("dmsh.mufu with an unknown function");
        return true;
    }
    case Intrinsic::ftz: define(&call, flush_denormal(a(0))); return true;
    case Intrinsic::fchk: {
        // Exponents near the ends of the range take the slow path, as do zeros, denormals, infinities and
        // NaNs.
        const uint32_t ea = exponent(to_bits(a(0))), eb = exponent(to_bits(a(1)));
        const auto outside = [&](uint32_t e, uint32_t low, uint32_t high) {
            return op(spv::OpUGreaterThan, boolean(), {op(spv::OpISub, u32(), {e, uc(low)}), uc(high - low)});
        };
        const uint32_t difference = op(spv::OpIAdd, u32(), {op(spv::OpISub, u32(), {ea, eb}), uc(127)});
        uint32_t slow = op(spv::OpLogicalOr, boolean(), {outside(ea, 25, 253), outside(eb, 2, 251)});
        slow = op(spv::OpLogicalOr, boolean(), {slow, outside(difference, 3, 252)});
        define(&call, slow);
        return true;
    }
    default: return false;
    }
}

} // namespace dmsh
