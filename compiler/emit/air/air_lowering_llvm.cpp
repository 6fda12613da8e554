// llvm.* intrinsics of the final IR: those that Metal's back end takes stay, the rest become air.* calls or
// plain arithmetic.
#include "compiler/emit/air/air_lowering.h"
#include <fmt/format.h>

namespace dmsh {

void AirLowering::lower_llvm_intrinsics(llvm::Function& f) {
    llvm::SmallVector<llvm::IntrinsicInst*, 32> calls;
    llvm::SmallVector<llvm::Instruction*, 4> freezes;
    for (llvm::BasicBlock& block : f)
        for (llvm::Instruction& inst : block) {
            if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst))
                calls.push_back(call);
            if (llvm::isa<llvm::FreezeInst>(inst))
                freezes.push_back(&inst);
        }
    for (llvm::Instruction* inst : freezes) { // not seen in Apple's modules; any value is as good
        inst->replaceAllUsesWith(inst->getOperand(0));
        inst->eraseFromParent();
    }
    for (llvm::IntrinsicInst* call : calls) {
        ir_.SetInsertPoint(call);
        llvm::Value* v = lower_llvm(call);
        if (error_)
            return;
        if (!v)
            continue;
        call->replaceAllUsesWith(v);
        call->eraseFromParent();
    }
}

// The replacement, or null to keep the call.
llvm::Value* AirLowering::lower_llvm(llvm::IntrinsicInst* call) {
    using llvm::Intrinsic::ID;
    const ID id = call->getIntrinsicID();
    const auto a = [&](unsigned i) { return call->getArgOperand(i); };
    llvm::Type* type = call->getType();
    const auto refuse = [&] {
        fail(call, fmt::format("{} on {} bits is not implemented for Metal",
                               call->getCalledFunction()->getName().str(), type->getScalarSizeInBits()));
        return static_cast<llvm::Value*>(nullptr);
    };
    if (type->getScalarType()->isDoubleTy() ||
        (call->arg_size() && a(0)->getType()->getScalarType()->isDoubleTy()))
        return refuse(); // the legaliser leaves no f64
    switch (id) {
    case llvm::Intrinsic::fma: return air_.math("fma", {a(0), a(1), a(2)});
    case llvm::Intrinsic::minnum: return air_.math("fmin", {a(0), a(1)});
    case llvm::Intrinsic::maxnum: return air_.math("fmax", {a(0), a(1)});
    case llvm::Intrinsic::fabs: return air_.math("fabs", {a(0)});
    case llvm::Intrinsic::floor: return air_.math("floor", {a(0)});
    case llvm::Intrinsic::ceil: return air_.math("ceil", {a(0)});
    case llvm::Intrinsic::trunc: return air_.math("trunc", {a(0)});
    case llvm::Intrinsic::round: return air_.math("round", {a(0)});
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::roundeven: return air_.math("rint", {a(0)});
    case llvm::Intrinsic::sqrt: return air_.math("sqrt", {a(0)});
    case llvm::Intrinsic::copysign: return air_.math("copysign", {a(0), a(1)});
    case llvm::Intrinsic::ctpop: return air_.popcount(a(0));
    case llvm::Intrinsic::ctlz: return air_.clz(a(0));
    case llvm::Intrinsic::cttz: return air_.ctz(a(0));
    case llvm::Intrinsic::bitreverse: return air_.reverse_bits(a(0));
    case llvm::Intrinsic::smin: return air_.integer("min", true, {a(0), a(1)});
    case llvm::Intrinsic::smax: return air_.integer("max", true, {a(0), a(1)});
    case llvm::Intrinsic::umin: return air_.integer("min", false, {a(0), a(1)});
    case llvm::Intrinsic::umax: return air_.integer("max", false, {a(0), a(1)});
    case llvm::Intrinsic::abs: return air_.integer("abs", true, {a(0)});
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr: {
        // Shifts by s and width - 1 - s, then one more: no shift by the width when s is 0.
        const unsigned width = type->getScalarSizeInBits();
        llvm::Value* s = ir_.CreateAnd(a(2), llvm::ConstantInt::get(type, width - 1));
        llvm::Value* rest = ir_.CreateXor(s, llvm::ConstantInt::get(type, width - 1));
        llvm::Value* one = llvm::ConstantInt::get(type, 1);
        if (id == llvm::Intrinsic::fshl)
            return ir_.CreateOr(ir_.CreateShl(a(0), s), ir_.CreateLShr(ir_.CreateLShr(a(1), one), rest));
        return ir_.CreateOr(ir_.CreateShl(ir_.CreateShl(a(0), one), rest), ir_.CreateLShr(a(1), s));
    }
    case llvm::Intrinsic::fptosi_sat:
    case llvm::Intrinsic::fptoui_sat: {
        const bool is_signed = id == llvm::Intrinsic::fptosi_sat;
        const unsigned width = type->getScalarSizeInBits();
        if (width == 32 || width == 64)
            return air_.convert_to_int(a(0), type, is_signed);
        if (width > 32)
            return refuse();
        // Narrow results: saturate at 32 bits, then at the width.
        llvm::Type* i32 = ir_.getInt32Ty();
        llvm::Value* v = air_.convert_to_int(a(0), i32, is_signed);
        if (is_signed) {
            v = air_.integer("min", true, {v, ir_.getInt32((1u << (width - 1)) - 1)});
            v = air_.integer("max", true, {v, ir_.getInt32(~0u << (width - 1))});
        } else {
            v = air_.integer("min", false, {v, ir_.getInt32((1u << width) - 1)});
        }
        return ir_.CreateTrunc(v, type);
    }
    case llvm::Intrinsic::bswap:
    case llvm::Intrinsic::uadd_with_overflow:
    case llvm::Intrinsic::usub_with_overflow:
    case llvm::Intrinsic::sadd_with_overflow:
    case llvm::Intrinsic::ssub_with_overflow:
    case llvm::Intrinsic::umul_with_overflow:
    case llvm::Intrinsic::smul_with_overflow:
    case llvm::Intrinsic::uadd_sat:
    case llvm::Intrinsic::usub_sat:
    case llvm::Intrinsic::sadd_sat:
    case llvm::Intrinsic::ssub_sat: return nullptr;
    default: return refuse();
    }
}

} // namespace dmsh
