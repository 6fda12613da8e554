// Memory, attributes, special registers and lanes: dmsh.* calls to AIR.
#include "compiler/emit/air/air_lowering.h"
#include <fmt/format.h>

namespace dmsh {
namespace {

constexpr uint32_t kMaxThreadgroupBytes = 32768;

std::optional<uint32_t> constant(const llvm::Value* v) {
    if (const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v))
        return static_cast<uint32_t>(c->getZExtValue());
    return std::nullopt;
}

} // namespace

llvm::Value* AirLowering::vector(llvm::ArrayRef<llvm::Value*> parts) {
    llvm::Value* v = llvm::UndefValue::get(
        llvm::FixedVectorType::get(parts[0]->getType(), static_cast<unsigned>(parts.size())));
    for (unsigned i = 0; i < parts.size(); ++i)
        v = ir_.CreateInsertElement(v, parts[i], i);
    return v;
}

const Binding* AirLowering::binding(llvm::Value* operand, llvm::CallInst* call, uint32_t* index) {
    const auto c = constant(operand);
    if (!c || *c >= interface_.bindings.size()) {
        fail(call, fmt::format("{} names no binding", call->getCalledFunction()->getName().str()));
        return nullptr;
    }
    if (index)
        *index = *c;
    return &interface_.bindings[*c];
}

// The buffer's pointer, loaded from the argument buffer once, seen as elements of the given integer type.
llvm::Value* AirLowering::buffer(uint32_t index, llvm::Type* element) {
    llvm::Value*& slot = buffers_[{index, element->getIntegerBitWidth()}];
    if (slot)
        return slot;
    llvm::IRBuilder<> at(prologue_end_);
    if (element->isIntegerTy(32)) {
        llvm::Type* member = args_type_->getElementType(places_[index].field);
        llvm::Value* p = at.CreateInBoundsGEP(args_type_, args_.get(),
                                              {at.getInt64(0), at.getInt32(places_[index].field)});
        return slot = at.CreateAlignedLoad(member, p, llvm::Align(8));
    }
    llvm::Value* words = buffer(index, at.getInt32Ty());
    slot =
        at.CreateBitCast(words, llvm::PointerType::get(element, words->getType()->getPointerAddressSpace()));
    return slot;
}

llvm::Value* AirLowering::memory_word(llvm::Value* base, llvm::Value* offset, llvm::Type* element) {
    const unsigned bytes = element->getIntegerBitWidth() / 8;
    llvm::Value* index = bytes > 1 ? ir_.CreateLShr(offset, bytes == 4 ? 2 : 1) : offset;
    return ir_.CreateInBoundsGEP(element, base, ir_.CreateZExt(index, ir_.getInt64Ty()));
}

// Address of the element that a buffer intrinsic (BINDING, offset, ...) names.
llvm::Value* AirLowering::buffer_word(llvm::CallInst* call, llvm::Type* element) {
    uint32_t index = 0;
    const Binding* b = binding(call->getArgOperand(0), call, &index);
    if (!b || !llvm::isa<llvm::PointerType>(args_type_->getElementType(places_[index].field)) ||
        !args_type_->getElementType(places_[index].field)
             ->getNonOpaquePointerElementType()
             ->isIntegerTy(32)) {
        fail(call, fmt::format("binding {} is no buffer", index));
        return nullptr;
    }
    return memory_word(buffer(index, element), call->getArgOperand(1), element);
}

// Constant banks read as zero past their 64 KiB, and the passes move such reads out of their guards; Metal would follow the pointer.
llvm::Value* AirLowering::constant_load(llvm::CallInst* call) {
    llvm::Value* offset = call->getArgOperand(1);
    llvm::Value* inside = llvm::isa<llvm::ConstantInt>(offset)
                              ? nullptr
                              : ir_.CreateICmpULT(offset, ir_.getInt32(kUniformBufferBytes));
    if (inside)
        call->setArgOperand(1, ir_.CreateSelect(inside, offset, ir_.getInt32(0)));
    llvm::Value* pointer = buffer_word(call, ir_.getInt32Ty());
    if (!pointer)
        return nullptr;
    llvm::Value* word = ir_.CreateAlignedLoad(ir_.getInt32Ty(), pointer, llvm::Align(4));
    return inside ? ir_.CreateSelect(inside, word, ir_.getInt32(0)) : word;
}

llvm::Value* AirLowering::shared_word(llvm::Value* offset, llvm::Type* element) {
    if (!shared_) {
        const uint32_t words = (interface_.shared_bytes + 3) / 4;
        if (!words || interface_.shared_bytes > kMaxThreadgroupBytes) {
            fail(nullptr, fmt::format("{} bytes of shared memory (Metal has 1 to {})",
                                      interface_.shared_bytes, kMaxThreadgroupBytes));
            return nullptr;
        }
        auto* type = llvm::ArrayType::get(ir_.getInt32Ty(), words);
        // Threadgroup variables cannot be initialised: undef is the only accepted value.
        shared_ = new llvm::GlobalVariable(*module_, type, false, llvm::GlobalValue::InternalLinkage,
                                           llvm::UndefValue::get(type), "shared", nullptr,
                                           llvm::GlobalValue::NotThreadLocal, kAirThreadgroup);
        shared_->setAlignment(llvm::Align(16));
        shared_->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    }
    llvm::Constant* zero = ir_.getInt64(0);
    llvm::Value* base = llvm::ConstantExpr::getInBoundsGetElementPtr(
        shared_->getValueType(), shared_, llvm::ArrayRef<llvm::Constant*>{zero, zero});
    if (!element->isIntegerTy(32))
        base = ir_.CreateBitCast(base, llvm::PointerType::get(element, kAirThreadgroup));
    return memory_word(base, offset, element);
}

llvm::Value* AirLowering::local_word(llvm::Value* offset, llvm::Type* element) {
    if (!local_) {
        const uint32_t words = (interface_.local_bytes + 3) / 4;
        if (!words || words > 1u << 18) {
            fail(nullptr, fmt::format("{} bytes of local memory", interface_.local_bytes));
            return nullptr;
        }
        local_ = prologue_alloca(llvm::ArrayType::get(ir_.getInt32Ty(), words), "local");
        local_->setAlignment(llvm::Align(16));
    }
    llvm::Value* base =
        ir_.CreateInBoundsGEP(local_->getAllocatedType(), local_, {ir_.getInt64(0), ir_.getInt64(0)});
    if (!element->isIntegerTy(32))
        base = ir_.CreateBitCast(base, llvm::PointerType::get(element, kAirPrivate));
    return memory_word(base, offset, element);
}

llvm::Value* AirLowering::cas_loop(llvm::Value* pointer,
                                   const std::function<llvm::Value*(llvm::Value*)>& change) {
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    llvm::BasicBlock* after = before->splitBasicBlock(ir_.GetInsertPoint(), "cas.done");
    auto* loop = llvm::BasicBlock::Create(module_->getContext(), "cas.try", main_, after);
    before->getTerminator()->eraseFromParent();
    ir_.SetInsertPoint(before);
    llvm::Value* first = air_.atomic_load(pointer);
    ir_.CreateBr(loop);
    ir_.SetInsertPoint(loop);
    auto* seen = ir_.CreatePHI(ir_.getInt32Ty(), 2);
    llvm::Value* old = air_.atomic_cas(pointer, seen, change(seen), scratch());
    seen->addIncoming(first, before);
    seen->addIncoming(old, loop);
    ir_.CreateCondBr(ir_.CreateICmpEQ(old, seen), after, loop);
    ir_.SetInsertPoint(&after->front());
    return old;
}

llvm::Value* AirLowering::atomic(llvm::Value* pointer, llvm::Value* op_operand, llvm::Value* value,
                                 llvm::Value* comparand) {
    const auto op = constant(op_operand);
    if (!op) {
        fail(nullptr, "an atomic whose operation is not constant");
        return nullptr;
    }
    switch (static_cast<AtomicOp>(*op)) {
    case AtomicOp::add: return air_.atomic("add", false, pointer, value);
    case AtomicOp::smin: return air_.atomic("min", true, pointer, value);
    case AtomicOp::smax: return air_.atomic("max", true, pointer, value);
    case AtomicOp::umin: return air_.atomic("min", false, pointer, value);
    case AtomicOp::umax: return air_.atomic("max", false, pointer, value);
    case AtomicOp::and_: return air_.atomic("and", false, pointer, value);
    case AtomicOp::or_: return air_.atomic("or", false, pointer, value);
    case AtomicOp::xor_: return air_.atomic("xor", false, pointer, value);
    case AtomicOp::exch: return air_.atomic_exchange(pointer, value);
    case AtomicOp::cas: return air_.atomic_cas(pointer, comparand, value, scratch());
    case AtomicOp::inc:
        return cas_loop(pointer, [&](llvm::Value* old) {
            return ir_.CreateSelect(ir_.CreateICmpUGE(old, value), ir_.getInt32(0),
                                    ir_.CreateAdd(old, ir_.getInt32(1)));
        });
    case AtomicOp::dec:
        return cas_loop(pointer, [&](llvm::Value* old) {
            llvm::Value* wrap =
                ir_.CreateOr(ir_.CreateICmpEQ(old, ir_.getInt32(0)), ir_.CreateICmpUGT(old, value));
            return ir_.CreateSelect(wrap, value, ir_.CreateSub(old, ir_.getInt32(1)));
        });
    case AtomicOp::fadd_ftz:
        if (pointer->getType()->getPointerAddressSpace() == kAirDevice) { // T-042
            llvm::Value* floats =
                ir_.CreateBitCast(pointer, llvm::PointerType::get(ir_.getFloatTy(), kAirDevice));
            return as_bits(air_.atomic("add", false, floats, as_float(value)));
        }
        return cas_loop(pointer, [&](llvm::Value* old) {
            return as_bits(ir_.CreateFAdd(as_float(old), as_float(value)));
        });
    case AtomicOp::hadd2:
        return cas_loop(pointer, [&](llvm::Value* old) {
            llvm::Type* pair = llvm::FixedVectorType::get(ir_.getHalfTy(), 2);
            return as_bits(ir_.CreateFAdd(ir_.CreateBitCast(old, pair), ir_.CreateBitCast(value, pair)));
        });
    case AtomicOp::dadd: break;
    }
    fail(nullptr, fmt::format("atomic operation {}", *op)); // those of doubles
    return nullptr;
}

// ---- attributes
// ----------------------------------------------------------------------------------------------------

// Fixed-function values share locations with generic ones: a program with both on one location is refused.
void AirLowering::note_location(llvm::CallInst* call, uint32_t offset, bool is_input) {
    const uint64_t bit = uint64_t{1} << attribute::location_of(offset);
    (offset < attribute::kGenericEnd ? generic_locations_ : fixed_locations_)[is_input] |= bit;
    if (generic_locations_[is_input] & fixed_locations_[is_input])
        fail(call, fmt::format("attribute 0x{:x} shares its location with another value", offset));
}

// A constant attribute of the stage, as i32 or float; null if the stage has none there.
llvm::Value* AirLowering::attribute_value(llvm::CallInst* call, uint32_t offset, bool centroid) {
    const Stage stage = shader_.interface.stage;
    const auto component = [&](llvm::Value* whole) {
        return ir_.CreateExtractElement(whole, (offset / 4) % 4);
    };
    if (attribute::is_varying(offset) && (stage == Stage::fragment || offset < attribute::kGenericEnd)) {
        note_location(call, offset, true);
        const uint32_t location = attribute::location_of(offset);
        llvm::Value* whole = stage_input(location);
        if (pulled_[location]) {
            unsigned interpolation = 2;
            for (const Varying& i : interface_.inputs)
                if (i.location == location)
                    interpolation = i.interpolation;
            whole = air_.interpolate(whole, centroid ? "centroid" : "center", interpolation != 3);
        }
        return component(whole);
    }
    if (stage == Stage::fragment && offset >= attribute::kPosition && offset < attribute::kGeneric)
        return component(input(AirInput::position));
    if (stage == Stage::fragment) {
        switch (offset) {
        case attribute::kPrimitiveId: return input(AirInput::primitive_id);
        case attribute::kLayer: return input(AirInput::layer);
        case attribute::kViewport: return input(AirInput::viewport);
        case attribute::kPointCoord:
        case attribute::kPointCoord + 4: return component(input(AirInput::point_coord));
        case attribute::kFrontFacing:
            return ir_.CreateSelect(input(AirInput::front_facing), ir_.getInt32(~0u), ir_.getInt32(0));
        default: break;
        }
    } else if (stage == Stage::vertex) {
        switch (offset) {
        case attribute::kVertexId: return input(AirInput::vertex_id);
        case attribute::kInstanceId: // Metal's includes the base instance, the guest's does not (T-032)
            return ir_.CreateSub(input(AirInput::instance_id), input(AirInput::base_instance));
        default: break;
        }
    }
    fail(call, fmt::format("attribute 0x{:x} as an input of a {} stage", offset, stage_name(stage)));
    return nullptr;
}

// The attribute's bits (attr_load) or float (attr_interp).
llvm::Value* AirLowering::load_attribute(llvm::CallInst* call, bool interpolated) {
    bool centroid = false;
    if (interpolated) {
        const uint32_t where = constant(call->getArgOperand(1)).value_or(2);
        if (where > 1) {
            fail(call, "interpolation at an offset");
            return nullptr;
        }
        centroid = where == 1;
    }
    llvm::Value* v = nullptr;
    if (const auto offset = constant(call->getArgOperand(0))) {
        v = attribute_value(call, *offset, centroid);
    } else {
        // Chosen at run time among the inputs that the header names; anything else reads as 0.
        v = ir_.getInt32(0);
        for (const Varying& in : shader_.interface.inputs)
            for (uint32_t k = 0; k < 4 && !error_; ++k) {
                if (!(in.components >> k & 1))
                    continue;
                const uint32_t address = attribute::address_of(in.location) + 4 * k;
                llvm::Value* hit = ir_.CreateICmpEQ(call->getArgOperand(0), ir_.getInt32(address));
                v = ir_.CreateSelect(hit, as_bits(attribute_value(call, address, centroid)), v);
            }
    }
    if (!v || error_)
        return nullptr;
    return interpolated ? as_float(v) : as_bits(v);
}

void AirLowering::store_attribute(llvm::CallInst* call) {
    const auto offset = constant(call->getArgOperand(0));
    // Components that nobody writes read as (0, 0, 0, 1) (L-006).
    const auto word = [&](uint32_t at) {
        const bool quad = at >= attribute::kPosition && at < attribute::kClipDistance;
        return output(at, quad && at % 16 == 12 ? 0x3f800000 : 0);
    };
    if (!offset && shader_.interface.stage == Stage::vertex) {
        for (const Varying& out : shader_.interface.outputs)
            for (uint32_t k = 0; k < 4; ++k) {
                if (!(out.components >> k & 1))
                    continue;
                const uint32_t address = attribute::address_of(out.location) + 4 * k;
                llvm::Value* hit = ir_.CreateICmpEQ(call->getArgOperand(0), ir_.getInt32(address));
                llvm::AllocaInst* slot = word(address);
                llvm::Value* old = ir_.CreateLoad(ir_.getInt32Ty(), slot);
                ir_.CreateStore(ir_.CreateSelect(hit, call->getArgOperand(1), old), slot);
            }
        return;
    }
    const uint32_t at = offset.value_or(~0u);
    const bool known = (at >= attribute::kPosition && at < attribute::kGeneric) ||
                       attribute::is_varying(at) || at == attribute::kPointSize || at == attribute::kLayer ||
                       at == attribute::kViewport;
    if (shader_.interface.stage != Stage::vertex || !known || at % 4)
        return fail(call, fmt::format("attribute 0x{:x} as an output of a {} stage", at,
                                      stage_name(shader_.interface.stage)));
    if (attribute::is_varying(at))
        note_location(call, at, false);
    ir_.CreateStore(call->getArgOperand(1), word(attribute::canonical(at)));
}

// ---- special registers, approximations, lanes
// ----------------------------------------------------------------------

llvm::Value* AirLowering::special(SpecialRegister r) {
    const auto part = [&](AirInput kind, unsigned i) { return ir_.CreateExtractElement(input(kind), i); };
    const auto one_bit = [&] { return ir_.CreateShl(ir_.getInt32(1), input(AirInput::lane)); };
    switch (r) {
    case SpecialRegister::laneid: return input(AirInput::lane);
    case SpecialRegister::tid_x: return part(AirInput::thread_in_group, 0);
    case SpecialRegister::tid_y: return part(AirInput::thread_in_group, 1);
    case SpecialRegister::tid_z: return part(AirInput::thread_in_group, 2);
    case SpecialRegister::ctaid_x: return part(AirInput::group_in_grid, 0);
    case SpecialRegister::ctaid_y: return part(AirInput::group_in_grid, 1);
    case SpecialRegister::ctaid_z: return part(AirInput::group_in_grid, 2);
    case SpecialRegister::tid_packed: // x in bits 0..15, y in 16..25, z in 26..31
        return ir_.CreateOr(ir_.CreateOr(part(AirInput::thread_in_group, 0),
                                         ir_.CreateShl(part(AirInput::thread_in_group, 1), 16)),
                            ir_.CreateShl(part(AirInput::thread_in_group, 2), 26));
    case SpecialRegister::eqmask: return one_bit();
    case SpecialRegister::ltmask: return ir_.CreateSub(one_bit(), ir_.getInt32(1));
    case SpecialRegister::lemask: return ir_.CreateOr(one_bit(), ir_.CreateSub(one_bit(), ir_.getInt32(1)));
    case SpecialRegister::gtmask:
        return ir_.CreateNot(ir_.CreateOr(one_bit(), ir_.CreateSub(one_bit(), ir_.getInt32(1))));
    case SpecialRegister::gemask: return ir_.CreateNot(ir_.CreateSub(one_bit(), ir_.getInt32(1)));
    case SpecialRegister::sample_id: return input(AirInput::sample_id);
    case SpecialRegister::base_instance: return input(AirInput::base_instance); // B-008
    case SpecialRegister::y_direction:
        return ir_.getInt32(0x3f800000); // upper-left origin, as Metal's window space (T-030)
    default: return nullptr;
    }
}

llvm::Value* AirLowering::mufu(MufuOp op, llvm::Value* x) {
    switch (op) {
    case MufuOp::cos: return air_.math("cos", {x});
    case MufuOp::sin: return air_.math("sin", {x});
    case MufuOp::ex2: return air_.math("exp2", {x});
    case MufuOp::lg2: return air_.math("log2", {x});
    case MufuOp::rcp: return ir_.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1.0), x);
    case MufuOp::rsq: return air_.math("rsqrt", {x});
    case MufuOp::sqrt: return air_.math("sqrt", {x});
    case MufuOp::tanh: return air_.math("tanh", {x});
    }
    return nullptr;
}

// The lane that SHFL reads: b and c as encoded, the lane's own number if the source lies outside the segment.
llvm::Value* AirLowering::shuffle_lane(llvm::Value* mode_operand, llvm::Value* b, llvm::Value* c,
                                       llvm::Value** in_range) {
    const auto mode = constant(mode_operand);
    if (!mode || *mode > 3) {
        fail(nullptr, "SHFL mode");
        return nullptr;
    }
    llvm::Value* lane = input(AirInput::lane);
    llvm::Value* step = ir_.CreateAnd(b, 31);
    llvm::Value* clamp = ir_.CreateAnd(c, 31);
    llvm::Value* segment = ir_.CreateAnd(ir_.CreateLShr(c, 8), 31);
    llvm::Value* free_bits = ir_.CreateXor(segment, ir_.getInt32(31));
    llvm::Value* first = ir_.CreateAnd(lane, segment);
    llvm::Value* limit = ir_.CreateOr(first, ir_.CreateAnd(clamp, free_bits));
    llvm::Value* source = nullptr;
    switch (*mode) {
    case 0: source = ir_.CreateOr(first, ir_.CreateAnd(step, free_bits)); break;
    case 1: source = ir_.CreateSub(lane, step); break;
    case 2: source = ir_.CreateAdd(lane, step); break;
    default: source = ir_.CreateXor(lane, step); break;
    }
    *in_range = *mode == 1 ? ir_.CreateICmpSGE(source, limit) : ir_.CreateICmpSLE(source, limit);
    return ir_.CreateSelect(*in_range, source, lane);
}

// Lane q of the quad combines a and b by the field at bits 7-2q..6-2q: 0 a+b, 1 b-a, 2 a-b, 3 b.
llvm::Value* AirLowering::fswzadd(llvm::CallInst* call) {
    llvm::Value *a = call->getArgOperand(0), *b = call->getArgOperand(1);
    llvm::Value* quad = ir_.CreateAnd(input(AirInput::lane), 3);
    llvm::Value* shift = ir_.CreateSub(ir_.getInt32(6), ir_.CreateShl(quad, 1));
    llvm::Value* field = ir_.CreateAnd(ir_.CreateLShr(call->getArgOperand(2), shift), 3);
    llvm::Value* left = ir_.CreateSelect(ir_.CreateICmpEQ(field, ir_.getInt32(1)), ir_.CreateFNeg(a), a);
    llvm::Value* right = ir_.CreateSelect(ir_.CreateICmpEQ(field, ir_.getInt32(2)), ir_.CreateFNeg(b), b);
    return ir_.CreateSelect(ir_.CreateICmpEQ(field, ir_.getInt32(3)), b, ir_.CreateFAdd(left, right));
}

// ---- the dispatch
// --------------------------------------------------------------------------------------------------

void AirLowering::lower(llvm::CallInst* call, Intrinsic id) {
    ir_.SetInsertPoint(call);
    llvm::Value* v = lower_value(call, id);
    if (error_)
        return;
    if (!call->getType()->isVoidTy()) {
        if (!v)
            return fail(call, fmt::format("{} has no AIR form", intrinsic_info(id).name));
        call->replaceAllUsesWith(v);
    }
    call->eraseFromParent();
}

llvm::Value* AirLowering::lower_value(llvm::CallInst* call, Intrinsic id) {
    const auto operand = [&](unsigned i) { return call->getArgOperand(i); };
    llvm::Type *i8 = ir_.getInt8Ty(), *i16 = ir_.getInt16Ty(), *i32 = ir_.getInt32Ty();
    const auto load = [&](llvm::Value* p, llvm::Type* t) -> llvm::Value* {
        return p ? ir_.CreateAlignedLoad(t, p, llvm::Align(t->getIntegerBitWidth() / 8)) : nullptr;
    };
    const auto store = [&](llvm::Value* p, llvm::Value* v) -> llvm::Value* {
        return p ? ir_.CreateAlignedStore(v, p, llvm::Align(v->getType()->getIntegerBitWidth() / 8))
                 : nullptr;
    };
    switch (id) {
    // ---- memory
    case Intrinsic::ubo_load: return constant_load(call);
    case Intrinsic::ssbo_load_32: return load(buffer_word(call, i32), i32);
    case Intrinsic::ssbo_load_8: return load(buffer_word(call, i8), i8);
    case Intrinsic::ssbo_load_16: return load(buffer_word(call, i16), i16);
    case Intrinsic::ssbo_store_8: return store(buffer_word(call, i8), operand(2));
    case Intrinsic::ssbo_store_16: return store(buffer_word(call, i16), operand(2));
    case Intrinsic::ssbo_store_32: return store(buffer_word(call, i32), operand(2));
    case Intrinsic::ssbo_atomic_32: {
        llvm::Value* p = buffer_word(call, i32);
        return p ? atomic(p, operand(2), operand(3), operand(4)) : nullptr;
    }
    case Intrinsic::shared_load_8: return load(shared_word(operand(0), i8), i8);
    case Intrinsic::shared_load_16: return load(shared_word(operand(0), i16), i16);
    case Intrinsic::shared_load_32: return load(shared_word(operand(0), i32), i32);
    case Intrinsic::shared_store_8: return store(shared_word(operand(0), i8), operand(1));
    case Intrinsic::shared_store_16: return store(shared_word(operand(0), i16), operand(1));
    case Intrinsic::shared_store_32: return store(shared_word(operand(0), i32), operand(1));
    case Intrinsic::shared_atomic_32: {
        llvm::Value* p = shared_word(operand(0), i32);
        return p ? atomic(p, operand(1), operand(2), operand(3)) : nullptr;
    }
    case Intrinsic::local_load_8: return load(local_word(operand(0), i8), i8);
    case Intrinsic::local_load_16: return load(local_word(operand(0), i16), i16);
    case Intrinsic::local_load_32: return load(local_word(operand(0), i32), i32);
    case Intrinsic::local_store_8: return store(local_word(operand(0), i8), operand(1));
    case Intrinsic::local_store_16: return store(local_word(operand(0), i16), operand(1));
    case Intrinsic::local_store_32: return store(local_word(operand(0), i32), operand(1));

    // ---- attributes and outputs
    case Intrinsic::attr_load: return load_attribute(call, false);
    case Intrinsic::attr_interp: return load_attribute(call, true);
    case Intrinsic::attr_store: store_attribute(call); return nullptr;
    case Intrinsic::frag_colour: {
        const auto target = constant(operand(0)), component = constant(operand(1));
        if (!target || !component || *target > 7 || *component > 3)
            fail(call, "fragment output");
        else
            ir_.CreateStore(operand(2), output(*target * 16 + *component * 4, 0));
        return nullptr;
    }
    case Intrinsic::frag_depth: return ir_.CreateStore(as_bits(operand(0)), output(kFragmentDepthKey, 0));
    case Intrinsic::frag_mask: return ir_.CreateStore(operand(0), output(kFragmentMaskKey, ~0u));
    case Intrinsic::demote:
        if (shader_.interface.stage != Stage::fragment)
            fail(call, "KIL outside a fragment stage");
        else
            air_.discard();
        return nullptr;
    case Intrinsic::helper: return air_.is_helper();

    // ---- special registers and synchronisation
    case Intrinsic::special: {
        const auto r = constant(operand(0));
        llvm::Value* v = r ? special(static_cast<SpecialRegister>(*r)) : nullptr;
        if (!v)
            fail(call, fmt::format("special register {} of a {} stage", r.value_or(~0u),
                                   stage_name(shader_.interface.stage)));
        return v;
    }
    case Intrinsic::barrier: air_.threadgroup_barrier(3 | (interface_.writes_memory ? 4 : 0)); return nullptr;
    case Intrinsic::warp_barrier: air_.simdgroup_barrier(2); return nullptr; // threadgroup memory
    case Intrinsic::membar:
        // AIR before 2.7 has no fence that does not synchronise: the narrowest barrier orders the memory
        // (docs/air.md).
        if (shader_.interface.stage != Stage::vertex)
            air_.simdgroup_barrier(shader_.interface.stage == Stage::compute ? 3 : 1);
        return nullptr;

    // ---- lanes
    case Intrinsic::vote_any: return ir_.CreateICmpNE(air_.ballot(operand(0)), ir_.getInt64(0));
    case Intrinsic::vote_all:
        return ir_.CreateICmpEQ(air_.ballot(ir_.CreateNot(operand(0))), ir_.getInt64(0));
    case Intrinsic::vote_eq: {
        llvm::Value* none = ir_.CreateICmpEQ(air_.ballot(operand(0)), ir_.getInt64(0));
        llvm::Value* all = ir_.CreateICmpEQ(air_.ballot(ir_.CreateNot(operand(0))), ir_.getInt64(0));
        return ir_.CreateOr(none, all);
    }
    case Intrinsic::ballot: return ir_.CreateTrunc(air_.ballot(operand(0)), i32);
    case Intrinsic::shfl: {
        llvm::Value* in_range = nullptr;
        llvm::Value* lane = shuffle_lane(operand(0), operand(2), operand(3), &in_range);
        return lane ? air_.shuffle(operand(1), lane) : nullptr;
    }
    case Intrinsic::shfl_valid: {
        llvm::Value* in_range = nullptr;
        shuffle_lane(operand(0), operand(1), operand(2), &in_range);
        return in_range;
    }
    case Intrinsic::fswzadd: return fswzadd(call);
    case Intrinsic::ddx: return air_.derivative(false, operand(0));
    case Intrinsic::ddy: return air_.derivative(true, operand(0));

    // ---- float
    case Intrinsic::mufu: {
        const auto op = constant(operand(0));
        return op ? mufu(static_cast<MufuOp>(*op), operand(1)) : nullptr;
    }
    case Intrinsic::ftz: {
        llvm::Value* bits = as_bits(operand(0));
        llvm::Value* tiny = ir_.CreateICmpEQ(ir_.CreateAnd(bits, 0x7f800000), ir_.getInt32(0));
        return as_float(ir_.CreateSelect(tiny, ir_.CreateAnd(bits, 0x80000000), bits));
    }

    // ---- textures and images
    case Intrinsic::btex_sample:
    case Intrinsic::btex_grad:
    case Intrinsic::btex_fetch:
    case Intrinsic::btex_gather:
    case Intrinsic::btex_size:
    case Intrinsic::btex_info:
    case Intrinsic::btex_lod: return lower_texture(call, id);
    case Intrinsic::bimg_load:
    case Intrinsic::bimg_store:
    case Intrinsic::bimg_atomic:
    case Intrinsic::bimg_size: return lower_image(call, id);
    default: break;
    }
    fail(call, fmt::format("{} is not implemented for Metal", intrinsic_info(id).name));
    return nullptr;
}

} // namespace dmsh
