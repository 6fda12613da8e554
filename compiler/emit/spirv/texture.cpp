// Textures, samplers, texel buffers and storage images: declaration by shape, sampling, fetching, queries,
// atomics.
#include "compiler/emit/spirv/emitter.h"
#include "runtime/abi/stage_state.h"
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Support/KnownBits.h>

namespace dmsh {
namespace {

bool is_pool(BindingKind k) {
    return k == BindingKind::texture_pool || k == BindingKind::sampler_pool;
}
bool is_combined(BindingKind k) {
    return k == BindingKind::texture || k == BindingKind::texture_in_bank;
}

unsigned dimensions(ImageDim d) {
    switch (d) {
    case ImageDim::d1:
    case ImageDim::buffer: return 1;
    case ImageDim::d2: return 2;
    default: return 3;
    }
}

// Where operands of the btex_* forms lie.
constexpr unsigned kTexture = 0, kTextureIndex = 1, kSampler = 2, kSamplerIndex = 3, kDesc = 4,
                   kCoordinate = 5;

// Queries of TXQ as encoded.
constexpr uint32_t kQueryTextureType = 2;

} // namespace

uint32_t SpirvEmitter::image_type(const Shape& s) {
    spv::Dim dim = spv::Dim2D;
    switch (s.dim) {
    case ImageDim::d1:
        dim = spv::Dim1D;
        b_.capability(s.storage ? spv::CapabilityImage1D : spv::CapabilitySampled1D);
        break;
    case ImageDim::d2: break;
    case ImageDim::d3: dim = spv::Dim3D; break;
    case ImageDim::cube:
        dim = spv::DimCube;
        if (s.arrayed)
            b_.capability(s.storage ? spv::CapabilityImageCubeArray : spv::CapabilitySampledCubeArray);
        break;
    case ImageDim::buffer:
        dim = spv::DimBuffer;
        b_.capability(s.storage ? spv::CapabilityImageBuffer : spv::CapabilitySampledBuffer);
        break;
    }
    switch (s.format) {
    case spv::ImageFormatR8ui:
    case spv::ImageFormatR16ui:
    case spv::ImageFormatRg32ui: b_.capability(spv::CapabilityStorageImageExtendedFormats); break;
    default: break;
    }
    return b_.global(spv::OpTypeImage, 0,
                     {numeric_type(s.numeric), static_cast<uint32_t>(dim), s.depth, s.arrayed, s.multisampled,
                      s.storage ? 2u : 1u, static_cast<uint32_t>(s.format)});
}

uint32_t SpirvEmitter::resource_variable(uint32_t index, const Shape& s, bool combined) {
    const Binding& binding = face_.bindings[index];
    uint32_t type = image_type(s);
    if (combined)
        type = b_.global(spv::OpTypeSampledImage, 0, {type});
    for (const Resource& r : resources_)
        if (r.binding == index && r.type == type)
            return r.variable;
    const uint32_t element = type;
    if (is_pool(binding.kind)) {
        b_.capability(spv::CapabilityRuntimeDescriptorArray);
        type = b_.global(spv::OpTypeRuntimeArray, 0, {type});
    } else if (binding.count > 1) {
        type = b_.array_type(type, binding.count);
    }
    const uint32_t variable = b_.variable(spv::StorageClassUniformConstant, type);
    decorate_binding(variable, index);
    if (s.storage) {
        if (!binding.written && !binding.atomic)
            b_.decorate(variable, spv::DecorationNonWritable);
        else if (binding.atomic)
            b_.decorate(variable, spv::DecorationCoherent);
    }
    resources_.push_back({index, element, variable});
    return variable;
}

uint32_t SpirvEmitter::sampler_variable(uint32_t index) {
    uint32_t& variable = samplers_[index];
    if (variable)
        return variable;
    const Binding& binding = face_.bindings[index];
    uint32_t type = b_.global(spv::OpTypeSampler, 0, {});
    if (is_pool(binding.kind)) {
        b_.capability(spv::CapabilityRuntimeDescriptorArray);
        type = b_.global(spv::OpTypeRuntimeArray, 0, {type});
    } else if (binding.count > 1) {
        type = b_.array_type(type, binding.count);
    }
    variable = b_.variable(spv::StorageClassUniformConstant, type);
    decorate_binding(variable, index);
    return variable;
}

// How many ids the runtime's texture pool has room for; the slot behind them is empty.
uint32_t SpirvEmitter::pool_textures() {
    if (!pool_textures_) {
        pool_textures_ = b_.new_id();
        SpirvBuilder::put(b_.globals, spv::OpSpecConstant, {u32(), pool_textures_, kTexturePoolSize});
        b_.decorate(pool_textures_, spv::DecorationSpecId, {kPoolTexturesSpecId});
    }
    return pool_textures_;
}

// The descriptor of element `index`. Run-time indices may differ between invocations of a draw.
uint32_t SpirvEmitter::resource_pointer(uint32_t binding, uint32_t variable, uint32_t element_type,
                                        const llvm::Value* index, bool& non_uniform) {
    const Binding& b = face_.bindings[binding];
    if (b.count <= 1 && !is_pool(b.kind)) {
        handles_.insert(variable);
        return variable;
    }
    const uint32_t pointer = b_.pointer_type(spv::StorageClassUniformConstant, element_type);
    const bool guarded = b.kind == BindingKind::texture_pool && !options_.for_msl; // any handle may come from memory
    if (const auto k = literal(index); k && !guarded) {
        if (!is_pool(b.kind) && *k >= b.count)
            return fail("an array of bindings is indexed past its end");
        return op(spv::OpAccessChain, pointer, {variable, uc(*k)});
    }
    non_uniform = true;
    b_.capability(spv::CapabilityShaderNonUniform);
    uint32_t at = value(index);
    if (!is_pool(b.kind))
        at = ext(u32(), GLSLstd450UMin, {at, uc(b.count - 1)});
    else if (guarded)
        at = ext(u32(), GLSLstd450UMin, {at, pool_textures()});
    at = op(spv::OpCopyObject, u32(), {at}); // an id of its own to decorate
    const uint32_t chain = op(spv::OpAccessChain, pointer, {variable, at});
    b_.decorate(at, spv::DecorationNonUniform);
    b_.decorate(chain, spv::DecorationNonUniform);
    return chain;
}

SpirvEmitter::Texture SpirvEmitter::texture(const llvm::CallInst& call, const TexDesc& d, bool with_sampler) {
    Texture t;
    uint32_t index = 0;
    const Binding* binding = binding_at(call.getArgOperand(kTexture), index);
    if (!binding)
        return t;
    const bool pool = is_pool(binding->kind);
    t.shape = {d.dim, d.arrayed, d.multisampled, pool ? d.depth : binding->depth,
               pool ? d.numeric : binding->numeric};
    const bool buffer = t.shape.dim == ImageDim::buffer;
    if (buffer)
        t.shape.arrayed = t.shape.multisampled = t.shape.depth = false;
    const bool combined = is_combined(binding->kind) && !buffer;
    t.image_type = image_type(t.shape);
    const uint32_t sampled_type = buffer ? 0 : b_.global(spv::OpTypeSampledImage, 0, {t.image_type});
    const uint32_t element = combined ? sampled_type : t.image_type;
    bool non_uniform = false;
    const uint32_t variable = resource_variable(index, t.shape, combined);
    const uint32_t loaded = load(
        element, resource_pointer(index, variable, element, call.getArgOperand(kTextureIndex), non_uniform));
    const auto mark = [&](uint32_t id) {
        if (non_uniform)
            b_.decorate(id, spv::DecorationNonUniform);
        return id;
    };
    mark(loaded);
    if (non_uniform) {
        b_.capability(buffer ? spv::CapabilityUniformTexelBufferArrayNonUniformIndexing
                             : spv::CapabilitySampledImageArrayNonUniformIndexing);
        b_.capability(buffer ? spv::CapabilityUniformTexelBufferArrayDynamicIndexing
                             : spv::CapabilitySampledImageArrayDynamicIndexing);
    }
    const auto sampler_at = literal(call.getArgOperand(kSampler));
    if (!with_sampler) {
        t.image = combined ? mark(op(spv::OpImage, t.image_type, {loaded})) : loaded;
        return t;
    }
    if (combined && sampler_at == index) {
        t.sampled = loaded;
        return t;
    }
    uint32_t sampler_index = 0;
    if (!binding_at(call.getArgOperand(kSampler), sampler_index))
        return t;
    if (buffer) {
        fail("a buffer texture is sampled");
        return t;
    }
    t.image = combined ? mark(op(spv::OpImage, t.image_type, {loaded})) : loaded;
    const uint32_t sampler_type = b_.global(spv::OpTypeSampler, 0, {});
    bool sampler_non_uniform = false;
    const uint32_t sampler =
        load(sampler_type, resource_pointer(sampler_index, sampler_variable(sampler_index), sampler_type,
                                            call.getArgOperand(kSamplerIndex), sampler_non_uniform));
    if (sampler_non_uniform) {
        b_.decorate(sampler, spv::DecorationNonUniform);
        b_.capability(spv::CapabilitySampledImageArrayNonUniformIndexing);
        b_.capability(spv::CapabilitySampledImageArrayDynamicIndexing);
    }
    non_uniform |= sampler_non_uniform;
    t.sampled = mark(op(spv::OpSampledImage, sampled_type, {t.image, sampler}));
    return t;
}

// Float coordinates from operand `first` on, with the array layer behind them.
uint32_t SpirvEmitter::coordinate(const llvm::CallInst& call, unsigned first, const Shape& s,
                                  bool with_layer) {
    llvm::SmallVector<uint32_t, 4> parts;
    for (unsigned k = 0; k < dimensions(s.dim); ++k)
        parts.push_back(value(call.getArgOperand(first + k)));
    if (with_layer && s.arrayed)
        parts.push_back(op(spv::OpConvertUToF, f32(), {value(call.getArgOperand(first + 3))}));
    const uint32_t n = static_cast<uint32_t>(parts.size());
    return n == 1 ? parts[0] : op(spv::OpCompositeConstruct, vec(f32(), n), parts);
}

// Integer coordinates, with 4-bit signed offsets of `offset_word` (an id, 0: none) added.
uint32_t SpirvEmitter::integer_coordinate(const llvm::CallInst& call, unsigned first, const Shape& s,
                                          uint32_t offset_word) {
    llvm::SmallVector<uint32_t, 4> parts;
    for (unsigned k = 0; k < dimensions(s.dim); ++k) {
        uint32_t v = value(call.getArgOperand(first + k));
        if (offset_word)
            v = op(spv::OpIAdd, u32(),
                   {v, op(spv::OpBitFieldSExtract, u32(), {offset_word, uc(4 * k), uc(4)})});
        parts.push_back(v);
    }
    if (s.arrayed)
        parts.push_back(value(call.getArgOperand(first + 3)));
    const uint32_t n = static_cast<uint32_t>(parts.size());
    return n == 1 ? parts[0] : op(spv::OpCompositeConstruct, vec(u32(), n), parts);
}

void SpirvEmitter::texel_result(const llvm::CallInst& call, uint32_t texel, Numeric numeric) {
    if (numeric != Numeric::real)
        texel = op(spv::OpBitcast, vec(f32(), 4), {texel});
    define(&call, texel);
}

// A constant vector of `n` signed fields, or nothing if the word is not constant.
std::optional<uint32_t> SpirvEmitter::constant_offset(const llvm::Value* packed, unsigned field_bits,
                                                      unsigned field_step, unsigned n) {
    auto word = literal(packed);
    if (!word) { // often packed beside a run-time layer: the bits may be known all the same
        const llvm::KnownBits known = llvm::computeKnownBits(packed, shader_.module->getDataLayout());
        uint32_t needed = 0;
        for (unsigned k = 0; k < n; ++k)
            needed |= ((1u << field_bits) - 1) << (field_step * k);
        if (known.getBitWidth() != 32 || ((known.One | known.Zero).getZExtValue() & needed) != needed)
            return std::nullopt;
        word = static_cast<uint32_t>(known.One.getZExtValue());
    }
    const uint32_t s32 = b_.int_type(32, true);
    llvm::SmallVector<uint32_t, 3> parts;
    for (unsigned k = 0; k < n; ++k) {
        const uint32_t up = *word << (32 - field_bits - field_step * k);
        parts.push_back(
            b_.constant(s32, static_cast<uint32_t>(static_cast<int32_t>(up) >> (32 - field_bits))));
    }
    return n == 1 ? parts[0] : b_.global(spv::OpConstantComposite, vec(s32, n), parts);
}

uint32_t SpirvEmitter::dynamic_offset(uint32_t packed, unsigned first_bit, unsigned field_bits,
                                      unsigned field_step, unsigned n) {
    const uint32_t s32 = b_.int_type(32, true);
    const uint32_t word = op(spv::OpBitcast, s32, {packed});
    llvm::SmallVector<uint32_t, 3> parts;
    for (unsigned k = 0; k < n; ++k)
        parts.push_back(
            op(spv::OpBitFieldSExtract, s32, {word, uc(first_bit + field_step * k), uc(field_bits)}));
    return n == 1 ? parts[0] : op(spv::OpCompositeConstruct, vec(s32, n), parts);
}

namespace {

// Image operands in the order of their bits.
struct ImageOperands {
    uint32_t mask = 0;
    llvm::SmallVector<uint32_t, 4> ids;
    void add(uint32_t bit, llvm::ArrayRef<uint32_t> values) {
        mask |= bit;
        ids.append(values.begin(), values.end());
    }
    void append_to(llvm::SmallVectorImpl<uint32_t>& words) const {
        if (!mask)
            return;
        words.push_back(mask);
        words.append(ids.begin(), ids.end());
    }
};

} // namespace

void SpirvEmitter::emit_sample(const llvm::CallInst& call) {
    const TexDesc d = TexDesc::unpack(literal(call.getArgOperand(kDesc)).value_or(0));
    if (d.lod_clamp || d.multisampled)
        return void(fail("sampling with a lod clamp or of a multisampled texture"));
    const Texture t = texture(call, d, true);
    if (error_)
        return;
    ImageOperands operands;
    const bool implicit = stage_ == Stage::fragment && (d.lod == TexDesc::implicit || d.lod == TexDesc::bias);
    if (d.lod == TexDesc::bias && implicit)
        operands.add(spv::ImageOperandsBiasMask, {value(call.getArgOperand(10))});
    if (!implicit) // without derivatives the base level, moved by a bias
        operands.add(
            spv::ImageOperandsLodMask,
            {d.lod == TexDesc::level || d.lod == TexDesc::bias ? value(call.getArgOperand(10)) : fc(0)});
    if (d.offset != TexDesc::no_offset && literal(call.getArgOperand(11)) != 0u) {
        if (t.shape.dim == ImageDim::cube)
            return void(fail("a texel offset on a cube texture"));
        const auto offset = constant_offset(call.getArgOperand(11), 4, 4, dimensions(t.shape.dim));
        if (!offset)
            return void(fail("a texel offset of a sample that is known only at run time"));
        operands.add(spv::ImageOperandsConstOffsetMask, {*offset});
    }
    llvm::SmallVector<uint32_t, 8> words{t.sampled, coordinate(call, kCoordinate, t.shape, true)};
    if (d.depth) {
        words.push_back(value(call.getArgOperand(9)));
        operands.append_to(words);
        const uint32_t r = op(
            implicit ? spv::OpImageSampleDrefImplicitLod : spv::OpImageSampleDrefExplicitLod, f32(), words);
        return define(&call, op(spv::OpCompositeConstruct, vec(f32(), 4), {r, fc(0), fc(0), fc(0)}));
    }
    operands.append_to(words);
    texel_result(call,
                 op(implicit ? spv::OpImageSampleImplicitLod : spv::OpImageSampleExplicitLod,
                    vec(numeric_type(t.shape.numeric), 4), words),
                 t.shape.numeric);
}

void SpirvEmitter::emit_grad(const llvm::CallInst& call) {
    const TexDesc d = TexDesc::unpack(literal(call.getArgOperand(kDesc)).value_or(0));
    const Texture t = texture(call, d, true);
    if (error_)
        return;
    if (d.depth)
        return void(fail("explicit derivatives with depth compare"));
    ImageOperands operands;
    const uint32_t dx = coordinate(call, 9, t.shape, false), dy = coordinate(call, 12, t.shape, false);
    operands.add(spv::ImageOperandsGradMask, {dx, dy});
    if (d.offset != TexDesc::no_offset && literal(call.getArgOperand(15)) != 0u) {
        const auto offset = constant_offset(call.getArgOperand(15), 4, 4, dimensions(t.shape.dim));
        if (!offset || t.shape.dim == ImageDim::cube)
            return void(fail("a texel offset of a sample that is known only at run time"));
        operands.add(spv::ImageOperandsConstOffsetMask, {*offset});
    }
    llvm::SmallVector<uint32_t, 8> words{t.sampled, coordinate(call, kCoordinate, t.shape, true)};
    operands.append_to(words);
    texel_result(call, op(spv::OpImageSampleExplicitLod, vec(numeric_type(t.shape.numeric), 4), words),
                 t.shape.numeric);
}

void SpirvEmitter::emit_gather(const llvm::CallInst& call) {
    const TexDesc d = TexDesc::unpack(literal(call.getArgOperand(kDesc)).value_or(0));
    if (dimensions(d.dim) < 2 || d.dim == ImageDim::d3 || d.dim == ImageDim::buffer)
        return void(fail("a gather of a texture that is neither 2D nor cube"));
    const Texture t = texture(call, d, true);
    if (error_)
        return;
    const uint32_t at = coordinate(call, kCoordinate, t.shape, true);
    const uint32_t select_by = d.depth ? value(call.getArgOperand(9)) : uc(d.component);
    const uint32_t type = vec(numeric_type(t.shape.numeric), 4);
    const auto gather = [&](const ImageOperands& operands) {
        llvm::SmallVector<uint32_t, 8> words{t.sampled, at, select_by};
        operands.append_to(words);
        return op(d.depth ? spv::OpImageDrefGather : spv::OpImageGather, type, words);
    };
    const llvm::Value* first = call.getArgOperand(10);
    const llvm::Value* second = call.getArgOperand(11);
    ImageOperands operands;
    if (d.offset == TexDesc::aoffi && literal(first) != 0u) { // 6-bit fields at bits 0 and 8
        if (t.shape.dim == ImageDim::cube)
            return void(fail("a texel offset on a cube texture"));
        if (const auto offset = constant_offset(first, 6, 8, 2)) {
            operands.add(spv::ImageOperandsConstOffsetMask, {*offset});
        } else {
            b_.capability(spv::CapabilityImageGatherExtended);
            operands.add(spv::ImageOperandsOffsetMask, {dynamic_offset(value(first), 0, 6, 8, 2)});
        }
    } else if (d.offset == TexDesc::ptp) { // four pairs of signed bytes
        b_.capability(spv::CapabilityImageGatherExtended);
        const auto a = literal(first), b = literal(second);
        if (a && b) {
            const uint32_t s32 = b_.int_type(32, true), pair = vec(s32, 2);
            llvm::SmallVector<uint32_t, 4> pairs;
            for (unsigned k = 0; k < 4; ++k) {
                const uint32_t word = (k < 2 ? *a : *b) >> (16 * (k & 1));
                const auto part = [&](unsigned at_bit) {
                    return b_.constant(s32,
                                       static_cast<uint32_t>(int32_t{static_cast<int8_t>(word >> at_bit)}));
                };
                const uint32_t x = part(0), y = part(8);
                pairs.push_back(b_.global(spv::OpConstantComposite, pair, {x, y}));
            }
            const uint32_t array = b_.array_type(pair, 4);
            operands.add(spv::ImageOperandsConstOffsetsMask,
                         {b_.global(spv::OpConstantComposite, array, pairs)});
        } else {
            // Texel k of the result is the (i0, j0) texel, component 3, of a gather at offset k.
            llvm::SmallVector<uint32_t, 4> texels;
            const uint32_t wa = value(first), wb = value(second);
            for (unsigned k = 0; k < 4; ++k) {
                ImageOperands one;
                one.add(spv::ImageOperandsOffsetMask,
                        {dynamic_offset(k < 2 ? wa : wb, 16 * (k & 1), 8, 8, 2)});
                texels.push_back(
                    op(spv::OpCompositeExtract, numeric_type(t.shape.numeric), {gather(one), 3}));
            }
            return texel_result(call, op(spv::OpCompositeConstruct, type, texels), t.shape.numeric);
        }
    }
    texel_result(call, gather(operands), t.shape.numeric);
}

void SpirvEmitter::emit_fetch(const llvm::CallInst& call) {
    const TexDesc d = TexDesc::unpack(literal(call.getArgOperand(kDesc)).value_or(0));
    if (d.dim == ImageDim::cube)
        return void(fail("a fetch from a cube texture"));
    const Texture t = texture(call, d, false);
    if (error_)
        return;
    const bool offset = d.offset != TexDesc::no_offset && literal(call.getArgOperand(11)) != 0u;
    ImageOperands operands;
    if (t.shape.multisampled)
        operands.add(spv::ImageOperandsSampleMask, {value(call.getArgOperand(10))});
    else if (t.shape.dim != ImageDim::buffer)
        operands.add(spv::ImageOperandsLodMask,
                     {d.lod == TexDesc::zero ? uc(0) : value(call.getArgOperand(9))});
    llvm::SmallVector<uint32_t, 8> words{
        t.image, integer_coordinate(call, kCoordinate, t.shape, offset ? value(call.getArgOperand(11)) : 0)};
    operands.append_to(words);
    texel_result(call, op(spv::OpImageFetch, vec(numeric_type(t.shape.numeric), 4), words), t.shape.numeric);
}

// Width, height, depth or layers, levels.
void SpirvEmitter::emit_size(const llvm::CallInst& call, bool image) {
    b_.capability(spv::CapabilityImageQuery);
    uint32_t index = 0;
    const Binding* binding = binding_at(call.getArgOperand(0), index);
    if (!binding)
        return;
    Shape shape;
    uint32_t id;
    bool levels = false;
    if (image) {
        const ImgDesc d = ImgDesc::unpack(literal(call.getArgOperand(2)).value_or(0));
        shape = image_shape(*binding, d);
        shape.dim = binding->dim;
        shape.arrayed = binding->arrayed;
        bool non_uniform = false;
        const uint32_t type = image_type(shape), variable = resource_variable(index, shape, false);
        id = load(type, resource_pointer(index, variable, type, call.getArgOperand(1), non_uniform));
        if (non_uniform) {
            b_.decorate(id, spv::DecorationNonUniform);
            b_.capability(spv::CapabilityStorageImageArrayNonUniformIndexing);
            b_.capability(spv::CapabilityStorageImageArrayDynamicIndexing);
        }
    } else {
        TexDesc d = TexDesc::unpack(literal(call.getArgOperand(kDesc)).value_or(0));
        if (!is_pool(binding->kind)) {
            d.dim = binding->dim;
            d.arrayed = binding->arrayed;
            d.multisampled = binding->multisampled;
        }
        const Texture t = texture(call, d, false);
        shape = t.shape;
        id = t.image;
        levels = !shape.multisampled && shape.dim != ImageDim::buffer;
    }
    if (error_)
        return;
    const unsigned planar = shape.dim == ImageDim::cube ? 2 : dimensions(shape.dim);
    const unsigned n = planar + shape.arrayed;
    llvm::SmallVector<uint32_t, 2> words{id};
    if (levels)
        words.push_back(value(call.getArgOperand(5)));
    const uint32_t size = op(levels ? spv::OpImageQuerySizeLod : spv::OpImageQuerySize, vec(u32(), n), words);
    const auto part = [&](unsigned k) {
        return n == 1 ? size : op(spv::OpCompositeExtract, u32(), {size, k});
    };
    const uint32_t width = part(0), height = planar > 1 ? part(1) : uc(1);
    const uint32_t third = shape.arrayed ? part(planar) : planar > 2 ? part(2) : uc(1);
    const uint32_t count = levels ? op(spv::OpImageQueryLevels, u32(), {id}) : uc(1);
    define(&call, op(spv::OpCompositeConstruct, vec(u32(), 4), {width, height, third, count}));
}

void SpirvEmitter::emit_info(const llvm::CallInst& call) {
    uint32_t index = 0;
    const Binding* binding = binding_at(call.getArgOperand(kTexture), index);
    const auto query = literal(call.getArgOperand(5));
    if (!binding)
        return;
    if (query != kQueryTextureType)
        return void(fail("TXQ query " + std::to_string(query.value_or(0)) + " is not implemented"));
    // Component 2 is the number of samples; the others are formats of the hardware.
    uint32_t samples = uc(1);
    if (binding->multisampled) {
        TexDesc d = TexDesc::unpack(literal(call.getArgOperand(kDesc)).value_or(0));
        d.dim = binding->dim;
        d.arrayed = binding->arrayed;
        d.multisampled = true;
        const Texture t = texture(call, d, false);
        b_.capability(spv::CapabilityImageQuery);
        if (!error_)
            samples = op(spv::OpImageQuerySamples, u32(), {t.image});
    }
    define(&call, op(spv::OpCompositeConstruct, vec(u32(), 4), {uc(0), uc(0), samples, uc(0)}));
}

void SpirvEmitter::emit_lod(const llvm::CallInst& call) {
    if (stage_ != Stage::fragment)
        return void(fail("TMML outside a fragment shader"));
    const TexDesc d = TexDesc::unpack(literal(call.getArgOperand(kDesc)).value_or(0));
    const Texture t = texture(call, d, true);
    if (error_)
        return;
    b_.capability(spv::CapabilityImageQuery);
    const uint32_t lod =
        op(spv::OpImageQueryLod, vec(f32(), 2), {t.sampled, coordinate(call, kCoordinate, t.shape, false)});
    const uint32_t zero = b_.global(spv::OpConstantComposite, vec(f32(), 2), {fc(0), fc(0)});
    define(&call, op(spv::OpVectorShuffle, vec(f32(), 4), {lod, zero, 0, 1, 2, 3}));
}

SpirvEmitter::Shape SpirvEmitter::image_shape(const Binding& binding, const ImgDesc& d) const {
    Shape s{d.dim, d.arrayed, false, false, binding.numeric, spv::ImageFormatUnknown, true};
    if (s.dim == ImageDim::buffer)
        s.arrayed = false;
    const auto raw = [&](spv::ImageFormat f) { s.format = f, s.numeric = Numeric::uint; };
    switch (d.access) {
    case ImageAccess::formatted:
        if (binding.atomic) // one view serves loads, stores and atomics
            raw(spv::ImageFormatR32ui);
        break;
    case ImageAccess::raw8: raw(spv::ImageFormatR8ui); break;
    case ImageAccess::raw16: raw(spv::ImageFormatR16ui); break;
    case ImageAccess::raw32: raw(spv::ImageFormatR32ui); break;
    case ImageAccess::raw64: raw(spv::ImageFormatRg32ui); break;
    case ImageAccess::raw128: raw(spv::ImageFormatRgba32ui); break;
    }
    return s;
}

void SpirvEmitter::emit_image(const llvm::CallInst& call, Intrinsic id) {
    uint32_t index = 0;
    const Binding* binding = binding_at(call.getArgOperand(0), index);
    if (!binding)
        return;
    const ImgDesc d = ImgDesc::unpack(literal(call.getArgOperand(2)).value_or(0));
    Shape s = image_shape(*binding, d);
    const bool atomic_access = id == Intrinsic::bimg_atomic;
    if (atomic_access && s.format == spv::ImageFormatUnknown)
        s.format = spv::ImageFormatR32ui, s.numeric = Numeric::uint;
    if (atomic_access && s.format != spv::ImageFormatR32ui)
        return void(fail("an image atomic that is not of 32 bits"));
    const uint32_t type = image_type(s), variable = resource_variable(index, s, false);
    bool non_uniform = false;
    const uint32_t pointer = resource_pointer(index, variable, type, call.getArgOperand(1), non_uniform);
    if (non_uniform) {
        const bool buffer = s.dim == ImageDim::buffer;
        b_.capability(buffer ? spv::CapabilityStorageTexelBufferArrayNonUniformIndexing
                             : spv::CapabilityStorageImageArrayNonUniformIndexing);
        b_.capability(buffer ? spv::CapabilityStorageTexelBufferArrayDynamicIndexing
                             : spv::CapabilityStorageImageArrayDynamicIndexing);
    }
    const uint32_t at = integer_coordinate(call, 3, s, 0);
    if (atomic_access) {
        const uint32_t texel = op(spv::OpImageTexelPointer, b_.pointer_type(spv::StorageClassImage, u32()),
                                  {pointer, at, uc(0)});
        if (non_uniform)
            b_.decorate(texel, spv::DecorationNonUniform);
        const auto o = static_cast<AtomicOp>(literal(call.getArgOperand(7)).value_or(255));
        define(&call, atomic(texel, u32(), spv::ScopeDevice, o, value(call.getArgOperand(8)),
                             value(call.getArgOperand(9)), false));
        return;
    }
    const uint32_t image = load(type, pointer);
    if (non_uniform)
        b_.decorate(image, spv::DecorationNonUniform);
    const uint32_t texel_type = vec(numeric_type(s.numeric), 4);
    if (id == Intrinsic::bimg_load) {
        if (s.format == spv::ImageFormatUnknown)
            b_.capability(spv::CapabilityStorageImageReadWithoutFormat);
        const uint32_t texel = op(spv::OpImageRead, texel_type, {image, at});
        define(&call, s.numeric == Numeric::uint ? texel : op(spv::OpBitcast, vec(u32(), 4), {texel}));
        return;
    }
    if (s.format == spv::ImageFormatUnknown)
        b_.capability(spv::CapabilityStorageImageWriteWithoutFormat);
    const uint32_t words = value(call.getArgOperand(7));
    effect(spv::OpImageWrite,
           {image, at, s.numeric == Numeric::uint ? words : op(spv::OpBitcast, texel_type, {words})});
}

bool SpirvEmitter::emit_texture(const llvm::CallInst& call, Intrinsic id) {
    switch (id) {
    case Intrinsic::btex_sample: emit_sample(call); return true;
    case Intrinsic::btex_grad: emit_grad(call); return true;
    case Intrinsic::btex_fetch: emit_fetch(call); return true;
    case Intrinsic::btex_gather: emit_gather(call); return true;
    case Intrinsic::btex_size: emit_size(call, false); return true;
    case Intrinsic::btex_info: emit_info(call); return true;
    case Intrinsic::btex_lod: emit_lod(call); return true;
    case Intrinsic::bimg_load:
    case Intrinsic::bimg_store:
    case Intrinsic::bimg_atomic: emit_image(call, id); return true;
    case Intrinsic::bimg_size: emit_size(call, true); return true;
    default: return false;
    }
}

} // namespace dmsh
