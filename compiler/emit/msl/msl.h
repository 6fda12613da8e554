// Metal Shading Language text through SPIRV-Cross, in a child process (it can crash).
#pragma once
#include "runtime/abi/interface.h"
#include "runtime/abi/result.h"
#include <span>
#include <string>

namespace dmsh {

// MSL 3.1 text of a Metal-legalised, single-set module; argument buffer per stage. `ios` picks the platform.
Result<std::string> spirv_to_msl(std::span<const uint32_t> words, const ShaderInterface& interface, bool ios);

} // namespace dmsh
