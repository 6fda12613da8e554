// Guarantees: every instruction left is an effect, a terminator, or feeds one (T-010): an atomic whose result
// is unused stays with the whole chain that feeds it. Cross-lane operations without a use go too, barriers
// stay. Keeps: blocks and branches. One mark and one sweep, cycles of phis included; linear in instructions.
#include "compiler/lift/intrinsics.h"
#include "compiler/passes/passes.h"
#include <llvm/ADT/SmallPtrSet.h>

namespace dmsh {
namespace {

bool is_root(const llvm::Instruction& inst) {
    if (inst.isTerminator())
        return true;
    if (const auto id = intrinsic_of(inst)) {
        const IntrinsicClass cls = intrinsic_info(*id).cls;
        // Lane operations are declared as if they wrote memory only to keep LLVM from moving them
        // (numerics.md).
        return cls == IntrinsicClass::effect || *id == Intrinsic::barrier ||
               *id == Intrinsic::warp_barrier;
    }
    return inst.mayHaveSideEffects();
}

} // namespace

Result<void> remove_dead_code(ShaderModule& shader) {
    llvm::Function& f = *shader.main;
    llvm::DenseSet<const llvm::Instruction*> live;
    live.reserve(f.getInstructionCount());
    llvm::SmallVector<llvm::Instruction*, 128> work;
    for (llvm::BasicBlock& block : f)
        for (llvm::Instruction& inst : block)
            if (is_root(inst) && live.insert(&inst).second)
                work.push_back(&inst);
    while (!work.empty())
        for (llvm::Value* operand : work.pop_back_val()->operands())
            if (auto* inst = llvm::dyn_cast<llvm::Instruction>(operand); inst && live.insert(inst).second)
                work.push_back(inst);
    llvm::SmallVector<llvm::Instruction*, 128> dead;
    for (llvm::BasicBlock& block : f)
        for (llvm::Instruction& inst : block)
            if (!live.contains(&inst)) {
                inst.dropAllReferences();
                dead.push_back(&inst);
            }
    for (llvm::Instruction* inst : dead)
        inst->eraseFromParent();
    return {};
}

} // namespace dmsh
