// Fits a translated SPIR-V module to what Vulkan wants inside the shader but only the draw or the device knows: the input
// primitive of a geometry shader, the division of patches of a tess_evaluation shader, float controls.
#pragma once
#include "runtime/abi/interface.h"
#include <span>

namespace dmsh {

// SpecId of the one specialization constant of a geometry module: vertices of the input primitive.
constexpr uint32_t kInputVerticesSpecId = 0;
// SpecId of the number of ids that a whole texture pool (BindingKind::texture_pool) has room for; greater ids read the slot of that
// number, which is empty. 2^20 where nothing is given: no id of a handle is greater.
constexpr uint32_t kPoolTexturesSpecId = 1;

// The geometry module `words` for input primitives of 1 (points), 2 (lines), 3 (triangles), 4 (lines with adjacency)
// or 6 (triangles with adjacency) vertices. Another count, or words that are no such module, come back as they are.
std::vector<uint32_t> with_input_primitive(std::span<const uint32_t> words, uint32_t vertices);

// The tess_evaluation module `words` with this mode; an unknown domain leaves the module's own.
std::vector<uint32_t> with_tess_mode(std::span<const uint32_t> words, const TessMode& mode);

// Widths (bit 0: 16, bit 1: 32, bit 2: 64) for which the device keeps signed zeros, infinities and NaNs and rounds to the nearest
// even when asked: VkPhysicalDeviceFloatControlsProperties. The guest's hardware does both.
struct FloatControls {
    uint8_t signed_zero_inf_nan = 0, round_to_nearest = 0;
};

// The module `words` asking for `controls` in the widths that it declares, at each entry point.
std::vector<uint32_t> with_float_controls(std::span<const uint32_t> words, const FloatControls& controls);

} // namespace dmsh
