// Guarantees: accesses that follow each other and choose among the same bindings by the same number share one switch (the words of a wide
// load, an array of blocks). Keeps: the order of effects; only reads move, and only across code that neither writes nor waits.
#include "compiler/lift/intrinsics.h"
#include "compiler/passes/passes.h"
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/IRBuilder.h>

namespace dmsh {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

// The switch whose cases are all that leads to `tail`, each by one block of its own, in the order of its successors; null: none.
llvm::SwitchInst* switch_into(BasicBlock* tail, llvm::SmallVectorImpl<BasicBlock*>& cases) {
    cases.clear();
    BasicBlock* head = nullptr;
    for (BasicBlock* from : llvm::predecessors(tail)) {
        BasicBlock* above = from->getSinglePredecessor();
        if (!above || from->getSingleSuccessor() != tail || (head && above != head))
            return nullptr;
        head = above;
    }
    auto* sw = head ? llvm::dyn_cast<llvm::SwitchInst>(head->getTerminator()) : nullptr;
    if (!sw || sw->getNumSuccessors() != pred_size(tail))
        return nullptr;
    for (unsigned k = 0; k < sw->getNumSuccessors(); ++k) {
        if (sw->getSuccessor(k)->getSingleSuccessor() != tail || llvm::is_contained(cases, sw->getSuccessor(k)))
            return nullptr;
        cases.push_back(sw->getSuccessor(k));
    }
    return sw;
}

bool same_number(const Value* a, const Value* b) {
    if (a == b)
        return true;
    const auto *x = llvm::dyn_cast<llvm::BinaryOperator>(a), *y = llvm::dyn_cast<llvm::BinaryOperator>(b);
    return x && y && x->isIdenticalTo(y);
}

bool moves(const Instruction& i) {
    if (i.mayHaveSideEffects())
        return false;
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    return !call || !call->isConvergent();
}

// Merges the switch that ends `tail` into the one that leads there.
bool merge(BasicBlock* tail) {
    llvm::SmallVector<BasicBlock*, 16> first, second;
    auto* next = llvm::dyn_cast<llvm::SwitchInst>(tail->getTerminator());
    if (!next)
        return false;
    llvm::SwitchInst* before = switch_into(tail, first);
    BasicBlock* end = next->getSuccessor(0)->getSingleSuccessor();
    if (!before || !end || switch_into(end, second) != next || first.size() != second.size() ||
        !same_number(before->getCondition(), next->getCondition()))
        return false;
    for (auto a = before->case_begin(), b = next->case_begin(); a != before->case_end(); ++a, ++b)
        if (a->getCaseValue() != b->getCaseValue() || a->getSuccessorIndex() != b->getSuccessorIndex())
            return false;
    for (Instruction& i : *tail)
        if (!llvm::isa<llvm::PHINode>(i) && !i.isTerminator() && !moves(i))
            return false;
    // What the second cases read of the tail has to stand before the first switch: additions to what is there already.
    llvm::SmallSetVector<Instruction*, 16> hoisted;
    for (BasicBlock* c : second)
        for (Instruction& i : *c) {
            if (i.isTerminator())
                continue;
            if (llvm::isa<llvm::PHINode>(i) || !moves(i))
                return false;
            for (Value* operand : i.operands())
                if (auto* from = llvm::dyn_cast<Instruction>(operand); from && from->getParent() == tail)
                    hoisted.insert(from);
        }
    for (size_t k = 0; k < hoisted.size(); ++k) { // grows
        if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst>(hoisted[k]))
            return false;
        for (Value* operand : hoisted[k]->operands())
            if (auto* from = llvm::dyn_cast<Instruction>(operand); from && from->getParent() == tail)
                hoisted.insert(from);
    }
    for (Instruction& i : llvm::make_early_inc_range(*tail))
        if (hoisted.count(&i))
            i.moveBefore(before);
    for (size_t k = 0; k < first.size(); ++k)
        for (Instruction& i : llvm::make_early_inc_range(*second[k]))
            if (!i.isTerminator())
                i.moveBefore(first[k]->getTerminator());
    // The end's phis come to the tail, then everything else of the end.
    Instruction* after_phis = tail->getFirstNonPHI();
    while (auto* phi = llvm::dyn_cast<llvm::PHINode>(&end->front())) {
        for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k)
            for (size_t c = 0; c < second.size(); ++c)
                if (phi->getIncomingBlock(k) == second[c])
                    phi->setIncomingBlock(k, first[c]);
        phi->moveBefore(after_phis);
    }
    next->eraseFromParent();
    tail->getInstList().splice(tail->end(), end->getInstList());
    end->replaceAllUsesWith(tail); // as the incoming block of the phis behind it
    for (BasicBlock* c : second)
        c->eraseFromParent();
    end->eraseFromParent();
    return true;
}

} // namespace

Result<void> merge_switches(ShaderModule& shader) {
    for (auto it = shader.main->begin(); it != shader.main->end();) {
        BasicBlock* tail = &*it;
        if (!merge(tail))
            ++it; // else the tail has a new end, which may be another switch
        else
            it = tail->getIterator();
    }
    return {};
}

} // namespace dmsh
