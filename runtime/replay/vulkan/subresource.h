// Regions of bound textures in Vulkan's words.
#pragma once
#include "runtime/replay/vulkan/textures.h"

namespace dmsh::replay::vulkan {

// One level of a bound texture and a region of it; layers of arrays become layers, of volumes z. False
// (reported) if the region is not in the texture.
bool subresource(const Image& image, const nvn::BoundTexture& bound, const NVNcopyRegion& r,
                 VkImageSubresourceLayers& sub, VkOffset3D& offset, VkExtent3D& extent);

} // namespace dmsh::replay::vulkan
