// Builds machine words from table rows and field values, for tests.
#include "compiler/isa/table.h"

namespace dmsh::isa {
namespace {

// The value that makes a field neutral: no register, true predicate, condition always; else the first with a
// meaning.
uint64_t neutral_value(const FieldPlace& place) {
    uint64_t all = place.bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << place.bits) - 1;
    switch (place.field) {
    case F::dst:
    case F::dst2:
    case F::src_a:
    case F::src_b:
    case F::src_c:
    case F::src_d:
    case F::pred:
    case F::dst_pred:
    case F::dst_pred2:
    case F::src_pred:
    case F::src_pred2:
    case F::src_pred3: return all;
    case F::cc_test: return 15;
    default: break;
    }
    const FieldInfo& info = field_info(place.field);
    uint64_t value = 0;
    while (value < info.values.size() && info.values[value] == "?")
        ++value;
    return value;
}

} // namespace

std::optional<Word> assemble(const Row& row, std::span<const std::pair<F, uint64_t>> fields) {
    Word word;
    for (const FieldPlace& place : row.fields)
        if (place.pieces[0].width != 0)
            insert(place, neutral_value(place), word.lo, word.hi);
    for (const auto& [field, value] : fields) {
        uint8_t index = row.index[size_t(field)];
        if (index == 0 || !insert(row.fields[index - 1], value, word.lo, word.hi))
            return std::nullopt;
    }
    word.lo = (word.lo & ~row.mask_lo) | row.match_lo;
    word.hi = (word.hi & ~row.mask_hi) | row.match_hi;
    // Where the pattern pins bits of a field, the value asked for may have been one of another row.
    for (const auto& [field, value] : fields)
        if (extract(row.fields[row.index[size_t(field)] - 1], word.lo, word.hi) != value)
            return std::nullopt;
    return word;
}

std::optional<Word> assemble(const Row& row, std::initializer_list<std::pair<F, uint64_t>> fields) {
    return assemble(row, std::span<const std::pair<F, uint64_t>>(fields.begin(), fields.size()));
}

std::optional<Word> assemble(Arch arch, Op op, Form form,
                             std::initializer_list<std::pair<F, uint64_t>> fields) {
    for (const Row& row : arch == Arch::sm_53 ? maxwell_rows() : ampere_rows()) {
        if (row.op != op || row.form != form)
            continue;
        std::optional<Word> word = assemble(row, fields);
        if (!word)
            continue;
        std::optional<Instruction> back = decode(arch, word->lo, word->hi, 0);
        if (back && back->op() == op && back->form() == form)
            return word;
    }
    return std::nullopt;
}

} // namespace dmsh::isa
