// Guarantees: no raw global access is left. What global_to_storage could not base on a buffer looks up its guest address in the runtime's
// table of memory pools (runtime/abi/pool_table.h) and goes to the device address behind it; outside of all pools loads give 0, stores and
// atomics do nothing (B-060). Each invocation tries the entry that it chose last, then the chunk's hint, then searches by halving (B-062,
// B-063); stores and atomics mark their entry in the write log (B-064). Words of one guest instruction share a look-up. Refuses: nothing;
// guest ABIs without a pool table never get here.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"
#include "runtime/abi/pool_table.h"
#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

namespace dmsh {
namespace {

using llvm::BasicBlock;
using llvm::Value;

constexpr uint32_t kEntryBytes = sizeof(PoolTableEntry), kHintBytes = sizeof(PoolTableHint);
constexpr uint32_t kEnd = 8, kDelta = 16, kHints = 24; // bytes in an entry

bool is_raw(Intrinsic id) { return id >= Intrinsic::global_load_8 && id <= Intrinsic::global_atomic_64; }
bool writes(Intrinsic id) { return id >= Intrinsic::global_store_8 && id <= Intrinsic::global_atomic_64; }

struct Found {
    Value *entry, *inside, *delta;
};

class RawPass {
  public:
    explicit RawPass(ShaderModule& shader) : shader_(shader), b_(*shader.context) {}

    Result<void> run() {
        llvm::SmallVector<std::pair<llvm::CallInst*, Intrinsic>, 16> calls;
        for (const auto& [call, id] : collect_calls(*shader_.main))
            if (is_raw(id))
                calls.emplace_back(call, id);
        if (calls.empty())
            return {};
        Binding table;
        table.kind = BindingKind::pool_table;
        table_ = binding(table);
        llvm::Instruction* first = &shader_.main->getEntryBlock().front();
        last_ = new llvm::AllocaInst(b_.getInt32Ty(), 0, "", first);
        new llvm::StoreInst(b_.getInt32(0), last_, first);
        llvm::DenseMap<llvm::CallInst*, BasicBlock*> home; // before blocks are split
        for (const auto& [call, id] : calls)
            home[call] = call->getParent();
        for (const auto& [call, id] : calls) {
            Value* base = call->getArgOperand(0);
            if (auto* add = llvm::dyn_cast<llvm::BinaryOperator>(base);
                add && add->getOpcode() == llvm::Instruction::Add && llvm::isa<llvm::ConstantInt>(add->getOperand(1)))
                base = add->getOperand(0);
            const uint32_t pc = pc_of(*call);
            // Wide accesses are aligned to their size, so that all their words lie in one pool.
            if (!found_ || pc == 0 || pc != found_pc_ || base != found_base_ || home[call] != found_home_) {
                b_.SetInsertPoint(call);
                found_ = look_up(call, call->getArgOperand(0));
                found_pc_ = pc, found_base_ = base, found_home_ = home[call];
            }
            rewrite(call, id);
        }
        llvm::DominatorTree tree(*shader_.main);
        llvm::PromoteMemToReg(last_, tree);
        return {};
    }

  private:
    uint32_t binding(const Binding& fresh) {
        return find_or_add(shader_.interface.bindings, fresh, [&](const Binding& b) { return b.kind == fresh.kind; });
    }
    Value* load32(Value* offset) { return dmsh::call(b_, Intrinsic::ssbo_load_32, {b_.getInt32(table_), offset}); }
    Value* load64(Value* offset) {
        Value* low = b_.CreateZExt(load32(offset), b_.getInt64Ty());
        Value* high = b_.CreateZExt(load32(b_.CreateAdd(offset, b_.getInt32(4))), b_.getInt64Ty());
        return b_.CreateOr(low, b_.CreateShl(high, 32));
    }
    Value* entry_offset(Value* entry) { return b_.CreateMul(entry, b_.getInt32(kEntryBytes)); }
    Value* inside(Value* address, Value* entry) {
        Value* at = entry_offset(entry);
        Value* start = load64(at);
        return b_.CreateAnd(b_.CreateICmpUGE(address, start), b_.CreateICmpULT(address, load64(b_.CreateAdd(at, b_.getInt32(kEnd)))));
    }
    BasicBlock* block_before(BasicBlock* next) { return BasicBlock::Create(*shader_.context, "", shader_.main, next); }

    // In front of `at`, which begins a block afterwards: the entry that holds `address`.
    Found look_up(llvm::Instruction* at, Value* address) {
        BasicBlock* head = at->getParent();
        BasicBlock* done = head->splitBasicBlock(at);
        BasicBlock *miss = block_before(done), *loop = block_before(done), *step_block = block_before(done), *chosen = block_before(done);
        head->getTerminator()->eraseFromParent();
        b_.SetInsertPoint(head);
        Value* last = b_.CreateLoad(b_.getInt32Ty(), last_);
        Value* hit = inside(address, last);
        b_.CreateCondBr(hit, done, miss);

        b_.SetInsertPoint(miss);
        Value* count = load32(b_.getInt32(kDelta));
        Value* hints = load32(b_.getInt32(kHints));
        Value* chunk = b_.CreateTrunc(b_.CreateLShr(address, kPoolChunkBits), b_.getInt32Ty());
        Value* hint = b_.CreateAdd(entry_offset(count), b_.CreateMul(b_.CreateAnd(chunk, b_.CreateSub(hints, b_.getInt32(1))),
                                                                     b_.getInt32(kHintBytes)));
        Value* hinted = load32(b_.CreateAdd(hint, b_.getInt32(4)));
        Value* good = b_.CreateAnd(b_.CreateICmpEQ(load32(hint), chunk), inside(address, hinted));
        Value* half = b_.CreateLShr(count, 1);
        b_.CreateCondBr(good, chosen, loop);

        // The last entry whose start is not above the address: its bits are found from the highest down.
        b_.SetInsertPoint(loop);
        llvm::PHINode* entry = b_.CreatePHI(b_.getInt32Ty(), 2);
        llvm::PHINode* step = b_.CreatePHI(b_.getInt32Ty(), 2);
        b_.CreateCondBr(b_.CreateICmpEQ(step, b_.getInt32(0)), chosen, step_block);
        b_.SetInsertPoint(step_block);
        Value* candidate = b_.CreateAdd(entry, step);
        Value* below = b_.CreateICmpULE(load64(entry_offset(candidate)), address);
        Value* better = b_.CreateSelect(below, candidate, entry);
        Value* smaller = b_.CreateLShr(step, 1);
        b_.CreateBr(loop);
        entry->addIncoming(b_.getInt32(0), miss);
        entry->addIncoming(better, step_block);
        step->addIncoming(half, miss);
        step->addIncoming(smaller, step_block);

        b_.SetInsertPoint(chosen);
        llvm::PHINode* new_entry = b_.CreatePHI(b_.getInt32Ty(), 2);
        new_entry->addIncoming(hinted, miss);
        new_entry->addIncoming(entry, loop);
        b_.CreateStore(new_entry, last_);
        Value* now_inside = inside(address, new_entry);
        b_.CreateBr(done);

        b_.SetInsertPoint(at);
        llvm::PHINode* final_entry = b_.CreatePHI(b_.getInt32Ty(), 2);
        final_entry->addIncoming(last, head);
        final_entry->addIncoming(new_entry, chosen);
        llvm::PHINode* final_inside = b_.CreatePHI(b_.getInt1Ty(), 2);
        final_inside->addIncoming(b_.getTrue(), head);
        final_inside->addIncoming(now_inside, chosen);
        Value* delta = load64(b_.CreateAdd(entry_offset(final_entry), b_.getInt32(kDelta)));
        return {final_entry, final_inside, delta};
    }

    void mark_written() {
        Binding log;
        log.kind = BindingKind::pool_write_log;
        const uint32_t index = binding(log);
        shader_.interface.bindings[index].written = shader_.interface.bindings[index].atomic = true;
        Value* word = b_.CreateShl(b_.CreateLShr(found_->entry, 5), 2);
        Value* bit = b_.CreateShl(b_.getInt32(1), b_.CreateAnd(found_->entry, 31));
        dmsh::call(b_, Intrinsic::ssbo_atomic_32,
                   {b_.getInt32(index), word, b_.getInt32(static_cast<uint32_t>(AtomicOp::or_)), bit, b_.getInt32(0)});
    }

    // Byte `width` / 8 at a time: parts of words, so that devices need no small accesses.
    Value* shift_of(Value* device) { return b_.CreateShl(b_.CreateAnd(b_.CreateTrunc(device, b_.getInt32Ty()), 3), 3); }

    Value* access(llvm::CallInst* call, Intrinsic id, Value* device) {
        const auto arg = [&](unsigned k) { return call->getArgOperand(k); };
        Value* word = b_.CreateAnd(device, ~uint64_t{3});
        const auto atomic = [&](AtomicOp op, Value* v) {
            dmsh::call(b_, Intrinsic::raw_atomic_32, {word, b_.getInt32(static_cast<uint32_t>(op)), v, b_.getInt32(0)});
        };
        switch (id) {
        case Intrinsic::global_load_8:
        case Intrinsic::global_load_16: {
            Value* v = dmsh::call(b_, Intrinsic::raw_load_32, {word});
            return b_.CreateTrunc(b_.CreateLShr(v, shift_of(device)), call->getType());
        }
        case Intrinsic::global_load_32: return dmsh::call(b_, Intrinsic::raw_load_32, {device});
        case Intrinsic::global_store_8:
        case Intrinsic::global_store_16: {
            // Other invocations may write the word's other bytes at the same time.
            Value* shift = shift_of(device);
            Value* mask = b_.CreateShl(b_.getInt32(id == Intrinsic::global_store_8 ? 0xff : 0xffff), shift);
            atomic(AtomicOp::and_, b_.CreateNot(mask));
            atomic(AtomicOp::or_, b_.CreateShl(b_.CreateZExt(arg(1), b_.getInt32Ty()), shift));
            return nullptr;
        }
        case Intrinsic::global_store_32: dmsh::call(b_, Intrinsic::raw_store_32, {device, arg(1)}); return nullptr;
        case Intrinsic::global_atomic_32: return dmsh::call(b_, Intrinsic::raw_atomic_32, {device, arg(1), arg(2), arg(3)});
        default: return dmsh::call(b_, Intrinsic::raw_atomic_64, {device, arg(1), arg(2), arg(3)});
        }
    }

    void rewrite(llvm::CallInst* call, Intrinsic id) {
        llvm::Instruction* end = llvm::SplitBlockAndInsertIfThen(found_->inside, call, false);
        BasicBlock *then = end->getParent(), *before = then->getSinglePredecessor();
        b_.SetInsertPoint(end);
        if (writes(id))
            mark_written();
        Value* device = b_.CreateAdd(call->getArgOperand(0), found_->delta);
        Value* value = access(call, id, device);
        if (value && !call->use_empty()) {
            b_.SetInsertPoint(call);
            llvm::PHINode* result = llvm::PHINode::Create(call->getType(), 2, "", &call->getParent()->front());
            result->addIncoming(value, then);
            result->addIncoming(llvm::Constant::getNullValue(call->getType()), before);
            call->replaceAllUsesWith(result);
        }
        call->eraseFromParent();
    }

    ShaderModule& shader_;
    llvm::IRBuilder<> b_;
    uint32_t table_ = 0;
    llvm::AllocaInst* last_ = nullptr; // the entry that this invocation chose last
    std::optional<Found> found_;
    uint32_t found_pc_ = 0;
    Value* found_base_ = nullptr;
    BasicBlock* found_home_ = nullptr;
};

} // namespace

Result<void> raw_memory(ShaderModule& shader) { return RawPass(shader).run(); }

} // namespace dmsh
