// Prints instructions as NVIDIA's disassembler does, from the text format of their table rows.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "compiler/isa/special_registers.h"
#include "compiler/isa/table.h"

namespace dmsh::isa {
namespace {

std::string hex(uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

std::string signed_hex(int64_t value) {
    return value < 0 ? "-" + hex(uint64_t(0) - uint64_t(value)) : hex(uint64_t(value));
}

std::string register_name(uint64_t number) {
    return number == kRz ? "RZ" : "R" + std::to_string(number);
}

[[maybe_unused]] std::string uniform_register_name(uint64_t number) {
    return number == kUrz ? "URZ" : "UR" + std::to_string(number);
}

std::string predicate_name(uint64_t number) {
    return number == kPt ? "PT" : "P" + std::to_string(number);
}

// Floats print with 20 significant digits; large ones as exponent with all 20 decimals. Zero with a sign,
// infinities and NaNs carry a trailing blank.
std::string float_text(double value, bool quiet) {
    if (std::isnan(value))
        return std::string(std::signbit(value) ? "-" : "+") + (quiet ? "QNAN " : "SNAN ");
    if (std::isinf(value))
        return value < 0 ? "-INF " : "+INF ";
    if (value == 0)
        return std::signbit(value) ? "-0.0 " : "0";
    char text[64];
    // The switch to the long form lies between 2^27 and 2^31 in all known texts.
    std::snprintf(text, sizeof text, std::fabs(value) >= 1e9 ? "%.20e" : "%.20g", value);
    return text;
}

std::string float32_text(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return float_text(value, true); // widened to double before it is printed, which makes NaNs quiet
}

std::string float64_text(uint64_t bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return float_text(value, bits & 0x8000000000000);
}

std::string float16_text(uint32_t bits) {
    int exponent = int(bits >> 10 & 31);
    double fraction = bits & 1023;
    double value = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                   : exponent == 0 ? std::ldexp(fraction, -24)
                                   : std::ldexp(1024 + fraction, exponent - 25);
    return float_text(std::copysign(value, bits & 0x8000 ? -1.0 : 1.0), true);
}

// How an immediate operand is written.
enum class Literal { integer, f32, f64, half2 };

struct Operand {
    F reg, neg, abs, inv, hsel, h1, half, byte, video_sel;
};

constexpr Operand kA{F::src_a, F::neg_a,  F::abs_a,  F::inv_a,      F::hsel_a,
                     F::h1_a,  F::half_a, F::byte_a, F::video_sel_a};
constexpr Operand kB{F::src_b, F::neg_b,  F::abs_b,  F::inv_b,      F::hsel_b,
                     F::h1_b,  F::half_b, F::byte_b, F::video_sel_b};
constexpr Operand kC{F::src_c,  F::neg_c,  F::abs_c,  F::inv_c, F::hsel_c,
                     F::kCount, F::half_c, F::kCount, F::kCount};

class Printer {
  public:
    explicit Printer(const Instruction& instruction) : i_(instruction) {}

    std::string print() {
        std::string text;
        if (i_.get(F::pred) != kPt || i_.flag(F::pred_neg))
            text = std::string(i_.flag(F::pred_neg) ? "@!" : "@") + predicate_name(i_.get(F::pred)) + " ";
        text += i_.mnemonic();
        text += modifiers();
        std::string list = operands();
        // The one mnemonic that its disassembler joins with the address.
        if (!list.empty() && !(text.ends_with(".QRY1") && list[0] == '['))
            text += " ";
        text += list;
        while (text.ends_with(' '))
            text.pop_back();
        return text;
    }

  private:
    static std::string_view next_item(std::string_view& list, std::string_view separator) {
        size_t end = list.find(separator);
        std::string_view item = list.substr(0, end);
        list.remove_prefix(end == list.npos ? list.size() : end + separator.size());
        return item;
    }

    static void add(std::string& text, std::string_view suffix) {
        if (suffix.empty())
            return;
        text += '.';
        text += suffix;
    }

    std::string modifiers() {
        std::string text;
        std::string_view list = i_.row->modifiers;
        while (!list.empty()) {
            std::string_view item = next_item(list, " ");
            if (item.empty())
                continue;
            if (item[0] == '\'')
                add(text, item.substr(1, item.size() - 2));
            else if (item[0] == '@')
                add(text, rule(item.substr(1)));
            else if (std::optional<F> field = field_by_name(item))
                add(text, i_.text(*field));
        }
        add(text, texture_phase());
        return text;
    }

    // Texture instructions use two of the operand-reuse bits for the phase of their operands.
    std::string_view texture_phase() const {
        static constexpr std::string_view kPhases[] = {"", "T", "P", "TP"};
        return i_.row->arch == Arch::sm_53 && texture() ? kPhases[i_.control >> 17 & 3] : "";
    }
    bool texture() const {
        switch (i_.op()) {
        case Op::TEX:
        case Op::TEXS:
        case Op::TLD:
        case Op::TLDS:
        case Op::TLD4:
        case Op::TLD4S:
        case Op::TXD:
        case Op::TXQ:
        case Op::TMML:
        case Op::TXA: return true;
        default: return false;
        }
    }

    // Suffixes that depend on more than one field.
    std::string rule(std::string_view name) {
        if (name == "po") {
            plus_one_ = i_.flag(F::neg_a) && i_.flag(F::neg_b);
            return plus_one_ ? "PO" : "";
        }
        if (name == "po_c") {
            plus_one_ = i_.flag(F::neg_a) && i_.flag(F::neg_c);
            return plus_one_ ? "PO" : "";
        }
        if (name == "sab") { // both signed is the default
            if (i_.flag(F::signed_a) && i_.flag(F::signed_b))
                return "";
            return std::string(i_.text(F::signed_a)) + "." + std::string(i_.text(F::signed_b));
        }
        if (name == "sab16") { // both unsigned is the default
            if (!i_.flag(F::signed_a) && !i_.flag(F::signed_b))
                return "";
            return std::string(i_.flag(F::signed_a) ? "S16" : "U16") +
                   (i_.flag(F::signed_b) ? ".S16" : ".U16");
        }
        if (name == "imadsp_c") {
            bool is_signed = (i_.get(F::imadsp_a) & 1) || (i_.get(F::imadsp_b) & 1);
            return (is_signed ? "S" : "U") + std::string(i_.text(F::imadsp_c));
        }
        if (name == "fmt_d")
            return (i_.flag(F::signed_d) ? "S" : "U") + std::string(i_.text(F::fmt_int_d));
        if (name == "fmt_s")
            return (i_.flag(F::signed_s) ? "S" : "U") + std::string(i_.text(F::fmt_int_s));
        if (name == "f2f_rnd") {
            static constexpr std::string_view kIntegral[] = {"ROUND", "FLOOR", "CEIL", "TRUNC"};
            if (i_.get(F::fmt_float_d) != i_.get(F::fmt_float_s))
                return std::string(i_.text(F::rnd));
            if (i_.flag(F::round))
                return std::string(kIntegral[i_.get(F::rnd)]);
            return i_.get(F::rnd) == 0 ? "" : "PASS";
        }
        if (name == "lds_size") {
            if (i_.get(F::lds_size) == 4 && !i_.flag(F::u))
                return "";
            return std::string(i_.text(F::lds_size));
        }
        if (name == "fcmp")
            return i_.get(F::float_cmp) == 4 ? "" : std::string(i_.text(F::float_cmp));
        if (name == "bar_red")
            return i_.get(F::bar_mode) == 2 ? std::string(i_.text(F::bar_red)) : "";
        if (name == "texs_lod") {
            std::string_view both = i_.text(i_.has(F::texs_mode) ? F::texs_mode : F::tlds_mode);
            return std::string(both.substr(0, both.find(' ')));
        }
        if (name == "ald_phys") {
            bool physical = i_.get(F::src_a) != kRz && i_.get(F::attr_offset) == 0 && !i_.flag(F::patch);
            return physical ? "PHYS" : "";
        }
        if (name == "video_ab")
            return video_formats();
        if (name == "vabs4")
            return vabsdiff4();
        return {};
    }

    static std::string video_format(uint64_t part, bool is_signed) {
        return (is_signed ? "S" : "U") + std::string(part < 4 ? "8" : part < 6 ? "16" : "32");
    }

    std::string video_formats() {
        // Whole signed words go unsaid; an immediate b has 16 bits, a shift count no sign.
        bool b_word = (!i_.has(F::video_sel_b) && i_.op() != Op::VSETP) || i_.get(F::video_sel_b) == 6;
        bool b_default = b_word && (!i_.has(F::video_signed_b) || i_.flag(F::video_signed_b));
        std::string a = video_format(i_.get(F::video_sel_a), i_.flag(F::video_signed_a));
        if (a == "S32" && b_default)
            return "";
        return a + "." +
               video_format(i_.has(F::video_sel_b) ? i_.get(F::video_sel_b) : 4, i_.flag(F::video_signed_b));
    }

    std::string vabsdiff4() {
        if (i_.flag(F::vabs4_signed_a) && i_.flag(F::vabs4_signed_b))
            return {};
        return std::string(i_.text(F::vabs4_signed_a)) + "." + std::string(i_.text(F::vabs4_signed_b));
    }

    std::string operands() {
        std::string text;
        std::string_view list = i_.row->operands;
        while (!list.empty()) {
            std::string_view item = next_item(list, ", ");
            bool optional = item.ends_with('?');
            if (optional)
                item.remove_suffix(1);
            if (optional && neutral(item))
                continue;
            std::string word = operand(item);
            if (word.empty())
                continue;
            // The condition-code test of NOP and branches, and register and displacement of BRX, are not set
            // off alike.
            if (!text.empty())
                text += ", ";
            text += word;
        }
        return text;
    }

    // Whether an optional operand is left out.
    bool neutral(std::string_view item) const {
        if (item == "p")
            return i_.get(F::dst_pred) == kPt;
        if (item == "sp")
            return i_.get(F::src_pred) == kPt && !i_.flag(F::src_pred_neg);
        if (item == "d")
            return i_.get(F::dst) == kRz;
        if (item == "a")
            return i_.get(F::src_a) == kRz;
        if (item == "b")
            return i_.get(F::src_b) == kRz;
        if (item == "c")
            return i_.get(F::src_c) == kRz;
        if (item == "cc")
            return i_.get(F::cc_test) == 15;
        if (item == "lane_mask")
            return i_.get(F::lane_mask) == 15;
        if (std::optional<F> field = field_by_name(item))
            return i_.get(*field) == 0;
        return false;
    }

    std::string operand(std::string_view item) {
        if (item == "d")
            return register_name(i_.get(F::dst)) + (i_.flag(F::cc) ? ".CC" : "");
        if (item == "dst2")
            return register_name(i_.get(F::dst2));
        if (item == "a")
            return source(kA);
        if (item == "a_plain")
            return register_name(i_.get(F::src_a));
        if (item == "b")
            return second(Literal::integer);
        if (item == "bf")
            return second(Literal::f32);
        if (item == "bd")
            return second(Literal::f64);
        if (item == "bh")
            return second(Literal::half2);
        if (item == "b_")
            return second(Literal::integer, " ");
        if (item == "bf2f")
            return conversion_source();
        if (item == "c")
            return i_.form() == Form::reg_cbuf ? source(kC, constant()) : source(kC);
        if (item == "cas_b")
            return (i_.get(F::cas_rz) & 2) ? "RZ" : register_name(i_.get(F::src_b));
        if (item == "cas")
            return swap_register();
        if (item == "p")
            return predicate_name(i_.get(F::dst_pred));
        if (item == "q")
            return predicate_name(i_.get(F::dst_pred2));
        if (item == "sp")
            return source_predicate(F::src_pred, F::src_pred_neg);
        if (item == "sp2")
            return source_predicate(F::src_pred2, F::src_pred2_neg);
        if (item == "sp3")
            return source_predicate(F::src_pred3, F::src_pred3_neg);
        if (item == "bar_count")
            return i_.get(F::bar_count) == 0 && (i_.get(F::bar_mode) & 1) == 0 ? ""
                                                                               : hex(i_.get(F::bar_count));
        if (item == "bar_sp")
            return i_.get(F::bar_mode) >= 2 ? source_predicate(F::src_pred, F::src_pred_neg) : "";
        if (item == "[a]")
            return "[" + source(kA) + "]";
        if (item == "[a+]")
            return "[" + address(i_.row->index[size_t(F::offset)] ? F::offset : F::cbuf_offset) + "]";
        if (item == "c[a+]")
            return "c[" + hex(i_.get(F::cbuf_bank)) + "][" + address(F::cbuf_offset, true) + "]";
        if (item == "attr[a+]")
            return "a[" + address(F::attr_offset) + "]";
        if (item == "attr[ipa]")
            return "a[" +
                   (i_.flag(F::ipa_indexed) ? register_name(i_.get(F::src_a)) : hex(i_.get(F::attr_offset))) +
                   "]";
        if (item == "cb")
            return constant();
        if (item == "cc" || item == "cc?")
            return i_.get(F::cc_test) == 15 ? "" : "CC." + std::string(i_.text(F::cc_test));
        if (item == "target")
            return i_.has(F::address) ? hex(i_.get(F::address)) : signed_hex(i_.target());
        if (item == "a_off")
            return register_name(i_.get(F::src_a)) +
                   (i_.get(F::offset) == 0 ? "" : " " + signed_hex(i_.get_signed(F::offset)));
        if (item == "sreg")
            return special_register_name(i_.row->arch, uint32_t(i_.get(F::sreg)));
        if (item == "swz")
            return swizzle();
        if (item == "texs_dim") {
            std::string_view both = i_.text(i_.has(F::texs_mode) ? F::texs_mode : F::tlds_mode);
            return std::string(both.substr(both.find(' ') + 1));
        }
        if (item == "texs_mask")
            return texs_mask();
        if (item == "depbar_mask")
            return scoreboards();
        if (item == "attr_offset")
            return signed_hex(i_.get_signed(F::attr_offset));
        if (item.starts_with('\''))
            return std::string(item.substr(1, item.size() - 2));
        std::optional<F> field = field_by_name(item);
        if (!field)
            return "<" + std::string(item) + ">";
        return field_info(*field).values.empty() ? hex(i_.get(*field)) : std::string(i_.text(*field));
    }

    std::string conversion_source() {
        uint64_t format = i_.get(F::fmt_float_s);
        if (i_.form() == Form::imm) {
            if (format != 1)
                return immediate(format == 3 ? Literal::f64 : Literal::f32);
            // A half stands in the low 16 bits of the 20.
            return float16_text(i_.imm32() >> 12 & 0xffff) + immediate_signs();
        }
        return second(Literal::f32, i_.op() == Op::F2F && format != 1 ? "" : " ");
    }

    // Register that a compare-and-swap stores: the one behind src_b, or the pair behind it.
    std::string swap_register() const {
        uint64_t b = i_.get(F::src_b), zero = i_.get(F::cas_rz);
        if (zero != 0)
            return (zero & 1) ? "RZ" : register_name(b);
        return register_name(b == kRz ? b : b + (i_.flag(F::cas_64) ? 2 : 1));
    }

    std::string source_predicate(F predicate, F negated) const {
        return (i_.flag(negated) ? "!" : "") + predicate_name(i_.get(predicate));
    }

    // [R4+0x10]; without a register the bare (unsigned) number.
    std::string address(F offset, bool always_signed = false) const {
        uint64_t reg = i_.get(F::src_a);
        if (i_.get(offset) == 0 && !(always_signed && reg == kRz))
            return register_name(reg);
        if (reg == kRz)
            return always_signed ? signed_hex(i_.get_signed(offset)) : hex(i_.get(offset));
        return register_name(reg) + "+" + signed_hex(i_.get_signed(offset));
    }

    // The scheduling bits keep a register for the next instruction: bits 17, 18, 19 for a, b, c; the
    // floating-point adders take b through the third port.
    bool reused(F reg) const {
        if (i_.row->arch != Arch::sm_53 || texture())
            return false;
        bool adder = i_.op() == Op::FADD || i_.op() == Op::DADD || i_.op() == Op::HADD2;
        switch (reg) {
        case F::src_a: return i_.control >> 17 & 1;
        case F::src_b: return i_.control >> (adder ? 19 : 18) & 1;
        case F::src_c: return i_.control >> 19 & 1;
        default: return false;
        }
    }

    std::string constant(std::string_view gap = "") const {
        int64_t offset = int16_t(uint16_t(i_.get(F::cbuf_offset)));
        return "c[" + hex(i_.get(F::cbuf_bank)) + "]" + std::string(gap) + "[" + signed_hex(offset) + "]";
    }

    std::string part_suffix(const Operand& operand) const {
        std::string text;
        // Only half sources have an upper half to choose.
        if (i_.op() == Op::F2F && i_.get(F::fmt_float_s) != 1)
            return text;
        for (F field : {operand.hsel, operand.h1, operand.half})
            if (field != F::kCount)
                add(text, i_.text(field));
        if (operand.byte != F::kCount && i_.has(operand.byte)) {
            // With 16-bit sources byte 2 is the upper half.
            bool half = i_.has(F::fmt_int_s) && i_.get(F::fmt_int_s) == 1 && i_.get(operand.byte) == 2;
            add(text, half ? "H1" : i_.text(operand.byte));
        }
        if (operand.reg == F::src_a && i_.has(F::vabs4_sel_a))
            add(text, i_.text(F::vabs4_sel_a));
        if (operand.reg == F::src_b && i_.has(F::vabs4_sel_b))
            add(text, i_.text(F::vabs4_sel_b));
        if (operand.video_sel != F::kCount && i_.has(operand.video_sel)) {
            std::string_view part = i_.text(operand.video_sel);
            if (part[0] != '3' && part[1] != '0')
                add(text, part);
        }
        return text;
    }

    std::string source(const Operand& operand, std::string core = {}) const {
        bool is_register = core.empty();
        if (is_register)
            core = register_name(i_.get(operand.reg));
        core += part_suffix(operand);
        if (i_.flag(operand.abs))
            core = "|" + core + "|";
        if (i_.flag(operand.neg) && !plus_one_)
            core = "-" + core;
        if (i_.flag(operand.inv))
            core = "~" + core;
        return is_register && reused(operand.reg) ? core + ".reuse" : core;
    }

    std::string second(Literal literal, std::string_view gap = "") {
        switch (i_.form()) {
        case Form::cbuf: return source(kB, constant(gap));
        case Form::imm:
        case Form::imm32: return immediate(literal);
        default: return source(kB);
        }
    }

    std::string immediate(Literal literal) const {
        uint32_t bits = i_.imm32();
        std::string text;
        switch (literal) {
        case Literal::integer: text = integer(bits); break;
        case Literal::f32: text = float32_text(bits); break;
        case Literal::f64: text = float64_text(uint64_t(bits) << 32); break;
        case Literal::half2: text = float16_text(bits >> 16) + ", " + float16_text(bits & 0xffff); break;
        }
        if (i_.op() == Op::VADD && i_.flag(F::neg_b) && !plus_one_)
            return bits == 0 ? "0x0" : "-" + text;
        return text + immediate_signs();
    }

    std::string immediate_signs() const {
        std::string text;
        if (i_.flag(F::neg_b) && !plus_one_)
            text += ".NEG";
        if (i_.flag(F::abs_b))
            text += ".ABS";
        if (i_.flag(F::inv_b))
            text += ".INV";
        return text + part_suffix(kB);
    }

    std::string integer(uint32_t bits) const {
        if (i_.op() == Op::VADD || i_.op() == Op::VMAD)
            return hex(bits);
        if (i_.op() == Op::XMAD || i_.has(F::video_signed_a))
            return i_.flag(F::signed_b) || i_.flag(F::video_signed_b) ? signed_hex(int16_t(bits)) : hex(bits);
        if (i_.op() == Op::IADD3 || i_.op() == Op::R2P)
            return hex(bits & 0xfffff);
        // 20-bit integers are sign-extended; of the 32-bit ones arithmetic prints signed, logic and moves do
        // not.
        bool logic = i_.op() == Op::LOP32I || i_.op() == Op::MOV32I;
        return logic ? hex(bits) : signed_hex(int32_t(bits));
    }

    // Two letters for each lane pair, last lanes first: signs of the two operands, Z = the first counts as
    // zero.
    std::string swizzle() const {
        static constexpr std::string_view kSigns[] = {"PP", "NP", "PN", "ZP"};
        std::string text;
        for (int pair = 3; pair >= 0; --pair)
            text += kSigns[i_.get(F::swz_op) >> (2 * pair) & 3];
        return text;
    }

    std::string texs_mask() const {
        static constexpr std::string_view kTwo[] = {"R", "G", "B", "A", "RG", "RA", "GA", "BA"};
        static constexpr std::string_view kFour[] = {"RGB", "RGA", "RBA", "GBA", "RGBA", "?", "?", "?"};
        return std::string((i_.get(F::dst2) == kRz ? kTwo : kFour)[i_.get(F::texs_mask)]);
    }

    std::string scoreboards() const {
        std::string text;
        for (int board = 5; board >= 0; --board)
            if (i_.get(F::depbar_mask) >> board & 1)
                text += (text.empty() ? "" : ",") + std::to_string(board);
        return text.empty() ? text : "{" + text + "}";
    }

    const Instruction& i_;
    bool plus_one_ = false; // the .PO form: both signs together mean "plus one"
};

} // namespace

std::string disassemble(const Instruction& instruction) {
    return instruction.row ? Printer(instruction).print() : std::string();
}

} // namespace dmsh::isa
