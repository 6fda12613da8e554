// Integer arithmetic, logic, shifts, bit fields and comparisons, with the condition code.
#include "compiler/sim/operands.h"
#include <algorithm>

namespace dmsh::sim {
namespace {

struct Sum {
    uint32_t value;
    bool carry, overflow;
};

// a + b + carry-in with the flags of the 32-bit adder.
Sum adder(uint32_t a, uint32_t b, bool carry) {
    const uint64_t wide = uint64_t{a} + b + carry;
    const uint32_t v = static_cast<uint32_t>(wide);
    return {v, (wide >> 32) != 0, ((~(a ^ b) & (a ^ v)) >> 31) != 0};
}

// Writes the result, and the condition code where .CC asks for it. With .X the zero flag covers both words.
void finish(Lane& l, const Instruction& i, Sum s, bool extended = false) {
    set_dst(l, i, s.value);
    if (i.flag(F::cc))
        l.set_flags(s.value == 0 && (!extended || l.z), s.value >> 31, s.carry, s.overflow);
}
void finish_logic(Lane& l, const Instruction& i, uint32_t v) {
    set_dst(l, i, v);
    if (i.flag(F::cc))
        l.set_flags(v == 0, v >> 31, false, false);
}

uint32_t reverse(uint32_t v) {
    uint32_t r = 0;
    for (unsigned k = 0; k < 32; ++k)
        r |= (v >> k & 1) << (31 - k);
    return r;
}

int64_t half_of(uint32_t v, bool upper, bool is_signed) {
    const uint16_t h = static_cast<uint16_t>(upper ? v >> 16 : v);
    return is_signed ? int64_t{static_cast<int16_t>(h)} : int64_t{h};
}

Answer multiply_add_16(Lane& l, const Instruction& i, Group& g) {
    const uint32_t ra = reg(l, i, F::src_a), rb = source_b(l, i, g), rc = source_c(l, i, g);
    const int64_t a = half_of(ra, i.flag(F::h1_a), i.flag(F::signed_a));
    const int64_t b = half_of(rb, i.flag(F::h1_b), i.flag(F::signed_b));
    uint32_t product = static_cast<uint32_t>(a * b);
    if (i.flag(F::psl))
        product <<= 16;
    uint32_t c = rc;
    switch (i.get(F::xmad_mode)) {
    case 0: break;
    case 1: c &= 0xffff; break;
    case 2: c >>= 16; break;
    case 3: {
        // The upper product of a signed 32 x 32: each negative product of an upper and a lower half will count 2^16 too much when the
        // middle sum is shifted as unsigned; it is taken off here.
        if (!i.flag(F::h1_a) || !i.flag(F::h1_b) || !i.flag(F::signed_a) || !i.flag(F::signed_b) || i.flag(F::psl))
            return "uses sign flags in a form that no compiler emits";
        c -= (a < 0 && (rb & 0xffff) != 0 ? 0x10000u : 0u) + (b < 0 && (ra & 0xffff) != 0 ? 0x10000u : 0u);
        break;
    }
    case 4: c += rb << 16; break;
    default: return "has an unknown mode";
    }
    Sum s = adder(product, c, i.flag(F::x) && l.c);
    if (i.flag(F::mrg))
        s.value = (s.value & 0xffff) | rb << 16;
    finish(l, i, s, i.flag(F::x));
    return kOk;
}

uint32_t permute(uint32_t a, uint32_t selector, uint32_t c, uint64_t mode) {
    const uint64_t bytes = a | uint64_t{c} << 32;
    const auto byte = [&](unsigned n) { return static_cast<uint32_t>(bytes >> (n & 7) * 8) & 0xff; };
    uint32_t v = 0;
    const unsigned s = selector & 3;
    for (unsigned k = 0; k < 4; ++k) {
        uint32_t x = 0;
        switch (mode) {
        case 0: { // each nibble picks a byte; its top bit spreads the byte's sign
            const unsigned n = selector >> k * 4 & 15;
            x = byte(n & 7);
            if (n & 8)
                x = x & 0x80 ? 0xff : 0;
            break;
        }
        case 1: x = byte(s + k); break;                                   // F4E
        case 2: x = byte(s + 8 - k); break;                               // B4E
        case 3: x = byte(s); break;                                       // RC8
        case 4: x = byte(k < s ? s : k); break;                           // ECL
        case 5: x = byte(k < s ? k : s); break;                           // ECR
        case 6: x = byte((s & 1) * 2 + (k & 1)); break;                   // RC16
        }
        v |= x << k * 8;
    }
    return v;
}

// SHF: the window of {c, a} after a shift; 64-bit types count to 63 (wrapped) or 64 (clamped).
uint32_t funnel(const Instruction& i, uint32_t low, uint32_t shift, uint32_t high) {
    const uint64_t type = i.get(F::shf_type);
    const uint32_t width = type ? 64 : 32;
    const uint32_t n = i.flag(F::wrap) ? shift & (width - 1) : std::min(shift, width);
    const uint64_t v = low | uint64_t{high} << 32;
    uint64_t r;
    if (i.flag(F::shf_right)) {
        if (type == 3)
            r = static_cast<uint64_t>(static_cast<int64_t>(v) >> std::min(n, 63u));
        else
            r = n >= 64 ? 0 : v >> n;
        return static_cast<uint32_t>(r);
    }
    r = n >= 64 ? 0 : v << n;
    return static_cast<uint32_t>(r >> 32);
}

// Part of an IMADSP operand: 32 bits, 24 bits, or a half.
int64_t sp_part(uint32_t v, unsigned part) {
    switch (part) {
    case 0: return v;
    case 1: return static_cast<int32_t>(v);
    case 2: return v & 0xffffff;
    case 3: return static_cast<int32_t>(v << 8) >> 8;
    case 4: return v & 0xffff;
    case 5: return static_cast<int16_t>(v);
    case 6: return v >> 16;
    default: return static_cast<int16_t>(v >> 16);
    }
}

bool int_outcome(const Lane& l, const Instruction& i, uint32_t a, uint32_t b) {
    const uint64_t code = i.get(F::int_cmp);
    if (code == 7)
        return true;
    if (i.flag(F::x)) {
        // The upper half of a long comparison: the subtraction goes on with the lower half's carry and zero, and its condition code is
        // tested: EQ is Z, LT is S != O (unsigned: no carry), the others follow. Flags of no subtraction may say equal and less at once.
        const Sum s = adder(a, ~b, l.c);
        const bool less = i.flag(F::is_signed) ? (s.value >> 31 != 0) != s.overflow : !s.carry;
        const bool equal = a == b && l.z;
        switch (code) {
        case 1: return less;
        case 2: return equal;
        case 3: return less || equal;
        case 4: return !less && !equal;
        case 5: return !equal;
        case 6: return !less;
        default: return false;
        }
    }
    return i.flag(F::is_signed) ? compare_int(code, static_cast<int32_t>(a), static_cast<int32_t>(b)) : compare_int(code, a, b);
}

} // namespace

Answer integer_op(Lane& l, const Instruction& i, Group& g) {
    const auto a = [&] { return reg(l, i, F::src_a); };
    const auto b = [&] { return source_b(l, i, g); };
    const auto c = [&] { return source_c(l, i, g); };
    switch (i.op()) {
    case Op::IADD:
    case Op::IADD32I: {
        const bool na = i.flag(F::neg_a), nb = i.flag(F::neg_b), x = i.flag(F::x);
        // One negation is an inversion plus one; both together spell .PO: a + b + 1. With .X the carry takes the one's place.
        const bool po = na && nb;
        uint32_t u = a(), v = b();
        if (!po) {
            u = na ? ~u : u;
            v = nb ? ~v : v;
        }
        Sum s = adder(u, v, x ? l.c : na || nb);
        if (i.flag(F::sat) && s.overflow)
            s.value = s.value >> 31 ? 0x7fffffff : 0x80000000;
        finish(l, i, s, x);
        return kOk;
    }
    case Op::IADD3: {
        const auto part = [](uint32_t v, uint64_t which) { return which == 1 ? v & 0xffff : which == 2 ? v >> 16 : v; };
        const bool na = i.flag(F::neg_a), nb = i.flag(F::neg_b), nc = i.flag(F::neg_c), x = i.flag(F::x);
        const uint32_t u = part(a(), i.get(F::half_a)), v = part(b(), i.get(F::half_b)), w = part(c(), i.get(F::half_c));
        if (i.get(F::iadd3_shift)) {
            // .RS and .LS move the 33-bit sum by 16 before the third operand is added.
            if (na || nb || nc || x || i.flag(F::cc))
                return "shifts and negates or carries";
            const uint64_t first = uint64_t{u} + v;
            set_dst(l, i, static_cast<uint32_t>(i.get(F::iadd3_shift) == 1 ? first >> 16 : first << 16) + w);
            return kOk;
        }
        const uint32_t negated = uint32_t{na} + nb + nc;
        if (negated > 1 && (x || i.flag(F::cc)))
            return "carries with two negated operands";
        // A negated operand is inverted and counts one more; with .X the carry takes the one's place.
        const auto inverted = [](uint32_t value, bool on) { return uint64_t{on ? ~value : value}; };
        const uint64_t sum = inverted(u, na) + inverted(v, nb) + inverted(w, nc) + (x ? uint32_t{l.c} : negated);
        finish(l, i, {static_cast<uint32_t>(sum), (sum >> 32) != 0, false}, x);
        return kOk;
    }
    case Op::IMNMX: {
        const uint32_t u = a(), v = b();
        // A long minimum: XHI compares the upper words and leaves in the condition code which side it took (sign: a, carry: b) or that
        // both are equal (zero); XMED and XLO follow it and compare their words, unsigned, only where those above were equal.
        if (const uint64_t which = i.get(F::minmax_x)) {
            const bool upper = which == 3, is_signed = i.flag(F::is_signed);
            bool less = is_signed && upper ? static_cast<int32_t>(u) < static_cast<int32_t>(v) : u < v;
            if (!upper && !l.z)
                less = l.s;
            const bool equal = u == v && (which != 2 || l.z);
            set_dst(l, i, less == source_pred(l, i) ? u : v);
            if (i.flag(F::cc))
                l.set_flags(equal, less, !less, false);
            return kOk;
        }
        const bool less = i.flag(F::is_signed) ? static_cast<int32_t>(u) < static_cast<int32_t>(v) : u < v;
        finish_logic(l, i, less == source_pred(l, i) ? u : v);
        return kOk;
    }
    case Op::IMUL:
    case Op::IMUL32I:
    case Op::IMAD:
    case Op::IMAD32I: {
        const bool sa = i.flag(F::signed_a), sb = i.flag(F::signed_b);
        const uint32_t u = a(), v = b();
        const __int128 x = sa ? __int128{static_cast<int32_t>(u)} : __int128{u};
        const __int128 y = sb ? __int128{static_cast<int32_t>(v)} : __int128{v};
        __int128 product = x * y;
        const bool po = i.flag(F::neg_a) && i.flag(F::neg_c); // .PO: the sum plus one
        if (i.flag(F::neg_a) && !po)
            product = -product;
        const uint32_t p = static_cast<uint32_t>(i.flag(F::hi) ? product >> 32 : product);
        if (i.op() == Op::IMUL || i.op() == Op::IMUL32I) {
            finish_logic(l, i, p);
            return kOk;
        }
        const uint32_t w = i.flag(F::neg_c) && !po ? ~c() : c();
        Sum s = adder(p, w, i.flag(F::x) ? l.c : i.flag(F::neg_c));
        if (i.flag(F::sat)) {
            if (!i.flag(F::hi) || !(sa && sb))
                return "saturates a sum that is not of signed upper halves";
            if (s.overflow)
                s.value = s.value >> 31 ? 0x7fffffff : 0x80000000;
        }
        finish(l, i, s, i.flag(F::x));
        return kOk;
    }
    case Op::IMADSP: {
        const int64_t x = sp_part(a(), static_cast<unsigned>(i.get(F::imadsp_a)));
        const int64_t y = sp_part(b(), static_cast<unsigned>(i.get(F::imadsp_b)) + 2);
        const bool is_signed = (i.get(F::imadsp_a) & 1) || (i.get(F::imadsp_b) & 1);
        const uint32_t w = c();
        int64_t z = w;
        if (i.get(F::imadsp_c) == 1)
            z = is_signed ? static_cast<int32_t>(w << 8) >> 8 : w & 0xffffff;
        else if (i.get(F::imadsp_c) == 2)
            z = is_signed ? int64_t{static_cast<int16_t>(w)} : int64_t{w & 0xffff};
        finish(l, i, adder(static_cast<uint32_t>(x * y), static_cast<uint32_t>(z), false));
        return kOk;
    }
    case Op::XMAD: return multiply_add_16(l, i, g);
    case Op::ISCADD:
    case Op::ISCADD32I: {
        const bool na = i.flag(F::neg_a), nb = i.flag(F::neg_b), po = na && nb;
        uint32_t u = a() << i.get(F::shift), v = b();
        if (!po) {
            u = na ? ~u : u;
            v = nb ? ~v : v;
        }
        finish(l, i, adder(u, v, na || nb));
        return kOk;
    }
    case Op::LEA: {
        const uint32_t n = static_cast<uint32_t>(i.get(F::shift));
        const bool hi = i.flag(F::hi), neg = i.flag(F::neg_a), x = i.flag(F::x);
        uint64_t u = a();
        if (hi)
            u |= uint64_t{reg(l, i, F::src_c)} << 32;
        // The upper word of a negated pair alone; else the shifted word is inverted, and counts one more or the carry.
        const bool whole = hi && neg && !x;
        if (whole)
            u = 0 - u;
        const uint32_t part = static_cast<uint32_t>(hi ? (u << n) >> 32 : u << n);
        const bool inverted = neg && !whole;
        const Sum s = adder(inverted ? ~part : part, b(), x ? l.c : inverted);
        // The predicate of LEA.HI.X tells an address above 4 GiB, where no window lies (the cuda corpus chooses ATOM or ATOMS by it).
        if (i.get(F::dst_pred) != isa::kPt) {
            if (!i.flag(F::hi) || !i.flag(F::x) || i.flag(F::neg_a) || i.flag(F::cc))
                return "writes a predicate whose meaning is not shown";
            l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), s.value != 0);
        }
        finish(l, i, s, i.flag(F::x));
        return kOk;
    }
    case Op::LOP:
    case Op::LOP32I:
    case Op::LOP3: {
        if (i.flag(F::x))
            return "extends a logic operation";
        uint32_t v = 0;
        if (i.op() == Op::LOP3) {
            const uint32_t u = a(), w = b(), t = c();
            const uint64_t lut = i.get(F::lut);
            for (unsigned k = 0; k < 32; ++k)
                v |= static_cast<uint32_t>(lut >> ((u >> k & 1) << 2 | (w >> k & 1) << 1 | (t >> k & 1)) & 1) << k;
        } else {
            const uint32_t u = i.flag(F::inv_a) ? ~a() : a(), w = i.flag(F::inv_b) ? ~b() : b();
            switch (i.get(F::lop)) {
            case 0: v = u & w; break;
            case 1: v = u | w; break;
            case 2: v = u ^ w; break;
            default: v = w; break;
            }
        }
        if (i.has(F::pred_op)) {
            const bool p[] = {false, true, v == 0, v != 0};
            l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), p[i.get(F::pred_op) & 3]);
        }
        finish_logic(l, i, v);
        return kOk;
    }
    case Op::SHL: {
        if (i.flag(F::x))
            return "extends a shift";
        const uint32_t n = i.flag(F::wrap) ? b() & 31 : b();
        finish_logic(l, i, n >= 32 ? 0 : a() << n);
        return kOk;
    }
    case Op::SHR: {
        if (i.get(F::xmode))
            return "extends a shift";
        const uint32_t n = i.flag(F::wrap) ? b() & 31 : b();
        const uint32_t u = i.flag(F::brev) ? reverse(a()) : a();
        if (i.flag(F::is_signed))
            finish_logic(l, i, static_cast<uint32_t>(static_cast<int32_t>(u) >> std::min(n, 31u)));
        else
            finish_logic(l, i, n >= 32 ? 0 : u >> n);
        return kOk;
    }
    case Op::SHF:
        if (i.get(F::shf_x))
            return "extends a shift";
        finish_logic(l, i, funnel(i, a(), b(), reg(l, i, F::src_c)));
        return kOk;
    case Op::BFE: {
        const uint32_t field = b(), position = field & 0xff, length = field >> 8 & 0xff;
        const uint32_t u = i.flag(F::brev) ? reverse(a()) : a();
        uint32_t v = 0;
        const bool is_signed = i.flag(F::is_signed);
        if (length != 0) {
            // Bits past the word are copies of the sign, or zeros.
            const uint64_t wide = is_signed ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(u)}) : u;
            const uint64_t shifted = position >= 64 ? (is_signed && u >> 31 ? ~uint64_t{0} : 0)
                                     : is_signed    ? static_cast<uint64_t>(static_cast<int64_t>(wide) >> position)
                                                    : wide >> position;
            const uint32_t n = std::min(length, 32u);
            v = static_cast<uint32_t>(shifted);
            if (n < 32) {
                // The sign is the field's top bit, or bit 31 where the field reaches past the word.
                const bool top = is_signed && (u >> std::min(position + length - 1, 31u) & 1);
                v &= (1u << n) - 1;
                if (top)
                    v |= ~0u << n;
            }
        }
        finish_logic(l, i, v);
        return kOk;
    }
    case Op::BFI: {
        const uint32_t field = b(), position = field & 0xff, length = std::min(field >> 8 & 0xff, 32u), base = c();
        uint32_t v = base;
        if (length != 0 && position < 32) {
            const uint32_t mask = (length == 32 ? ~0u : (1u << length) - 1) << position;
            v = (base & ~mask) | (a() << position & mask);
        }
        finish_logic(l, i, v);
        return kOk;
    }
    case Op::FLO: {
        uint32_t v = i.flag(F::inv_b) ? ~b() : b();
        if (i.flag(F::is_signed) && v >> 31)
            v = ~v;
        const uint32_t n = v == 0 ? ~0u : 31 - static_cast<uint32_t>(std::countl_zero(v));
        finish_logic(l, i, v != 0 && i.flag(F::sh) ? 31 - n : n);
        return kOk;
    }
    case Op::POPC: set_dst(l, i, static_cast<uint32_t>(std::popcount(i.flag(F::inv_b) ? ~b() : b()))); return kOk;
    case Op::PRMT: set_dst(l, i, permute(a(), b(), c(), i.get(F::prmt_mode))); return kOk;
    case Op::ISET: {
        const bool t = combine(i.get(F::bop), int_outcome(l, i, a(), b()), source_pred(l, i));
        finish_logic(l, i, !t ? 0 : i.flag(F::bf) ? 0x3f800000 : ~0u);
        return kOk;
    }
    case Op::ISETP: {
        const bool t = int_outcome(l, i, a(), b()), p = source_pred(l, i);
        l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred2)), combine(i.get(F::bop), !t, p));
        l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), combine(i.get(F::bop), t, p));
        return kOk;
    }
    case Op::ICMP: set_dst(l, i, int_outcome(l, i, c(), 0) ? a() : b()); return kOk;
    case Op::MOV:
    case Op::MOV32I: {
        // The mask names the lanes of the quad that write.
        if (i.get(F::lane_mask) >> (l.id & 3) & 1)
            set_dst(l, i, b());
        return kOk;
    }
    case Op::SEL: set_dst(l, i, source_pred(l, i) ? a() : b()); return kOk;
    default: return kNotMine;
    }
}

} // namespace dmsh::sim
