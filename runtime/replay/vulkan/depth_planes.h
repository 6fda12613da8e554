// Combined depth and stencil formats lie interleaved in guest memory and in two planes in Vulkan's copies.
#pragma once
#include "runtime/replay/vulkan/device.h"

namespace dmsh::replay::vulkan {

// DEPTH24_STENCIL8 (depth in the low 24 bits, stencil above) and DEPTH32F_STENCIL8 (float, stencil byte, 3
// bytes).
bool packed_depth(int format);

// Batch memory with the two planes of a region.
struct DepthPlanes {
    const uint32_t* depth = nullptr; // a word per texel
    const uint8_t* stencil = nullptr;
    uint64_t texels = 0;
    // Interleaves into tight guest texels; nothing where no planes are there. The GPU has written them.
    void pack(int format, uint8_t* out) const;
};

// Records the copies of tight guest texels into both planes of `region` (its aspect and buffer offset are not
// read). False: no batch memory.
bool upload_planes(Device& device, VkImage image, int format, const uint8_t* texels,
                   VkBufferImageCopy region);
// Records the copies out of both planes.
bool download_planes(Device& device, VkImage image, VkBufferImageCopy region, DepthPlanes& out);

} // namespace dmsh::replay::vulkan
