// Runs a build: scan, translate on all workers, write packs and reports.
#include "compiler/build/library_build.h"
#include "archivers/nvn/prepare_program.h"
#include "archivers/pack/library_writer.h"
#include "compiler/build/exit_codes.h"
#include "compiler/build/files.h"
#include "compiler/build/jobs.h"
#include "compiler/build/report.h"
#include "compiler/build/source_digest.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>

namespace dmsh {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One program, built: its report, and its encoded form for each target (nothing where it was refused).
struct BuiltProgram {
    ProgramReport report;
    std::vector<std::optional<EncodedProgram>> encoded;
};

std::vector<std::string> loss_lines(const std::vector<Loss>& losses) {
    std::vector<std::string> lines;
    for (const Loss& loss : losses)
        lines.push_back(fmt::format("L{:04} at 0x{:x}: {}", loss.code, loss.pc, loss.text));
    return lines;
}

Error coded(Error error, LossCode code) {
    if (error.code == 0)
        error.code = static_cast<uint16_t>(code);
    return error;
}

BuiltProgram build_one(const ShaderRecord& record, const BuildOptions& options) {
    BuiltProgram built;
    ProgramReport& report = built.report;
    report.key = record.key;
    report.stage = record.stage;
    report.arch = record.arch;
    report.origin = record.origin;
    report.offset = record.offset;
    report.copies = record.copies;
    report.code_bytes = static_cast<uint32_t>(record.code.size());
    built.encoded.resize(options.targets.size());

    const auto prepared = prepare_program(record.control.bytes, record.code.bytes);
    if (!prepared) {
        report.refused = coded(prepared.error(), LossCode::not_code);
        return built;
    }
    const ShaderInput input = shader_input(*prepared, options.profile, record.key, record.origin, options.float_mode);
    TranslateOptions t;
    t.spirv = false;
    t.validate = options.validate;
    for (const Target target : options.targets) {
        if (target == Target::vulkan)
            t.spirv = true;
        else
            t.metal_targets.push_back(target);
    }
    auto translation = translate(input, t);
    if (!translation) {
        report.refused = coded(translation.error(), LossCode::passes);
        return built;
    }
    report.instruction_count = translation->instruction_count;
    report.times = translation->times;
    report.losses = translation->losses;
    report.vulkan_refused = translation->spirv_error;
    report.metal_refused = translation->metal_error;

    size_t metal = 0;
    for (size_t i = 0; i < options.targets.size(); ++i) {
        const bool vulkan = options.targets[i] == Target::vulkan;
        ProgramReflection reflection{.interface = vulkan ? translation->interface : translation->metal_interface,
                                     .entry = {},
                                     .constants = {prepared->constants.data(), prepared->constants.data() + prepared->constants.size()},
                                     .losses = loss_lines(translation->losses),
                                     .origin = record.origin};
        std::span<const uint8_t> slice;
        if (vulkan) {
            slice = {reinterpret_cast<const uint8_t*>(translation->spirv.data()), translation->spirv.size() * 4};
        } else if (metal < translation->metallibs.size()) {
            slice = translation->metallibs[metal++];
        }
        if (slice.empty())
            continue; // refused by this target
        auto encoded = encode_program(record.key, reflection, vulkan ? SliceKind::spirv : SliceKind::metallib, slice);
        if (!encoded) {
            (vulkan ? report.vulkan_refused : report.metal_refused) = coded(encoded.error(), LossCode::limits);
            continue;
        }
        built.encoded[i] = *std::move(encoded);
    }
    return built;
}

// Order of work: big shaders first, so that the last worker is not left with one of them.
std::vector<size_t> work_order(const std::vector<ShaderRecord>& records) {
    std::vector<size_t> order(records.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return records[a].code.size() > records[b].code.size(); });
    return order;
}

void write_packs(const BuildOptions& options, std::vector<BuiltProgram>& built, BuildResult& result) {
    const std::string stamp = build_stamp(options.profile, options.float_mode);
    for (size_t t = 0; t < options.targets.size(); ++t) {
        const std::string name(target_name(options.targets[t]));
        LibraryWriter writer(name, stamp);
        for (BuiltProgram& program : built)
            if (program.encoded[t])
                writer.add(*std::move(program.encoded[t]));
        const std::string path = fmt::format("{}/library.{}.dmlib", options.output, name);
        if (auto r = writer.write(path); !r)
            result.output_errors.push_back(r.error());
        else
            result.written.push_back(path);
    }
}

} // namespace

int BuildResult::exit_code() const {
    if (!output_errors.empty())
        return kExitOutput;
    if (!input_errors.empty())
        return kExitInput;
    if (programs.empty())
        return kExitNoShader;
    for (const ProgramReport& p : programs)
        if (p.lost())
            return kExitLosses;
    return kExitDone;
}

std::string_view target_name(Target target) {
    switch (target) {
    case Target::vulkan: return "vulkan";
    case Target::macos: return "macos";
    case Target::ios: return "ios";
    }
    return "?";
}

std::optional<Target> target_from_name(std::string_view name) {
    for (const Target t : {Target::vulkan, Target::macos, Target::ios})
        if (target_name(t) == name)
            return t;
    return std::nullopt;
}

std::string build_stamp(const Profile& profile, FloatMode mode) {
    // 12 digits of the sources, 8 of the profile: the stamp has 32 characters in a pack.
    return fmt::format("{}-{}-{:08x}", DMSH_SOURCE_DIGEST, mode == FloatMode::exact ? "exact" : "ship",
                       static_cast<uint32_t>(profile.digest() ^ profile.digest() >> 32));
}

ShaderInput shader_input(const PreparedProgram& p, const Profile& profile, uint64_t key, std::string_view origin,
                         FloatMode mode) {
    ShaderInput input;
    input.arch = p.arch;
    input.stage = p.stage;
    input.sph = {p.sph_bytes.data(), p.sph_bytes.size()};
    input.code = {p.instructions.data(), p.instructions.size()};
    input.constants = {p.constants.data(), p.constants.size()};
    input.local_size = p.local_size;
    input.shared_bytes = p.shared_bytes;
    input.local_bytes = p.local_bytes;
    input.early_tests = p.early_tests;
    input.layout = p.layout;
    input.abi = &profile.abi_for(origin);
    input.float_mode = mode;
    if (const ShaderFacts* facts = profile.facts_for(key)) {
        input.facts = facts->resources;
        input.vertex_inputs = facts->vertex_inputs;
        input.colour_outputs = facts->colour_outputs;
    }
    return input;
}

BuildResult build_library(const BuildOptions& options) {
    BuildResult result;
    auto start = std::chrono::steady_clock::now();
    ScanOptions scan_options = options.scan;
    scan_options.skip = options.profile.key_skip;
    scan_options.workers = options.workers;
    auto scanned = scan(scan_options);
    result.scan_seconds = seconds_since(start);
    if (!scanned) {
        result.input_errors.push_back(scanned.error());
        return result;
    }
    result.scan = *std::move(scanned);
    result.input_errors = result.scan.errors;
    if (result.scan.records.empty())
        return result; // nothing to write

    std::error_code ec;
    std::filesystem::create_directories(options.output, ec);
    if (ec) {
        result.output_errors.push_back({"cannot be created: " + ec.message(), options.output});
        return result;
    }

    start = std::chrono::steady_clock::now();
    const std::vector<ShaderRecord>& records = result.scan.records;
    std::vector<BuiltProgram> built(records.size());
    const std::vector<size_t> order = work_order(records);
    std::atomic<size_t> done{0};
    std::mutex progress_mutex;
    auto last_progress = std::chrono::steady_clock::now();
    parallel_for(order.size(), options.workers, [&](size_t i) {
        built[order[i]] = build_one(records[order[i]], options);
        const size_t n = done.fetch_add(1) + 1;
        if (!options.progress)
            return;
        const std::lock_guard lock(progress_mutex);
        if (n == order.size() || seconds_since(last_progress) > 0.1) {
            last_progress = std::chrono::steady_clock::now();
            options.progress(n, order.size());
        }
    });
    result.translate_seconds = seconds_since(start);

    start = std::chrono::steady_clock::now();
    write_packs(options, built, result);
    for (BuiltProgram& program : built)
        result.programs.push_back(std::move(program.report));
    for (ShaderRecord& record : result.scan.records)
        record.control = record.code = Blob{};
    const std::pair<const char*, std::string> reports[] = {
        {"shader_map.tsv", shader_map_tsv(result)},
        {"shader_pairs.tsv", shader_pairs_tsv(result)},
        {"pso_pairs.tsv", pso_pairs_tsv(result)},
        {"build.json", build_json(options, result)},
    };
    for (const auto& [name, text] : reports) {
        const std::string path = options.output + "/" + name;
        if (auto r = write_file(path, text); !r)
            result.output_errors.push_back(r.error());
        else
            result.written.push_back(path);
    }
    result.write_seconds = seconds_since(start);
    return result;
}

} // namespace dmsh
