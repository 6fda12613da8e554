// Loads, stores and atomics of constant, global, shared and local memory.
#include "compiler/sim/operands.h"
#include <algorithm>
#include <cstring>

namespace dmsh::sim {
namespace {

// Sizes as F::mem_size codes them: U8, S8, U16, S16, 32, 64, 128 bits.
constexpr uint32_t kBytes[8] = {1, 1, 2, 2, 4, 8, 16, 16};

constexpr Answer kOutside = "accesses memory outside every buffer";

// Reads or writes `size` bytes of a space at a lane's address; words of wide accesses one by one.
Answer read_bytes(Lane& l, Group& g, Space space, uint64_t address, void* to, uint32_t size) {
    std::memset(to, 0, size);
    for (uint32_t k = 0; k < size; k += 4) {
        const uint8_t* from = g.at(space, l.local, address + k, std::min(size, 4u));
        if (from)
            std::memcpy(static_cast<uint8_t*>(to) + k, from, std::min(size, 4u));
        else if (!g.launch->forgiving)
            return kOutside;
    }
    return kOk;
}
Answer write_bytes(Lane& l, Group& g, Space space, uint64_t address, const void* from, uint32_t size) {
    if (l.dead() && space != Space::local)
        return kOk;
    for (uint32_t k = 0; k < size; k += 4) {
        if (uint8_t* to = g.at(space, l.local, address + k, std::min(size, 4u)))
            std::memcpy(to, static_cast<const uint8_t*>(from) + k, std::min(size, 4u));
        else if (!g.launch->forgiving)
            return kOutside;
    }
    return kOk;
}

// Puts loaded bytes into registers: narrow ones extended, wide ones into register runs.
Answer deliver(Lane& l, uint32_t dst, const uint8_t* from, uint64_t code) {
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

Answer load(Lane& l, Group& g, Space space, uint64_t address, uint32_t dst, uint64_t code) {
    uint8_t bytes[16];
    if (const Answer a = read_bytes(l, g, space, address, bytes, kBytes[code]); a != kOk)
        return a;
    return deliver(l, dst, bytes, code);
}

Answer store(Lane& l, Group& g, Space space, uint64_t address, uint32_t src, uint64_t code) {
    const uint32_t bytes = kBytes[code];
    if (bytes > 4 && src != isa::kRz && src % (bytes / 4) != 0)
        return "has a source that is not aligned to its size";
    uint32_t words[4] = {};
    for (uint32_t k = 0; k < std::max(bytes / 4, 1u); ++k)
        words[k] = l.r[src == isa::kRz ? src : src + k];
    return write_bytes(l, g, space, address, words, bytes);
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
Answer atomic(Lane& l, Group& g, const Instruction& i, Space space, uint64_t address, uint64_t op, uint64_t type, bool wide,
              bool result) {
    const uint32_t b = static_cast<uint32_t>(i.has(F::src_b) ? i.get(F::src_b) : isa::kRz);
    const bool is_signed = type == 1 || type == 5;
    if (wide) {
        uint64_t old;
        if (const Answer a = read_bytes(l, g, space, address, &old, 8); a != kOk)
            return a;
        uint64_t v;
        if (i.flag(F::cas))
            v = old == l.pair(b) ? l.pair(b == isa::kRz ? b : b + 2) : old;
        else
            v = integer_atomic(op, is_signed, old, l.pair(b));
        if (result)
            set_dst_pair(l, i, old);
        return write_bytes(l, g, space, address, &v, 8);
    }
    uint32_t old;
    if (const Answer a = read_bytes(l, g, space, address, &old, 4); a != kOk)
        return a;
    uint32_t v;
    if (i.flag(F::cas))
        v = old == l.r[b] ? l.r[b == isa::kRz ? b : b + 1] : old;
    else if (type == 3 && op == 0)
        v = flush(bits(as_float(flush(old)) + as_float(flush(l.r[b]))));
    else if (type == 3 || type == 4)
        return "is a float operation other than ADD.F32";
    else
        v = integer_atomic(op, is_signed, old, l.r[b]);
    if (result)
        set_dst(l, i, old);
    return write_bytes(l, g, space, address, &v, 4);
}

} // namespace

Answer memory_op(Lane& l, const Instruction& i, Group& g) {
    const uint32_t dst = static_cast<uint32_t>(i.get(F::dst)), src = static_cast<uint32_t>(i.get(F::src_b));
    switch (i.op()) {
    case Op::LDC: {
        // Addresses that are not aligned to the size fault on the hardware; here they read what lies there.
        uint32_t bank = static_cast<uint32_t>(i.get(F::cbuf_bank)), address = reg(l, i, F::src_a);
        const uint64_t mode = i.get(F::ldc_mode), size = i.get(F::ldc_size);
        if (mode == 1)
            return "is LDC.IL";
        if (mode != 0) { // IS, ISL: the upper half steps the bank (T-133)
            bank += address >> 16;
            address &= 0xffff;
        }
        address += static_cast<uint32_t>(i.get_signed(F::cbuf_offset));
        const uint32_t first = size < 4 ? address & ~3u : address;
        const uint64_t words = bank < 32 ? g.constant(bank, first) | uint64_t{g.constant(bank, first + 4)} << 32 : 0;
        const uint64_t shifted = size < 4 ? (words & 0xffffffff) >> (address & 3) * 8 : words;
        uint8_t bytes[8];
        std::memcpy(bytes, &shifted, 8);
        return deliver(l, dst, bytes, size);
    }
    case Op::LDG:
    case Op::LD: {
        if (i.op() == Op::LDG && i.has(F::dst_pred) && i.get(F::dst_pred) != isa::kPt)
            return "writes a predicate";
        return load(l, g, i.op() == Op::LD ? Space::generic : Space::global, global_address(l, i), dst, i.get(F::mem_size));
    }
    case Op::STG:
    case Op::ST:
        return store(l, g, i.op() == Op::ST ? Space::generic : Space::global, global_address(l, i), src, i.get(F::mem_size_st));
    case Op::LDS: return load(l, g, Space::shared, small_address(l, i), dst, i.get(F::lds_size));
    case Op::STS: return store(l, g, Space::shared, small_address(l, i), src, i.get(F::mem_size_st));
    case Op::LDL: return load(l, g, Space::local, small_address(l, i), dst, i.get(F::mem_size_st));
    case Op::STL: return store(l, g, Space::local, small_address(l, i), src, i.get(F::mem_size_st));
    case Op::ATOM: {
        const uint64_t type = i.get(F::atom_type);
        const bool wide = i.flag(F::cas) ? i.flag(F::cas_64) : type == 2 || type == 5;
        if (i.has(F::dst_pred) && i.get(F::dst_pred) != isa::kPt)
            return "writes a predicate";
        return atomic(l, g, i, Space::generic, global_address(l, i), i.get(F::atom_op), type, wide, true);
    }
    case Op::RED: {
        const uint64_t type = i.get(F::atom_type);
        return atomic(l, g, i, Space::generic, global_address(l, i), i.get(F::red_op), type, type == 2 || type == 5, false);
    }
    case Op::ATOMS: {
        // CAST and CAST.SPIN are halves of a lock that the plain forms do not need; CAS is the whole operation.
        if (i.flag(F::cas) && i.get(F::cast_spin) != 2 && i.get(F::cast_spin) != 0 && i.get(F::cast_spin) != 1)
            return "has an unknown compare-and-swap form";
        const uint64_t types[] = {0, 1, 2, 5};
        const uint64_t type = types[i.get(F::atoms_type) & 3];
        const bool wide = i.flag(F::cas) ? i.flag(F::cas_64) : type == 2 || type == 5;
        return atomic(l, g, i, Space::shared, small_address(l, i), i.get(F::atoms_op), type, wide, true);
    }
    default: return kNotMine;
    }
}

} // namespace dmsh::sim
