// Decoded machine code: table rows, instructions, and the entry points of decoder, disassembler and
// assembler.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dmsh::isa {

// One per NVIDIA mnemonic, spelled as NVIDIA's disassembler spells it (ops.def).
enum class Op : uint16_t {
#define OP(name) name,
#include "compiler/isa/ops.def"
#undef OP
    kCount
};
inline constexpr size_t kOpCount = size_t(Op::kCount);

// One per named field; the meaning of its values stands in fields.def.
enum class F : uint16_t {
#define FIELD(name, width, values, doc) name,
#include "compiler/isa/fields.def"
#undef FIELD
    kCount
};
inline constexpr size_t kFieldCount = size_t(F::kCount);

// How the flexible source operand (or the address) is given.
//   none: no such operand; reg: register src_b; cbuf: c[cbuf_bank][cbuf_offset] stands for b; imm, imm32:
//   F::imm stands for b; reg_cbuf: b is a register (src_b) and c[cbuf_bank][cbuf_offset] stands for c;
//   reg_imm: b is a register and F::imm stands for c; cbuf_reg: constant bank indexed by src_a (LDC, BRX,
//   ...); ureg: uniform register src_b; reg_ureg: b is a register and uniform register src_c stands for c
//   (sm_86).
//   cx, reg_cx: as cbuf and reg_cbuf, with the buffer's descriptor in the uniform registers cx_base (sm_86).
enum class Form : uint8_t {
    none,
    reg,
    cbuf,
    imm,
    imm32,
    reg_cbuf,
    cbuf_reg,
    reg_imm,
    ureg,
    reg_ureg,
    cx,
    reg_cx
};

enum class Arch : uint8_t { sm_53, sm_86 };

inline constexpr uint8_t kRz = 255; // register that reads as 0 and ignores writes
inline constexpr uint8_t kPt = 7;   // predicate that reads as true and ignores writes
inline constexpr uint8_t kUrz = 63; // uniform register that reads as 0 (sm_86)

// A run of bits of the machine word that lands at bit `to` of the field's value. `width` 0 ends the list.
struct Piece {
    uint8_t lo = 0, width = 0, to = 0;
};

// Where a field lies. A constant of the row has no pieces, and `constant` is its value.
struct FieldPlace {
    F field{};
    Piece pieces[4];
    uint8_t bits = 0;         // bits of the value: the highest `to` + `width`
    bool sign_extend = false; // the value is sign-extended to 32 bits
    bool inverted = false;    // the bits are the complement of the value
    uint32_t constant = 0;
};

// One table row: one encoding. Rows live as long as the program; compare them by address.
struct Row {
    Op op{};
    Form form = Form::none;
    Arch arch = Arch::sm_53;
    std::string_view
        pattern; // the opcode bits as text, from bit 63 down (sm_86: bits 11..0, then flags), '-' = field bit
    uint64_t match_lo = 0, match_hi = 0; // opcode bits ...
    uint64_t mask_lo = 0, mask_hi = 0;   // ... and which bits they are
    uint64_t used_lo = 0,
             used_hi = 0; // opcode and field bits together; the rest has no meaning and must be 0
    std::vector<FieldPlace> fields;
    std::string_view modifiers;   // text format: dotted suffixes, in order
    std::string_view operands;    // text format: operands
    uint8_t index[kFieldCount]{}; // 1 + place of the field in `fields`, 0 = the row lacks it

    bool has(F field) const { return index[size_t(field)] != 0; }
};

// One decoded instruction, a value. `lo` is the word (sm_53) or its low half (sm_86), `pc` the byte offset
// from the program start. On sm_53 `control` holds the instruction's 21 bits of the scheduling word (0 where
// unknown); on sm_86 these bits are part of `hi`.
struct Instruction {
    const Row* row = nullptr;
    uint64_t lo = 0, hi = 0;
    uint32_t pc = 0;
    uint32_t control = 0;

    Op op() const { return row->op; }
    Form form() const { return row->form; }
    std::string_view mnemonic() const;
    bool has(F field) const { return row->has(field); }
    // Value of the field, 0 if the row lacks it. Split and scaled fields come whole: cbuf_offset in bytes,
    // imm as the 32-bit value that the hardware sees (20-bit integers sign-extended, 20-bit floats as float
    // bits, half pairs packed).
    uint64_t get(F field) const;
    // As get(), sign-extended from the field's width (F::imm: from 32 bits).
    int64_t get_signed(F field) const;
    bool flag(F field) const { return get(field) != 0; }
    // F::imm as 32 bits; in double-precision rows the upper word of the double (the lower word is 0).
    uint32_t imm32() const { return uint32_t(get(F::imm)); }
    // Destination of a direct branch (BRA, CAL, SSY, PBK, PCNT, PRET, BSSY, CALL ...) as byte offset from the
    // program start. JMP, JCAL and the like hold the address itself. May lie outside the program, and on
    // sm_53 may name the scheduling word of a group, which means the group's first instruction (see
    // first_instruction()).
    int64_t target() const;
    // Byte offset of the next instruction in program order (on sm_53 behind a scheduling word if there is
    // one).
    uint32_t next_pc() const;
    // Name of a field's value as the disassembler prints it, "" for none.
    std::string_view text(F field) const;
};

std::string_view op_name(Op op);
std::string_view field_name(F field);
std::string_view field_doc(F field);
std::string_view form_name(Form form);
std::optional<Op> op_by_name(std::string_view name);
std::optional<F> field_by_name(std::string_view name);

// All rows of an architecture in table order, for the coverage table and for tests over all encodings.
std::span<const Row> maxwell_rows();
std::span<const Row> ampere_rows();
// Faults of the tables themselves (overlapping fields, bad text); empty in a good build, which a test checks.
std::span<const std::string> table_faults();

// The row of a word, or null: no opcode, a field value without meaning, or (unless `ignore_unused`) a bit set
// that belongs to no field. NVIDIA's disassembler ignores such bits; translation refuses them (rule T-002).
const Row* decode_maxwell(uint64_t word, bool ignore_unused = false);
const Row* decode_ampere(uint64_t lo, uint64_t hi, bool ignore_unused = false);
std::optional<Instruction> decode(Arch arch, uint64_t lo, uint64_t hi, uint32_t pc,
                                  bool ignore_unused = false);

// sm_53: `pc` moved behind a scheduling word (every 32 bytes). sm_86: unchanged.
uint32_t first_instruction(Arch arch, uint32_t pc);
inline constexpr uint32_t instruction_bytes(Arch arch) {
    return arch == Arch::sm_53 ? 8 : 16;
}

// Where decoding stopped: byte offset and the bits there; `why` is one of "unknown instruction", "unused bits
// set", "truncated".
struct DecodeFault {
    uint32_t pc = 0;
    uint64_t lo = 0, hi = 0;
    std::string_view why;
};
// All instructions of a code area from its exact start, scheduling words skipped. An undecodable word stops
// decoding and is described in `fault` (a program's tail padding may hold anything, so the caller decides
// whether it is reached).
std::vector<Instruction> decode_program(Arch arch, std::span<const uint8_t> code,
                                        std::optional<DecodeFault>* fault = nullptr);

// Walks the machine words of a code area, scheduling words left out; a truncated last word is not visited.
class ProgramWords {
  public:
    ProgramWords(Arch arch, std::span<const uint8_t> code)
        : arch_(arch), code_(code), pc_(isa::first_instruction(arch, 0)) {}
    bool next(uint64_t& lo, uint64_t& hi, uint32_t& pc, uint32_t& control);
    uint32_t position() const { return pc_; } // byte offset of the next word

  private:
    Arch arch_;
    std::span<const uint8_t> code_;
    uint32_t pc_;
};

// Text of the instruction as NVIDIA's disassembler prints it, guard predicate included, without the final
// ';'.
std::string disassemble(const Instruction& instruction);

// Test assembler: the word of a row with the given fields. Fields left out are 0, except registers (RZ),
// predicates (PT) and condition codes (T). Null when the row lacks a field or a value does not fit.
struct Word {
    uint64_t lo = 0, hi = 0;
};
std::optional<Word> assemble(const Row& row, std::initializer_list<std::pair<F, uint64_t>> fields);
std::optional<Word> assemble(const Row& row, std::span<const std::pair<F, uint64_t>> fields);
// First row of the mnemonic and form that has all the given fields and decodes back to itself.
std::optional<Word> assemble(Arch arch, Op op, Form form,
                             std::initializer_list<std::pair<F, uint64_t>> fields);

} // namespace dmsh::isa
