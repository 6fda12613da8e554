// Stage inputs and outputs: attributes, interpolation, geometry streams, pixel state.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

constexpr uint32_t kFragCoordW = 0x7c;
constexpr uint64_t kIpaMultiply = 1, kIpaOffset = 2; // F::ipa_mode, F::ipa_sample

// a[register + offset]: the register holds what AL2P gave, or is RZ; on sm_86 it may be a uniform one.
Value* attribute_address(LiftContext& c, unsigned component) {
    const auto offset = static_cast<uint32_t>(c.inst().get_signed(F::attr_offset)) + 4 * component;
    return c.b.CreateAdd(c.has(F::attr_base) ? c.ureg(c.get(F::attr_base)) : c.src_a(), c.i32(offset));
}

unsigned component_count(LiftContext& c) { return static_cast<unsigned>(c.get(F::attr_size)) + 1; }

// Is `v` 1 / frag_coord.w, taken at the same place? Then the multiplications by both cancel.
bool is_reciprocal_w(Value* v, Value* w) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(v);
    if (!call || intrinsic_of(*call) != Intrinsic::mufu)
        return false;
    auto* function = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0));
    auto* of = llvm::dyn_cast<llvm::CallInst>(call->getArgOperand(1));
    auto* here = llvm::dyn_cast<llvm::CallInst>(w);
    if (!function || function->getZExtValue() != static_cast<uint64_t>(MufuOp::rcp) || !of || !here ||
        intrinsic_of(*of) != Intrinsic::attr_interp)
        return false;
    for (unsigned i = 0; i < 3; ++i)
        if (of->getArgOperand(i) != here->getArgOperand(i))
            return false;
    return true;
}

// Undoes what dmsh.attr.interp has done already (a itself, where the hardware gives a / w), multiplies as the mode says, and writes.
void write_interpolated(LiftContext& c, Value* value, bool perspective, Value* where, Value* shift) {
    Value* factor = c.get(F::ipa_mode) == kIpaMultiply ? c.reg_float(c.get(F::src_b)) : nullptr;
    if (perspective) {
        Value* w = c.call(Intrinsic::attr_interp, {c.i32(kFragCoordW), where, shift});
        if (factor && is_reciprocal_w(factor, w)) {
            llvm::cast<llvm::Instruction>(w)->eraseFromParent();
            factor = nullptr;
        } else {
            value = c.b.CreateFMul(value, w);
        }
    }
    if (factor)
        value = c.b.CreateFMul(value, factor);
    if (c.flag(F::sat))
        value = saturate(c, value);
    c.set_reg(c.get(F::dst), value);
}

// a[register + offset]: one element of an array of inputs. AL2P has put the array's address into the register, so the value is a sum with
// a constant; the array ends where the header lists no input or one that is interpolated otherwise.
void ipa_indexed(LiftContext& c) {
    constexpr uint32_t kFirstGeneric = 0x80, kPastGenerics = 0x280;
    auto offset = static_cast<uint32_t>(c.get(F::attr_offset));
    Value* index = c.src_a();
    if (auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(index); sum && sum->getOpcode() == llvm::Instruction::Add)
        if (auto* base = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1))) {
            offset += static_cast<uint32_t>(base->getZExtValue());
            index = sum->getOperand(0);
        }
    if (offset < kFirstGeneric || offset >= kPastGenerics || !c.facts().reads(offset))
        return c.refuse("with an indexed attribute that is no generic input is not implemented");
    const uint64_t location = c.get(F::ipa_sample);
    Value* where = c.i32(static_cast<uint32_t>(location));
    Value* shift = location == kIpaOffset ? c.reg(c.get(F::src_c)) : c.i32(0);
    Value* value = nullptr;
    const Interpolation how = c.facts().interpolation[offset / 4];
    for (uint32_t a = offset; a < kPastGenerics && c.facts().reads(a) && c.facts().interpolation[a / 4] == how; a += 16) {
        Value* one = c.call(Intrinsic::attr_interp, {c.i32(a), where, shift});
        value = value ? c.b.CreateSelect(c.b.CreateICmpEQ(index, c.i32(a - offset)), one, value) : one;
    }
    write_interpolated(c, value, how == Interpolation::perspective, where, shift);
}

} // namespace

void ald(LiftContext& c) {
    const uint64_t d = c.get(F::dst);
    Value* vertex = c.reg(c.get(F::src_c));
    Value* values[4] = {};
    const unsigned count = component_count(c);
    for (unsigned i = 0; i < count; ++i) {
        Value* address = attribute_address(c, i);
        if (c.flag(F::patch))
            values[i] = c.call(Intrinsic::patch_load, {address});
        else if (c.flag(F::attr_out))
            values[i] = c.call(Intrinsic::attr_load_out, {address, vertex});
        else
            values[i] = c.call(Intrinsic::attr_load, {address, vertex});
    }
    for (unsigned i = 0; i < count; ++i)
        c.set_reg(d >= isa::kRz ? d : d + i, values[i]);
}

void ast(LiftContext& c) {
    const uint64_t r = c.get(F::src_b);
    Value* vertex = c.reg(c.get(F::src_c));
    for (unsigned i = 0; i < component_count(c); ++i) {
        Value* address = attribute_address(c, i);
        Value* value = c.reg(r >= isa::kRz ? r : r + i);
        if (c.flag(F::patch))
            c.call(Intrinsic::patch_store, {address, value});
        else
            c.call(Intrinsic::attr_store, {address, value, vertex});
    }
}

// Logical and physical attribute addresses are the same here.
void al2p(LiftContext& c) {
    if (c.has(F::dst_pred) && c.get(F::dst_pred) != isa::kPt)
        return c.refuse("with a predicate result is not implemented");
    c.set_reg(c.get(F::dst), attribute_address(c, 0));
}

// The hardware interpolates a / w where the header asks for perspective; the code multiplies by w, its reciprocal of a[0x7c].
// dmsh.attr.interp is a itself.
void ipa(LiftContext& c) {
    if (c.flag(F::ipa_indexed) && c.get(F::src_a) != isa::kRz)
        return ipa_indexed(c);
    if (c.get(F::src_pred) != isa::kPt || c.flag(F::src_pred_neg))
        return c.refuse("with a predicate operand is not implemented");
    const auto offset = static_cast<uint32_t>(c.get(F::attr_offset));
    const uint64_t location = c.get(F::ipa_sample);
    Value* where = c.i32(static_cast<uint32_t>(location));
    Value* shift = location == kIpaOffset ? c.reg(c.get(F::src_c)) : c.i32(0);
    Value* value = c.call(Intrinsic::attr_interp, {c.i32(offset), where, shift});
    // Clip distances have no mode in the header; they are interpolated as perspective ones.
    const bool clip_distance = offset >= 0x2c0 && offset < 0x2e0;
    const bool perspective =
        offset != kFragCoordW &&
        (clip_distance || c.facts().interpolation[offset / 4 % 256] == Interpolation::perspective);
    write_interpolated(c, value, perspective, where, shift);
}

// The vertex index passes through (T-033): the emitters address vertices by index.
void isberd(LiftContext& c) {
    if (c.get(F::isberd_mode) || c.flag(F::isberd_skew) || c.get(F::isberd_size) || c.flag(F::attr_out))
        return c.refuse("with this mode is not implemented");
    c.set_reg(c.get(F::dst), c.src_a());
}

void out(LiftContext& c) {
    const uint64_t op = c.get(F::out_op);
    Value* stream = c.src_b();
    if (!llvm::isa<llvm::ConstantInt>(stream))
        return c.refuse("with a stream known only at run time is not implemented");
    if (op & 1)
        c.call(Intrinsic::geom_emit, {stream});
    if (op & 2)
        c.call(Intrinsic::geom_cut, {stream});
    c.set_reg(c.get(F::dst), c.i32(0));
}

// The sample count stands in the driver's row for the sample table (B-009): row + 4 holds its logarithm. The coverage mask is that of the
// primitive in this pixel, gl_SampleMaskIn (fs_post_depth_coverage of the corpus). COVERED, OFFSET and CENTROID_OFFSET have no source that
// shows what they return.
void pixld(LiftContext& c) {
    enum Mode : uint64_t { sample_count = 0, coverage_mask = 1, my_index = 5 };
    if (c.get(F::src_a) != isa::kRz || c.get(F::offset) || c.get(F::dst_pred) != isa::kPt)
        return c.refuse("with this operand is not implemented");
    const auto special = [&](SpecialRegister r) { return c.call(Intrinsic::special, {c.i32(static_cast<uint32_t>(r))}); };
    const GuestAbi& abi = *c.input.abi;
    switch (c.get(F::pixld_mode)) {
    case sample_count:
        if (abi.sample_row == kNone)
            return c.refuse("of the sample count is not implemented for this guest ABI");
        c.set_reg(c.get(F::dst), c.b.CreateShl(c.i32(1), c.cbuf(abi.driver_bank, abi.sample_row + 4)));
        return;
    case coverage_mask:
        c.set_reg(c.get(F::dst), special(SpecialRegister::sample_mask_in));
        return;
    case my_index:
        c.set_reg(c.get(F::dst), special(SpecialRegister::sample_id));
        c.shader.interface.per_sample = true;
        c.shader.interface.builtins_read |= builtin_bit(Builtin::sample_id);
        return;
    default: c.refuse("with this mode is not implemented");
    }
}

// The lifter has put the condition into a branch around this.
void kil(LiftContext& c) {
    c.call(Intrinsic::demote, {});
    c.shader.interface.demotes = true;
}

} // namespace dmsh::maxwell
