// The passes of pipeline.cpp, one per file; each file's header says what its pass guarantees.
#pragma once
#include "compiler/lift/shader_module.h"

namespace dmsh {

Result<void> fold_constants(ShaderModule& shader);
Result<void> map_compute_layout(ShaderModule& shader);
Result<void> resolve_generic(ShaderModule& shader);
Result<void> lower_barriers(ShaderModule& shader);
Result<void> cleanup(ShaderModule& shader);
Result<void> resolve_guarded_selects(ShaderModule& shader);
Result<void> remove_dead_code(ShaderModule& shader);
Result<void> simplify_perspective(ShaderModule& shader);
Result<void> make_derivatives(ShaderModule& shader);
Result<void> trace_handles(ShaderModule& shader);
Result<void> global_to_storage(ShaderModule& shader);
Result<void> raw_memory(ShaderModule& shader);
Result<void> bind_constant_banks(ShaderModule& shader);
Result<void> resolve_vertices(ShaderModule& shader);
Result<void> emit_passthrough(ShaderModule& shader);
Result<void> merge_switches(ShaderModule& shader);
Result<void> float_values(ShaderModule& shader);
Result<void> fill_interface(ShaderModule& shader);

// Shared by the legalisations of all targets.
Result<void> expand_rounding(ShaderModule& shader);

// For targets without 64-bit floats: dmsh.ftz, dmsh.fchk and dmsh.mufu64h by integers and single precision; then every value and
// operation of type double in @main as 64-bit integers. What has no integer form here (division, square root, memory and vectors
// of doubles) is refused by name.
Result<void> expand_float_operations(ShaderModule& shader);
Result<void> expand_doubles(ShaderModule& shader);

} // namespace dmsh
