// Reading operands of an instruction: the flexible second source, the third, modifiers, float helpers.
#pragma once
#include "compiler/sim/machine.h"
#include <bit>
#include <cfenv>
#include <cmath>

namespace dmsh::sim {

using isa::F;
using isa::Form;
using isa::Instruction;
using isa::Op;

inline uint32_t reg(const Lane& l, const Instruction& i, F f) { return l.r[i.get(f)]; }
inline uint32_t bank_word(const Instruction& i, const Group& g) {
    return g.constant(static_cast<uint32_t>(i.get(F::cbuf_bank)), static_cast<uint32_t>(i.get(F::cbuf_offset)));
}

// b: register, constant or immediate, by the form.
inline uint32_t source_b(const Lane& l, const Instruction& i, const Group& g) {
    switch (i.form()) {
    case Form::cbuf: return bank_word(i, g);
    case Form::imm:
    case Form::imm32: return i.imm32();
    default: return reg(l, i, F::src_b);
    }
}
// c: a register, or the constant in the form with register b and constant c.
inline uint32_t source_c(const Lane& l, const Instruction& i, const Group& g) {
    return i.form() == Form::reg_cbuf ? bank_word(i, g) : reg(l, i, F::src_c);
}
inline uint64_t bank_pair(const Instruction& i, const Group& g) {
    const uint32_t bank = static_cast<uint32_t>(i.get(F::cbuf_bank)), offset = static_cast<uint32_t>(i.get(F::cbuf_offset));
    return g.constant(bank, offset) | uint64_t{g.constant(bank, offset + 4)} << 32;
}
inline uint64_t source_b64(const Lane& l, const Instruction& i, const Group& g) {
    switch (i.form()) {
    case Form::cbuf: return bank_pair(i, g);
    case Form::imm:
    case Form::imm32: return uint64_t{i.imm32()} << 32; // doubles: the immediate is the upper word
    default: return l.pair(static_cast<uint32_t>(i.get(F::src_b)));
    }
}
inline uint64_t source_c64(const Lane& l, const Instruction& i, const Group& g) {
    return i.form() == Form::reg_cbuf ? bank_pair(i, g) : l.pair(static_cast<uint32_t>(i.get(F::src_c)));
}
inline void set_dst(Lane& l, const Instruction& i, uint32_t v) { l.set(static_cast<uint32_t>(i.get(F::dst)), v); }
inline void set_dst_pair(Lane& l, const Instruction& i, uint64_t v) { l.set_pair(static_cast<uint32_t>(i.get(F::dst)), v); }
inline bool source_pred(const Lane& l, const Instruction& i) {
    return l.pred(static_cast<uint32_t>(i.get(F::src_pred)), i.flag(F::src_pred_neg));
}

// bop: AND, OR, XOR.
inline bool combine(uint64_t op, bool a, bool b) { return op == 0 ? a && b : op == 1 ? a || b : a != b; }

// Comparison codes are sets of outcomes: bit 0 less, 1 equal, 2 greater, 3 unordered (fields.def lists them in that order).
inline bool outcome(uint64_t code, bool less, bool equal, bool greater, bool unordered = false) {
    return ((code & 1) && less) || ((code & 2) && equal) || ((code & 4) && greater) || ((code & 8) && unordered);
}
template <class T> bool compare(uint64_t code, T a, T b) { return outcome(code, a < b, a == b, a > b, a != a || b != b); }
// int_cmp has 3 bits, and 7 means "always".
template <class T> bool compare_int(uint64_t code, T a, T b) { return outcome(code, a < b, a == b, a > b); }

inline float as_float(uint32_t v) { return std::bit_cast<float>(v); }
inline double as_double(uint64_t v) { return std::bit_cast<double>(v); }
constexpr uint32_t kNan32 = 0x7fffffff;
constexpr uint64_t kNan64 = 0xfff8000000000000;
inline uint32_t bits(float f) { return f != f ? kNan32 : std::bit_cast<uint32_t>(f); }
inline uint64_t bits(double d) { return d != d ? kNan64 : std::bit_cast<uint64_t>(d); }

// Denormal words become zeros of their sign.
inline uint32_t flush(uint32_t v) { return (v & 0x7f800000) == 0 ? v & 0x80000000 : v; }
inline uint32_t flush_if(bool on, uint32_t v) { return on ? flush(v) : v; }
inline uint32_t sign32(uint32_t v, bool absolute, bool negate) {
    if (absolute)
        v &= 0x7fffffff;
    return negate ? v ^ 0x80000000 : v;
}
inline uint64_t sign64(uint64_t v, bool absolute, bool negate) {
    if (absolute)
        v &= ~(uint64_t{1} << 63);
    return negate ? v ^ uint64_t{1} << 63 : v;
}
// Clamp to 0..1; NaN gives 0.
inline uint32_t saturate(uint32_t v) {
    const float f = as_float(v);
    return f > 0.0f ? (f < 1.0f ? v : 0x3f800000u) : 0u;
}

// The condition code of a float result: a NaN is zero and negative at once.
inline void set_float_flags(Lane& l, bool zero, bool negative, bool nan) { l.set_flags(zero || nan, negative || nan, false, false); }

// Sets the rounding of the host for a scope: 0 nearest, 1 down, 2 up, 3 to zero (F::rnd).
class Rounding {
  public:
    explicit Rounding(uint64_t mode) : saved_(std::fegetround()) {
        constexpr int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
        if (mode)
            std::fesetround(modes[mode & 3]);
    }
    ~Rounding() { std::fesetround(saved_); }
    Rounding(const Rounding&) = delete;
    Rounding& operator=(const Rounding&) = delete;

  private:
    int saved_;
};

// IEEE half to float and back (round to nearest even, or by the host's mode through an exact step).
float half_to_float(uint16_t h);
uint16_t float_to_half(float f, uint64_t rnd = 0);

} // namespace dmsh::sim
