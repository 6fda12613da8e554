// Decoder and disassembler against NVIDIA's disassembler: machine-made encodings, rejections, and compiled
// kernels.
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "compiler/isa/isa.h"
#include "tests/isa/corpus.h"
#include "tests/isa/score.h"
#include "tests/support/listing.h"

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

TEST(MaxwellDisassembler, ListingsOfCompiledKernels) {
    if (!std::filesystem::exists(corpus() / "cuda"))
        GTEST_SKIP() << "no corpus at " << corpus();
    size_t files = 0, lines = 0, targets = 0;
    for (const auto& entry : std::filesystem::directory_iterator(corpus() / "cuda")) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(".53.dis"))
            continue;
        const std::vector<uint8_t> listing = read_file(entry.path());
        std::filesystem::path binary = entry.path();
        const std::vector<uint8_t> code = read_file(binary.replace_extension(".bin"));
        const test::ListingScore score = test::compare_listing(
            std::string_view(reinterpret_cast<const char*>(listing.data()), listing.size()), code);
        EXPECT_EQ(score.differ, 0u) << name << " " << score.first;
        EXPECT_EQ(score.wrong_targets, 0u) << name;
        lines += score.lines;
        targets += score.targets;
        ++files;
    }
    std::cout << files << " listings, " << lines << " lines, " << targets << " targets\n";
}

} // namespace
} // namespace dmsh::isa
