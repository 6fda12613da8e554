// Stage inputs and outputs that differ from Maxwell's: interpolation, geometry streams, pixel state.
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::ampere {

using isa::F;
using isa::Form;

namespace {

constexpr uint32_t kFragCoordW = 0x7c;
constexpr uint64_t kPass = 0, kState = 2; // F::ipa86_mode; 1 is CONSTANT
constexpr uint64_t kAtOffset = 2;         // F::ipa86_sample

} // namespace

// The hardware interpolates a / w where the header asks for perspective; the code divides by the same place's
// a[0x7c] itself (T-106). dmsh.attr.interp is a itself.
void ipa(LiftContext& c) {
    if (c.get(F::dst_pred) != isa::kPt || c.get(F::ipa86_mode) == kState)
        return c.refuse("in this form is not implemented");
    if (c.has(F::attr_base) && c.get(F::attr_base) != isa::kUrz)
        return c.refuse("with an indexed attribute is not implemented");
    const auto offset = static_cast<uint32_t>(c.get(F::attr_offset));
    const uint64_t location = c.get(F::ipa86_sample);
    Value* where = c.i32(static_cast<uint32_t>(location));
    Value* shift = location == kAtOffset ? c.src_b() : c.i32(0);
    Value* value = c.call(Intrinsic::attr_interp, {c.i32(offset), where, shift});
    // Clip distances have no mode in the header; they are interpolated as perspective ones.
    const bool clip_distance = offset >= 0x2c0 && offset < 0x2e0;
    const bool perspective =
        c.get(F::ipa86_mode) == kPass && offset != kFragCoordW &&
        (clip_distance || c.facts().interpolation[offset / 4 % 256] == Interpolation::perspective);
    if (perspective)
        value = c.b.CreateFMul(value, c.call(Intrinsic::attr_interp, {c.i32(kFragCoordW), where, shift}));
    c.set_reg(c.get(F::dst), value);
}

void out(LiftContext& c) {
    if (c.has(F::out_final))
        return;
    enum : uint64_t { kEmit = 1, kCut = 2 };
    const uint64_t op = c.get(F::out_op);
    Value* stream = c.src_b();
    if (!llvm::isa<llvm::ConstantInt>(stream))
        return c.refuse("with a stream known only at run time is not implemented");
    if (op & kEmit)
        c.call(Intrinsic::geom_emit, {stream});
    if (op & kCut)
        c.call(Intrinsic::geom_cut, {stream});
    c.set_reg(c.get(F::dst), c.i32(0));
}

// MY_INDEX is the sample's number. COVMASK is 1 for a covered pixel and 0 for a helper (T-141).
void pixld(LiftContext& c) {
    enum : uint64_t { kCovMask = 1, kMyIndex = 3 };
    const uint64_t mode = c.get(F::pixld86_mode);
    if (c.get(F::dst_pred) != isa::kPt || (mode != kCovMask && mode != kMyIndex))
        return c.refuse("with this mode is not implemented");
    if (mode == kCovMask) {
        Value* helper = c.call(Intrinsic::helper, {});
        return c.set_reg(c.get(F::dst), c.b.CreateZExt(c.b.CreateNot(helper), c.b.getInt32Ty()));
    }
    c.set_reg(c.get(F::dst),
              c.call(Intrinsic::special, {c.i32(static_cast<uint32_t>(SpecialRegister::sample_id))}));
    c.shader.interface.per_sample = true;
    c.shader.interface.builtins_read |= builtin_bit(Builtin::sample_id);
}

void kill(LiftContext& c) {
    if (c.get(F::src_pred) != isa::kPt || c.flag(F::src_pred_neg))
        return c.refuse("with a second condition is not implemented");
    c.call(Intrinsic::demote, {});
    c.shader.interface.demotes = true;
}

} // namespace dmsh::ampere
