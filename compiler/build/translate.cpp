// Translates one shader; the only place that knows the order of the steps.
#include "compiler/build/translate.h"
#include "compiler/emit/msl/msl.h"
#include "compiler/lift/lifter.h"
#include <chrono>

namespace dmsh {
namespace {

// Adds the time until it is stopped to a StepTimes member.
class Stopwatch {
  public:
    explicit Stopwatch(double& ms) : ms_(ms), start_(std::chrono::steady_clock::now()) {}
    ~Stopwatch() {
        ms_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

  private:
    double& ms_;
    std::chrono::steady_clock::time_point start_;
};

void observe(const TranslateOptions& options, std::string_view name, const ShaderModule& shader) {
    if (options.observer)
        options.observer(name, shader);
}

// A refusal of a step that did not give its own code gets the step's.
Error coded(Error error, LossCode code) {
    if (error.code == 0)
        error.code = static_cast<uint16_t>(code);
    return error;
}

Result<void> to_spirv(ShaderModule& shader, const TranslateOptions& options, Translation& out) {
    {
        Stopwatch t(out.times.legalize_ms);
        if (auto r = legalize_vulkan(shader); !r)
            return coded(r.error(), LossCode::vulkan);
    }
    observe(options, "legalize_vulkan", shader);
    {
        Stopwatch t(out.times.spirv_ms);
        auto words = emit_spirv(shader, {}, &out.spirv_counts);
        if (!words)
            return coded(words.error(), LossCode::vulkan);
        out.spirv = *std::move(words);
    }
    if (options.validate)
        if (auto r = validate_spirv(out.spirv); !r)
            return coded(r.error(), LossCode::spirv_invalid);
    return {};
}

Result<void> to_metal(ShaderModule& shader, const TranslateOptions& options, Translation& out) {
    {
        Stopwatch t(out.times.legalize_ms);
        if (auto r = legalize_metal(shader); !r)
            return coded(r.error(), LossCode::metal);
    }
    observe(options, "legalize_metal", shader);
    // The Metal layout ([[id]]s) is decided by legalisation and is part of the reflection.
    out.metal_interface = shader.interface;
    for (const Target target : options.metal_targets) {
        Stopwatch t(out.times.air_ms);
        auto function = emit_air(shader, target);
        if (!function)
            return coded(function.error(), LossCode::air);
        auto file = write_metallib(std::span(&*function, 1), target);
        if (!file)
            return coded(file.error(), LossCode::air);
        out.metallibs.push_back(*std::move(file));
    }
    if (options.msl) {
        Stopwatch t(out.times.msl_ms);
        auto words = emit_spirv(shader, {.set = 0, .first_binding = 0, .for_msl = true});
        if (!words)
            return coded(words.error(), LossCode::msl);
        if (auto r = validate_spirv(*words); !r)
            return coded(r.error(), LossCode::msl);
        auto text = spirv_to_msl(*words, shader.interface, options.msl_target == Target::ios);
        if (!text)
            return coded(text.error(), LossCode::msl);
        out.msl = *std::move(text);
    }
    return {};
}

} // namespace

Result<Translation> translate(const ShaderInput& input, const TranslateOptions& options) {
    Translation out;
    std::optional<ShaderModule> shader;
    {
        Stopwatch t(out.times.lift_ms);
        auto lifted = lift(input);
        if (!lifted)
            return coded(lifted.error(), LossCode::instruction);
        shader.emplace(*std::move(lifted));
    }
    observe(options, "lift", *shader);
    {
        Stopwatch t(out.times.passes_ms);
        if (auto r = run_passes(*shader, options.observer); !r)
            return coded(r.error(), LossCode::passes);
    }
    out.interface = shader->interface;
    out.losses = shader->losses;
    out.instruction_count = shader->instruction_count;

    const bool metal = !options.metal_targets.empty() || options.msl;
    if (options.spirv) {
        std::optional<ShaderModule> copy;
        if (metal)
            copy.emplace(clone_shader(*shader));
        if (auto r = to_spirv(copy ? *copy : *shader, options, out); !r) {
            if (!metal)
                return r.error();
            out.spirv.clear();
            out.spirv_error = r.error();
        }
        out.interface = (copy ? *copy : *shader).interface;
    }
    if (metal)
        if (auto r = to_metal(*shader, options, out); !r) {
            if (!options.spirv || out.spirv_error)
                return out.spirv_error ? *out.spirv_error : r.error();
            out.metallibs.clear();
            out.metal_error = r.error();
        }
    return out;
}

} // namespace dmsh
