// The picture's scene drawn by other means: plain Vulkan on GLSL that glslang compiled.
#pragma once
#include "runtime/examples/picture_scene.h"
#include "tests/support/vulkan_harness.h"

namespace dmsh::test {

// RGBA8 rows from the bottom, as draw_scene gives them.
Result<std::vector<uint8_t>> reference_picture(VulkanHarness& harness, const examples::Scene& scene);

// A library pack whose slices are the reference SPIR-V of the sample shaders with bindings moved to the
// runtime's: what the runtime draws from it depends on no compiler of ours.
Result<std::vector<uint8_t>> reference_pack(const std::vector<std::string>& names);

// The same pack made by our compiler from the guest's machine code. Errors name the shader that is refused.
Result<std::vector<uint8_t>> translated_pack(const std::vector<std::string>& names);

// How two pictures differ.
struct Difference {
    uint32_t largest = 0;     // per channel
    uint64_t pixels_over = 0; // with a channel that differs by more than 1
    double share_over = 1;
};
Difference compare(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b);

} // namespace dmsh::test
