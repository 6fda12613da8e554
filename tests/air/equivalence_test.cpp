// Every shader of the graphics corpora that is emitted, executed as AIR on random and boundary inputs beside the interpreter of its machine code.
#include "compiler/sim/verify/verify.h"
#include "tests/air/samples.h"
#include <gtest/gtest.h>
#include <map>

namespace dmsh {
namespace {

TEST(AirCorpus, GivesWhatTheInterpreterGives) {
    const auto list = test::samples();
    if (list.empty())
        GTEST_SKIP() << "../shared/corpus is not there";
    const char* only = std::getenv("DMSH_ONLY");
    const char* cases = std::getenv("DMSH_CASES");
    std::map<std::string, std::map<std::string, unsigned>> counts; // by folder, by outcome
    for (const test::Sample& s : list) {
        const std::string name = s.code.stem().string(), folder = s.code.parent_path().filename().string();
        if (folder == "cuda" || (only && name.find(only) == std::string::npos))
            continue;
        test::SampleInput sample(s);
        sample.input.float_mode = FloatMode::exact;
        const auto v = sim::verify_shader_code(sample.input, {.seed = 7, .cases = cases ? static_cast<unsigned>(std::atoi(cases)) : 2, .levels = 0, .air = true, .max_steps = 300'000});
        const auto& refused = v.refused[static_cast<unsigned>(sim::IrLevel::air)];
        std::string outcome = "equal";
        if (v.difference)
            outcome = "different";
        else if (refused)
            outcome = "refused";
        else if (!v.passed())
            outcome = "not compared";
        ++counts[folder][outcome];
        if (outcome != "equal")
            std::printf("%s: %s: %s\n", name.c_str(), outcome.c_str(),
                        v.difference ? v.difference->text().c_str() : refused ? refused->text().c_str() : v.not_interpreted ? v.not_interpreted->text().c_str() : "");
    }
    for (const auto& [folder, outcomes] : counts)
        for (const auto& [outcome, n] : outcomes)
            std::printf("%s: %u %s\n", folder.c_str(), n, outcome.c_str());
    // The others are printed above and counted in docs/air.md.
    if (!only && !cases && counts.count("maxwell-gfx")) {
        EXPECT_GE(counts["maxwell-gfx"]["equal"], 141u);
    }
}

} // namespace
} // namespace dmsh
