// From machine code to IR: decode, control-flow recovery, SSA, one function per mnemonic.
#pragma once
#include "compiler/lift/shader_module.h"

namespace dmsh {

// Lifts one shader. The result holds raw intrinsics (see intrinsics.def) and an interface with the stage facts of the SPH filled in,
// no bindings yet. Errors name the instruction: "sm53 instruction XMAD at 0x1a8 (5b00...) is not implemented" (T-002).
Result<ShaderModule> lift(const ShaderInput& input);

// The recovered control flow as text, one line per block (dmshc shader --emit cfg).
Result<std::string> control_flow_text(const ShaderInput& input);

} // namespace dmsh
