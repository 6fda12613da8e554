// Uniform blocks, storage buffers, shared and local memory, atomics, memory barriers.
#include "compiler/emit/spirv/emitter.h"
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Support/KnownBits.h>

namespace dmsh {
namespace {

// x + k as x and k, where k is a multiple of 1 << shift; otherwise the whole and 0. Constants stand on the right.
std::pair<const llvm::Value*, uint32_t> base_and_step(const llvm::Value* offset, uint32_t shift) {
    const auto* add = llvm::dyn_cast<llvm::BinaryOperator>(offset);
    if (add && add->getOpcode() == llvm::Instruction::Add)
        if (const auto* k = llvm::dyn_cast<llvm::ConstantInt>(add->getOperand(1)); k && !(k->getZExtValue() & ((1u << shift) - 1)))
            return {add->getOperand(0), static_cast<uint32_t>(k->getZExtValue())};
    return {offset, 0};
}

constexpr unsigned kRowShift = 4; // uniform blocks are rows of 16 bytes

} // namespace

const Binding* SpirvEmitter::binding_at(const llvm::Value* operand, uint32_t& index) {
    const auto i = literal(operand);
    if (!i || *i >= face_.bindings.size()) {
        fail("a binding operand that names no binding");
        return nullptr;
    }
    index = *i;
    return &face_.bindings[*i];
}

void SpirvEmitter::decorate_binding(uint32_t variable, uint32_t index) {
    const Binding& binding = face_.bindings[index];
    uint32_t set = options_.set;
    uint32_t number = (options_.first_binding == ~0u ? static_cast<uint32_t>(stage_) * kMaxBindings
                                                     : options_.first_binding) +
                      index;
    if (!options_.for_msl && binding.kind == BindingKind::texture_pool)
        set = kVulkanSetPools, number = kVulkanPoolTextures;
    if (!options_.for_msl && binding.kind == BindingKind::sampler_pool)
        set = kVulkanSetPools, number = kVulkanPoolSamplers;
    b_.decorate(variable, spv::DecorationDescriptorSet, {set});
    b_.decorate(variable, spv::DecorationBinding, {number});
}

uint32_t SpirvEmitter::shifted(const llvm::Value* offset, uint32_t shift) {
    if (const auto k = literal(offset))
        return uc(*k >> shift);
    // Neighbouring words share the shift of their base. An arithmetic one: bases may lie below the buffer.
    if (const auto [base, step] = base_and_step(offset, shift); step) {
        const uint32_t index = op(spv::OpShiftRightArithmetic, u32(), {value(base), uc(shift)});
        return op(spv::OpIAdd, u32(), {index, uc(static_cast<uint32_t>(static_cast<int32_t>(step) >> shift))});
    }
    return op(spv::OpShiftRightLogical, u32(), {value(offset), uc(shift)});
}

std::optional<SpirvEmitter::RowPlace> SpirvEmitter::row_place(const llvm::Value* offset, const llvm::DataLayout& layout) {
    if (const auto* k = llvm::dyn_cast<llvm::ConstantInt>(offset))
        return RowPlace{nullptr, static_cast<uint32_t>(k->getZExtValue()) >> kRowShift, static_cast<uint32_t>(k->getZExtValue()) >> 2 & 3};
    const auto [base, step] = base_and_step(offset, 2);
    if (llvm::computeKnownBits(base, layout).countMinTrailingZeros() < kRowShift)
        return std::nullopt;
    return RowPlace{base, static_cast<uint32_t>(static_cast<int32_t>(step) >> kRowShift), step >> 2 & 3};
}

// The row's number, clamped: wild rows become one behind any smaller buffer, for byte offsets of 32 bits must not wrap on the device.
uint32_t SpirvEmitter::uniform_row(const llvm::Value* offset, const std::optional<RowPlace>& place) {
    uint32_t row;
    if (place) // an arithmetic shift: bases may lie below the buffer
        row = op(spv::OpIAdd, u32(), {op(spv::OpShiftRightArithmetic, u32(), {value(place->base), uc(kRowShift)}), uc(place->row)});
    else
        row = op(spv::OpShiftRightLogical, u32(), {value(offset), uc(kRowShift)});
    return ext(u32(), GLSLstd450UMin, {row, uc(kUniformBufferBytes / 16 - 1)});
}

// Counts which words of each uniform row a block reads where that is known.
void SpirvEmitter::find_rows(const llvm::BasicBlock& block) {
    rows_.clear();
    if (!uniform_load_)
        return;
    for (const llvm::Instruction& inst : block) {
        const auto* call = llvm::dyn_cast<llvm::CallInst>(&inst);
        if (!call || call->getCalledFunction() != uniform_load_)
            continue;
        const auto binding = literal(call->getArgOperand(0));
        const auto place = row_place(call->getArgOperand(1), layout_);
        if (binding && place)
            rows_[{place->base, uint64_t{*binding} << 32 | place->row}] |= static_cast<uint8_t>(1u << place->component);
    }
}

// Uniform blocks are arrays of uvec4: their elements must lie 16 bytes apart. A row of which a block reads several words is loaded
// once; one that the first block has loaded is there for all.
uint32_t SpirvEmitter::uniform_word(uint32_t binding, const llvm::Value* offset, bool as_float) {
    UniformBlock& block = uniforms_[binding];
    if (!block.variable)
        block.variable = b_.new_id();
    const auto place = row_place(offset, layout_);
    uint32_t row, component;
    if (const auto k = literal(offset)) {
        if (*k + 4 > kUniformBufferBytes)
            return uc(0); // past the end of any uniform buffer
        block.words = std::max(block.words, *k / 4 + 1);
        row = uc(*k >> kRowShift);
    } else {
        block.words = kUniformBufferBytes / 4;
        row = uniform_row(offset, place);
    }
    if (place) {
        const std::pair<const llvm::Value*, uint64_t> key{place->base, uint64_t{binding} << 32 | place->row};
        const uint8_t words = rows_.lookup(key);
        const bool several = (words & (words - 1)) != 0;
        if (several && current_ == entry_)
            entry_rows_.insert(key);
        if (several || entry_rows_.count(key)) {
            const uint32_t rows = b_.pointer_type(spv::StorageClassUniform, vec(u32(), 4));
            const uint32_t whole = load(vec(u32(), 4), op(spv::OpAccessChain, rows, {block.variable, uc(0), row}));
            if (!as_float)
                return op(spv::OpCompositeExtract, u32(), {whole, place->component});
            const uint32_t floats = op(spv::OpBitcast, vec(f32(), 4), {whole});
            return to_bits(op(spv::OpCompositeExtract, f32(), {floats, place->component}));
        }
        component = uc(place->component);
    } else {
        component = op(spv::OpBitFieldUExtract, u32(), {value(offset), uc(2), uc(2)});
    }
    return load(u32(), op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassUniform, u32()), {block.variable, uc(0), row, component}));
}

uint32_t SpirvEmitter::storage_variable(uint32_t index) {
    uint32_t& variable = storage_[index];
    if (variable)
        return variable;
    if (!storage_struct_) {
        const uint32_t array = b_.global(spv::OpTypeRuntimeArray, 0, {u32()});
        b_.decorate(array, spv::DecorationArrayStride, {4});
        storage_struct_ = b_.global(spv::OpTypeStruct, 0, {array});
        b_.decorate(storage_struct_, spv::DecorationBlock);
        b_.decorate_member(storage_struct_, 0, spv::DecorationOffset, {0});
    }
    return variable = b_.variable(spv::StorageClassStorageBuffer, storage_struct_);
}

uint32_t SpirvEmitter::storage64_variable(uint32_t index) {
    uint32_t& variable = storage64_[index];
    if (variable)
        return variable;
    if (!storage64_struct_) {
        const uint32_t array = b_.global(spv::OpTypeRuntimeArray, 0, {u64()});
        b_.decorate(array, spv::DecorationArrayStride, {8});
        storage64_struct_ = b_.global(spv::OpTypeStruct, 0, {array});
        b_.decorate(storage64_struct_, spv::DecorationBlock);
        b_.decorate_member(storage64_struct_, 0, spv::DecorationOffset, {0});
    }
    return variable = b_.variable(spv::StorageClassStorageBuffer, storage64_struct_);
}

// Shared memory with an explicit layout, so that words and pairs of words may alias.
uint32_t SpirvEmitter::shared_block(uint32_t element, uint32_t bytes, uint32_t& variable) {
    if (!variable) {
        b_.capability(spv::CapabilityWorkgroupMemoryExplicitLayoutKHR);
        b_.extension("SPV_KHR_workgroup_memory_explicit_layout");
        // Same shape as other arrays of words, but with a stride: a type of its own.
        const uint32_t array = b_.new_id();
        SpirvBuilder::put(b_.globals, spv::OpTypeArray,
                          {array, element, uc((face_.shared_bytes + bytes - 1) / bytes)});
        b_.decorate(array, spv::DecorationArrayStride, {bytes});
        const uint32_t block = b_.global(spv::OpTypeStruct, 0, {array});
        b_.decorate(block, spv::DecorationBlock);
        b_.decorate_member(block, 0, spv::DecorationOffset, {0});
        variable = b_.variable(spv::StorageClassWorkgroup, block);
        b_.decorate(variable, spv::DecorationAliased);
    }
    return variable;
}

uint32_t SpirvEmitter::word_pointer(Memory m, uint32_t binding, const llvm::Value* offset) {
    switch (m) {
    case Memory::ssbo: {
        const uint32_t pointer = b_.pointer_type(spv::StorageClassStorageBuffer, u32());
        const uint32_t variable = storage_variable(binding);
        return op(spv::OpAccessChain, pointer, {variable, uc(0), shifted(offset, 2)});
    }
    case Memory::shared: {
        const uint32_t words = (face_.shared_bytes + 3) / 4;
        if (!words)
            return fail("shared memory is used but has no size");
        const auto k = literal(offset);
        if (k && *k / 4 >= words)
            return fail("shared memory is used past its size");
        if (wide_shared_)
            return op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassWorkgroup, u32()),
                      {shared_block(u32(), 4, shared_variable_), uc(0), shifted(offset, 2)});
        if (!shared_variable_)
            shared_variable_ = b_.variable(spv::StorageClassWorkgroup, b_.array_type(u32(), words));
        return op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassWorkgroup, u32()),
                  {shared_variable_, shifted(offset, 2)});
    }
    case Memory::local: {
        const uint32_t words = (face_.local_bytes + 3) / 4;
        if (!words)
            return fail("local memory is used but has no size");
        if (!local_variable_)
            local_variable_ = b_.variable(spv::StorageClassPrivate, b_.array_type(u32(), words));
        // Nothing checks bounds of private arrays, so a wild index must not leave it.
        uint32_t index;
        if (const auto k = literal(offset))
            index = uc(std::min(*k / 4, words - 1));
        else
            index = ext(u32(), GLSLstd450UMin, {shifted(offset, 2), uc(words - 1)});
        return op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassPrivate, u32()),
                  {local_variable_, index});
    }
    }
    return fail("an unknown memory");
}

// Bytes and halfwords are parts of words: needs no 8- and 16-bit storage features.
uint32_t SpirvEmitter::load_small(Memory m, uint32_t binding, const llvm::Value* offset, uint32_t bits) {
    const uint32_t word = load(u32(), word_pointer(m, binding, offset));
    uint32_t shift;
    if (const auto k = literal(offset)) {
        shift = uc((*k & 3) * 8);
    } else {
        const uint32_t byte = op(spv::OpBitwiseAnd, u32(), {value(offset), uc(3)});
        shift = op(spv::OpShiftLeftLogical, u32(), {byte, uc(3)});
    }
    return op(spv::OpBitwiseAnd, u32(),
              {op(spv::OpShiftRightLogical, u32(), {word, shift}), uc((1u << bits) - 1)});
}

void SpirvEmitter::store_small(Memory m, uint32_t binding, const llvm::Value* offset, uint32_t v,
                               uint32_t bits) {
    const uint32_t pointer = word_pointer(m, binding, offset);
    const uint32_t byte = op(spv::OpBitwiseAnd, u32(), {value(offset), uc(3)});
    const uint32_t shift = op(spv::OpShiftLeftLogical, u32(), {byte, uc(3)});
    const uint32_t keep =
        op(spv::OpNot, u32(), {op(spv::OpShiftLeftLogical, u32(), {uc((1u << bits) - 1), shift})});
    const uint32_t placed = op(spv::OpShiftLeftLogical, u32(), {v, shift});
    if (m == Memory::local) {
        const uint32_t rest = op(spv::OpBitwiseAnd, u32(), {load(u32(), pointer), keep});
        store(pointer, op(spv::OpBitwiseOr, u32(), {rest, placed}));
        return;
    }
    // Other invocations may write the word's other bytes at the same time.
    const uint32_t scope = uc(m == Memory::ssbo ? spv::ScopeDevice : spv::ScopeWorkgroup);
    op(spv::OpAtomicAnd, u32(), {pointer, scope, uc(0), keep});
    op(spv::OpAtomicOr, u32(), {pointer, scope, uc(0), placed});
}

uint32_t SpirvEmitter::atomic(uint32_t pointer, uint32_t type, spv::Scope scope_name, AtomicOp o, uint32_t v,
                              uint32_t comparand, bool is64) {
    const uint32_t scope = uc(scope_name), relaxed = uc(0);
    const auto simple = [&](spv::Op which) { return op(which, type, {pointer, scope, relaxed, v}); };
    const auto swap = [&](uint32_t next, uint32_t old) {
        return op(spv::OpAtomicCompareExchange, type, {pointer, scope, relaxed, relaxed, next, old});
    };
    const auto looped = [&](const std::function<uint32_t(uint32_t)>& next) {
        const uint32_t first = op(spv::OpAtomicLoad, type, {pointer, scope, relaxed});
        return swap_loop(type, first, next, swap);
    };
    const uint32_t zero = is64 ? b_.constant64(type, 0) : uc(0), one = is64 ? b_.constant64(type, 1) : uc(1);
    switch (o) {
    case AtomicOp::add: return simple(spv::OpAtomicIAdd);
    case AtomicOp::smin: return simple(spv::OpAtomicSMin);
    case AtomicOp::smax: return simple(spv::OpAtomicSMax);
    case AtomicOp::umin: return simple(spv::OpAtomicUMin);
    case AtomicOp::umax: return simple(spv::OpAtomicUMax);
    case AtomicOp::and_: return simple(spv::OpAtomicAnd);
    case AtomicOp::or_: return simple(spv::OpAtomicOr);
    case AtomicOp::xor_: return simple(spv::OpAtomicXor);
    case AtomicOp::exch: return simple(spv::OpAtomicExchange);
    case AtomicOp::cas: return swap(v, comparand);
    case AtomicOp::inc: // wraps to 0 at v
        return looped([&](uint32_t old) {
            const uint32_t wrap = op(spv::OpUGreaterThanEqual, boolean(), {old, v});
            return select(type, wrap, zero, op(spv::OpIAdd, type, {old, one}));
        });
    case AtomicOp::dec: // wraps to v at 0 and from above v
        return looped([&](uint32_t old) {
            const uint32_t wrap =
                op(spv::OpLogicalOr, boolean(),
                   {op(spv::OpIEqual, boolean(), {old, zero}), op(spv::OpUGreaterThan, boolean(), {old, v})});
            return select(type, wrap, v, op(spv::OpISub, type, {old, one}));
        });
    case AtomicOp::fadd_ftz: { // T-041; a swap loop works on every device
        if (is64)
            break;
        const uint32_t add = flush_denormal(to_float(v));
        return looped([&](uint32_t old) {
            const uint32_t sum = exact(op(spv::OpFAdd, f32(), {flush_denormal(to_float(old)), add}));
            return to_bits(flush_denormal(sum));
        });
    }
    case AtomicOp::dadd: {
        if (!is64)
            break;
        const uint32_t add = op(spv::OpBitcast, f64(), {v});
        return looped([&](uint32_t old) {
            return op(spv::OpBitcast, type, {exact(op(spv::OpFAdd, f64(), {op(spv::OpBitcast, f64(), {old}), add}))});
        });
    }
    case AtomicOp::hadd2: {
        if (is64)
            break;
        const uint32_t pair = vec(f16(), 2);
        const uint32_t add = op(spv::OpBitcast, pair, {v});
        return looped([&](uint32_t old) {
            return op(spv::OpBitcast, u32(),
                      {exact(op(spv::OpFAdd, pair, {op(spv::OpBitcast, pair, {old}), add}))});
        });
    }
    }
    return fail("an atomic operation that is unknown or has no 64-bit form");
}

// Memory pools are reached by device address (raw_memory.cpp).
uint32_t SpirvEmitter::device_pointer(const llvm::Value* address, uint32_t type) {
    b_.physical_addresses = true;
    b_.capability(spv::CapabilityPhysicalStorageBufferAddresses);
    b_.extension("SPV_KHR_physical_storage_buffer");
    return op(spv::OpConvertUToPtr, b_.pointer_type(spv::StorageClassPhysicalStorageBuffer, type), {value(address)});
}

bool SpirvEmitter::emit_memory(const llvm::CallInst& call, Intrinsic id) {
    const auto arg = [&](unsigned k) { return call.getArgOperand(k); };
    uint32_t index = 0;
    const auto buffer = [&] {
        const Binding* b = binding_at(arg(0), index);
        return b != nullptr;
    };
    const auto atomic_op = [&](const llvm::Value* v) {
        return static_cast<AtomicOp>(literal(v).value_or(255));
    };
    switch (id) {
    case Intrinsic::ubo_load:
        if (buffer())
            define(&call, uniform_word(index, arg(1), llvm::any_of(call.users(), [](const llvm::User* u) { return u->getType()->isFloatTy(); })));
        return true;
    case Intrinsic::ssbo_load_8:
    case Intrinsic::ssbo_load_16:
        if (buffer())
            define(&call, load_small(Memory::ssbo, index, arg(1), id == Intrinsic::ssbo_load_8 ? 8 : 16));
        return true;
    case Intrinsic::ssbo_load_32:
        if (buffer())
            define(&call, load(u32(), word_pointer(Memory::ssbo, index, arg(1))));
        return true;
    case Intrinsic::ssbo_store_8:
    case Intrinsic::ssbo_store_16:
        if (buffer())
            store_small(Memory::ssbo, index, arg(1), value(arg(2)), id == Intrinsic::ssbo_store_8 ? 8 : 16);
        return true;
    case Intrinsic::ssbo_store_32:
        if (buffer())
            store(word_pointer(Memory::ssbo, index, arg(1)), value(arg(2)));
        return true;
    case Intrinsic::ssbo_atomic_32:
        if (buffer())
            define(&call, atomic(word_pointer(Memory::ssbo, index, arg(1)), u32(), spv::ScopeDevice,
                                 atomic_op(arg(2)), value(arg(3)), value(arg(4)), false));
        return true;
    case Intrinsic::ssbo_atomic_64:
        if (buffer()) {
            b_.capability(spv::CapabilityInt64Atomics);
            const uint32_t variable = storage64_variable(index);
            const uint32_t pointer =
                op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassStorageBuffer, u64()),
                   {variable, uc(0), shifted(arg(1), 3)});
            define(&call, atomic(pointer, u64(), spv::ScopeDevice, atomic_op(arg(2)), value(arg(3)),
                                 value(arg(4)), true));
        }
        return true;
    case Intrinsic::raw_load_32: {
        const uint32_t pointer = device_pointer(arg(0), u32());
        define(&call, op(spv::OpLoad, u32(), {pointer, spv::MemoryAccessAlignedMask, 4}));
        return true;
    }
    case Intrinsic::raw_store_32: {
        const uint32_t pointer = device_pointer(arg(0), u32());
        SpirvBuilder::put(body_, spv::OpStore, {pointer, value(arg(1)), spv::MemoryAccessAlignedMask, 4});
        return true;
    }
    case Intrinsic::raw_atomic_32:
        define(&call, atomic(device_pointer(arg(0), u32()), u32(), spv::ScopeDevice, atomic_op(arg(1)), value(arg(2)),
                             value(arg(3)), false));
        return true;
    case Intrinsic::raw_atomic_64:
        b_.capability(spv::CapabilityInt64Atomics);
        define(&call, atomic(device_pointer(arg(0), u64()), u64(), spv::ScopeDevice, atomic_op(arg(1)), value(arg(2)),
                             value(arg(3)), true));
        return true;
    case Intrinsic::shared_load_8: define(&call, load_small(Memory::shared, 0, arg(0), 8)); return true;
    case Intrinsic::shared_load_16: define(&call, load_small(Memory::shared, 0, arg(0), 16)); return true;
    case Intrinsic::shared_load_32:
        define(&call, load(u32(), word_pointer(Memory::shared, 0, arg(0))));
        return true;
    case Intrinsic::shared_store_8: store_small(Memory::shared, 0, arg(0), value(arg(1)), 8); return true;
    case Intrinsic::shared_store_16: store_small(Memory::shared, 0, arg(0), value(arg(1)), 16); return true;
    case Intrinsic::shared_store_32:
        store(word_pointer(Memory::shared, 0, arg(0)), value(arg(1)));
        return true;
    case Intrinsic::shared_atomic_32:
        define(&call, atomic(word_pointer(Memory::shared, 0, arg(0)), u32(), spv::ScopeWorkgroup,
                             atomic_op(arg(1)), value(arg(2)), value(arg(3)), false));
        return true;
    case Intrinsic::shared_atomic_64: {
        b_.capability(spv::CapabilityInt64Atomics);
        if (!face_.shared_bytes) {
            fail("shared memory is used but has no size");
            return true;
        }
        const uint32_t pointer = op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassWorkgroup, u64()),
                                    {shared_block(u64(), 8, shared64_variable_), uc(0), shifted(arg(0), 3)});
        define(&call, atomic(pointer, u64(), spv::ScopeWorkgroup, atomic_op(arg(1)), value(arg(2)),
                             value(arg(3)), true));
        return true;
    }
    case Intrinsic::local_load_8: define(&call, load_small(Memory::local, 0, arg(0), 8)); return true;
    case Intrinsic::local_load_16: define(&call, load_small(Memory::local, 0, arg(0), 16)); return true;
    case Intrinsic::local_load_32:
        define(&call, load(u32(), word_pointer(Memory::local, 0, arg(0))));
        return true;
    case Intrinsic::local_store_8: store_small(Memory::local, 0, arg(0), value(arg(1)), 8); return true;
    case Intrinsic::local_store_16: store_small(Memory::local, 0, arg(0), value(arg(1)), 16); return true;
    case Intrinsic::local_store_32: store(word_pointer(Memory::local, 0, arg(0)), value(arg(1))); return true;
    case Intrinsic::barrier: {
        needs_coherent_ = true;
        if (stage_ == Stage::tess_control) { // orders the patch's outputs; memory scopes are compute's
            patch_barrier();
            return true;
        }
        if (stage_ != Stage::compute) {
            fail("a workgroup barrier outside compute");
            return true;
        }
        // BAR.SYNC orders shared and global memory for the workgroup.
        const uint32_t semantics =
            spv::MemorySemanticsAcquireReleaseMask | spv::MemorySemanticsUniformMemoryMask |
            spv::MemorySemanticsImageMemoryMask | spv::MemorySemanticsWorkgroupMemoryMask;
        effect(spv::OpControlBarrier, {uc(spv::ScopeWorkgroup), uc(spv::ScopeWorkgroup), uc(semantics)});
        return true;
    }
    case Intrinsic::warp_barrier: {
        b_.capability(spv::CapabilityGroupNonUniform);
        const uint32_t semantics = spv::MemorySemanticsAcquireReleaseMask | spv::MemorySemanticsWorkgroupMemoryMask;
        effect(spv::OpControlBarrier, {uc(spv::ScopeSubgroup), uc(spv::ScopeSubgroup), uc(semantics)});
        return true;
    }
    case Intrinsic::membar: {
        needs_coherent_ = true;
        uint32_t semantics = spv::MemorySemanticsAcquireReleaseMask | spv::MemorySemanticsUniformMemoryMask |
                             spv::MemorySemanticsImageMemoryMask;
        if (stage_ == Stage::compute)
            semantics |= spv::MemorySemanticsWorkgroupMemoryMask;
        const bool cta = literal(arg(0)) == 0u && stage_ == Stage::compute;
        effect(spv::OpMemoryBarrier, {uc(cta ? spv::ScopeWorkgroup : spv::ScopeDevice), uc(semantics)});
        return true;
    }
    default: return false;
    }
}

// Declarations whose sizes or decorations depend on the whole body.
void SpirvEmitter::declare_late() {
    for (uint32_t i = 0; i < uniforms_.size(); ++i) {
        const UniformBlock& block = uniforms_[i];
        if (!block.variable)
            continue;
        const uint32_t rows = std::max((std::max(block.words, face_.bindings[i].bytes_read / 4) + 3) / 4, 1u);
        const uint32_t array = b_.array_type(vec(u32(), 4), std::min(rows, kUniformBufferBytes / 16));
        const uint32_t type = b_.global(spv::OpTypeStruct, 0, {array});
        if (decorated_blocks_.insert(type).second) {
            b_.decorate(array, spv::DecorationArrayStride, {16});
            b_.decorate(type, spv::DecorationBlock);
            b_.decorate_member(type, 0, spv::DecorationOffset, {0});
        }
        b_.declare_variable(block.variable, spv::StorageClassUniform, type);
        decorate_binding(block.variable, i);
    }
    for (uint32_t i = 0; i < storage_.size(); ++i) {
        const bool twice = storage_[i] && storage64_[i];
        for (uint32_t variable : {storage_[i], storage64_[i]}) {
            if (!variable)
                continue;
            decorate_binding(variable, i);
            const Binding& binding = face_.bindings[i];
            if (!binding.written && !binding.atomic && !storage64_[i])
                b_.decorate(variable, spv::DecorationNonWritable);
            else if (needs_coherent_)
                b_.decorate(variable, spv::DecorationCoherent);
            if (twice)
                b_.decorate(variable, spv::DecorationAliased);
        }
    }
    for (const auto& [variable, storage, count] :
         {std::tuple{clip_variable_, spv::StorageClassOutput, clip_count_},
          std::tuple{clip_input_, spv::StorageClassInput, clip_input_count_}}) {
        if (!variable)
            continue;
        uint32_t type = b_.array_type(f32(), std::max(count, 1u));
        if (storage == spv::StorageClassInput && arrayed_inputs())
            type = vertex_array(type);
        if (storage == spv::StorageClassOutput && stage_ == Stage::tess_control)
            type = b_.array_type(type, std::max(face_.invocations, 1u));
        b_.capability(spv::CapabilityClipDistance);
        b_.declare_variable(variable, storage, type);
        b_.decorate(variable, spv::DecorationBuiltIn, {spv::BuiltInClipDistance});
    }
}

} // namespace dmsh
