// Resolves labels and lays words out in groups of three behind a scheduling word.
#include "tests/differential/code.h"
#include <cstring>

namespace dmsh::test {

std::vector<uint8_t> Code::bytes() const {
    constexpr uint64_t kNop = 0x50b0000000070f00;
    std::vector<uint64_t> words = words_;
    for (const Fixup& f : fixups_) {
        const uint64_t offset = (pc_of(places_[f.label]) - (pc_of(f.position) + 8)) & 0xffffff;
        const bool guarded = f.op == Op::BRA;
        const auto w = guarded ? isa::assemble(isa::Arch::sm_53, f.op, Form::none, {{F::offset, offset}, {F::pred, f.predicate & 7}, {F::pred_neg, f.predicate >> 3}})
                               : isa::assemble(isa::Arch::sm_53, f.op, Form::none, {{F::offset, offset}});
        words[f.position] = w ? w->lo : 0;
    }
    while (words.size() % 3)
        words.push_back(kNop);
    std::vector<uint8_t> out(words.size() / 3 * 32);
    for (size_t k = 0; k < words.size(); ++k)
        std::memcpy(out.data() + pc_of(k), &words[k], 8);
    return out;
}

} // namespace dmsh::test
