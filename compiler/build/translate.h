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
    bool metallib = false;
    bool msl = false;
    bool validate = true; // spirv-val in process
    Target metal_target = Target::macos;
    PassObserver observer = {};
};

struct Translation {
    ShaderInterface interface;
    std::vector<Loss> losses;
    uint32_t instruction_count = 0;
    StepTimes times;
    std::vector<uint32_t> spirv;
    std::vector<uint8_t> metallib;
    std::string msl;
};

// Everything that the options ask for. An error is a refusal: nothing of the shader is usable.
Result<Translation> translate(const ShaderInput& input, const TranslateOptions& options = {});

} // namespace dmsh
