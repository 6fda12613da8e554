// Surfaces: formatted (.P) and raw (.D) loads, stores and atomics. a holds the coordinates, then the layer.
#include "compiler/sim/operands.h"
#include "compiler/sim/texture/texture_set.h"
#include <algorithm>
#include <cstring>

namespace dmsh::sim {
namespace {

struct Place {
    Texture* image = nullptr;
    uint8_t* texel = nullptr; // null outside
};

// The place of an access to texels of `bytes` bytes; .BA addresses count bytes along x.
Answer find(Lane& l, const Instruction& i, Group& g, uint32_t bytes, Place& p) {
    enum : uint64_t { d1 = 0, buffer = 1, array_1d = 2, d2 = 3, array_2d = 4, d3 = 5 };
    const uint64_t dim = i.get(F::surf_dim), clamp = i.get(F::surf_clamp);
    if (dim > d3 || clamp > 2)
        return "has an unknown shape or bounds mode";
    const ImageDim shape = dim == d3 ? ImageDim::d3 : dim == d2 || dim == array_2d ? ImageDim::d2 : dim == buffer ? ImageDim::buffer : ImageDim::d1;
    const bool arrayed = dim == array_1d || dim == array_2d;
    const unsigned axes = shape == ImageDim::d3 ? 3 : shape == ImageDim::d2 ? 2 : 1;
    uint32_t r = static_cast<uint32_t>(i.get(F::src_a));
    const auto next = [&] {
        const uint32_t v = l.r[r];
        if (r != isa::kRz)
            ++r;
        return v;
    };
    std::array<int64_t, 3> at{};
    for (unsigned k = 0; k < axes; ++k)
        at[k] = static_cast<int32_t>(next());
    int64_t layer = arrayed ? next() & 0xffff : 0;
    if (i.flag(F::surf_ba))
        at[0] >>= std::countr_zero(bytes);
    const uint32_t handle = i.has(F::tex_handle) ? g.constant(g.launch->handle_bank, static_cast<uint32_t>(i.get(F::tex_handle)) * 4) : reg(l, i, F::src_c);
    p.image = &g.launch->textures->image(handle, shape, arrayed, bytes);
    if (clamp == 1) { // to the edge
        at[0] = std::clamp<int64_t>(at[0], 0, p.image->width - 1);
        at[1] = std::clamp<int64_t>(at[1], 0, p.image->height - 1);
        at[2] = std::clamp<int64_t>(at[2], 0, p.image->depth - 1);
        layer = std::clamp<int64_t>(layer, 0, p.image->layers - 1);
    }
    p.texel = p.image->at(0, at[0], at[1], shape == ImageDim::d3 ? at[2] : layer);
    return kOk;
}

constexpr uint32_t kBytes[8] = {1, 1, 2, 2, 4, 8, 16, 16}; // of F::surf_size
constexpr uint32_t kFormattedBytes = 16;                   // four words

Answer load(Lane& l, const Instruction& i, Group& g) {
    const bool raw = i.flag(F::surf_raw);
    const uint32_t bytes = raw ? kBytes[i.get(F::surf_size)] : kFormattedBytes;
    uint32_t dst = static_cast<uint32_t>(i.get(F::dst));
    if (raw && bytes > 4 && dst != isa::kRz && dst % (bytes / 4))
        return "has a destination that is not aligned to its size";
    if (i.has(F::dst_pred)) // what it tells is not known; compilers name it and never read it
        l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), false);
    Place p;
    if (const Answer a = find(l, i, g, bytes, p); a != kOk)
        return a;
    std::array<uint32_t, 4> words{};
    if (p.texel)
        std::memcpy(words.data(), p.texel, bytes);
    if (raw && bytes < 4 && i.get(F::surf_size) & 1) // signed
        words[0] = static_cast<uint32_t>(static_cast<int32_t>(words[0] << (32 - 8 * bytes)) >> (32 - 8 * bytes));
    const uint64_t mask = raw ? (1u << std::max(bytes / 4, 1u)) - 1 : i.get(F::surf_mask);
    for (unsigned k = 0; k < 4; ++k)
        if (mask >> k & 1) {
            l.set(dst, words[k]);
            if (dst != isa::kRz)
                ++dst;
        }
    return kOk;
}

Answer store(Lane& l, const Instruction& i, Group& g) {
    const bool raw = i.flag(F::surf_raw);
    const uint32_t bytes = raw ? kBytes[i.get(F::surf_size)] : kFormattedBytes;
    uint32_t src = static_cast<uint32_t>(i.get(F::src_b));
    if (raw && bytes > 4 && src != isa::kRz && src % (bytes / 4))
        return "has a source that is not aligned to its size";
    Place p;
    if (const Answer a = find(l, i, g, bytes, p); a != kOk)
        return a;
    if (!p.texel || l.dead())
        return kOk;
    const uint64_t mask = raw ? (1u << std::max(bytes / 4, 1u)) - 1 : i.get(F::surf_mask);
    for (unsigned k = 0; k < 4; ++k) {
        if (!(mask >> k & 1))
            continue;
        std::memcpy(p.texel + 4 * k, &l.r[src], std::min(bytes, 4u));
        if (src != isa::kRz)
            ++src;
    }
    return kOk;
}

uint32_t combined(uint64_t op, bool is_signed, uint32_t old, uint32_t v) {
    switch (op) {
    case 0: return old + v;
    case 1: return is_signed ? static_cast<uint32_t>(std::min(static_cast<int32_t>(old), static_cast<int32_t>(v))) : std::min(old, v);
    case 2: return is_signed ? static_cast<uint32_t>(std::max(static_cast<int32_t>(old), static_cast<int32_t>(v))) : std::max(old, v);
    case 3: return old >= v ? 0 : old + 1;
    case 4: return old == 0 || old > v ? v : old - 1;
    case 5: return old & v;
    case 6: return old | v;
    case 7: return old ^ v;
    default: return v;
    }
}

// SUATOM and SURED on 32-bit integers: outside the image nothing happens and the result is 0 (T-040).
Answer atomic(Lane& l, const Instruction& i, Group& g, uint64_t op, bool result) {
    if (!i.flag(F::surf_raw) || !i.has(F::suatom_type) || i.get(F::suatom_type) > 1)
        return "is not on 32-bit integers";
    if (i.get(F::surf_clamp) != 0)
        return "has a bounds mode that is not modelled";
    if (i.has(F::dst_pred)) // what it tells is not known; compilers name it and never read it
        l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), false);
    const uint32_t b = static_cast<uint32_t>(i.get(F::src_b));
    if (i.has(F::cas) && b != isa::kRz && b % 2)
        return "has a source that is not aligned to its size";
    Place p;
    if (const Answer a = find(l, i, g, 4, p); a != kOk)
        return a;
    uint32_t old = 0;
    if (p.texel) {
        std::memcpy(&old, p.texel, 4);
        const uint32_t v = i.has(F::cas) ? (old == l.r[b] ? l.r[b == isa::kRz ? b : b + 1] : old) : combined(op, i.get(F::suatom_type) == 1, old, l.r[b]);
        if (!l.dead())
            std::memcpy(p.texel, &v, 4);
    }
    if (result)
        set_dst(l, i, old);
    return kOk;
}

} // namespace

Answer surface_op(Lane& l, const Instruction& i, Group& g) {
    switch (i.op()) {
    case Op::SULD:
    case Op::SUST:
    case Op::SUATOM:
    case Op::SURED: break;
    default: return kNotMine;
    }
    if (!g.launch->textures)
        return "needs images";
    switch (i.op()) {
    case Op::SULD: return load(l, i, g);
    case Op::SUST: return store(l, i, g);
    case Op::SUATOM: return atomic(l, i, g, i.get(F::atoms_op), true);
    default: return atomic(l, i, g, i.get(F::red_op), false);
    }
}

} // namespace dmsh::sim
