// What control-flow recovery reads from single instructions of both machines: kinds, targets, conditions, jump-table idioms.
#pragma once
#include "compiler/isa/isa.h"
#include "compiler/lift/control_flow.h"

namespace dmsh::maxwell {

enum class FlowKind : uint8_t { none, bra, brx, cal, exit, ssy, pbk, pcnt, pret, sync, brk, cont, ret, refused };

FlowKind flow_kind(const isa::Instruction& inst);

inline bool flow_pushes(FlowKind k) { return k >= FlowKind::ssy && k <= FlowKind::pret; }
inline bool flow_target_is_static(FlowKind k) { return k == FlowKind::bra || k == FlowKind::cal || flow_pushes(k); }
StackKind pushed_kind(FlowKind k);

FlowCondition flow_condition(const isa::Instruction& inst);
// Condition codes F and FCSM_TR (T-050), and the guard !PT.
bool never_taken(const FlowCondition& c);
// Any condition beside "always".
bool flow_is_conditional(const isa::Instruction& inst);
// False for the CSM tests, which depend on state that a translated program does not have.
bool condition_code_known(uint8_t cc);
// The branch target is a word of a constant bank.
bool flow_target_in_bank(const isa::Instruction& inst);

// BRX: the index register, whether it is a uniform one (BRXU), and what is added to its value.
uint32_t brx_register(const isa::Instruction& inst);
bool brx_uniform(const isa::Instruction& inst);
int64_t brx_base(const isa::Instruction& inst);

// Does it write R[reg], or with `uniform` UR[reg]?
bool writes_register(const isa::Instruction& inst, uint32_t reg, bool uniform);

// LDC R, c[bank][index + offset] or its uniform form, of one word.
struct TableLoad {
    uint32_t bank, offset, index_register;
};
std::optional<TableLoad> table_load(const isa::Instruction& inst);
// SHL R, source, amount, or what sm_86 compilers write for it.
struct ShiftedIndex {
    uint32_t source, amount;
};
std::optional<ShiftedIndex> shifted_index(const isa::Instruction& inst);
// The largest value that the instruction can write: IMNMX.U32 (minimum) with an immediate, LOP.AND with an immediate, BFE.U32.
std::optional<uint32_t> index_limit(const isa::Instruction& inst);

// Function pointers: MOV32I R, constant; the registers that an STL of whole words stores; an LDL of whole words.
struct RegisterConstant {
    uint32_t reg, value;
};
std::optional<RegisterConstant> register_constant(const isa::Instruction& inst);
struct RegisterRange {
    uint32_t first, count;
};
std::optional<RegisterRange> stored_registers(const isa::Instruction& inst);
bool loads_local_word(const isa::Instruction& inst);

} // namespace dmsh::maxwell
