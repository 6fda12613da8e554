// The passes of pipeline.cpp, one per file; each file's header says what its pass guarantees.
#pragma once
#include "compiler/lift/shader_module.h"

namespace dmsh {

Result<void> fold_constants(ShaderModule& shader);
Result<void> cleanup(ShaderModule& shader);
Result<void> resolve_guarded_selects(ShaderModule& shader);
Result<void> remove_dead_code(ShaderModule& shader);
Result<void> simplify_perspective(ShaderModule& shader);
Result<void> make_derivatives(ShaderModule& shader);
Result<void> trace_handles(ShaderModule& shader);
Result<void> global_to_storage(ShaderModule& shader);
Result<void> bind_constant_banks(ShaderModule& shader);
Result<void> fill_interface(ShaderModule& shader);

// Shared by the legalisations of all targets.
Result<void> expand_rounding(ShaderModule& shader);

} // namespace dmsh
