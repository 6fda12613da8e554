// Parses the encoding tables (maxwell.def, ampere.def, fields.def) once, at first use, and checks them.
#include "compiler/isa/table.h"

namespace dmsh::isa {
namespace {

struct RowText {
    Op op;
    Form form;
    std::string_view pattern, fields, modifiers, operands;
};

struct AmpereRowText {
    Op op;
    Form form;
    unsigned opcode;
    std::string_view fields, modifiers, operands;
};

constexpr RowText kMaxwellText[] = {
#define ROW(op, form, pattern, fields, modifiers, operands)                                                  \
    {Op::op, Form::form, pattern, fields, modifiers, operands},
#include "compiler/isa/maxwell.def"
#undef ROW
};

// The two tables name their groups of fields alike.
#undef D
#undef A
#undef B
#undef C
#undef SP
#undef TEX_HANDLE
#undef TEX_TAIL
#undef BAR_FIELDS
#undef SULD_FIELDS
#undef SUST_FIELDS
#undef SURED_FIELDS
#undef SUATOM_FIELDS

constexpr AmpereRowText kAmpereText[] = {
#define ROW(op, form, opcode, fields, modifiers, operands)                                                   \
    {Op::op, Form::form, opcode, fields, modifiers, operands},
#include "compiler/isa/ampere.def"
#undef ROW
};

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos)
            return parts;
        text.remove_prefix(end + 1);
    }
}

// Reads a decimal number at the front of `text`; false if there is none.
bool take_number(std::string_view& text, uint32_t& value) {
    size_t digits = 0;
    value = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9')
        value = value * 10 + uint32_t(text[digits++] - '0');
    text.remove_prefix(digits);
    return digits != 0;
}

bool take(std::string_view& text, char c) {
    if (text.empty() || text[0] != c)
        return false;
    text.remove_prefix(1);
    return true;
}

uint64_t bits_mask(unsigned width) {
    return width >= 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
}

void mark(unsigned lo, unsigned width, uint64_t& mask_lo, uint64_t& mask_hi) {
    for (unsigned bit = lo; bit < lo + width; ++bit)
        (bit < 64 ? mask_lo : mask_hi) |= uint64_t(1) << (bit & 63);
}

class Parser {
  public:
    explicit Parser(Tables& tables) : tables_(tables) {}

    void parse_fields() {
        struct {
            std::string_view name;
            unsigned width;
            std::string_view values, doc;
        } const text[] = {
#define FIELD(name, width, values, doc) {#name, width, values, doc},
#include "compiler/isa/fields.def"
#undef FIELD
        };
        for (const auto& field : text) {
            FieldInfo info{field.name, uint8_t(field.width), {}, field.doc};
            if (!field.values.empty()) {
                for (std::string_view item : split(field.values, '|')) {
                    std::string_view rest = item;
                    uint32_t value = 0;
                    if (take_number(rest, value) && take(rest, '=')) {
                        if (info.values.size() <= value)
                            info.values.resize(value + 1, "?");
                        info.values[value] = rest;
                    } else {
                        info.values.push_back(item);
                    }
                }
            }
            tables_.fields.push_back(std::move(info));
        }
    }

    Row parse_row(const RowText& text) {
        Row row = start(text.op, text.form, Arch::sm_53, text.modifiers, text.operands);
        row.pattern = text.pattern;
        parse_pattern(text.pattern, row);
        bool guarded = text.fields.find("pred_neg=") == text.fields.npos;
        parse_fields(row, guarded ? "pred:16 pred_neg:19" : "", text.fields);
        return row;
    }

    Row parse_row(const AmpereRowText& text) {
        Row row = start(text.op, text.form, Arch::sm_86, text.modifiers, text.operands);
        static constexpr char kDigits[] = "0123456789abcdef";
        tables_.patterns.push_back({'0', 'x', kDigits[text.opcode >> 8 & 15], kDigits[text.opcode >> 4 & 15],
                                    kDigits[text.opcode & 15]});
        row.pattern = tables_.patterns.back();
        row.match_lo = text.opcode;
        row.mask_lo = 0xfff;
        parse_fields(row, "pred:12 pred_neg:15 pm:102", text.fields);
        // Bit 91 tells that a uniform register is read.
        if ((row.mask_hi >> (91 - 64) & 1) == 0)
            parse_pin(reads_uniform_register(row) ? "91=1" : "91=0", row);
        row.used_hi |= row.mask_hi;
        // Operand slots that the row does not use, and the scheduling bits.
        mark(16, 16, row.used_lo, row.used_hi);
        mark(64, 8, row.used_lo, row.used_hi);
        mark(81, 10, row.used_lo, row.used_hi);
        mark(105, 21, row.used_lo, row.used_hi);
        return row;
    }

  private:
    Row start(Op op, Form form, Arch arch, std::string_view modifiers, std::string_view operands) {
        Row row;
        row.op = op;
        row.form = form;
        row.arch = arch;
        row.modifiers = modifiers;
        row.operands = operands;
        fields_lo_ = fields_hi_ = 0;
        return row;
    }

    void parse_fields(Row& row, std::string_view common, std::string_view own) {
        for (std::string_view list : {common, own})
            for (std::string_view item : split(list, ' '))
                if (!item.empty())
                    parse_field(item, row);
        row.used_lo |= row.mask_lo;
        row.used_hi |= row.mask_hi;
    }

    static bool reads_uniform_register(const Row& row) {
        for (const FieldPlace& place : row.fields) {
            switch (place.field) {
            case F::src_a:
            case F::src_b:
            case F::src_c:
                if (place.bits == 6)
                    return true;
                break;
            case F::cx_base:
            case F::mem_base:
            case F::attr_base:
            case F::tex_ur: return true;
            default: break;
            }
        }
        return false;
    }

    // `!lo[+width]=value`: further opcode bits.
    bool parse_pin(std::string_view place, Row& row) {
        uint32_t lo = 0, width = 1, value = 0;
        if (!take_number(place, lo) || (take(place, '+') && !take_number(place, width)) || lo + width > 128 ||
            !take(place, '=') || !take_number(place, value))
            return false;
        mark(lo, width, row.mask_lo, row.mask_hi);
        for (unsigned bit = 0; bit < width; ++bit)
            if (value >> bit & 1)
                mark(lo + bit, 1, row.match_lo, row.match_hi);
        return true;
    }

    void fault(const Row& row, std::string_view what, std::string_view item) {
        tables_.faults.push_back(std::string(op_name(row.op)) + " " + std::string(row.pattern) + ": " +
                                 std::string(what) + " '" + std::string(item) + "'");
    }

    void parse_pattern(std::string_view pattern, Row& row) {
        int bit = 63;
        for (char c : pattern) {
            if (c == ' ')
                continue;
            if (bit < 0)
                return fault(row, "pattern too long", pattern);
            if (c != '-') {
                row.mask_lo |= uint64_t(1) << bit;
                if (c == '1')
                    row.match_lo |= uint64_t(1) << bit;
            }
            --bit;
        }
    }

    void parse_field(std::string_view item, Row& row) {
        if (item[0] == '~') { // known bits without meaning
            uint32_t lo = 0, width = 1;
            std::string_view place = item.substr(1);
            if (!take_number(place, lo) || (take(place, '+') && !take_number(place, width)) ||
                lo + width > 128)
                return fault(row, "bad place", item);
            mark(lo, width, row.used_lo, row.used_hi);
            return;
        }
        if (item[0] == '!') {
            if (!parse_pin(item.substr(1), row))
                fault(row, "bad opcode bits", item);
            return;
        }
        size_t name_end = item.find_first_of(":=");
        std::string_view rest =
            name_end == std::string_view::npos ? std::string_view() : item.substr(name_end + 1);
        std::optional<F> field = field_by_name(item.substr(0, name_end));
        if (!field || rest.empty())
            return fault(row, "unknown field", item);
        if (row.has(*field))
            return fault(row, "field stands twice", item);
        FieldPlace place;
        place.field = *field;
        if (item[name_end] == '=') {
            if (!take_number(rest, place.constant) || !rest.empty())
                return fault(row, "bad constant", item);
        } else if (!parse_pieces(rest, place, row)) {
            return fault(row, "bad place", item);
        }
        row.fields.push_back(place);
        row.index[size_t(*field)] = uint8_t(row.fields.size());
    }

    bool parse_pieces(std::string_view rest, FieldPlace& place, Row& row) {
        size_t count = 0;
        do {
            uint32_t lo = 0, width = field_info(place.field).width, to = place.bits;
            if (count == 4 || !take_number(rest, lo))
                return false;
            if (take(rest, '+') && !take_number(rest, width))
                return false;
            if (take(rest, '@') && !take_number(rest, to))
                return false;
            if (lo + width > 128 || width == 0 || to + width > 64)
                return false;
            uint64_t lo_bits = 0, hi_bits = 0;
            mark(lo, width, lo_bits, hi_bits);
            // No bit belongs to two fields; FFMA32I and the like read the destination as a third source,
            // which is the one overlap that is meant. A pattern may pin bits of a field where only some
            // values are allowed.
            bool destination_read_again = place.field == F::src_c && lo == 0;
            if (!destination_read_again && ((fields_lo_ & lo_bits) || (fields_hi_ & hi_bits)))
                fault(row, "bits used twice by", field_info(place.field).name);
            fields_lo_ |= lo_bits;
            fields_hi_ |= hi_bits;
            row.used_lo |= lo_bits;
            row.used_hi |= hi_bits;
            place.pieces[count++] = Piece{uint8_t(lo), uint8_t(width), uint8_t(to)};
            if (place.bits < to + width)
                place.bits = uint8_t(to + width);
        } while (take(rest, ','));
        place.sign_extend = take(rest, '!');
        place.inverted = take(rest, '^');
        return rest.empty();
    }

    const FieldInfo& field_info(F field) const {
        return tables_.fields[size_t(field)];
    }
    std::optional<F> field_by_name(std::string_view name) const {
        for (size_t i = 0; i < tables_.fields.size(); ++i)
            if (tables_.fields[i].name == name)
                return F(i);
        return std::nullopt;
    }

    Tables& tables_;
    uint64_t fields_lo_ = 0, fields_hi_ = 0; // bits of the row's fields so far
};

Tables build() {
    Tables result;
    Parser parser(result);
    parser.parse_fields();
    for (const RowText& text : kMaxwellText)
        result.maxwell.push_back(parser.parse_row(text));
    for (const AmpereRowText& text : kAmpereText)
        result.ampere.push_back(parser.parse_row(text));
    return result;
}

constexpr std::string_view kOpNames[] = {
#define OP(name) #name,
#include "compiler/isa/ops.def"
#undef OP
};

} // namespace

const Tables& tables() {
    static const Tables built = build();
    return built;
}

const FieldInfo& field_info(F field) {
    return tables().fields[size_t(field)];
}

uint64_t extract(const FieldPlace& place, uint64_t lo, uint64_t hi) {
    if (place.pieces[0].width == 0)
        return place.constant;
    uint64_t value = 0;
    for (const Piece& piece : place.pieces) {
        if (piece.width == 0)
            break;
        uint64_t bits = piece.lo >= 64 ? hi >> (piece.lo - 64) : lo >> piece.lo;
        if (piece.lo < 64 && piece.lo + piece.width > 64)
            bits |= hi << (64 - piece.lo);
        value |= (bits & bits_mask(piece.width)) << piece.to;
    }
    if (place.inverted)
        value ^= bits_mask(place.bits);
    if (place.sign_extend && place.bits < 32 && (value >> (place.bits - 1) & 1))
        value |= uint64_t(0xffffffffu) & ~bits_mask(place.bits);
    return value;
}

bool insert(const FieldPlace& place, uint64_t value, uint64_t& lo, uint64_t& hi) {
    if (place.pieces[0].width == 0)
        return place.constant == value;
    uint64_t stored = place.inverted ? value ^ bits_mask(place.bits) : value;
    for (const Piece& piece : place.pieces) {
        if (piece.width == 0)
            break;
        uint64_t bits = stored >> piece.to & bits_mask(piece.width);
        if (piece.lo >= 64) {
            hi = (hi & ~(bits_mask(piece.width) << (piece.lo - 64))) | bits << (piece.lo - 64);
        } else {
            lo = (lo & ~(bits_mask(piece.width) << piece.lo)) | bits << piece.lo;
            if (unsigned over = piece.lo + piece.width; over > 64) {
                uint64_t upper = bits_mask(over - 64);
                hi = (hi & ~upper) | bits >> (64 - piece.lo);
            }
        }
    }
    return extract(place, lo, hi) == value;
}

std::string_view op_name(Op op) {
    return op < Op::kCount ? kOpNames[size_t(op)] : "?";
}

std::string_view field_name(F field) {
    return field < F::kCount ? field_info(field).name : "?";
}

std::string_view field_doc(F field) {
    return field < F::kCount ? field_info(field).doc : "";
}

std::string_view form_name(Form form) {
    static constexpr std::string_view kNames[] = {"none",  "reg",      "cbuf",     "imm",
                                                  "imm32", "reg_cbuf", "cbuf_reg", "reg_imm",
                                                  "ureg",  "reg_ureg", "cx",       "reg_cx"};
    return kNames[size_t(form)];
}

std::optional<Op> op_by_name(std::string_view name) {
    for (size_t i = 0; i < kOpCount; ++i)
        if (kOpNames[i] == name)
            return Op(i);
    return std::nullopt;
}

std::optional<F> field_by_name(std::string_view name) {
    for (size_t i = 0; i < kFieldCount; ++i)
        if (tables().fields[i].name == name)
            return F(i);
    return std::nullopt;
}

std::span<const Row> maxwell_rows() {
    return tables().maxwell;
}

std::span<const Row> ampere_rows() {
    return tables().ampere;
}

std::span<const std::string> table_faults() {
    return tables().faults;
}

} // namespace dmsh::isa
