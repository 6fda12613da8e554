// Operations across lanes: votes, ballots, shuffles, derivatives.
#include "compiler/emit/spirv/emitter.h"

namespace dmsh {

uint32_t SpirvEmitter::lane() {
    b_.capability(spv::CapabilityGroupNonUniform);
    return builtin_word(spv::BuiltInSubgroupLocalInvocationId);
}

// SHFL: which lane is read, and whether that lane is inside the segment (else the own value is kept). `c`
// holds the clamp in bits 0..4 and the segment mask in bits 8..12 (PTX ISA, shfl).
uint32_t SpirvEmitter::source_lane(uint32_t mode, uint32_t bsel, uint32_t c, uint32_t& valid) {
    const uint32_t own = lane();
    const uint32_t b = op(spv::OpBitwiseAnd, u32(), {bsel, uc(31)});
    const uint32_t clamp = op(spv::OpBitwiseAnd, u32(), {c, uc(31)});
    const uint32_t segment = op(spv::OpBitFieldUExtract, u32(), {c, uc(8), uc(5)});
    const uint32_t inside = op(spv::OpNot, u32(), {segment});
    const uint32_t low = op(spv::OpBitwiseAnd, u32(), {own, segment});
    const uint32_t high = op(spv::OpBitwiseOr, u32(), {low, op(spv::OpBitwiseAnd, u32(), {clamp, inside})});
    uint32_t source;
    switch (mode) {
    case 0: source = op(spv::OpBitwiseOr, u32(), {low, op(spv::OpBitwiseAnd, u32(), {b, inside})}); break;
    case 1: source = op(spv::OpISub, u32(), {own, b}); break;
    case 2: source = op(spv::OpIAdd, u32(), {own, b}); break;
    default: source = op(spv::OpBitwiseXor, u32(), {own, b}); break;
    }
    // With a constant segment that the selector cannot leave, every lane reads inside of it.
    const auto kb = b_.constant_word(b, u32()), kc = b_.constant_word(c, u32());
    if (kb && kc) {
        const uint32_t outside = *kc >> 8 & 31, last = *kc & 31 & ~outside;
        if ((mode == 0 && (*kb & ~outside) <= last) || (mode == 3 && !(*kb & outside) && last == (~outside & 31))) {
            valid = b_.constant_bool(true);
            return source;
        }
    }
    valid = op(mode == 1 ? spv::OpSGreaterThanEqual : spv::OpSLessThanEqual, boolean(), {source, high});
    return select(u32(), valid, source, own);
}

bool SpirvEmitter::emit_lanes(const llvm::CallInst& call, Intrinsic id) {
    const auto a = [&](unsigned k) { return value(call.getArgOperand(k)); };
    const uint32_t scope = uc(spv::ScopeSubgroup);
    const auto vote = [&](spv::Op o, uint32_t v) {
        b_.capability(spv::CapabilityGroupNonUniform);
        b_.capability(spv::CapabilityGroupNonUniformVote);
        define(&call, op(o, boolean(), {scope, v}));
        return true;
    };
    switch (id) {
    case Intrinsic::vote_all: return vote(spv::OpGroupNonUniformAll, a(0));
    case Intrinsic::vote_any: return vote(spv::OpGroupNonUniformAny, a(0));
    case Intrinsic::vote_eq: return vote(spv::OpGroupNonUniformAllEqual, a(0));
    case Intrinsic::ballot: {
        b_.capability(spv::CapabilityGroupNonUniform);
        b_.capability(spv::CapabilityGroupNonUniformBallot);
        const uint32_t bits = op(spv::OpGroupNonUniformBallot, vec(u32(), 4), {scope, a(0)});
        define(&call, op(spv::OpCompositeExtract, u32(), {bits, 0}));
        return true;
    }
    case Intrinsic::shfl:
    case Intrinsic::shfl_valid: {
        const bool with_value = id == Intrinsic::shfl;
        const auto mode = literal(call.getArgOperand(0));
        if (!mode || *mode > 3) {
            fail("SHFL with an unknown mode");
            return true;
        }
        const uint32_t b = a(with_value ? 2 : 1), c = a(with_value ? 3 : 2);
        uint32_t valid;
        const uint32_t source = source_lane(*mode, b, c, valid);
        if (!with_value) {
            define(&call, valid);
            return true;
        }
        b_.capability(spv::CapabilityGroupNonUniformShuffle);
        // A float goes over as one: its casts fold.
        const uint32_t* d = definition(a(1));
        const uint32_t* from = d && (d[0] & 0xffff) == spv::OpBitcast ? definition(d[3]) : nullptr;
        if (from && from[1] == f32())
            define(&call, to_bits(op(spv::OpGroupNonUniformShuffle, f32(), {scope, d[3], source})));
        else
            define(&call, op(spv::OpGroupNonUniformShuffle, u32(), {scope, a(1), source}));
        return true;
    }
    case Intrinsic::fswzadd: {
        // The field of quad lane q is bits 7-2q..6-2q: 0 a+b, 1 b-a, 2 a-b, 3 b.
        const auto mask = literal(call.getArgOperand(2));
        if (!mask) {
            fail("FSWZADD with a mask that is no constant");
            return true;
        }
        // Bit 31 - q: whether the field of lane q is `k`, ready to become a sign when shifted by the lane.
        const auto lanes = [&](uint32_t k) {
            uint32_t bits = 0;
            for (unsigned q = 0; q < 4; ++q)
                bits |= uint32_t{(*mask >> (6 - 2 * q) & 3) == k} << (31 - q);
            return bits;
        };
        constexpr uint32_t kAll = 0xf0000000u;
        const auto in_lane = [&](uint32_t bits) {
            const uint32_t quad = op(spv::OpBitwiseAnd, u32(), {lane(), uc(3)});
            return op(spv::OpSLessThan, boolean(), {op(spv::OpShiftLeftLogical, u32(), {uc(bits), quad}), uc(0)});
        };
        // A factor of 1 or -1 is exact.
        const auto with_sign = [&](uint32_t x, uint32_t negative) {
            if (!negative)
                return x;
            if (negative == kAll)
                return op(spv::OpFNegate, f32(), {x});
            return exact(op(spv::OpFMul, f32(), {x, select(f32(), in_lane(negative), fc(-1), fc(1))}));
        };
        const uint32_t only_b = lanes(3);
        uint32_t r = a(1);
        if (only_b != kAll) {
            r = exact(op(spv::OpFAdd, f32(), {with_sign(a(0), lanes(1)), with_sign(a(1), lanes(2))}));
            if (only_b)
                r = select(f32(), in_lane(only_b), a(1), r);
        }
        define(&call, r);
        return true;
    }
    case Intrinsic::ddx:
    case Intrinsic::ddy:
        if (stage_ != Stage::fragment) {
            fail("a derivative outside a fragment shader");
            return true;
        }
        b_.capability(spv::CapabilityDerivativeControl);
        define(&call, op(id == Intrinsic::ddx ? spv::OpDPdxFine : spv::OpDPdyFine, f32(), {a(0)}));
        return true;
    default: return false;
    }
}

} // namespace dmsh
