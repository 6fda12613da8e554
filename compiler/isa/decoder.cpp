// Finds the table row of a machine word, and walks the words of a code area.
#include <algorithm>

#include "compiler/isa/table.h"

namespace dmsh::isa {
namespace {

// Candidate rows by the opcode bits that all patterns of an architecture have in common: sm_53 by the upper
// 13 bits, sm_86 by the lower 12. Rows with '-' in these bits stand under each index that they cover.
class RowIndex {
  public:
    RowIndex(std::span<const Row> rows, unsigned lo, unsigned bits)
        : lo_(lo), first_((size_t(1) << bits) + 1) {
        uint64_t index_mask = ((uint64_t(1) << bits) - 1) << lo;
        for (uint64_t key = 0; key < uint64_t(1) << bits; ++key) {
            first_[key] = uint32_t(candidates_.size());
            for (const Row& row : rows)
                if ((((key << lo) ^ row.match_lo) & row.mask_lo & index_mask) == 0)
                    candidates_.push_back(&row);
        }
        first_.back() = uint32_t(candidates_.size());
        key_mask_ = (uint64_t(1) << bits) - 1;
    }

    const Row* find(uint64_t lo, uint64_t hi, bool ignore_unused) const {
        uint64_t key = lo >> lo_ & key_mask_;
        for (uint32_t i = first_[key]; i != first_[key + 1]; ++i) {
            const Row& row = *candidates_[i];
            if ((lo & row.mask_lo) != row.match_lo || (hi & row.mask_hi) != row.match_hi)
                continue;
            if (!ignore_unused && ((lo & ~row.used_lo) || (hi & ~row.used_hi)))
                continue;
            if (values_have_meaning(row, lo, hi) && combination_has_meaning(row, lo, hi))
                return &row;
        }
        return nullptr;
    }

  private:
    static uint64_t value(const Row& row, F field, uint64_t lo, uint64_t hi) {
        uint8_t index = row.index[size_t(field)];
        return index == 0 ? 0 : extract(row.fields[index - 1], lo, hi);
    }

    static bool bar_reduction_has_meaning(const Row& row, uint64_t lo, uint64_t hi) {
        return value(row, F::bar_mode, lo, hi) != 2 || value(row, F::bar_red, lo, hi) != 3;
    }

    static bool ampere_combination_has_meaning(const Row& row, uint64_t lo, uint64_t hi) {
        auto get = [&](F field) { return value(row, field, lo, hi); };
        uint64_t opcode = lo & 0x1ff;
        bool cube_or_3d = get(F::tex_dim) >= 4;
        switch (row.op) {
        case Op::F2F: { // 0x104 converts to and from F32, 0x110 to and from F64
            uint64_t to = get(F::f2f_d), from = get(F::fmt_float_s);
            if (opcode == 0x104)
                return from == 1 ? to == 2 : to == 1 || to == 4;
            return from == 3 ? to == 1 || to == 2 : to == 3;
        }
        case Op::F2I:
            return opcode == 0x111 ? get(F::fmt_int_d) == 3 || get(F::fmt_float_s) == 3
                                   : get(F::fmt_int_d) != 3;
        case Op::I2F:
            if (get(F::fmt_float_d) == 0)
                return false;
            return opcode == 0x112 ? get(F::fmt_float_d) == 3 || get(F::fmt_int_s) == 3
                                   : get(F::fmt_float_d) != 3;
        case Op::HFMA2:
        case Op::HMNMX2: return get(F::bf16) == 0 || get(F::h2_f32) == 0;
        case Op::BAR:
            return (get(F::bar_defer) == 0 || (get(F::bar_mode) & 1) == 0) && bar_reduction_has_meaning(row, lo, hi);
        case Op::ALD:
        case Op::AST: // a register is an address only in patch space or as a physical one
            return !row.has(F::attr_offset) || get(F::patch) != 0 || !row.has(F::src_a) ||
                   get(F::src_a) == kRz;
        case Op::LD:
        case Op::LDG:
        case Op::ST:
        case Op::STG:
        case Op::ATOM:
        case Op::ATOMG:
        case Op::RED: // with a descriptor the address is 64 bit
            return get(F::mem_desc) == 0 || get(F::mem_wide) != 0;
        case Op::TEX:
        case Op::TMML: return get(F::tex_dim) != 5;
        case Op::TLD: return get(F::tex_dim) < 5;
        case Op::TLD4: return get(F::tex_dim) == 2 || get(F::tex_dim) == 3 || get(F::tex_dim) >= 6;
        case Op::TXD: return !cube_or_3d;
        default: return true;
        }
    }

    // Values that have a meaning each but not together.
    static bool combination_has_meaning(const Row& row, uint64_t lo, uint64_t hi) {
        if (row.arch != Arch::sm_53)
            return ampere_combination_has_meaning(row, lo, hi);
        switch (row.op) {
        case Op::F2I: return value(row, F::fmt_int_d, lo, hi) != 0; // no 8-bit results
        case Op::I2I:
            if (value(row, F::fmt_int_d, lo, hi) == 3 || value(row, F::fmt_int_s, lo, hi) == 3)
                return false;
            [[fallthrough]];
        case Op::I2F: // of 16-bit sources only halves are chosen
            return value(row, F::fmt_int_s, lo, hi) != 1 || (value(row, F::byte_b, lo, hi) & 1) == 0;
        case Op::ATOM: // the form with a predicate needs an address register
            if (row.has(F::dst_pred) && value(row, F::src_a, lo, hi) == kRz)
                return false;
            [[fallthrough]];
        case Op::ATOMS: { // the stored register follows the compared one and must exist
            uint64_t b = value(row, F::src_b, lo, hi), zero = value(row, F::cas_rz, lo, hi);
            if (value(row, F::cas, lo, hi) == 0 || zero == 1)
                return true;
            return zero == 2 ? b != kRz : b + value(row, F::cas_64, lo, hi) < 254;
        }
        case Op::ALD:
        case Op::AST: // a register is an address only in patch space or, physical, without displacement
            return value(row, F::patch, lo, hi) != 0 || value(row, F::src_a, lo, hi) == kRz ||
                   value(row, F::attr_offset, lo, hi) == 0;
        case Op::BAR: // only reductions and scans take a predicate
            return (value(row, F::bar_mode, lo, hi) >= 2 || value(row, F::src_pred, lo, hi) == kPt) &&
                   bar_reduction_has_meaning(row, lo, hi);
        case Op::CCTLL: // the whole cache has no address
            return value(row, F::cctl_op, lo, hi) != 8 || value(row, F::src_a, lo, hi) == kRz;
        default: return true;
        }
    }

    static bool values_have_meaning(const Row& row, uint64_t lo, uint64_t hi) {
        for (const FieldPlace& place : row.fields)
            if (const FieldInfo& info = field_info(place.field);
                !info.values.empty() && info.meaningless(extract(place, lo, hi)))
                return false;
        return true;
    }

    unsigned lo_;
    uint64_t key_mask_ = 0;
    std::vector<uint32_t> first_;
    std::vector<const Row*> candidates_;
};

const RowIndex& maxwell_index() {
    static const RowIndex index(maxwell_rows(), 51, 13);
    return index;
}

const RowIndex& ampere_index() {
    static const RowIndex index(ampere_rows(), 0, 12);
    return index;
}

int64_t sign_extend(uint64_t value, unsigned bits) {
    if (bits == 0 || bits >= 64)
        return int64_t(value);
    uint64_t sign = uint64_t(1) << (bits - 1);
    return int64_t((value ^ sign) - sign);
}

uint64_t read_u64(std::span<const uint8_t> code, size_t at) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i)
        value |= uint64_t(code[at + i]) << (8 * i);
    return value;
}

} // namespace

const Row* decode_maxwell(uint64_t word, bool ignore_unused) {
    return maxwell_index().find(word, 0, ignore_unused);
}

const Row* decode_ampere(uint64_t lo, uint64_t hi, bool ignore_unused) {
    return ampere_index().find(lo, hi, ignore_unused);
}

std::optional<Instruction> decode(Arch arch, uint64_t lo, uint64_t hi, uint32_t pc, bool ignore_unused) {
    const Row* row =
        arch == Arch::sm_53 ? decode_maxwell(lo, ignore_unused) : decode_ampere(lo, hi, ignore_unused);
    if (!row)
        return std::nullopt;
    return Instruction{row, lo, hi, pc, 0};
}

std::string_view Instruction::mnemonic() const {
    return op_name(row->op);
}

uint64_t Instruction::get(F field) const {
    uint8_t index = row->index[size_t(field)];
    return index == 0 ? 0 : extract(row->fields[index - 1], lo, hi);
}

int64_t Instruction::get_signed(F field) const {
    uint8_t index = row->index[size_t(field)];
    if (index == 0)
        return 0;
    const FieldPlace& place = row->fields[index - 1];
    uint64_t value = extract(place, lo, hi);
    if (field == F::imm)
        return int32_t(value);
    return sign_extend(value, place.pieces[0].width == 0 ? 32 : place.bits);
}

std::string_view Instruction::text(F field) const {
    if (!has(field))
        return {};
    const FieldInfo& info = field_info(field);
    uint64_t value = get(field);
    return info.meaningless(value) || info.values.empty() ? std::string_view() : info.values[value];
}

uint32_t Instruction::next_pc() const {
    return first_instruction(row->arch, pc + instruction_bytes(row->arch));
}

int64_t Instruction::target() const {
    if (has(F::address))
        return int64_t(get(F::address));
    if (get(F::call_abs) != 0 || get(F::ret_abs) != 0)
        return get_signed(F::offset);
    return int64_t(pc) + instruction_bytes(row->arch) + get_signed(F::offset);
}

uint32_t first_instruction(Arch arch, uint32_t pc) {
    return arch == Arch::sm_53 && pc % 32 == 0 ? pc + 8 : pc;
}

bool ProgramWords::next(uint64_t& lo, uint64_t& hi, uint32_t& pc, uint32_t& control) {
    size_t size = instruction_bytes(arch_);
    if (code_.size() < size || pc_ > code_.size() - size)
        return false;
    pc = pc_;
    lo = read_u64(code_, pc);
    if (arch_ == Arch::sm_53) {
        // The scheduling word holds 21 bits for each of the three instructions behind it.
        uint64_t schedule = read_u64(code_, pc / 32 * 32);
        control = uint32_t(schedule >> (21 * (pc % 32 / 8 - 1)) & 0x1fffff);
        hi = 0;
    } else {
        control = 0;
        hi = read_u64(code_, pc + 8);
    }
    pc_ = isa::first_instruction(arch_, pc_ + uint32_t(size));
    return true;
}

std::vector<Instruction> decode_program(Arch arch, std::span<const uint8_t> code,
                                        std::optional<DecodeFault>* fault) {
    std::vector<Instruction> program;
    // Program offsets are 32 bit; nothing behind that can be named.
    code = code.first(std::min<size_t>(code.size(), 0x7fffffff));
    ProgramWords words(arch, code);
    uint64_t lo, hi;
    uint32_t pc, control;
    if (fault)
        fault->reset();
    while (words.next(lo, hi, pc, control)) {
        std::optional<Instruction> instruction = decode(arch, lo, hi, pc);
        if (!instruction) {
            if (fault)
                *fault = DecodeFault{
                    pc, lo, hi, decode(arch, lo, hi, pc, true) ? "unused bits set" : "unknown instruction"};
            return program;
        }
        instruction->control = control;
        program.push_back(*instruction);
    }
    if (fault && words.position() < code.size())
        *fault = DecodeFault{words.position(), 0, 0, "truncated"};
    return program;
}

} // namespace dmsh::isa
