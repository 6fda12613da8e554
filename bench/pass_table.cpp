// Where a translation's time goes: a Markdown table of steps and passes over the corpora's shaders, and how the
// time grows with a shader's size. `bench_pass_table [repeats]` prints what docs/performance.md shows.
#include "archivers/nvn/sph.h"
#include "compiler/build/translate.h"
#include "compiler/lift/lifter.h"
#include "tests/corpus/corpus.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace dmsh {
namespace {

double now_ms() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

struct Sample {
    std::string set;
    ShaderInput input;
    std::vector<uint8_t> code, constants, sph;
};

// Time of every step of one set's shaders, the fastest of all repeats, and the instructions that it covers.
struct Table {
    std::vector<std::string> order;
    std::map<std::string, double> ms;
    double total = 0;
    uint64_t instructions = 0, shaders = 0;
    std::vector<std::pair<uint32_t, double>> by_size;
};

std::vector<Sample> load() {
    std::vector<Sample> all;
    const auto folder = test::corpus_folder();
    if (!folder)
        return all;
    if (auto names = test::corpus_names(*folder / "maxwell-gfx"))
        for (const auto& name : *names)
            if (auto s = test::load_corpus_shader(*folder / "maxwell-gfx", name)) {
                Sample& sample = all.emplace_back();
                sample.set = "maxwell-gfx";
                sample.input = test::shader_input(*s);
                sample.code = s->code;
                sample.constants = s->constants;
                sample.sph = s->sph;
            }
    std::vector<std::filesystem::path> files;
    for (const auto& e : std::filesystem::directory_iterator(*folder / "nvidia-glslc"))
        files.push_back(e.path());
    std::sort(files.begin(), files.end());
    for (const auto& path : files) {
        const std::string name = path.filename().string();
        const bool ampere = name.ends_with(".ampere.bin");
        if (!ampere && !name.ends_with(".maxwell.bin"))
            continue;
        auto bytes = test::read_file(path);
        if (!bytes)
            continue;
        const size_t head = ampere ? kSphBytes4 : kSphBytes3;
        Sample& sample = all.emplace_back();
        sample.set = ampere ? "nvidia-glslc, sm_86" : "nvidia-glslc, sm_53";
        sample.sph.assign(bytes->begin(), bytes->begin() + static_cast<long>(head));
        sample.code.assign(bytes->begin() + static_cast<long>(head), bytes->end());
        std::string constants = path.string();
        constants.replace(constants.size() - 4, 4, ".c1.bin");
        if (auto c = test::read_file(constants))
            sample.constants = *c;
        sample.input.stage = name.find("_vertex") != name.npos ? Stage::vertex : Stage::fragment;
        sample.input.arch = ampere ? Arch::sm86 : Arch::sm53;
        sample.input.abi = &guest_abi(GuestAbiId::headsurface);
    }
    for (Sample& s : all) {
        s.input.code = s.code;
        s.input.constants = s.constants;
        s.input.sph = s.sph;
    }
    return all;
}

void measure(const Sample& sample, unsigned repeats, Table& table) {
    std::map<std::string, double> best;
    std::vector<std::string> order;
    double best_total = 0;
    uint32_t instructions = 0;
    for (unsigned r = 0; r < repeats; ++r) {
        std::map<std::string, double> times;
        order.clear();
        TranslateOptions options;
        options.validate = false;
        const double start = now_ms();
        double last = start;
        options.observer = [&](std::string_view name, const ShaderModule&) {
            const double now = now_ms();
            times[std::string(name)] += now - last;
            order.emplace_back(name);
            last = now_ms();
        };
        auto done = translate(sample.input, options);
        const double end = now_ms();
        if (!done)
            return;
        times["emit_spirv and clean up"] = end - last;
        order.emplace_back("emit_spirv and clean up");
        instructions = done->instruction_count;
        if (r == 0 || end - start < best_total) {
            best_total = end - start;
            best = times;
        }
    }
    for (const std::string& name : order)
        if (std::find(table.order.begin(), table.order.end(), name) == table.order.end())
            table.order.push_back(name);
    for (const auto& [name, ms] : best)
        table.ms[name] += ms;
    table.total += best_total;
    table.instructions += instructions;
    ++table.shaders;
    table.by_size.emplace_back(instructions, best_total);
}

void print(const std::string& set, Table& t) {
    std::printf("\n### %s: %llu shaders, %llu instructions, %.0f instructions per ms\n\n| step | ms | share |\n"
                "| --- | --- | --- |\n",
                set.c_str(), static_cast<unsigned long long>(t.shaders),
                static_cast<unsigned long long>(t.instructions), static_cast<double>(t.instructions) / t.total);
    for (const std::string& name : t.order)
        std::printf("| `%s` | %.2f | %.1f %% |\n", name.c_str(), t.ms[name], 100 * t.ms[name] / t.total);
    std::sort(t.by_size.begin(), t.by_size.end());
    std::printf("\n| shaders by size | instructions (median) | ms (median) | instructions per ms |\n| --- | --- | --- | "
                "--- |\n");
    const char* const names[4] = {"smallest quarter", "second", "third", "largest quarter"};
    for (size_t q = 0; q < 4; ++q) {
        const size_t from = t.by_size.size() * q / 4, to = t.by_size.size() * (q + 1) / 4;
        if (from == to)
            continue;
        uint64_t instructions = 0;
        double ms = 0;
        for (size_t k = from; k < to; ++k)
            instructions += t.by_size[k].first, ms += t.by_size[k].second;
        const auto& middle = t.by_size[(from + to) / 2];
        std::printf("| %s | %u | %.3f | %.0f |\n", names[q], middle.first, middle.second,
                    static_cast<double>(instructions) / ms);
    }
}

} // namespace
} // namespace dmsh

int main(int argc, char** argv) {
    const unsigned repeats = argc > 1 ? static_cast<unsigned>(std::max(1, std::atoi(argv[1]))) : 5;
    std::map<std::string, dmsh::Table> tables;
    for (const dmsh::Sample& sample : dmsh::load())
        dmsh::measure(sample, repeats, tables[sample.set]);
    if (tables.empty()) {
        std::fprintf(stderr, "no ../shared/corpus\n");
        return 1;
    }
    for (auto& [set, table] : tables)
        dmsh::print(set, table);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("\nPeak memory of the run: %ld MB.\n", usage.ru_maxrss / 1024);
    return 0;
}
