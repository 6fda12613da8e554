// Moves, selects, predicate and condition-code transfers, special registers.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

constexpr uint64_t kAllLanes = 15; // F::lane_mask: bit per lane of a quad

// Numbers of S2R (the disassembler's SR_ names; compiler-visible ones of the reference lists).
enum : uint64_t {
    kLaneId = 0,
    kVirtId = 3,
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
    kEqMask = 56,
    kLtMask = 57,
    kLeMask = 58,
    kGtMask = 59,
    kGeMask = 60,
    kClockLo = 80,
    kClockHi = 81,
};

std::optional<SpecialRegister> special_register(uint64_t number) {
    switch (number) {
    case kLaneId: return SpecialRegister::laneid;
    case kVirtId: return SpecialRegister::virtual_id;
    case kInvocationId: return SpecialRegister::invocation_id;
    case kYDirection: return SpecialRegister::y_direction;
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
    if (number == kClockLo)
        return c.call(Intrinsic::clock, {});
    if (number == kClockHi)
        return c.i32(0); // the upper half of a counter whose lower half only is read
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
    const uint32_t shift = static_cast<uint32_t>(c.get(F::byte_a)) * 8;
    if (c.inst().form() != Form::imm)
        return c.refuse("with a mask in a register is not implemented");
    const uint32_t mask = c.inst().imm32() & (flags ? 0xf : 0x7f);
    Value* bits = c.i32(0);
    for (unsigned i = 0; i < 7; ++i)
        if (mask >> i & 1) {
            Value* one = flags ? c.flag(kFlags[i]) : c.predicate(i);
            bits = c.b.CreateOr(bits, c.bool_to_int(one, 1u << (i + shift)));
        }
    c.set_reg(c.get(F::dst), c.b.CreateOr(c.b.CreateAnd(c.src_a(), ~(mask << shift)), bits));
}

void r2p(LiftContext& c) {
    const bool flags = c.flag(F::p2r_cc);
    const uint32_t shift = static_cast<uint32_t>(c.get(F::byte_a)) * 8;
    if (c.inst().form() != Form::imm)
        return c.refuse("with a mask in a register is not implemented");
    const uint32_t mask = c.inst().imm32() & (flags ? 0xf : 0x7f);
    Value* source = c.src_a();
    for (unsigned i = 0; i < 7; ++i)
        if (mask >> i & 1) {
            Value* one = c.b.CreateICmpNE(c.b.CreateAnd(source, 1u << (i + shift)), c.i32(0));
            if (flags)
                c.set_flag(kFlags[i], one);
            else
                c.set_predicate(i, one);
        }
}

void s2r(LiftContext& c) { c.set_reg(c.get(F::dst), special(c, c.get(F::sreg))); }

void cs2r(LiftContext& c) { c.set_reg(c.get(F::dst), special(c, c.get(F::sreg))); }

} // namespace dmsh::maxwell
