// Texture and image operations: dmsh.btex.* and dmsh.bimg.* calls to AIR.
#include "compiler/emit/air/air_lowering.h"
#include <fmt/format.h>

namespace dmsh {
namespace {

std::optional<uint32_t> constant(const llvm::Value* v) {
    if (const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v))
        return static_cast<uint32_t>(c->getZExtValue());
    return std::nullopt;
}

bool is_zero(const llvm::Value* v) {
    return constant(v) == 0u;
}

int32_t signed_field(uint32_t word, unsigned at, unsigned bits) {
    return static_cast<int32_t>(word << (32 - at - bits)) >> (32 - bits);
}

// Offsets that the language allows in sampling and gathering.
constexpr int32_t kMinOffset = -8, kMaxOffset = 7;

// TXQ's code for the texture's type.
constexpr uint32_t kQueryTextureType = 2;

} // namespace

// A texture or sampler handle out of the argument buffer; constant places are loaded once, before the guest's
// code.
llvm::Value* AirLowering::handle(uint32_t index, llvm::Value* element, bool sampler) {
    const Binding& b = interface_.bindings[index];
    const bool pool = b.kind == BindingKind::texture_pool || b.kind == BindingKind::sampler_pool;
    const bool own_sampler = b.kind == BindingKind::separate_sampler ||
                             b.kind == BindingKind::sampler_in_bank || b.kind == BindingKind::sampler_pool;
    const unsigned field = sampler && !own_sampler ? places_[index].sampler_field : places_[index].field;
    const auto fixed = constant(element);
    const bool array = !pool && b.count > 1;
    const uint64_t key = array ? fixed.value_or(0) : 0;
    const bool cached = !pool && (!array || fixed);
    if (cached)
        if (const auto it = handles_.find({index, key, sampler}); it != handles_.end())
            return it->second;
    llvm::IRBuilder<> at(prologue_end_);
    if (!cached)
        at.SetInsertPoint(&*ir_.GetInsertPoint());
    llvm::Type* member = args_type_->getElementType(field);
    llvm::Value* place = nullptr;
    llvm::Type* type = member;
    if (pool) {
        // {last index, pad, handles}: the index is clamped to the table's own bound, whose entry is a dummy.
        llvm::Value* p = at.CreateInBoundsGEP(args_type_, args_.get(), {at.getInt64(0), at.getInt32(field)});
        llvm::Value* table = at.CreateAlignedLoad(member, p, llvm::Align(8));
        auto* layout = llvm::cast<llvm::StructType>(member->getNonOpaquePointerElementType());
        type = layout->getElementType(2)->getArrayElementType();
        llvm::Value* last = at.CreateAlignedLoad(
            at.getInt32Ty(), at.CreateInBoundsGEP(layout, table, {at.getInt64(0), at.getInt32(0)}),
            llvm::Align(8));
        llvm::Value* i = at.CreateSelect(at.CreateICmpULT(element, last), element, last);
        place =
            at.CreateGEP(layout, table, {at.getInt64(0), at.getInt32(2), at.CreateZExt(i, at.getInt64Ty())});
    } else if (array) {
        type = member->getArrayElementType();
        llvm::Value* i = element;
        if (!fixed) {
            llvm::Value* last = at.getInt32(b.count - 1);
            i = at.CreateSelect(at.CreateICmpULT(element, last), element, last);
        } else if (*fixed >= b.count) {
            i = at.getInt32(b.count - 1);
        }
        place = at.CreateInBoundsGEP(args_type_, args_.get(),
                                     {at.getInt64(0), at.getInt32(field), at.CreateZExt(i, at.getInt64Ty())});
    } else {
        place = at.CreateInBoundsGEP(args_type_, args_.get(), {at.getInt64(0), at.getInt32(field)});
    }
    llvm::Value* v = at.CreateAlignedLoad(type, place, llvm::Align(8));
    if (cached)
        handles_[{index, key, sampler}] = v;
    return v;
}

llvm::Value* AirLowering::coordinates(const AirTexture& t, llvm::Value* x, llvm::Value* y, llvm::Value* z) {
    switch (t.dim) {
    case ImageDim::d1:
    case ImageDim::buffer: return x;
    case ImageDim::d2: return vector({x, y});
    case ImageDim::d3:
    case ImageDim::cube: return vector({x, y, z});
    }
    return x;
}

llvm::Value* AirLowering::texel_position(const AirTexture& t, llvm::Value* x, llvm::Value* y,
                                         llvm::Value* z) {
    return t.dim == ImageDim::cube ? vector({x, y}) : coordinates(t, x, y, z);
}

// Offsets must be constants of the instruction (L-078); null without one.
llvm::Value* AirLowering::constant_offset(llvm::CallInst* call, const AirTexture& t, llvm::Value* packed,
                                          unsigned bits, unsigned step) {
    const auto word = constant(packed);
    if (!word) {
        fail(call, "a texture offset that is not constant");
        return nullptr;
    }
    llvm::SmallVector<llvm::Constant*, 3> parts;
    bool any = false;
    const unsigned n = t.dim == ImageDim::d1 ? 1 : t.dim == ImageDim::d2 ? 2 : 3;
    for (unsigned i = 0; i < n; ++i) {
        const int32_t v = signed_field(*word, i * step, bits);
        if (v < kMinOffset || v > kMaxOffset)
            fail(call, fmt::format("texture offset {} (Metal has {} to {})", v, kMinOffset, kMaxOffset));
        any |= v != 0;
        parts.push_back(ir_.getInt32(static_cast<uint32_t>(v)));
    }
    if (any && t.dim == ImageDim::cube)
        fail(call, "an offset on a cube texture");
    if (!any || error_)
        return nullptr;
    return n == 1 ? static_cast<llvm::Value*>(parts[0]) : llvm::ConstantVector::get(parts);
}

llvm::Value* AirLowering::as_words(llvm::Value* texel, bool floats) {
    llvm::Type* scalar = floats ? ir_.getFloatTy() : static_cast<llvm::Type*>(ir_.getInt32Ty());
    auto* four = llvm::FixedVectorType::get(scalar, 4);
    if (!texel->getType()->isVectorTy()) {
        // Depth: one float, in the first component.
        llvm::Value* v = texel->getType() == scalar ? texel : ir_.CreateBitCast(texel, scalar);
        return ir_.CreateInsertElement(llvm::Constant::getNullValue(four), v, uint64_t{0});
    }
    return ir_.CreateBitCast(texel, four);
}

// width, height, depth or layers, levels
llvm::Value* AirLowering::size_of(const AirTexture& t, llvm::Value* texture, llvm::Value* lod) {
    llvm::Value* one = ir_.getInt32(1);
    llvm::Value* w = air_.texture_query(t, texture, "width", lod);
    llvm::Value* h = t.dim == ImageDim::d1 || t.dim == ImageDim::buffer
                         ? one
                         : air_.texture_query(t, texture, "height", lod);
    llvm::Value* d = t.arrayed               ? air_.texture_query(t, texture, "array_size", nullptr)
                     : t.dim == ImageDim::d3 ? air_.texture_query(t, texture, "depth", lod)
                                             : one;
    const bool levels = !t.multisampled && t.dim != ImageDim::buffer;
    return vector({w, h, d, levels ? air_.texture_query(t, texture, "num_mip_levels", nullptr) : one});
}

llvm::Value* AirLowering::lower_texture(llvm::CallInst* call, Intrinsic id) {
    const auto operand = [&](unsigned i) { return call->getArgOperand(i); };
    uint32_t texture_index = 0;
    const Binding* b = binding(operand(0), call, &texture_index);
    if (!b)
        return nullptr;
    const auto packed = constant(operand(4));
    const bool texture_kind = b->kind == BindingKind::texture || b->kind == BindingKind::separate_texture ||
                              b->kind == BindingKind::texture_in_bank ||
                              b->kind == BindingKind::texture_pool || b->kind == BindingKind::image ||
                              b->kind == BindingKind::image_in_bank;
    if (!packed || !texture_kind) {
        fail(call, fmt::format("binding {} is no texture", texture_index));
        return nullptr;
    }
    const TexDesc desc = TexDesc::unpack(*packed);
    const AirTexture t = texture_of(*b);
    const bool query = id == Intrinsic::btex_size || id == Intrinsic::btex_info;
    if (!query && (desc.dim != t.dim || desc.arrayed != t.arrayed || desc.depth != t.depth ||
                   desc.multisampled != t.multisampled)) {
        fail(call, fmt::format("a texture operation of another shape than its binding {}", texture_index));
        return nullptr;
    }
    if (query && (b->kind == BindingKind::image || b->kind == BindingKind::image_in_bank ||
                  t.access == AirAccess::sample)) {
        if (id == Intrinsic::btex_size)
            return size_of(t, handle(texture_index, operand(1), false), operand(5));
        if (constant(operand(5)) == kQueryTextureType) {
            // Component 2 is the number of samples; the others are formats of the hardware.
            llvm::Value *zero = ir_.getInt32(0), *samples = ir_.getInt32(1);
            if (t.multisampled)
                samples = air_.texture_query(t, handle(texture_index, operand(1), false), "num_samples", nullptr);
            return vector({zero, zero, samples, zero});
        }
        fail(call, fmt::format("TXQ query {}", constant(operand(5)).value_or(~0u)));
        return nullptr;
    }

    AirSample s;
    s.texture = handle(texture_index, operand(1), false);
    if (id != Intrinsic::btex_fetch) {
        uint32_t sampler_index = 0;
        const Binding* sb = binding(operand(2), call, &sampler_index);
        if (!sb)
            return nullptr;
        const bool sampler_kind =
            sb->kind == BindingKind::separate_sampler || sb->kind == BindingKind::sampler_in_bank ||
            sb->kind == BindingKind::sampler_pool ||
            ((sb->kind == BindingKind::texture || sb->kind == BindingKind::texture_in_bank) && sb->sampled);
        if (!sampler_kind) {
            fail(call, fmt::format("binding {} has no sampler", sampler_index));
            return nullptr;
        }
        s.sampler = handle(sampler_index, operand(3), true);
        if (t.multisampled || t.dim == ImageDim::buffer) {
            fail(call, "sampling of a multisampled or buffer texture");
            return nullptr;
        }
    }
    if (t.arrayed)
        s.layer = operand(8);
    const bool fragment = shader_.interface.stage == Stage::fragment;
    switch (id) {
    case Intrinsic::btex_sample: {
        s.coord = coordinates(t, operand(5), operand(6), operand(7));
        if (desc.depth)
            s.compare = operand(9);
        if (desc.lod_clamp)
            fail(call, "a level clamp in the instruction");
        if (desc.offset == TexDesc::aoffi)
            s.offset = constant_offset(call, t, operand(11), 4, 4);
        else if (desc.offset == TexDesc::ptp)
            fail(call, "four offsets on a sampling operation");
        switch (desc.lod) {
        case TexDesc::implicit:
            s.explicit_lod = !fragment;
            break; // outside fragments there are no derivatives: level 0
        case TexDesc::bias:
            s.lod = operand(10);
            s.explicit_lod = !fragment;
            break;
        case TexDesc::level:
            s.lod = operand(10);
            s.explicit_lod = true;
            break;
        case TexDesc::zero: s.explicit_lod = true; break;
        }
        return error_ ? nullptr : as_words(air_.sample(t, s), true);
    }
    case Intrinsic::btex_grad: {
        if (desc.depth) {
            fail(call, "depth compare with gradients"); // the dictionary carries no reference value here
            return nullptr;
        }
        s.coord = coordinates(t, operand(5), operand(6), operand(7));
        s.ddx = coordinates(t, operand(9), operand(10), operand(11));
        s.ddy = coordinates(t, operand(12), operand(13), operand(14));
        if (desc.offset == TexDesc::aoffi)
            s.offset = constant_offset(call, t, operand(15), 4, 4);
        return error_ ? nullptr : as_words(air_.sample(t, s), true);
    }
    case Intrinsic::btex_gather: {
        if (t.dim == ImageDim::d1 || t.dim == ImageDim::d3) {
            fail(call, "a gather from a 1D or 3D texture");
            return nullptr;
        }
        s.coord = coordinates(t, operand(5), operand(6), operand(7));
        s.component = desc.component;
        if (desc.depth)
            s.compare = operand(9);
        if (desc.offset != TexDesc::ptp) {
            if (desc.offset == TexDesc::aoffi)
                s.offset = constant_offset(call, t, operand(10), 6, 8);
            return error_ ? nullptr : as_words(air_.gather(t, s), true);
        }
        // Four offsets: component i is the texel (0, 0) of the gather at offset i, which is its last
        // component.
        const auto low = constant(operand(10)), high = constant(operand(11));
        if (!low || !high) {
            fail(call, "gather offsets that are not constant");
            return nullptr;
        }
        Values parts;
        for (unsigned i = 0; i < 4; ++i) {
            const uint32_t word = (i < 2 ? *low : *high) >> (i % 2 * 16) & 0xffff;
            s.offset = constant_offset(call, t, ir_.getInt32(word), 6, 8);
            if (error_)
                return nullptr;
            parts.push_back(ir_.CreateExtractElement(as_words(air_.gather(t, s), true), 3));
        }
        return vector(parts);
    }
    case Intrinsic::btex_lod: {
        if (!fragment) {
            fail(call, "a level-of-detail query outside a fragment stage");
            return nullptr;
        }
        s.coord = coordinates(t, operand(5), operand(6), operand(7));
        llvm::Value* zero = llvm::ConstantFP::get(ir_.getFloatTy(), 0.0);
        llvm::Value* clamped = air_.calculate_lod(t, s, true);
        return vector({clamped, air_.calculate_lod(t, s, false), zero, zero});
    }
    case Intrinsic::btex_fetch: {
        if (t.dim == ImageDim::cube || t.depth) {
            fail(call, "a texel fetch from a cube or depth texture");
            return nullptr;
        }
        llvm::Value *x = operand(5), *y = operand(6), *z = operand(7);
        if (desc.offset == TexDesc::aoffi && !is_zero(operand(11))) {
            const auto word = constant(operand(11));
            if (!word) {
                fail(call, "a texture offset that is not constant");
                return nullptr;
            }
            const auto moved = [&](llvm::Value* v, unsigned i) {
                return ir_.CreateAdd(v, ir_.getInt32(static_cast<uint32_t>(signed_field(*word, 4 * i, 4))));
            };
            x = moved(x, 0);
            y = moved(y, 1);
            z = moved(z, 2);
        }
        AirTexel at;
        at.texture = s.texture;
        at.position = texel_position(t, x, y, z);
        at.layer = s.layer;
        at.lod = operand(9);
        at.sample = operand(10);
        return as_words(air_.read(t, at), true);
    }
    default: break;
    }
    fail(call, fmt::format("{} has no AIR form", intrinsic_info(id).name));
    return nullptr;
}

llvm::Value* AirLowering::lower_image(llvm::CallInst* call, Intrinsic id) {
    const auto operand = [&](unsigned i) { return call->getArgOperand(i); };
    uint32_t index = 0;
    const Binding* b = binding(operand(0), call, &index);
    if (!b)
        return nullptr;
    const auto packed = constant(operand(2));
    if (!packed || (b->kind != BindingKind::image && b->kind != BindingKind::image_in_bank)) {
        fail(call, fmt::format("binding {} is no image", index));
        return nullptr;
    }
    const AirTexture t = texture_of(*b);
    AirTexel at;
    at.texture = handle(index, operand(1), false);
    if (id == Intrinsic::bimg_size)
        return size_of(t, at.texture, nullptr);
    if (t.dim == ImageDim::cube) {
        fail(call, "a cube image");
        return nullptr;
    }
    at.position = texel_position(t, operand(3), operand(4), operand(5));
    if (t.arrayed)
        at.layer = operand(6);
    auto* words = llvm::FixedVectorType::get(ir_.getInt32Ty(), 4);
    switch (id) {
    case Intrinsic::bimg_load: return as_words(air_.read(t, at), false);
    case Intrinsic::bimg_store: {
        llvm::Type* element =
            t.numeric == Numeric::real ? ir_.getFloatTy() : static_cast<llvm::Type*>(ir_.getInt32Ty());
        air_.write(t, at, ir_.CreateBitCast(operand(7), llvm::FixedVectorType::get(element, 4)));
        return nullptr;
    }
    case Intrinsic::bimg_atomic: {
        const auto op = constant(operand(7));
        const auto wide = [&](llvm::Value* v) {
            return ir_.CreateInsertElement(llvm::Constant::getNullValue(words), v, uint64_t{0});
        };
        const auto first = [&](llvm::Value* v) { return ir_.CreateExtractElement(v, uint64_t{0}); };
        AirTexture typed = t;
        const auto run = [&](const char* name, Numeric numeric) {
            if (t.numeric == Numeric::sint || numeric == t.numeric || numeric == Numeric::real) {
                return first(air_.texture_atomic(typed, at, name, wide(operand(8))));
            }
            fail(call, "a signed atomic on an unsigned image");
            return static_cast<llvm::Value*>(nullptr);
        };
        switch (static_cast<AtomicOp>(op.value_or(~0u))) {
        case AtomicOp::add: return run("add", Numeric::real);
        case AtomicOp::smin: return run("min", Numeric::sint);
        case AtomicOp::smax: return run("max", Numeric::sint);
        case AtomicOp::umin: return run("min", Numeric::uint);
        case AtomicOp::umax: return run("max", Numeric::uint);
        case AtomicOp::and_: return run("and", Numeric::real);
        case AtomicOp::or_: return run("or", Numeric::real);
        case AtomicOp::xor_: return run("xor", Numeric::real);
        case AtomicOp::exch: return run("exchange", Numeric::real);
        case AtomicOp::cas: {
            auto* slot = prologue_alloca(words, "expected.texel");
            return first(air_.texture_cas(t, at, wide(operand(9)), wide(operand(8)), slot));
        }
        default: fail(call, fmt::format("image atomic operation {}", op.value_or(~0u))); return nullptr;
        }
    }
    default: break;
    }
    fail(call, fmt::format("{} has no AIR form", intrinsic_info(id).name));
    return nullptr;
}

} // namespace dmsh
