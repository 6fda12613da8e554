// Hand-assembled Maxwell programs for tests: instruction words in groups of three behind a scheduling word.
#pragma once
#include "compiler/isa/isa.h"
#include "compiler/lift/lifter.h"
#include <cstring>
#include <gtest/gtest.h>

namespace dmsh::test {

using isa::F;
using isa::Form;
using isa::Op;

class Program {
  public:
    using Fields = std::initializer_list<std::pair<F, uint64_t>>;

    Program& add(Op op, Form form, Fields fields) {
        const auto word = isa::assemble(isa::Arch::sm_53, op, form, fields);
        EXPECT_TRUE(word.has_value()) << isa::op_name(op);
        return raw(word ? word->lo : 0);
    }
    Program& raw(uint64_t word) {
        if (words_.size() % 4 == 0)
            words_.push_back(0);
        words_.push_back(word);
        return *this;
    }
    Program& exit() { return raw(0xe30000000007000full); }

    // Byte address of the next instruction.
    uint32_t pc() const { return static_cast<uint32_t>((words_.size() + (words_.size() % 4 == 0)) * 8); }

    ShaderInput input() {
        while (words_.size() % 4)
            words_.push_back(0x50b0000000070f00ull); // NOP
        ShaderInput in;
        in.code = {reinterpret_cast<const uint8_t*>(words_.data()), words_.size() * 8};
        in.abi = &guest_abi(GuestAbiId::nvn);
        return in;
    }

  private:
    std::vector<uint64_t> words_;
};

// A shader program header that lists nothing: word 0 holds the kind (1: all before the fragment stage, 2: fragment), version 3 and the stage.
inline std::vector<uint8_t> empty_header(Stage stage) {
    std::vector<uint8_t> header(0x50);
    const uint32_t number = stage == Stage::vertex ? 1 : stage == Stage::tess_control ? 2 : stage == Stage::tess_evaluation ? 3 : stage == Stage::geometry ? 4 : 5;
    const uint32_t word = (stage == Stage::fragment ? 2u : 1u) | 3u << 5 | number << 10;
    memcpy(header.data(), &word, 4);
    return header;
}

} // namespace dmsh::test
