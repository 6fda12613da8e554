// Surface (image) loads, stores and atomics.
#include "compiler/lift/maxwell/functions.h"
#include "compiler/lift/maxwell/values.h"

namespace dmsh::maxwell {
namespace {

struct Place {
    ImgDesc desc;
    Value *x, *y, *z, *layer;
    Value* handle;
};

// Out-of-range behaviour, F::surf_clamp: 0 IGN, 1 clamp to the edge (no suffix), 2 TRAP.
bool bounds_of(LiftContext& c, ImgDesc& desc) {
    switch (c.get(F::surf_clamp)) {
    case 0: desc.bounds = ImgDesc::ignore; return true;
    case 1: desc.bounds = ImgDesc::near; return true;
    case 2: desc.bounds = ImgDesc::trap; return true;
    }
    c.refuse();
    return false;
}

// Reads coordinates from Ra on (the layer comes last) and the handle. `texel_bytes`: raw .BA access counts x
// in bytes.
std::optional<Place> read_place(LiftContext& c, uint32_t texel_bytes) {
    enum Dim : uint64_t { d1 = 0, buffer = 1, array_1d = 2, d2 = 3, array_2d = 4, d3 = 5 };
    Place p;
    const uint64_t dim = c.get(F::surf_dim);
    unsigned components = 1;
    switch (dim) {
    case d1:
    case array_1d: p.desc.dim = ImageDim::d1; break;
    case buffer: p.desc.dim = ImageDim::buffer; break;
    case d2:
    case array_2d:
        components = 2;
        p.desc.dim = ImageDim::d2;
        break;
    case d3:
        components = 3;
        p.desc.dim = ImageDim::d3;
        break;
    default: c.refuse(); return std::nullopt;
    }
    p.desc.arrayed = dim == array_1d || dim == array_2d;
    if (!bounds_of(c, p.desc))
        return std::nullopt;
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
    // A uniform register, a register, or a word of a bank: the instruction's own on sm_86, else the one that the guest ABI names.
    if (c.has(F::tex_tid) || (c.has(F::tex_ur) && c.get(F::tex_handle))) {
        c.refuse("with this handle is not implemented");
        return std::nullopt;
    }
    if (c.has(F::tex_ur))
        p.handle = c.ureg(c.get(F::tex_ur));
    else if (c.has(F::tex_handle))
        p.handle = c.cbuf(c.has(F::tex_bank) ? c.get(F::tex_bank) : c.input.abi->handle_bank, c.get(F::tex_handle) * 4);
    else
        p.handle = c.reg(c.get(F::src_c));
    return p;
}

// The destination predicate tells something of the access that no source defines. Compilers name one and
// never read it: what it receives is an operation that dies unread and is refused otherwise.
void write_predicate(LiftContext& c) {
    if (c.has(F::dst_pred) && c.get(F::dst_pred) != isa::kPt)
        c.set_predicate(c.get(F::dst_pred), c.call(Intrinsic::img_status, {}));
}

// Texel of a raw access by F::surf_size, on sm_86 F::mem_size_st.
struct Raw {
    ImageAccess access;
    uint32_t bytes;
    unsigned words;
};
uint64_t size_code(LiftContext& c) {
    return c.get(c.has(F::surf_size) ? F::surf_size : F::mem_size_st);
}
std::optional<Raw> raw_size(LiftContext& c) {
    switch (size_code(c)) {
    case 0:
    case 1: return Raw{ImageAccess::raw8, 1, 1};
    case 2:
    case 3: return Raw{ImageAccess::raw16, 2, 1};
    case 4: return Raw{ImageAccess::raw32, 4, 1};
    case 5: return Raw{ImageAccess::raw64, 8, 2};
    case 6: return Raw{ImageAccess::raw128, 16, 4};
    }
    c.refuse();
    return std::nullopt;
}

// Operand type of an atomic: 0 unsigned, 1 signed words; the rest is refused (T-040).
uint64_t atomic_type(LiftContext& c) {
    return c.get(c.has(F::suatom86_type) ? F::suatom86_type : F::suatom_type);
}

void atomic(LiftContext& c, AtomicOp op, Value* value, Value* comparand, uint64_t dst) {
    // T-040: 32-bit integers, outside the image nothing happens and the result is 0; the rest is refused.
    enum Type : uint64_t { u32 = 0, s32 = 1 };
    const uint64_t type = atomic_type(c);
    constexpr uint64_t kRawAccess = 1;
    if (!(c.has(F::suatom_type) || c.has(F::suatom86_type)) || type > s32 || c.get(F::surf_raw) != kRawAccess) {
        c.refuse();
        return;
    }
    auto p = read_place(c, 4);
    if (!p)
        return;
    if (p->desc.bounds != ImgDesc::ignore) {
        c.refuse("with this bounds mode is not implemented");
        return;
    }
    p->desc.access = ImageAccess::raw32;
    write_predicate(c);
    c.set_reg(dst,
              c.call(Intrinsic::img_atomic, {p->handle, c.i32(p->desc.pack()), p->x, p->y, p->z, p->layer,
                                             c.i32(static_cast<uint32_t>(op)), value, comparand}));
}

} // namespace

void suld(LiftContext& c) {
    write_predicate(c);
    uint64_t dst = c.get(F::dst);
    const auto write = [&](Value* v) {
        c.set_reg(dst, v);
        if (dst != isa::kRz)
            ++dst;
    };
    if (!c.flag(F::surf_raw)) {
        auto p = read_place(c, 1);
        if (!p)
            return;
        Value* texel =
            c.call(Intrinsic::img_load, {p->handle, c.i32(p->desc.pack()), p->x, p->y, p->z, p->layer});
        for (unsigned k = 0; k < 4; ++k)
            if (c.get(F::surf_mask) >> k & 1)
                write(c.b.CreateExtractElement(texel, k));
        return;
    }
    const auto raw = raw_size(c);
    if (!raw || !aligned(c, dst, raw->words))
        return;
    auto p = read_place(c, raw->bytes);
    if (!p)
        return;
    p->desc.access = raw->access;
    Value* texel =
        c.call(Intrinsic::img_load, {p->handle, c.i32(p->desc.pack()), p->x, p->y, p->z, p->layer});
    if (raw->words == 1) {
        Value* word = c.b.CreateExtractElement(texel, uint64_t{0});
        if (raw->bytes < 4) { // odd sizes are the signed ones
            llvm::Type* narrow = c.b.getIntNTy(8 * raw->bytes);
            word = c.b.CreateTrunc(word, narrow);
            word = size_code(c) & 1 ? c.b.CreateSExt(word, c.b.getInt32Ty())
                                           : c.b.CreateZExt(word, c.b.getInt32Ty());
        }
        write(word);
        return;
    }
    for (unsigned k = 0; k < raw->words; ++k)
        write(c.b.CreateExtractElement(texel, k));
}

void sust(LiftContext& c) {
    uint64_t src = c.get(F::src_b);
    const auto read = [&] {
        Value* v = c.reg(src);
        if (src != isa::kRz)
            ++src;
        return v;
    };
    Value* texel = llvm::ConstantAggregateZero::get(llvm::FixedVectorType::get(c.b.getInt32Ty(), 4));
    std::optional<Place> p;
    if (!c.flag(F::surf_raw)) {
        p = read_place(c, 1);
        if (!p)
            return;
        p->desc.mask = static_cast<uint8_t>(c.get(F::surf_mask));
        for (unsigned k = 0; k < 4; ++k)
            if (p->desc.mask >> k & 1)
                texel = c.b.CreateInsertElement(texel, read(), k);
    } else {
        const auto raw = raw_size(c);
        if (!raw || !aligned(c, src, raw->words))
            return;
        p = read_place(c, raw->bytes);
        if (!p)
            return;
        p->desc.access = raw->access;
        for (unsigned k = 0; k < raw->words; ++k)
            texel = c.b.CreateInsertElement(texel, read(), k);
    }
    c.call(Intrinsic::img_store, {p->handle, c.i32(p->desc.pack()), p->x, p->y, p->z, p->layer, texel});
}

void suatom(LiftContext& c) {
    const uint64_t src = c.get(F::src_b), dst = c.get(F::dst);
    constexpr uint64_t kS32 = 1;
    if (c.has(F::cas)) {
        if (aligned(c, src, 2))
            atomic(c, AtomicOp::cas, c.reg(src == isa::kRz ? src : src + 1), c.reg(src), dst);
        return;
    }
    if (const auto op = atomic_op(c.get(F::atoms_op), atomic_type(c) == kS32))
        atomic(c, *op, c.reg(src), c.i32(0), dst);
    else
        c.refuse();
}

void sured(LiftContext& c) {
    constexpr uint64_t kS32 = 1;
    if (const auto op = atomic_op(c.get(F::red_op), atomic_type(c) == kS32))
        atomic(c, *op, c.reg(c.get(F::src_b)), c.i32(0), isa::kRz);
    else
        c.refuse();
}

} // namespace dmsh::maxwell
