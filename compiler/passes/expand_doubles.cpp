// Guarantees: @main holds no value of type double: each became the i64 of its bits, each operation a call of
// an exact soft-float function. Keeps: everything of other types.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/soft_float_calls.h"
#include <llvm/ADT/PostOrderIterator.h>

namespace dmsh {
namespace {

class DoublePass {
  public:
    explicit DoublePass(ShaderModule& shader) : shader_(shader), soft_(*shader.module), b_(*shader.context) {}

    Result<void> run() {
        llvm::ReversePostOrderTraversal<llvm::Function*> order(shader_.main);
        bool any = false;
        for (llvm::BasicBlock* block : order)
            for (llvm::Instruction& inst : *block)
                any |= touches_double(inst);
        if (!any)
            return {};
        for (llvm::BasicBlock* block : order)
            for (llvm::PHINode& phi : block->phis())
                if (phi.getType()->isDoubleTy()) {
                    b_.SetInsertPoint(&phi);
                    words_[&phi] = b_.CreatePHI(b_.getInt64Ty(), phi.getNumIncomingValues());
                    dead_.push_back(&phi);
                }
        for (llvm::BasicBlock* block : order)
            for (llvm::Instruction& inst : llvm::make_early_inc_range(*block)) {
                if (!touches_double(inst) || llvm::isa<llvm::PHINode>(inst))
                    continue;
                b_.SetInsertPoint(&inst);
                llvm::Value* v = rewrite(inst);
                if (!v)
                    return refuse(inst, LossCode::metal,
                                  "a 64-bit float operation without an integer form (" +
                                      std::string(inst.getOpcodeName()) + ")");
                if (inst.getType()->isDoubleTy())
                    words_[&inst] = v;
                else
                    inst.replaceAllUsesWith(v);
                dead_.push_back(&inst);
            }
        for (auto& [old, fresh] : words_)
            if (auto* phi = llvm::dyn_cast<llvm::PHINode>(old))
                for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
                    llvm::Value* in = phi->getIncomingValue(i);
                    llvm::cast<llvm::PHINode>(fresh)->addIncoming(
                        llvm::isa<llvm::Constant>(in) || words_.count(in) ? word(in) : b_.getInt64(0),
                        phi->getIncomingBlock(i));
                }
        for (llvm::Instruction* inst : dead_) {
            if (!inst->use_empty())
                inst->replaceAllUsesWith(llvm::UndefValue::get(inst->getType()));
            inst->eraseFromParent();
        }
        return {};
    }

  private:
    static bool touches_double(const llvm::Instruction& inst) {
        if (inst.getType()->getScalarType()->isDoubleTy())
            return true;
        for (const llvm::Value* v : inst.operands())
            if (v->getType()->getScalarType()->isDoubleTy())
                return true;
        return false;
    }

    // The bits of a double value as i64.
    llvm::Value* word(llvm::Value* v) {
        if (const auto it = words_.find(v); it != words_.end())
            return it->second;
        if (const auto* c = llvm::dyn_cast<llvm::ConstantFP>(v))
            return b_.getInt64(c->getValueAPF().bitcastToAPInt().getZExtValue());
        return b_.getInt64(0); // undef
    }
    llvm::Value* bits(llvm::Value* v) {
        return b_.CreateZExt(b_.CreateBitCast(v, b_.getIntNTy(v->getType()->getPrimitiveSizeInBits())),
                             b_.getInt64Ty());
    }
    llvm::Value* narrow(llvm::Value* w, llvm::Type* type) {
        return b_.CreateBitCast(b_.CreateTrunc(w, b_.getIntNTy(type->getPrimitiveSizeInBits())), type);
    }
    static const FloatFormat* format(llvm::Type* t) {
        return t->isFloatTy() ? &kSingle : t->isHalfTy() ? &kHalf : nullptr;
    }

    llvm::Value* minimum(llvm::Value* x, llvm::Value* y, bool most) {
        // The other operand when one is NaN; -0 below +0.
        llvm::Value* sign = b_.getInt64(kDouble.sign());
        const auto key = [&](llvm::Value* v) { // total order of the bits
            llvm::Value* negative = b_.CreateICmpSLT(v, b_.getInt64(0));
            return b_.CreateSelect(negative, b_.CreateNot(v), b_.CreateOr(v, sign));
        };
        llvm::Value* x_first = b_.CreateICmpULT(key(x), key(y));
        llvm::Value* r = most ? b_.CreateSelect(x_first, y, x) : b_.CreateSelect(x_first, x, y);
        r = b_.CreateSelect(soft_.is_nan(b_, kDouble, y), x, r);
        return b_.CreateSelect(soft_.is_nan(b_, kDouble, x), y, r);
    }

    llvm::Value* compare(llvm::CmpInst::Predicate p, llvm::Value* x, llvm::Value* y) {
        using P = llvm::CmpInst;
        const auto equal = [&] { return soft_.equal(b_, kDouble, x, y); };
        const auto less = [&](bool swap) { return soft_.less(b_, kDouble, swap ? y : x, swap ? x : y); };
        const auto unordered = [&] {
            return b_.CreateOr(soft_.is_nan(b_, kDouble, x), soft_.is_nan(b_, kDouble, y));
        };
        switch (p) {
        case P::FCMP_FALSE: return b_.getFalse();
        case P::FCMP_TRUE: return b_.getTrue();
        case P::FCMP_OEQ: return equal();
        case P::FCMP_OLT: return less(false);
        case P::FCMP_OGT: return less(true);
        case P::FCMP_OLE: return b_.CreateOr(less(false), equal());
        case P::FCMP_OGE: return b_.CreateOr(less(true), equal());
        case P::FCMP_ONE: return b_.CreateOr(less(false), less(true));
        case P::FCMP_ORD: return b_.CreateNot(unordered());
        case P::FCMP_UNO: return unordered();
        case P::FCMP_UEQ: return b_.CreateNot(b_.CreateOr(less(false), less(true)));
        case P::FCMP_ULT: return b_.CreateNot(b_.CreateOr(less(true), equal()));
        case P::FCMP_UGT: return b_.CreateNot(b_.CreateOr(less(false), equal()));
        case P::FCMP_ULE: return b_.CreateNot(less(true));
        case P::FCMP_UGE: return b_.CreateNot(less(false));
        case P::FCMP_UNE: return b_.CreateNot(equal());
        default: return nullptr;
        }
    }

    llvm::Value* to_int(llvm::Value* x, llvm::Type* type, bool is_signed) {
        const unsigned width = type->getIntegerBitWidth();
        if (width > 64)
            return nullptr;
        return b_.CreateTrunc(soft_.to_int(b_, kDouble, width, is_signed, word(x)), type);
    }

    // The replacement (i64 for doubles), or null.
    llvm::Value* rewrite(llvm::Instruction& inst) {
        using I = llvm::Instruction;
        const auto op = [&](unsigned i) { return inst.getOperand(i); };
        const auto w = [&](unsigned i) { return word(inst.getOperand(i)); };
        llvm::Type* type = inst.getType();
        llvm::Value* sign = b_.getInt64(kDouble.sign());
        switch (inst.getOpcode()) {
        case I::FAdd: return soft_.add(b_, kDouble, kRoundNearest, w(0), w(1));
        case I::FSub: return soft_.add(b_, kDouble, kRoundNearest, w(0), b_.CreateXor(w(1), sign));
        case I::FMul: return soft_.mul(b_, kDouble, kRoundNearest, w(0), w(1));
        case I::FNeg: return b_.CreateXor(w(0), sign);
        case I::FCmp: return compare(llvm::cast<llvm::FCmpInst>(inst).getPredicate(), w(0), w(1));
        case I::Select: return b_.CreateSelect(op(0), w(1), w(2));
        case I::Freeze: return w(0);
        case I::BitCast:
            if (type->isDoubleTy()) // from i64 or a vector of 64 bits
                return b_.CreateBitCast(op(0), b_.getInt64Ty());
            return b_.CreateBitCast(w(0), type);
        case I::FPExt: {
            const FloatFormat* from = format(op(0)->getType());
            return from ? soft_.convert(b_, *from, kDouble, kRoundNearest, bits(op(0))) : nullptr;
        }
        case I::FPTrunc: {
            const FloatFormat* to = format(type);
            return to ? narrow(soft_.convert(b_, kDouble, *to, kRoundNearest, w(0)), type) : nullptr;
        }
        case I::SIToFP:
            return soft_.from_int(b_, kDouble, kRoundNearest, true,
                                  b_.CreateSExtOrTrunc(op(0), b_.getInt64Ty()));
        case I::UIToFP:
            return soft_.from_int(b_, kDouble, kRoundNearest, false,
                                  b_.CreateZExtOrTrunc(op(0), b_.getInt64Ty()));
        case I::FPToSI: return to_int(op(0), type, true);
        case I::FPToUI: return to_int(op(0), type, false);
        case I::Call: break;
        default: return nullptr;
        }
        const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
        if (!call)
            return nullptr;
        switch (call->getIntrinsicID()) {
        case llvm::Intrinsic::fma: return soft_.fma(b_, kDouble, kRoundNearest, w(0), w(1), w(2));
        case llvm::Intrinsic::minnum: return minimum(w(0), w(1), false);
        case llvm::Intrinsic::maxnum: return minimum(w(0), w(1), true);
        case llvm::Intrinsic::fabs: return b_.CreateAnd(w(0), ~kDouble.sign());
        case llvm::Intrinsic::copysign:
            return b_.CreateOr(b_.CreateAnd(w(0), ~kDouble.sign()), b_.CreateAnd(w(1), sign));
        case llvm::Intrinsic::floor: return soft_.round_to_integral(b_, kDouble, 1, w(0));
        case llvm::Intrinsic::ceil: return soft_.round_to_integral(b_, kDouble, 2, w(0));
        case llvm::Intrinsic::trunc: return soft_.round_to_integral(b_, kDouble, 3, w(0));
        case llvm::Intrinsic::rint:
        case llvm::Intrinsic::nearbyint:
        case llvm::Intrinsic::roundeven: return soft_.round_to_integral(b_, kDouble, kRoundNearest, w(0));
        case llvm::Intrinsic::fptosi_sat: return to_int(op(0), type, true);
        case llvm::Intrinsic::fptoui_sat: return to_int(op(0), type, false);
        default: return nullptr;
        }
    }

    ShaderModule& shader_;
    SoftFloatCalls soft_;
    llvm::IRBuilder<> b_;
    std::unordered_map<llvm::Value*, llvm::Value*> words_;
    std::vector<llvm::Instruction*> dead_;
};

} // namespace

Result<void> expand_doubles(ShaderModule& shader) {
    return DoublePass(shader).run();
}

} // namespace dmsh
