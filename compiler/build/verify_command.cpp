// Runs `dmshc verify` and `dmshc run`.
#include "compiler/build/verify_command.h"
#include "compiler/build/exit_codes.h"
#include "compiler/build/files.h"
#include "compiler/sim/verify/verify.h"
#include <bit>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>

namespace dmsh {
namespace {

using Json = nlohmann::ordered_json;

int fail(const char* command, int code, const std::string& message) {
    std::fprintf(stderr, "dmshc %s: %s\n", command, message.c_str());
    return code;
}

int graver(int a, int b) { return std::max(a, b); }

// Visits every shader of a path that the options select; answers an exit code.
int for_each_shader(const char* command, const ShaderSource& source, const std::function<int(const LoadedShader&)>& visit) {
    if (source.raw) {
        const auto shader = load_raw(source);
        return shader ? visit(*shader) : fail(command, shader.error().code, shader.error().text());
    }
    ScanOptions options;
    options.paths = {source.path};
    const auto found = scan(options);
    if (!found)
        return fail(command, kExitInput, found.error().text());
    int code = kExitDone;
    for (const Error& e : found->errors)
        code = fail(command, kExitInput, e.text());
    bool any = false;
    for (const ShaderRecord& r : found->records) {
        if (!selects(source, r))
            continue;
        any = true;
        const auto shader = load_record(source, r);
        code = graver(code, shader ? visit(*shader)
                                   : fail(command, kExitLosses, fmt::format("L{:04} {}", shader.error().code, shader.error().text())));
    }
    return any ? code : graver(code, fail(command, kExitNoShader, source.path + ": no shader"));
}

Result<sim::JobFile> load_job(const std::string& path, const ShaderInput& input) {
    const auto text = read_file(path);
    if (!text)
        return text.error();
    const std::string folder = std::filesystem::path(path).parent_path().string();
    auto job = sim::read_job({reinterpret_cast<const char*>(text->data()), text->size()}, folder.empty() ? "." : folder, input);
    if (!job) {
        Error e = job.error();
        e.origin = path;
        return e;
    }
    return job;
}

std::string name_of(const LoadedShader& s) { return s.key.empty() ? s.origin : s.key + " " + s.origin; }

Json difference_json(const sim::Difference& d) {
    Json j = {{"case", d.case_index}, {"level", d.level}, {"inputs", d.inputs}, {"thread", d.thread}, {"output", d.output}};
    if (!d.sass.empty()) {
        j["address"] = d.pc;
        j["sass"] = d.sass;
        j["register"] = d.reg;
        j["interpreter"] = fmt::format("0x{:08x}", d.expected);
        j["ir"] = fmt::format("0x{:08x}", d.got);
        j["ir_value"] = d.ir;
        j["operands"] = d.operands;
    }
    return j;
}

int report(const LoadedShader& shader, const sim::Verdict& v, Json* list) {
    const std::string name = name_of(shader), stage(stage_name(shader.input.stage));
    Json j = {{"shader", name}, {"stage", stage}, {"cases", v.cases}, {"skipped", v.skipped}};
    std::string line;
    int code = kExitDone;
    if (v.difference) {
        code = kExitLosses;
        line = "differs, " + v.difference->text();
        j["difference"] = difference_json(*v.difference);
    } else if (v.refused[0] || v.not_interpreted) {
        code = kExitLosses;
        const Error& e = v.refused[0] ? *v.refused[0] : *v.not_interpreted;
        line = fmt::format("refused by the {}: {}\n", v.refused[0] ? "translation" : "interpreter", e.text());
        j["refused"] = e.text();
    } else {
        line = fmt::format("equal on {} cases{}\n", v.cases, v.skipped ? fmt::format(", {} did not end", v.skipped) : "");
        for (unsigned k = 1; k < sim::kIrLevels; ++k)
            if (v.refused[k]) {
                code = kExitLosses;
                line += fmt::format("  not compared as {}: {}\n", sim::level_name(static_cast<sim::IrLevel>(k)), v.refused[k]->text());
                j["not_compared"] = v.refused[k]->text();
                break;
            }
    }
    j["equal"] = v.passed();
    if (list)
        list->push_back(std::move(j));
    else
        std::printf("%s (%s): %s", name.c_str(), stage.c_str(), line.c_str());
    return code;
}

// Source registers, then what changed.
void print_trace(const ShaderInput& input, const sim::Trace& trace) {
    for (const sim::TraceStep& s : trace.steps) {
        uint64_t word = 0;
        if (s.pc + 8 <= input.code.size())
            std::memcpy(&word, input.code.data() + s.pc, 8);
        const auto i = isa::decode(isa::Arch::sm_53, word, 0, s.pc);
        std::string text = fmt::format("{:04x}  {:<48}", s.pc, i ? isa::disassemble(*i) : "?");
        if (!s.executed)
            text += " (guard false)";
        for (const auto& [v, value] : s.writes) {
            if (v < sim::kTracePredicates)
                text += fmt::format("  R{} = 0x{:08x} ({:g})", v, value, std::bit_cast<float>(value));
            else if (v < sim::kTraceFlags)
                text += fmt::format("  P{} = {}", v - sim::kTracePredicates, value);
            else
                text += fmt::format("  CC.{} = {}", "ZSCO"[v - sim::kTraceFlags], value);
        }
        std::printf("%s\n", text.c_str());
    }
}

Json words_json(const sim::AttributeWords& words, const std::bitset<256>& which) {
    Json j = Json::object();
    for (uint32_t k = 0; k < words.size(); ++k)
        if (which[k])
            j[fmt::format("0x{:x}", 4 * k)] = fmt::format("0x{:08x}", words[k]);
    return j;
}

// What the shader left, as JSON: memory blocks as words, outputs of invocations.
Json results_json(const sim::Job& job) {
    constexpr size_t kMostWords = 4096; // the rest is for "out" files
    Json j = Json::object();
    for (const sim::MemoryBlock& b : job.memory) {
        Json words = Json::array();
        for (size_t k = 0; k + 4 <= b.bytes.size() && words.size() < kMostWords; k += 4) {
            uint32_t w;
            std::memcpy(&w, b.bytes.data() + k, 4);
            words.push_back(fmt::format("0x{:08x}", w));
        }
        j["memory"].push_back({{"address", fmt::format("0x{:x}", b.address)}, {"words", words}});
    }
    if (!job.graphics)
        return j;
    for (const sim::Invocation& v : job.graphics->invocations) {
        Json i = {{"killed", v.killed}, {"out", words_json(v.out, v.written)}};
        Json colours = Json::object();
        for (uint32_t k = 0; k < v.colour.size(); ++k)
            if (v.colours_written >> k & 1)
                colours[fmt::format("{}.{}", k / 4, "xyzw"[k % 4])] = fmt::format("0x{:08x}", v.colour[k]);
        i["colours"] = colours;
        if (v.depth)
            i["depth"] = fmt::format("0x{:08x}", *v.depth);
        if (v.mask)
            i["mask"] = fmt::format("0x{:08x}", *v.mask);
        for (const auto& e : v.emitted)
            i["emitted"].push_back(e.cut ? Json{{"stream", e.stream}, {"cut", true}} : Json{{"stream", e.stream}, {"out", words_json(e.out, v.written)}});
        j["invocations"].push_back(std::move(i));
    }
    return j;
}

} // namespace

int run_verify(const VerifyCommandOptions& o) {
    ShaderSource source = o.source;
    source.exact = !o.ship;
    if (const auto fault = option_fault(source))
        return fail("verify", kExitUsage, *fault);
    Json list = Json::array();
    unsigned shaders = 0, equal = 0;
    int code = kExitDone;
    for (const std::string& path : o.paths) {
        source.path = path;
        code = graver(code, for_each_shader("verify", source, [&](const LoadedShader& shader) {
                          ++shaders;
                          sim::Verdict v;
                          if (o.job.empty()) {
                              v = sim::verify_shader_code(shader.input, {.seed = o.seed, .cases = o.cases});
                          } else {
                              auto job = load_job(o.job, shader.input);
                              if (!job)
                                  return fail("verify", kExitInput, job.error().text());
                              v = sim::verify_jobs(shader.input, std::span(&job->job, 1));
                          }
                          equal += v.passed();
                          return report(shader, v, o.json ? &list : nullptr);
                      }));
    }
    if (o.json)
        std::printf("%s\n", Json{{"seed", o.seed}, {"shaders", list}}.dump(2).c_str());
    else if (shaders > 1)
        std::printf("%u of %u shaders equal\n", equal, shaders);
    return code;
}

int run_shader(const RunCommandOptions& o) {
    ShaderSource source = o.source;
    source.exact = true;
    if (const auto fault = option_fault(source))
        return fail("run", kExitUsage, *fault);
    unsigned count = 0;
    return for_each_shader("run", source, [&](const LoadedShader& shader) {
        if (count++)
            return fail("run", kExitUsage, source.path + ": more than one shader; choose with --key or --stage");
        auto job = load_job(o.job, shader.input);
        if (!job)
            return fail("run", kExitInput, job.error().text());
        sim::Trace trace;
        trace.thread = o.thread;
        sim::Launch launch = job->job.launch(shader.input.code);
        launch.trace = o.trace ? &trace : nullptr;
        const auto ran = sim::run(launch);
        if (o.trace)
            print_trace(shader.input, trace);
        if (!ran)
            return fail("run", kExitLosses, shader.origin + ": " + ran.error().text());
        for (const sim::JobOutput& out : job->outputs)
            if (auto w = write_file(out.file, job->job.memory[out.block].bytes); !w)
                return fail("run", kExitOutput, w.error().text());
        if (o.json || job->outputs.empty())
            std::printf("%s\n", results_json(job->job).dump(2).c_str());
        return static_cast<int>(kExitDone);
    });
}

} // namespace dmsh
