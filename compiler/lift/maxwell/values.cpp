// Shared value operations (see values.h).
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {

Value* sign_modifiers(LiftContext& c, Value* v, bool absolute, bool negated) {
    if (absolute) {
        if (auto* k = llvm::dyn_cast<llvm::ConstantFP>(v))
            v = llvm::ConstantFP::get(v->getType(), llvm::abs(k->getValueAPF()));
        else
            v = c.math(llvm::Intrinsic::fabs, {v});
    }
    return negated ? c.b.CreateFNeg(v) : v;
}

Value* flush(LiftContext& c, Value* v, bool on) {
    if (!on)
        return v;
    if (auto* k = llvm::dyn_cast<llvm::ConstantFP>(v)) {
        if (!k->getValueAPF().isDenormal())
            return v;
        return llvm::ConstantFP::getZero(v->getType(), k->isNegative());
    }
    return c.call(Intrinsic::ftz, {v});
}

Value* saturate(LiftContext& c, Value* v) {
    Value* zero = llvm::ConstantFP::get(v->getType(), 0.0);
    Value* one = llvm::ConstantFP::get(v->getType(), 1.0);
    return c.math(llvm::Intrinsic::minnum, {c.math(llvm::Intrinsic::maxnum, {v, zero}), one});
}

Value* float_compare(LiftContext& c, uint64_t op, Value* x, Value* y) {
    using P = llvm::CmpInst::Predicate;
    constexpr P predicates[16] = {P::FCMP_FALSE, P::FCMP_OLT, P::FCMP_OEQ, P::FCMP_OLE, P::FCMP_OGT, P::FCMP_ONE, P::FCMP_OGE, P::FCMP_ORD,
                                  P::FCMP_UNO,   P::FCMP_ULT, P::FCMP_UEQ, P::FCMP_ULE, P::FCMP_UGT, P::FCMP_UNE, P::FCMP_UGE, P::FCMP_TRUE};
    const P p = predicates[op & 15];
    if (p == P::FCMP_FALSE || p == P::FCMP_TRUE)
        return c.i1(p == P::FCMP_TRUE);
    return c.b.CreateFCmp(p, x, y);
}

Value* integer_compare(LiftContext& c, uint64_t op, bool is_signed, Value* x, Value* y) {
    switch (op & 7) {
    case 1: return is_signed ? c.b.CreateICmpSLT(x, y) : c.b.CreateICmpULT(x, y);
    case 2: return c.b.CreateICmpEQ(x, y);
    case 3: return is_signed ? c.b.CreateICmpSLE(x, y) : c.b.CreateICmpULE(x, y);
    case 4: return is_signed ? c.b.CreateICmpSGT(x, y) : c.b.CreateICmpUGT(x, y);
    case 5: return c.b.CreateICmpNE(x, y);
    case 6: return is_signed ? c.b.CreateICmpSGE(x, y) : c.b.CreateICmpUGE(x, y);
    default: return c.i1((op & 7) == 7);
    }
}

Value* combine(LiftContext& c, uint64_t op, Value* x, Value* y) {
    switch (op) {
    case 0: return c.b.CreateAnd(x, y);
    case 1: return c.b.CreateOr(x, y);
    default: return c.b.CreateXor(x, y);
    }
}

void write_set(LiftContext& c, Value* condition) {
    condition = combine(c, c.get(F::bop), condition, c.src_predicate());
    Value* result = c.bool_to_int(condition, c.flag(F::bf) ? 0x3f800000 : 0xffffffff);
    c.set_reg(c.get(F::dst), result);
    if (c.flag(F::cc)) {
        if (c.flag(F::bf))
            c.set_float_flags(c.as_float(result));
        else
            c.set_integer_flags(result);
    }
}

void write_setp(LiftContext& c, Value* compare) {
    Value* with = c.src_predicate();
    const uint64_t op = c.get(F::bop), p = c.get(F::dst_pred), q = c.get(F::dst_pred2);
    Value* first = combine(c, op, compare, with);
    Value* second = q != isa::kPt ? combine(c, op, c.b.CreateNot(compare), with) : nullptr;
    c.set_predicate(p, first);
    if (second)
        c.set_predicate(q, second);
}

Value* half_word(LiftContext& c, Value* v, bool upper, bool is_signed) {
    if (is_signed)
        return c.b.CreateAShr(upper ? v : c.b.CreateShl(v, 16), 16);
    return upper ? c.b.CreateLShr(v, 16) : c.b.CreateAnd(v, 0xffff);
}

std::optional<AtomicOp> atomic_op(uint64_t op, bool is_signed) {
    switch (op) {
    case 0: return AtomicOp::add;
    case 1: return is_signed ? AtomicOp::smin : AtomicOp::umin;
    case 2: return is_signed ? AtomicOp::smax : AtomicOp::umax;
    case 3: return AtomicOp::inc;
    case 4: return AtomicOp::dec;
    case 5: return AtomicOp::and_;
    case 6: return AtomicOp::or_;
    case 7: return AtomicOp::xor_;
    case 8: return AtomicOp::exch;
    default: return std::nullopt;
    }
}

bool aligned(LiftContext& c, uint64_t reg, unsigned words) {
    if (words == 1 || reg == isa::kRz || reg % words == 0)
        return true;
    c.refuse("with a misaligned register is not implemented");
    return false;
}

} // namespace dmsh::maxwell
