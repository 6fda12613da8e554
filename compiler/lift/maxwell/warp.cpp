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

// BAR.SYNC of barrier 0 by all threads. Other barriers and counts need bookkeeping that no target offers.
void bar(LiftContext& c) {
    constexpr uint64_t kSync = 0;
    // Barrier 0 as an immediate or in RZ, and all threads.
    const bool first = c.has(F::bar_id) ? c.get(F::bar_id) == 0 : c.get(F::src_a) == isa::kRz;
    const bool whole = first && (c.has(F::bar_count) ? c.get(F::bar_count) == 0 : c.get(F::src_b) == isa::kRz);
    if (c.get(F::bar_mode) != kSync || !whole)
        c.refuse();
    else
        c.call(Intrinsic::barrier, {});
}

} // namespace dmsh::maxwell
