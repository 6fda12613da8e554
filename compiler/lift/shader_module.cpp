// verify_dictionary() and verify_shader(): the dictionary's own rules, beyond what LLVM's verifier knows.
#include "compiler/lift/shader_module.h"
#include "compiler/lift/intrinsics.h"
#include <fmt/format.h>
#include <llvm/Support/raw_ostream.h>

namespace dmsh {
namespace {

// An operand is constant where the meaning's operand list "(A, b, ...)" names it in capitals, and where the dictionary says so
// in words (BINDING, TARGET, ...). The list is read once.
struct Rules {
    uint16_t constant = 0; // bit per operand
    bool raw = false, bound = false;
};

bool is_capital_word(std::string_view word) {
    size_t letters = 0;
    for (char c : word) {
        if (c == ' ')
            break; // "OP AtomicOp": the first word counts
        if (c < 'A' || c > 'Z')
            if (c != '_')
                return false;
        ++letters;
    }
    return letters > 1;
}

Rules read_rules(const IntrinsicInfo& info) {
    Rules rules;
    const std::string_view text = info.meaning;
    rules.raw = text.starts_with("raw");
    rules.bound = text.starts_with("bound");
    const size_t open = text.find('(');
    const size_t close = open == text.npos ? text.npos : text.find(')', open);
    if (close == text.npos)
        return rules;
    std::string_view list = text.substr(open + 1, close - open - 1);
    for (unsigned i = 0; i < 16 && !list.empty(); ++i) {
        const size_t comma = std::min(list.find_first_of(",;"), list.size());
        std::string_view word = list.substr(0, comma);
        while (!word.empty() && word.front() == ' ')
            word.remove_prefix(1);
        if (is_capital_word(word))
            rules.constant |= static_cast<uint16_t>(1u << i);
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return rules;
}

const Rules& rules_of(Intrinsic id) {
    static const std::vector<Rules> all = [] {
        std::vector<Rules> v;
        for (unsigned i = 0; i < static_cast<unsigned>(Intrinsic::count); ++i)
            v.push_back(read_rules(intrinsic_info(static_cast<Intrinsic>(i))));
        return v;
    }();
    return all[static_cast<size_t>(id)];
}

std::string print(const llvm::Instruction& inst) {
    std::string s;
    llvm::raw_string_ostream out(s);
    inst.print(out);
    return out.str();
}

} // namespace

Result<void> verify_shader(const ShaderModule& shader, bool bound) {
    std::string text;
    llvm::raw_string_ostream out(text);
    if (llvm::verifyModule(*shader.module, &out))
        return Error{"the IR is broken: " + out.str()};
    return verify_dictionary(shader, bound);
}

Result<void> verify_dictionary(const ShaderModule& shader, bool bound) {
    for (const llvm::BasicBlock& block : *shader.main)
        for (const llvm::Instruction& inst : block) {
            const auto* c = llvm::dyn_cast<llvm::CallInst>(&inst);
            if (!c)
                continue;
            const auto id = intrinsic_of(inst);
            if (!id) {
                if (!llvm::isa<llvm::IntrinsicInst>(c))
                    return Error{"a call that is not in the dictionary:" + print(inst)};
                continue;
            }
            const IntrinsicInfo& info = intrinsic_info(*id);
            const Rules& rules = rules_of(*id);
            if (bound && rules.raw)
                return Error{fmt::format("raw {} is left after the passes:{}", info.name, print(inst))};
            if (c->arg_size() != std::string_view(info.operands).size())
                return Error{"operand count:" + print(inst)};
            for (unsigned i = 0; i < c->arg_size(); ++i)
                if (rules.constant >> i & 1 && !llvm::isa<llvm::Constant>(c->getArgOperand(i)))
                    return Error{fmt::format("operand {} of {} must be a constant:{}", i, info.name, print(inst))};
        }
    return {};
}

} // namespace dmsh
