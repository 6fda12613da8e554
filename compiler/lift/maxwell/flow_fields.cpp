// Flow kinds, conditions and jump-table idioms of both machines' instructions.
#include "compiler/lift/maxwell/flow_fields.h"
#include <bit>

namespace dmsh::maxwell {

using isa::F;
using isa::Form;
using isa::Instruction;
using isa::Op;

namespace {
constexpr uint64_t kBptTrap = 3;
constexpr uint8_t kCcFalse = 0, kCcTrue = 15, kCcFcsmTr = 28;
constexpr uint64_t kBranchIfDivergent = 2; // F::bra_kind; 3 branches if converged

bool is_ampere(const Instruction& inst) { return inst.row->arch == isa::Arch::sm_86; }

// Which registers are written is the same question for both files of sm_86.
bool writes_uniform(const Instruction& inst) {
    return inst.flag(F::uniform_op) || inst.op() == Op::R2UR || inst.op() == Op::VOTEU || inst.op() == Op::REDUX;
}

bool one_pair(Op op) {
    switch (op) {
    case Op::DADD:
    case Op::DMUL:
    case Op::DFMA:
    case Op::DMNMX:
    case Op::F2F:
    case Op::F2I:
    case Op::I2F:
    case Op::FRND:
    case Op::CS2R: return true;
    default: return false;
    }
}
} // namespace

FlowKind flow_kind(const Instruction& inst) {
    switch (inst.op()) {
    case Op::BRA: return FlowKind::bra;
    case Op::BRX:
    case Op::BRXU: return FlowKind::brx;
    case Op::CAL: return FlowKind::cal;
    // Calls through a register or of an absolute address need the place of the code in guest memory.
    case Op::CALL: return inst.form() == Form::none && !inst.flag(F::call_abs) ? FlowKind::cal : FlowKind::refused;
    case Op::EXIT: return FlowKind::exit;
    case Op::SSY: return FlowKind::ssy;
    case Op::PBK: return FlowKind::pbk;
    case Op::PCNT: return FlowKind::pcnt;
    case Op::PRET: return FlowKind::pret;
    case Op::SYNC: return FlowKind::sync;
    case Op::BRK: return FlowKind::brk;
    case Op::CONT: return FlowKind::cont;
    case Op::RET: return FlowKind::ret;
    // A trap ends the whole launch; of what a translated program can do, ending the thread comes closest.
    case Op::BPT: return inst.get(inst.has(F::bpt86_op) ? F::bpt86_op : F::bpt_op) == kBptTrap ? FlowKind::exit : FlowKind::refused;
    // Absolute addresses need the place of the code in guest memory; the others need a trap handler or the hidden stack.
    case Op::JMP:
    case Op::JMX:
    case Op::JMXU:
    case Op::JCAL:
    case Op::LONGJMP:
    case Op::PLONGJMP:
    case Op::PEXIT:
    case Op::RTT:
    case Op::IDE: return FlowKind::refused;
    default: return FlowKind::none;
    }
}

StackKind pushed_kind(FlowKind k) {
    switch (k) {
    case FlowKind::ssy: return StackKind::ssy;
    case FlowKind::pbk: return StackKind::pbk;
    case FlowKind::pcnt: return StackKind::pcnt;
    default: return StackKind::pret;
    }
}

FlowCondition flow_condition(const Instruction& inst) {
    FlowCondition c;
    // Pushes and calls have no guard: compilers leave its bits zero, which would read as P0.
    const FlowKind kind = flow_kind(inst);
    if (flow_pushes(kind) || (kind == FlowKind::cal && !is_ampere(inst)))
        return c;
    if (inst.has(F::pred)) {
        c.predicate = static_cast<uint8_t>(inst.get(F::pred));
        c.negated = inst.flag(F::pred_neg);
    }
    if (inst.has(F::cc_test))
        c.condition_code = static_cast<uint8_t>(inst.get(F::cc_test));
    if (!is_ampere(inst))
        return c;
    if (inst.has(F::src_pred)) {
        c.predicate2 = static_cast<uint8_t>(inst.get(F::src_pred));
        c.negated2 = inst.flag(F::src_pred_neg);
    }
    if (inst.has(F::src_upred)) {
        c.uniform = static_cast<uint8_t>(inst.get(F::src_upred));
        c.uniform_negated = inst.flag(F::src_upred_neg);
    }
    // Code behind BRA.DIV does the same for lanes that diverged as the code after it does for converged ones.
    if (inst.op() == Op::BRA && inst.get(F::bra_kind) == kBranchIfDivergent) {
        c.predicate = isa::kPt;
        c.negated = true;
    }
    return c;
}

bool never_taken(const FlowCondition& c) {
    return (c.predicate == isa::kPt && c.negated) || (c.predicate2 == isa::kPt && c.negated2) ||
           (c.uniform == isa::kPt && c.uniform_negated) || c.condition_code == kCcFalse || c.condition_code == kCcFcsmTr;
}

bool flow_is_conditional(const Instruction& inst) {
    const FlowCondition c = flow_condition(inst);
    return c.predicate != isa::kPt || c.negated || c.condition_code != kCcTrue || c.predicate2 != isa::kPt || c.negated2 ||
           c.uniform != isa::kPt || c.uniform_negated;
}

bool condition_code_known(uint8_t cc) { return cc < 24 || cc == kCcFcsmTr || cc == 30 || cc == 31; }

bool flow_target_in_bank(const Instruction& inst) { return inst.form() == Form::cbuf || inst.form() == Form::cbuf_reg; }

uint32_t brx_register(const Instruction& inst) { return static_cast<uint32_t>(inst.get(F::src_a)); }

bool brx_uniform(const Instruction& inst) { return inst.op() == Op::BRXU; }

int64_t brx_base(const Instruction& inst) {
    return int64_t{inst.pc} + isa::instruction_bytes(inst.row->arch) + inst.get_signed(F::offset);
}

bool writes_register(const Instruction& inst, uint32_t reg, bool uniform) {
    if (!inst.has(F::dst) || writes_uniform(inst) != uniform)
        return false;
    if (inst.has(F::dst2) && is_ampere(inst)) {
        const auto second = static_cast<uint32_t>(inst.get(F::dst2));
        if (second != isa::kRz && reg >= second && reg < second + 2)
            return true;
    }
    const auto first = static_cast<uint32_t>(inst.get(F::dst));
    if (first == isa::kRz || reg < first)
        return false;
    // Wide results: all that a form could write. More than it does write only makes a jump table be refused.
    uint32_t count = 1;
    switch (inst.op()) {
    case Op::LDC:
    case Op::ULDC:
    case Op::LDG:
    case Op::LD:
    case Op::LDL:
    case Op::LDS: {
        const F size = inst.has(F::ldc_size) ? F::ldc_size : inst.has(F::mem_size) ? F::mem_size : inst.has(F::mem_size_st) ? F::mem_size_st : F::lds_size;
        const uint64_t v = inst.get(size);
        count = v < 5 ? 1 : v == 5 ? 2 : 4;
        break;
    }
    case Op::ALD:
    case Op::TEX:
    case Op::TEXS:
    case Op::TLD:
    case Op::TLDS:
    case Op::TLD4:
    case Op::TLD4S:
    case Op::TXD:
    case Op::TXQ:
    case Op::TMML:
    case Op::SULD:
    case Op::SUATOM:
    case Op::ATOM:
    case Op::ATOMG:
    case Op::HMMA:
    case Op::IMMA:
    case Op::LDSM:
    case Op::ATOMS: count = 4; break;
    default: count = one_pair(inst.op()) || inst.flag(F::wide) ? 2 : 1; break;
    }
    return reg < first + count;
}

std::optional<TableLoad> table_load(const Instruction& inst) {
    const bool load = inst.op() == Op::LDC || inst.op() == Op::ULDC;
    if (!load || inst.form() != Form::cbuf_reg || inst.get(F::ldc_size) != 4 || inst.get(F::ldc_mode) != 0 || flow_is_conditional(inst))
        return std::nullopt;
    const int64_t offset = inst.get_signed(F::cbuf_offset);
    if (offset < 0)
        return std::nullopt;
    return TableLoad{static_cast<uint32_t>(inst.get(F::cbuf_bank)), static_cast<uint32_t>(offset), static_cast<uint32_t>(inst.get(F::src_a))};
}

std::optional<ShiftedIndex> shifted_index(const Instruction& inst) {
    if (inst.form() != Form::imm || flow_is_conditional(inst))
        return std::nullopt;
    const uint32_t k = inst.imm32();
    const auto source = static_cast<uint32_t>(inst.get(F::src_a));
    const uint32_t zero = inst.flag(F::uniform_op) ? isa::kUrz : isa::kRz;
    switch (inst.op()) {
    case Op::SHL: return k < 32 ? std::optional(ShiftedIndex{source, k}) : std::nullopt;
    case Op::SHF:
    case Op::USHF: // {RZ : a} to the left, the lower word
        if (k > 31 || inst.flag(F::shf_right) || inst.flag(F::hi))
            return std::nullopt;
        return ShiftedIndex{source, k};
    case Op::IMAD:
    case Op::UIMAD: // a * 2^n + RZ
        if (k == 0 || (k & (k - 1)) || inst.get(F::src_c) != zero || inst.flag(F::wide) || inst.flag(F::hi) || inst.flag(F::x))
            return std::nullopt;
        return ShiftedIndex{source, static_cast<uint32_t>(std::countr_zero(k))};
    default: return std::nullopt;
    }
}

std::optional<uint32_t> index_limit(const Instruction& inst) {
    if (flow_is_conditional(inst) || (inst.form() != Form::imm && inst.form() != Form::imm32))
        return std::nullopt;
    switch (inst.op()) {
    case Op::IMNMX: // the predicate chooses the minimum
        if (inst.flag(F::is_signed) || inst.get(F::src_pred) != isa::kPt || inst.flag(F::src_pred_neg) || inst.get(F::minmax_x))
            return std::nullopt;
        return inst.imm32();
    case Op::LOP:
    case Op::LOP32I:
        if (inst.get(F::lop) != 0 || inst.flag(F::inv_a) || inst.flag(F::inv_b) || inst.flag(F::x))
            return std::nullopt;
        return inst.imm32();
    case Op::LOP3:
    case Op::ULOP3:
        if (inst.get(F::lut) != 0xc0) // a AND b
            return std::nullopt;
        return inst.imm32();
    case Op::BFE: {
        const uint32_t width = inst.imm32() >> 8 & 255;
        if (inst.flag(F::is_signed) || inst.flag(F::brev) || width > 16)
            return std::nullopt;
        return (1u << width) - 1;
    }
    default: return std::nullopt;
    }
}

std::optional<RegisterConstant> register_constant(const Instruction& inst) {
    if (inst.op() != Op::MOV32I || flow_is_conditional(inst))
        return std::nullopt;
    return RegisterConstant{static_cast<uint32_t>(inst.get(F::dst)), inst.imm32()};
}

std::optional<RegisterRange> stored_registers(const Instruction& inst) {
    constexpr uint64_t k64 = 5;
    if (inst.op() != Op::STL || inst.get(F::mem_size_st) < 4)
        return std::nullopt;
    const uint64_t size = inst.get(F::mem_size_st);
    return RegisterRange{static_cast<uint32_t>(inst.get(F::src_b)), size < k64 ? 1u : size == k64 ? 2u : 4u};
}

bool loads_local_word(const Instruction& inst) { return inst.op() == Op::LDL && inst.get(F::mem_size_st) >= 4; }

} // namespace dmsh::maxwell
