// The list of passes from lifted IR to the final IR that all emitters share, and the legalisation per target.
#pragma once
#include "compiler/lift/shader_module.h"
#include <functional>
#include <string_view>

namespace dmsh {

enum class Target : uint8_t { vulkan, macos, ios };

// Called after each pass with its name, for --print-after.
using PassObserver = std::function<void(std::string_view pass, const ShaderModule&)>;

// Binds resources, cleans up, fills shader.interface. On success verify_shader(shader, true) holds.
Result<void> run_passes(ShaderModule& shader, const PassObserver& observer = {});

// Rewrites what the target lacks. Works on a clone made by clone_shader when several targets are wanted.
Result<void> legalize_vulkan(ShaderModule& shader);
Result<void> legalize_metal(ShaderModule& shader);

// A deep copy in a context of its own.
ShaderModule clone_shader(const ShaderModule& shader);

} // namespace dmsh
