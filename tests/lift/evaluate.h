// Runs a few instructions on given register values and reads registers back, for tests of single mnemonics.
#pragma once
#include "tests/lift/assemble.h"
#include "tests/support/ir_machine.h"

namespace dmsh::test {

// The program loads R4..R11 from c[0][0x10..0x2c], runs `code`, and stores R0..R3 to global memory. Registers in R4..R11 are
// the inputs. P0..P3 after `code` come back as bits of the fifth word.
class Evaluation {
  public:
    Evaluation& in(unsigned r, uint32_t value) {
        inputs_[r - 4] = value;
        return *this;
    }
    Evaluation& in(unsigned r, float value) {
        uint32_t bits;
        memcpy(&bits, &value, 4);
        return in(r, bits);
    }
    Evaluation& add(Op op, Form form, Program::Fields fields) {
        body_.push_back(isa::assemble(isa::Arch::sm_53, op, form, fields).value_or(isa::Word{}).lo);
        EXPECT_NE(body_.back(), 0u) << isa::op_name(op);
        return *this;
    }
    Evaluation& raw(uint64_t word) {
        body_.push_back(word);
        return *this;
    }
    Evaluation& exact() {
        mode_ = FloatMode::exact;
        return *this;
    }

    // R0..R3 and the predicate bits; an empty list and `error` if the lift was refused.
    std::vector<uint32_t> run() {
        Program p;
        for (unsigned i = 0; i < 8; ++i)
            p.add(Op::MOV, Form::cbuf, {{F::dst, 4 + i}, {F::cbuf_bank, 0}, {F::cbuf_offset, 0x10 + 4 * i}, {F::lane_mask, 15}});
        for (unsigned i = 0; i < 4; ++i)
            p.add(Op::MOV, Form::reg, {{F::dst, i}, {F::src_b, isa::kRz}, {F::lane_mask, 15}});
        for (uint64_t word : body_)
            p.raw(word);
        p.add(Op::P2R, Form::imm, {{F::dst, 12}, {F::src_a, isa::kRz}, {F::imm, 0xf}});
        for (unsigned i = 0; i < 2; ++i)
            p.add(Op::MOV, Form::cbuf, {{F::dst, 14 + i}, {F::cbuf_bank, 0}, {F::cbuf_offset, 4 * i}, {F::lane_mask, 15}});
        for (unsigned i = 0; i < 5; ++i)
            p.add(Op::STG, Form::reg, {{F::src_a, 14}, {F::src_b, i < 4 ? i : 12}, {F::offset, 4 * i}, {F::e, 1}, {F::mem_size_st, 4}});
        p.exit();
        ShaderInput input = p.input();
        input.float_mode = mode_;
        auto shader = lift(input);
        if (!shader) {
            error = shader.error().message;
            return {};
        }
        const auto verified = verify_shader(*shader, false);
        EXPECT_TRUE(verified) << (verified ? "" : verified.error().text());
        IrMachine m;
        m.global.resize(64);
        m.banks[0].resize(0x40);
        const uint64_t base = IrMachine::kGlobalBase;
        memcpy(m.banks[0].data(), &base, 8);
        memcpy(m.banks[0].data() + 0x10, inputs_, sizeof inputs_);
        const auto ran = m.run(std::move(*shader));
        EXPECT_TRUE(ran) << (ran ? "" : ran.error().text());
        std::vector<uint32_t> out(5);
        memcpy(out.data(), m.global.data(), 20);
        return out;
    }
    std::string error;

  private:
    uint32_t inputs_[8] = {};
    std::vector<uint64_t> body_;
    FloatMode mode_ = FloatMode::ship;
};

} // namespace dmsh::test
