// Helpers shared by the passes.
#include "compiler/passes/pass_support.h"
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/Support/KnownBits.h>

namespace dmsh {

std::optional<uint32_t> constant_u32(const llvm::Value* v) {
    const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v);
    if (!c || c->getBitWidth() > 32)
        return std::nullopt;
    return static_cast<uint32_t>(c->getZExtValue());
}

uint32_t pc_of(const llvm::Instruction& inst) {
    if (const llvm::MDNode* node = inst.getMetadata("dmsh.pc"))
        if (const auto* c = llvm::mdconst::dyn_extract<llvm::ConstantInt>(node->getOperand(0)))
            return static_cast<uint32_t>(c->getZExtValue());
    return 0;
}

std::string hex(uint64_t value) {
    char buf[20];
    std::snprintf(buf, sizeof buf, "0x%llx", static_cast<unsigned long long>(value));
    return buf;
}

Error refuse(const llvm::Instruction& inst, LossCode code, const std::string& text) {
    Error error{text + " at " + hex(pc_of(inst))};
    error.code = static_cast<uint16_t>(code);
    return error;
}

OffsetSum split_offset(llvm::Value* v) {
    OffsetSum sum;
    llvm::SmallVector<llvm::Value*, 8> work{v};
    unsigned budget = 64; // an address has a handful of terms; a longer sum stays one term
    while (!work.empty()) {
        llvm::Value* x = work.pop_back_val();
        if (const auto c = constant_u32(x)) {
            sum.constant += *c;
            continue;
        }
        if (auto* add = llvm::dyn_cast<llvm::BinaryOperator>(x); add && budget) {
            --budget;
            if (add->getOpcode() == llvm::Instruction::Add) {
                work.push_back(add->getOperand(1));
                work.push_back(add->getOperand(0));
                continue;
            }
            if (add->getOpcode() == llvm::Instruction::Sub)
                if (const auto c = constant_u32(add->getOperand(1))) {
                    sum.constant -= *c;
                    work.push_back(add->getOperand(0));
                    continue;
                }
        }
        sum.terms.push_back(x);
    }
    return sum;
}

llvm::Value* join_offset(llvm::IRBuilderBase& b, const OffsetSum& sum) {
    llvm::Value* v = nullptr;
    for (llvm::Value* t : sum.terms)
        v = v ? b.CreateAdd(v, t) : t;
    if (!sum.constant)
        return v;
    llvm::Value* c = b.getInt32(sum.constant);
    return v ? b.CreateAdd(v, c) : c;
}

uint32_t max_value(const llvm::Value* v, const llvm::DataLayout& layout, unsigned depth) {
    if (depth == 0)
        return 0xffffffffu;
    if (const auto* ii = llvm::dyn_cast<llvm::IntrinsicInst>(v);
        ii && ii->getIntrinsicID() == llvm::Intrinsic::umin)
        return std::min(max_value(ii->getArgOperand(0), layout, depth - 1),
                        max_value(ii->getArgOperand(1), layout, depth - 1));
    if (const auto* sel = llvm::dyn_cast<llvm::SelectInst>(v)) {
        // select (icmp ult a, b), a, b in either spelling is umin(a, b)
        const auto* cmp = llvm::dyn_cast<llvm::ICmpInst>(sel->getCondition());
        const uint32_t t = max_value(sel->getTrueValue(), layout, depth - 1),
                       f = max_value(sel->getFalseValue(), layout, depth - 1);
        if (cmp && cmp->getOperand(0) == sel->getTrueValue() && cmp->getOperand(1) == sel->getFalseValue() &&
            (cmp->getPredicate() == llvm::CmpInst::ICMP_ULT ||
             cmp->getPredicate() == llvm::CmpInst::ICMP_ULE))
            return std::min(t, f);
        return std::max(t, f);
    }
    const llvm::KnownBits known = llvm::computeKnownBits(v, layout);
    return static_cast<uint32_t>(known.getMaxValue().getLimitedValue(0xffffffffu));
}

void switch_over(llvm::Instruction* inst, llvm::Value* selector, unsigned cases,
                 const std::function<llvm::Value*(unsigned, llvm::IRBuilder<>&)>& emit) {
    llvm::BasicBlock* head = inst->getParent();
    llvm::LLVMContext& c = head->getContext();
    llvm::BasicBlock* tail = head->splitBasicBlock(inst);
    head->getTerminator()->eraseFromParent();
    llvm::SmallVector<llvm::BasicBlock*, 16> entries, exits;
    llvm::SmallVector<llvm::Value*, 16> values;
    for (unsigned k = 0; k < cases; ++k) {
        entries.push_back(llvm::BasicBlock::Create(c, "", head->getParent(), tail));
        llvm::IRBuilder<> b(entries.back());
        values.push_back(emit(k, b));
        b.CreateBr(tail);
        exits.push_back(b.GetInsertBlock());
    }
    llvm::IRBuilder<> b(head);
    auto* sw = b.CreateSwitch(selector, entries.back(), cases - 1);
    for (unsigned k = 0; k + 1 < cases; ++k)
        sw->addCase(b.getInt32(k), entries[k]);
    if (!inst->getType()->isVoidTy()) {
        auto* phi = llvm::PHINode::Create(inst->getType(), cases, "", &tail->front());
        for (unsigned k = 0; k < cases; ++k)
            phi->addIncoming(values[k], exits[k]);
        inst->replaceAllUsesWith(phi);
    }
    inst->eraseFromParent();
}

uint32_t find_or_add(std::vector<Binding>& bindings, const Binding& fresh,
                     const std::function<bool(const Binding&)>& same) {
    for (size_t i = 0; i < bindings.size(); ++i)
        if (same(bindings[i]))
            return static_cast<uint32_t>(i);
    bindings.push_back(fresh);
    return static_cast<uint32_t>(bindings.size() - 1);
}

llvm::SmallVector<std::pair<llvm::CallInst*, Intrinsic>, 64> collect_calls(llvm::Function& f) {
    llvm::SmallVector<std::pair<llvm::CallInst*, Intrinsic>, 64> calls;
    for (llvm::BasicBlock& block : f)
        for (llvm::Instruction& inst : block)
            if (const auto id = intrinsic_of(inst))
                calls.emplace_back(llvm::cast<llvm::CallInst>(&inst), *id);
    return calls;
}

} // namespace dmsh
