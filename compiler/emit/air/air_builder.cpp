// AIR types and intrinsic calls with the attributes that Apple's compiler gives them.
#include "compiler/emit/air/air_builder.h"
#include <fmt/format.h>

namespace dmsh {
namespace {

unsigned coordinate_count(const AirTexture& t) {
    switch (t.dim) {
    case ImageDim::d1:
    case ImageDim::buffer: return 1;
    case ImageDim::d2: return 2;
    case ImageDim::d3:
    case ImageDim::cube: return 3;
    }
    return 0;
}

// Sign part and type of a texel in names: ".v4f32", ".s.v4i32".
std::string texel_suffix(const AirTexture& t) {
    return t.numeric == Numeric::real ? ".v4f32" : t.numeric == Numeric::sint ? ".s.v4i32" : ".u.v4i32";
}

constexpr unsigned kOrderRelaxed = 0;

unsigned scope_of(const llvm::Value* pointer) {
    // As Apple compiles them: 2 for device memory, 1 for threadgroup memory.
    return pointer->getType()->getPointerAddressSpace() == kAirThreadgroup ? 1 : 2;
}

std::string space_of(const llvm::Value* pointer) {
    return pointer->getType()->getPointerAddressSpace() == kAirThreadgroup ? "local" : "global";
}

} // namespace

std::string AirTexture::class_name() const {
    std::string s = depth ? "depth_" : "texture_";
    switch (dim) {
    case ImageDim::d1:
        if (depth || multisampled)
            return {};
        s += "1d";
        break;
    case ImageDim::d2: s += multisampled ? "2d_ms" : "2d"; break;
    case ImageDim::d3:
        if (depth || arrayed || multisampled)
            return {};
        s += "3d";
        break;
    case ImageDim::cube:
        if (multisampled)
            return {};
        s += "cube";
        break;
    case ImageDim::buffer:
        if (depth || arrayed || multisampled)
            return {};
        s += "buffer_1d";
        break;
    }
    if (arrayed)
        s += "_array";
    return s;
}

std::string AirTexture::type_name() const {
    std::string s = class_name();
    // "texture_2d_ms_array" is spelled texture2d_ms_array in the language, and texture_buffer_1d
    // texture_buffer.
    if (dim == ImageDim::buffer)
        s = "texture_buffer";
    else if (const size_t bar = s.find('_'); bar != std::string::npos)
        s.erase(bar, 1);
    static constexpr const char* accesses[] = {"sample", "read", "write", "read_write"};
    static constexpr const char* elements[] = {"float", "int", "uint"};
    // Multisampled and buffer textures cannot be sampled: their plain access is read.
    const char* access_name = accesses[static_cast<unsigned>(access)];
    if (access == AirAccess::sample && (multisampled || dim == ImageDim::buffer))
        access_name = "read";
    return fmt::format("{}<{}, {}>", s, elements[static_cast<unsigned>(numeric)], access_name);
}

std::string air_type_suffix(llvm::Type* type) {
    if (auto* v = llvm::dyn_cast<llvm::FixedVectorType>(type))
        return fmt::format("v{}{}", v->getNumElements(), air_type_suffix(v->getElementType()));
    if (type->isFloatTy())
        return "f32";
    if (type->isHalfTy())
        return "f16";
    if (type->isIntegerTy())
        return fmt::format("i{}", type->getIntegerBitWidth());
    if (type->isPointerTy())
        return fmt::format("p{}{}", type->getPointerAddressSpace(),
                           air_type_suffix(type->getNonOpaquePointerElementType()));
    return "?";
}

AirBuilder::AirBuilder(llvm::Module& module, const AirVersion& version)
    : module_(module), context_(module.getContext()), version_(version), b_(context_) {}

llvm::PointerType* AirBuilder::opaque(llvm::StringRef name, unsigned space) {
    // By name, so that a second module in the same context does not get "name.0".
    auto* type = llvm::StructType::getTypeByName(context_, name);
    if (!type)
        type = llvm::StructType::create(context_, name);
    return llvm::PointerType::get(type, space);
}

llvm::PointerType* AirBuilder::texture_type(const AirTexture& t) {
    return opaque("struct._" + t.class_name() + "_t", kAirDevice);
}

llvm::PointerType* AirBuilder::sampler_type() {
    return opaque("struct._sampler_t", kAirConstant);
}
llvm::PointerType* AirBuilder::interpolant_type() {
    return opaque("struct._interpolant_t", kAirDevice);
}

llvm::CallInst* AirBuilder::call(const llvm::Twine& name, llvm::Type* result,
                                 llvm::ArrayRef<llvm::Value*> operands, Effect effect) {
    llvm::SmallVector<llvm::Type*, 12> params;
    for (llvm::Value* v : operands)
        params.push_back(v->getType());
    auto* type = llvm::FunctionType::get(result, params, false);
    const std::string full = ("air." + name).str();
    llvm::Function* f = module_.getFunction(full);
    if (!f) {
        f = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, full, module_);
        f->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Local);
        using A = llvm::Attribute;
        const auto add = [&](std::initializer_list<A::AttrKind> kinds) {
            for (const A::AttrKind k : kinds)
                f->addFnAttr(k);
        };
        add({A::MustProgress, A::NoUnwind, A::WillReturn});
        switch (effect) {
        case Effect::pure: add({A::NoFree, A::NoSync, A::ReadNone}); break;
        case Effect::read: add({A::ArgMemOnly, A::NoFree, A::ReadOnly}); break;
        case Effect::sample: add({A::ArgMemOnly, A::Convergent, A::NoFree, A::ReadOnly}); break;
        case Effect::write: add({A::ArgMemOnly}); break;
        case Effect::lanes: add({A::Convergent}); break;
        case Effect::side: break;
        case Effect::inaccessible_read: add({A::InaccessibleMemOnly, A::NoFree, A::ReadOnly}); break;
        }
        for (unsigned i = 0; i < params.size(); ++i)
            if (params[i]->isPointerTy()) {
                f->addParamAttr(i, A::NoCapture);
                if (effect == Effect::read || effect == Effect::sample)
                    f->addParamAttr(i, A::ReadOnly);
            }
    }
    auto* c = b_.CreateCall(type, f, operands);
    if (f->isConvergent())
        c->setConvergent();
    return c;
}

// ---- math
// ----------------------------------------------------------------------------------------------------------

llvm::Value* AirBuilder::math(llvm::StringRef name, llvm::ArrayRef<llvm::Value*> operands) {
    llvm::Type* type = operands[0]->getType();
    return call(name + "." + air_type_suffix(type), type, operands, Effect::pure);
}

llvm::Value* AirBuilder::integer(llvm::StringRef name, bool is_signed,
                                 llvm::ArrayRef<llvm::Value*> operands) {
    llvm::Type* type = operands[0]->getType();
    return call(name + (is_signed ? ".s." : ".u.") + air_type_suffix(type), type, operands, Effect::pure);
}

llvm::Value* AirBuilder::clz(llvm::Value* v) {
    return call("clz." + air_type_suffix(v->getType()), v->getType(), {v, b_.getFalse()}, Effect::pure);
}

llvm::Value* AirBuilder::ctz(llvm::Value* v) {
    return call("ctz." + air_type_suffix(v->getType()), v->getType(), {v, b_.getFalse()}, Effect::pure);
}

llvm::Value* AirBuilder::popcount(llvm::Value* v) {
    return math("popcount", {v});
}
llvm::Value* AirBuilder::reverse_bits(llvm::Value* v) {
    return math("reverse_bits", {v});
}

llvm::Value* AirBuilder::convert_to_int(llvm::Value* v, llvm::Type* to, bool is_signed) {
    return call(llvm::Twine("convert.") + (is_signed ? "s." : "u.") + air_type_suffix(to) + ".f." +
                    air_type_suffix(v->getType()),
                to, {v}, Effect::pure);
}

// ---- textures
// ------------------------------------------------------------------------------------------------------

llvm::Type* AirBuilder::element(const AirTexture& t) const {
    llvm::Type* scalar =
        t.numeric == Numeric::real ? llvm::Type::getFloatTy(context_) : llvm::Type::getInt32Ty(context_);
    return llvm::FixedVectorType::get(scalar, 4);
}

// AIR from 2.2 on returns the texel with a residency byte.
llvm::Type* AirBuilder::texel_result(llvm::Type* value) const {
    return llvm::StructType::get(context_, {value, llvm::Type::getInt8Ty(context_)});
}

void AirBuilder::add_offset(const AirTexture& t, const AirSample& s,
                            llvm::SmallVectorImpl<llvm::Value*>& operands) {
    if (t.dim == ImageDim::cube)
        return; // cube classes have no offset operands
    const unsigned n = coordinate_count(t);
    // 1D calls of Apple's compiler say false here, the others true, offset or not.
    operands.push_back(b_.getInt1(n > 1 || s.offset));
    if (s.offset)
        operands.push_back(s.offset);
    else
        operands.push_back(
            llvm::Constant::getNullValue(n == 1 ? static_cast<llvm::Type*>(b_.getInt32Ty())
                                                : llvm::FixedVectorType::get(b_.getInt32Ty(), n)));
}

llvm::Value* AirBuilder::sample(const AirTexture& t, const AirSample& s) {
    llvm::SmallVector<llvm::Value*, 16> ops{s.texture, s.sampler};
    llvm::Value* zero = llvm::ConstantFP::get(b_.getFloatTy(), 0.0);
    if (t.depth)
        ops.push_back(b_.getInt32(1));
    ops.push_back(s.coord);
    if (s.layer)
        ops.push_back(s.layer);
    if (s.compare)
        ops.push_back(s.compare);
    if (s.ddx) {
        ops.append({s.ddx, s.ddy, zero});
        add_offset(t, s, ops);
    } else {
        add_offset(t, s, ops);
        ops.append({b_.getInt1(s.explicit_lod), s.lod ? s.lod : zero, zero});
    }
    ops.push_back(b_.getInt32(0));
    llvm::Type* value = t.depth ? b_.getFloatTy() : element(t);
    const std::string name = std::string(s.compare ? "sample_compare_" : "sample_") + t.class_name() +
                             (s.ddx ? "_grad" : "") + (t.depth ? ".f32" : texel_suffix(t));
    return b_.CreateExtractValue(call(name, texel_result(value), ops, s.ddx ? Effect::read : Effect::sample),
                                 0);
}

llvm::Value* AirBuilder::gather(const AirTexture& t, const AirSample& s) {
    llvm::SmallVector<llvm::Value*, 12> ops{s.texture, s.sampler};
    if (t.depth)
        ops.push_back(b_.getInt32(1));
    ops.push_back(s.coord);
    if (s.layer)
        ops.push_back(s.layer);
    if (s.compare)
        ops.push_back(s.compare);
    add_offset(t, s, ops);
    if (!t.depth)
        ops.push_back(b_.getInt32(s.component));
    ops.push_back(b_.getInt32(0));
    const std::string name = std::string(s.compare ? "gather_compare_" : "gather_") + t.class_name() +
                             (s.compare ? ".f32"
                              : t.depth ? ".v4f32"
                                        : texel_suffix(t));
    llvm::Type* value = t.depth ? llvm::FixedVectorType::get(b_.getFloatTy(), 4) : element(t);
    return b_.CreateExtractValue(call(name, texel_result(value), ops, Effect::read), 0);
}

llvm::Value* AirBuilder::calculate_lod(const AirTexture& t, const AirSample& s, bool clamped) {
    llvm::SmallVector<llvm::Value*, 6> ops{s.texture, s.sampler};
    if (t.depth)
        ops.push_back(b_.getInt32(1));
    ops.append({s.coord, b_.getInt32(0)});
    return call(std::string(clamped ? "calculate_clamped_lod_" : "calculate_unclamped_lod_") + t.class_name(),
                b_.getFloatTy(), ops, Effect::sample);
}

void AirBuilder::add_position(const AirTexture& t, const AirTexel& at,
                              llvm::SmallVectorImpl<llvm::Value*>& operands) {
    if (t.depth)
        operands.push_back(b_.getInt32(1));
    operands.push_back(at.position);
    if (at.layer)
        operands.push_back(at.layer);
}

llvm::Value* AirBuilder::read(const AirTexture& t, const AirTexel& at) {
    llvm::SmallVector<llvm::Value*, 8> ops{at.texture};
    add_position(t, at, ops);
    if (t.multisampled)
        ops.push_back(at.sample);
    else if (t.dim != ImageDim::buffer)
        ops.push_back(at.lod ? at.lod : b_.getInt32(0));
    ops.push_back(b_.getInt32(static_cast<unsigned>(t.access)));
    llvm::Type* value = t.depth ? b_.getFloatTy() : element(t);
    return b_.CreateExtractValue(call("read_" + t.class_name() + (t.depth ? ".f32" : texel_suffix(t)),
                                      texel_result(value), ops, Effect::read),
                                 0);
}

void AirBuilder::write(const AirTexture& t, const AirTexel& at, llvm::Value* value) {
    llvm::SmallVector<llvm::Value*, 8> ops{at.texture};
    add_position(t, at, ops);
    ops.push_back(value);
    if (t.dim != ImageDim::buffer)
        ops.push_back(b_.getInt32(0));
    ops.push_back(b_.getInt32(static_cast<unsigned>(t.access)));
    call("write_" + t.class_name() + texel_suffix(t), b_.getVoidTy(), ops, Effect::write);
}

llvm::Value* AirBuilder::texture_atomic(const AirTexture& t, const AirTexel& at, llvm::StringRef op,
                                        llvm::Value* value) {
    llvm::SmallVector<llvm::Value*, 8> ops{at.texture};
    add_position(t, at, ops);
    ops.append({value, b_.getInt32(kOrderRelaxed), b_.getInt32(static_cast<unsigned>(t.access))});
    const std::string verb = op == "exchange" ? "atomic_exchange" : "atomic_fetch_" + op.str();
    return call(verb + "_explicit_" + t.class_name() + (t.numeric == Numeric::sint ? ".s.v4i32" : ".u.v4i32"),
                llvm::FixedVectorType::get(b_.getInt32Ty(), 4), ops, Effect::write);
}

llvm::Value* AirBuilder::texture_cas(const AirTexture& t, const AirTexel& at, llvm::Value* comparand,
                                     llvm::Value* desired, llvm::Value* scratch) {
    b_.CreateStore(comparand, scratch);
    llvm::SmallVector<llvm::Value*, 10> ops{at.texture};
    add_position(t, at, ops);
    ops.append({scratch, desired, b_.getInt32(kOrderRelaxed), b_.getInt32(kOrderRelaxed),
                b_.getInt32(static_cast<unsigned>(t.access))});
    call("atomic_compare_exchange_weak_explicit_" + t.class_name() + ".u.v4i32", b_.getInt1Ty(), ops,
         Effect::write);
    return b_.CreateLoad(comparand->getType(), scratch);
}

llvm::Value* AirBuilder::texture_query(const AirTexture& t, llvm::Value* texture, llvm::StringRef what,
                                       llvm::Value* lod) {
    llvm::SmallVector<llvm::Value*, 2> ops{texture};
    const bool sized = what == "width" || what == "height" || what == "depth";
    if (sized && !t.multisampled && t.dim != ImageDim::buffer)
        ops.push_back(lod ? lod : b_.getInt32(0));
    return call("get_" + what + "_" + t.class_name(), b_.getInt32Ty(), ops, Effect::read);
}

// ---- memory atomics
// ------------------------------------------------------------------------------------------------

llvm::Value* AirBuilder::atomic(llvm::StringRef op, bool is_signed, llvm::Value* pointer,
                                llvm::Value* value) {
    llvm::Type* type = value->getType();
    const std::string sign = type->isFloatTy() ? "" : is_signed ? ".s" : ".u";
    return call("atomic." + space_of(pointer) + "." + op.str() + sign + "." + air_type_suffix(type), type,
                {pointer, value, b_.getInt32(kOrderRelaxed), b_.getInt32(scope_of(pointer)), b_.getTrue()},
                Effect::side);
}

llvm::Value* AirBuilder::atomic_exchange(llvm::Value* pointer, llvm::Value* value) {
    return call("atomic." + space_of(pointer) + ".xchg." + air_type_suffix(value->getType()),
                value->getType(),
                {pointer, value, b_.getInt32(kOrderRelaxed), b_.getInt32(scope_of(pointer)), b_.getTrue()},
                Effect::side);
}

llvm::Value* AirBuilder::atomic_load(llvm::Value* pointer) {
    llvm::Type* type = pointer->getType()->getNonOpaquePointerElementType();
    return call("atomic." + space_of(pointer) + ".load." + air_type_suffix(type), type,
                {pointer, b_.getInt32(kOrderRelaxed), b_.getInt32(scope_of(pointer)), b_.getTrue()},
                Effect::side);
}

llvm::Value* AirBuilder::atomic_cas(llvm::Value* pointer, llvm::Value* comparand, llvm::Value* desired,
                                    llvm::Value* scratch) {
    b_.CreateStore(comparand, scratch);
    return call("atomic." + space_of(pointer) + ".cmpxchg.weak." + air_type_suffix(desired->getType()),
                desired->getType(),
                {pointer, scratch, desired, b_.getInt32(kOrderRelaxed), b_.getInt32(kOrderRelaxed),
                 b_.getInt32(scope_of(pointer)), b_.getTrue()},
                Effect::side);
}

// ---- synchronisation and lanes
// -------------------------------------------------------------------------------------

void AirBuilder::threadgroup_barrier(unsigned flags) {
    call("wg.barrier", b_.getVoidTy(), {b_.getInt32(flags), b_.getInt32(1)}, Effect::lanes);
}

void AirBuilder::simdgroup_barrier(unsigned flags) {
    call("simdgroup.barrier", b_.getVoidTy(), {b_.getInt32(flags), b_.getInt32(1)}, Effect::lanes);
}

void AirBuilder::discard() {
    call("discard_fragment", b_.getVoidTy(), {}, Effect::side);
}

llvm::Value* AirBuilder::ballot(llvm::Value* predicate) {
    return call("simd_ballot.i64", b_.getInt64Ty(), {predicate}, Effect::lanes);
}

llvm::Value* AirBuilder::shuffle(llvm::Value* value, llvm::Value* lane32) {
    return call("simd_shuffle.u.i32", b_.getInt32Ty(), {value, b_.CreateTrunc(lane32, b_.getInt16Ty())},
                Effect::lanes);
}

llvm::Value* AirBuilder::derivative(bool y, llvm::Value* value) {
    return call((y ? "dfdy." : "dfdx.") + air_type_suffix(value->getType()), value->getType(), {value},
                Effect::lanes);
}

llvm::Value* AirBuilder::is_helper() {
    return call("simd_is_helper_thread", b_.getInt1Ty(), {}, Effect::lanes);
}

llvm::Value* AirBuilder::interpolate(llvm::Value* interpolant, llvm::StringRef where, bool perspective) {
    return call(llvm::Twine("interpolate_") + where +
                    (perspective ? "_perspective.v4f32" : "_no_perspective.v4f32"),
                llvm::FixedVectorType::get(b_.getFloatTy(), 4), {interpolant}, Effect::read);
}

} // namespace dmsh
