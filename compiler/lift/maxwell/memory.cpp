// Constant, global, local and shared memory: loads, stores, atomics, barriers of memory.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/memory.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

unsigned words_of(uint64_t size) {
    return size == b64 ? 2 : size >= b128 ? 4 : 1;
}

constexpr Space kGeneric{Intrinsic::generic_load_8,  Intrinsic::generic_load_16,  Intrinsic::generic_load_32,
                         Intrinsic::generic_store_8, Intrinsic::generic_store_16, Intrinsic::generic_store_32};
} // namespace

Value* plus(LiftContext& c, Value* address, uint64_t bytes) {
    return bytes ? c.b.CreateAdd(address, llvm::ConstantInt::get(address->getType(), bytes)) : address;
}

void load(LiftContext& c, const Space& space, Value* address, uint64_t size, Value* active) {
    const uint64_t dst = c.get(F::dst);
    const unsigned words = words_of(size);
    if (!aligned(c, dst, words))
        return;
    const auto narrow = [&](Intrinsic id, bool is_signed) {
        Value* v = c.call(id, {address});
        return is_signed ? c.b.CreateSExt(v, c.b.getInt32Ty()) : c.b.CreateZExt(v, c.b.getInt32Ty());
    };
    llvm::SmallVector<Value*, 4> values;
    if (size <= s8)
        values.push_back(narrow(space.load_8, size == s8));
    else if (size <= s16)
        values.push_back(narrow(space.load_16, size == s16));
    else
        for (unsigned k = 0; k < words; ++k)
            values.push_back(c.call(space.load_32, {plus(c, address, 4 * k)}));
    for (unsigned k = 0; k < values.size(); ++k)
        c.set_reg(dst == isa::kRz ? dst : dst + k,
                  active ? c.b.CreateSelect(active, values[k], c.i32(0)) : values[k]);
}

void store(LiftContext& c, const Space& space, Value* address, uint64_t size) {
    const uint64_t src = c.get(F::src_b);
    const unsigned words = words_of(size);
    if (!aligned(c, src, words))
        return;
    if (size == u8 || size == s8) {
        c.call(space.store_8, {address, c.b.CreateTrunc(c.reg(src), c.b.getInt8Ty())});
        return;
    }
    if (size == u16 || size == s16) {
        c.call(space.store_16, {address, c.b.CreateTrunc(c.reg(src), c.b.getInt16Ty())});
        return;
    }
    for (unsigned k = 0; k < words; ++k)
        c.call(space.store_32, {plus(c, address, 4 * k), c.reg(src == isa::kRz ? src : src + k)});
}

// LD and ST reach shared and local memory through windows. Their predicate promises that the address lies above all windows (it comes
// from LEA.HI.X), which the windows' test finds out as well.
const Space& generic_space(const LiftContext& c) {
    return c.input.abi->shared_window_base == kNone ? kGlobal : kGeneric;
}

namespace {

// 64-bit address of global operations: a register pair with .E, else one register.
Value* global_address(LiftContext& c) {
    const auto offset = static_cast<uint64_t>(c.inst().get_signed(F::offset));
    if (c.flag(F::e))
        return plus(c, c.reg64(c.get(F::src_a)), offset);
    return c.zext64(plus(c, c.src_a(), offset & 0xffffffff));
}

Value* address_32(LiftContext& c) {
    return plus(c, c.src_a(), static_cast<uint32_t>(c.inst().get_signed(F::offset)));
}

bool plain_predicate(LiftContext& c) {
    if (!c.has(F::dst_pred) || c.get(F::dst_pred) == isa::kPt)
        return true;
    c.refuse("with a predicate operand is not implemented");
    return false;
}

// An atomic at `address` with the type as F::atom_type counts them; `dst` receives the old value.
void atomic(LiftContext& c, Intrinsic op32, Intrinsic op64, Value* address, uint64_t op, uint64_t type,
            uint64_t dst) {
    enum Type : uint64_t { type_u32, type_s32, type_u64, type_f32, type_f16x2, type_s64 };
    const bool is_signed = type == type_s32 || type == type_s64;
    const bool wide = type == type_u64 || type == type_s64;
    auto kind = atomic_op(op, is_signed);
    if (type == type_f32)
        kind = op == 0 ? std::optional(AtomicOp::fadd_ftz) : std::nullopt;
    if (!kind || type == type_f16x2 || type > type_s64 ||
        (wide && (kind == AtomicOp::inc || kind == AtomicOp::dec))) {
        c.refuse();
        return;
    }
    const uint64_t src = c.get(F::src_b);
    Value* code = c.i32(static_cast<uint32_t>(*kind));
    if (!wide) {
        c.set_reg(dst, c.call(op32, {address, code, c.reg(src), c.i32(0)}));
        return;
    }
    if (aligned(c, src, 2) && aligned(c, dst, 2))
        c.set_reg64(dst, c.call(op64, {address, code, c.reg64(src), c.i64(0)}));
}

// Compares with src_b and stores the register (or pair) behind it.
void compare_and_swap(LiftContext& c, Intrinsic op32, Intrinsic op64, Value* address) {
    const bool wide = c.flag(F::cas_64);
    const uint64_t src = c.get(F::src_b), dst = c.get(F::dst);
    const auto next = [&](uint64_t n) { return src == isa::kRz ? src : src + n; };
    Value* code = c.i32(static_cast<uint32_t>(AtomicOp::cas));
    if (!aligned(c, src, wide ? 4 : 2))
        return;
    if (!wide)
        c.set_reg(dst, c.call(op32, {address, code, c.reg(next(1)), c.reg(src)}));
    else if (aligned(c, dst, 2))
        c.set_reg64(dst, c.call(op64, {address, code, c.reg64(next(2)), c.reg64(src)}));
}

} // namespace

// LDC: c[bank][Ra + offset]. .IS and .ISL take the upper half of Ra as a step of the bank (T-043, T-133).
void ldc(LiftContext& c) {
    enum Mode : uint64_t { plain = 0, il = 1, is = 2, isl = 3 };
    const uint64_t size = c.get(F::ldc_size), mode = c.get(F::ldc_mode), dst = c.get(F::dst);
    const auto offset = static_cast<uint32_t>(c.inst().get_signed(F::cbuf_offset));
    if (mode == il || size > b64) {
        c.refuse();
        return;
    }
    if (!aligned(c, dst, words_of(size)))
        return;
    Value* bank = c.i32(static_cast<uint32_t>(c.get(F::cbuf_bank)));
    Value* address = c.src_a();
    if (mode != plain) {
        bank = c.b.CreateAdd(c.b.CreateLShr(address, 16), bank);
        address = c.b.CreateAnd(address, 0xffff);
    }
    address = plus(c, address, offset);
    if (size >= b32) {
        // Misaligned addresses fault on the hardware, so no bits are masked off.
        Value* low = c.call(Intrinsic::cbuf_load, {bank, address});
        if (size == b64) {
            Value* high = c.call(Intrinsic::cbuf_load, {bank, plus(c, address, 4)});
            c.set_reg(dst == isa::kRz ? dst : dst + 1, high);
        }
        c.set_reg(dst, low);
        return;
    }
    Value* word = c.call(Intrinsic::cbuf_load, {bank, c.b.CreateAnd(address, ~3u)});
    Value* part = c.b.CreateLShr(word, c.b.CreateShl(c.b.CreateAnd(address, 3), 3));
    llvm::Type* narrow = size <= s8 ? c.b.getInt8Ty() : c.b.getInt16Ty();
    part = c.b.CreateTrunc(part, narrow);
    c.set_reg(dst, size == s8 || size == s16 ? c.b.CreateSExt(part, c.b.getInt32Ty())
                                             : c.b.CreateZExt(part, c.b.getInt32Ty()));
}

void ldg(LiftContext& c) {
    if (plain_predicate(c))
        load(c, kGlobal, global_address(c), c.get(F::mem_size));
}
void stg(LiftContext& c) {
    store(c, kGlobal, global_address(c), c.get(F::mem_size_st));
}

void ld(LiftContext& c) {
    load(c, generic_space(c), global_address(c), c.get(F::mem_size));
}
void st(LiftContext& c) {
    store(c, generic_space(c), global_address(c), c.get(F::mem_size_st));
}

void ldl(LiftContext& c) {
    load(c, kLocal, address_32(c), c.get(F::mem_size_st));
}
void stl(LiftContext& c) {
    store(c, kLocal, address_32(c), c.get(F::mem_size_st));
}
void lds(LiftContext& c) {
    load(c, kShared, address_32(c), c.get(F::lds_size));
}
void sts(LiftContext& c) {
    store(c, kShared, address_32(c), c.get(F::mem_size_st));
}

void atom(LiftContext& c) {
    if (!plain_predicate(c))
        return;
    if (c.has(F::cas))
        compare_and_swap(c, Intrinsic::global_atomic_32, Intrinsic::global_atomic_64, global_address(c));
    else
        atomic(c, Intrinsic::global_atomic_32, Intrinsic::global_atomic_64, global_address(c),
               c.get(F::atom_op), c.get(F::atom_type), c.get(F::dst));
}

void red(LiftContext& c) {
    atomic(c, Intrinsic::global_atomic_32, Intrinsic::global_atomic_64, global_address(c), c.get(F::red_op),
           c.get(F::atom_type), isa::kRz);
}

void atoms(LiftContext& c) {
    Value* address = address_32(c);
    if (c.has(F::cas)) {
        constexpr uint64_t kCas = 2; // CAST takes a lock of the address, which nothing here stands for
        if (c.get(F::cast_spin) != kCas)
            c.refuse();
        else
            compare_and_swap(c, Intrinsic::shared_atomic_32, Intrinsic::shared_atomic_64, address);
        return;
    }
    constexpr uint64_t kAtomTypes[4] = {0, 1, 2, 5}; // F::atoms_type as F::atom_type
    atomic(c, Intrinsic::shared_atomic_32, Intrinsic::shared_atomic_64, address, c.get(F::atoms_op),
           kAtomTypes[c.get(F::atoms_type) & 3], c.get(F::dst));
}

// The caches that MEMBAR also invalidates are no part of the memory model of the targets.
void membar(LiftContext& c) {
    constexpr uint64_t kLevels = 3; // CTA, GL, SYS; VC is not known
    if (c.get(F::membar_level) >= kLevels)
        c.refuse();
    else
        c.call(Intrinsic::membar, {c.i32(static_cast<uint32_t>(c.get(F::membar_level)))});
}

// Prefetches, write-backs and invalidations have no effect that the targets' memory model shows; queries
// return something.
void cctl(LiftContext& c) {
    constexpr uint64_t kQuery = 0;
    if (c.get(F::cctl_op) == kQuery)
        c.refuse();
}

} // namespace dmsh::maxwell
