// Guarantees: (interp * w) * rcp(w) with w = frag_coord.w is the interpolated value itself.
// IPA reads a value divided by w and the code multiplies by its own 1 / frag_coord.w to undo that;
// attr_interp is defined as what that product means, and the lifter put the factor w in only to keep IPA's
// own result right. Both factors come from one word, so taking them out is exact by definition; keeping them
// would add two roundings that the guest's hardware does not make.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"

namespace dmsh {
namespace {

constexpr uint32_t kPositionW = 0x7c; // attribute byte address of frag_coord.w

llvm::Value* strip(llvm::Value* v) {
    for (;;) {
        if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(v))
            v = cast->getOperand(0);
        else if (auto* call = llvm::dyn_cast<llvm::CallInst>(v);
                 call && intrinsic_of(*call) == Intrinsic::ftz)
            v = call->getArgOperand(0);
        else
            return v;
    }
}

bool is_position_w(llvm::Value* v) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(strip(v));
    if (!call)
        return false;
    const auto id = intrinsic_of(*call);
    if (id == Intrinsic::attr_interp)
        return constant_u32(call->getArgOperand(0)) == kPositionW;
    return id == Intrinsic::attr_load && constant_u32(call->getArgOperand(0)) == kPositionW;
}

bool is_reciprocal_w(llvm::Value* v) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(strip(v));
    return call && intrinsic_of(*call) == Intrinsic::mufu &&
           constant_u32(call->getArgOperand(0)) == static_cast<uint32_t>(MufuOp::rcp) &&
           is_position_w(call->getArgOperand(1));
}

llvm::CallInst* interpolated_times_w(llvm::Value* v) {
    auto* mul = llvm::dyn_cast<llvm::BinaryOperator>(strip(v));
    if (!mul || mul->getOpcode() != llvm::Instruction::FMul)
        return nullptr;
    for (unsigned k : {0u, 1u}) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(strip(mul->getOperand(k)));
        if (call && intrinsic_of(*call) == Intrinsic::attr_interp && is_position_w(mul->getOperand(1 - k)))
            return call;
    }
    return nullptr;
}

} // namespace

Result<void> simplify_perspective(ShaderModule& shader) {
    if (shader.interface.stage != Stage::fragment)
        return {};
    for (llvm::BasicBlock& block : *shader.main)
        for (llvm::Instruction& inst : llvm::make_early_inc_range(block)) {
            if (inst.getOpcode() != llvm::Instruction::FMul)
                continue;
            for (unsigned k : {0u, 1u}) {
                llvm::CallInst* value = interpolated_times_w(inst.getOperand(k));
                if (!value || !is_reciprocal_w(inst.getOperand(1 - k)))
                    continue;
                inst.replaceAllUsesWith(value);
                break;
            }
        }
    return {};
}

} // namespace dmsh
