// Constant, global, local and shared memory: addresses with uniform parts and strides, atomics, barriers.
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/ampere/lanes.h"
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/memory.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::ampere {

using isa::F;
using isa::Form;
using maxwell::aligned;
using maxwell::kGlobal;
using maxwell::kLocal;
using maxwell::kShared;
using maxwell::load;
using maxwell::plus;
using maxwell::store;

namespace {

bool is_zero(Value* v) {
    auto* k = llvm::dyn_cast<llvm::ConstantInt>(v);
    return k && k->isZero();
}

Value* sum(LiftContext& c, Value* x, Value* y) {
    return is_zero(x) ? y : is_zero(y) ? x : c.b.CreateAdd(x, y);
}

// Ra (a pair with .64), + a uniform pair, + the displacement. A memory descriptor's contents are the system's.
Value* global_address(LiftContext& c) {
    const auto offset = static_cast<uint64_t>(c.inst().get_signed(F::offset));
    if (!c.flag(F::e)) {
        c.refuse("with a 32-bit address is not implemented");
        return c.i64(0);
    }
    if (!c.has(F::mem_base) || c.flag(F::mem_desc))
        return plus(c, c.reg64(c.get(F::src_a)), offset);
    Value* base = c.ureg64(c.get(F::mem_base));
    Value* index = c.flag(F::mem_wide) ? c.reg64(c.get(F::src_a)) : c.zext64(c.src_a());
    return plus(c, sum(c, base, index), offset);
}

// Whether a generic address lies in the window whose base stands in the driver's bank; windows have 16 MiB below 4 GiB.
Value* in_window(LiftContext& c, Value* address, uint32_t base) {
    constexpr unsigned kWindowBits = 24;
    const GuestAbi& abi = *c.input.abi;
    if (base == kNone)
        return c.i1(false);
    Value* window = c.zext64(c.b.CreateLShr(c.cbuf(abi.driver_bank, base), kWindowBits));
    return c.b.CreateICmpEQ(c.b.CreateLShr(address, kWindowBits), window);
}

Value* in_global(LiftContext& c, Value* address) {
    const GuestAbi& abi = *c.input.abi;
    return c.b.CreateNot(c.b.CreateOr(in_window(c, address, abi.shared_window_base),
                                      in_window(c, address, abi.local_window_base)));
}

bool no_predicate_result(LiftContext& c) {
    if (!c.has(F::dst_pred) || c.get(F::dst_pred) == isa::kPt)
        return true;
    c.refuse("with a predicate result is not implemented");
    return false;
}

// Values of F::atom86_type.
enum Type : uint64_t { type_u32, type_s32, type_u64, type_f32, type_f16x2, type_s64, type_f64 };

std::optional<AtomicOp> typed_op(uint64_t op, uint64_t type) {
    if (type == type_f32)
        return op == 0 ? std::optional(AtomicOp::fadd_ftz) : std::nullopt;
    if (type == type_f16x2)
        return op == 0 ? std::optional(AtomicOp::hadd2) : std::nullopt;
    if (type == type_f64)
        return op == 0 ? std::optional(AtomicOp::dadd) : std::nullopt;
    if (type > type_f64)
        return std::nullopt;
    const auto kind = maxwell::atomic_op(op, type == type_s32 || type == type_s64);
    const bool wide = type == type_u64 || type == type_s64;
    return wide && (kind == AtomicOp::inc || kind == AtomicOp::dec) ? std::nullopt : kind;
}

struct AtomicSpace {
    Intrinsic op_32, op_64;
};
constexpr AtomicSpace kGlobalAtomics{Intrinsic::global_atomic_32, Intrinsic::global_atomic_64};
constexpr AtomicSpace kSharedAtomics{Intrinsic::shared_atomic_32, Intrinsic::shared_atomic_64};

void atomic(LiftContext& c, const AtomicSpace& space, Value* address, uint64_t op, uint64_t type,
            uint64_t dst) {
    const auto kind = typed_op(op, type);
    if (!kind)
        return c.refuse();
    const uint64_t src = c.get(F::src_b);
    Value* code = c.i32(static_cast<uint32_t>(*kind));
    if (type != type_u64 && type != type_s64 && type != type_f64)
        c.set_reg(dst, c.call(space.op_32, {address, code, c.reg(src), c.i32(0)}));
    else if (aligned(c, src, 2) && aligned(c, dst, 2))
        c.set_reg64(dst, c.call(space.op_64, {address, code, c.reg64(src), c.i64(0)}));
}

// Compares with b and stores c; Rd is the old value, a predicate tells of success (T-157). CAST forms give Rd =
// 1 on success instead (T-154).
void compare_and_swap(LiftContext& c, const AtomicSpace& space, Value* address, bool wide, bool flag_result) {
    const uint64_t d = c.get(F::dst);
    Value* code = c.i32(static_cast<uint32_t>(AtomicOp::cas));
    Value *old = nullptr, *expected = nullptr;
    if (wide) {
        if (!aligned(c, c.get(F::src_b), 2) || !aligned(c, c.get(F::src_c), 2) || !aligned(c, d, 2))
            return;
        expected = c.reg64(c.get(F::src_b));
        old = c.call(space.op_64, {address, code, c.reg64(c.get(F::src_c)), expected});
    } else {
        expected = c.reg(c.get(F::src_b));
        old = c.call(space.op_32, {address, code, c.reg(c.get(F::src_c)), expected});
    }
    Value* swapped = c.b.CreateICmpEQ(old, expected);
    if (flag_result && wide)
        c.set_reg64(d, c.zext64(c.bool_to_int(swapped, 1)));
    else if (flag_result)
        c.set_reg(d, c.bool_to_int(swapped, 1));
    else if (wide)
        c.set_reg64(d, old);
    else
        c.set_reg(d, old);
    if (!c.has(F::dst_pred))
        return;
    // ATOM works on generic addresses: what its predicate tells is that the address was one that it can work on, which for 32 bits is any.
    if (c.inst().op() == isa::Op::ATOM)
        swapped = in_global(c, address);
    c.set_predicate(c.get(F::dst_pred), swapped);
}

} // namespace

Value* address_32(LiftContext& c) {
    static constexpr uint32_t kShift[4] = {0, 2, 3, 4}; // F::mem_stride: 1, 4, 8, 16 bytes
    Value* address = c.src_a();
    if (const uint32_t shift = kShift[c.get(F::mem_stride) & 3])
        address = c.b.CreateShl(address, shift);
    if (c.has(F::mem_base) && !c.flag(F::mem_desc))
        address = sum(c, c.ureg(c.get(F::mem_base)), address);
    return plus(c, address, static_cast<uint32_t>(c.inst().get_signed(F::offset)));
}

void ldc(LiftContext& c) {
    if (c.inst().form() == Form::cx)
        return c.refuse("of a constant buffer by descriptor is not implemented");
    maxwell::ldc(c);
}

void uldc(LiftContext& c) {
    const uint64_t size = c.get(F::ldc_size), d = c.get(F::dst);
    if (c.inst().form() == Form::cx)
        return c.refuse("of a constant buffer by descriptor is not implemented");
    if (c.inst().form() == Form::cbuf_reg)
        return maxwell::ldc(c);
    if (size != maxwell::b32 && size != maxwell::b64)
        return c.refuse("of this size is not implemented");
    c.set_reg(d, c.cbuf(c.get(F::cbuf_bank), c.get(F::cbuf_offset)));
    if (size == maxwell::b64)
        c.set_reg(d >= isa::kUrz ? d : d + 1, c.cbuf(c.get(F::cbuf_bank), c.get(F::cbuf_offset) + 4));
}

namespace {

void load_at_pair(LiftContext& c, const maxwell::Space& space) {
    if (!no_predicate_result(c))
        return;
    Value* active = nullptr;
    if (c.has(F::src_pred) && (c.get(F::src_pred) != isa::kPt || c.flag(F::src_pred_neg)))
        active = c.src_predicate();
    load(c, space, global_address(c), c.get(F::mem_size_st), active);
}

} // namespace

void ldg(LiftContext& c) {
    load_at_pair(c, kGlobal);
}
void ld(LiftContext& c) {
    load_at_pair(c, maxwell::generic_space(c));
}
void stg(LiftContext& c) {
    store(c, kGlobal, global_address(c), c.get(F::mem_size_st));
}
void st(LiftContext& c) {
    store(c, maxwell::generic_space(c), global_address(c), c.get(F::mem_size_st));
}
void ldl(LiftContext& c) {
    load(c, kLocal, address_32(c), c.get(F::mem_size_st));
}
void stl(LiftContext& c) {
    store(c, kLocal, address_32(c), c.get(F::mem_size_st));
}
void lds(LiftContext& c) {
    load(c, kShared, address_32(c), c.get(F::mem_size_st));
}
void sts(LiftContext& c) {
    store(c, kShared, address_32(c), c.get(F::mem_size_st));
}

void atom(LiftContext& c) {
    const uint64_t type = c.get(F::atom86_type);
    if (c.has(F::cas) || c.has(F::cas86)) {
        constexpr uint64_t kCas = 0, kCasAgain = 2; // F::cas86; the others are CAST
        const uint64_t kind = c.get(F::cas86);
        if ((kind != kCas && kind != kCasAgain) || (type != type_u32 && type != type_u64))
            return c.refuse();
        return compare_and_swap(c, kGlobalAtomics, global_address(c), type == type_u64, false);
    }
    if (c.has(F::atoms_arrive))
        return c.refuse();
    Value* address = global_address(c);
    atomic(c, kGlobalAtomics, address, c.get(F::atom86_op), type, c.get(F::dst));
    if (c.has(F::dst_pred) && c.get(F::dst_pred) != isa::kPt)
        c.set_predicate(c.get(F::dst_pred), in_global(c, address));
}

// Which memory a generic address is in.
void qspc(LiftContext& c) {
    enum : uint64_t { kGlobalSpace = 0, kLocalSpace = 1, kSharedSpace = 2 }; // F::qspc_op
    const GuestAbi& abi = *c.input.abi;
    Value *address = global_address(c), *inside = nullptr;
    switch (c.get(F::qspc_op)) {
    case kGlobalSpace: inside = in_global(c, address); break;
    case kLocalSpace: inside = in_window(c, address, abi.local_window_base); break;
    case kSharedSpace: inside = in_window(c, address, abi.shared_window_base); break;
    default: return c.refuse("of this space is not implemented");
    }
    if (c.get(F::dst) != isa::kRz)
        return c.refuse("with a register result is not implemented");
    c.set_predicate(c.get(F::dst_pred), inside);
}

void red(LiftContext& c) {
    atomic(c, kGlobalAtomics, global_address(c), c.get(F::red_op), c.get(F::atom86_type), isa::kRz);
}

void atoms(LiftContext& c) {
    Value* address = address_32(c);
    if (c.has(F::atoms_arrive)) {
        constexpr uint64_t kPopcInc = 1; // an addition of 1 without a source (T-158)
        if (c.get(F::atoms_arrive) != kPopcInc)
            return c.refuse();
        Value* code = c.i32(static_cast<uint32_t>(AtomicOp::add));
        return c.set_reg(c.get(F::dst),
                         c.call(Intrinsic::shared_atomic_32, {address, code, c.i32(1), c.i32(0)}));
    }
    const uint64_t type = c.get(F::atoms86_type);
    if (c.has(F::cas86))
        return compare_and_swap(c, kSharedAtomics, address, type == type_u64, c.get(F::cas86) & 1);
    atomic(c, kSharedAtomics, address, c.get(F::atoms_op), type, c.get(F::dst));
}

// Scopes CTA, SM, GPU, SYS, VC to the dictionary's 0 CTA, 1 GL, 2 SYS.
void membar(LiftContext& c) {
    static constexpr uint32_t kLevels[8] = {0, 0, 1, 2, 2, 1, 2, 2};
    c.call(Intrinsic::membar, {c.i32(kLevels[c.get(F::membar86_level) & 7])});
}

// Prefetches, write-backs and invalidations have no effect that the targets' memory model shows.
void cctl(LiftContext&) {}

} // namespace dmsh::ampere
