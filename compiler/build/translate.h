// One shader, top to bottom: decode and lift, passes, legalise, emit.
#pragma once
#include "compiler/emit/air/air_emitter.h"
#include "compiler/emit/spirv/spirv_emitter.h"
#include "compiler/passes/pipeline.h"

namespace dmsh {

struct StepTimes {
    double lift_ms = 0, passes_ms = 0, legalize_ms = 0, spirv_ms = 0, air_ms = 0, msl_ms = 0;
};

struct TranslateOptions {
    bool spirv = true;
    std::vector<Target> metal_targets = {}; // a metallib for each: macos, ios
    bool msl = false;                       // MSL text for msl_target
    Target msl_target = Target::macos;
    bool validate = true; // spirv-val in process
    PassObserver observer = {};
};

struct Translation {
    ShaderInterface interface;       // with Vulkan's layout; Metal ids filled in when a Metal output was made
    ShaderInterface metal_interface; // after Metal legalisation; only with a Metal output
    std::vector<Loss> losses;
    uint32_t instruction_count = 0;
    StepTimes times;
    std::vector<uint32_t> spirv;
    SpirvCounts spirv_counts;
    std::vector<std::vector<uint8_t>> metallibs; // in the order of metal_targets
    std::string msl;
    // What one target refused while another was fine.
    std::optional<Error> spirv_error;
    std::optional<Error> metal_error;
};

// Everything that the options ask for. An error is a refusal: nothing of the shader is usable. That one target of several refuses
// is told by spirv_error and metal_error.
Result<Translation> translate(const ShaderInput& input, const TranslateOptions& options = {});

} // namespace dmsh
