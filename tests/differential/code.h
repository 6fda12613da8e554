// Code: a Maxwell program in the making, with labels, for generators.
#pragma once
#include "compiler/isa/isa.h"
#include <cstdint>
#include <utility>
#include <vector>

namespace dmsh::test {

using isa::F;
using isa::Form;
using isa::Op;

class Code {
  public:
    using Fields = std::initializer_list<std::pair<F, uint64_t>>;
    using Label = size_t;

    void raw(uint64_t word) { words_.push_back(word); }
    // The first row of mnemonic and form that takes the fields; a wrong call makes a word that does not decode.
    void add(Op op, Form form, Fields fields) {
        const auto word = isa::assemble(isa::Arch::sm_53, op, form, fields);
        raw(word ? word->lo : 0);
    }
    Label label() {
        places_.push_back(~size_t{0});
        return places_.size() - 1;
    }
    void place(Label l) { places_[l] = words_.size(); }
    // BRA, SSY, PBK, PCNT, CAL to a label; `predicate` 0..7, plus 8 where it is negated.
    void to(Op op, Label l, uint64_t predicate = 7) {
        fixups_.push_back({words_.size(), l, op, predicate});
        raw(0);
    }
    // SYNC, BRK, CONT, RET, EXIT.
    void pop(Op op, uint64_t predicate = 7) {
        add(op, Form::none, {{F::cc_test, 15}, {F::pred, predicate & 7}, {F::pred_neg, predicate >> 3}});
    }
    size_t position() const { return words_.size(); }
    static uint32_t pc_of(size_t position) { return static_cast<uint32_t>(position / 3 * 32 + 8 + position % 3 * 8); }
    uint32_t address(Label l) const { return pc_of(places_[l]); }

    // Machine code with scheduling words, labels resolved.
    std::vector<uint8_t> bytes() const;

  private:
    struct Fixup {
        size_t position;
        Label label;
        Op op;
        uint64_t predicate;
    };
    std::vector<uint64_t> words_;
    std::vector<size_t> places_;
    std::vector<Fixup> fixups_;
};

} // namespace dmsh::test
