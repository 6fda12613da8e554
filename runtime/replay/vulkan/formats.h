// NVN formats in Vulkan's words.
#pragma once
#include "runtime/nvn/formats.h"
#include <vulkan/vulkan.h>

namespace dmsh::replay::vulkan {

// Texture format; VK_FORMAT_UNDEFINED where Vulkan has none. `linear`: the non-sRGB twin.
VkFormat texture_format(int format, bool linear = false);
// Vertex attribute format; VK_FORMAT_UNDEFINED where Vulkan has none.
VkFormat vertex_format(int format);
VkImageAspectFlags aspects(int format);
// Whether shaders see whole numbers.
bool integer_format(int format);
// Unsigned view of a texel of this many bytes, for raw image access.
VkFormat raw_format(uint32_t bytes);

} // namespace dmsh::replay::vulkan
