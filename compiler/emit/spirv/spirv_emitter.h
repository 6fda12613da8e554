// SPIR-V 1.5 from legalised IR.
#pragma once
#include "compiler/lift/shader_module.h"

namespace dmsh {

// Where bindings go. The default is the runtime's (design decision 13); MSL wants everything in one set from
// 0.
struct SpirvOptions {
    uint32_t set = kVulkanSetBindings;
    uint32_t first_binding = ~0u; // ~0 = stage * 128
    bool gl_depth = true; // position z leaves as the guest wrote it (-1..1); the near = 0 entry is main0_z
    bool for_msl = false; // avoid what SPIRV-Cross cannot read
};

// What structuring the control flow cost.
struct SpirvCounts {
    uint32_t blocks = 0;            // basic blocks of the IR that were written
    uint32_t duplicated_blocks = 0; // written more than once
    uint32_t selectors = 0;         // variables that name where an exit leads
};

// The module's words; valid under spirv-val --target-env vulkan1.3 by construction, not checked here.
// `counts`, if given, is filled.
Result<std::vector<uint32_t>> emit_spirv(const ShaderModule& shader, const SpirvOptions& options = {},
                                         SpirvCounts* counts = nullptr);

// Runs the SPIRV-Tools validator in process. An error names the first violation.
Result<void> validate_spirv(std::span<const uint32_t> words);

// Textual form, for people.
std::string disassemble_spirv(std::span<const uint32_t> words);

} // namespace dmsh
