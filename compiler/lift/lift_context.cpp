// Operand access, flags and small value helpers of the lifter.
#include "compiler/lift/lift_context.h"
#include "compiler/lift/guest_code.h"
#include "compiler/lift/probe.h"
#include <llvm/IR/PatternMatch.h>

namespace dmsh {

using isa::F;
using isa::Form;

LiftContext::LiftContext(ShaderModule& s, const StageFacts& facts, SsaBuilder& ssa)
    : shader(s), input(s.input), b(*s.context), facts_(facts), ssa_(ssa) {
    pc_kind_ = s.context->getMDKindID("dmsh.pc");
}

// ---- registers ---------------------------------------------------------------------------------------------------------

Value* LiftContext::reg(uint64_t r) {
    if (uniform_)
        return ureg(r);
    if (r >= isa::kRz)
        return i32(0);
    return ssa_.read(block_, static_cast<Variable>(r));
}

Value* LiftContext::ureg(uint64_t r) {
    return r >= isa::kUrz ? i32(0) : ssa_.read(block_, static_cast<Variable>(kFirstUniform + r));
}

void LiftContext::set_ureg(uint64_t r, Value* value) {
    if (r < isa::kUrz)
        write(static_cast<Variable>(kFirstUniform + r), as_int(value));
}

Value* LiftContext::pair(Value* low, Value* high) {
    using namespace llvm::PatternMatch;
    Value* whole = nullptr;
    if (match(low, m_Trunc(m_Value(whole))) && whole->getType()->isIntegerTy(64) && match(high, m_Trunc(m_LShr(m_Specific(whole), m_SpecificInt(32)))))
        return whole;
    return b.CreateOr(zext64(low), b.CreateShl(zext64(high), 32));
}

Value* LiftContext::reg64(uint64_t r) {
    if (r >= zero_register())
        return i64(0);
    return pair(reg(r), reg(r + 1));
}

void LiftContext::write(Variable v, Value* value) {
    if (barrier_ != kNoBarrier) {
        deferred_.push_back({v, barrier_, in_region_, value, guard_});
        return;
    }
    if (guard_)
        value = b.CreateSelect(guard_, value, ssa_.read(block_, v));
    ssa_.write(block_, v, value);
    if (LiftProbes::wanted() && inst_) {
        llvm::Type* word = b.getInt32Ty();
        auto probe = shader.module->getOrInsertFunction(kProbeFunction, llvm::FunctionType::get(b.getVoidTy(), {word, word, word}, false));
        b.CreateCall(probe, {i32(inst_->pc), i32(v), value->getType()->isIntegerTy(1) ? b.CreateZExt(value, word) : value});
    }
}

void LiftContext::commit(uint32_t mask) {
    size_t kept = 0;
    for (const Deferred& d : deferred_) {
        if (!(mask >> d.barrier & 1)) {
            deferred_[kept++] = d;
            continue;
        }
        Value* value = d.guard ? b.CreateSelect(d.guard, d.value, ssa_.read(block_, d.variable)) : d.value;
        ssa_.write(block_, d.variable, value);
    }
    deferred_.resize(kept);
}

void LiftContext::set_reg(uint64_t r, Value* value) {
    if (uniform_)
        set_ureg(r, value);
    else if (r < isa::kRz)
        write(static_cast<Variable>(r), as_int(value));
}

void LiftContext::set_reg64(uint64_t r, Value* value) {
    if (r >= zero_register())
        return;
    value = as_int(value);
    set_reg(r, low32(value));
    set_reg(r + 1, high32(value));
}

Value* LiftContext::read_predicate(Variable first, uint64_t p, bool negated) {
    Value* v = p >= isa::kPt ? i1(true) : ssa_.read(block_, static_cast<Variable>(first + p));
    return negated ? b.CreateNot(v) : v;
}

Value* LiftContext::predicate(uint64_t p, bool negated) {
    return read_predicate(uniform_ ? kFirstUniformPredicate : kFirstPredicate, p, negated);
}

Value* LiftContext::upredicate(uint64_t p, bool negated) {
    return read_predicate(kFirstUniformPredicate, p, negated);
}

void LiftContext::set_predicate(uint64_t p, Value* value) {
    if (uniform_)
        set_upredicate(p, value);
    else if (p < isa::kPt)
        write(static_cast<Variable>(kFirstPredicate + p), value);
}

void LiftContext::set_upredicate(uint64_t p, Value* value) {
    if (p < isa::kPt)
        write(static_cast<Variable>(kFirstUniformPredicate + p), value);
}

// ---- condition code ----------------------------------------------------------------------------------------------------

void LiftContext::set_integer_flags(Value* result, Value* carry, Value* overflow, Value* lower_zero) {
    Value* zero = llvm::ConstantInt::get(result->getType(), 0);
    if (flags_read_ & 1) {
        Value* is_zero = b.CreateICmpEQ(result, zero);
        set_flag(kFlagZ, lower_zero ? b.CreateAnd(lower_zero, is_zero) : is_zero);
    }
    if (flags_read_ & 2)
        set_flag(kFlagS, b.CreateICmpSLT(result, zero));
    if (flags_read_ & 4)
        set_flag(kFlagC, carry ? carry : i1(false));
    if (flags_read_ & 8)
        set_flag(kFlagO, overflow ? overflow : i1(false));
}

void LiftContext::set_float_flags(Value* result) {
    Value* zero = llvm::ConstantFP::get(result->getType(), 0.0);
    set_flag(kFlagZ, b.CreateFCmpUEQ(result, zero));
    set_flag(kFlagS, b.CreateFCmpULT(result, zero));
    set_flag(kFlagC, i1(false));
    set_flag(kFlagO, i1(false));
}

// Tests 0..15 compare signed with overflow, 16..23 look at single flags; NaN is Z and S together.
Value* LiftContext::condition_code(uint64_t test) {
    Value *z = flag(kFlagZ), *s = flag(kFlagS), *c = flag(kFlagC), *o = flag(kFlagO);
    auto inv = [&](Value* v) { return b.CreateNot(v); };
    auto both = [&](Value* x, Value* y) { return b.CreateAnd(x, y); };
    auto any = [&](Value* x, Value* y) { return b.CreateOr(x, y); };
    auto odd = [&](Value* x, Value* y) { return b.CreateXor(x, y); };
    switch (test) {
    case 0: return i1(false);
    case 1: return odd(both(s, inv(z)), o);
    case 2: return both(inv(s), z);
    case 3: return odd(s, any(z, o));
    case 4: return both(odd(inv(s), o), inv(z));
    case 5: return inv(z);
    case 6: return inv(odd(s, o));
    case 7: return any(inv(s), inv(z));
    case 8: return both(s, z);
    case 9: return odd(s, o);
    case 10: return z;
    case 11: return any(odd(s, o), z);
    case 12: return odd(inv(s), any(z, o));
    case 13: return any(inv(z), both(s, z));
    case 14: return any(odd(inv(s), o), z);
    case 15: return i1(true);
    case 16: return inv(o);
    case 17: return inv(c);
    case 18: return inv(s);
    case 19: return any(z, inv(c));
    case 20: return both(c, inv(z));
    case 21: return s;
    case 22: return c;
    case 23: return o;
    case 28: return i1(false); // FCSM_TR (T-050)
    case 30: return any(s, z);
    case 31: return both(inv(s), inv(z));
    default: refuse("with this condition code is not implemented"); return i1(false);
    }
}

// ---- operands ----------------------------------------------------------------------------------------------------------

Value* LiftContext::cbuf(uint64_t bank, uint64_t offset) {
    return call(Intrinsic::cbuf_load, {i32(static_cast<uint32_t>(bank)), i32(static_cast<uint32_t>(offset & ~uint64_t{3}))});
}

Value* LiftContext::src_b() {
    switch (inst_->form()) {
    case Form::cbuf: return cbuf(get(F::cbuf_bank), get(F::cbuf_offset));
    case Form::imm:
    case Form::imm32: return i32(inst_->imm32());
    case Form::ureg: return ureg(get(F::src_b));
    case Form::cx: refuse("with a constant buffer by descriptor is not implemented"); return i32(0);
    default: return reg(get(F::src_b));
    }
}

Value* LiftContext::src_c() {
    switch (inst_->form()) {
    case Form::reg_cbuf: return cbuf(get(F::cbuf_bank), get(F::cbuf_offset));
    case Form::reg_imm: return i32(inst_->imm32());
    case Form::reg_ureg: return ureg(get(F::src_c));
    case Form::reg_cx: refuse("with a constant buffer by descriptor is not implemented"); return i32(0);
    default: return reg(get(F::src_c));
    }
}

Value* LiftContext::src_b64() {
    switch (inst_->form()) {
    case Form::cbuf: {
        Value* low = cbuf(get(F::cbuf_bank), get(F::cbuf_offset));
        return pair(low, cbuf(get(F::cbuf_bank), get(F::cbuf_offset) + 4));
    }
    case Form::imm:
    case Form::imm32: return i64(uint64_t{inst_->imm32()} << 32);
    case Form::ureg: return ureg64(get(F::src_b));
    case Form::cx: refuse("with a constant buffer by descriptor is not implemented"); return i64(0);
    default: return reg64(get(F::src_b));
    }
}

Value* LiftContext::src_c64() {
    switch (inst_->form()) {
    case Form::reg_cbuf: {
        Value* low = cbuf(get(F::cbuf_bank), get(F::cbuf_offset));
        return pair(low, cbuf(get(F::cbuf_bank), get(F::cbuf_offset) + 4));
    }
    case Form::reg_imm: return i64(uint64_t{inst_->imm32()} << 32); // of doubles only
    case Form::reg_ureg: return ureg64(get(F::src_c));
    case Form::reg_cx: refuse("with a constant buffer by descriptor is not implemented"); return i64(0);
    default: return reg64(get(F::src_c));
    }
}

// ---- values ------------------------------------------------------------------------------------------------------------

Value* LiftContext::as_int(Value* v) {
    llvm::Type* type = v->getType();
    if (type->isIntegerTy())
        return v;
    llvm::Type* to = type->isFloatTy() ? b.getInt32Ty() : type->isDoubleTy() ? b.getInt64Ty() : static_cast<llvm::Type*>(b.getInt16Ty());
    if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(v); cast && cast->getSrcTy() == to)
        return cast->getOperand(0);
    return b.CreateBitCast(v, to);
}

Value* LiftContext::as_float(Value* v) {
    if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(v); cast && cast->getSrcTy()->isFloatTy())
        return cast->getOperand(0);
    return b.CreateBitCast(v, b.getFloatTy());
}

Value* LiftContext::as_double(Value* v) {
    if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(v); cast && cast->getSrcTy()->isDoubleTy())
        return cast->getOperand(0);
    return b.CreateBitCast(v, b.getDoubleTy());
}

Value* LiftContext::math(llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> operands) {
    return b.CreateCall(math_function(id, operands[0]->getType()), operands);
}

// LLVM's own look-up builds the mangled name each time; a shader uses a handful, so a list is fastest.
llvm::Function* LiftContext::math_function(llvm::Intrinsic::ID id, llvm::Type* type, llvm::Type* second) {
    for (const auto& [known, t, u, f] : math_)
        if (known == id && t == type && u == second)
            return f;
    llvm::SmallVector<llvm::Type*, 2> types{type};
    if (second)
        types.push_back(second);
    llvm::Function* f = llvm::Intrinsic::getDeclaration(shader.module.get(), id, types);
    math_.emplace_back(id, type, second, f);
    return f;
}

llvm::CallInst* LiftContext::call(Intrinsic id, llvm::ArrayRef<Value*> operands) {
    llvm::Function*& f = functions_[static_cast<size_t>(id)];
    if (!f)
        f = declare(*shader.module, id);
    llvm::CallInst* c = b.CreateCall(f, operands);
    if (inst_ && intrinsic_info(id).cls != IntrinsicClass::pure) {
        if (pc_of_node_ != inst_->pc) {
            pc_of_node_ = inst_->pc;
            pc_node_ = llvm::MDNode::get(b.getContext(), llvm::ConstantAsMetadata::get(b.getInt32(inst_->pc)));
        }
        c->setMetadata(pc_kind_, pc_node_);
    }
    return c;
}

void LiftContext::refuse(std::string_view what) {
    if (!error_)
        error_ = inst_ ? instruction_error(input.arch, *inst_, what) : Error{std::string(what)};
}

} // namespace dmsh
