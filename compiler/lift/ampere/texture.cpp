// Texture instructions. Operand order as on Maxwell: Ra: [array layer], coordinates; Rb: [handle of the .B
// forms], [level or bias], [offsets], [sample], [reference]; TXD: Ra: [handle], coordinates, [layer and
// offsets]; Rb: derivatives. The first two components of the mask go to Rd, Rd + 1, the others to the second
// destination.
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::ampere {

using isa::F;

namespace {

// A register list, read one after another. A list that starts at RZ is all zeros.
class Registers {
  public:
    Registers(LiftContext& c, F first) : c_(c), next_(c.get(first)) {}
    Value* next() {
        Value* v = c_.reg(next_);
        if (next_ != isa::kRz)
            ++next_;
        return v;
    }
    Value* next_float() { return c_.as_float(next()); }

  private:
    LiftContext& c_;
    uint64_t next_;
};

struct Coordinates {
    Value *x, *y, *z, *layer;
};

// F::tex_dim: bit 0 array, bits 1..2 dimension.
bool describe(LiftContext& c, TexDesc& desc, unsigned& components) {
    static constexpr ImageDim kDims[4] = {ImageDim::d1, ImageDim::d2, ImageDim::d3, ImageDim::cube};
    static constexpr unsigned kComponents[4] = {1, 2, 3, 3};
    const uint64_t dim = c.get(F::tex_dim);
    desc.arrayed = dim & 1;
    desc.dim = kDims[dim >> 1 & 3];
    components = kComponents[dim >> 1 & 3];
    if (!desc.arrayed || desc.dim != ImageDim::d3)
        return true;
    c.refuse(); // no API has arrays of 3D textures
    return false;
}

Coordinates coordinates(LiftContext& c, Registers& list, const TexDesc& desc, unsigned components,
                        bool integers) {
    Value* zero = integers ? static_cast<Value*>(c.i32(0)) : c.f32(0.0);
    Coordinates at{zero, zero, zero, c.i32(0)};
    if (desc.arrayed)
        at.layer = c.b.CreateAnd(list.next(), 0xffff);
    Value** parts[3] = {&at.x, &at.y, &at.z};
    for (unsigned k = 0; k < components; ++k)
        *parts[k] = integers ? list.next() : list.next_float();
    return at;
}

// Every form carries its handle (T-151..153): the next register of `list`, a uniform register, or a word of a
// constant bank. A handle split over two places is refused.
Value* handle_of(LiftContext& c, Registers& list) {
    if (c.has(F::tex_tid) || (c.has(F::tex_bank) && c.has(F::bindless)) ||
        (c.has(F::tex_ur) && c.get(F::tex_handle))) {
        c.refuse("with this handle is not implemented");
        return c.i32(0);
    }
    if (c.has(F::tex_ur))
        return c.ureg(c.get(F::tex_ur));
    if (c.has(F::bindless))
        return list.next();
    return c.cbuf(c.get(F::tex_bank), c.get(F::tex_handle) * 4);
}

bool no_residency(LiftContext& c) {
    if (!c.has(F::dst_pred) || c.get(F::dst_pred) == isa::kPt)
        return true;
    c.refuse("with a residency predicate is not implemented");
    return false;
}

// Writes the components of the mask; halves in pairs (T-109). Depth compares deliver one value, which the
// hardware repeats with 1 in the last component.
void write_texel(LiftContext& c, Value* texel, bool compare) {
    const uint64_t mask = c.get(F::tex_mask), f16 = c.get(F::tex_f16);
    if (f16 > 1)
        return c.refuse("with this half rounding is not implemented");
    llvm::SmallVector<Value*, 4> values;
    for (unsigned k = 0; k < 4; ++k) {
        if (!(mask >> k & 1))
            continue;
        if (compare)
            values.push_back(k == 3 ? c.f32(1.0) : c.b.CreateExtractElement(texel, uint64_t{0}));
        else
            values.push_back(c.b.CreateExtractElement(texel, k));
    }
    if (f16) {
        for (unsigned k = 0; k < values.size(); k += 2) {
            Value* word = c.i32(0);
            for (unsigned h = 0; h < 2 && k + h < values.size(); ++h) {
                Value* half = c.b.CreateFPTrunc(values[k + h], c.b.getHalfTy());
                Value* bits = c.b.CreateZExt(c.b.CreateBitCast(half, c.b.getInt16Ty()), c.b.getInt32Ty());
                word = c.b.CreateOr(word, c.b.CreateShl(bits, 16 * h));
            }
            c.set_reg(c.get(k == 0 ? F::dst : F::dst2), word);
        }
        return;
    }
    for (unsigned k = 0; k < values.size(); ++k) {
        const uint64_t base = c.get(k < 2 ? F::dst : F::dst2);
        c.set_reg(base == isa::kRz ? base : base + k % 2, values[k]);
    }
}

Value* word(LiftContext& c, const TexDesc& desc) {
    return c.i32(desc.pack());
}

} // namespace

void tex(LiftContext& c) {
    enum : uint64_t { kImplicit = 0, kZero = 1, kBias = 2, kLevel = 3 }; // F::tex86_lod
    TexDesc desc;
    unsigned components = 0;
    if (!describe(c, desc, components) || !no_residency(c))
        return;
    const uint64_t mode = c.get(F::tex86_lod);
    if (mode > kLevel)
        return c.refuse("with a level clamp is not implemented");
    desc.lod = mode == kZero    ? TexDesc::zero
               : mode == kBias  ? TexDesc::bias
               : mode == kLevel ? TexDesc::level
                                : TexDesc::implicit;
    desc.depth = c.flag(F::dc);
    desc.no_derivatives = c.flag(F::ndv);
    desc.offset = c.flag(F::aoffi) ? TexDesc::aoffi : TexDesc::no_offset;
    Registers first(c, F::src_a), second(c, F::src_b);
    const Coordinates at = coordinates(c, first, desc, components, false);
    Value* handle = handle_of(c, second);
    Value* lod = mode == kBias || mode == kLevel ? second.next_float() : c.f32(0.0);
    Value* offset = c.flag(F::aoffi) ? second.next() : c.i32(0);
    Value* ref = desc.depth ? second.next_float() : c.f32(0.0);
    write_texel(c,
                c.call(Intrinsic::tex_sample,
                       {handle, word(c, desc), at.x, at.y, at.z, at.layer, ref, lod, offset}),
                desc.depth);
}

void tld(LiftContext& c) {
    constexpr uint64_t kLevel = 3; // F::tld86_lod
    TexDesc desc;
    unsigned components = 0;
    if (!describe(c, desc, components) || !no_residency(c))
        return;
    if (desc.dim == ImageDim::cube || c.flag(F::tld_cl))
        return c.refuse("in this form is not implemented");
    desc.lod = c.get(F::tld86_lod) == kLevel ? TexDesc::level : TexDesc::zero;
    desc.multisampled = c.flag(F::ms);
    desc.offset = c.flag(F::aoffi) ? TexDesc::aoffi : TexDesc::no_offset;
    Registers first(c, F::src_a), second(c, F::src_b);
    const Coordinates at = coordinates(c, first, desc, components, true);
    Value* handle = handle_of(c, second);
    Value* lod = desc.lod == TexDesc::level ? second.next() : c.i32(0);
    Value* offset = c.flag(F::aoffi) ? second.next() : c.i32(0);
    Value* index = desc.multisampled ? second.next() : c.i32(0);
    write_texel(c,
                c.call(Intrinsic::tex_fetch,
                       {handle, word(c, desc), at.x, at.y, at.z, at.layer, lod, index, offset}),
                false);
}

void tld4(LiftContext& c) {
    enum : uint64_t { kNone = 0, kOne = 1, kFour = 2 }; // F::tld4_offset
    TexDesc desc;
    unsigned components = 0;
    if (!describe(c, desc, components) || !no_residency(c))
        return;
    const uint64_t mode = c.get(F::tld4_offset);
    if ((desc.dim != ImageDim::d2 && desc.dim != ImageDim::cube) || mode > kFour)
        return c.refuse();
    desc.depth = c.flag(F::dc);
    desc.component = static_cast<uint8_t>(c.get(F::tld4_comp));
    desc.offset = static_cast<TexDesc::Offset>(mode);
    Registers first(c, F::src_a), second(c, F::src_b);
    const Coordinates at = coordinates(c, first, desc, components, false);
    Value* handle = handle_of(c, second);
    Value* offset0 = mode != kNone ? second.next() : c.i32(0);
    Value* offset1 = mode == kFour ? second.next() : c.i32(0);
    Value* ref = desc.depth ? second.next_float() : c.f32(0.0);
    write_texel(c,
                c.call(Intrinsic::tex_gather,
                       {handle, word(c, desc), at.x, at.y, at.z, at.layer, ref, offset0, offset1}),
                false);
}

void txd(LiftContext& c) {
    TexDesc desc;
    unsigned components = 0;
    if (!describe(c, desc, components) || !no_residency(c))
        return;
    if (components > 2 || c.flag(F::tex_lc))
        return c.refuse("in this form is not implemented");
    const bool aoffi = c.flag(F::aoffi);
    desc.offset = aoffi ? TexDesc::aoffi : TexDesc::no_offset;
    Registers first(c, F::src_a), second(c, F::src_b);
    Value* handle = handle_of(c, first);
    Value *zero = c.f32(0.0), *at[3] = {zero, zero, zero}, *dx[3] = {zero, zero, zero},
          *dy[3] = {zero, zero, zero};
    for (unsigned k = 0; k < components; ++k)
        at[k] = first.next_float();
    Value* last = desc.arrayed || aoffi ? first.next() : c.i32(0);
    Value* layer = desc.arrayed ? c.b.CreateAnd(last, 0xffff) : c.i32(0);
    Value* offset = aoffi ? c.b.CreateLShr(last, 16) : c.i32(0);
    for (unsigned k = 0; k < components; ++k) {
        dx[k] = second.next_float();
        dy[k] = second.next_float();
    }
    write_texel(c,
                c.call(Intrinsic::tex_grad, {handle, word(c, desc), at[0], at[1], at[2], layer, dx[0], dx[1],
                                             dx[2], dy[0], dy[1], dy[2], offset}),
                false);
}

void txq(LiftContext& c) {
    enum : uint64_t { kDimension = 0, kTextureType = 1 }; // F::txq86_query; the dictionary counts as sm_53
    const uint64_t query = c.get(F::txq86_query);
    if (query > kTextureType)
        return c.refuse("of this query is not implemented");
    Registers first(c, F::src_a);
    Value* handle = handle_of(c, first);
    const TexDesc desc; // the handle pass finds the type (B-027)
    Value* result =
        query == kDimension
            ? c.call(Intrinsic::tex_size, {handle, word(c, desc), first.next()})
            : c.call(Intrinsic::tex_info, {handle, word(c, desc), c.i32(static_cast<uint32_t>(query + 1))});
    write_texel(c, result, false);
}

// The results count 1/256 of a level: first the computed level, signed, then the level that is read, unsigned;
// 16 bits each.
void tmml(LiftContext& c) {
    TexDesc desc;
    unsigned components = 0;
    if (!describe(c, desc, components))
        return;
    const uint64_t mask = c.get(F::tex_mask);
    if (mask & ~uint64_t{3})
        return c.refuse("in this form is not implemented");
    Registers first(c, F::src_a), second(c, F::src_b);
    const Coordinates at = coordinates(c, first, desc, components, false);
    Value* handle = handle_of(c, second);
    Value* lods = c.call(Intrinsic::tex_lod, {handle, word(c, desc), at.x, at.y, at.z, at.layer});
    uint64_t dst = c.get(F::dst);
    for (const unsigned k : {0u, 1u}) {
        if (!(mask >> k & 1))
            continue;
        Value* level = c.b.CreateFMul(c.b.CreateExtractElement(lods, uint64_t{1 - k}), c.f32(256.0));
        level = c.math(llvm::Intrinsic::rint, {level});
        level = c.math(llvm::Intrinsic::maxnum, {level, c.f32(k == 0 ? -32768.0 : 0.0)});
        level = c.math(llvm::Intrinsic::minnum, {level, c.f32(k == 0 ? 32767.0 : 65535.0)});
        c.set_reg(dst, c.b.CreateAnd(c.b.CreateFPToSI(level, c.b.getInt32Ty()), 0xffff));
        if (dst != isa::kRz)
            ++dst;
    }
}

} // namespace dmsh::ampere
