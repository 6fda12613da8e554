// Every shader of the Maxwell corpora that binds becomes a metallib for both targets, or is refused with a
// code.
#include "compiler/emit/air/air_emitter.h"
#include "compiler/emit/air/air_module.h"
#include "compiler/emit/air/lint.h"
#include "compiler/emit/air/metallib_reader.h"
#include "compiler/lift/lifter.h"
#include "compiler/passes/pipeline.h"
#include "tests/air/corpus.h"
#include <chrono>
#include <gtest/gtest.h>
#include <map>

using namespace dmsh;
namespace fs = std::filesystem;

namespace {

struct Sample {
    fs::path code, constants;
    Stage stage;
    GuestAbiId abi;
};

std::vector<Sample> samples() {
    const fs::path corpus = test::shared_folder() / "corpus";
    std::vector<Sample> list;
    const std::pair<const char*, Stage> extensions[] = {
        {".glsl.vert", Stage::vertex}, {".glsl.frag", Stage::fragment}, {".glsl.comp", Stage::compute}};
    const auto in = [&](const char* folder, const auto& add) {
        if (fs::is_directory(corpus / folder))
            for (const auto& e : fs::directory_iterator(corpus / folder))
                add(e.path(), e.path().filename().string());
    };
    in("maxwell-gfx", [&](const fs::path& p, const std::string& name) {
        for (const auto& [tail, stage] : extensions)
            if (name.ends_with(tail)) {
                const std::string stem = name.substr(0, name.size() - std::string(tail).size());
                list.push_back({p.parent_path() / (stem + ".bin"), p.parent_path() / (stem + ".c1.bin"),
                                stage, GuestAbiId::nvn});
            }
    });
    in("nvidia-glslc", [&](const fs::path& p, const std::string& name) {
        if (name.ends_with(".maxwell.bin"))
            list.push_back({p, p.parent_path() / (name.substr(0, name.size() - 4) + ".c1.bin"),
                            name.find("_vertex") != name.npos ? Stage::vertex : Stage::fragment,
                            GuestAbiId::headsurface});
    });
    in("cuda", [&](const fs::path& p, const std::string& name) {
        if (name.ends_with(".53.bin"))
            list.push_back({p, p.parent_path() / (name.substr(0, name.size() - 4) + ".c2.bin"),
                            Stage::compute, GuestAbiId::cuda});
    });
    std::sort(list.begin(), list.end(), [](const Sample& a, const Sample& b) { return a.code < b.code; });
    return list;
}

struct Count {
    unsigned bound = 0, legal = 0, emitted = 0;
    double emit_ms = 0;
    size_t bytes = 0;
};

} // namespace

TEST(AirCorpus, EveryBoundShaderIsEmittedOrRefusedByCode) {
    if (samples().empty())
        GTEST_SKIP() << "../shared/corpus is not there";
    std::map<std::string, Count> by_folder;
    std::map<std::string, unsigned> refusals;
    const char* only = std::getenv("DMSH_ONLY");
    for (const Sample& s : samples()) {
        if (only && s.code.filename().string().find(only) == std::string::npos)
            continue;
        const auto bytes = test::read_file(s.code), constants = test::read_file(s.constants);
        ShaderInput input;
        input.stage = s.stage;
        input.abi = &guest_abi(s.abi);
        const size_t head = s.stage == Stage::compute ? 0 : 0x50;
        ASSERT_GE(bytes.size(), head) << s.code;
        input.sph = std::span(bytes).first(head);
        input.code = std::span(bytes).subspan(head);
        input.constants = constants;
        input.local_bytes = 4096;
        input.shared_bytes = 16384;
        input.local_size = {32, 1, 1};
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
