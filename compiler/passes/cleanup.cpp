// Guarantees: no unreachable block, no trivial phi, no repeated pure or read-only operation that an earlier
// one dominates. Keeps: the control flow as lifted, every effect, every cross-lane operation in its place (no
// hoisting, no GVN, no jump threading: numerics.md). Dead code goes in remove_dead_code.
#include "compiler/passes/passes.h"
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Utils/Local.h>

namespace dmsh {

Result<void> cleanup(ShaderModule& shader) {
    llvm::Function& f = *shader.main;
    llvm::removeUnreachableBlocks(f);
    // Only the analyses that EarlyCSE asks for: registering the whole PassBuilder costs more than the pass.
    llvm::FunctionAnalysisManager fam;
    fam.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    fam.registerPass([] { return llvm::DominatorTreeAnalysis(); });
    fam.registerPass([] { return llvm::AssumptionAnalysis(); });
    fam.registerPass([] { return llvm::TargetLibraryAnalysis(); });
    fam.registerPass([] { return llvm::TargetIRAnalysis(); });
    llvm::EarlyCSEPass(/*UseMemorySSA=*/false).run(f, fam);
    return {};
}

} // namespace dmsh
