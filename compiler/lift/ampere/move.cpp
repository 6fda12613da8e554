// Special registers, transfers between the register files, and votes into the uniform one.
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/maxwell/functions.h"

namespace dmsh::ampere {

using isa::F;

namespace {
// Numbers of S2R that Maxwell lacks (isa/special_registers.h).
enum : uint64_t { kVirtualSmId = 67, kPerformance0 = 100, kPerformanceLast = 115, kSrz = 255 };
} // namespace

void umov(LiftContext& c) {
    c.set_reg(c.get(F::dst), c.src_b());
}

void s2r(LiftContext& c) {
    const uint64_t from = c.get(F::sreg);
    // SRZ reads as zero; performance counters that nobody has started; all work is on multiprocessor 0.
    if (from == kSrz || from == kVirtualSmId || (from >= kPerformance0 && from <= kPerformanceLast))
        c.set_reg(c.get(F::dst), c.i32(0));
    else
        maxwell::s2r(c);
}

// Without .32 a pair: of SRZ zero, of the clocks (whose upper halves read as zero, as S2R does) and the timer.
void cs2r(LiftContext& c) {
    constexpr uint64_t k32 = 0, kClockLo = 80, kGlobalTimerLo = 82; // F::cs2r_32, F::sreg
    const uint64_t d = c.get(F::dst), from = c.get(F::sreg);
    s2r(c);
    if (c.get(F::cs2r_32) == k32)
        return;
    if (from != kSrz && from != kClockLo && from != kGlobalTimerLo)
        return c.refuse("of 64 bits is not implemented");
    c.set_reg(d >= isa::kRz ? d : d + 1, c.i32(0));
}

// The value is the same in all lanes, or the compiler would not move it so.
void r2ur(LiftContext& c) {
    if (c.get(F::dst_pred) != isa::kPt || c.flag(F::r2ur_or))
        return c.refuse("in this form is not implemented");
    c.set_ureg(c.get(F::dst), c.src_a());
}

// A vote of lane predicates into a uniform register and a uniform predicate (T-145).
void voteu(LiftContext& c) {
    constexpr Intrinsic kModes[] = {Intrinsic::vote_all, Intrinsic::vote_any, Intrinsic::vote_eq};
    const uint64_t mode = c.get(F::vote_mode);
    if (mode >= 3)
        return c.refuse();
    Value* in = c.src_predicate();
    if (c.get(F::dst) != isa::kUrz)
        c.set_ureg(c.get(F::dst), c.call(Intrinsic::ballot, {in}));
    if (c.get(F::dst_upred) != isa::kPt)
        c.set_upredicate(c.get(F::dst_upred), c.call(kModes[mode], {in}));
}

// The address of the instruction itself (T-114).
void lepc(LiftContext& c) {
    c.set_reg64(c.get(F::dst), c.i64(c.inst().pc));
}

} // namespace dmsh::ampere
