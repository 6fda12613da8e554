// Parses listings of nvdisasm and compares them line by line.
#include "tests/support/listing.h"
#include "compiler/isa/isa.h"
#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

namespace dmsh::test {

bool is_nvdisasm(std::string_view text) {
    return text.starts_with(".headerflags") || text.find("\n.headerflags") != text.npos;
}

ListingScore compare_listing(std::string_view rest, std::span<const uint8_t> code) {
    using namespace isa;
    std::map<uint32_t, std::string> texts;
    std::map<std::string, uint32_t> labels;
    std::vector<std::string> open_labels;
    while (!rest.empty()) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.starts_with(".L_") && line.ends_with(":"))
            open_labels.emplace_back(line.substr(0, line.size() - 1));
        const size_t end = line.find("*/");
        if (!line.starts_with("/*") || line.starts_with("/*ctl") || end == line.npos || end + 3 > line.size())
            continue;
        const auto pc = static_cast<uint32_t>(std::strtoul(std::string(line.substr(2)).c_str(), nullptr, 16));
        // The text ends before a note on branch targets or the semicolon; the encoding follows as a comment.
        std::string text(line.substr(end + 3));
        text.resize(std::min({text.find(" (*"), text.find(';'), text.size()}));
        while (text.ends_with(' '))
            text.pop_back();
        texts[pc] = text;
        for (const std::string& label : open_labels)
            labels[label] = pc;
        open_labels.clear();
    }
    ListingScore score;
    for (const Instruction& instruction : decode_program(isa::Arch::sm_53, code)) {
        const auto expected = texts.find(instruction.pc);
        if (expected == texts.end())
            continue;
        std::string want = expected->second, have = disassemble(instruction);
        if (want.find("32@") != want.npos)
            continue; // the listing shows the relocation in place of the number
        ++score.lines;
        if (const size_t at = want.find("`("); at != want.npos) {
            // A target at a scheduling word means the instruction behind it.
            const auto known = labels.find(want.substr(at + 2, want.size() - at - 3));
            if (known != labels.end() && instruction.has(F::offset)) {
                ++score.targets;
                score.wrong_targets +=
                    first_instruction(isa::Arch::sm_53, static_cast<uint32_t>(instruction.target())) != known->second;
            }
            want.resize(at);
            have.resize(std::min(have.size(), want.size()));
        }
        if (want != have && score.differ++ == 0) {
            char place[16];
            snprintf(place, sizeof place, "0x%x: ", instruction.pc);
            score.first = place + ("want " + want) + ", have " + have;
        }
    }
    return score;
}

} // namespace dmsh::test
