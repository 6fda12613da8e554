// Every shader of the Maxwell corpora that binds becomes a metallib for both targets, or is refused with a
// code.
#include "compiler/emit/air/air_emitter.h"
#include "compiler/emit/air/air_module.h"
#include "compiler/emit/air/lint.h"
#include "compiler/emit/air/metallib_reader.h"
#include "compiler/lift/lifter.h"
#include "compiler/passes/pipeline.h"
#include "tests/air/samples.h"
#include <chrono>
#include <gtest/gtest.h>
#include <map>

using namespace dmsh;

namespace {

struct Count {
    unsigned bound = 0, legal = 0, emitted = 0;
    double emit_ms = 0;
    size_t bytes = 0;
};

} // namespace

TEST(AirCorpus, EveryBoundShaderIsEmittedOrRefusedByCode) {
    if (test::samples().empty())
        GTEST_SKIP() << "../shared/corpus is not there";
    std::map<std::string, Count> by_folder;
    std::map<std::string, unsigned> refusals;
    const char* only = std::getenv("DMSH_ONLY");
    for (const test::Sample& s : test::samples()) {
        if (only && s.code.filename().string().find(only) == std::string::npos)
            continue;
        const test::SampleInput sample(s);
        const ShaderInput& input = sample.input;
        Count& count = by_folder[s.code.parent_path().filename().string()];
        auto shader = lift(input);
        if (!shader || !run_passes(*shader))
            continue;
        ++count.bound;
        const auto start = std::chrono::steady_clock::now();
        if (auto r = legalize_metal(*shader); !r) {
            EXPECT_NE(r.error().code, 0) << s.code << ": " << r.error().text();
            printf("%-44s legalise: %s\n", s.code.stem().c_str(), r.error().text().c_str());
            continue;
        }
        ++count.legal;
        auto f = emit_air(*shader, Target::macos, only != nullptr);
        if (!f) {
            EXPECT_NE(f.error().code, 0) << s.code << ": " << f.error().text();
            EXPECT_EQ(f.error().text().find("internal"), std::string::npos)
                << s.code << ": " << f.error().text();
            printf("%-44s air: %s\n", s.code.stem().c_str(), f.error().text().c_str());
            continue;
        }
        auto lib = write_metallib(std::span(&*f, 1), Target::macos);
        ASSERT_TRUE(lib) << lib.error().text();
        count.emit_ms +=
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        count.bytes += lib->size();
        ++count.emitted;
        if (only)
            printf("%s\n", f->text.c_str());
        auto parsed = read_metallib(*lib);
        ASSERT_TRUE(parsed);
        for (const auto& fault : verify_container(*parsed))
            ADD_FAILURE() << s.code << ": " << fault;
        auto module = parse_air(parsed->functions[0].bitcode);
        ASSERT_TRUE(module) << s.code << ": " << module.error().text();
        EXPECT_EQ(lint_text(lint_metallib(*lib, LintScope::ours)), "ok\n") << s.code;
        auto phone = emit_air(*shader, Target::ios);
        ASSERT_TRUE(phone) << s.code << ": " << phone.error().text();
    }
    for (const auto& [folder, c] : by_folder)
        printf("%s: %u bound, %u legal, %u emitted, %.2f ms and %zu bytes each\n", folder.c_str(), c.bound,
               c.legal, c.emitted, c.emit_ms / std::max(c.emitted, 1u), c.bytes / std::max(c.emitted, 1u));
}
