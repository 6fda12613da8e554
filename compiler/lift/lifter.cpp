// The lifter's frame: decode, recover control flow, then one block after another in reverse post-order.
#include "compiler/lift/lifter.h"
#include "compiler/lift/ampere/table.h"
#include "compiler/lift/control_flow.h"
#include "compiler/lift/lift_context.h"
#include "compiler/lift/maxwell/table.h"
#include "compiler/lift/stage_facts.h"
#include <fmt/format.h>

namespace dmsh {

class Lifter {
  public:
    Lifter(ShaderModule& shader, const StageFacts& facts, GuestCode& code, const FlowGraph& graph)
        : shader_(shader), facts_(facts), code_(code), graph_(graph), ssa_(*shader.context), c_(shader, facts, ssa_) {}

    Result<void> run() {
        make_blocks();
        find_flags_read();
        for (size_t i = 0; i < graph_.order.size(); ++i) {
            const uint32_t id = graph_.order[i];
            next_ = i + 1 < graph_.order.size() ? ssa_.basic_block(heads_[graph_.order[i + 1]]) : nullptr;
            enter(heads_[id]);
            if (auto r = lift_block(graph_.blocks[id]); !r)
                return r;
        }
        ssa_.finish();
        shader_.instruction_count = count_;
        return {};
    }

  private:
    void enter(SsaBuilder::Block block) {
        c_.block_ = block;
        c_.b.SetInsertPoint(ssa_.basic_block(block));
    }

    // Most programs use the carry alone; then the other flags need no instructions.
    void find_flags_read() {
        constexpr uint8_t kCarry = 4, kAll = 15;
        constexpr uint64_t kAlways = 15; // F::cc_test T
        uint8_t read = 0;
        for (uint32_t id : graph_.order) {
            const FlowBlock& b = graph_.blocks[id];
            if (b.condition.condition_code != 15)
                read = kAll;
            for (uint32_t p = b.first; p < b.last && read != kAll; ++p)
                switch (const isa::Instruction& inst = *code_.at(p); inst.op()) {
                case isa::Op::CSET:
                case isa::Op::CSETP:
                case isa::Op::P2R: read = kAll; break;
                case isa::Op::KIL:
                    if (inst.get(isa::F::cc_test) != kAlways)
                        read = kAll;
                    break;
                case isa::Op::ISET:
                case isa::Op::ISETP:
                case isa::Op::IMNMX:
                    if (inst.flag(isa::F::x) || inst.get(isa::F::minmax_x))
                        read = kAll;
                    break;
                default:
                    if (inst.flag(isa::F::x))
                        read |= kCarry;
                    break;
                }
        }
        c_.flags_read_ = read;
    }

    llvm::BasicBlock* new_basic_block(llvm::BasicBlock* before) {
        return llvm::BasicBlock::Create(*shader_.context, "", shader_.main, before);
    }

    // LLVM's entry block must have no predecessors, so a loop to the program's start gets a block in front.
    void make_blocks() {
        const bool loop_to_start = graph_.blocks[0].predecessors != 0;
        SsaBuilder::Block front = 0;
        if (loop_to_start)
            front = ssa_.add_block(new_basic_block(nullptr), 0);
        heads_.resize(graph_.blocks.size());
        std::vector<uint32_t> edges(graph_.blocks.size(), 0);
        for (const FlowBlock& b : graph_.blocks)
            for_each_edge(b, [&](uint32_t to) { ++edges[to]; });
        if (loop_to_start)
            ++edges[0];
        for (uint32_t id : graph_.order) {
            heads_[id] = ssa_.add_block(new_basic_block(nullptr), edges[id]);
            block_of_[ssa_.basic_block(heads_[id])] = heads_[id];
        }
        if (loop_to_start) {
            c_.b.SetInsertPoint(ssa_.basic_block(front));
            c_.b.CreateBr(ssa_.basic_block(heads_[0]));
            ssa_.add_edge(front, heads_[0]);
        }
        seen_.resize(code_.size());
    }

    // The edges of the LLVM terminator: a table's last block is the default, so it has one edge for all its entries.
    template <class Visit> static void for_each_edge(const FlowBlock& b, Visit visit) {
        if (b.end != FlowEnd::table) {
            for (uint32_t s : b.successors)
                visit(s);
            return;
        }
        const uint32_t fallback = b.cases.back().block;
        visit(fallback);
        for (const TableCase& c : b.cases)
            if (c.block != fallback)
                visit(c.block);
    }

    Result<void> lift_block(const FlowBlock& b) {
        for (uint32_t p = b.first; p < b.last; ++p) {
            const isa::Instruction& inst = *code_.at(p);
            count(p);
            c_.inst_ = &inst;
            const LiftEntry& entry = lift_entry(inst.op());
            if (ampere())
                follow_scoreboards(inst);
            switch (entry.kind) {
            case LiftKind::flow: continue;
            case LiftKind::missing:
            case LiftKind::refused: return instruction_error(code_.arch(), inst, "is not implemented");
            case LiftKind::pure:
            case LiftKind::branch: lift_instruction(inst, entry); break;
            }
            if (c_.error_)
                return *c_.error_;
        }
        close_region();
        // Whatever is still under way lands at the block's end (T-103), before any edge is taken (T-142).
        c_.uniform_ = false;
        c_.barrier_ = kNoBarrier;
        c_.commit(~0u);
        c_.inst_ = b.last < code_.size() ? code_.at(b.last) : nullptr;
        if (c_.inst_ && lift_entry(c_.inst_->op()).kind == LiftKind::flow)
            count(b.last);
        terminate(b);
        if (c_.error_)
            return *c_.error_;
        return {};
    }

    bool ampere() const { return code_.arch() == Arch::sm86; }

    const LiftEntry& lift_entry(isa::Op op) const { return ampere() ? ampere::lift_entry(op) : maxwell::lift_entry(op); }

    // Scheduling bits of sm_86 (T-101, T-103): 110..112 name the scoreboard that the instruction's results arrive with, 116..121
    // those that it waits for before it reads anything.
    void follow_scoreboards(const isa::Instruction& inst) {
        const auto waits = static_cast<uint32_t>(inst.hi >> (116 - 64) & 63);
        const uint32_t mask = inst.op() == isa::Op::DEPBAR ? ~0u : waits;
        if (llvm::any_of(c_.deferred_, [&](const LiftContext::Deferred& d) { return mask >> d.barrier & 1; })) {
            close_region();
            c_.uniform_ = false;
            c_.barrier_ = kNoBarrier;
            c_.commit(mask);
        }
        c_.uniform_ = inst.flag(isa::F::uniform_op);
        c_.barrier_ = static_cast<uint8_t>(inst.hi >> (110 - 64) & 7);
    }

    // Guest instructions count once, however often they are inlined.
    void count(uint32_t position) {
        if (!seen_[position])
            ++count_;
        seen_[position] = true;
    }

    void lift_instruction(const isa::Instruction& inst, const LiftEntry& entry) {
        const uint64_t p = inst.has(isa::F::pred) ? inst.get(isa::F::pred) : isa::kPt;
        const bool negated = inst.flag(isa::F::pred_neg);
        if (inst.op() == isa::Op::KIL) {
            lift_kil(inst, entry);
            return;
        }
        if (p == isa::kPt) {
            close_region();
            if (!negated)
                entry.function(c_);
            return;
        }
        Value* value = c_.predicate(p);
        if (region_open_ && (value != region_value_ || negated != region_negated_))
            close_region();
        if (!region_open_ && entry.kind == LiftKind::branch) {
            value = c_.predicate(p);
            open_region(value, negated);
        }
        if (region_open_) {
            entry.function(c_);
            return;
        }
        c_.guard_ = c_.predicate(p, negated);
        entry.function(c_);
        c_.guard_ = nullptr;
    }

    // KIL has a test of the condition code beside its guard.
    void lift_kil(const isa::Instruction& inst, const LiftEntry& entry) {
        Value* guard = c_.predicate(inst.get(isa::F::pred), inst.flag(isa::F::pred_neg));
        Value* condition = c_.b.CreateAnd(guard, c_.condition_code(inst.get(isa::F::cc_test)));
        close_region();
        if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
            if (known->isOne())
                entry.function(c_);
            return;
        }
        open_region(condition, false);
        entry.function(c_);
        close_region();
    }

    // A run of instructions under the same guard, one of which has effects, shares a block.
    void open_region(Value* value, bool negated) {
        region_open_ = c_.in_region_ = true;
        region_value_ = value;
        region_negated_ = negated;
        region_from_ = c_.block_;
        llvm::BasicBlock* inside = new_basic_block(next_);
        region_after_ = new_basic_block(next_);
        region_condition_ = negated ? c_.b.CreateNot(value) : value;
        c_.b.CreateCondBr(region_condition_, inside, region_after_);
        const SsaBuilder::Block block = ssa_.add_block(inside, 1);
        ssa_.add_edge(region_from_, block);
        enter(block);
    }

    void close_region() {
        if (!region_open_)
            return;
        region_open_ = c_.in_region_ = false;
        c_.b.CreateBr(region_after_);
        keep_deferred_writes();
        const SsaBuilder::Block after = ssa_.add_block(region_after_, 2);
        ssa_.add_edge(region_from_, after);
        ssa_.add_edge(c_.block_, after);
        enter(after);
    }

    // Writes that instructions of the region left to a scoreboard outlive it, under its guard (T-142).
    void keep_deferred_writes() {
        for (LiftContext::Deferred& d : c_.deferred_) {
            if (!d.in_region)
                continue;
            auto* phi = llvm::PHINode::Create(d.value->getType(), 2, "", region_after_);
            phi->addIncoming(d.value, ssa_.basic_block(c_.block_));
            phi->addIncoming(llvm::Constant::getNullValue(d.value->getType()), ssa_.basic_block(region_from_));
            d.value = phi;
            d.guard = region_condition_;
            d.in_region = false;
        }
    }

    void terminate(const FlowBlock& b) {
        llvm::Instruction* terminator = nullptr;
        switch (b.end) {
        case FlowEnd::jump: terminator = c_.b.CreateBr(head(b.successors[0])); break;
        case FlowEnd::branch: {
            Value* condition = c_.predicate(b.condition.predicate, b.condition.negated);
            if (b.condition.condition_code != 15)
                condition = c_.b.CreateAnd(condition, c_.condition_code(b.condition.condition_code));
            if (b.condition.predicate2 != isa::kPt)
                condition = c_.b.CreateAnd(condition, c_.predicate(b.condition.predicate2, b.condition.negated2));
            if (b.condition.uniform != isa::kPt)
                condition = c_.b.CreateAnd(condition, c_.upredicate(b.condition.uniform, b.condition.uniform_negated));
            terminator = c_.b.CreateCondBr(condition, head(b.successors[0]), head(b.successors[1]));
            break;
        }
        case FlowEnd::table: terminator = table(b); break;
        case FlowEnd::exit:
            if (shader_.input.stage == Stage::fragment)
                write_fragment();
            c_.b.CreateRetVoid();
            return;
        case FlowEnd::never: c_.b.CreateUnreachable(); return;
        }
        if (b.merge_pc != kNone && b.end != FlowEnd::jump)
            terminator->setMetadata(
                "dmsh.merge", llvm::MDNode::get(*shader_.context, llvm::ConstantAsMetadata::get(c_.b.getInt32(b.merge_pc))));
        for (unsigned i = 0; i < terminator->getNumSuccessors(); ++i)
            ssa_.add_edge(c_.block_, block_of_.lookup(terminator->getSuccessor(i)));
    }

    llvm::BasicBlock* head(uint32_t id) const { return ssa_.basic_block(heads_[id]); }

    // Switches on the index where it shows in the IR, else on the loaded address.
    llvm::Instruction* table(const FlowBlock& b) {
        Value* value = b.table_uniform ? c_.ureg(b.table_register) : c_.reg(b.table_register);
        bool by_index = false;
        uint32_t scale = 1;
        if (auto* load = llvm::dyn_cast<llvm::CallInst>(value); load && intrinsic_of(*load) == Intrinsic::cbuf_load) {
            Value* address = load->getArgOperand(1);
            Value* index = nullptr;
            if (b.table_offset == 0) {
                index = address;
            } else if (auto* add = llvm::dyn_cast<llvm::BinaryOperator>(address);
                       add && add->getOpcode() == llvm::Instruction::Add && add->getOperand(1) == c_.b.getInt32(b.table_offset)) {
                index = add->getOperand(0);
            }
            if (index && !llvm::isa<llvm::Constant>(index)) {
                by_index = true;
                value = index;
                scale = 4;
            }
        }
        const uint32_t fallback = b.cases.back().block;
        auto* s = c_.b.CreateSwitch(value, head(fallback), static_cast<unsigned>(b.cases.size()));
        for (const TableCase& c : b.cases) {
            if (c.block == fallback)
                continue;
            auto* constant = c_.b.getInt32(by_index ? c.index * scale : c.value);
            // Entries with the same address are one case of a switch on addresses: the edge counted for the second is dropped.
            if (by_index || s->findCaseValue(constant) == s->case_default())
                s->addCase(constant, head(c.block));
            else
                ssa_.drop_expected(heads_[c.block]);
        }
        return s;
    }

    // Colours from R0, four registers for each target that is written, then the sample mask, then depth; the mask's register is kept free
    // when depth alone is written.
    void write_fragment() {
        uint32_t r = 0;
        for (uint32_t target = 0; target < 8; ++target) {
            const uint32_t mask = facts_.target_components(target);
            for (uint32_t k = 0; k < 4; ++k)
                if (mask >> k & 1)
                    c_.call(Intrinsic::frag_colour, {c_.i32(target), c_.i32(k), c_.reg(r + k)});
            if (mask)
                r += 4;
        }
        if (facts_.sample_mask_output)
            c_.call(Intrinsic::frag_mask, {c_.reg(r)});
        if (facts_.depth_output)
            c_.call(Intrinsic::frag_depth, {c_.reg_float(r + 1)});
    }

    ShaderModule& shader_;
    const StageFacts& facts_;
    GuestCode& code_;
    const FlowGraph& graph_;
    SsaBuilder ssa_;
    LiftContext c_;
    std::vector<SsaBuilder::Block> heads_;
    llvm::DenseMap<llvm::BasicBlock*, SsaBuilder::Block> block_of_; // of the heads
    std::vector<bool> seen_;
    uint32_t count_ = 0;
    llvm::BasicBlock* next_ = nullptr;
    bool region_open_ = false, region_negated_ = false;
    Value* region_value_ = nullptr;
    Value* region_condition_ = nullptr;
    SsaBuilder::Block region_from_ = 0;
    llvm::BasicBlock* region_after_ = nullptr;
};

Result<ShaderModule> lift(const ShaderInput& input) {
    if (input.code.size() > (1u << 26))
        return Error{"the program is longer than 64 MiB"};
    StageFacts facts;
    if (auto r = read_stage_facts(input); r)
        facts = std::move(*r);
    else
        return r.error();
    GuestCode code(input.arch, input.code);
    auto graph = recover_control_flow(code, input.constants, input.abi ? input.abi->constants_bank : 1);
    if (!graph)
        return graph.error();

    ShaderModule shader;
    shader.input = input;
    shader.context = std::make_unique<llvm::LLVMContext>();
    shader.context->setOpaquePointers(false);
    shader.context->setDiscardValueNames(true);
    shader.module = std::make_unique<llvm::Module>("shader", *shader.context);
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(*shader.context), false);
    shader.main = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "main", *shader.module);
    fill_interface(shader, facts);
    if (auto r = Lifter(shader, facts, code, *graph).run(); !r)
        return r.error();
    return shader;
}

Result<std::string> control_flow_text(const ShaderInput& input) {
    GuestCode code(input.arch, input.code);
    auto graph = recover_control_flow(code, input.constants, input.abi ? input.abi->constants_bank : 1);
    if (!graph)
        return graph.error();
    return graph->text(code);
}

} // namespace dmsh
