// Splits and joins depth and stencil planes.
#include "runtime/replay/vulkan/depth_planes.h"
#include "runtime/nvn/enums.h"
#include <cstring>

namespace dmsh::replay::vulkan {
namespace {

uint64_t texel_count(const VkBufferImageCopy& region) {
    return uint64_t{region.imageExtent.width} * region.imageExtent.height * region.imageExtent.depth *
           region.imageSubresource.layerCount;
}

} // namespace

bool packed_depth(int format) {
    return format == NVN_FORMAT_DEPTH24_STENCIL8 || format == NVN_FORMAT_DEPTH32F_STENCIL8;
}

void DepthPlanes::pack(int format, uint8_t* out) const {
    for (uint64_t i = 0; i < texels; ++i) {
        if (format == NVN_FORMAT_DEPTH24_STENCIL8) {
            const uint32_t word = (depth[i] & 0xffffff) | uint32_t{stencil[i]} << 24;
            std::memcpy(out + i * 4, &word, 4);
        } else {
            const uint32_t words[2] = {depth[i], stencil[i]};
            std::memcpy(out + i * 8, words, 8);
        }
    }
}

bool upload_planes(Device& device, VkImage image, int format, const uint8_t* texels,
                   VkBufferImageCopy region) {
    const uint64_t count = texel_count(region);
    const Piece depth = device.piece(count * 4, 16), stencil = device.piece(count, 16);
    if (!depth.buffer || !stencil.buffer)
        return false;
    for (uint64_t i = 0; i < count; ++i) {
        uint32_t words[2] = {};
        if (format == NVN_FORMAT_DEPTH24_STENCIL8) {
            std::memcpy(words, texels + i * 4, 4);
            words[1] = words[0] >> 24;
            words[0] &= 0xffffff;
        } else {
            std::memcpy(words, texels + i * 8, 8);
        }
        std::memcpy(depth.map + i * 4, words, 4);
        stencil.map[i] = static_cast<uint8_t>(words[1]);
    }
    region.bufferRowLength = region.bufferImageHeight = 0;
    region.bufferOffset = depth.offset;
    region.imageSubresource.aspectMask = VK_IMAGE_ASPECT_DEPTH_BIT;
    vkCmdCopyBufferToImage(device.commands(), depth.buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    region.bufferOffset = stencil.offset;
    region.imageSubresource.aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT;
    vkCmdCopyBufferToImage(device.commands(), stencil.buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    return true;
}

bool download_planes(Device& device, VkImage image, VkBufferImageCopy region, DepthPlanes& out) {
    const uint64_t count = texel_count(region);
    const Piece depth = device.piece(count * 4, 16), stencil = device.piece(count, 16);
    if (!depth.buffer || !stencil.buffer)
        return false;
    region.bufferRowLength = region.bufferImageHeight = 0;
    region.bufferOffset = depth.offset;
    region.imageSubresource.aspectMask = VK_IMAGE_ASPECT_DEPTH_BIT;
    vkCmdCopyImageToBuffer(device.commands(), image, VK_IMAGE_LAYOUT_GENERAL, depth.buffer, 1, &region);
    region.bufferOffset = stencil.offset;
    region.imageSubresource.aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT;
    vkCmdCopyImageToBuffer(device.commands(), image, VK_IMAGE_LAYOUT_GENERAL, stencil.buffer, 1, &region);
    out = {reinterpret_cast<const uint32_t*>(depth.map), stencil.map, count};
    return true;
}

} // namespace dmsh::replay::vulkan
