// Decoder and disassembler against NVIDIA's disassembler: machine-made encodings, rejections, and compiled
// kernels.
#include <cstdlib>
#include <iostream>
#include <map>

#include <gtest/gtest.h>

#include "compiler/isa/isa.h"
#include "tests/isa/corpus.h"
#include "tests/isa/score.h"

namespace dmsh::isa {
namespace {

TEST(MaxwellDisassembler, SampledOracle) {
    std::vector<Sample> samples = read_samples(DMSH_SOURCE_DIR "/tests/data/isa/sm_53.tsv");
    ASSERT_GT(samples.size(), 1000u);
    Score result = score(Arch::sm_53, samples);
    EXPECT_EQ(result.differ, 0u);
    EXPECT_EQ(result.wrongly_taken, 0u);
}

TEST(MaxwellDisassembler, FullOracle) {
    std::vector<Sample> samples = read_samples(corpus() / "cuda/oracle.sm_53.tsv.zst");
    if (samples.empty())
        GTEST_SKIP() << "no corpus at " << corpus();
    Score result = score(Arch::sm_53, samples);
    EXPECT_GE(result.share(), 99.99);
    EXPECT_EQ(result.wrongly_taken, 0u);
    EXPECT_EQ(result.unnamed_taken, 0u);
}

TEST(MaxwellDisassembler, EncodingsOfCompiledKernels) {
    std::vector<Sample> samples = read_samples(corpus() / "cuda/encodings.sm_53.tsv");
    if (samples.empty())
        GTEST_SKIP() << "no corpus at " << corpus();
    Score result = score(Arch::sm_53, samples);
    EXPECT_EQ(result.differ, 0u);
}

// Labels of a listing are dropped from both texts; their addresses are checked against target() apart.
std::string without_target(std::string text) {
    size_t at = text.find("`(");
    if (at != text.npos)
        text.resize(at);
    return text;
}

TEST(MaxwellDisassembler, ListingsOfCompiledKernels) {
    if (!std::filesystem::exists(corpus() / "cuda"))
        GTEST_SKIP() << "no corpus at " << corpus();
    size_t files = 0, lines = 0, differ = 0, targets = 0;
    for (const auto& entry : std::filesystem::directory_iterator(corpus() / "cuda")) {
        std::string name = entry.path().filename().string();
        if (!name.ends_with(".53.dis"))
            continue;
        std::vector<uint8_t> listing = read_file(entry.path());
        std::filesystem::path binary = entry.path();
        std::vector<uint8_t> code = read_file(binary.replace_extension(".bin"));
        std::map<uint32_t, std::string> texts;
        std::map<std::string, uint32_t> labels;
        std::vector<std::string> open_labels;
        std::string_view rest(reinterpret_cast<const char*>(listing.data()), listing.size());
        while (!rest.empty()) {
            std::string_view line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(rest.size(), line.size() + 1));
            if (line.starts_with(".L_") && line.ends_with(":"))
                open_labels.emplace_back(line.substr(0, line.size() - 1));
            if (!line.starts_with("/*") || line.starts_with("/*ctl"))
                continue;
            uint32_t pc = uint32_t(std::strtoul(std::string(line.substr(2)).c_str(), nullptr, 16));
            // The text ends before a note on branch targets or the semicolon; the encoding follows as a
            // comment.
            std::string text(line.substr(line.find("*/") + 3));
            text.resize(std::min(text.find(" (*"), text.find(';')));
            while (text.ends_with(' '))
                text.pop_back();
            texts[pc] = text;
            for (const std::string& label : open_labels)
                labels[label] = pc;
            open_labels.clear();
        }
        std::vector<Instruction> program = decode_program(Arch::sm_53, code);
        for (const Instruction& instruction : program) {
            auto expected = texts.find(instruction.pc);
            if (expected == texts.end())
                continue;
            std::string want = expected->second, have = disassemble(instruction);
            if (want.find("32@") != want.npos)
                continue; // the listing shows the relocation in place of the number
            ++lines;
            if (size_t at = want.find("`("); at != want.npos) {
                // A target at a scheduling word means the instruction behind it.
                std::string label = want.substr(at + 2, want.size() - at - 3);
                if (auto known = labels.find(label); known != labels.end() && instruction.has(F::offset)) {
                    EXPECT_EQ(first_instruction(Arch::sm_53, uint32_t(instruction.target())), known->second)
                        << name << " " << want;
                    ++targets;
                }
                want = without_target(want);
                have.resize(std::min(have.size(), want.size()));
            }
            if (want != have && differ++ < 20)
                std::cout << name << " " << std::hex << instruction.pc << std::dec << "\n  want " << want
                          << "\n  have " << have << "\n";
        }
        ++files;
    }
    std::cout << files << " listings, " << lines << " lines, " << differ << " differ, " << targets
              << " targets\n";
    EXPECT_EQ(differ, 0u);
}

} // namespace
} // namespace dmsh::isa
