// The list of passes from lifted IR to the final IR that all emitters share, and the legalisation per target.
#pragma once
#include "compiler/lift/shader_module.h"
#include <functional>
#include <string_view>

namespace dmsh {

enum class Target : uint8_t { vulkan, macos, ios };

// Called after each pass with its name, for --print-after.
using PassObserver = std::function<void(std::string_view pass, const ShaderModule&)>;

// Binds resources, cleans up, fills shader.interface. On success verify_dictionary(shader, true) holds;
// builds with assertions run LLVM's verifier after every pass.
Result<void> run_passes(ShaderModule& shader, const PassObserver& observer = {});

// Rewrites what the target lacks. Works on a clone made by clone_shader when several targets are wanted.
//
// After run_passes and legalize_vulkan an emitter meets, beside the bound and level-independent dmsh.*
// operations (no *_rnd, no mufu64h):
//   terminators   ret, br, switch, unreachable
//   arithmetic    integer of i1, i8, i16, i32, i64; half, float, double; two-element half vectors; phi,
//   select, icmp, fcmp, fneg, casts,
//                 freeze, extractelement and insertelement of the four-component results, extractvalue of
//                 with.overflow results
//   llvm.*        fma minnum maxnum fabs copysign floor ceil trunc rint roundeven sqrt; smin smax umin umax
//   abs ctpop ctlz cttz
//                 bitreverse bswap fshl fshr; fptosi.sat fptoui.sat; uadd.sat usub.sat sadd.sat ssub.sat;
//                 uadd usub sadd ssub with.overflow
// Memory is touched through dmsh.* only: no load, store, alloca or getelementptr.
Result<void> legalize_vulkan(ShaderModule& shader);
Result<void> legalize_metal(ShaderModule& shader);

// A deep copy in a context of its own.
ShaderModule clone_shader(const ShaderModule& shader);

} // namespace dmsh
