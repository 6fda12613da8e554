// Follows a handle value back to the words of constant banks that it is made of.
#include "compiler/passes/handle_values.h"
#include <llvm/ADT/SetVector.h>

namespace dmsh {
namespace {

constexpr uint32_t kMaxMergedElements = 32; // span of an array made out of single words chosen at run time

constexpr unsigned kMaxDepth =
    64; // nested ORs and webs of a handle; hostile chains must not exhaust the stack

bool is_web(llvm::Value* v) {
    return llvm::isa<llvm::PHINode>(v) || llvm::isa<llvm::SelectInst>(v);
}

llvm::SmallVector<llvm::Value*, 4> inputs_of(llvm::Instruction* inst) {
    llvm::SmallVector<llvm::Value*, 4> in;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(inst))
        in.append(phi->value_op_begin(), phi->value_op_end());
    else
        in = {inst->getOperand(1), inst->getOperand(2)};
    return in;
}

} // namespace

uint32_t HandleTracer::stride_of(uint32_t bank) const {
    // Handles in uniform buffers are 64-bit like those of the tables (bindings-and-reflection.md, "Handle
    // word").
    return bank == abi_.handle_bank && abi_.textures.base != kNone ? abi_.textures.stride : 8;
}

const HandleVerdict& HandleTracer::trace(llvm::Value* v) {
    if (const auto it = memo_.find(v); it != memo_.end())
        return it->second;
    if (depth_ == kMaxDepth) {
        HandleVerdict& deep = memo_[v];
        deep.reason = "made by a chain of operations too long to follow";
        return deep;
    }
    ++depth_;
    HandleVerdict verdict = is_web(v) ? trace_web(llvm::cast<llvm::Instruction>(v)) : trace_leaf(v);
    --depth_;
    return memo_[v] = std::move(verdict);
}

HandleVerdict HandleTracer::trace_leaf(llvm::Value* v) {
    HandleVerdict none;
    if (auto* op = llvm::dyn_cast<llvm::BinaryOperator>(v)) {
        if (op->getOpcode() == llvm::Instruction::Or)
            return trace_or(op);
        none.reason = std::string("made by ") + op->getOpcodeName();
        return none;
    }
    auto* call = llvm::dyn_cast<llvm::CallInst>(v);
    if (!call || intrinsic_of(*call) != Intrinsic::cbuf_load) {
        none.reason = constant_u32(v) ? "a constant"
                      : call && call->getCalledFunction()
                          ? "the result of " + call->getCalledFunction()->getName().str()
                          : std::string("not read from a constant bank");
        return none;
    }
    const auto bank = constant_u32(call->getArgOperand(0));
    if (!bank) {
        none.reason = "read from a bank chosen at run time";
        return none;
    }
    HandleWord word{*bank, 0, nullptr, 1};
    const OffsetSum offset = split_offset(call->getArgOperand(1));
    word.offset = offset.constant;
    if (!offset.terms.empty()) {
        const uint32_t stride = stride_of(*bank), shift = llvm::Log2_32(stride);
        // The byte offset of the element. A lone SHL by the stride gives the element number itself.
        llvm::IRBuilder<> b(call);
        llvm::Value* element = nullptr;
        if (offset.terms.size() == 1)
            if (auto* shl = llvm::dyn_cast<llvm::BinaryOperator>(offset.terms[0]);
                shl && shl->getOpcode() == llvm::Instruction::Shl &&
                constant_u32(shl->getOperand(1)) == shift)
                element = shl->getOperand(0);
        if (!element) {
            OffsetSum variable = offset;
            variable.constant = 0;
            element = b.CreateLShr(join_offset(b, variable), shift);
        }
        word.index = element;
        const uint32_t most = max_value(element, layout_);
        word.count = most < 0x10000 ? most + 1 : ~0u;
    }
    HandleVerdict verdict;
    verdict.sources.push_back({word, std::nullopt});
    return verdict;
}

HandleVerdict HandleTracer::trace_or(llvm::BinaryOperator* v) {
    HandleVerdict verdict;
    for (const unsigned k : {0u, 1u})
        if (const auto bits = constant_u32(v->getOperand(k))) {
            verdict = trace(v->getOperand(1 - k));
            for (HandleSource& s : verdict.sources)
                s.constant |= *bits;
            if (verdict.by_value) { // the words are compared with a value that has the bits as well
                verdict.sources.clear();
                verdict.reason = "bits are ORed into a handle among other values";
            }
            return verdict;
        }
    const HandleVerdict a = trace(v->getOperand(0)), b = trace(v->getOperand(1));
    if (a.sources.empty() || b.sources.empty()) {
        const HandleVerdict& bad = a.sources.empty() ? a : b;
        verdict.reason = "one side of the OR is " + bad.reason;
        return verdict;
    }
    if ((a.sources.size() > 1 && b.sources.size() > 1) || a.by_value || b.by_value) {
        verdict.reason = "both sides of the OR are chosen at run time";
        return verdict;
    }
    const HandleVerdict& many = a.sources.size() > 1 ? a : b;
    const HandleVerdict& one = a.sources.size() > 1 ? b : a;
    for (const HandleSource& s : many.sources) {
        if (s.other || one.sources[0].other) {
            verdict.sources.clear();
            verdict.reason = "more than two words are ORed";
            return verdict;
        }
        verdict.sources.push_back({s.word, one.sources[0].word, s.constant | one.sources[0].constant});
    }
    verdict.selector = many.selector;
    return verdict;
}

// Handles among values that are none: a pair of ORed words of any bank, a word with a constant sampler, or a lone word of the handle
// bank. A lone word of a game buffer may be any number and does not count (B-041).
bool HandleTracer::counts_as_candidate(const HandleSource& source) const {
    return source.other || source.constant || source.word.bank == abi_.handle_bank;
}

// A web whose phis also carry other values (B-042): the handles among its leaves are the candidates. One is taken; several are told apart
// by the value that the phi has at run time.
HandleVerdict HandleTracer::mixed_web(llvm::ArrayRef<llvm::Value*> leaves) {
    HandleVerdict verdict;
    for (llvm::Value* leaf : leaves) {
        const HandleVerdict& v = trace(leaf);
        if (v.sources.size() != 1 || v.by_value || v.selector || !counts_as_candidate(v.sources[0]))
            continue;
        if (v.sources[0].word.index || (v.sources[0].other && v.sources[0].other->index)) {
            verdict.sources.clear();
            verdict.reason = "an element of an array meets values in its phi that are no handles";
            return verdict;
        }
        if (!llvm::is_contained(verdict.sources, v.sources[0]))
            verdict.sources.push_back(v.sources[0]);
    }
    // A lone word that is also part of an ORed candidate is that candidate, seen before its sampler came in.
    const auto part_of_another = [&](const HandleSource& lone) {
        return !lone.other && !lone.constant && llvm::any_of(verdict.sources, [&](const HandleSource& s) {
            return (s.other && (s.word == lone.word || *s.other == lone.word)) || (s.constant && s.word == lone.word);
        });
    };
    const HandleVerdict all = verdict;
    verdict.sources.clear();
    for (const HandleSource& s : all.sources)
        if (!part_of_another(s))
            verdict.sources.push_back(s);
    if (verdict.sources.empty())
        verdict.reason = "no input of its phi is a handle";
    verdict.by_value = verdict.sources.size() > 1;
    return verdict;
}

// Phis and selects that feed each other are one web (B-040): its leaves are the candidates.
HandleVerdict HandleTracer::trace_web(llvm::Instruction* top) {
    HandleVerdict verdict;
    llvm::SetVector<llvm::Instruction*> web;
    llvm::SetVector<llvm::Value*> leaves;
    web.insert(top);
    bool constant_at_top = false;
    for (size_t i = 0; i < web.size(); ++i) {
        if (web.size() > 256) {
            verdict.reason = "its web of phis is too large";
            return verdict;
        }
        for (llvm::Value* in : inputs_of(web[i])) {
            if (is_web(in))
                web.insert(llvm::cast<llvm::Instruction>(in));
            else if (llvm::isa<llvm::UndefValue>(in) || constant_u32(in) == 0u)
                continue; // a register that nothing wrote: no candidate; such a path may take any of them
            else if (web[i] == top && llvm::isa<llvm::ConstantInt>(in))
                constant_at_top =
                    true; // one value or a constant resolves at the phi asked about only (B-041)
            else
                leaves.insert(in);
        }
    }
    llvm::DenseMap<llvm::Value*, uint32_t> source_of; // leaf -> index into verdict.sources
    // Other values, or lone words of game buffers beside handles that have a sampler word: not all leaves are handles.
    const bool pairs = llvm::any_of(leaves, [&](llvm::Value* leaf) {
        const HandleVerdict& v = trace(leaf);
        return v.sources.size() == 1 && (v.sources[0].other || v.sources[0].constant);
    });
    for (llvm::Value* leaf : leaves) {
        const HandleVerdict& v = trace(leaf);
        if (v.sources.empty() || (v.sources.size() == 1 && pairs && !v.sources[0].other && !v.sources[0].constant)) {
            const std::string reason = v.reason;
            verdict = mixed_web(leaves.getArrayRef());
            if (verdict.sources.empty() && !reason.empty())
                verdict.reason = "an input of its phi is " + reason;
            return verdict;
        }
        if (v.sources.size() > 1) {
            verdict.sources.clear();
            verdict.reason = "an input of its phi is itself an OR of choices";
            return verdict;
        }
        const auto it = llvm::find(verdict.sources, v.sources[0]);
        source_of[leaf] = static_cast<uint32_t>(it - verdict.sources.begin());
        if (it == verdict.sources.end())
            verdict.sources.push_back(v.sources[0]);
    }
    if (verdict.sources.empty()) {
        verdict.reason = "a constant";
        return verdict;
    }
    if (verdict.sources.size() == 1 && !verdict.sources[0].word.index)
        return verdict;
    if (constant_at_top && verdict.sources.size() > 1)
        return mixed_web(leaves.getArrayRef());

    // Candidates that are words of one table become one array; then the web carries element numbers, else
    // source numbers.
    const HandleSource first = verdict.sources[0];
    const uint32_t stride = stride_of(first.word.bank);
    bool one_table = true;
    uint32_t low = first.word.offset, high = first.word.offset;
    for (const HandleSource& s : verdict.sources) {
        one_table &= s.word.bank == first.word.bank && s.other == first.other && s.constant == first.constant &&
                     (s.word.offset - first.word.offset) % stride == 0;
        low = std::min(low, s.word.offset);
        high = std::max(high, s.word.offset);
    }
    one_table &= (high - low) / stride < kMaxMergedElements;
    if (!one_table) {
        // An element number that does not dominate the access would have to be carried beside the source
        // number.
        for (const HandleSource& s : verdict.sources)
            if (s.word.index || (s.other && s.other->index)) {
                verdict.sources.clear();
                verdict.reason = "arrays of several tables meet in its phi";
                return verdict;
            }
    }
    llvm::Type* i32 = llvm::Type::getInt32Ty(top->getContext());
    llvm::DenseMap<llvm::Value*, llvm::Value*> number;
    uint32_t count = 1;
    for (llvm::Instruction* inst : web)
        for (llvm::Value* in : inputs_of(inst))
            if (llvm::isa<llvm::Constant>(in))
                number[in] = llvm::ConstantInt::get(i32, 0);
    for (llvm::Value* leaf : leaves) {
        const HandleSource& s = verdict.sources[source_of[leaf]];
        if (!one_table) {
            number[leaf] = llvm::ConstantInt::get(i32, source_of[leaf]);
            continue;
        }
        const uint32_t base = (s.word.offset - low) / stride;
        llvm::Value* element = llvm::ConstantInt::get(i32, base);
        if (s.word.index) {
            llvm::IRBuilder<> b(llvm::cast<llvm::Instruction>(leaf));
            element = base ? b.CreateAdd(s.word.index, element) : s.word.index;
        }
        number[leaf] = element;
        count = s.word.count == ~0u || count == ~0u ? ~0u : std::max(count, base + s.word.count);
    }
    for (llvm::Instruction* inst : web) {
        if (auto* phi = llvm::dyn_cast<llvm::PHINode>(inst)) {
            number[inst] = llvm::PHINode::Create(i32, phi->getNumIncomingValues(), "", inst);
        } else {
            number[inst] = llvm::SelectInst::Create(inst->getOperand(0), llvm::UndefValue::get(i32),
                                                    llvm::UndefValue::get(i32), "", inst);
        }
    }
    for (llvm::Instruction* inst : web) {
        if (auto* phi = llvm::dyn_cast<llvm::PHINode>(inst)) {
            auto* mine = llvm::cast<llvm::PHINode>(number[inst]);
            for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k)
                mine->addIncoming(number[phi->getIncomingValue(k)], phi->getIncomingBlock(k));
        } else {
            auto* mine = llvm::cast<llvm::SelectInst>(number[inst]);
            mine->setTrueValue(number[inst->getOperand(1)]);
            mine->setFalseValue(number[inst->getOperand(2)]);
        }
    }
    if (one_table) {
        HandleSource array = first;
        array.word.offset = low;
        array.word.index = number[top];
        array.word.count = count;
        verdict.sources.assign(1, array);
    } else {
        verdict.selector = number[top];
    }
    return verdict;
}

std::string handle_text(const HandleVerdict& verdict) {
    if (verdict.sources.empty())
        return "not traced: " + verdict.reason;
    const auto word = [](const HandleWord& w) {
        std::string s = "c" + std::to_string(w.bank) + "[" + hex(w.offset);
        if (w.index)
            s += " + element" + (w.count == ~0u ? std::string() : " below " + std::to_string(w.count));
        return s + "]";
    };
    std::string text = verdict.by_value ? "by its value one of " : verdict.sources.size() > 1 ? "one of " : "";
    for (size_t i = 0; i < verdict.sources.size(); ++i) {
        text += i ? ", " : "";
        text += word(verdict.sources[i].word);
        if (verdict.sources[i].other)
            text += " | " + word(*verdict.sources[i].other);
        if (verdict.sources[i].constant)
            text += " | " + hex(verdict.sources[i].constant);
    }
    return text;
}

} // namespace dmsh
