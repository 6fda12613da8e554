// Operations across the lanes of a warp and of a workgroup: shuffle, vote, quad arithmetic, barrier.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {

void shfl(LiftContext& c) {
    Value* mode = c.i32(static_cast<uint32_t>(c.get(F::shfl_mode))); // 0 IDX, 1 UP, 2 DOWN, 3 BFLY as encoded
    Value* distance =
        c.has(F::shfl_imm_b) ? c.i32(static_cast<uint32_t>(c.get(F::shfl_imm_b))) : c.reg(c.get(F::src_b));
    Value* clamp =
        c.has(F::shfl_imm_c) ? c.i32(static_cast<uint32_t>(c.get(F::shfl_imm_c))) : c.reg(c.get(F::src_c));
    Value* value = c.src_a();
    if (c.get(F::dst_pred) != isa::kPt)
        c.set_predicate(c.get(F::dst_pred), c.call(Intrinsic::shfl_valid, {mode, distance, clamp}));
    if (c.get(F::dst) != isa::kRz)
        c.set_reg(c.get(F::dst), c.call(Intrinsic::shfl, {mode, value, distance, clamp}));
}

// The register receives the mask of active lanes whose predicate holds, whatever the mode; the predicate the
// vote itself.
void vote(LiftContext& c) {
    if (c.has(F::vtg_mode)) {
        c.refuse();
        return;
    }
    Value* in = c.src_predicate();
    constexpr Intrinsic kModes[] = {Intrinsic::vote_all, Intrinsic::vote_any, Intrinsic::vote_eq};
    const uint64_t mode = c.get(F::vote_mode);
    if (mode >= 3) {
        c.refuse();
        return;
    }
    if (c.get(F::dst) != isa::kRz)
        c.set_reg(c.get(F::dst), c.call(Intrinsic::ballot, {in}));
    if (c.get(F::dst_pred) != isa::kPt)
        c.set_predicate(c.get(F::dst_pred), c.call(kModes[mode], {in}));
}

// .NDV promises that the whole quad runs, which the translation keeps anyway.
void fswzadd(LiftContext& c) {
    if (c.get(F::rnd)) {
        c.refuse("with this rounding is not implemented");
        return;
    }
    const bool ftz = c.exact() && c.flag(F::ftz);
    Value* a = flush(c, c.as_float(c.src_a()), ftz);
    Value* b = flush(c, c.as_float(c.reg(c.get(F::src_b))), ftz);
    Value* sum = c.call(Intrinsic::fswzadd, {a, b, c.i32(static_cast<uint32_t>(c.get(F::swz_op) & 0xff))});
    sum = flush(c, sum, ftz);
    c.set_reg(c.get(F::dst), sum);
    if (c.flag(F::cc))
        c.set_float_flags(sum);
}

namespace {

// Threads of the workgroup, in whole warps: what a barrier without a count waits for.
uint32_t group_threads(const LiftContext& c) {
    const auto& size = c.input.local_size;
    return (size[0] * size[1] * size[2] + 31) / 32 * 32;
}

} // namespace

// A barrier that all threads meet at is the workgroup's, whatever its number. Barriers of fewer threads, arrivals without waiting and
// reductions keep their form; targets that have no such thing refuse them.
void bar(LiftContext& c) {
    enum Mode : uint64_t { sync = 0, arrive = 1, reduce = 2 };
    constexpr uint64_t kReductions = 3;
    const uint64_t mode = c.get(F::bar_mode);
    Value *id = nullptr, *threads = nullptr;
    if (!c.has(F::bar_id) && !c.has(F::src_a)) { // one register: the number below, the count from bit 16 on (px_bar_vote of the cuda corpus)
        Value* both = c.reg(c.get(F::src_b));
        id = c.b.CreateAnd(both, 15);
        threads = c.b.CreateAnd(c.b.CreateLShr(both, 16), 0xfff);
    } else {
        id = c.has(F::bar_id) ? c.i32(static_cast<uint32_t>(c.get(F::bar_id))) : c.src_a();
        threads = c.has(F::bar_count) ? c.i32(static_cast<uint32_t>(c.get(F::bar_count))) : c.reg(c.get(F::src_b));
    }
    const auto* known = llvm::dyn_cast<llvm::ConstantInt>(threads);
    const bool all = known && (known->isZero() || known->getZExtValue() == group_threads(c));
    switch (mode) {
    case sync:
        if (all)
            c.call(Intrinsic::barrier, {});
        else
            c.call(Intrinsic::barrier_part, {id, threads});
        return;
    case arrive: c.call(Intrinsic::barrier_arrive, {id, threads}); return;
    case reduce:
        if (c.get(F::bar_red) >= kReductions)
            return c.refuse("with this reduction is not implemented");
        c.set_barrier_result(c.call(Intrinsic::barrier_reduce, {c.i32(static_cast<uint32_t>(c.get(F::bar_red))), id,
                                                                all ? c.i32(0) : threads, c.src_predicate()}));
        return;
    default: c.refuse("with this mode is not implemented");
    }
}

// B2R.RESULT: what the last BAR.RED gave; the predicate tells whether it is not zero. Other forms read the barrier's state.
void b2r(LiftContext& c) {
    if (!c.flag(F::b2r_result))
        return c.refuse("of a barrier's state is not implemented");
    Value* result = c.barrier_result();
    if (c.get(F::dst_pred) != isa::kPt)
        c.set_predicate(c.get(F::dst_pred), c.b.CreateICmpNE(result, c.i32(0)));
    c.set_reg(c.get(F::dst), result);
}

} // namespace dmsh::maxwell
