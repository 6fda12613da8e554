// Translates a corpus shader, runs it beside its reference and compares.
#include "tests/corpus/verdict.h"
#include "compiler/build/translate.h"
#include "tests/corpus/compare.h"
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

namespace dmsh::test {
namespace {

constexpr std::string_view kNames[] = {"matches", "not_compared", "differs", "failed",          "crashed",
                                       "timeout", "invalid",      "refused", "reference_failed"};

void dump_words(const std::string& folder, const std::string& file, std::span<const uint32_t> words) {
    if (!folder.empty())
        std::ofstream(folder + "/" + file, std::ios::binary)
            .write(reinterpret_cast<const char*>(words.data()),
                   static_cast<std::streamsize>(words.size_bytes()));
}

} // namespace

std::string_view status_name(Status s) {
    return kNames[static_cast<unsigned>(s)];
}

Verdict prove(const std::filesystem::path& corpus, const std::string& name, const ProofOptions& options) {
    Verdict v;
    v.name = name;
    auto end = [&](Status status, std::string text) {
        v.status = status;
        v.text = std::move(text);
        return v;
    };
    auto shader = load_corpus_shader(corpus, name);
    if (!shader)
        return end(Status::reference_failed, shader.error().text());
    v.stage = shader->stage;
    v.cross_checked = shader->cross_checked;

    Translation translation;
    if (!options.reference_only) {
        const auto start = std::chrono::steady_clock::now();
        auto r = translate(shader_input(*shader), {.validate = false});
        v.milliseconds =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        if (!r)
            return end(Status::refused, r.error().text());
        translation = *std::move(r);
        v.instructions = translation.instruction_count;
        dump_words(options.dump, name + ".ours.spv", translation.spirv);
        if (auto valid = validate_spirv(translation.spirv); !valid)
            return end(Status::invalid, valid.error().text());
    }

    auto reflection = reflect(shader->reference);
    if (!reflection)
        return end(Status::reference_failed, reflection.error().text());
    auto scene = make_scene(*shader, *reflection);
    if (!scene)
        return end(Status::reference_failed, scene.error().text());
    add_draw_state(*scene, *shader, *reflection);
    auto harness = VulkanHarness::create(options.validation);
    if (!harness)
        return end(Status::reference_failed, harness.error().text());

    auto reference = prepare(*shader, *scene, reference_job(*shader, *scene), shader->reference);
    if (!reference)
        return end(Status::reference_failed, reference.error().text());
    if (const char* why = tuning(name).skip)
        return end(Status::not_compared, why);
    auto expected = (*harness)->run(reference->job);
    if (!expected)
        return end(Status::reference_failed, expected.error().text());

    auto our_job = options.reference_only ? Result<Job>(reference_job(*shader, *scene))
                                          : translated_job(*shader, *scene, translation.interface);
    if (!our_job)
        return end(Status::failed, our_job.error().text());
    auto ours =
        prepare(*shader, *scene, *std::move(our_job),
                options.reference_only ? std::span<const uint32_t>(shader->reference) : translation.spirv);
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
    return end(got->messages.empty() ? Status::matches : Status::failed, text);
}

Verdict prove_headsurface(const std::filesystem::path& corpus, const std::string& name,
                          const ProofOptions& options) {
    Verdict v;
    v.name = name;
    v.stage = name.find("vertex") != name.npos ? Stage::vertex : Stage::fragment;
    auto end = [&](Status status, std::string text) {
        v.status = status;
        v.text = std::move(text);
        return v;
    };
    constexpr size_t kHeader = 0x50;
    auto file = read_file(corpus / "nvidia-glslc" / (name + ".maxwell.bin"));
    if (!file || file->size() < kHeader)
        return end(Status::reference_failed, "cannot be read");
    const auto constants = read_file(corpus / "nvidia-glslc" / (name + ".maxwell.c1.bin"));
    ShaderInput in;
    in.stage = v.stage;
    in.sph = std::span(*file).first(kHeader);
    in.code = std::span(*file).subspan(kHeader);
    if (constants)
        in.constants = *constants;
    in.abi = &guest_abi(GuestAbiId::headsurface);
    auto r = translate(in, {.validate = false});
    if (!r)
        return end(Status::refused, r.error().text());
    v.instructions = r->instruction_count;
    dump_words(options.dump, name + ".ours.spv", r->spirv);
    if (auto valid = validate_spirv(r->spirv); !valid)
        return end(Status::invalid, valid.error().text());
    return end(Status::not_compared, "translated and valid");
}

nlohmann::json to_json(const Verdict& v) {
    return {{"name", v.name},
            {"stage", stage_name(v.stage)},
            {"status", status_name(v.status)},
            {"cross_checked", v.cross_checked},
            {"text", v.text},
            {"instructions", v.instructions},
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
    v.cross_checked = j.value("cross_checked", false);
    v.text = j.value("text", "");
    v.instructions = j.value("instructions", 0u);
    v.compared = j.value("compared", size_t{0});
    v.changed = j.value("changed", size_t{0});
    v.varied = j.value("varied", size_t{0});
    v.different = j.value("different", size_t{0});
    v.milliseconds = j.value("translate_ms", 0.0);
    return v;
}

} // namespace dmsh::test
