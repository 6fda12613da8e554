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

std::string uniform_register_name(uint64_t number) {
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
    F reg, neg, abs, inv, hsel, h1, half, byte, video_sel, hsel86;
};

constexpr Operand kA{F::src_a, F::neg_a,  F::abs_a,  F::inv_a,       F::hsel_a,
                     F::h1_a,  F::half_a, F::byte_a, F::video_sel_a, F::kCount};
constexpr Operand kB{F::src_b, F::neg_b,  F::abs_b,  F::inv_b,       F::hsel_b,
                     F::h1_b,  F::half_b, F::byte_b, F::video_sel_b, F::hsel86_b};
constexpr Operand kC{F::src_c, F::neg_c,  F::abs_c,  F::inv_c,  F::hsel_c,
                     F::h1_c,  F::half_c, F::kCount, F::kCount, F::kCount};

class Printer {
  public:
    explicit Printer(const Instruction& instruction) : i_(instruction) {}

    std::string print() {
        std::string text;
        if (i_.get(F::pred) != kPt || i_.flag(F::pred_neg))
            text = std::string(i_.flag(F::pred_neg) ? "@!" : "@") + predicate(F::pred) + " ";
        text += i_.mnemonic();
        text += modifiers();
        std::string list = operands();
        // The one mnemonic that its disassembler joins with the address.
        if (!list.empty() && !(text.ends_with(".QRY1") && list[0] == '['))
            text += " ";
        text += list;
        while (text.ends_with(' '))
            text.pop_back();
        if (i_.get(F::pm) != 0)
            text += " ?PM" + std::to_string(i_.get(F::pm));
        return text;
    }

  private:
    // Registers with a number of 6 bits are uniform.
    std::string reg(F field) const {
        uint8_t index = i_.row->index[size_t(field)];
        bool uniform = index != 0 && i_.row->fields[index - 1].bits == 6;
        return uniform ? uniform_register_name(i_.get(field)) : register_name(i_.get(field));
    }

    bool is_zero_register(F field) const {
        uint8_t index = i_.row->index[size_t(field)];
        bool uniform = index != 0 && i_.row->fields[index - 1].bits == 6;
        return i_.get(field) == (uniform ? kUrz : kRz);
    }

    std::string predicate(F field) const {
        bool uniform = i_.flag(F::uniform_op) || field == F::src_upred || field == F::dst_upred;
        return (uniform ? "U" : "") + predicate_name(i_.get(field));
    }

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
        if (name == "imad_kind")
            return imad_kind();
        if (name == "h2_type")
            return i_.flag(F::bf16) ? "BF16_V2" : std::string(i_.text(F::h2_f32));
        if (name == "f2f") {
            static constexpr std::string_view kFormats[] = {"?", "F16", "F32", "F64"};
            std::string text =
                std::string(i_.text(F::f2f_d)) + "." + std::string(kFormats[i_.get(F::fmt_float_s) & 3]);
            add(text, i_.text(F::rnd));
            return text;
        }
        if (name == "f2i") { // S32 and F32 go unsaid
            std::string text;
            if (!i_.flag(F::signed_d) || i_.get(F::fmt_int_d) != 2)
                add(text, (i_.flag(F::signed_d) ? "S" : "U") + std::string(i_.text(F::fmt_int_d)));
            if (i_.get(F::fmt_float_s) != 2)
                add(text, i_.get(F::fmt_float_s) == 1 ? "F16" : "F64");
            return text.empty() ? text : text.substr(1);
        }
        if (name == "i2f") { // F32 and S32 go unsaid
            static constexpr std::string_view kWidths[] = {"8", "16", "32", "64"};
            std::string text;
            if (i_.get(F::fmt_float_d) != 2)
                add(text, i_.get(F::fmt_float_d) == 1 ? "F16" : "F64");
            if (!i_.flag(F::signed_s) || i_.get(F::fmt_int_s) != 2)
                add(text,
                    (i_.flag(F::signed_s) ? "S" : "U") + std::string(kWidths[i_.get(F::fmt_int_s) & 3]));
            return text.empty() ? text : text.substr(1);
        }
        if (name == "frnd")
            return i_.get(F::fmt_float_s) == 2 ? "" : i_.get(F::fmt_float_s) == 1 ? "F16" : "F64";
        if (name == "i2fp")
            return i_.flag(F::signed_s) ? "S32" : "U32";
        if (name == "f2fp_pack")
            return i_.flag(F::f2fp_merge) ? "MERGE_C" : "PACK_AB";
        if (name == "hmma") {
            std::string text = i_.has(F::sparse) ? "SP." + std::string(i_.text(F::hmma_sp_shape))
                                                 : std::string(i_.text(F::hmma_shape));
            text += "." + std::string(i_.text(F::hmma_f32));
            add(text, i_.text(F::hmma_type));
            return text;
        }
        if (name == "idp")
            return idp();
        if (name == "video_ab")
            return video_formats();
        if (name == "vabs4")
            return vabsdiff4();
        return {};
    }

    // Names of the multiply-add that moves, shifts or adds.
    std::string imad_kind() const {
        if (i_.form() == Form::imm) {
            uint32_t factor = i_.imm32();
            bool power = (factor & (factor - 1)) == 0;
            if (i_.get(F::src_a) == kRz)
                return "MOV";
            if (factor <= 1)
                return factor == 0 ? "MOV" : "IADD";
            // By 2^16 it is also a 16-bit pack, which keeps its own name.
            return power && factor != 0x10000 && i_.get(F::src_c) == kRz ? "SHL" : "";
        }
        if (i_.form() == Form::ureg || i_.form() == Form::reg_ureg)
            return "";
        bool zero = i_.get(F::src_a) == kRz || (i_.has(F::src_b) && i_.get(F::src_b) == kRz);
        return zero ? "MOV" : "";
    }

    std::string idp() const {
        std::string text = i_.flag(F::idp_2a) ? (i_.flag(F::idp_hi) ? "2A.HI" : "2A.LO") : "4A";
        text += i_.flag(F::idp_a_signed) ? ".S" : ".U";
        text += i_.flag(F::idp_2a) ? "16" : "8";
        return text + (i_.flag(F::idp_b_signed) ? ".S8" : ".U8");
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
        if (item == "sup")
            return i_.get(F::src_upred) == kPt && !i_.flag(F::src_upred_neg);
        if (item == "q")
            return i_.get(F::dst_pred2) == kPt;
        if (item == "dup")
            return i_.get(F::dst_upred) == kPt;
        if (item == "mask")
            return i_.form() == Form::imm && i_.imm32() == 0xff;
        if (item == "tex_mask86")
            return i_.get(F::tex_mask) == 15;
        if (item == "sp")
            return i_.get(F::src_pred) == kPt && !i_.flag(F::src_pred_neg);
        if (item == "d")
            return is_zero_register(F::dst);
        if (item == "a")
            return is_zero_register(F::src_a);
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
            return reg(F::dst) + (i_.flag(F::cc) ? ".CC" : "");
        if (item == "dst2")
            return reg(F::dst2);
        if (item == "a")
            return source(kA);
        if (item == "a_plain")
            return reg(F::src_a);
        if (item == "b")
            return second(Literal::integer);
        if (item == "bf")
            return second(Literal::f32);
        if (item == "bd")
            return second(Literal::f64);
        if (item == "bh")
            return second(Literal::half2, half_gap());
        if (item == "b_")
            return second(Literal::integer, " ");
        if (item == "bf2f")
            return conversion_source();
        if (item == "c")
            return third(Literal::integer);
        if (item == "cf")
            return third(Literal::f32);
        if (item == "cd")
            return third(Literal::f64);
        if (item == "ch")
            return third(Literal::half2, half_gap());
        if (item == "b_h")
            return i_.form() == Form::imm ? float16_text(i_.imm32() & 0xffff) : second(Literal::f32, " ");
        if (item == "bmufu")
            return second(i_.get(F::mufu86_op) == 6 || i_.get(F::mufu86_op) == 7 ? Literal::f64
                                                                                 : Literal::f32);
        if (item == "bcvt")
            return ampere_conversion_source();
        if (item == "cas_b")
            return (i_.get(F::cas_rz) & 2) ? "RZ" : register_name(i_.get(F::src_b));
        if (item == "cas")
            return swap_register();
        if (item == "p")
            return predicate(F::dst_pred);
        if (item == "q")
            return predicate(F::dst_pred2);
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
        if (item == "[u+]")
            return uniform_address();
        if (item == "[s+]")
            return shared_address();
        if (item == "[n+]")
            return "[" + reg(F::src_a) + (i_.get(F::offset) == 0 ? "" : "+" + hex(i_.get(F::offset))) + "]";
        if (item == "attr[u+]" || item == "attr[t]") {
            int64_t offset = item == "attr[t]" ? int64_t(i_.get(F::attr_offset)) : attribute_offset();
            if (i_.get(F::attr_base) == kUrz)
                return "a[" + hex(uint64_t(offset)) + "]";
            return "a[" + uniform_register_name(i_.get(F::attr_base)) +
                   (offset == 0 ? "" : "+" + signed_hex(offset)) + "]";
        }
        if (item == "cx[a+]")
            return "cx[" + uniform_register_name(i_.get(F::cx_base)) + "][" +
                   address(F::cbuf_offset, i_.row->arch == Arch::sm_53) + "]";
        if (item == "dup")
            return predicate(F::dst_upred);
        if (item == "sup")
            return source_predicate(F::src_upred, F::src_upred_neg);
        if (item == "tex_ur")
            return uniform_register_name(i_.get(F::tex_ur));
        if (item == "[l+]") {
            std::string inner = "[" + reg(F::src_a) + plus_offset() + "]";
            return i_.flag(F::desc_form) ? "desc[" + uniform_register_name(i_.get(F::mem_base)) + "]" + inner
                                         : inner;
        }
        if (item == "d_reg")
            return register_name(i_.get(F::src_d)) + (i_.hi >> 61 & 1 ? ".reuse" : "");
        if (item == "a_sign")
            return source(kA) + ".SIGN";
        if (item == "b_sign")
            return second(Literal::integer, " ") + ".SIGN";
        if (item == "c_sign")
            return source(kC) + ".SIGN";
        if (item == "a_row")
            return source(kA) + ".ROW";
        if (item == "b_col")
            return source(kB) + ".COL";
        if (item == "c_part")
            return source(kC) + (i_.get(F::i2ip_d4) < 2 ? ".28" : ".24");
        if (item == "[d+]") {
            int64_t offset = i_.get_signed(F::shared_offset);
            return "[" + reg(F::dst) + (offset == 0 ? "" : "+" + signed_hex(offset)) + "]";
        }
        if (item == "mask")
            return second(Literal::integer);
        if (item == "c_h")
            return float32_text(i_.imm32()) + (i_.flag(F::h1_c) ? ".H1" : "");
        if (item == "c_")
            return third(Literal::f32, " ");
        if (item == "attr[a]")
            return "a[" + reg(F::src_a) + "]";
        if (item == "a_target")
            return reg(F::src_a) + (i_.get(F::offset) == 0 && (i_.flag(F::call_abs) || i_.flag(F::ret_abs))
                                        ? ""
                                        : " " + signed_hex(i_.target()));
        if (item == "bar_b")
            return "B" + std::to_string(i_.get(F::bar_b));
        if (item == "bmov_src")
            return thread_state(i_.get(F::bmov_src));
        if (item == "bmov_dst")
            return thread_state(i_.get(F::bmov_dst));
        if (item == "tex_mask86")
            return hex(i_.get(F::tex_mask));
        if (item == "c[a+]")
            return "c[" + hex(i_.get(F::cbuf_bank)) + "][" +
                   address(F::cbuf_offset, i_.row->arch == Arch::sm_53) + "]";
        if (item == "attr[a+]" && i_.row->arch == Arch::sm_86 && i_.get(F::src_a) == kRz)
            return "a[" + hex(i_.get(F::attr_offset)) + "]";
        if (item == "attr[a+]")
            return "a[" + address(F::attr_offset) + "]";
        if (item == "attr[ipa]")
            return "a[" + (i_.flag(F::ipa_indexed) ? reg(F::src_a) : hex(i_.get(F::attr_offset))) + "]";
        if (item == "cb")
            return constant();
        if (item == "cc" || item == "cc?")
            return i_.get(F::cc_test) == 15 ? "" : "CC." + std::string(i_.text(F::cc_test));
        if (item == "target")
            return i_.has(F::address) ? hex(i_.get(F::address)) : signed_hex(i_.target());
        if (item == "a_off")
            return reg(F::src_a) + (i_.get(F::offset) == 0 ? "" : " " + signed_hex(i_.get_signed(F::offset)));
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

    // Packed-half instructions of sm_86 set bank and offset of a constant apart.
    std::string_view half_gap() const {
        return i_.row->arch == Arch::sm_86 && !i_.flag(F::h2_mma) ? " " : "";
    }

    std::string ampere_conversion_source() {
        bool half = i_.get(F::fmt_float_s) == 1;
        bool narrow = half || (i_.has(F::fmt_int_s) && i_.get(F::fmt_int_s) < 2);
        if (i_.form() == Form::imm) {
            if (half)
                return float16_text(i_.imm32() & 0xffff);
            if (i_.has(F::fmt_int_s))
                return i_.flag(F::signed_s) ? signed_hex(int32_t(i_.imm32())) : hex(i_.imm32());
            return immediate(i_.get(F::fmt_float_s) == 3 ? Literal::f64 : Literal::f32);
        }
        return second(Literal::integer, narrow ? " " : "");
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

    std::string source_predicate(F field, F negated) const {
        return (i_.flag(negated) ? "!" : "") + this->predicate(field);
    }

    static std::string thread_state(uint64_t number) {
        static constexpr std::string_view kNames[] = {"THREAD_STATE_ENUM.0",
                                                      "THREAD_STATE_ENUM.1",
                                                      "THREAD_STATE_ENUM.2",
                                                      "THREAD_STATE_ENUM.3",
                                                      "THREAD_STATE_ENUM.4",
                                                      "TRAP_RETURN_PC.LO",
                                                      "TRAP_RETURN_PC.HI",
                                                      "TRAP_RETURN_MASK",
                                                      "MEXITED",
                                                      "MKILL",
                                                      "MACTIVE",
                                                      "MATEXIT",
                                                      "OPT_STACK",
                                                      "API_CALL_DEPTH",
                                                      "ATEXIT_PC.LO",
                                                      "ATEXIT_PC.HI"};
        return number < 16 ? "B" + std::to_string(number) : std::string(kNames[number & 15]);
    }

    int64_t attribute_offset() const {
        return i_.op() == Op::IPA ? int64_t(i_.get(F::attr_offset)) : i_.get_signed(F::attr_offset);
    }

    std::string plus_offset() const {
        int64_t offset = i_.get_signed(F::offset);
        return offset == 0 ? "" : "+" + signed_hex(offset);
    }

    // Address with a uniform base or a memory descriptor.
    std::string uniform_address() const {
        std::string base = uniform_register_name(i_.get(F::mem_base));
        std::string own = reg(F::src_a);
        if (i_.flag(F::mem_desc) && i_.flag(F::desc_form))
            return "desc[" + base + "][" + own + ".64" + plus_offset() + "]";
        if (i_.flag(F::mem_desc))
            return "[" + own + ".64" + plus_offset() + "]";
        if (i_.get(F::src_a) == kRz)
            return "[" + base + plus_offset() + "]";
        return "[" + own + (i_.flag(F::mem_wide) ? ".64+" : ".U32+") + base + plus_offset() + "]";
    }

    // Shared or local address: scaled register, uniform base, displacement.
    std::string shared_address() const {
        std::string text = i_.get(F::src_a) == kRz ? "" : reg(F::src_a);
        if (std::string_view stride = i_.text(F::mem_stride); !stride.empty())
            text = reg(F::src_a) + "." + std::string(stride);
        if (i_.has(F::mem_base))
            text += (text.empty() ? "" : "+") + uniform_register_name(i_.get(F::mem_base));
        if (text.empty())
            return i_.get(F::offset) == 0 ? "[RZ]" : "[" + hex(i_.get(F::offset)) + "]";
        return "[" + text + plus_offset() + "]";
    }

    // [R4+0x10]; without a register the bare (unsigned) number.
    std::string address(F offset, bool always_signed = false) const {
        bool no_register = is_zero_register(F::src_a);
        if (i_.get(offset) == 0 && !(always_signed && no_register))
            return reg(F::src_a);
        if (no_register)
            return always_signed ? signed_hex(i_.get_signed(offset)) : hex(i_.get(offset));
        return reg(F::src_a) + "+" + signed_hex(i_.get_signed(offset));
    }

    // The scheduling bits keep a register for the next instruction: bits 17, 18, 19 for a, b, c; the
    // floating-point adders take b through the third port.
    bool adds_through_third_port() const {
        switch (i_.op()) {
        case Op::FADD:
        case Op::DADD:
        case Op::DSETP:
        case Op::HADD2:
        case Op::HSET2:
        case Op::HSETP2: return true;
        default: return false;
        }
    }

    bool reused(F reg) const {
        if (i_.row->arch == Arch::sm_86) {
            uint8_t index = i_.row->index[size_t(reg)];
            if (index == 0 || i_.row->fields[index - 1].bits != 8)
                return false;
            bool third_port = reg == F::src_c || (reg == F::src_b && adds_through_third_port());
            return i_.hi >> (reg == F::src_a ? 58 : third_port ? 60 : 59) & 1;
        }
        if (texture())
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
        if (i_.has(F::cx_base))
            offset = int64_t(i_.get(F::cbuf_offset));
        if (i_.has(F::cx_base))
            return "cx[" + uniform_register_name(i_.get(F::cx_base)) + "]" + std::string(gap) + "[" +
                   signed_hex(offset) + "]";
        return "c[" + hex(i_.get(F::cbuf_bank)) + "]" + std::string(gap) + "[" + signed_hex(offset) + "]";
    }

    std::string part_suffix(const Operand& operand) const {
        std::string text;
        // Only half sources have an upper half to choose.
        if (i_.op() == Op::F2F && i_.get(F::fmt_float_s) != 1 && i_.row->arch == Arch::sm_53)
            return text;
        for (F field : {operand.hsel, operand.h1, operand.half})
            if (field != F::kCount)
                add(text, i_.text(field));
        if (operand.byte != F::kCount && i_.has(operand.byte)) {
            // With 16-bit sources byte 2 is the upper half.
            bool half = i_.has(F::fmt_int_s) && i_.get(F::fmt_int_s) == 1 && i_.get(operand.byte) == 2;
            add(text, half ? "H1" : i_.text(operand.byte));
        }
        if (operand.hsel86 != F::kCount && i_.has(operand.hsel86))
            add(text, i_.text(operand.hsel86));
        if (operand.reg == F::src_b) {
            add(text, i_.text(F::hpart_b));
            add(text, i_.text(F::half86_b));
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
            core = reg(operand.reg);
        // Half selections of sm_86 registers stand behind the bars.
        bool selects = i_.has(operand.hsel) || (operand.hsel86 != F::kCount && i_.has(operand.hsel86));
        bool behind_bars = i_.row->arch == Arch::sm_86 && is_register && selects && core[0] == 'R';
        if (!behind_bars)
            core += part_suffix(operand);
        if (i_.flag(operand.abs))
            core = "|" + core + "|";
        if (behind_bars)
            core += (reused(operand.reg) ? ".reuse" : "") + part_suffix(operand);
        // Extended integer additions invert where plain ones negate.
        bool inverts = i_.row->arch == Arch::sm_86 && i_.flag(F::x);
        if (i_.flag(operand.neg) && !plus_one_)
            core = (inverts ? "~" : "-") + core;
        if (i_.flag(operand.inv))
            core = "~" + core;
        return is_register && !behind_bars && reused(operand.reg) ? core + ".reuse" : core;
    }

    std::string second(Literal literal, std::string_view gap = "") {
        switch (i_.form()) {
        case Form::cbuf:
        case Form::cx: return source(kB, constant(gap));
        case Form::imm:
        case Form::imm32: return immediate(literal);
        default: return source(kB);
        }
    }

    std::string third(Literal literal, std::string_view gap = "") {
        switch (i_.form()) {
        case Form::reg_cbuf:
        case Form::reg_cx: return source(kC, constant(gap));
        case Form::reg_imm: return immediate(literal);
        default: return source(kC);
        }
    }

    std::string pair(uint32_t bits) const {
        if (i_.row->arch == Arch::sm_86 && i_.op() == Op::HADD2 && i_.flag(F::h2_f32))
            return float16_text(bits & 0xffff);
        if (i_.flag(F::bf16))
            return float32_text(bits & 0xffff0000) + ", " + float32_text(bits << 16);
        return float16_text(bits >> 16) + ", " + float16_text(bits & 0xffff);
    }

    std::string immediate(Literal literal) const {
        uint32_t bits = i_.imm32();
        std::string text;
        switch (literal) {
        case Literal::integer: text = integer(bits); break;
        case Literal::f32: text = float32_text(bits); break;
        case Literal::f64: text = float64_text(uint64_t(bits) << 32); break;
        case Literal::half2: text = pair(bits); break;
        }
        if (i_.op() == Op::VADD && i_.flag(F::neg_b) && !plus_one_)
            return bits == 0 ? "0x0" : "-" + text;
        return text + immediate_signs();
    }

    std::string immediate_signs() const {
        std::string text;
        if (i_.form() == Form::reg_imm)
            return text; // b is a register, its signs are printed there
        if (i_.flag(F::neg_b) && !plus_one_)
            text += ".NEG";
        if (i_.flag(F::abs_b))
            text += ".ABS";
        if (i_.flag(F::inv_b))
            text += ".INV";
        return text + part_suffix(kB);
    }

    bool signed_immediate() const {
        switch (i_.op()) {
        case Op::IADD3:
        case Op::IMAD:
        case Op::ISETP:
        case Op::IMNMX:
        case Op::IABS:
        case Op::I2I:
        case Op::IDP:
        case Op::P2R:
        case Op::R2P:
        case Op::UIADD3:
        case Op::UIMAD:
        case Op::UISETP: return true;
        case Op::I2FP: return i_.flag(F::signed_s);
        default: return false;
        }
    }

    std::string integer(uint32_t bits) const {
        if (i_.row->arch == Arch::sm_86)
            return signed_immediate() ? signed_hex(int32_t(bits)) : hex(bits);
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
        static constexpr std::string_view kMaxwell[] = {"PP", "NP", "PN", "ZP"};
        static constexpr std::string_view kAmpere[] = {"PP", "PN", "NP", "ZP"};
        const auto& kSigns = i_.row->arch == Arch::sm_53 ? kMaxwell : kAmpere;
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
