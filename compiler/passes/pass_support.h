// What several passes share: constants out of IR, places for messages, bindings, and run-time choice between
// accesses.
#pragma once
#include "compiler/lift/intrinsics.h"
#include "compiler/lift/losses.h"
#include "compiler/lift/shader_module.h"
#include <functional>

namespace dmsh {

// The value of an integer constant of at most 32 bits, zero-extended.
std::optional<uint32_t> constant_u32(const llvm::Value* v);

// Guest address of the instruction that `inst` was lifted from, as far as the lifter noted it (metadata
// "dmsh.pc"); 0 if not.
uint32_t pc_of(const llvm::Instruction& inst);

// "TEXT at 0x1a8": how passes refuse.
Error refuse(const llvm::Instruction& inst, LossCode code, const std::string& text);

std::string hex(uint64_t value);

// A 32-bit value as base + sum of terms: constants added up, everything else in `terms`.
struct OffsetSum {
    uint32_t constant = 0;
    llvm::SmallVector<llvm::Value*, 4> terms;
};

// Splits i32 additions (and ORs of disjoint bits, as the lifter's adders make none of them) into constant and
// terms.
OffsetSum split_offset(llvm::Value* v);

// Adds the terms up again with `constant`; null if there is nothing but zero.
llvm::Value* join_offset(llvm::IRBuilderBase& b, const OffsetSum& sum);

// Largest value that `v` can take, from known bits and from umin with a constant.
uint32_t max_value(const llvm::Value* v, const llvm::DataLayout& layout, unsigned depth = 6);

// Replaces `inst` by a switch over `selector` (i32): block k holds what `emit` builds for k (its value, or
// null for void instructions); every selector past the last takes the last one. `inst` is erased.
void switch_over(llvm::Instruction* inst, llvm::Value* selector, unsigned cases,
                 const std::function<llvm::Value*(unsigned, llvm::IRBuilder<>&)>& emit);

// Index of the binding for which `same` holds, or of `fresh` appended. Bindings keep the order of first use.
uint32_t find_or_add(std::vector<Binding>& bindings, const Binding& fresh,
                     const std::function<bool(const Binding&)>& same);

// All calls of dmsh.* intrinsics in reverse post-order blocks' order, collected so that the caller may
// rewrite them.
llvm::SmallVector<std::pair<llvm::CallInst*, Intrinsic>, 64> collect_calls(llvm::Function& f);

} // namespace dmsh
