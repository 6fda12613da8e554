// Guarantees: no unreachable block, no trivial phi, no repeated pure or read-only operation that an earlier
// one dominates. Keeps: the control flow as lifted, every effect, every cross-lane operation in its place (no
// hoisting, no GVN, no jump threading: numerics.md). Dead code goes in remove_dead_code.
//
// LLVM's EarlyCSE does the same and took a quarter of a shader's whole time, most of it in asking
// simplifyInstruction about instructions without a constant operand and in analyses of a target that we have
// not; this walk asks only where something can come of it.
#include "compiler/passes/combine.h"
#include "compiler/passes/passes.h"
#include <llvm/ADT/ScopedHashTable.h>
#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Support/RecyclingAllocator.h>
#include <llvm/Transforms/Utils/Local.h>
#include <memory>

namespace dmsh {
namespace {

// Two instructions are one key when they compute the same from the same operands; a commutative one also with
// its first two operands exchanged.
struct SameOperation {
    static llvm::Instruction* getEmptyKey() { return llvm::DenseMapInfo<llvm::Instruction*>::getEmptyKey(); }
    static llvm::Instruction* getTombstoneKey() {
        return llvm::DenseMapInfo<llvm::Instruction*>::getTombstoneKey();
    }

    static unsigned getHashValue(const llvm::Instruction* inst) {
        size_t h = inst->getOpcode() * 0x9e3779b97f4a7c15u;
        const auto mix = [&h](size_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15u, h ^= h >> 29; };
        const unsigned n = inst->getNumOperands();
        unsigned first = 0;
        if (inst->isCommutative() && n >= 2) {
            const auto a = reinterpret_cast<size_t>(inst->getOperand(0)),
                       b = reinterpret_cast<size_t>(inst->getOperand(1));
            mix(a < b ? a : b);
            mix(a < b ? b : a);
            first = 2;
        }
        for (unsigned i = first; i < n; ++i)
            mix(reinterpret_cast<size_t>(inst->getOperand(i)));
        mix(reinterpret_cast<size_t>(inst->getType()));
        return static_cast<unsigned>(h >> 32);
    }

    static bool isEqual(const llvm::Instruction* a, const llvm::Instruction* b) {
        if (a == b)
            return true;
        if (a == getEmptyKey() || a == getTombstoneKey() || b == getEmptyKey() || b == getTombstoneKey())
            return false;
        if (a->isIdenticalToWhenDefined(b))
            return true;
        if (a->getOpcode() != b->getOpcode() || a->getType() != b->getType() || !a->isCommutative() ||
            a->getNumOperands() != b->getNumOperands() || a->getOperand(0) != b->getOperand(1) ||
            a->getOperand(1) != b->getOperand(0))
            return false;
        for (unsigned i = 2; i < a->getNumOperands(); ++i)
            if (a->getOperand(i) != b->getOperand(i))
                return false;
        return true;
    }
};

struct Available {
    llvm::Instruction* inst = nullptr;
    unsigned generation = 0; // of memory, where the value was read
};

enum class Kind : uint8_t { pure, read, other };

Kind kind_of(const llvm::Instruction& inst) {
    if (const auto* c = llvm::dyn_cast<llvm::CallInst>(&inst)) {
        if (c->isConvergent() || c->getType()->isVoidTy())
            return Kind::other;
        return c->doesNotAccessMemory() ? Kind::pure : c->onlyReadsMemory() ? Kind::read : Kind::other;
    }
    return llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CastInst, llvm::CmpInst, llvm::SelectInst,
                     llvm::ExtractElementInst, llvm::InsertElementInst, llvm::ShuffleVectorInst,
                     llvm::ExtractValueInst, llvm::InsertValueInst>(inst)
               ? Kind::pure
               : Kind::other;
}

// Can simplifyInstruction make something of it? Only with a constant, with an operand twice, or where one
// conversion or insertion undoes another.
bool worth_simplifying(const llvm::Instruction& inst) {
    if (llvm::isa<llvm::PHINode, llvm::SelectInst>(inst))
        return true;
    if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&inst))
        return llvm::isa<llvm::CastInst, llvm::Constant>(cast->getOperand(0));
    if (llvm::isa<llvm::ExtractElementInst, llvm::ExtractValueInst>(inst))
        return llvm::isa<llvm::InsertElementInst, llvm::InsertValueInst, llvm::ShuffleVectorInst,
                         llvm::Constant>(inst.getOperand(0));
    if (const auto* c = llvm::dyn_cast<llvm::IntrinsicInst>(&inst))
        return llvm::any_of(c->args(), [](const llvm::Use& u) { return llvm::isa<llvm::Constant>(u); });
    if (!llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CmpInst>(inst))
        return false;
    if (inst.getNumOperands() == 2 && inst.getOperand(0) == inst.getOperand(1))
        return true;
    for (const llvm::Use& operand : inst.operands())
        if (llvm::isa<llvm::Constant>(operand) ||
            (inst.getType()->isIntegerTy(1) && llvm::isa<llvm::BinaryOperator>(operand)))
            return true;
    return false;
}

class Cleanup {
  public:
    explicit Cleanup(llvm::Function& f)
        : tree_(f), simplify_(f.getParent()->getDataLayout(), nullptr, &tree_) {}

    void run() {
        struct Visit {
            llvm::DomTreeNode* node;
            llvm::DomTreeNode::iterator child;
            unsigned generation; // at the end of the block: what its children start from
            Table::ScopeTy scope;
            Visit(Table& table, llvm::DomTreeNode* n) : node(n), child(n->begin()), generation(0), scope(table) {}
        };
        // A list, since a scope stays where it was made.
        std::vector<std::unique_ptr<Visit>> stack;
        const auto enter = [&](llvm::DomTreeNode* node, unsigned generation) {
            stack.push_back(std::make_unique<Visit>(table_, node));
            // Where paths meet, another one may have written.
            if (!node->getBlock()->getSinglePredecessor())
                generation = ++last_generation_;
            generation_ = generation;
            block(*node->getBlock());
            stack.back()->generation = generation_;
        };
        enter(tree_.getRootNode(), 0);
        while (!stack.empty()) {
            Visit& top = *stack.back();
            if (top.child == top.node->end())
                stack.pop_back();
            else
                enter(*top.child++, top.generation);
        }
    }

  private:
    using Memory = llvm::RecyclingAllocator<llvm::BumpPtrAllocator,
                                            llvm::ScopedHashTableVal<llvm::Instruction*, Available>>;
    using Table = llvm::ScopedHashTable<llvm::Instruction*, Available, SameOperation, Memory>;

    // Where a conditional branch alone leads here, its condition is known in everything that is dominated.
    void assume_branch(llvm::BasicBlock& here) {
        llvm::BasicBlock* from = here.getSinglePredecessor();
        auto* branch = from ? llvm::dyn_cast<llvm::BranchInst>(from->getTerminator()) : nullptr;
        if (!branch || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1))
            return;
        llvm::Value* condition = branch->getCondition();
        if (!llvm::isa<llvm::Instruction>(condition) || condition->hasOneUse())
            return;
        const bool value = branch->getSuccessor(0) == &here;
        llvm::replaceDominatedUsesWith(condition, llvm::ConstantInt::getBool(condition->getContext(), value),
                                       tree_, llvm::BasicBlockEdge(from, &here));
    }

    void block(llvm::BasicBlock& b) {
        assume_branch(b);
        for (llvm::Instruction& inst : llvm::make_early_inc_range(b)) {
            const Kind kind = kind_of(inst);
            if (kind != Kind::other && inst.use_empty()) {
                inst.eraseFromParent();
                continue;
            }
            if (worth_simplifying(inst))
                if (llvm::Value* v = llvm::simplifyInstruction(&inst, simplify_); v && v != &inst) {
                    inst.replaceAllUsesWith(v);
                    inst.eraseFromParent();
                    continue;
                }
            if (kind == Kind::other) {
                if (inst.mayWriteToMemory())
                    generation_ = ++last_generation_;
                continue;
            }
            llvm::Instruction* kept = &inst;
            if (llvm::Value* v = kind == Kind::pure ? combined(inst) : nullptr) {
                inst.replaceAllUsesWith(v);
                inst.eraseFromParent();
                kept = llvm::dyn_cast<llvm::Instruction>(v);
                if (!kept)
                    continue;
            }
            const Available earlier = table_.lookup(kept);
            if (earlier.inst && (kind == Kind::pure || earlier.generation == generation_)) {
                earlier.inst->andIRFlags(kept);
                kept->replaceAllUsesWith(earlier.inst);
                kept->eraseFromParent();
            } else {
                table_.insert(kept, {kept, generation_});
            }
        }
    }

    llvm::DominatorTree tree_;
    llvm::SimplifyQuery simplify_;
    Table table_;
    unsigned generation_ = 0, last_generation_ = 0;
};

} // namespace

Result<void> cleanup(ShaderModule& shader) {
    llvm::removeUnreachableBlocks(*shader.main);
    Cleanup(*shader.main).run();
    return {};
}

} // namespace dmsh
