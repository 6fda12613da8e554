// Predicates and condition codes, special registers, instructions without a result.
#include "compiler/sim/operands.h"

namespace dmsh::sim {
namespace {

// Inner and outer combination of PSET and PSETP.
bool three(const Lane& l, const Instruction& i, bool invert_inner) {
    const bool a = l.pred(static_cast<uint32_t>(i.get(F::src_pred)), i.flag(F::src_pred_neg));
    const bool b = l.pred(static_cast<uint32_t>(i.get(F::src_pred2)), i.flag(F::src_pred2_neg));
    const bool c = l.pred(static_cast<uint32_t>(i.get(F::src_pred3)), i.flag(F::src_pred3_neg));
    return combine(i.get(F::bop), combine(i.get(F::bop2), a, b) != invert_inner, c);
}

void set_two(Lane& l, const Instruction& i, bool first, bool second) {
    l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred2)), second);
    l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), first);
}

} // namespace

Answer predicate_op(Lane& l, const Instruction& i, Group& g) {
    switch (i.op()) {
    case Op::PSET: {
        const bool t = three(l, i, false);
        const uint32_t v = !t ? 0 : i.flag(F::bf) ? 0x3f800000 : ~0u;
        set_dst(l, i, v);
        if (i.flag(F::cc))
            l.set_flags(v == 0, v >> 31, false, false);
        return kOk;
    }
    case Op::PSETP: {
        const bool first = three(l, i, false), second = three(l, i, true);
        set_two(l, i, first, second);
        return kOk;
    }
    case Op::CSET: {
        const bool t = combine(i.get(F::bop), condition_holds(l, static_cast<uint32_t>(i.get(F::cc_test))), source_pred(l, i));
        const uint32_t v = !t ? 0 : i.flag(F::bf) ? 0x3f800000 : ~0u;
        set_dst(l, i, v);
        if (i.flag(F::cc))
            l.set_flags(v == 0, v >> 31, false, false);
        return kOk;
    }
    case Op::CSETP: {
        const bool t = condition_holds(l, static_cast<uint32_t>(i.get(F::cc_test))), p = source_pred(l, i);
        set_two(l, i, combine(i.get(F::bop), t, p), combine(i.get(F::bop), !t, p));
        return kOk;
    }
    case Op::P2R: {
        const uint32_t value = i.flag(F::p2r_cc) ? uint32_t{l.z} | uint32_t{l.s} << 1 | uint32_t{l.c} << 2 | uint32_t{l.o} << 3 : l.p & 0x7fu;
        const uint32_t shift = static_cast<uint32_t>(i.get(F::byte_a)) * 8;
        const uint32_t mask = (source_b(l, i, g) & (i.flag(F::p2r_cc) ? 0xf : 0x7f)) << shift;
        set_dst(l, i, (reg(l, i, F::src_a) & ~mask) | (value << shift & mask));
        return kOk;
    }
    case Op::R2P: {
        const uint32_t value = reg(l, i, F::src_a) >> i.get(F::byte_a) * 8, mask = source_b(l, i, g);
        if (i.flag(F::p2r_cc)) {
            l.z = mask & 1 ? value & 1 : l.z;
            l.s = mask & 2 ? value >> 1 & 1 : l.s;
            l.c = mask & 4 ? value >> 2 & 1 : l.c;
            l.o = mask & 8 ? value >> 3 & 1 : l.o;
        } else {
            for (unsigned k = 0; k < 7; ++k)
                if (mask >> k & 1)
                    l.set_pred(k, value >> k & 1);
        }
        return kOk;
    }
    case Op::NOP:
    case Op::DEPBAR:
    case Op::MEMBAR:
    case Op::CCTL:
    case Op::CCTLL:
    case Op::SAM:
    case Op::RAM: return kOk; // ordering only: lanes run one after another here
    case Op::B2R:
        if (!i.flag(F::b2r_result))
            return "reads a barrier's state";
        // The count for POPC, the predicate for AND and OR.
        set_dst(l, i, l.reduced);
        l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), l.reduced_predicate);
        return kOk;
    default: return kNotMine;
    }
}

// Numbers of special registers as S2R and CS2R name them; those that a game's shaders read.
Answer special_op(Lane& l, const Instruction& i, Group& g, unsigned lane) {
    if (i.op() != Op::S2R && i.op() != Op::CS2R)
        return kNotMine;
    uint32_t v = 0;
    switch (i.get(F::sreg)) {
    case 0: v = lane; break;                               // LANEID
    case 3: v = 0; break;                                  // VIRTID
    case 17: v = l.invocation ? l.invocation->invocation_id : 0; break;
    case 18: v = g.launch->y_direction; break;
    case 19: v = l.dead() ? ~0u : 0; break; // THREAD_KILL
    case 29: v = l.invocation ? l.invocation->invocation_info : 0; break;
    case 32: v = l.tid[0] | l.tid[1] << 16 | l.tid[2] << 26; break; // TID, packed
    case 33: v = l.tid[0]; break;
    case 34: v = l.tid[1]; break;
    case 35: v = l.tid[2]; break;
    case 37: v = g.ctaid[0]; break;
    case 38: v = g.ctaid[1]; break;
    case 39: v = g.ctaid[2]; break;
    case 56: v = 1u << lane; break;                        // EQMASK
    case 57: v = (1u << lane) - 1; break;                  // LTMASK
    case 58: v = (1u << lane) | ((1u << lane) - 1); break; // LEMASK
    case 59: v = ~((1u << lane) | ((1u << lane) - 1)); break; // GTMASK
    case 60: v = ~((1u << lane) - 1); break;               // GEMASK
    case 2: v = 0; break;                                  // VIRTCFG: one warp of one multiprocessor
    case 4:
    case 5:
    case 6:
    case 7: v = 0; break;                                  // PM0..PM3: nothing is counted
    case 50: v = g.launch->shared_bytes; break;            // SMEMSZ
    case 80:
    case 81:
    case 82:
    case 83: v = 0; break; // CLOCKLO, CLOCKHI, GLOBALTIMERLO, GLOBALTIMERHI: no time passes here
    default: return "reads a special register that is not modelled";
    }
    set_dst(l, i, v);
    return kOk;
}

} // namespace dmsh::sim
