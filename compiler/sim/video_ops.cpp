// Video instructions: arithmetic on bytes, halves and words of two operands, then saturation, then a merge or a second operation with c
// (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions").
#include "compiler/sim/operands.h"
#include <algorithm>
#include <string_view>

namespace dmsh::sim {
namespace {

// The part that a selector names: bytes 0..3, halves 4..5, the word 6.
int64_t part(uint32_t v, uint64_t selector, bool is_signed) {
    if (selector < 4) {
        const uint8_t x = static_cast<uint8_t>(v >> selector * 8);
        return is_signed ? int64_t{static_cast<int8_t>(x)} : int64_t{x};
    }
    if (selector < 6) {
        const uint16_t x = static_cast<uint16_t>(v >> (selector - 4) * 16);
        return is_signed ? int64_t{static_cast<int16_t>(x)} : int64_t{x};
    }
    return is_signed ? int64_t{static_cast<int32_t>(v)} : int64_t{v};
}

int64_t video_a(const Lane& l, const Instruction& i) { return part(reg(l, i, F::src_a), i.get(F::video_sel_a), i.flag(F::video_signed_a)); }
int64_t video_b(const Lane& l, const Instruction& i, const Group& g) {
    // Immediates have 16 bits.
    return part(source_b(l, i, g), i.form() == Form::imm ? 4 : i.get(F::video_sel_b), i.flag(F::video_signed_b));
}

int64_t clamp_to(int64_t v, unsigned bits, bool is_signed) {
    const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0, high = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    return std::clamp(v, low, high);
}

// Saturation, then the second operation; `is_signed` is the result's type.
Answer write(Lane& l, const Instruction& i, int64_t v, bool is_signed, bool whole = false) {
    if (i.flag(F::cc))
        return "writes the condition code";
    const uint64_t op = i.get(F::video_op);
    if (i.flag(F::sat))
        v = clamp_to(v, op < 2 ? 16 : op < 4 ? 8 : 32, is_signed);
    const uint32_t c = reg(l, i, F::src_c), w = static_cast<uint32_t>(v);
    if (whole && (op == 5 || op == 6)) { // a left shift's minimum and maximum see what lies above the word
        const int64_t other = is_signed ? int64_t{static_cast<int32_t>(c)} : int64_t{c};
        set_dst(l, i, static_cast<uint32_t>(op == 5 ? std::min(v, other) : std::max(v, other)));
        return kOk;
    }
    switch (op) {
    case 0: return "merges into the upper half, where the golden outputs and the PTX manual disagree";
    case 1: set_dst(l, i, (w & 0xffff) | (c & 0xffff0000)); break;          // MRG_16L
    case 2: set_dst(l, i, (w & 0xff) | (c & 0xffffff00)); break;            // MRG_8B0
    case 3: set_dst(l, i, (w & 0xff) << 16 | (c & 0xff00ffff)); break;      // MRG_8B2
    case 4: set_dst(l, i, w + c); break;                                    // ACC
    case 5:                                                                 // MIN
        set_dst(l, i, is_signed ? static_cast<uint32_t>(std::min(static_cast<int32_t>(w), static_cast<int32_t>(c))) : std::min(w, c));
        break;
    case 6: // MAX
        set_dst(l, i, is_signed ? static_cast<uint32_t>(std::max(static_cast<int32_t>(w), static_cast<int32_t>(c))) : std::max(w, c));
        break;
    default: set_dst(l, i, w); break;
    }
    return kOk;
}

Answer vadd(Lane& l, const Instruction& i, Group& g) {
    const bool na = i.flag(F::neg_a), nb = i.flag(F::neg_b);
    const int64_t x = video_a(l, i), y = video_b(l, i, g);
    const int64_t sum = na && nb ? x + y + 1 : (na ? -x : x) + (nb ? -y : y); // both signs spell .PO
    return write(l, i, sum, i.flag(F::video_ud));
}

Answer vmnmx(Lane& l, const Instruction& i, Group& g) {
    const int64_t x = video_a(l, i), y = video_b(l, i, g);
    return write(l, i, i.flag(F::video_mx) ? std::max(x, y) : std::min(x, y), i.flag(F::video_ud));
}

Answer vabsdiff(Lane& l, const Instruction& i, Group& g) {
    const int64_t d = video_a(l, i) - video_b(l, i, g);
    return write(l, i, d < 0 ? -d : d, i.flag(F::video_sd));
}

uint32_t shift_count(const Lane& l, const Instruction& i, const Group& g) {
    const uint32_t n = static_cast<uint32_t>(video_b(l, i, g));
    return i.flag(F::wrap) ? n & 31 : std::min(n, 32u);
}
Answer vshl(Lane& l, const Instruction& i, Group& g) {
    const uint64_t shifted = static_cast<uint64_t>(video_a(l, i)) << shift_count(l, i, g);
    // Saturation takes the shifted value as a signed number of 34 bits: what lies above is lost.
    const int64_t v = i.flag(F::sat) ? static_cast<int64_t>(shifted << 30) >> 30 : static_cast<int64_t>(shifted);
    return write(l, i, v, i.flag(F::video_ud), true);
}
Answer vshr(Lane& l, const Instruction& i, Group& g) { return write(l, i, video_a(l, i) >> shift_count(l, i, g), i.flag(F::video_ud)); }

bool holds(const Lane& l, const Instruction& i, const Group& g) {
    const uint64_t code = i.get(F::int_cmp);
    return code == 7 || compare_int(code, video_a(l, i), video_b(l, i, g));
}
Answer vset(Lane& l, const Instruction& i, Group& g) {
    if (i.get(F::video_op) == 5 || i.get(F::video_op) == 6)
        return "takes a minimum or maximum of a truth value, whose sign no source tells";
    return write(l, i, holds(l, i, g) ? 1 : 0, false);
}
Answer vsetp(Lane& l, const Instruction& i, Group& g) {
    const bool t = holds(l, i, g), p = source_pred(l, i);
    l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred2)), combine(i.get(F::bop), !t, p));
    l.set_pred(static_cast<uint32_t>(i.get(F::dst_pred)), combine(i.get(F::bop), t, p));
    return kOk;
}

// a * b + c, negated product or c, or plus one (.PO); shifted; saturated to a signed word unless everything is unsigned.
Answer vmad(Lane& l, const Instruction& i, Group& g) {
    if (i.flag(F::cc))
        return "writes the condition code";
    const bool na = i.flag(F::neg_a), nc = i.flag(F::neg_c), po = na && nc;
    const bool is_signed = i.flag(F::video_signed_a) || i.flag(F::video_signed_b) || (na != nc);
    const __int128 product = static_cast<__int128>(video_a(l, i)) * video_b(l, i, g);
    const uint32_t w = reg(l, i, F::src_c);
    const __int128 c = is_signed ? __int128{static_cast<int32_t>(w)} : __int128{w};
    constexpr unsigned shifts[] = {0, 7, 15, 0};
    const __int128 sum = (po ? product + c + 1 : (na ? -product : product) + (nc ? -c : c)) >> shifts[i.get(F::vmad_scale) & 3];
    int64_t v = static_cast<int64_t>(sum);
    if (i.flag(F::sat))
        v = clamp_to(v, 32, is_signed);
    set_dst(l, i, static_cast<uint32_t>(v));
    return kOk;
}

// Absolute differences of the four bytes that selectors pick out of {b, a}: packed, or summed onto c.
Answer vabsdiff4(Lane& l, const Instruction& i, Group&) {
    if (i.form() == Form::imm)
        return "has an immediate operand";
    if (i.flag(F::cc))
        return "writes the condition code";
    const bool sa = i.flag(F::vabs4_signed_a), sb = i.flag(F::vabs4_signed_b), result_signed = i.flag(F::video_sd);
    const uint64_t bytes = reg(l, i, F::src_a) | uint64_t{reg(l, i, F::src_b)} << 32;
    std::string_view pick_a = i.text(F::vabs4_sel_a), pick_b = i.text(F::vabs4_sel_b);
    pick_a = pick_a.empty() ? "3210" : pick_a; // no text: as they are
    pick_b = pick_b.empty() ? "7654" : pick_b;
    const auto byte = [&](std::string_view pick, unsigned k, bool is_signed) {
        const uint8_t x = static_cast<uint8_t>(bytes >> (pick[3 - k] - '0') * 8);
        return is_signed ? int32_t{static_cast<int8_t>(x)} : int32_t{x};
    };
    const uint32_t c = reg(l, i, F::src_c);
    uint32_t sum = c, packed = c;
    for (unsigned k = 0; k < 4; ++k) {
        if (!(i.get(F::vabs4_mask) >> k & 1))
            continue;
        const int32_t x = byte(pick_a, k, sa), y = byte(pick_b, k, sb);
        int64_t d = x > y ? x - y : y - x;
        if (i.flag(F::sat))
            d = clamp_to(d, 8, result_signed);
        sum += static_cast<uint32_t>(d);
        packed = (packed & ~(0xffu << 8 * k)) | (static_cast<uint32_t>(d) & 0xff) << 8 * k;
    }
    set_dst(l, i, i.get(F::vabs4_op) == 1 ? sum : packed);
    return kOk;
}

} // namespace

Answer video_op(Lane& l, const Instruction& i, Group& g) {
    switch (i.op()) {
    case Op::VADD: return vadd(l, i, g);
    case Op::VMNMX: return vmnmx(l, i, g);
    case Op::VABSDIFF: return vabsdiff(l, i, g);
    case Op::VSHL: return vshl(l, i, g);
    case Op::VSHR: return vshr(l, i, g);
    case Op::VSET: return vset(l, i, g);
    case Op::VSETP: return vsetp(l, i, g);
    case Op::VMAD: return vmad(l, i, g);
    case Op::VABSDIFF4: return vabsdiff4(l, i, g);
    default: return kNotMine;
    }
}

} // namespace dmsh::sim
