// Guarantees for emit/spirv (pipeline.h lists what may remain): no directed rounding, no 64-bit reciprocal
// seeds, no implicit level of detail outside the fragment stage. Keeps: everything that SPIR-V has a form of,
// atomics and lane operations included; those the emitter writes itself.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/pipeline.h"

namespace dmsh {
namespace {

// MUFU.RCP64H and RSQ64H give the high word of 1/x and 1/sqrt(x) of a double with a zero low word, to about
// 20 bits; the code around refines it. The upper word of the correctly rounded quotient is that value.
llvm::Value* high_word_seed(llvm::IRBuilder<>& b, bool square_root, llvm::Value* high) {
    llvm::Value* bits = b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32);
    llvm::Value* x = b.CreateBitCast(bits, b.getDoubleTy());
    if (square_root)
        x = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    llvm::Value* r = b.CreateFDiv(llvm::ConstantFP::get(b.getDoubleTy(), 1.0), x);
    return b.CreateTrunc(b.CreateLShr(b.CreateBitCast(r, b.getInt64Ty()), 32), b.getInt32Ty());
}

} // namespace

Result<void> legalize_vulkan(ShaderModule& shader) {
    if (auto r = expand_rounding(shader); !r)
        return r;
    const bool fragment = shader.interface.stage == Stage::fragment;
    for (const auto& [call, id] : collect_calls(*shader.main)) {
        llvm::IRBuilder<> b(call);
        if (id == Intrinsic::mufu64h) {
            call->replaceAllUsesWith(
                high_word_seed(b, constant_u32(call->getArgOperand(0)) == 1u, call->getArgOperand(1)));
            call->eraseFromParent();
        } else if (id == Intrinsic::btex_sample && !fragment) {
            // Other stages have no derivatives: the hardware samples the base level, a bias counts from
            // there.
            TexDesc desc = TexDesc::unpack(*constant_u32(call->getArgOperand(4)));
            if (desc.lod == TexDesc::implicit)
                desc.lod = TexDesc::zero;
            else if (desc.lod == TexDesc::bias)
                desc.lod = TexDesc::level;
            call->setArgOperand(4, b.getInt32(desc.pack()));
        }
    }
    return {};
}

} // namespace dmsh
