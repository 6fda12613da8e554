// Guarantees: behind a branch on a condition, a select on the same condition is the operand that the branch
// has chosen. Guarded instructions lift to selects between the new and the old value of a register, guarded
// effects to branches; where both stand under one guard, addresses and handles must be seen without the
// select in between. Keeps: blocks and branches; only operands change. One walk down the dominator tree,
// linear in instructions.
#include "compiler/passes/passes.h"
#include <llvm/IR/Dominators.h>
#include <llvm/IR/PatternMatch.h>

namespace dmsh {
namespace {

using namespace llvm::PatternMatch;

class GuardWalk {
  public:
    explicit GuardWalk(llvm::Function& f) : tree_(f) {}

    void run() {
        struct Frame {
            llvm::DomTreeNode* node;
            llvm::DomTreeNode::iterator child;
            size_t mark; // facts_ that hold outside of this block
        };
        std::vector<Frame> stack;
        const auto enter = [&](llvm::DomTreeNode* node) {
            stack.push_back({node, node->begin(), facts_.size()});
            visit(*node->getBlock());
        };
        enter(tree_.getRootNode());
        while (!stack.empty()) {
            Frame& frame = stack.back();
            if (frame.child != frame.node->end()) {
                enter(*frame.child++);
                continue;
            }
            forget(frame.mark);
            stack.pop_back();
        }
    }

  private:
    // What the edge from `from` to `to` tells of the branch's condition.
    bool learn(llvm::BasicBlock* from, llvm::BasicBlock* to) {
        auto* branch = llvm::dyn_cast<llvm::BranchInst>(from->getTerminator());
        if (!branch || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1))
            return false;
        llvm::Value* condition = branch->getCondition();
        bool holds = branch->getSuccessor(0) == to;
        strip_not(condition, holds);
        if (llvm::isa<llvm::Constant>(condition) || !known_.try_emplace(condition, holds).second)
            return false;
        facts_.push_back(condition);
        return true;
    }
    void forget(size_t mark) {
        for (; facts_.size() > mark; facts_.pop_back())
            known_.erase(facts_.back());
    }
    static void strip_not(llvm::Value*& condition, bool& holds) {
        llvm::Value* inner = nullptr;
        while (match(condition, m_Not(m_Value(inner)))) {
            condition = inner;
            holds = !holds;
        }
    }

    llvm::Value* resolve(llvm::Value* v) const {
        while (auto* select = llvm::dyn_cast<llvm::SelectInst>(v)) {
            llvm::Value* condition = select->getCondition();
            bool holds = true;
            strip_not(condition, holds);
            const auto it = known_.find(condition);
            if (it == known_.end())
                break;
            llvm::Value* chosen = it->second == holds ? select->getTrueValue() : select->getFalseValue();
            if (chosen == v)
                break; // unreachable code may refer to itself
            v = chosen;
        }
        return v;
    }

    void visit(llvm::BasicBlock& block) {
        if (llvm::BasicBlock* from = block.getSinglePredecessor())
            learn(from, &block);
        for (llvm::Instruction& inst : block) {
            if (llvm::isa<llvm::PHINode>(inst) || known_.empty())
                continue;
            for (llvm::Use& use : inst.operands())
                if (llvm::Value* better = resolve(use); better != use)
                    use.set(better);
        }
        for (llvm::BasicBlock* to : llvm::successors(&block)) {
            if (!llvm::isa<llvm::PHINode>(to->front()))
                continue;
            const size_t mark = facts_.size();
            learn(&block, to);
            for (llvm::PHINode& phi : to->phis())
                for (unsigned k = 0; k < phi.getNumIncomingValues(); ++k)
                    if (phi.getIncomingBlock(k) == &block)
                        phi.setIncomingValue(k, resolve(phi.getIncomingValue(k)));
            forget(mark);
        }
    }

    llvm::DominatorTree tree_;
    llvm::DenseMap<llvm::Value*, bool> known_;
    std::vector<llvm::Value*> facts_;
};

} // namespace

Result<void> resolve_guarded_selects(ShaderModule& shader) {
    GuardWalk(*shader.main).run();
    return {};
}

} // namespace dmsh
