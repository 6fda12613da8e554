// Hand-made graphics programs: shader program headers and instructions, as small as the rule that they show.
#pragma once
#include "archivers/core/bytes.h"
#include "compiler/build/translate.h"
#include "compiler/isa/isa.h"
#include "runtime/abi/stage_state.h"
#include "tests/support/spirv_reflection.h"
#include "tests/support/vulkan_harness.h"
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace dmsh::test {

using isa::F;
using isa::Form;
using isa::Op;

// A version 3 header: 0x50 bytes.
class Header {
  public:
    // ShaderType: 0 first vertex slot, 1 vertex, 2 control, 3 evaluation, 4 geometry, 5 pixel.
    explicit Header(unsigned shader_type) {
        set(0, 5, shader_type == 5 ? 2 : 1);
        set(5, 5, 3);
        set(10, 4, shader_type);
    }
    Header& set(unsigned first, unsigned count, uint32_t value) {
        for (unsigned i = 0; i < count; ++i)
            if (value >> i & 1)
                bytes_[(first + i) / 8] |= static_cast<uint8_t>(1u << (first + i) % 8);
        return *this;
    }
    // Attribute words from..to (byte addresses) of the maps.
    Header& reads(uint32_t from, uint32_t to) { return map(160, from, to); }
    Header& writes(uint32_t from, uint32_t to) { return map(400, from, to); }
    std::span<const uint8_t> bytes() const { return bytes_; }

  private:
    Header& map(unsigned base, uint32_t from, uint32_t to) {
        for (uint32_t a = from; a <= to; a += 4)
            set(base + a / 4, 1, 1);
        return *this;
    }
    std::array<uint8_t, 0x50> bytes_{};
};

// Instructions in groups of three behind a scheduling word.
class Code {
  public:
    Code& add(Op op, Form form, std::initializer_list<std::pair<F, uint64_t>> fields) {
        const auto word = isa::assemble(isa::Arch::sm_53, op, form, fields);
        EXPECT_TRUE(word.has_value()) << isa::op_name(op);
        return raw(word ? word->lo : 0);
    }
    Code& raw(uint64_t word) {
        if (words_.size() % 4 == 0)
            words_.push_back(0);
        words_.push_back(word);
        return *this;
    }
    Code& load(unsigned r, uint32_t attribute, unsigned vertex_register = isa::kRz, unsigned words = 4) {
        return add(Op::ALD, Form::reg, {{F::dst, r}, {F::attr_offset, attribute}, {F::src_c, vertex_register}, {F::attr_size, words - 1}});
    }
    Code& store(uint32_t attribute, unsigned r, unsigned words = 4) {
        return add(Op::AST, Form::reg, {{F::src_b, r}, {F::attr_offset, attribute}, {F::attr_size, words - 1}});
    }
    Code& set(unsigned r, uint32_t value) { return add(Op::MOV32I, Form::imm32, {{F::dst, r}, {F::imm, value}, {F::lane_mask, 15}}); }
    Code& emit() { return add(Op::OUT, Form::reg, {{F::dst, isa::kRz}, {F::out_op, 1}}); }
    Code& exit() {
        raw(0xe30000000007000full);
        while (words_.size() % 4)
            words_.push_back(0x50b0000000070f00ull); // NOP
        return *this;
    }
    std::span<const uint8_t> bytes() const {
        return {reinterpret_cast<const uint8_t*>(words_.data()), words_.size() * 8};
    }

  private:
    std::vector<uint64_t> words_;
};

// Header and code behind each other.
inline std::vector<uint8_t> program(const Header& h, const Code& c) {
    std::vector<uint8_t> out(h.bytes().begin(), h.bytes().end());
    out.insert(out.end(), c.bytes().begin(), c.bytes().end());
    return out;
}

inline Translation translated(ShaderInput in) {
    in.abi = &guest_abi(GuestAbiId::nvn);
    auto t = translate(in);
    EXPECT_TRUE(t) << (t ? "" : t.error().text());
    return t ? *std::move(t) : Translation{};
}

inline Translation translated(const std::vector<uint8_t>& whole, Stage stage, uint8_t input_primitive = 0, TessMode tess = {}) {
    ShaderInput in;
    in.stage = stage;
    in.sph = std::span(whole).first(0x50);
    in.code = std::span(whole).subspan(0x50);
    in.input_primitive = input_primitive;
    in.tess = tess;
    return translated(in);
}

} // namespace dmsh::test
