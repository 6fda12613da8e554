// Operations across the lanes of a warp: votes, shuffles, quad sums.
#include "compiler/sim/operands.h"

namespace dmsh::sim {
namespace {

Answer shuffle(std::span<Lane> warp, uint32_t active, uint32_t mask, const Instruction& i) {
    std::array<uint32_t, kLanes> value{};
    std::array<bool, kLanes> valid{};
    for (unsigned n = 0; n < kLanes; ++n) {
        if (!(mask >> n & 1))
            continue;
        const Lane& l = warp[n];
        const uint32_t b = i.has(F::shfl_imm_b) ? static_cast<uint32_t>(i.get(F::shfl_imm_b)) : reg(l, i, F::src_b) & 31;
        const uint32_t c = i.has(F::shfl_imm_c) ? static_cast<uint32_t>(i.get(F::shfl_imm_c)) : reg(l, i, F::src_c);
        // c: clamp in bits 0..4, segment mask in bits 8..12.
        const uint32_t clamp = c & 31, segment = c >> 8 & 31;
        const int low = static_cast<int>(n & segment), high = static_cast<int>((n & segment) | (clamp & ~segment & 31));
        int from = 0;
        bool in = false;
        switch (i.get(F::shfl_mode)) {
        case 0:
            from = static_cast<int>((b & ~segment & 31) | static_cast<uint32_t>(low));
            in = from <= high;
            break;
        case 1:
            from = static_cast<int>(n) - static_cast<int>(b);
            in = from >= high; // UP: the clamp is the lowest lane of the segment
            break;
        case 2:
            from = static_cast<int>(n) + static_cast<int>(b);
            in = from <= high;
            break;
        default:
            from = static_cast<int>(n ^ b);
            in = from <= high;
            break;
        }
        if (!in)
            from = static_cast<int>(n);
        valid[n] = in;
        // Reading from a lane that does not take part gives what its register holds.
        value[n] = reg(warp[static_cast<unsigned>(from) & 31], i, F::src_a);
    }
    (void)active;
    for (unsigned n = 0; n < kLanes; ++n)
        if (mask >> n & 1) {
            set_dst(warp[n], i, value[n]);
            warp[n].set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), valid[n]);
        }
    return kOk;
}

Answer vote(std::span<Lane> warp, uint32_t mask, const Instruction& i) {
    if (i.form() == Form::imm)
        return "is a VTG vote";
    uint32_t ballot = 0;
    for (unsigned n = 0; n < kLanes; ++n)
        if ((mask >> n & 1) && source_pred(warp[n], i))
            ballot |= 1u << n;
    const bool results[] = {ballot == mask, ballot != 0, ballot == mask || ballot == 0, false};
    for (unsigned n = 0; n < kLanes; ++n)
        if (mask >> n & 1) {
            set_dst(warp[n], i, ballot);
            warp[n].set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), results[i.get(F::vote_mode) & 3]);
        }
    return kOk;
}

Answer swizzled_add(std::span<Lane> warp, uint32_t mask, const Instruction& i) {
    for (unsigned n = 0; n < kLanes; ++n) {
        if (!(mask >> n & 1))
            continue;
        Lane& l = warp[n];
        const bool ftz = i.flag(F::ftz);
        uint32_t a = flush_if(ftz, reg(l, i, F::src_a)), b = flush_if(ftz, reg(l, i, F::src_b));
        // The field of quad lane q is bits 7 - 2q and 6 - 2q.
        switch (i.get(F::swz_op) >> (6 - 2 * (n & 3)) & 3) {
        case 0: break;                  // PP: a + b
        case 1: a ^= 0x80000000; break; // NP: b - a
        case 2: b ^= 0x80000000; break; // PN: a - b
        default:                        // ZP: b
            set_dst(l, i, flush_if(ftz, bits(as_float(b))));
            continue;
        }
        volatile float x = as_float(a), y = as_float(b);
        Rounding r(i.get(F::rnd));
        volatile float s = x + y;
        set_dst(l, i, flush_if(ftz, bits(float{s})));
    }
    return i.flag(F::cc) ? "writes the condition code" : kOk;
}

} // namespace

Answer warp_op(std::span<Lane> warp, uint32_t active, uint32_t mask, const Instruction& i) {
    switch (i.op()) {
    case Op::SHFL: return shuffle(warp, active, mask, i);
    case Op::VOTE: return vote(warp, mask, i);
    case Op::FSWZADD: return swizzled_add(warp, mask, i);
    default: return kNotMine;
    }
}

} // namespace dmsh::sim
