// How fast machine code becomes packs' contents: decoding, lifting with passes, each emitter and whole
// translation, over the corpora of ../shared/corpus. Counters give the median over the shaders, so that a few
// giants do not decide.
#include "compiler/build/translate.h"
#include "compiler/emit/msl/msl.h"
#include "compiler/isa/isa.h"
#include "compiler/lift/lifter.h"
#include "tests/corpus/corpus.h"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <ctime>
#include <functional>
#include <sys/resource.h>

namespace dmsh {
namespace {

using test::CorpusShader;

const std::vector<CorpusShader>& shaders() {
    static const std::vector<CorpusShader> all = [] {
        std::vector<CorpusShader> list;
        const auto folder = test::corpus_folder();
        if (!folder)
            return list;
        if (auto names = test::corpus_names(*folder / "maxwell-gfx"))
            for (const auto& name : *names)
                if (auto s = test::load_corpus_shader(*folder / "maxwell-gfx", name))
                    list.push_back(*std::move(s));
        return list;
    }();
    return all;
}

double median(std::vector<double> v) {
    if (v.empty())
        return 0;
    std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
    return v[v.size() / 2];
}

double peak_megabytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

// One shader's timed step: milliseconds, or a negative number where the step does not apply (refused).
using Step = std::function<double(const CorpusShader&, uint32_t& instructions)>;

// Processor time of this process: what other programs do on the machine does not count. Work of a child
// process is measured by the wall clock instead.
double now_ms(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

double timed(const std::function<bool()>& work, clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
    const double start = now_ms(clock);
    const bool done = work();
    return done ? now_ms(clock) - start : -1;
}

void run_step(benchmark::State& state, const Step& step) {
    if (shaders().empty()) {
        state.SkipWithError("no ../shared/corpus");
        return;
    }
    std::vector<double> per_shader, per_thousand;
    size_t done = 0, refused = 0;
    for (auto _ : state) {
        double total = 0;
        done = refused = 0;
        for (const auto& s : shaders()) {
            uint32_t instructions = 0;
            const double ms = step(s, instructions);
            if (ms < 0) {
                ++refused;
                continue;
            }
            ++done;
            total += ms;
            per_shader.push_back(ms);
            if (instructions)
                per_thousand.push_back(ms * 1000.0 / instructions);
        }
        state.SetIterationTime(total / 1000.0);
    }
    state.counters["shaders"] = static_cast<double>(done);
    state.counters["refused"] = static_cast<double>(refused);
    state.counters["ms_per_shader"] = median(per_shader);
    state.counters["ms_per_1000_instructions"] = median(per_thousand);
    state.counters["peak_MB"] = peak_megabytes();
    double seconds = 0;
    for (double ms : per_shader)
        seconds += ms / 1000.0;
    state.counters["shaders_per_second"] = seconds > 0 ? static_cast<double>(per_shader.size()) / seconds : 0;
}

void decode(benchmark::State& state) {
    if (shaders().empty()) {
        state.SkipWithError("no ../shared/corpus");
        return;
    }
    size_t bytes = 0, instructions = 0;
    for (auto _ : state) {
        bytes = instructions = 0;
        for (const auto& s : shaders()) {
            const auto program = isa::decode_program(isa::Arch::sm_53, s.code);
            benchmark::DoNotOptimize(program.data());
            bytes += s.code.size();
            instructions += program.size();
        }
    }
    state.SetBytesProcessed(static_cast<int64_t>(bytes * state.iterations()));
    state.SetItemsProcessed(static_cast<int64_t>(instructions * state.iterations()));
    state.counters["peak_MB"] = peak_megabytes();
}
BENCHMARK(decode)->Unit(benchmark::kMillisecond);

// The module ready for an emitter, made outside the timed part.
Result<ShaderModule> legal(const CorpusShader& s, bool vulkan, uint32_t& instructions) {
    auto module = lift(test::shader_input(s));
    if (!module)
        return module.error();
    if (auto r = run_passes(*module); !r)
        return r.error();
    if (auto r = vulkan ? legalize_vulkan(*module) : legalize_metal(*module); !r)
        return r.error();
    instructions = module->instruction_count;
    return module;
}

void lift_and_passes(benchmark::State& state) {
    run_step(state, [](const CorpusShader& s, uint32_t& instructions) {
        return timed([&] {
            auto module = lift(test::shader_input(s));
            if (!module || !run_passes(*module))
                return false;
            instructions = module->instruction_count;
            return true;
        });
    });
}

void emit_spirv_step(benchmark::State& state) {
    run_step(state, [](const CorpusShader& s, uint32_t& instructions) {
        auto module = legal(s, true, instructions);
        return module ? timed([&] { return bool(emit_spirv(*module)); }) : -1;
    });
}

// Not a speed: how large modules get against their limit (the greater of 3 times the original and 40 bytes per instruction), and
// how many blocks the structurizer wrote twice.
void spirv_size(benchmark::State& state) {
    double share = 0, duplicated = 0, blocks = 0, selectors = 0;
    for (auto _ : state) {
        share = duplicated = blocks = selectors = 0;
        for (const auto& s : shaders()) {
            const auto t = translate(test::shader_input(s), {.validate = false});
            if (!t)
                continue;
            const double limit = std::max(3.0 * 4 * static_cast<double>(s.reference.size()), 40.0 * t->instruction_count);
            share = std::max(share, 4 * static_cast<double>(t->spirv.size()) / limit);
            duplicated += t->spirv_counts.duplicated_blocks;
            blocks += t->spirv_counts.blocks;
            selectors += t->spirv_counts.selectors;
        }
    }
    state.counters["largest_share_of_limit"] = share;
    state.counters["blocks"] = blocks;
    state.counters["duplicated_blocks"] = duplicated;
    state.counters["selectors"] = selectors;
}

void emit_air_step(benchmark::State& state) {
    run_step(state, [](const CorpusShader& s, uint32_t& instructions) {
        auto module = legal(s, false, instructions);
        return module ? timed([&] {
            auto f = emit_air(*module, Target::macos);
            return f && write_metallib(std::span(&*f, 1), Target::macos);
        })
                      : -1;
    });
}

void emit_msl_step(benchmark::State& state) {
    run_step(state, [](const CorpusShader& s, uint32_t& instructions) {
        auto module = legal(s, false, instructions);
        return module ? timed(
                            [&] {
                                auto words =
                                    emit_spirv(*module, {.set = 0, .first_binding = 0, .for_msl = true});
                                return words && spirv_to_msl(*words, module->interface, false);
                            },
                            CLOCK_MONOTONIC)
                      : -1;
    });
}

void translate_step(benchmark::State& state, bool metal) {
    run_step(state, [metal](const CorpusShader& s, uint32_t& instructions) {
        TranslateOptions options;
        options.validate = false;
        if (metal)
            options.metal_targets = {Target::macos};
        return timed([&] {
            auto r = translate(test::shader_input(s), options);
            if (!r)
                return false;
            instructions = r->instruction_count;
            return true;
        });
    });
}

#define DMSH_STEP(function, name)                                                                            \
    BENCHMARK(function)->Name(name)->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond)
DMSH_STEP(lift_and_passes, "lift+passes");
DMSH_STEP(emit_spirv_step, "emit/spirv");
BENCHMARK(spirv_size)->Name("size/spirv")->Iterations(1)->Unit(benchmark::kMillisecond);
DMSH_STEP(emit_air_step, "emit/metallib");
DMSH_STEP(emit_msl_step, "emit/msl (child process)");
BENCHMARK_CAPTURE(translate_step, vulkan, false)
    ->Name("translate/vulkan")
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(translate_step, both, true)
    ->Name("translate/vulkan+macos")
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

} // namespace
} // namespace dmsh
