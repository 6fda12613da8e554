// Surface (image) loads, stores and atomics, with the handle in a register, a constant bank or a uniform
// register.
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::ampere {

using isa::F;

namespace {

struct Place {
    ImgDesc desc;
    Value *handle, *x, *y, *z, *layer;
    llvm::SmallVector<Value*, 9> operands(LiftContext& c) const {
        return {handle, c.i32(desc.pack()), x, y, z, layer};
    }
};

// Coordinates from Ra on (the layer comes last). `texel_bytes`: raw .BA access counts x in bytes.
std::optional<Place> read_place(LiftContext& c, uint32_t texel_bytes) {
    enum Dim : uint64_t { d1 = 0, buffer = 1, array_1d = 2, d2 = 3, array_2d = 4, d3 = 5 };
    static constexpr ImgDesc::Bounds kBounds[3] = {ImgDesc::ignore, ImgDesc::near, ImgDesc::trap};
    const uint64_t dim = c.get(F::surf_dim), clamp = c.get(F::surf_clamp);
    if (dim > d3 || clamp > 2 || c.has(F::tex_tid) || (c.has(F::tex_ur) && c.get(F::tex_handle))) {
        c.refuse();
        return std::nullopt;
    }
    static constexpr ImageDim kDims[6] = {ImageDim::d1, ImageDim::buffer, ImageDim::d1,
                                          ImageDim::d2, ImageDim::d2,     ImageDim::d3};
    Place p{};
    p.desc.dim = kDims[dim];
    p.desc.bounds = kBounds[clamp];
    p.desc.arrayed = dim == array_1d || dim == array_2d;
    const unsigned components = dim == d3 ? 3 : dim == d2 || dim == array_2d ? 2 : 1;
    uint64_t r = c.get(F::src_a);
    const auto next = [&] {
        Value* v = c.reg(r);
        if (r != isa::kRz)
            ++r;
        return v;
    };
    p.x = next();
    p.y = components > 1 ? next() : c.i32(0);
    p.z = components > 2 ? next() : c.i32(0);
    p.layer = p.desc.arrayed ? c.b.CreateAnd(next(), 0xffff) : c.i32(0);
    if (c.flag(F::surf_ba) && texel_bytes > 1) // signed: negative addresses are out of bounds, not large
        p.x = c.b.CreateAShr(p.x, llvm::Log2_32(texel_bytes));
    p.handle = c.has(F::tex_ur)     ? c.ureg(c.get(F::tex_ur))
               : c.has(F::bindless) ? c.reg(c.get(F::src_c))
                                    : c.cbuf(c.get(F::tex_bank), c.get(F::tex_handle) * 4);
    return p;
}

bool no_predicate_result(LiftContext& c) {
    if (!c.has(F::dst_pred) || c.get(F::dst_pred) == isa::kPt)
        return true;
    c.refuse("with a predicate result is not implemented");
    return false;
}

struct Raw {
    ImageAccess access;
    uint32_t bytes;
    unsigned words;
};
// Texel of a raw access by F::mem_size_st.
std::optional<Raw> raw_size(LiftContext& c) {
    switch (c.get(F::mem_size_st)) {
    case 0:
    case 1: return Raw{ImageAccess::raw8, 1, 1};
    case 2:
    case 3: return Raw{ImageAccess::raw16, 2, 1};
    case 4: return Raw{ImageAccess::raw32, 4, 1};
    case 5: return Raw{ImageAccess::raw64, 8, 2};
    case 6: return Raw{ImageAccess::raw128, 16, 4};
    default: c.refuse(); return std::nullopt;
    }
}

std::optional<AtomicOp> operation(uint64_t op, bool is_signed) {
    static constexpr AtomicOp kOps[9] = {AtomicOp::add, AtomicOp::umin, AtomicOp::umax,
                                         AtomicOp::inc, AtomicOp::dec,  AtomicOp::and_,
                                         AtomicOp::or_, AtomicOp::xor_, AtomicOp::exch};
    if (op > 8)
        return std::nullopt;
    if (is_signed && op == 1)
        return AtomicOp::smin;
    if (is_signed && op == 2)
        return AtomicOp::smax;
    return kOps[op];
}

} // namespace

void suld(LiftContext& c) {
    if (!no_predicate_result(c))
        return;
    uint64_t dst = c.get(F::dst);
    const auto write = [&](Value* v) {
        c.set_reg(dst, v);
        if (dst != isa::kRz)
            ++dst;
    };
    if (!c.flag(F::surf_raw)) {
        const auto p = read_place(c, 1);
        if (!p)
            return;
        Value* texel = c.call(Intrinsic::img_load, p->operands(c));
        for (unsigned k = 0; k < 4; ++k)
            if (c.get(F::surf_mask) >> k & 1)
                write(c.b.CreateExtractElement(texel, k));
        return;
    }
    const auto raw = raw_size(c);
    auto p = raw ? read_place(c, raw->bytes) : std::nullopt;
    if (!p)
        return;
    p->desc.access = raw->access;
    Value* texel = c.call(Intrinsic::img_load, p->operands(c));
    for (unsigned k = 0; k < raw->words; ++k) {
        Value* v = c.b.CreateExtractElement(texel, k);
        if (raw->bytes < 4) { // odd sizes are the signed ones
            v = c.b.CreateTrunc(v, c.b.getIntNTy(8 * raw->bytes));
            v = c.get(F::mem_size_st) & 1 ? c.b.CreateSExt(v, c.b.getInt32Ty())
                                          : c.b.CreateZExt(v, c.b.getInt32Ty());
        }
        write(v);
    }
}

void sust(LiftContext& c) {
    uint64_t src = c.get(F::src_b);
    Value* texel = llvm::ConstantAggregateZero::get(llvm::FixedVectorType::get(c.b.getInt32Ty(), 4));
    const auto put = [&](unsigned k) {
        texel = c.b.CreateInsertElement(texel, c.reg(src), k);
        if (src != isa::kRz)
            ++src;
    };
    std::optional<Place> p;
    if (!c.flag(F::surf_raw)) {
        p = read_place(c, 1);
        if (!p)
            return;
        p->desc.mask = static_cast<uint8_t>(c.get(F::surf_mask));
        for (unsigned k = 0; k < 4; ++k)
            if (p->desc.mask >> k & 1)
                put(k);
    } else {
        const auto raw = raw_size(c);
        p = raw ? read_place(c, raw->bytes) : std::nullopt;
        if (!p)
            return;
        p->desc.access = raw->access;
        for (unsigned k = 0; k < raw->words; ++k)
            put(k);
    }
    auto operands = p->operands(c);
    operands.push_back(texel);
    c.call(Intrinsic::img_store, operands);
}

// 32-bit integers; outside the image nothing happens and the result is 0 (T-040, T-115). SURED has no result.
void suatom(LiftContext& c) {
    enum : uint64_t { kU32 = 0, kS32 = 1 };
    const uint64_t type = c.get(F::suatom86_type);
    if (!no_predicate_result(c))
        return;
    if (type > kS32)
        return c.refuse("of this type is not implemented");
    const uint64_t code = c.has(F::red_op) ? c.get(F::red_op) : c.get(F::atoms_op);
    const auto op = c.has(F::cas) ? std::optional(AtomicOp::cas) : operation(code, type == kS32);
    auto p = op ? read_place(c, 4) : std::nullopt;
    if (!p)
        return c.refuse();
    if (p->desc.bounds != ImgDesc::ignore)
        return c.refuse("with this bounds mode is not implemented");
    p->desc.access = ImageAccess::raw32;
    const uint64_t b = c.get(F::src_b);
    // Compare and swap: the compared word first, the stored one behind it.
    Value* value = c.reg(*op == AtomicOp::cas && b != isa::kRz ? b + 1 : b);
    Value* comparand = *op == AtomicOp::cas ? c.reg(b) : static_cast<Value*>(c.i32(0));
    auto operands = p->operands(c);
    operands.append({c.i32(static_cast<uint32_t>(*op)), value, comparand});
    Value* old = c.call(Intrinsic::img_atomic, operands);
    if (c.has(F::dst))
        c.set_reg(c.get(F::dst), old);
}

} // namespace dmsh::ampere
