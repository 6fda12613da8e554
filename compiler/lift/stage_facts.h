// StageFacts: what lifting needs of the SPH, and the part of ShaderInterface that it decides.
#pragma once
#include "archivers/nvn/sph.h"
#include "compiler/lift/shader_module.h"

namespace dmsh {

using StageFacts = Sph; // all zero for compute

// Reads the SPH of graphics stages. Refused: no header, a stage that is not the header's.
Result<StageFacts> read_stage_facts(const ShaderInput& input);

// Stage, sizes, inputs and outputs by location, builtins, topology. Bindings stay empty (passes).
void fill_interface(ShaderModule& shader, const StageFacts& facts);

} // namespace dmsh
