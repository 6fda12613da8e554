// Compares decoder and disassembler with the texts of a table.
#include "tests/isa/score.h"

#include <iostream>
#include <map>

#include <gtest/gtest.h>

namespace dmsh::isa {

Score score(Arch arch, const std::vector<Sample>& samples) {
    Score result;
    std::map<std::string_view, int> shown;
    for (const Sample& sample : samples) {
        std::optional<Instruction> instruction = decode(arch, sample.lo, sample.hi, sample.pc, true);
        if (sample.rejected()) {
            ++(instruction ? result.wrongly_taken : result.rejected);
            if (instruction && shown["!"]++ < 5) {
                std::cout << std::hex << sample.lo << " taken as " << disassemble(*instruction) << "\n";
            }
            continue;
        }
        if (sample.unnamed_values()) {
            result.unnamed_taken += instruction.has_value();
            continue;
        }
        std::string text = instruction ? disassemble(*instruction) : "(refused)";
        ++(text == sample.text ? result.equal : result.differ);
        if (text != sample.text && shown[instruction ? instruction->mnemonic() : ""]++ < 3)
            std::cout << std::hex << sample.lo << " " << sample.hi << std::dec << "\n  want " << sample.text
                      << "\n  have " << text << "\n";
        // What only differs in bits without meaning is the same instruction.
        if (instruction && !decode(arch, sample.lo, sample.hi, sample.pc)) {
            const Row& row = *instruction->row;
            std::optional<Instruction> clean =
                decode(arch, sample.lo & row.used_lo, sample.hi & row.used_hi, sample.pc);
            EXPECT_TRUE(clean) << sample.text;
            EXPECT_EQ(clean ? disassemble(*clean) : "", text);
        }
    }
    std::cout << std::dec << samples.size() << " lines: " << result.equal << " equal, " << result.differ
              << " differ (" << result.share() << " %), " << result.rejected << " rejected, "
              << result.wrongly_taken << " wrongly taken, " << result.unnamed_taken
              << " with unnamed values taken\n";
    return result;
}

} // namespace dmsh::isa
