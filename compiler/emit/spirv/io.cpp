// Stage inputs and outputs by attribute address, built-in values, special registers, fragment outputs.
#include "compiler/emit/spirv/emitter.h"
#include "compiler/passes/pass_support.h"
#include "runtime/abi/attributes.h"
#include "runtime/abi/stage_state.h"

namespace dmsh {
namespace {

// Attribute byte addresses of the hardware (README of the maxwell-gfx corpus, "Attributes").
constexpr uint32_t kPrimitiveIdOut = 0x40, kPrimitiveId = 0x60, kLayer = 0x64, kViewport = 0x68,
                   kPointSize = 0x6c;
constexpr uint32_t kPosition = 0x70, kGeneric = 0x80, kClip = 0x2c0, kClipEnd = 0x2e0;
constexpr uint32_t kPointCoord = 0x2e0, kTessCoord = 0x2f0, kInstanceId = 0x2f8, kVertexId = 0x2fc;
constexpr uint32_t kViewportMask = 0x3a0, kFrontFacing = 0x3fc;
constexpr uint32_t kMaxPatchVertices = 32;

} // namespace

bool SpirvEmitter::arrayed_inputs() const {
    return stage_ == Stage::geometry || stage_ == Stage::tess_control || stage_ == Stage::tess_evaluation;
}

uint32_t SpirvEmitter::vertex_count() {
    if (!vertex_count_) {
        vertex_count_ = b_.new_id();
        SpirvBuilder::put(b_.globals, spv::OpSpecConstant,
                          {u32(), vertex_count_, static_cast<uint32_t>(std::max<uint8_t>(face_.input_primitive, 1))});
        b_.decorate(vertex_count_, spv::DecorationSpecId, {kInputVerticesSpecId});
    }
    return vertex_count_;
}

uint32_t SpirvEmitter::vertex_array(uint32_t element) {
    if (stage_ != Stage::geometry)
        return b_.array_type(element, kMaxPatchVertices);
    return b_.global(spv::OpTypeArray, 0, {element, vertex_count()});
}

const Varying* SpirvEmitter::varying(bool input, uint32_t location) const {
    for (const Varying& v : input ? face_.inputs : face_.outputs)
        if (v.location == location)
            return &v;
    return nullptr;
}

uint32_t SpirvEmitter::builtin(spv::BuiltIn which, uint32_t type, spv::StorageClass storage) {
    for (const BuiltinVariable& v : builtins_)
        if (v.which == which && v.storage == storage)
            return v.variable;
    const uint32_t variable = b_.variable(storage, type);
    builtins_.push_back({which, storage, variable});
    if (storage == spv::StorageClassInput && which != spv::BuiltInHelperInvocation) // a demotion changes that one
        unchanging_.insert(variable);
    b_.decorate(variable, spv::DecorationBuiltIn, {static_cast<uint32_t>(which)});
    if (stage_ == Stage::fragment && storage == spv::StorageClassInput && type == u32())
        b_.decorate(variable, spv::DecorationFlat);
    return variable;
}

uint32_t SpirvEmitter::builtin_word(spv::BuiltIn which) {
    return load(u32(), builtin(which, u32()));
}

uint32_t SpirvEmitter::builtin_component(spv::BuiltIn which, uint32_t component) {
    const uint32_t v = load(vec(u32(), 3), builtin(which, vec(u32(), 3)));
    return op(spv::OpCompositeExtract, u32(), {v, component});
}

uint32_t SpirvEmitter::numeric_type(Numeric n) {
    return n == Numeric::real ? f32() : n == Numeric::sint ? b_.int_type(32, true) : u32();
}

uint32_t SpirvEmitter::location_of(uint32_t offset, bool input) {
    const uint32_t location = attribute_location(offset);
    if (location == kNoLocation)
        return location;
    const bool generic = offset < kGeneric + 512;
    (generic ? generic_locations_ : fixed_locations_)[input] |= 1u << location;
    if (generic_locations_[input] & fixed_locations_[input])
        fail("attribute " + hex(offset) + " shares its location with another value");
    return location;
}

uint32_t SpirvEmitter::input_variable(uint32_t location) {
    uint32_t& variable = inputs_[location];
    if (variable)
        return variable;
    const Varying* v = varying(true, location);
    const Numeric numeric = v ? v->numeric : Numeric::real;
    uint32_t type = vec(numeric_type(numeric), 4);
    if (arrayed_inputs())
        type = vertex_array(type);
    variable = b_.variable(spv::StorageClassInput, type);
    unchanging_.insert(variable);
    b_.decorate(variable, spv::DecorationLocation, {location});
    if (stage_ == Stage::fragment) {
        if ((v && v->interpolation == 1) || numeric != Numeric::real) {
            b_.decorate(variable, spv::DecorationFlat);
        } else if (v) {
            if (v->interpolation == 3)
                b_.decorate(variable, spv::DecorationNoPerspective);
            if (v->per_sample) {
                b_.capability(spv::CapabilitySampleRateShading);
                b_.decorate(variable, spv::DecorationSample);
            } else if (v->centroid) {
                b_.decorate(variable, spv::DecorationCentroid);
            }
        }
    }
    return variable;
}

uint32_t SpirvEmitter::output_variable(uint32_t location, bool patch) {
    uint32_t& variable = patch ? patches_[location] : outputs_[location];
    if (variable)
        return variable;
    const Varying* v = patch ? nullptr : varying(false, location);
    const Numeric numeric = v ? v->numeric : Numeric::real;
    const uint32_t scalar = numeric_type(numeric);
    uint32_t type = vec(scalar, 4);
    if (stage_ == Stage::tess_control && !patch)
        type = b_.array_type(type, std::max(face_.invocations, 1u));
    variable = b_.variable(spv::StorageClassOutput, type);
    b_.decorate(variable, spv::DecorationLocation, {location});
    if (patch)
        b_.decorate(variable, spv::DecorationPatch);
    if (patch ? outputs_[location] : patches_[location])
        fail("a patch value and a vertex value share location " + std::to_string(location));
    // L-006: components that are not written read as (0, 0, 0, 1).
    if (stage_ != Stage::tess_control) {
        const uint32_t zero = b_.constant(scalar, 0), one = b_.constant(scalar, 0x3f800000u);
        const uint32_t start = b_.global(spv::OpConstantComposite, type, {zero, zero, zero, one});
        SpirvBuilder::put(prologue_, spv::OpStore, {variable, start});
    }
    return variable;
}

uint32_t SpirvEmitter::position_variable() {
    if (position_)
        return position_;
    uint32_t type = vec(f32(), 4);
    if (stage_ == Stage::tess_control)
        type = b_.array_type(type, std::max(face_.invocations, 1u));
    position_ = b_.variable(spv::StorageClassOutput, type);
    b_.decorate(position_, spv::DecorationBuiltIn, {spv::BuiltInPosition});
    b_.decorate(position_, spv::DecorationInvariant); // L-021
    if (stage_ != Stage::tess_control) {
        const uint32_t start = b_.global(spv::OpConstantComposite, type, {fc(0), fc(0), fc(0), fc(1)});
        SpirvBuilder::put(prologue_, spv::OpStore, {position_, start});
    }
    return position_;
}

// z from -w..w to 0..w.
void SpirvEmitter::finish_position() {
    const uint32_t v = load(vec(f32(), 4), position_);
    const uint32_t z = op(spv::OpCompositeExtract, f32(), {v, 2});
    const uint32_t w = op(spv::OpCompositeExtract, f32(), {v, 3});
    const uint32_t sum = exact(op(spv::OpFAdd, f32(), {z, w}));
    const uint32_t half = exact(op(spv::OpFMul, f32(), {sum, fc(0.5f)}));
    store(position_, op(spv::OpCompositeInsert, vec(f32(), 4), {half, v, 2}));
}

// The word (or, as_float, the float) of input a[offset]; `interp` carries LOCATION and the packed offset.
uint32_t SpirvEmitter::attribute_input(uint32_t offset, uint32_t vertex, bool as_float,
                                       const llvm::CallInst* interp) {
    const auto from_float = [&](uint32_t f) { return as_float ? f : to_bits(f); };
    const auto from_word = [&](uint32_t w) { return as_float ? to_float(w) : w; };
    const bool fragment = stage_ == Stage::fragment;
    if (const uint32_t location = location_of(offset, true); location != kNoLocation) {
        const uint32_t component = offset / 4 % 4;
        const uint32_t variable = input_variable(location);
        const Varying* v = varying(true, location);
        const Numeric numeric = v ? v->numeric : Numeric::real;
        const uint32_t type = numeric_type(numeric);
        llvm::SmallVector<uint32_t, 3> chain{variable};
        if (arrayed_inputs())
            chain.push_back(vertex);
        chain.push_back(uc(component));
        const uint32_t pointer = op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassInput, type), chain);
        const bool flat = numeric != Numeric::real || (v && v->interpolation == 1);
        if (fragment && interp && !flat) {
            const uint32_t where = literal(interp->getArgOperand(1)).value_or(0);
            if (where == 1 && face_.per_sample) {
                b_.capability(spv::CapabilityInterpolationFunction);
                b_.capability(spv::CapabilitySampleRateShading);
                return from_float(
                    ext(f32(), GLSLstd450InterpolateAtSample, {pointer, builtin_word(spv::BuiltInSampleId)}));
            }
            if (where == 1) {
                b_.capability(spv::CapabilityInterpolationFunction);
                return from_float(ext(f32(), GLSLstd450InterpolateAtCentroid, {pointer}));
            }
            if (where == 2) {
                // Two signed 16-bit fields in 1/4096 pixel.
                b_.capability(spv::CapabilityInterpolationFunction);
                const uint32_t packed = value(interp->getArgOperand(2)), s32 = b_.int_type(32, true);
                const uint32_t word = op(spv::OpBitcast, s32, {packed});
                const auto part = [&](uint32_t at) {
                    const uint32_t field = op(spv::OpBitFieldSExtract, s32, {word, uc(at), uc(16)});
                    return op(spv::OpFMul, f32(), {op(spv::OpConvertSToF, f32(), {field}), fc(1.0f / 4096)});
                };
                const uint32_t x = part(0), y = part(16);
                const uint32_t xy = op(spv::OpCompositeConstruct, vec(f32(), 2), {x, y});
                return from_float(ext(f32(), GLSLstd450InterpolateAtOffset, {pointer, xy}));
            }
        }
        // A vector that is there whole is loaded once, then its components; pointers to them go unread.
        const uint32_t loaded = arrayed_inputs() || !v || v->components != 15
                                    ? load(type, pointer)
                                    : op(spv::OpCompositeExtract, type, {load(vec(type, 4), variable), component});
        if (numeric == Numeric::real)
            return from_float(loaded);
        return from_word(numeric == Numeric::uint ? loaded : op(spv::OpBitcast, u32(), {loaded}));
    }
    const auto vec_component = [&](spv::BuiltIn which, unsigned n, uint32_t component) {
        uint32_t type = vec(f32(), n);
        llvm::SmallVector<uint32_t, 3> chain;
        if (arrayed_inputs() && which == spv::BuiltInPosition) {
            type = vertex_array(type);
            chain.push_back(vertex);
        }
        chain.insert(chain.begin(), builtin(which, type));
        if (chain.size() == 1)
            return from_float(op(spv::OpCompositeExtract, f32(), {load(type, chain[0]), component}));
        chain.push_back(uc(component));
        return from_float(
            load(f32(), op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassInput, f32()), chain)));
    };
    if (offset >= kPosition && offset < kGeneric) {
        if (fragment)
            return vec_component(spv::BuiltInFragCoord, 4, offset / 4 % 4);
        if (arrayed_inputs())
            return vec_component(spv::BuiltInPosition, 4, offset / 4 % 4);
    }
    if (offset >= kClip && offset < kClipEnd && (fragment || arrayed_inputs())) {
        const uint32_t k = (offset - kClip) / 4;
        if (!clip_input_)
            clip_input_ = b_.new_id();
        clip_input_count_ = std::max(clip_input_count_, k + 1);
        llvm::SmallVector<uint32_t, 3> chain{clip_input_};
        if (arrayed_inputs())
            chain.push_back(vertex);
        chain.push_back(uc(k));
        return from_float(
            load(f32(), op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassInput, f32()), chain)));
    }
    switch (offset) {
    case kPrimitiveId:
        if (stage_ == Stage::vertex || stage_ == Stage::compute)
            break;
        b_.capability(stage_ == Stage::tess_control || stage_ == Stage::tess_evaluation
                          ? spv::CapabilityTessellation
                          : spv::CapabilityGeometry);
        return from_word(builtin_word(spv::BuiltInPrimitiveId));
    case kLayer:
        if (!fragment)
            break;
        b_.capability(spv::CapabilityShaderLayer);
        return from_word(builtin_word(spv::BuiltInLayer));
    case kViewport:
        if (!fragment)
            break;
        b_.capability(spv::CapabilityShaderViewportIndex);
        return from_word(builtin_word(spv::BuiltInViewportIndex));
    case kPointSize:
        if (arrayed_inputs()) {
            const uint32_t variable = builtin(spv::BuiltInPointSize, vertex_array(f32()));
            return from_float(
                load(f32(), op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassInput, f32()),
                               {variable, vertex})));
        }
        break;
    case kPointCoord:
    case kPointCoord + 4:
        if (!fragment)
            break;
        return vec_component(spv::BuiltInPointCoord, 2, offset / 4 % 4);
    case kTessCoord:
    case kTessCoord + 4:
        if (stage_ != Stage::tess_evaluation)
            break;
        return vec_component(spv::BuiltInTessCoord, 3, offset / 4 % 4);
    case kInstanceId: // T-032: without the base
        if (stage_ != Stage::vertex)
            break;
        return from_word(
            op(spv::OpISub, u32(),
               {builtin_word(spv::BuiltInInstanceIndex), special(SpecialRegister::base_instance)}));
    case kVertexId:
        if (stage_ != Stage::vertex)
            break;
        return from_word(builtin_word(spv::BuiltInVertexIndex));
    case kFrontFacing:
        if (!fragment)
            break;
        return from_word(
            select(u32(), load(boolean(), builtin(spv::BuiltInFrontFacing, boolean())), uc(~0u), uc(0)));
    default: break;
    }
    return fail("input attribute " + hex(offset) + " of stage " + std::string(stage_name(stage_)) +
                " is not implemented");
}

// The generic inputs that the stage has as one private array of rows, filled at the start; words that it has not are 0.
void SpirvEmitter::copy_inputs() {
    uint32_t last = 0;
    first_copied_ = 32;
    for (const Varying& v : face_.inputs)
        if (v.location < 32 && v.components)
            first_copied_ = std::min<uint32_t>(first_copied_, v.location), last = std::max<uint32_t>(last, v.location);
    if (first_copied_ == 32)
        return;
    copied_count_ = last - first_copied_ + 1;
    const uint32_t row = vec(u32(), 4), rows = b_.array_type(row, copied_count_);
    input_copy_ = b_.variable(spv::StorageClassPrivate, rows);
    SpirvBuilder::put(prologue_, spv::OpStore, {input_copy_, b_.global(spv::OpConstantNull, rows, {})});
    for (const Varying& v : face_.inputs) {
        if (v.location >= 32 || !v.components)
            continue;
        location_of(kGeneric + 16 * v.location, true);
        const uint32_t variable = input_variable(v.location), loaded_type = vec(numeric_type(v.numeric), 4);
        const auto put = [&](spv::Op o, uint32_t type, std::initializer_list<uint32_t> operands) {
            llvm::SmallVector<uint32_t, 8> words{type, b_.new_id()};
            words.append(operands.begin(), operands.end());
            SpirvBuilder::put(prologue_, o, words);
            return words[1];
        };
        // Only what the stage before may have written is read; the rest is 0.
        uint32_t words;
        if (v.components == 15) {
            words = put(spv::OpLoad, loaded_type, {variable});
        } else {
            const uint32_t type = numeric_type(v.numeric), pointer = b_.pointer_type(spv::StorageClassInput, type);
            std::array<uint32_t, 4> parts;
            for (uint32_t k = 0; k < parts.size(); ++k)
                parts[k] = v.components >> k & 1 ? put(spv::OpLoad, type, {put(spv::OpAccessChain, pointer, {variable, uc(k)})}) : b_.constant(type, 0);
            words = put(spv::OpCompositeConstruct, loaded_type, {parts[0], parts[1], parts[2], parts[3]});
        }
        if (loaded_type != row)
            words = put(spv::OpBitcast, row, {words});
        const uint32_t place = put(spv::OpAccessChain, b_.pointer_type(spv::StorageClassPrivate, row),
                                   {input_copy_, uc(v.location - first_copied_)});
        SpirvBuilder::put(prologue_, spv::OpStore, {place, words});
    }
}

// An address known at run time. Words that the stage does not have read 0.
uint32_t SpirvEmitter::attribute_dynamic(const llvm::Value* offset, uint32_t vertex) {
    const uint32_t at = value(offset);
    if (!arrayed_inputs()) {
        if (!input_copy_)
            copy_inputs();
        if (!input_copy_)
            return uc(0);
        const uint32_t row = op(spv::OpISub, u32(), {op(spv::OpShiftRightLogical, u32(), {at, uc(4)}), uc(kGeneric / 16 + first_copied_)});
        const uint32_t component = op(spv::OpBitFieldUExtract, u32(), {at, uc(2), uc(2)});
        const uint32_t clamped = ext(u32(), GLSLstd450UMin, {row, uc(copied_count_ - 1)});
        const uint32_t word = load(u32(), op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassPrivate, u32()), {input_copy_, clamped, component}));
        return select(u32(), op(spv::OpIEqual, boolean(), {row, clamped}), word, uc(0));
    }
    uint32_t result = uc(0);
    for (const Varying& v : face_.inputs)
        for (uint32_t k = 0; k < 4; ++k) {
            if (!(v.components >> k & 1) || v.location >= 32)
                continue;
            const uint32_t address = kGeneric + 16 * v.location + 4 * k;
            const uint32_t word = attribute_input(address, vertex, false, nullptr);
            result = select(u32(), op(spv::OpIEqual, boolean(), {at, uc(address)}), word, result);
        }
    return result;
}

void SpirvEmitter::store_choice(uint32_t at, llvm::ArrayRef<std::pair<uint32_t, uint32_t>> pointers, uint32_t type,
                                uint32_t v) {
    const uint32_t merge = b_.new_id();
    llvm::SmallVector<uint32_t, 64> words{at, merge};
    llvm::SmallVector<uint32_t, 32> labels;
    for (const auto& [address, pointer] : pointers) {
        labels.push_back(b_.new_id());
        words.append({address, labels.back()});
    }
    const uint32_t bits = type == u32() ? v : op(spv::OpBitcast, type, {v});
    effect(spv::OpSelectionMerge, {merge, 0});
    effect(spv::OpSwitch, words);
    for (size_t i = 0; i < labels.size(); ++i) {
        begin_block(labels[i]);
        store(pointers[i].second, bits);
        effect(spv::OpBranch, {merge});
    }
    begin_block(merge);
}

// An output at an address known at run time. Addresses that the stage does not write change nothing.
void SpirvEmitter::store_dynamic(const llvm::Value* address, uint32_t bits) {
    const uint32_t at = value(address);
    for (const Numeric numeric : {Numeric::real, Numeric::sint, Numeric::uint}) {
        const uint32_t type = numeric_type(numeric);
        llvm::SmallVector<std::pair<uint32_t, uint32_t>, 32> pointers;
        for (const Varying& v : face_.outputs)
            for (uint32_t k = 0; k < 4; ++k) {
                if (!(v.components >> k & 1) || v.location >= 32 || v.numeric != numeric)
                    continue;
                llvm::SmallVector<uint32_t, 3> chain{output_variable(v.location)};
                if (stage_ == Stage::tess_control)
                    chain.push_back(builtin_word(spv::BuiltInInvocationId));
                chain.push_back(uc(k));
                pointers.emplace_back(
                    kGeneric + 16 * v.location + 4 * k,
                    op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassOutput, type), chain));
            }
        if (!pointers.empty())
            store_choice(at, pointers, type, bits);
    }
}

void SpirvEmitter::store_component(uint32_t variable, uint32_t type, uint32_t component, uint32_t bits) {
    auto p = llvm::find_if(pending_, [&](const PendingOutput& o) { return o.variable == variable; });
    if (p == pending_.end()) {
        pending_.push_back({variable, type, {}});
        p = pending_.end() - 1;
    }
    p->parts[component] = bits;
}

// Four components become one store of the whole.
void SpirvEmitter::flush_outputs() {
    for (const PendingOutput& o : pending_) {
        if (llvm::find(o.parts, 0u) == o.parts.end()) {
            store(o.variable, op(spv::OpCompositeConstruct, vec(o.type, 4), o.parts));
            continue;
        }
        for (uint32_t k = 0; k < o.parts.size(); ++k)
            if (o.parts[k])
                store(op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassOutput, o.type), {o.variable, uc(k)}), o.parts[k]);
    }
    pending_.clear();
}

void SpirvEmitter::attribute_output(uint32_t offset, uint32_t bits, const llvm::Value*) {
    llvm::SmallVector<uint32_t, 3> chain;
    const auto per_vertex = [&] {
        if (stage_ == Stage::tess_control) // Vulkan lets an invocation write its own vertex only
            chain.push_back(builtin_word(spv::BuiltInInvocationId));
    };
    if (const uint32_t location = location_of(offset, false); location != kNoLocation) {
        const Varying* v = varying(false, location);
        const Numeric numeric = v ? v->numeric : Numeric::real;
        const uint32_t type = numeric_type(numeric), variable = output_variable(location);
        const uint32_t typed = numeric == Numeric::uint ? bits : op(spv::OpBitcast, type, {bits});
        if (stage_ != Stage::tess_control)
            return store_component(variable, type, offset / 4 % 4, typed);
        chain.push_back(variable);
        per_vertex();
        chain.push_back(uc(offset / 4 % 4));
        store(op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassOutput, type), chain), typed);
        return;
    }
    if (offset >= kPosition && offset < kGeneric) {
        if (stage_ != Stage::tess_control)
            return store_component(position_variable(), f32(), offset / 4 % 4, to_float(bits));
        chain.push_back(position_variable());
        per_vertex();
        chain.push_back(uc(offset / 4 % 4));
        store(op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassOutput, f32()), chain), to_float(bits));
        return;
    }
    if (offset >= kClip && offset < kClipEnd) {
        const uint32_t k = (offset - kClip) / 4;
        if (!clip_variable_)
            clip_variable_ = b_.new_id();
        clip_count_ = std::max(clip_count_, k + 1);
        chain.push_back(clip_variable_);
        per_vertex();
        chain.push_back(uc(k));
        store(op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassOutput, f32()), chain), to_float(bits));
        return;
    }
    switch (offset) {
    case kPointSize:
        if (stage_ == Stage::geometry)
            b_.capability(spv::CapabilityGeometryPointSize);
        if (stage_ == Stage::tess_evaluation || stage_ == Stage::tess_control)
            b_.capability(spv::CapabilityTessellationPointSize);
        if (stage_ == Stage::tess_control) {
            const uint32_t sizes = b_.array_type(f32(), std::max(face_.invocations, 1u));
            chain.push_back(builtin(spv::BuiltInPointSize, sizes, spv::StorageClassOutput));
            per_vertex();
            store(op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassOutput, f32()), chain), to_float(bits));
            return;
        }
        store(builtin(spv::BuiltInPointSize, f32(), spv::StorageClassOutput), to_float(bits));
        return;
    case kLayer:
        if (stage_ == Stage::tess_control)
            break;
        b_.capability(stage_ == Stage::geometry ? spv::CapabilityGeometry : spv::CapabilityShaderLayer);
        store(builtin(spv::BuiltInLayer, u32(), spv::StorageClassOutput), bits);
        return;
    case kViewport:
        if (stage_ == Stage::tess_control)
            break;
        b_.capability(stage_ == Stage::geometry ? spv::CapabilityMultiViewport
                                                : spv::CapabilityShaderViewportIndex);
        store(builtin(spv::BuiltInViewportIndex, u32(), spv::StorageClassOutput), bits);
        return;
    case kPrimitiveIdOut:
    case kPrimitiveId:
        if (stage_ != Stage::geometry)
            break;
        store(builtin(spv::BuiltInPrimitiveId, u32(), spv::StorageClassOutput), bits);
        return;
    case kViewportMask: { // one mask word; VK_NV_viewport_array2 only
        if (stage_ == Stage::tess_control)
            break;
        b_.capability(spv::CapabilityShaderViewportMaskNV);
        b_.extension("SPV_NV_viewport_array2");
        const uint32_t masks = builtin(spv::BuiltInViewportMaskNV, b_.array_type(u32(), 1), spv::StorageClassOutput);
        store(op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassOutput, u32()), {masks, uc(0)}), bits);
        return;
    }
    default: break;
    }
    fail("output attribute " + hex(offset) + " of stage " + std::string(stage_name(stage_)) +
         " is not implemented");
}

bool SpirvEmitter::emit_io(const llvm::CallInst& call, Intrinsic id) {
    const auto arg = [&](unsigned k) { return call.getArgOperand(k); };
    switch (id) {
    case Intrinsic::attr_load: {
        const uint32_t vertex = value(arg(1));
        const auto offset = literal(arg(0));
        define(&call,
               offset ? attribute_input(*offset, vertex, false, nullptr) : attribute_dynamic(arg(0), vertex));
        return true;
    }
    case Intrinsic::attr_interp: {
        const auto offset = literal(arg(0));
        define(&call, offset ? attribute_input(*offset, uc(0), true, &call)
                             : to_float(attribute_dynamic(arg(0), uc(0))));
        return true;
    }
    case Intrinsic::attr_store: {
        const auto offset = literal(arg(0));
        const uint32_t bits = value(arg(1));
        if (offset) {
            attribute_output(*offset, bits, arg(2));
            return true;
        }
        flush_outputs();
        store_dynamic(arg(0), bits);
        return true;
    }
    case Intrinsic::attr_load_out: {
        const auto offset = literal(arg(0));
        if (offset &&
            stage_ == Stage::tess_evaluation) { // the tessellation coordinate lies among the outputs
            define(&call, attribute_input(*offset, value(arg(1)), false, nullptr));
            return true;
        }
        if (!offset || stage_ != Stage::tess_control) {
            fail("reading back an output at a run-time address or outside tess_control");
            return true;
        }
        const uint32_t vertex = value(arg(1));
        uint32_t variable;
        if (const uint32_t location = location_of(*offset, false); location != kNoLocation)
            variable = output_variable(location);
        else if (*offset >= kPosition && *offset < kGeneric)
            variable = position_variable();
        else
            variable = fail("reading back output attribute " + hex(*offset));
        const uint32_t pointer = op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassOutput, f32()),
                                    {variable, vertex, uc(*offset / 4 % 4)});
        define(&call, to_bits(load(f32(), pointer)));
        return true;
    }
    case Intrinsic::patch_load: {
        const auto offset = literal(arg(0));
        define(&call, offset ? patch_input(*offset) : patch_dynamic(arg(0)));
        return true;
    }
    case Intrinsic::patch_store: patch_output(arg(0), value(arg(1))); return true;
    case Intrinsic::frag_colour: {
        const auto target = literal(arg(0)), component = literal(arg(1));
        if (!target || !component || *target >= colours_.size() || *component > 3) {
            fail("a fragment output without a constant target and component");
            return true;
        }
        Numeric numeric = Numeric::real;
        uint8_t mask = 0;
        for (const FragmentOutput& o : face_.colours)
            if (o.target == *target)
                numeric = o.numeric, mask = o.components;
        const uint32_t type = numeric_type(numeric);
        uint32_t& variable = colours_[*target];
        if (!variable) {
            variable = b_.variable(spv::StorageClassOutput, vec(type, 4));
            b_.decorate(variable, spv::DecorationLocation, {*target});
            if (mask != 15) {
                const uint32_t zero = b_.constant(type, 0);
                const uint32_t start =
                    b_.global(spv::OpConstantComposite, vec(type, 4), {zero, zero, zero, zero});
                SpirvBuilder::put(prologue_, spv::OpStore, {variable, start});
            }
        }
        const uint32_t bits = value(arg(2));
        store_component(variable, type, *component, numeric == Numeric::uint ? bits : op(spv::OpBitcast, type, {bits}));
        return true;
    }
    case Intrinsic::frag_depth:
        writes_depth_ = true;
        store(builtin(spv::BuiltInFragDepth, f32(), spv::StorageClassOutput), value(arg(0)));
        return true;
    case Intrinsic::frag_mask: {
        const uint32_t variable =
            builtin(spv::BuiltInSampleMask, b_.array_type(u32(), 1), spv::StorageClassOutput);
        const uint32_t pointer =
            op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassOutput, u32()), {variable, uc(0)});
        store(pointer, value(arg(0)));
        return true;
    }
    case Intrinsic::demote:
        if (stage_ != Stage::fragment) {
            fail("KIL outside a fragment shader");
            return true;
        }
        b_.capability(spv::CapabilityDemoteToHelperInvocationEXT);
        b_.extension("SPV_EXT_demote_to_helper_invocation");
        effect(spv::OpDemoteToHelperInvocationEXT, {});
        return true;
    case Intrinsic::helper:
        if (stage_ != Stage::fragment) {
            define(&call, b_.constant_bool(false));
            return true;
        }
        b_.capability(spv::CapabilityDemoteToHelperInvocationEXT);
        b_.extension("SPV_EXT_demote_to_helper_invocation");
        define(&call, op(spv::OpIsHelperInvocationEXT, boolean(), {}));
        return true;
    case Intrinsic::special: {
        const auto reg = literal(arg(0));
        define(&call, reg ? special(static_cast<SpecialRegister>(*reg))
                          : fail("a special register that is no constant"));
        return true;
    }
    case Intrinsic::clock: {
        if (options_.for_msl) { // L0050
            define(&call, uc(0));
            return true;
        }
        b_.capability(spv::CapabilityShaderClockKHR);
        b_.extension("SPV_KHR_shader_clock");
        const uint32_t pair = op(spv::OpReadClockKHR, vec(u32(), 2), {uc(spv::ScopeSubgroup)});
        define(&call, op(spv::OpCompositeExtract, u32(), {pair, 0}));
        return true;
    }
    case Intrinsic::geom_emit:
    case Intrinsic::geom_cut: {
        flush_outputs();
        const auto stream = literal(arg(0));
        if (stage_ != Stage::geometry || !stream)
            fail("OUT outside a geometry shader");
        else
            geometry_emit(*stream, id == Intrinsic::geom_cut);
        return true;
    }
    default: return false;
    }
}

} // namespace dmsh
