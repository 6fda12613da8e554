// Comparison and reduction over the active lanes of a warp (T-112). No target has MATCH, and not every one has
// reductions of all kinds, so every lane reads the others one after another.
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/ampere/lanes.h"

namespace dmsh::ampere {

using isa::F;

namespace {

constexpr uint32_t kLanes = 32;

Value* active_lanes(LiftContext& c) {
    return c.call(Intrinsic::ballot, {c.i1(true)});
}

Value* is_active(LiftContext& c, Value* active, uint32_t k) {
    return c.b.CreateICmpNE(c.b.CreateAnd(active, 1u << k), c.i32(0));
}

} // namespace

// SHFL.IDX with the whole warp as its segment.
Value* lane_value(LiftContext& c, Value* value, Value* lane) {
    constexpr uint32_t kIdx = 0, kWholeWarp = 0x1f;
    return c.call(Intrinsic::shfl, {c.i32(kIdx), value, lane, c.i32(kWholeWarp)});
}

// .ANY: the mask of active lanes with the same value. .ALL: that mask if all have it, else 0, and a predicate.
void match(LiftContext& c) {
    const uint64_t a = c.get(F::src_a);
    const bool wide = c.flag(F::match_u64), any = c.flag(F::match_any);
    llvm::SmallVector<Value*, 2> own{c.reg(a)};
    if (wide)
        own.push_back(c.reg(a >= isa::kRz ? a : a + 1));
    Value *active = active_lanes(c), *mask = c.i32(0);
    for (uint32_t k = 0; k < kLanes; ++k) {
        Value* same = is_active(c, active, k);
        for (Value* word : own)
            same = c.b.CreateAnd(same, c.b.CreateICmpEQ(lane_value(c, word, c.i32(k)), word));
        mask = c.b.CreateOr(mask, c.bool_to_int(same, 1u << k));
    }
    if (any)
        return c.set_reg(c.get(F::dst), mask);
    Value* all = c.b.CreateICmpEQ(mask, active);
    c.set_reg(c.get(F::dst), c.b.CreateSelect(all, mask, c.i32(0)));
    c.set_predicate(c.get(F::dst_pred), all);
}

// AND, OR, XOR, SUM, MIN, MAX into a uniform register.
void redux(LiftContext& c) {
    enum : uint64_t { kAnd = 0, kOr = 1, kXor = 2, kSum = 3, kMin = 4, kMax = 5 };
    const uint64_t op = c.get(F::redux_op);
    const bool is_signed = c.flag(F::redux_signed);
    if (op > kMax)
        return c.refuse();
    const uint32_t neutral[6] = {0xffffffff, 0, 0, 0, is_signed ? 0x7fffffff : 0xffffffff,
                                 is_signed ? 0x80000000 : 0};
    Value *value = c.src_a(), *active = active_lanes(c), *result = c.i32(neutral[op]);
    for (uint32_t k = 0; k < kLanes; ++k) {
        Value* v = c.b.CreateSelect(is_active(c, active, k), lane_value(c, value, c.i32(k)), c.i32(neutral[op]));
        switch (op) {
        case kAnd: result = c.b.CreateAnd(result, v); break;
        case kOr: result = c.b.CreateOr(result, v); break;
        case kXor: result = c.b.CreateXor(result, v); break;
        case kSum: result = c.b.CreateAdd(result, v); break;
        case kMin:
            result = c.math(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, {result, v});
            break;
        default:
            result = c.math(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, {result, v});
            break;
        }
    }
    c.set_ureg(c.get(F::dst), result);
}

} // namespace dmsh::ampere
