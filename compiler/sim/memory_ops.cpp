// Loads, stores and atomics of constant, global, shared and local memory.
#include "compiler/sim/operands.h"
#include <algorithm>
#include <cstring>

namespace dmsh::sim {
namespace {

// Sizes as F::mem_size codes them: U8, S8, U16, S16, 32, 64, 128 bits.
constexpr uint32_t kBytes[8] = {1, 1, 2, 2, 4, 8, 16, 16};

Answer load(Lane& l, uint32_t dst, const uint8_t* from, uint64_t code) {
    uint32_t w = 0;
    switch (code) {
    case 0: w = *from; break;
    case 1: w = static_cast<uint32_t>(int32_t{static_cast<int8_t>(*from)}); break;
    case 2:
    case 3: {
        uint16_t h;
        std::memcpy(&h, from, 2);
        w = code == 3 ? static_cast<uint32_t>(int32_t{static_cast<int16_t>(h)}) : h;
        break;
    }
    default:
        if (dst != isa::kRz && dst % (kBytes[code] / 4) != 0)
            return "has a destination that is not aligned to its size";
        for (uint32_t k = 0; k < kBytes[code] / 4; ++k) {
            std::memcpy(&w, from + 4 * k, 4);
            if (dst != isa::kRz)
                l.set(dst + k, w);
        }
        return kOk;
    }
    l.set(dst, w);
    return kOk;
}

Answer store(const Lane& l, uint32_t src, uint8_t* to, uint64_t code) {
    const uint32_t bytes = kBytes[code];
    if (bytes < 4) {
        std::memcpy(to, &l.r[src], bytes);
        return kOk;
    }
    if (src != isa::kRz && src % (bytes / 4) != 0)
        return "has a source that is not aligned to its size";
    for (uint32_t k = 0; k < bytes / 4; ++k)
        std::memcpy(to + 4 * k, &l.r[src == isa::kRz ? src : src + k], 4);
    return kOk;
}

enum class Space { global, shared, local };

// Bytes at an address of a space; generic addresses (LD, ST, ATOM in windows) are told apart by their window.
uint8_t* resolve(Lane& l, Group& g, Space space, uint64_t address, uint32_t size) {
    const auto within = [&](std::vector<uint8_t>& v, uint64_t a) -> uint8_t* {
        return a <= v.size() && size <= v.size() - a ? v.data() + a : nullptr;
    };
    switch (space) {
    case Space::shared: return within(g.shared, address);
    case Space::local: return within(l.local, address);
    default: return g.at(address, size);
    }
}

uint8_t* resolve_generic(Lane& l, Group& g, uint64_t address, uint32_t size) {
    const uint64_t window = address >> 24;
    if (window == g.launch->shared_window)
        return resolve(l, g, Space::shared, address & 0xffffff, size);
    if (window == g.launch->local_window)
        return resolve(l, g, Space::local, address & 0xffffff, size);
    return g.at(address, size);
}

// 64-bit with .E, else the register alone.
uint64_t global_address(const Lane& l, const Instruction& i) {
    const uint32_t a = static_cast<uint32_t>(i.get(F::src_a));
    const uint64_t base = i.flag(F::e) ? l.pair(a) : l.r[a];
    return base + static_cast<uint64_t>(i.get_signed(F::offset));
}
uint32_t small_address(const Lane& l, const Instruction& i) {
    return reg(l, i, F::src_a) + static_cast<uint32_t>(i.get_signed(F::offset));
}

constexpr Answer kOutside = "accesses memory outside every buffer";

template <class T> T integer_atomic(uint64_t op, bool is_signed, T old, T v) {
    using S = std::make_signed_t<T>;
    switch (op) {
    case 0: return old + v;
    case 1: return is_signed ? static_cast<T>(std::min(static_cast<S>(old), static_cast<S>(v))) : std::min(old, v);
    case 2: return is_signed ? static_cast<T>(std::max(static_cast<S>(old), static_cast<S>(v))) : std::max(old, v);
    case 3: return old >= v ? 0 : old + 1;           // INC
    case 4: return old == 0 || old > v ? v : old - 1; // DEC
    case 5: return old & v;
    case 6: return old | v;
    case 7: return old ^ v;
    default: return v; // EXCH
    }
}

// Types of F::atom_type: U32, S32, U64, F32.FTZ.RN, F16x2, S64; shared atomics: U32, S32, U64, S64.
Answer atomic(Lane& l, const Instruction& i, uint8_t* at, uint64_t op, uint64_t type, bool wide, bool result) {
    const uint32_t b = static_cast<uint32_t>(i.has(F::src_b) ? i.get(F::src_b) : isa::kRz);
    const bool is_signed = type == 1 || type == 5;
    if (wide) {
        uint64_t old;
        std::memcpy(&old, at, 8);
        uint64_t v;
        if (i.flag(F::cas))
            v = old == l.pair(b) ? l.pair(b == isa::kRz ? b : b + 2) : old;
        else
            v = integer_atomic(op, is_signed, old, l.pair(b));
        std::memcpy(at, &v, 8);
        if (result)
            set_dst_pair(l, i, old);
        return kOk;
    }
    uint32_t old;
    std::memcpy(&old, at, 4);
    uint32_t v;
    if (i.flag(F::cas))
        v = old == l.r[b] ? l.r[b == isa::kRz ? b : b + 1] : old;
    else if (type == 3 && op == 0)
        v = flush(bits(as_float(flush(old)) + as_float(flush(l.r[b]))));
    else if (type == 3 || type == 4)
        return "is a float operation other than ADD.F32";
    else
        v = integer_atomic(op, is_signed, old, l.r[b]);
    std::memcpy(at, &v, 4);
    if (result)
        set_dst(l, i, old);
    return kOk;
}

} // namespace

Answer memory_op(Lane& l, const Instruction& i, Group& g) {
    const uint32_t dst = static_cast<uint32_t>(i.get(F::dst)), src = static_cast<uint32_t>(i.get(F::src_b));
    switch (i.op()) {
    case Op::LDC: {
        uint32_t bank = static_cast<uint32_t>(i.get(F::cbuf_bank));
        uint32_t address = reg(l, i, F::src_a) + static_cast<uint32_t>(i.get_signed(F::cbuf_offset));
        switch (i.get(F::ldc_mode)) {
        case 0: address &= 0xffff; break;
        case 2: // IS: address bits 16.. are added to the bank
            bank += address >> 16;
            address &= 0xffff;
            break;
        default: return "has an addressing mode that is not modelled";
        }
        uint8_t bytes[16] = {};
        const uint32_t first = address & ~3u;
        for (uint32_t k = 0; k < 3; ++k) {
            const uint32_t w = g.constant(bank, first + 4 * k);
            std::memcpy(bytes + 4 * k, &w, 4);
        }
        return load(l, dst, bytes + (address & 3), i.get(F::ldc_size));
    }
    case Op::LDG:
    case Op::LD: {
        const uint64_t code = i.get(F::mem_size), address = global_address(l, i);
        if (i.op() == Op::LDG && i.has(F::dst_pred) && i.get(F::dst_pred) != isa::kPt)
            return "writes a predicate";
        uint8_t* at = i.op() == Op::LD ? resolve_generic(l, g, address, kBytes[code]) : g.at(address, kBytes[code]);
        return at ? load(l, dst, at, code) : kOutside;
    }
    case Op::STG:
    case Op::ST: {
        const uint64_t code = i.get(F::mem_size_st), address = global_address(l, i);
        uint8_t* at = i.op() == Op::ST ? resolve_generic(l, g, address, kBytes[code]) : g.at(address, kBytes[code]);
        return at ? store(l, src, at, code) : kOutside;
    }
    case Op::LDS: {
        const uint64_t code = i.get(F::lds_size);
        uint8_t* at = resolve(l, g, Space::shared, small_address(l, i), kBytes[code]);
        return at ? load(l, dst, at, code) : kOutside;
    }
    case Op::STS: {
        const uint64_t code = i.get(F::mem_size_st);
        uint8_t* at = resolve(l, g, Space::shared, small_address(l, i), kBytes[code]);
        return at ? store(l, src, at, code) : kOutside;
    }
    case Op::LDL: {
        const uint64_t code = i.get(F::mem_size_st);
        uint8_t* at = resolve(l, g, Space::local, small_address(l, i), kBytes[code]);
        return at ? load(l, dst, at, code) : kOutside;
    }
    case Op::STL: {
        const uint64_t code = i.get(F::mem_size_st);
        uint8_t* at = resolve(l, g, Space::local, small_address(l, i), kBytes[code]);
        return at ? store(l, src, at, code) : kOutside;
    }
    case Op::ATOM: {
        const uint64_t type = i.get(F::atom_type);
        const bool wide = i.flag(F::cas) ? i.flag(F::cas_64) : type == 2 || type == 5;
        if (i.has(F::dst_pred) && i.get(F::dst_pred) != isa::kPt)
            return "writes a predicate";
        uint8_t* at = resolve_generic(l, g, global_address(l, i), wide ? 8 : 4);
        return at ? atomic(l, i, at, i.get(F::atom_op), type, wide, true) : kOutside;
    }
    case Op::RED: {
        const uint64_t type = i.get(F::atom_type);
        const bool wide = type == 2 || type == 5;
        uint8_t* at = resolve_generic(l, g, global_address(l, i), wide ? 8 : 4);
        return at ? atomic(l, i, at, i.get(F::red_op), type, wide, false) : kOutside;
    }
    case Op::ATOMS: {
        // CAST and CAST.SPIN are halves of a lock that the plain forms do not need; CAS is the whole operation.
        if (i.flag(F::cas) && i.get(F::cast_spin) != 2 && i.get(F::cast_spin) != 0 && i.get(F::cast_spin) != 1)
            return "has an unknown compare-and-swap form";
        const uint64_t types[] = {0, 1, 2, 5};
        const uint64_t type = types[i.get(F::atoms_type) & 3];
        const bool wide = i.flag(F::cas) ? i.flag(F::cas_64) : type == 2 || type == 5;
        uint8_t* at = resolve(l, g, Space::shared, small_address(l, i), wide ? 8 : 4);
        return at ? atomic(l, i, at, i.get(F::atoms_op), type, wide, true) : kOutside;
    }
    default: return kNotMine;
    }
}

} // namespace dmsh::sim
