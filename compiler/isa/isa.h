// Decoded machine code: table rows, instructions, and the entry points of decoder, disassembler and assembler.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dmsh::isa {

// Op: one per NVIDIA mnemonic; F: one per named field; both generated from maxwell.def, ampere.def and fields.def.
enum class Op : uint16_t;
enum class F : uint8_t;

// How the flexible source operand (or the address) is given.
enum class Form : uint8_t { none, reg, cbuf, imm, imm32, reg_cbuf, cbuf_reg };

struct Row; // one table row: mnemonic, bit pattern, fields, text format

// One decoded instruction. `lo` is the word (sm_53) or its low half (sm_86), `pc` the byte offset from the program start.
struct Instruction {
    const Row* row = nullptr;
    uint64_t lo = 0, hi = 0;
    uint32_t pc = 0;

    Op op() const;
    Form form() const;
    std::string_view mnemonic() const;
    bool has(F field) const;
    uint64_t get(F field) const;  // zero-extended value of the field; 0 if the row lacks it
    int64_t get_signed(F field) const; // sign-extended from the field's width
};

} // namespace dmsh::isa
