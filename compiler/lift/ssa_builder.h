// SsaBuilder: guest registers, predicates and flags as SSA values, block by block, phis only where they are needed.
#pragma once
#include "compiler/lift/llvm_headers.h"
#include <array>
#include <memory>

namespace dmsh {

// Variables: R0..R254 (i32), P0..P6 (i1), the condition code's flags (i1); on sm_86 then UR0..UR62 (i32) and UP0..UP6 (i1); last what the
// last reduction at a barrier gave (i32).
using Variable = uint16_t;
constexpr Variable kFirstPredicate = 255;
constexpr Variable kFlagZ = 262, kFlagS = 263, kFlagC = 264, kFlagO = 265;
constexpr Variable kFirstUniform = 266;
constexpr Variable kFirstUniformPredicate = 329;
constexpr Variable kBarrierResult = 336;
constexpr Variable kVariableCount = 337;
constexpr bool is_word(Variable v) {
    return v < kFirstPredicate || (v >= kFirstUniform && v < kFirstUniformPredicate) || v == kBarrierResult;
}

// Method of Braun et al. (2013): a block is sealed once all its predecessors are filled; a read in a block that is not sealed makes an
// incomplete phi. Walks are loops, never recursion, so that deep graphs of hostile programs cannot exhaust the stack.
// Reads of variables that were never written give zero: compilers read such registers only where the value cannot matter.
class SsaBuilder {
  public:
    using Block = uint32_t;

    explicit SsaBuilder(llvm::LLVMContext& context);

    // `expected` edges will be added into this block; with 0 it is sealed at once (the entry).
    Block add_block(llvm::BasicBlock* block, uint32_t expected);
    // The terminator of `from` goes to `to`, once per call. The last expected edge seals `to`; `from` must be filled by then.
    void add_edge(Block from, Block to);
    // One edge fewer than announced; before `b` has all its edges.
    void drop_expected(Block b) { --blocks_[b].expected; }
    llvm::BasicBlock* basic_block(Block b) const { return blocks_[b].block; }

    void write(Block b, Variable v, llvm::Value* value);
    llvm::Value* read(Block b, Variable v);

    // Removes the phis that turned out to be copies. Call once, after the last edge.
    void finish();

  private:
    static constexpr unsigned kChunk = 32;
    static constexpr unsigned kChunks = (kVariableCount + kChunk - 1) / kChunk;
    using Chunk = std::array<llvm::Value*, kChunk>;
    struct BlockState {
        llvm::BasicBlock* block = nullptr;
        uint32_t expected = 0;
        llvm::SmallVector<Block, 2> predecessors;
        std::array<Chunk*, kChunks> values{};
        llvm::SmallVector<std::pair<Variable, llvm::PHINode*>, 0> incomplete;
    };

    llvm::Value* zero(Variable v) const { return is_word(v) ? zero32_ : zero1_; }
    llvm::Value* lookup(Block b, Variable v);
    llvm::PHINode* new_phi(Block b, Variable v);
    llvm::Value* resolve(llvm::Value* value) const;
    void complete();
    void remove_if_trivial(llvm::PHINode* phi, llvm::SmallVectorImpl<llvm::PHINode*>& retry);

    llvm::Constant* zero32_;
    llvm::Constant* zero1_;
    std::vector<BlockState> blocks_;
    std::vector<std::unique_ptr<Chunk>> chunks_;
    struct Pending {
        Block block;
        Variable variable;
        llvm::PHINode* phi;
    };
    std::vector<Pending> pending_;
    std::vector<llvm::PHINode*> phis_;
    llvm::DenseMap<llvm::Value*, llvm::Value*> replaced_;
};

} // namespace dmsh
