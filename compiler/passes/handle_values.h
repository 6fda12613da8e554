// Value tracing of texture, sampler and image handles over SSA (T-012): one verdict per handle value.
#pragma once
#include "compiler/passes/pass_support.h"

namespace dmsh {

// A word of a constant bank; with `index`, element `index` of an array of handles that begins there.
struct HandleWord {
    uint32_t bank = 0;
    uint32_t offset = 0;
    llvm::Value* index = nullptr; // i32, in elements of `stride`
    uint32_t count = 1; // elements that the index can reach, as far as the code bounds it; ~0 = unknown
    bool operator==(const HandleWord&) const = default;
};

// One place that a handle comes from: a word, possibly ORed with a second one (B-031: order means nothing) or with constant bits, the
// sampler half as a rule (B-041).
struct HandleSource {
    HandleWord word;
    std::optional<HandleWord> other;
    uint32_t constant = 0;
    bool operator==(const HandleSource&) const = default;
};

// Verdict: no source = untraceable, with the reason; one = bound; several = choose by `selector` (i32 index into sources), or, with
// `by_value`, by which source's words equal the handle at run time (B-042).
struct HandleVerdict {
    llvm::SmallVector<HandleSource, 2> sources;
    llvm::Value* selector = nullptr;
    bool by_value = false;
    std::string reason;
};

class HandleTracer {
  public:
    HandleTracer(const GuestAbi& abi, const llvm::DataLayout& layout) : abi_(abi), layout_(layout) {}

    // The verdict on `v`; may insert phis and selects of element numbers beside those of the handle.
    const HandleVerdict& trace(llvm::Value* v);

  private:
    HandleVerdict trace_leaf(llvm::Value* v);
    HandleVerdict trace_or(llvm::BinaryOperator* v);
    HandleVerdict trace_web(llvm::Instruction* top);
    HandleVerdict mixed_web(llvm::ArrayRef<llvm::Value*> leaves);
    bool counts_as_candidate(const HandleSource& source) const;
    uint32_t stride_of(uint32_t bank) const;

    const GuestAbi& abi_;
    const llvm::DataLayout& layout_;
    llvm::DenseMap<llvm::Value*, HandleVerdict> memo_;
    unsigned depth_ = 0;
};

// Text of a verdict for --trace-handles: "slot c2[0x20]", "c2[0x168] | c2[0x568]", "array c2[0x20 + 8 * i], 8
// elements".
std::string handle_text(const HandleVerdict& verdict);

} // namespace dmsh
