// Makes the IR's floats as definite as the machine's, and its loops bounded.
#include "compiler/sim/jit/ir_run.h"
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/InstIterator.h>

namespace dmsh::sim {
namespace {

// Bits of the NaN that arithmetic makes, by type (interpreter: kNan32, kNan64, 0x7fff).
llvm::Constant* made_nan(llvm::Type* type) {
    llvm::Type* scalar = type->getScalarType();
    auto& context = type->getContext();
    llvm::Constant* bits = scalar->isFloatTy()    ? llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 0x7fffffff)
                           : scalar->isDoubleTy() ? llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), 0xfff8000000000000)
                                                  : llvm::ConstantInt::get(llvm::Type::getInt16Ty(context), 0x7fff);
    llvm::Constant* nan = llvm::ConstantExpr::getBitCast(bits, scalar);
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
        return llvm::ConstantVector::getSplat(vector->getElementCount(), nan);
    return nan;
}

bool makes_nans(const llvm::Instruction& i) {
    if (!i.getType()->isFPOrFPVectorTy())
        return false;
    switch (i.getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
    case llvm::Instruction::FRem:
    case llvm::Instruction::FPTrunc:
    case llvm::Instruction::FPExt: return true;
    case llvm::Instruction::Call: break;
    default: return false;
    }
    const auto* f = llvm::cast<llvm::CallInst>(i).getCalledFunction();
    if (!f)
        return false;
    switch (f->getIntrinsicID()) {
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::roundeven: return true;
    default: return false;
    }
}

// Calls that the host computes: llvm.* whose result LLVM leaves open, or rounds twice.
const char* host_name(const llvm::CallInst& call) {
    const auto* f = call.getCalledFunction();
    if (!f || call.getType()->isVectorTy())
        return nullptr;
    if (intrinsic_of(call) == Intrinsic::f32_to_f16_rnd)
        return "host.f32.to.f16.rnd";
    llvm::Type* t = call.getType();
    switch (f->getIntrinsicID()) {
    case llvm::Intrinsic::minnum: return t->isFloatTy() ? "host.min.f32" : t->isDoubleTy() ? "host.min.f64" : "host.min.f16";
    case llvm::Intrinsic::maxnum: return t->isFloatTy() ? "host.max.f32" : t->isDoubleTy() ? "host.max.f64" : "host.max.f16";
    case llvm::Intrinsic::fma: return t->isHalfTy() ? "host.fma.f16" : nullptr;
    default: return nullptr;
    }
}

void host_call(llvm::CallInst* call, const char* name) {
    llvm::Module& m = *call->getModule();
    llvm::IRBuilder<> b(call);
    llvm::SmallVector<llvm::Value*, 3> operands(call->args());
    if (!call->getType()->isHalfTy()) {
        auto f = m.getOrInsertFunction(name, call->getCalledFunction()->getFunctionType());
        call->replaceAllUsesWith(b.CreateCall(f, operands));
        call->eraseFromParent();
        return;
    }
    // Halves travel as integers: compilers do not agree on the register of a half.
    llvm::Type* i16 = b.getInt16Ty();
    llvm::SmallVector<llvm::Type*, 3> types;
    for (llvm::Value*& v : operands) {
        if (v->getType()->isHalfTy())
            v = b.CreateBitCast(v, i16);
        types.push_back(v->getType());
    }
    auto f = m.getOrInsertFunction(name, llvm::FunctionType::get(i16, types, false));
    call->replaceAllUsesWith(b.CreateBitCast(b.CreateCall(f, operands), call->getType()));
    call->eraseFromParent();
}

// Half fused products of pairs become two of single halves.
void split_half_fma(llvm::CallInst* call) {
    llvm::IRBuilder<> b(call);
    llvm::Type* half = call->getType()->getScalarType();
    auto* fma = llvm::Intrinsic::getDeclaration(call->getModule(), llvm::Intrinsic::fma, {half});
    llvm::Value* result = llvm::UndefValue::get(call->getType());
    for (unsigned k = 0; k < llvm::cast<llvm::FixedVectorType>(call->getType())->getNumElements(); ++k) {
        llvm::SmallVector<llvm::Value*, 3> operands;
        for (llvm::Value* v : call->args())
            operands.push_back(b.CreateExtractElement(v, k));
        auto* one = b.CreateCall(fma, operands);
        result = b.CreateInsertElement(result, one, k);
        host_call(one, "host.fma.f16");
    }
    // host_call replaced the calls; the insertions read their successors.
    call->replaceAllUsesWith(result);
    call->eraseFromParent();
}

// Code is selected block by block, in a time that grows faster than the block: long ones become chains of short ones, in their order.
void split_long_blocks(llvm::Function& main) {
    constexpr unsigned kMost = 64;
    for (auto block = main.begin(); block != main.end(); ++block) {
        auto at = block->getFirstInsertionPt();
        for (unsigned n = 0; n < kMost && at != block->end(); ++n)
            ++at;
        if (at != block->end() && !at->isTerminator())
            block->splitBasicBlock(at); // the rest is the next block
    }
}

} // namespace

void ir_definite_nans(llvm::Function& f) {
    std::vector<llvm::Instruction*> nans;
    for (llvm::Instruction& i : llvm::instructions(f))
        if (makes_nans(i))
            nans.push_back(&i);
    for (llvm::Instruction* i : nans) {
        llvm::IRBuilder<> b(i->getNextNode());
        llvm::Value* is_nan = b.CreateFCmpUNO(i, i);
        auto* select = llvm::cast<llvm::Instruction>(
            b.Insert(llvm::SelectInst::Create(is_nan, made_nan(i->getType()), i)));
        i->replaceUsesWithIf(select, [&](llvm::Use& u) { return u.getUser() != select && u.getUser() != is_nan; });
    }
}

bool ir_prepare(llvm::Function& main) {
    ir_definite_nans(main);
    std::vector<llvm::CallInst*> calls;
    bool waits = false;
    for (llvm::Instruction& i : llvm::instructions(main)) {
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(&i)) {
            calls.push_back(call);
            if (const auto id = intrinsic_of(*call); id && intrinsic_info(*id).cls == IntrinsicClass::lanes)
                waits = true;
        }
    }
    for (llvm::CallInst* call : calls) {
        if (const char* name = host_name(*call)) {
            host_call(call, name);
        } else if (const auto* f = call->getCalledFunction();
                   f && f->getIntrinsicID() == llvm::Intrinsic::fma && call->getType()->isVectorTy() && call->getType()->getScalarType()->isHalfTy()) {
            split_half_fma(call);
        }
    }
    // A block that a later (or the same) one goes to is a loop's head.
    llvm::DenseSet<const llvm::BasicBlock*> seen;
    std::vector<llvm::BasicBlock*> heads;
    for (llvm::BasicBlock& block : main) {
        seen.insert(&block);
        for (llvm::BasicBlock* next : llvm::successors(&block))
            if (seen.count(next))
                heads.push_back(next);
    }
    auto count = main.getParent()->getOrInsertFunction("host.loop", llvm::FunctionType::get(llvm::Type::getVoidTy(main.getContext()), false));
    for (llvm::BasicBlock* head : heads) {
        llvm::IRBuilder<> b(&*head->getFirstInsertionPt());
        b.CreateCall(count);
    }
    split_long_blocks(main);
    return waits || !heads.empty();
}

} // namespace dmsh::sim
