// Guarantees: no FTZ, FCHK or 64-bit MUFU of the dictionary is left, and none needed a 64-bit float.
// Keeps: everything else, doubles included.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"

namespace dmsh {
namespace {

class Expander {
  public:
    Expander(ShaderModule& shader) : shader_(shader), b_(*shader.context) {}

    Result<void> run() {
        for (const auto& [call, id] : collect_calls(*shader_.main)) {
            b_.SetInsertPoint(call);
            auto v = rewrite(call, id);
            if (!v)
                return v.error();
            if (*v) {
                call->replaceAllUsesWith(*v);
                call->eraseFromParent();
            }
        }
        return {};
    }

  private:
    llvm::Value* float_const(float v) { return llvm::ConstantFP::get(b_.getFloatTy(), v); }

    // The replacement, or null to leave the call.
    Result<llvm::Value*> rewrite(llvm::CallInst* call, Intrinsic id) {
        const auto a = [&](unsigned i) { return call->getArgOperand(i); };
        switch (id) {
        case Intrinsic::ftz: {
            llvm::Value* bits = b_.CreateBitCast(a(0), b_.getInt32Ty());
            llvm::Value* tiny = b_.CreateICmpEQ(b_.CreateAnd(bits, 0x7f800000), b_.getInt32(0));
            return b_.CreateBitCast(b_.CreateSelect(tiny, b_.CreateAnd(bits, 0x80000000), bits),
                                    b_.getFloatTy());
        }
        case Intrinsic::fchk: return check_divide(a(0), a(1));
        case Intrinsic::mufu64h: {
            const auto function = constant_u32(a(0));
            if (function != 0u && function != 1u)
                return refuse(*call, LossCode::instruction, "MUFU 64-bit function");
            return *function == 0 ? reciprocal_high(a(1)) : reciprocal_root_high(a(1));
        }
        default: return static_cast<llvm::Value*>(nullptr);
        }
    }

    llvm::Value* exponent(llvm::Value* f) {
        return b_.CreateAnd(b_.CreateLShr(b_.CreateBitCast(f, b_.getInt32Ty()), 23), 255);
    }

    // The guest's fast division (reciprocal, one Newton step, one residual) is right when no operand,
    // quotient or residual leaves the normal range; everything else takes the slow path, which is always
    // right.
    llvm::Value* check_divide(llvm::Value* x, llvm::Value* y) {
        llvm::Value *ea = exponent(x), *eb = exponent(y);
        const auto within = [&](llvm::Value* v, uint32_t low, uint32_t high) {
            return b_.CreateICmpULE(b_.CreateSub(v, b_.getInt32(low)), b_.getInt32(high - low));
        };
        llvm::Value* distance = b_.CreateAdd(b_.CreateSub(ea, eb), b_.getInt32(256));
        llvm::Value* fast = b_.CreateAnd(b_.CreateAnd(within(ea, 25, 254), within(eb, 2, 252)),
                                         within(distance, 256 - 124, 256 + 125));
        return b_.CreateNot(fast);
    }

    // High word of a double made of a sign, a biased exponent that may leave the range, and the mantissa of a
    // float.
    llvm::Value* assemble(llvm::Value* sign, llvm::Value* e, llvm::Value* single) {
        llvm::Value* bits = b_.CreateBitCast(single, b_.getInt32Ty());
        llvm::Value* top = b_.CreateLShr(b_.CreateAnd(bits, 0x7fffff), 3);
        llvm::Value* r = b_.CreateOr(b_.CreateOr(sign, b_.CreateShl(e, 20)), top);
        return b_.CreateSelect(b_.CreateICmpSLE(e, b_.getInt32(0)), sign, r);
    }

    // RCP64H: the reciprocal of the double with this high word, to the 20 bits of mantissa that a high word
    // has.
    llvm::Value* reciprocal_high(llvm::Value* high) {
        llvm::Value* sign = b_.CreateAnd(high, 0x80000000);
        llvm::Value* e = b_.CreateAnd(b_.CreateLShr(high, 20), 0x7ff);
        llvm::Value* mantissa = b_.CreateAnd(high, 0xfffff);
        llvm::Value* one_to_two =
            b_.CreateBitCast(b_.CreateOr(b_.CreateShl(mantissa, 3), 0x3f800000), b_.getFloatTy());
        llvm::Value* r = b_.CreateFDiv(float_const(1), one_to_two);
        // 1 / (m 2^(e-1023)) = r 2^(1023-e); r's own exponent is 126 or 127.
        llvm::Value* result =
            assemble(sign, b_.CreateAdd(b_.CreateSub(b_.getInt32(2046 - 127), e), exponent(r)), r);
        result = b_.CreateSelect(b_.CreateICmpEQ(e, b_.getInt32(0)), b_.CreateOr(sign, 0x7ff00000), result);
        llvm::Value* special =
            b_.CreateSelect(b_.CreateICmpEQ(mantissa, b_.getInt32(0)), sign, b_.getInt32(0x7ff80000));
        return b_.CreateSelect(b_.CreateICmpEQ(e, b_.getInt32(0x7ff)), special, result);
    }

    // RSQ64H likewise.
    llvm::Value* reciprocal_root_high(llvm::Value* high) {
        llvm::Value* sign = b_.CreateAnd(high, 0x80000000);
        llvm::Value* e = b_.CreateAnd(b_.CreateLShr(high, 20), 0x7ff);
        llvm::Value* mantissa = b_.CreateAnd(high, 0xfffff);
        // An even power of two times 1..4: biased exponents are even there when the true one is odd.
        llvm::Value* odd = b_.CreateXor(b_.CreateAnd(e, 1), b_.getInt32(1));
        llvm::Value* scaled =
            b_.CreateAdd(b_.CreateShl(odd, 23), b_.CreateOr(b_.CreateShl(mantissa, 3), 0x3f800000));
        llvm::Value* m = b_.CreateBitCast(scaled, b_.getFloatTy());
        llvm::Value* r = b_.CreateFDiv(float_const(1), b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, m));
        llvm::Value* half = b_.CreateAShr(b_.CreateSub(b_.CreateSub(e, odd), b_.getInt32(1023)), 1);
        llvm::Value* result = assemble(
            b_.getInt32(0), b_.CreateAdd(b_.CreateSub(b_.getInt32(1023 - 127), half), exponent(r)), r);
        llvm::Value* nan = b_.getInt32(0x7ff80000);
        result = b_.CreateSelect(b_.CreateICmpNE(sign, b_.getInt32(0)), nan, result);
        llvm::Value* special = b_.CreateSelect(
            b_.CreateOr(b_.CreateICmpNE(mantissa, b_.getInt32(0)), b_.CreateICmpNE(sign, b_.getInt32(0))),
            nan, b_.getInt32(0));
        result = b_.CreateSelect(b_.CreateICmpEQ(e, b_.getInt32(0x7ff)), special, result);
        return b_.CreateSelect(b_.CreateICmpEQ(e, b_.getInt32(0)), b_.CreateOr(sign, 0x7ff00000), result);
    }

    ShaderModule& shader_;
    llvm::IRBuilder<> b_;
};

} // namespace

Result<void> expand_float_operations(ShaderModule& shader) {
    return Expander(shader).run();
}

} // namespace dmsh
