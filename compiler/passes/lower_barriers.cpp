// Guarantees: barriers are those of the whole workgroup. A reduction at a barrier (BAR.RED) becomes atomics on one word of shared memory
// behind the kernel's own, between barriers. Refuses barriers that only some threads meet at and arrivals without waiting: no target has
// them. Keeps: everything else.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"

namespace dmsh {
namespace {

enum : uint32_t { kPopc = 0, kAnd = 1, kOr = 2 }; // MODE of dmsh.barrier.reduce

} // namespace

Result<void> lower_barriers(ShaderModule& shader) {
    std::optional<uint32_t> word;
    for (const auto& [call, id] : collect_calls(*shader.main)) {
        if (id == Intrinsic::barrier_part || id == Intrinsic::barrier_arrive)
            return refuse(*call, LossCode::instruction, "a barrier that only some threads of the workgroup meet at is not implemented");
        if (id != Intrinsic::barrier_reduce)
            continue;
        const auto mode = constant_u32(call->getArgOperand(0)), threads = constant_u32(call->getArgOperand(2));
        if (threads != 0u)
            return refuse(*call, LossCode::instruction, "a reduction over some threads of the workgroup is not implemented");
        if (!word) {
            word = (shader.interface.shared_bytes + 3) / 4 * 4;
            shader.interface.shared_bytes = *word + 4;
        }
        llvm::IRBuilder<> b(call);
        llvm::Value *place = b.getInt32(*word), *zero = b.getInt32(0);
        const auto atomic = [&](AtomicOp op, llvm::Value* value) {
            return dmsh::call(b, Intrinsic::shared_atomic_32, {place, b.getInt32(static_cast<uint32_t>(op)), value, zero});
        };
        const auto barrier = [&] { dmsh::call(b, Intrinsic::barrier, {}); };
        llvm::Value* vote = b.CreateZExt(call->getArgOperand(3), b.getInt32Ty());
        barrier(); // the word may still be read for the reduction before
        atomic(AtomicOp::exch, b.getInt32(mode == kAnd)); // by every thread: the value is the same
        barrier();
        atomic(mode == kPopc ? AtomicOp::add : mode == kAnd ? AtomicOp::and_ : AtomicOp::or_, vote);
        barrier();
        call->replaceAllUsesWith(dmsh::call(b, Intrinsic::shared_load_32, {place}));
        call->eraseFromParent();
    }
    return {};
}

} // namespace dmsh
