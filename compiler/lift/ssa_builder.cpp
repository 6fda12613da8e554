// SSA construction on the fly (see ssa_builder.h).
#include "compiler/lift/ssa_builder.h"

namespace dmsh {

SsaBuilder::SsaBuilder(llvm::LLVMContext& context)
    : zero32_(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 0)), zero1_(llvm::ConstantInt::getFalse(context)) {}

SsaBuilder::Block SsaBuilder::add_block(llvm::BasicBlock* block, uint32_t expected) {
    BlockState& state = blocks_.emplace_back();
    state.block = block;
    state.expected = expected;
    return static_cast<Block>(blocks_.size() - 1);
}

void SsaBuilder::add_edge(Block from, Block to) {
    BlockState& state = blocks_[to];
    state.predecessors.push_back(from);
    if (state.predecessors.size() < state.expected)
        return;
    for (const auto& [variable, phi] : state.incomplete)
        pending_.push_back({to, variable, phi});
    state.incomplete.clear();
    complete();
}

void SsaBuilder::write(Block b, Variable v, llvm::Value* value) {
    Chunk*& chunk = blocks_[b].values[v / kChunk];
    if (!chunk) {
        chunks_.push_back(std::make_unique<Chunk>());
        chunk = chunks_.back().get();
        chunk->fill(nullptr);
    }
    (*chunk)[v % kChunk] = value;
}

llvm::Value* SsaBuilder::resolve(llvm::Value* value) const {
    if (!llvm::isa<llvm::PHINode>(value))
        return value;
    for (auto it = replaced_.find(value); it != replaced_.end(); it = replaced_.find(value))
        value = it->second;
    return value;
}

llvm::PHINode* SsaBuilder::new_phi(Block b, Variable v) {
    llvm::BasicBlock* block = blocks_[b].block;
    auto* phi = llvm::PHINode::Create(zero(v)->getType(), blocks_[b].expected);
    if (block->empty())
        block->getInstList().push_back(phi);
    else
        phi->insertBefore(&block->front());
    phis_.push_back(phi);
    return phi;
}

// The value at the end of `b`, from the nearest definition up the chain of single predecessors; at a join a phi is made there, whose
// operands are still to be filled. The blocks of the chain remember the answer.
llvm::Value* SsaBuilder::lookup(Block b, Variable v) {
    llvm::Value* value = nullptr;
    llvm::SmallVector<Block, 16> chain;
    for (;;) {
        BlockState& state = blocks_[b];
        if (const Chunk* chunk = state.values[v / kChunk])
            if ((value = (*chunk)[v % kChunk])) {
                value = resolve(value);
                break;
            }
        chain.push_back(b);
        if (state.expected == 0) {
            value = zero(v);
            break;
        }
        if (state.expected == 1 && state.predecessors.size() == 1) {
            b = state.predecessors[0];
            continue;
        }
        llvm::PHINode* phi = new_phi(b, v);
        if (state.predecessors.size() < state.expected)
            state.incomplete.push_back({v, phi});
        else
            pending_.push_back({b, v, phi});
        value = phi;
        break;
    }
    for (Block c : chain)
        write(c, v, value);
    return value;
}

llvm::Value* SsaBuilder::read(Block b, Variable v) {
    llvm::Value* value = lookup(b, v);
    if (pending_.empty())
        return value;
    complete();
    return resolve(value);
}

// Fills the operands of pending phis; looking them up may make further ones.
void SsaBuilder::complete() {
    llvm::SmallVector<llvm::PHINode*, 16> filled;
    while (!pending_.empty()) {
        const Pending p = pending_.back();
        pending_.pop_back();
        // `blocks_` does not grow here; lookup() only writes values.
        for (Block from : blocks_[p.block].predecessors)
            p.phi->addIncoming(lookup(from, p.variable), blocks_[from].block);
        filled.push_back(p.phi);
    }
    // Last filled is tried first: a phi that feeds another is simplified before it. Users of a removed phi are tried again.
    while (!filled.empty())
        remove_if_trivial(filled.pop_back_val(), filled);
}

// Replaces a phi all of whose operands are itself or one other value. It stays in its block without uses until finish(), because
// tables may still name it.
void SsaBuilder::remove_if_trivial(llvm::PHINode* phi, llvm::SmallVectorImpl<llvm::PHINode*>& retry) {
    if (phi->getNumIncomingValues() == 0)
        return; // incomplete, or replaced already
    llvm::Value* same = nullptr;
    for (llvm::Value* value : phi->incoming_values()) {
        if (value == phi || value == same)
            continue;
        if (same)
            return;
        same = value;
    }
    if (!same)
        same = llvm::Constant::getNullValue(phi->getType()); // only reads itself: never written
    for (llvm::User* user : phi->users())
        if (auto* other = llvm::dyn_cast<llvm::PHINode>(user); other && other != phi)
            retry.push_back(other);
    phi->replaceAllUsesWith(same);
    replaced_[phi] = same;
    while (phi->getNumIncomingValues())
        phi->removeIncomingValue(phi->getNumIncomingValues() - 1, false);
}

void SsaBuilder::finish() {
    for (llvm::PHINode* phi : phis_)
        if (replaced_.count(phi))
            phi->eraseFromParent();
    phis_.clear();
    replaced_.clear();
}

} // namespace dmsh
