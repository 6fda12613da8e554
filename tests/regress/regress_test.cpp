// Single instructions with their right values (rows.tsv), on the interpreter and as lifted IR: what once was wrong stays right.
#include "compiler/lift/lifter.h"
#include "compiler/sim/jit/ir_machine.h"
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

namespace dmsh::test {
namespace {

using isa::F;
using isa::Form;
using isa::Op;

// Registers R0..R15, predicates P0..P6, flags Z S C O as "Z", "S", "C", "O"; by name.
using Values = std::map<std::string, uint32_t>;

Values parse(const std::string& text) {
    Values v;
    std::istringstream in(text);
    for (std::string item; in >> item;)
        if (const size_t at = item.find('='); at != std::string::npos)
            v[item.substr(0, at)] = static_cast<uint32_t>(std::strtoul(item.c_str() + at + 1, nullptr, 0));
    return v;
}

constexpr uint64_t kOut = 0x1000000000;
constexpr unsigned kRegisters = 16;

// Loads the inputs out of c[3], runs the words, stores everything.
std::vector<uint8_t> program(const std::vector<uint64_t>& body) {
    std::vector<uint64_t> words;
    const auto add = [&](Op op, Form form, std::initializer_list<std::pair<F, uint64_t>> fields) {
        words.push_back(isa::assemble(isa::Arch::sm_53, op, form, fields).value_or(isa::Word{}).lo);
        ASSERT_NE(words.back(), 0u) << isa::op_name(op);
    };
    const auto load = [&](unsigned r, unsigned bank, unsigned offset) {
        add(Op::MOV, Form::cbuf, {{F::dst, r}, {F::cbuf_bank, bank}, {F::cbuf_offset, offset}, {F::lane_mask, 15}});
    };
    load(20, 3, 4 * kRegisters);
    load(21, 3, 4 * kRegisters + 4);
    add(Op::R2P, Form::imm, {{F::src_a, 20}, {F::imm, 0x7f}});
    add(Op::R2P, Form::imm, {{F::src_a, 21}, {F::imm, 0xf}, {F::p2r_cc, 1}});
    for (unsigned k = 0; k < kRegisters; ++k)
        load(k, 3, 4 * k);
    words.insert(words.end(), body.begin(), body.end());
    load(22, 0, 0x310);
    load(23, 0, 0x314);
    for (unsigned k = 0; k < kRegisters; k += 4)
        add(Op::STG, Form::reg, {{F::src_a, 22}, {F::src_b, k}, {F::offset, 4 * k}, {F::e, 1}, {F::mem_size_st, 6}});
    add(Op::P2R, Form::imm, {{F::dst, 24}, {F::src_a, isa::kRz}, {F::imm, 0x7f}});
    add(Op::P2R, Form::imm, {{F::dst, 25}, {F::src_a, isa::kRz}, {F::imm, 0xf}, {F::p2r_cc, 1}});
    add(Op::STG, Form::reg, {{F::src_a, 22}, {F::src_b, 24}, {F::offset, 4 * kRegisters}, {F::e, 1}, {F::mem_size_st, 5}});
    words.push_back(0xe30000000007000f); // EXIT
    while (words.size() % 3)
        words.push_back(0x50b0000000070f00); // NOP
    std::vector<uint8_t> bytes(words.size() / 3 * 32);
    for (size_t k = 0; k < words.size(); ++k)
        std::memcpy(bytes.data() + k / 3 * 32 + 8 + k % 3 * 8, &words[k], 8);
    return bytes;
}

struct State {
    std::vector<uint8_t> out = std::vector<uint8_t>(4 * kRegisters + 8), c0 = std::vector<uint8_t>(0x400), c3 = std::vector<uint8_t>(4 * kRegisters + 8);
    explicit State(const Values& in) {
        std::memcpy(c0.data() + 0x310, &kOut, 8);
        uint32_t predicates = 0, flags = 0;
        for (const auto& [name, value] : in) {
            if (name[0] == 'R')
                std::memcpy(c3.data() + 4 * std::stoul(name.substr(1)), &value, 4);
            else if (name[0] == 'P')
                predicates |= (value & 1) << (name[1] - '0');
            else
                flags |= (value & 1) << std::string("ZSCO").find(name[0]);
        }
        std::memcpy(c3.data() + 4 * kRegisters, &predicates, 4);
        std::memcpy(c3.data() + 4 * kRegisters + 4, &flags, 4);
    }
    sim::Launch launch(std::span<const uint8_t> code) {
        sim::Launch l;
        l.code = code;
        l.banks[0] = c0;
        l.banks[3] = c3;
        l.global.push_back({kOut, out});
        return l;
    }
    uint32_t value(const std::string& name) const {
        const auto word = [&](size_t k) {
            uint32_t w;
            std::memcpy(&w, out.data() + 4 * k, 4);
            return w;
        };
        if (name[0] == 'R')
            return word(std::stoul(name.substr(1)));
        if (name[0] == 'P')
            return word(kRegisters) >> (name[1] - '0') & 1;
        return word(kRegisters + 1) >> std::string("ZSCO").find(name[0]) & 1;
    }
};

TEST(Regress, RowsHoldOnInterpreterAndIr) {
    std::ifstream file(DMSH_SOURCE_DIR "/tests/regress/rows.tsv");
    ASSERT_TRUE(file);
    unsigned rows = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#')
            continue;
        std::vector<std::string> column;
        std::istringstream in(line);
        for (std::string c; std::getline(in, c, '\t');)
            column.push_back(c);
        ASSERT_GE(column.size(), 4u) << line;
        ++rows;
        std::vector<uint64_t> body;
        std::istringstream hex(column[1]);
        for (std::string w; hex >> w;)
            body.push_back(std::strtoull(w.c_str(), nullptr, 16));
        const std::vector<uint8_t> code = program(body);
        if (column[3] == "refused") {
            ShaderInput in;
            in.code = code;
            in.abi = &guest_abi(GuestAbiId::nvn);
            EXPECT_FALSE(lift(in)) << column[0];
            continue;
        }
        const Values inputs = parse(column[2]), expected = parse(column[3]);
        State interpreter(inputs), ir(inputs);
        const auto ran = sim::run(interpreter.launch(code));
        EXPECT_TRUE(ran) << column[0] << ": " << (ran ? "" : ran.error().text());
        ShaderInput input;
        input.code = code;
        input.abi = &guest_abi(GuestAbiId::nvn);
        input.float_mode = FloatMode::exact;
        auto shader = lift(input);
        ASSERT_TRUE(shader) << column[0] << ": " << shader.error().text();
        auto machine = sim::IrMachine::compile(*std::move(shader));
        ASSERT_TRUE(machine) << column[0] << ": " << machine.error().text();
        const auto jitted = machine->run(ir.launch(code));
        EXPECT_TRUE(jitted) << column[0];
        for (const auto& [name, value] : expected) {
            EXPECT_EQ(interpreter.value(name), value) << column[0] << ": " << name << " of the interpreter";
            EXPECT_EQ(ir.value(name), value) << column[0] << ": " << name << " of the IR";
        }
    }
    EXPECT_GT(rows, 0u);
}

} // namespace
} // namespace dmsh::test
