// Guarantees: behind a branch on a condition, a select on the same condition is the operand that the branch
// has chosen. Guarded instructions lift to selects between the new and the old value of a register, guarded
// effects to branches; where both stand under one guard, addresses and handles must be seen without the
// select in between. Keeps: blocks and branches; only uses of selects change. Linear in selects and their
// uses.
#include "compiler/passes/passes.h"
#include <llvm/IR/Dominators.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

namespace dmsh {
namespace {

using namespace llvm::PatternMatch;

// Calls visit(select, condition is negated) for each select on `condition` or on its negation.
template <class Visit>
void for_each_select(llvm::Value* condition, bool negated, unsigned depth, Visit visit) {
    for (llvm::User* user : condition->users()) {
        if (auto* select = llvm::dyn_cast<llvm::SelectInst>(user);
            select && select->getCondition() == condition)
            visit(select, negated);
        else if (depth && match(user, m_Not(m_Specific(condition))))
            for_each_select(user, !negated, depth - 1, visit);
    }
}

} // namespace

Result<void> resolve_guarded_selects(ShaderModule& shader) {
    llvm::DominatorTree tree(*shader.main);
    for (llvm::BasicBlock& block : *shader.main) {
        auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
        if (!branch || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1))
            continue;
        llvm::Value* condition = branch->getCondition();
        bool negated = false;
        llvm::Value* inner = nullptr;
        if (match(condition, m_Not(m_Value(inner)))) {
            condition = inner;
            negated = true;
        }
        if (llvm::isa<llvm::Constant>(condition))
            continue;
        llvm::SmallVector<std::pair<llvm::SelectInst*, bool>, 16> selects;
        for_each_select(condition, false, 1,
                        [&](llvm::SelectInst* s, bool n) { selects.emplace_back(s, n); });
        for (const auto& [select, inverse] : selects)
            for (const unsigned successor : {0u, 1u}) {
                const bool holds = (successor == 0) != negated;
                llvm::Value* chosen = holds != inverse ? select->getTrueValue() : select->getFalseValue();
                if (chosen != select)
                    llvm::replaceDominatedUsesWith(
                        select, chosen, tree, llvm::BasicBlockEdge(&block, branch->getSuccessor(successor)));
            }
    }
    return {};
}

} // namespace dmsh
