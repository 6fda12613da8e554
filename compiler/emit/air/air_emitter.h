// AIR bitcode and metallib containers from Metal-legalised IR.
#pragma once
#include "compiler/lift/shader_module.h"
#include "compiler/passes/pipeline.h"

namespace dmsh {

// One function as it goes into a metallib.
struct AirFunction {
    std::string name; // entry point
    Stage stage = Stage::compute;
    std::vector<uint8_t> bitcode; // unwrapped module
    std::string text;             // textual IR, when asked for
    struct VertexAttribute {
        std::string name;
        uint8_t index;
        uint8_t type; // MTLDataType
        bool used;
    };
    std::vector<VertexAttribute> attributes; // VATT / VATY
};

// Lowers dmsh.* to air.*, attaches the metadata, writes bitcode. Consumes nothing: works on a clone of
// shader.module.
Result<AirFunction> emit_air(const ShaderModule& shader, Target target, bool want_text = false);

// A whole container (facts: metallib-container.md). Deterministic: the UUID comes from the module hashes.
Result<std::vector<uint8_t>> write_metallib(std::span<const AirFunction> functions, Target target);

} // namespace dmsh
