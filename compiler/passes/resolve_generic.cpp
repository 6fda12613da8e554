// Guarantees: no access through a generic address is left. Guest ABIs with windows for shared and local memory (cuda) compare the address
// with them at run time: each access becomes a switch over the three spaces, of which those that the kernel has not are left out. Keeps:
// everything else.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"

namespace dmsh {
namespace {

constexpr unsigned kWindowBits = 24; // a window is 16 MiB of addresses below 4 GiB

// The dictionary lists the accesses of the spaces in one order.
Intrinsic in_space(Intrinsic generic, Intrinsic first) {
    return static_cast<Intrinsic>(static_cast<unsigned>(generic) - static_cast<unsigned>(Intrinsic::generic_load_8) +
                                  static_cast<unsigned>(first));
}

} // namespace

Result<void> resolve_generic(ShaderModule& shader) {
    const GuestAbi& abi = *shader.input.abi;
    if (abi.shared_window_base == kNone)
        return {};
    for (const auto& found : collect_calls(*shader.main)) {
        llvm::CallInst* const call = found.first; // names of their own: lambdas may not capture structured bindings
        const Intrinsic id = found.second;
        if (id < Intrinsic::generic_load_8 || id > Intrinsic::generic_store_32)
            continue;
        llvm::IRBuilder<> b(call);
        llvm::Value* address = call->getArgOperand(0);
        llvm::Value* window = b.CreateLShr(address, kWindowBits);
        llvm::SmallVector<Intrinsic, 3> spaces{in_space(id, Intrinsic::global_load_8)};
        llvm::Value* selector = b.getInt32(0);
        const auto add = [&](bool present, uint32_t base, Intrinsic first) {
            if (!present)
                return;
            llvm::Value* word = dmsh::call(b, Intrinsic::cbuf_load, {b.getInt32(abi.driver_bank), b.getInt32(base)});
            llvm::Value* inside = b.CreateICmpEQ(window, b.CreateZExt(b.CreateLShr(word, kWindowBits), b.getInt64Ty()));
            selector = b.CreateSelect(inside, b.getInt32(static_cast<uint32_t>(spaces.size())), selector);
            spaces.push_back(in_space(id, first));
        };
        add(shader.input.shared_bytes != 0, abi.shared_window_base, Intrinsic::shared_load_8);
        add(shader.input.local_bytes != 0, abi.local_window_base, Intrinsic::local_load_8);
        llvm::Value* offset = b.CreateAnd(b.CreateTrunc(address, b.getInt32Ty()), (1u << kWindowBits) - 1);
        switch_over(call, selector, static_cast<unsigned>(spaces.size()), [&](unsigned k, llvm::IRBuilder<>& in) {
            llvm::SmallVector<llvm::Value*, 2> operands{k == 0 ? address : offset};
            if (call->arg_size() > 1)
                operands.push_back(call->getArgOperand(1));
            llvm::CallInst* access = dmsh::call(in, spaces[k], operands);
            access->setMetadata("dmsh.pc", call->getMetadata("dmsh.pc"));
            return access;
        });
    }
    return {};
}

} // namespace dmsh
