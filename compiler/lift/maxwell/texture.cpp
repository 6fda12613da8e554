// Texture instructions: operand registers by form and dimension, result registers by mask.
//
// Operand order. Ra: [array layer], coordinates. Rb: [handle of the .B forms], [level or bias], [offsets],
// [sample], [reference]. TXD: Ra: [handle], coordinates, [layer in bits 0..15 with offsets in 16..]; Rb:
// derivatives, x before y per coordinate. TEXS, TLDS and TLD4S split one list over Ra and Rb as their mode
// says.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

// Coordinates of one access; what the dimension lacks stays zero.
struct Coordinates {
    Value* x = nullptr;
    Value* y = nullptr;
    Value* z = nullptr;
    Value* layer = nullptr;
};

// F::tex_dim: bit 0 array, bits 1..2 dimension.
bool describe(LiftContext& c, TexDesc& desc, unsigned& components) {
    const uint64_t dim = c.get(F::tex_dim);
    desc.arrayed = dim & 1;
    switch (dim >> 1) {
    case 0:
        desc.dim = ImageDim::d1;
        components = 1;
        return true;
    case 1:
        desc.dim = ImageDim::d2;
        components = 2;
        return true;
    case 2:
        if (desc.arrayed)
            break; // no API has arrays of 3D textures
        desc.dim = ImageDim::d3;
        components = 3;
        return true;
    case 3:
        desc.dim = ImageDim::cube;
        components = 3;
        return true;
    }
    c.refuse();
    return false;
}

Value* layer_of(LiftContext& c, Value* word) {
    return c.b.CreateAnd(word, 0xffff);
}

// The register list of an operand, read one after another. A list that starts at RZ is all zeros.
class Registers {
  public:
    Registers(LiftContext& c, uint64_t first) : c_(c), next_(first) {}
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

Value* zero_float(LiftContext& c) {
    return c.f32(0.0);
}

Coordinates read_coordinates(LiftContext& c, Registers& list, const TexDesc& desc, unsigned components,
                             bool integers) {
    Coordinates at;
    Value* zero = integers ? c.i32(0) : zero_float(c);
    at.x = at.y = at.z = zero;
    at.layer = c.i32(0);
    if (desc.arrayed)
        at.layer = layer_of(c, list.next());
    Value** parts[3] = {&at.x, &at.y, &at.z};
    for (unsigned k = 0; k < components; ++k)
        *parts[k] = integers ? list.next() : list.next_float();
    return at;
}

// The handle word of a bank, the instruction's own on sm_86, else the one that the guest ABI names; the field counts words.
Value* bound_handle(LiftContext& c) {
    return c.cbuf(c.has(F::tex_bank) ? c.get(F::tex_bank) : c.input.abi->handle_bank, c.get(F::tex_handle) * 4);
}

// Every form carries its handle (T-151..153): the next register of `list`, a uniform register, or a word of a bank. A handle split over
// two places is refused.
Value* handle_of(LiftContext& c, Registers& list) {
    if (c.has(F::tex_tid) || (c.has(F::tex_bank) && c.has(F::bindless)) || (c.has(F::tex_ur) && c.get(F::tex_handle))) {
        c.refuse("with this handle is not implemented");
        return c.i32(0);
    }
    if (c.has(F::tex_ur))
        return c.ureg(c.get(F::tex_ur));
    return c.has(F::bindless) ? list.next() : bound_handle(c);
}

bool no_residency(LiftContext& c) {
    if (!c.has(F::dst_pred) || c.get(F::dst_pred) == isa::kPt)
        return true;
    c.refuse("with a residency predicate is not implemented");
    return false;
}

// Component `k` of a result. Depth compares deliver one value: HW repeats it and puts 1 in the last
// component.
Value* component(LiftContext& c, Value* result, unsigned k, bool compare) {
    if (!compare)
        return c.b.CreateExtractElement(result, k);
    return k == 3 ? c.f32(1.0) : c.b.CreateExtractElement(result, uint64_t{0});
}

// The short forms: components in the order of the mask go to dst, dst + 1, dst2, dst2 + 1; halves are packed
// in pairs.
void write_short(LiftContext& c, Value* result, llvm::ArrayRef<unsigned> components, bool halves,
                 bool compare) {
    const auto reg = [&](unsigned k) {
        const uint64_t base = c.get(k < 2 ? F::dst : F::dst2);
        return base == isa::kRz ? base : base + k % 2;
    };
    llvm::SmallVector<Value*, 4> values;
    for (const unsigned k : components)
        values.push_back(component(c, result, k, compare));
    if (!halves) {
        for (unsigned k = 0; k < values.size(); ++k)
            c.set_reg(reg(k), values[k]);
        return;
    }
    for (unsigned k = 0; k < values.size(); k += 2) {
        Value* word = c.i32(0);
        for (unsigned h = 0; h < 2 && k + h < values.size(); ++h) {
            Value* half = c.b.CreateFPTrunc(values[k + h], c.b.getHalfTy());
            Value* bits = c.b.CreateZExt(c.b.CreateBitCast(half, c.b.getInt16Ty()), c.b.getInt32Ty());
            word = c.b.CreateOr(word, c.b.CreateShl(bits, 16 * h));
        }
        c.set_reg(c.get(k == 0 ? F::dst : F::dst2), word);
    }
}

// Writes the components of the mask: to registers from dst on, or on sm_86 to two pairs, as packed halves with .F16 (T-109).
void write_masked(LiftContext& c, Value* result, uint64_t mask, bool compare) {
    llvm::SmallVector<unsigned, 4> components;
    for (unsigned k = 0; k < 4; ++k)
        if (mask >> k & 1)
            components.push_back(k);
    if (c.has(F::dst2)) {
        if (c.get(F::tex_f16) > 1)
            return c.refuse("with this half rounding is not implemented");
        return write_short(c, result, components, c.flag(F::tex_f16), compare);
    }
    uint64_t dst = c.get(F::dst);
    for (const unsigned k : components) {
        c.set_reg(dst, component(c, result, k, compare));
        if (dst != isa::kRz)
            ++dst;
    }
}

// F::texs_mask: one or two components when there is no second destination, else three or four.
llvm::ArrayRef<unsigned> short_components(LiftContext& c) {
    static constexpr unsigned kSmall[8][2] = {{0}, {1}, {2}, {3}, {0, 1}, {0, 3}, {1, 3}, {2, 3}};
    static constexpr unsigned kLarge[5][4] = {{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}};
    const uint64_t mask = c.get(F::texs_mask);
    if (c.get(F::dst2) == isa::kRz)
        return llvm::makeArrayRef(kSmall[mask & 7]).take_front(mask < 4 ? 1 : 2);
    if (mask > 4) {
        c.refuse();
        return {};
    }
    return llvm::makeArrayRef(kLarge[mask]).take_front(mask < 4 ? 3 : 4);
}

// Registers of the short forms that hold two coordinates must be even.
bool even(LiftContext& c, F field) {
    const uint64_t r = c.get(field);
    if (r == isa::kRz || r % 2 == 0)
        return true;
    c.refuse("with a misaligned register is not implemented");
    return false;
}

Value* desc_word(LiftContext& c, const TexDesc& desc) {
    return c.i32(desc.pack());
}

Value* sample(LiftContext& c, Value* handle, const TexDesc& desc, const Coordinates& at, Value* ref,
              Value* lod, Value* offset) {
    return c.call(Intrinsic::tex_sample,
                  {handle, desc_word(c, desc), at.x, at.y, at.z, at.layer, ref, lod, offset});
}

Value* fetch(LiftContext& c, Value* handle, const TexDesc& desc, const Coordinates& at, Value* lod,
             Value* index, Value* offset) {
    return c.call(Intrinsic::tex_fetch,
                  {handle, desc_word(c, desc), at.x, at.y, at.z, at.layer, lod, index, offset});
}

} // namespace

void tex(LiftContext& c) {
    TexDesc desc;
    unsigned components = 0;
    if (!describe(c, desc, components) || !no_residency(c))
        return;
    enum Lod : uint64_t { implicit = 0, lz = 1, lb = 2, ll = 3 };
    const uint64_t mode = c.get(c.has(F::tex86_lod) ? F::tex86_lod : F::tex_lod);
    if (mode > ll || c.flag(F::tex_lc)) {
        c.refuse();
        return;
    }
    desc.lod = mode == lz   ? TexDesc::zero
               : mode == lb ? TexDesc::bias
               : mode == ll ? TexDesc::level
                            : TexDesc::implicit;
    desc.depth = c.flag(F::dc);
    desc.no_derivatives = c.flag(F::ndv);
    desc.offset = c.flag(F::aoffi) ? TexDesc::aoffi : TexDesc::no_offset;
    Registers first(c, c.get(F::src_a)), second(c, c.get(F::src_b));
    const Coordinates at = read_coordinates(c, first, desc, components, false);
    Value* handle = handle_of(c, second);
    Value* lod = mode == lb || mode == ll ? second.next_float() : zero_float(c);
    Value* offset = c.flag(F::aoffi) ? second.next() : c.i32(0);
    Value* ref = desc.depth ? second.next_float() : zero_float(c);
    write_masked(c, sample(c, handle, desc, at, ref, lod, offset), c.get(F::tex_mask), desc.depth);
}

void texs(LiftContext& c) {
    TexDesc desc;
    Coordinates at;
    at.x = at.y = at.z = zero_float(c);
    at.layer = c.i32(0);
    Value *ref = zero_float(c), *lod = zero_float(c);
    const uint64_t a = c.get(F::src_a), b = c.get(F::src_b);
    const auto next = [](uint64_t r) { return r == isa::kRz ? r : r + 1; };
    const auto pair_a = [&] {
        at.x = c.reg_float(a);
        at.y = c.reg_float(next(a));
        return even(c, F::src_a);
    };
    const auto split = [&] {
        at.x = c.reg_float(a);
        at.y = c.reg_float(b);
    };
    const auto layered = [&] {
        desc.arrayed = true;
        at.layer = layer_of(c, c.reg(a));
        at.x = c.reg_float(next(a));
        at.y = c.reg_float(b);
        return even(c, F::src_a);
    };
    const auto triple = [&](ImageDim dim) {
        desc.dim = dim;
        at.x = c.reg_float(a);
        at.y = c.reg_float(next(a));
        at.z = c.reg_float(b);
        return even(c, F::src_a);
    };
    bool ok = true;
    // The values of F::texs_mode, in order.
    switch (c.get(F::texs_mode)) {
    case 0:
        desc.dim = ImageDim::d1;
        desc.lod = TexDesc::zero;
        at.x = c.reg_float(a);
        break;
    case 1: split(); break;
    case 2:
        desc.lod = TexDesc::zero;
        split();
        break;
    case 3:
        desc.lod = TexDesc::level;
        ok = pair_a();
        lod = c.reg_float(b);
        break;
    case 4:
        desc.depth = true;
        ok = pair_a();
        ref = c.reg_float(b);
        break;
    case 5:
        desc.depth = true;
        desc.lod = TexDesc::level;
        ok = pair_a() && even(c, F::src_b);
        lod = c.reg_float(b);
        ref = c.reg_float(next(b));
        break;
    case 6:
        desc.depth = true;
        desc.lod = TexDesc::zero;
        ok = pair_a();
        ref = c.reg_float(b);
        break;
    case 7: ok = layered(); break;
    case 8:
        desc.lod = TexDesc::zero;
        ok = layered();
        break;
    case 9:
        desc.depth = true;
        desc.lod = TexDesc::zero;
        ok = layered() && even(c, F::src_b);
        ref = c.reg_float(next(b));
        break;
    case 10: ok = triple(ImageDim::d3); break;
    case 11:
        desc.lod = TexDesc::zero;
        ok = triple(ImageDim::d3);
        break;
    case 12: ok = triple(ImageDim::cube); break;
    case 13:
        desc.lod = TexDesc::level;
        ok = triple(ImageDim::cube) && even(c, F::src_b);
        lod = c.reg_float(next(b));
        break;
    default: c.refuse(); return;
    }
    const auto components = short_components(c);
    if (!ok || components.empty())
        return;
    constexpr uint64_t kF16 = 0;
    Value* result = sample(c, bound_handle(c), desc, at, ref, lod, c.i32(0));
    write_short(c, result, components, c.get(F::texs_f16) == kF16, desc.depth);
}

void tld(LiftContext& c) {
    TexDesc desc;
    unsigned components = 0;
    if (!describe(c, desc, components) || !no_residency(c))
        return;
    if (desc.dim == ImageDim::cube) {
        c.refuse();
        return;
    }
    constexpr uint64_t kLl = 1, kLl86 = 3;
    const bool level = c.has(F::tld86_lod) ? c.get(F::tld86_lod) == kLl86 : c.get(F::tld_lod) == kLl;
    desc.lod = level ? TexDesc::level : TexDesc::zero;
    desc.multisampled = c.flag(F::ms);
    desc.offset = c.flag(F::aoffi) ? TexDesc::aoffi : TexDesc::no_offset;
    Registers first(c, c.get(F::src_a)), second(c, c.get(F::src_b));
    const Coordinates at = read_coordinates(c, first, desc, components, true);
    Value* handle = handle_of(c, second);
    Value* lod = desc.lod == TexDesc::level ? second.next() : c.i32(0);
    if (c.flag(F::tld_cl) && desc.lod == TexDesc::level) {
        // .CL: the level is clamped to those that the texture has (PTX tex.level of integer coordinates).
        Value* size = c.call(Intrinsic::tex_size, {handle, desc_word(c, TexDesc{}), c.i32(0)});
        Value* last = c.b.CreateSub(c.b.CreateExtractElement(size, uint64_t{3}), c.i32(1));
        lod = c.math(llvm::Intrinsic::smin, {c.math(llvm::Intrinsic::smax, {lod, c.i32(0)}), last});
    }
    Value* offset = c.flag(F::aoffi) ? second.next() : c.i32(0);
    Value* index = desc.multisampled ? second.next() : c.i32(0);
    write_masked(c, fetch(c, handle, desc, at, lod, index, offset), c.get(F::tex_mask), false);
}

void tlds(LiftContext& c) {
    TexDesc desc;
    desc.lod = TexDesc::zero;
    Coordinates at;
    at.x = at.y = at.z = at.layer = c.i32(0);
    Value *lod = c.i32(0), *index = c.i32(0), *offset = c.i32(0);
    const uint64_t a = c.get(F::src_a), b = c.get(F::src_b);
    const auto next = [](uint64_t r) { return r == isa::kRz ? r : r + 1; };
    bool ok = true;
    const auto pair_a = [&] {
        at.x = c.reg(a);
        at.y = c.reg(next(a));
        ok = even(c, F::src_a);
    };
    // The values of F::tlds_mode.
    switch (c.get(F::tlds_mode)) {
    case 0:
        desc.dim = ImageDim::d1;
        at.x = c.reg(a);
        break;
    case 1:
        desc.dim = ImageDim::d1;
        desc.lod = TexDesc::level;
        at.x = c.reg(a);
        lod = c.reg(b);
        break;
    case 2:
        at.x = c.reg(a);
        at.y = c.reg(b);
        break;
    case 4:
        desc.offset = TexDesc::aoffi;
        pair_a();
        offset = c.reg(b);
        break;
    case 5:
        desc.lod = TexDesc::level;
        pair_a();
        lod = c.reg(b);
        break;
    case 6:
        desc.multisampled = true;
        pair_a();
        index = c.reg(b);
        break;
    case 7:
        desc.dim = ImageDim::d3;
        pair_a();
        at.z = c.reg(b);
        break;
    case 8:
        desc.arrayed = true;
        at.layer = layer_of(c, c.reg(a)); // alone in Ra; x and y are a pair in Rb
        at.x = c.reg(b);
        at.y = c.reg(next(b));
        ok = even(c, F::src_b);
        break;
    case 12:
        desc.lod = TexDesc::level;
        desc.offset = TexDesc::aoffi;
        pair_a();
        lod = c.reg(b);
        offset = c.reg(next(b));
        ok = ok && even(c, F::src_b);
        break;
    default: c.refuse(); return;
    }
    const auto components = short_components(c);
    if (!ok || components.empty())
        return;
    constexpr uint64_t kF16 = 0;
    write_short(c, fetch(c, bound_handle(c), desc, at, lod, index, offset), components,
                c.get(F::texs_f16) == kF16, false);
}

void tld4(LiftContext& c) {
    TexDesc desc;
    unsigned components = 0;
    if (!describe(c, desc, components) || !no_residency(c))
        return;
    enum Offset : uint64_t { none = 0, aoffi = 1, ptp = 2 };
    const uint64_t mode = c.get(F::tld4_offset);
    if ((desc.dim != ImageDim::d2 && desc.dim != ImageDim::cube) || mode > ptp) {
        c.refuse();
        return;
    }
    desc.depth = c.flag(F::dc);
    desc.component = static_cast<uint8_t>(c.get(F::tld4_comp));
    desc.offset = static_cast<TexDesc::Offset>(mode);
    Registers first(c, c.get(F::src_a)), second(c, c.get(F::src_b));
    const Coordinates at = read_coordinates(c, first, desc, components, false);
    Value* handle = handle_of(c, second);
    Value* offset0 = mode != none ? second.next() : c.i32(0);
    Value* offset1 = mode == ptp ? second.next() : c.i32(0);
    Value* ref = desc.depth ? second.next_float() : zero_float(c);
    Value* result = c.call(Intrinsic::tex_gather,
                           {handle, desc_word(c, desc), at.x, at.y, at.z, at.layer, ref, offset0, offset1});
    write_masked(c, result, c.get(F::tex_mask), false);
}

void tld4s(LiftContext& c) {
    TexDesc desc;
    desc.depth = c.flag(F::dc);
    desc.component = static_cast<uint8_t>(c.get(F::tld4_comp));
    const bool aoffi = c.flag(F::aoffi);
    desc.offset = aoffi ? TexDesc::aoffi : TexDesc::no_offset;
    const uint64_t a = c.get(F::src_a), b = c.get(F::src_b);
    const auto next = [](uint64_t r) { return r == isa::kRz ? r : r + 1; };
    Value* x = c.reg_float(a);
    Value* y = aoffi || desc.depth ? c.reg_float(next(a)) : c.reg_float(b);
    Value* offset = aoffi ? c.reg(b) : c.i32(0);
    Value* ref = !desc.depth ? zero_float(c) : c.reg_float(aoffi ? next(b) : b);
    if (((aoffi || desc.depth) && !even(c, F::src_a)) || (aoffi && desc.depth && !even(c, F::src_b)))
        return;
    Value* result = c.call(Intrinsic::tex_gather, {bound_handle(c), desc_word(c, desc), x, y, zero_float(c),
                                                   c.i32(0), ref, offset, c.i32(0)});
    static constexpr unsigned kAll[4] = {0, 1, 2, 3};
    write_short(c, result, llvm::makeArrayRef(kAll).take_front(c.get(F::dst2) == isa::kRz ? 2 : 4),
                c.flag(F::tld4s_f16), false);
}

void txd(LiftContext& c) {
    TexDesc desc;
    unsigned components = 0;
    if (!describe(c, desc, components) || !no_residency(c))
        return;
    if (components > 2 || c.flag(F::tex_lc)) {
        c.refuse(); // three coordinates need more registers than the encoding has; the level clamp shares the
                    // layer's word
        return;
    }
    const bool aoffi = c.flag(F::aoffi);
    desc.offset = aoffi ? TexDesc::aoffi : TexDesc::no_offset;
    Registers first(c, c.get(F::src_a)), second(c, c.get(F::src_b));
    Value* handle = handle_of(c, first);
    Value* at[3] = {zero_float(c), zero_float(c), zero_float(c)};
    for (unsigned k = 0; k < components; ++k)
        at[k] = first.next_float();
    Value* word = desc.arrayed || aoffi ? first.next() : c.i32(0);
    Value* layer = desc.arrayed ? layer_of(c, word) : c.i32(0);
    Value* offset = aoffi ? c.b.CreateLShr(word, 16) : c.i32(0);
    Value *dx[3] = {zero_float(c), zero_float(c), zero_float(c)},
          *dy[3] = {zero_float(c), zero_float(c), zero_float(c)};
    for (unsigned k = 0; k < components; ++k) {
        dx[k] = second.next_float();
        dy[k] = second.next_float();
    }
    Value* result = c.call(Intrinsic::tex_grad, {handle, desc_word(c, desc), at[0], at[1], at[2], layer,
                                                 dx[0], dx[1], dx[2], dy[0], dy[1], dy[2], offset});
    write_masked(c, result, c.get(F::tex_mask), false);
}

void txq(LiftContext& c) {
    enum Query : uint64_t { dimension = 1, texture_type = 2 };
    // F::txq86_query counts the same queries from 0.
    const uint64_t query = c.has(F::txq86_query) ? c.get(F::txq86_query) + 1 : c.get(F::txq_query);
    if (query != dimension && query != texture_type) {
        c.refuse();
        return;
    }
    Registers first(c, c.get(F::src_a));
    Value* handle = handle_of(c, first);
    const TexDesc desc; // the handle pass finds the type (B-027)
    Value* result =
        query == dimension
            ? c.call(Intrinsic::tex_size, {handle, desc_word(c, desc), first.next()})
            : c.call(Intrinsic::tex_info, {handle, desc_word(c, desc), c.i32(static_cast<uint32_t>(query))});
    write_masked(c, result, c.get(F::tex_mask), false);
}

// The results count 1/256 of a level: first the computed level, signed, then the level that is read,
// unsigned; 16 bits each.
void tmml(LiftContext& c) {
    TexDesc desc;
    unsigned components = 0;
    if (!describe(c, desc, components))
        return;
    const uint64_t mask = c.get(F::tex_mask);
    if (mask & ~uint64_t{3}) {
        c.refuse();
        return;
    }
    Registers first(c, c.get(F::src_a)), second(c, c.get(F::src_b));
    const Coordinates at = read_coordinates(c, first, desc, components, false);
    Value* handle = handle_of(c, second);
    Value* lods = c.call(Intrinsic::tex_lod, {handle, desc_word(c, desc), at.x, at.y, at.z, at.layer});
    uint64_t dst = c.get(F::dst);
    for (const unsigned k : {0u, 1u}) {
        if (!(mask >> k & 1))
            continue;
        Value* level = c.b.CreateFMul(c.b.CreateExtractElement(lods, uint64_t{1 - k}), c.f32(256.0));
        level = c.math(llvm::Intrinsic::rint, {level});
        level = c.math(llvm::Intrinsic::minnum,
                       {c.math(llvm::Intrinsic::maxnum, {level, c.f32(k == 0 ? -32768.0 : 0.0)}),
                        c.f32(k == 0 ? 32767.0 : 65535.0)});
        Value* bits = c.b.CreateFPToSI(level, c.b.getInt32Ty());
        c.set_reg(dst, c.b.CreateAnd(bits, 0xffff));
        if (dst != isa::kRz)
            ++dst;
    }
}

} // namespace dmsh::maxwell
