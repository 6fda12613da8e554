// Moves, selects, predicate and condition-code transfers, special registers.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

// GM20B has two multiprocessors; SR_VIRTCFG holds their number in bits 20..28 (px_sreg of the cuda corpus).
constexpr uint32_t kMultiprocessors = 2;

constexpr uint64_t kAllLanes = 15; // F::lane_mask: bit per lane of a quad

// Numbers of S2R (the disassembler's SR_ names; compiler-visible ones of the reference lists).
enum : uint64_t {
    kLaneId = 0,
    kVirtCfg = 2,
    kVirtId = 3,
    kPerformance0 = 4,
    kPerformanceLast = 7,
    kPrimType = 16,
    kInvocationId = 17,
    kYDirection = 18,
    kThreadKill = 19,
    kInvocationInfo = 29,
    kTid = 32,
    kTidX = 33,
    kTidY = 34,
    kTidZ = 35,
    kCtaidX = 37,
    kCtaidY = 38,
    kCtaidZ = 39,
    kSharedSize = 50,
    kEqMask = 56,
    kLtMask = 57,
    kLeMask = 58,
    kGtMask = 59,
    kGeMask = 60,
    kClockLo = 80,
    kClockHi = 81,
    kGlobalTimerLo = 82,
    kGlobalTimerHi = 83,
};

std::optional<SpecialRegister> special_register(uint64_t number) {
    switch (number) {
    case kLaneId: return SpecialRegister::laneid;
    case kVirtId: return SpecialRegister::virtual_id;
    case kPrimType: return SpecialRegister::prim_type;
    case kInvocationId: return SpecialRegister::invocation_id;
    case kInvocationInfo: return SpecialRegister::invocation_info;
    case kTid: return SpecialRegister::tid_packed;
    case kTidX: return SpecialRegister::tid_x;
    case kTidY: return SpecialRegister::tid_y;
    case kTidZ: return SpecialRegister::tid_z;
    case kCtaidX: return SpecialRegister::ctaid_x;
    case kCtaidY: return SpecialRegister::ctaid_y;
    case kCtaidZ: return SpecialRegister::ctaid_z;
    case kEqMask: return SpecialRegister::eqmask;
    case kLtMask: return SpecialRegister::ltmask;
    case kLeMask: return SpecialRegister::lemask;
    case kGtMask: return SpecialRegister::gtmask;
    case kGeMask: return SpecialRegister::gemask;
    default: return std::nullopt;
    }
}

Value* special(LiftContext& c, uint64_t number) {
    if (number == kThreadKill) // all bits where the invocation is a helper
        return c.bool_to_int(c.call(Intrinsic::helper, {}), 0xffffffff);
    const GuestAbi& abi = *c.input.abi;
    switch (number) {
    case kYDirection: // T-030: a float, +1 or -1 by the window's origin, which only the runtime knows
        return abi.y_direction != kNone ? c.cbuf(abi.driver_bank, abi.y_direction)
                                        : c.call(Intrinsic::special, {c.i32(static_cast<uint32_t>(SpecialRegister::y_direction))});
    case kClockLo:
    case kGlobalTimerLo: return c.call(Intrinsic::clock, {});
    case kClockHi:
    case kGlobalTimerHi: return c.i32(0); // the upper half of a counter whose lower half only is read
    case kVirtCfg: return c.i32(kMultiprocessors << 20);
    case kSharedSize: return c.i32(c.input.shared_bytes);
    default: break;
    }
    if (number >= kPerformance0 && number <= kPerformanceLast)
        return c.i32(0); // performance counters that nobody has started
    if (const auto r = special_register(number))
        return c.call(Intrinsic::special, {c.i32(static_cast<uint32_t>(*r))});
    c.refuse("of this special register is not implemented");
    return c.i32(0);
}

Value* condition_of_three(LiftContext& c, Value* x, Value** inverted) {
    Value* y = c.predicate(c.get(F::src_pred2), c.flag(F::src_pred2_neg));
    Value* z = c.predicate(c.get(F::src_pred3), c.flag(F::src_pred3_neg));
    Value* inner = combine(c, c.get(F::bop2), x, y);
    if (inverted)
        *inverted = combine(c, c.get(F::bop), c.b.CreateNot(inner), z);
    return combine(c, c.get(F::bop), inner, z);
}

// P2R, R2P: the flags as bits Z, S, C, O from bit 0, or the predicates from bit 0.
constexpr Variable kFlags[4] = {kFlagZ, kFlagS, kFlagC, kFlagO};

} // namespace

void nothing(LiftContext&) {}

// A mask below 15 lets only those lanes of each quad write (textureGrad of cubes collects four lookups so).
void mov(LiftContext& c) {
    Value* source = c.src_b();
    if (const uint64_t mask = c.get(F::lane_mask); mask != kAllLanes) {
        Value* lane = c.b.CreateAnd(c.call(Intrinsic::special, {c.i32(static_cast<uint32_t>(SpecialRegister::laneid))}), 3);
        Value* bit = c.b.CreateAnd(c.b.CreateLShr(c.i32(static_cast<uint32_t>(mask)), lane), 1);
        source = c.b.CreateSelect(c.b.CreateICmpNE(bit, c.i32(0)), source, c.reg(c.get(F::dst)));
    }
    c.set_reg(c.get(F::dst), source);
}

void sel(LiftContext& c) {
    Value* x = c.src_a();
    Value* y = c.src_b();
    c.set_reg(c.get(F::dst), c.b.CreateSelect(c.src_predicate(), x, y));
}

void pset(LiftContext& c) {
    Value* condition = condition_of_three(c, c.src_predicate(), nullptr);
    Value* result = c.bool_to_int(condition, c.flag(F::bf) ? 0x3f800000 : 0xffffffff);
    c.set_reg(c.get(F::dst), result);
    if (c.flag(F::cc))
        c.set_integer_flags(result);
}

void psetp(LiftContext& c) {
    Value* inverted = nullptr;
    const bool both = c.get(F::dst_pred2) != isa::kPt;
    Value* result = condition_of_three(c, c.src_predicate(), both ? &inverted : nullptr);
    c.set_predicate(c.get(F::dst_pred), result);
    if (both)
        c.set_predicate(c.get(F::dst_pred2), inverted);
}

void cset(LiftContext& c) { write_set(c, c.condition_code(c.get(F::cc_test))); }
void csetp(LiftContext& c) { write_setp(c, c.condition_code(c.get(F::cc_test))); }

void p2r(LiftContext& c) {
    const bool flags = c.flag(F::p2r_cc);
    const uint32_t shift = static_cast<uint32_t>(c.get(F::byte_a)) * 8, all = flags ? 0xf : 0x7f;
    Value* mask = c.b.CreateAnd(c.src_b(), all);
    const auto* known = llvm::dyn_cast<llvm::ConstantInt>(mask);
    Value* bits = c.i32(0);
    for (unsigned i = 0; all >> i & 1; ++i)
        if (!known || known->getZExtValue() >> i & 1) {
            Value* one = flags ? c.flag(kFlags[i]) : c.predicate(i);
            bits = c.b.CreateOr(bits, c.bool_to_int(one, 1u << (i + shift)));
        }
    Value* place = c.b.CreateShl(mask, shift);
    if (!known)
        bits = c.b.CreateAnd(bits, place);
    c.set_reg(c.get(F::dst), c.b.CreateOr(c.b.CreateAnd(c.src_a(), c.b.CreateNot(place)), bits));
}

void r2p(LiftContext& c) {
    const bool flags = c.flag(F::p2r_cc);
    const uint32_t shift = static_cast<uint32_t>(c.get(F::byte_a)) * 8, all = flags ? 0xf : 0x7f;
    Value* mask = c.b.CreateAnd(c.src_b(), all);
    const auto* known = llvm::dyn_cast<llvm::ConstantInt>(mask);
    Value* source = c.src_a();
    for (unsigned i = 0; all >> i & 1; ++i) {
        if (known && !(known->getZExtValue() >> i & 1))
            continue;
        Value* one = c.b.CreateICmpNE(c.b.CreateAnd(source, 1u << (i + shift)), c.i32(0));
        if (!known) {
            Value* old = flags ? c.flag(kFlags[i]) : c.predicate(i);
            one = c.b.CreateSelect(c.b.CreateICmpNE(c.b.CreateAnd(mask, 1u << i), c.i32(0)), one, old);
        }
        if (flags)
            c.set_flag(kFlags[i], one);
        else
            c.set_predicate(i, one);
    }
}

void s2r(LiftContext& c) { c.set_reg(c.get(F::dst), special(c, c.get(F::sreg))); }

void cs2r(LiftContext& c) { c.set_reg(c.get(F::dst), special(c, c.get(F::sreg))); }

} // namespace dmsh::maxwell
