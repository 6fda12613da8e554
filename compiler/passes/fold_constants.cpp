// Guarantees: no read of the embedded constants at a constant offset inside them is left; its value stands in
// its place. The constants are part of the code area, hence of the program's key (S-003), so they cannot
// change under a translation. Keeps: reads at run-time offsets and reads past the end, which stay loads of
// the `constants` binding.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"
#include <cstring>

namespace dmsh {

Result<void> fold_constants(ShaderModule& shader) {
    llvm::Function* load = shader.module->getFunction(intrinsic_info(Intrinsic::cbuf_load).name);
    if (!load)
        return {};
    const std::span<const uint8_t> data = shader.input.constants;
    for (llvm::User* user : llvm::make_early_inc_range(load->users())) {
        auto* call = llvm::cast<llvm::CallInst>(user);
        const auto bank = constant_u32(call->getArgOperand(0)), offset = constant_u32(call->getArgOperand(1));
        if (!bank || !offset || *bank != shader.input.abi->constants_bank || data.size() < 4 ||
            *offset > data.size() - 4)
            continue;
        uint32_t word;
        std::memcpy(&word, data.data() + *offset, 4);
        call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), word));
        call->eraseFromParent();
    }
    return {};
}

} // namespace dmsh
