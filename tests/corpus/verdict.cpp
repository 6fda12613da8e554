// Translates an entry of a corpus, runs it beside its reference and compares.
#include "tests/corpus/verdict.h"
#include "compiler/isa/isa.h"
#include "runtime/abi/stage_state.h"
#include "tests/corpus/compare.h"
#include "tests/corpus/lanes.h"
#include "tests/support/listing.h"
#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

namespace dmsh::test {
namespace {

constexpr std::string_view kNames[] = {"matches", "not_compared", "differs", "failed",          "crashed",
                                       "timeout", "invalid",      "refused", "reference_failed"};

constexpr double kMaxWorkerMb = 200;

void dump_words(const std::string& folder, const std::string& file, std::span<const uint32_t> words) {
    if (!folder.empty())
        std::ofstream(folder + "/" + file, std::ios::binary)
            .write(reinterpret_cast<const char*>(words.data()),
                   static_cast<std::streamsize>(words.size_bytes()));
}

// Every word up to the end, or up to padding of zeros.
Mark decodes(const ShaderInput& input, Verdict& v) {
    std::optional<isa::DecodeFault> fault;
    const auto arch = input.arch == Arch::sm53 ? isa::Arch::sm_53 : isa::Arch::sm_86;
    isa::decode_program(arch, input.code, &fault);
    if (!fault || std::all_of(input.code.begin() + fault->pc, input.code.end(), [](uint8_t b) { return b == 0; }))
        return Mark::passed;
    char text[96];
    snprintf(text, sizeof text, "%.*s at 0x%x: %016llx", static_cast<int>(fault->why.size()), fault->why.data(), fault->pc,
             static_cast<unsigned long long>(fault->lo));
    v.text = text;
    return Mark::failed;
}

// Beside the SPIR-V of the same source, both on the same driver.
void prove_graphics(Verdict& v, const Corpus& corpus, const ProofOptions& options,
                    std::vector<uint32_t>& capabilities) {
    const auto end = [&](Status status, std::string text) {
        v.status = status;
        v.text = std::move(text);
        v.mark(Check::oracle) = status == Status::matches ? Mark::passed : Mark::failed;
    };
    auto shader = load_corpus_shader(corpus.folder, v.name);
    if (!shader) {
        v.mark(Check::decode) = Mark::failed;
        return end(Status::reference_failed, shader.error().text());
    }
    v.stage = shader->stage;
    v.cross_checked = shader->cross_checked;
    v.reference_bytes = shader->reference.size() * 4;
    auto reflection = reflect(shader->reference);
    if (reflection) {
        capabilities = reflection->capabilities;
        // What the guest's draw and program state say; machine code does not.
        shader->input_primitive = static_cast<uint8_t>(reflection->input_vertices);
        for (const IoVariable& i : reflection->inputs)
            shader->per_sample |= i.sample;
    }
    std::optional<Translation> translation;
    if (!options.reference_only) {
        ShaderInput input = shader_input(*shader);
        input.abi = corpus.abi;
        translation = check_translation(v, input, corpus.folder / (v.name + ".dis"), options);
        if (!translation) {
            v.mark(Check::oracle) = Mark::failed;
            return;
        }
    }
    if (!reflection)
        return end(Status::reference_failed, reflection.error().text());
    auto scene = make_scene(*shader, *reflection);
    if (!scene)
        return end(Status::reference_failed, scene.error().text());
    add_draw_state(*scene, *shader, *reflection);
    auto harness = VulkanHarness::create(options.validation);
    if (!harness)
        return end(Status::reference_failed, harness.error().text());

    // Both keep what the hardware keeps.
    const FloatControls controls{(*harness)->keeps_nans(), 0};
    const std::vector<uint32_t> reference_words = with_float_controls(shader->reference, controls);
    auto reference = prepare(*shader, *scene, reference_job(*shader, *scene), reference_words);
    if (!reference)
        return end(Status::reference_failed, reference.error().text());
    if (const char* why = tuning(v.name).skip)
        return end(Status::not_compared, why);
    auto expected = (*harness)->run(reference->job);
    if (!expected)
        return end(Status::reference_failed, expected.error().text());

    // Operations across lanes: the driver's own subgroups say nothing about 32 lanes, unless the source asks for subgroups of
    // whatever size there is (capabilities GroupNonUniform..., SubgroupBallotKHR, SubgroupVoteKHR).
    constexpr uint32_t kWarp = 32;
    const bool any_size = std::any_of(capabilities.begin(), capabilities.end(), [](uint32_t c) {
        return (c >= 61 && c <= 68) || c == 4423 || c == 4431;
    });
    if (!any_size && translation && translation->interface.uses_lanes && v.stage == Stage::compute &&
        (*harness)->subgroup_size() != kWarp) {
        std::string text;
        bool same = true;
        for (const bool machine_code : {true, false}) {
            const char* name = machine_code ? "interpreter" : "executor";
            const auto got = machine_code ? interpret(*shader, *scene) : execute(*shader, *scene);
            if (!got)
                return end(Status::not_compared, std::string(name) + ": " + got.error().text());
            const Comparison c = compare(*shader, *scene, *reference, *expected, *reference, *got);
            v.compared = c.compared;
            v.changed = c.changed;
            v.different = c.different;
            same &= c.different == 0 && c.changed != 0;
            text += (text.empty() ? "" : "; ") + std::string(name) + ": " + (c.different ? c.first : "as the reference");
        }
        return end(same ? Status::matches : Status::differs, text);
    }

    auto our_job = options.reference_only ? Result<Job>(reference_job(*shader, *scene))
                                          : translated_job(*shader, *scene, translation->interface);
    if (!our_job)
        return end(Status::failed, our_job.error().text());
    const std::vector<uint32_t> our_words =
        options.reference_only ? reference_words : with_float_controls(translation->spirv, controls);
    auto ours = prepare(*shader, *scene, *std::move(our_job), our_words);
    if (!ours)
        return end(Status::failed, ours.error().text());
    auto got = (*harness)->run(ours->job);
    if (!got)
        return end(Status::failed, got.error().text());

    const Comparison c = compare(*shader, *scene, *reference, *expected, *ours, *got);
    v.compared = c.compared;
    v.changed = c.changed;
    v.varied = c.varied;
    v.different = c.different;
    std::string text = c.first;
    for (const auto& m : got->messages)
        text += (text.empty() ? "validation: " : "; validation: ") + m.substr(0, 400);
    if (c.different)
        return end(Status::differs, text);
    if (c.changed == 0)
        return end(Status::not_compared, "the reference writes nothing");
    end(got->messages.empty() ? Status::matches : Status::failed, text);
}

// No source exists: decoded, translated, valid and convertible is what can be said here.
void prove_glslc(Verdict& v, const Corpus& corpus, const CorpusEntry& entry, const ProofOptions& options) {
    const size_t header = entry.arch == Arch::sm53 ? 0x50 : 0x80;
    auto file = read_file(corpus.folder / entry.file);
    if (!file || file->size() < header) {
        v.status = Status::reference_failed;
        v.text = entry.file + " cannot be read";
        v.mark(Check::decode) = Mark::failed;
        return;
    }
    const std::string stem = entry.file.substr(0, entry.file.rfind(".bin"));
    const auto constants = read_file(corpus.folder / (stem + ".c1.bin"));
    ShaderInput in;
    in.arch = entry.arch;
    in.stage = entry.stage;
    in.sph = std::span(*file).first(header);
    in.code = std::span(*file).subspan(header);
    if (constants)
        in.constants = *constants;
    in.abi = corpus.abi;
    if (check_translation(v, in, corpus.folder / (stem + ".dis"), options)) {
        v.status = Status::not_compared;
        v.text = "translated and valid";
    }
}

} // namespace

std::string_view status_name(Status s) {
    return kNames[static_cast<unsigned>(s)];
}

size_t size_limit(size_t reference_bytes, uint32_t instructions) {
    return std::max<size_t>(3 * reference_bytes, size_t{40} * instructions);
}

std::optional<Translation> check_translation(Verdict& v, const ShaderInput& input,
                                             const std::filesystem::path& listing, const ProofOptions& options) {
    v.mark(Check::decode) = decodes(input, v);
    if (auto text = read_file(listing); text && input.arch == Arch::sm53) {
        const std::string_view dis(reinterpret_cast<const char*>(text->data()), text->size());
        if (is_nvdisasm(dis)) {
            const ListingScore score = compare_listing(dis, input.code);
            const bool same = score.lines && !score.differ && !score.wrong_targets;
            v.mark(Check::listing) = same ? Mark::passed : Mark::failed;
            if (!same)
                v.text = "listing: " + score.first;
        }
    }
    const auto start = std::chrono::steady_clock::now();
    auto r = translate(input, {.validate = false});
    v.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    v.mark(Check::translate) = r ? Mark::passed : Mark::failed;
    if (!r) {
        v.status = Status::refused;
        v.text = r.error().text();
        return std::nullopt;
    }
    v.instructions = r->instruction_count;
    v.spirv_bytes = r->spirv.size() * 4;
    v.duplicated_blocks = r->spirv_counts.duplicated_blocks;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    v.peak_mb = static_cast<double>(usage.ru_maxrss) / 1024;
    dump_words(options.dump, v.name + ".ours.spv", r->spirv);
    const bool small = v.spirv_bytes <= size_limit(v.reference_bytes, v.instructions) && v.duplicated_blocks == 0;
    v.mark(Check::size) = small && v.peak_mb < kMaxWorkerMb ? Mark::passed : Mark::failed;
    const auto valid = validate_spirv(r->spirv);
    v.mark(Check::spirv) = valid ? Mark::passed : Mark::failed;
    const auto msl = translate(input, {.spirv = false, .msl = true, .validate = false});
    v.mark(Check::msl) = msl ? Mark::passed : Mark::failed;
    if (!msl)
        v.text = "MSL: " + msl.error().text();
    if (!valid) {
        v.status = Status::invalid;
        v.text = valid.error().text();
        return std::nullopt;
    }
    return *std::move(r);
}

Verdict prove(const Corpus& corpus, const CorpusEntry& entry, const ProofOptions& options) {
    Verdict v;
    v.name = entry.name;
    v.stage = entry.stage;
    std::vector<uint32_t> capabilities;
    switch (corpus.format) {
    case Format::graphics: prove_graphics(v, corpus, options, capabilities); break;
    case Format::cuda: prove_cuda(v, corpus, entry, options); break;
    case Format::glslc: prove_glslc(v, corpus, entry, options); break;
    }
    apply_exceptions(v, entry.arch, capabilities);
    return v;
}

nlohmann::json to_json(const Verdict& v) {
    nlohmann::json checks;
    for (unsigned c = 0; c < kChecks; ++c)
        checks[std::string(kCheckNames[c])] = std::string(1, static_cast<char>(v.marks[c]));
    return {{"checks", checks},
            {"name", v.name},
            {"stage", stage_name(v.stage)},
            {"status", status_name(v.status)},
            {"cross_checked", v.cross_checked},
            {"text", v.text},
            {"exception", v.exception},
            {"instructions", v.instructions},
            {"spirv_bytes", v.spirv_bytes},
            {"reference_bytes", v.reference_bytes},
            {"duplicated_blocks", v.duplicated_blocks},
            {"peak_mb", v.peak_mb},
            {"compared", v.compared},
            {"changed", v.changed},
            {"varied", v.varied},
            {"different", v.different},
            {"translate_ms", v.milliseconds}};
}

Verdict verdict_from_json(const nlohmann::json& j) {
    Verdict v;
    v.name = j.value("name", "");
    v.stage = stage_from_name(j.value("stage", "")).value_or(Stage::compute);
    const std::string status = j.value("status", "");
    for (unsigned i = 0; i < std::size(kNames); ++i)
        if (kNames[i] == status)
            v.status = static_cast<Status>(i);
    if (const auto checks = j.find("checks"); checks != j.end())
        for (unsigned c = 0; c < kChecks; ++c)
            v.marks[c] = static_cast<Mark>(checks->value(std::string(kCheckNames[c]), ".")[0]);
    v.cross_checked = j.value("cross_checked", false);
    v.text = j.value("text", "");
    v.exception = j.value("exception", "");
    v.instructions = j.value("instructions", 0u);
    v.spirv_bytes = j.value("spirv_bytes", size_t{0});
    v.reference_bytes = j.value("reference_bytes", size_t{0});
    v.duplicated_blocks = j.value("duplicated_blocks", 0u);
    v.peak_mb = j.value("peak_mb", 0.0);
    v.compared = j.value("compared", size_t{0});
    v.changed = j.value("changed", size_t{0});
    v.varied = j.value("varied", size_t{0});
    v.different = j.value("different", size_t{0});
    v.milliseconds = j.value("translate_ms", 0.0);
    return v;
}

} // namespace dmsh::test
