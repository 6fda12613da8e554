// Host images of guest textures: one image per storage and shape, filled from the storage when that changed.
#pragma once
#include "runtime/nvn/host.h"
#include "runtime/replay/block_decode.h"
#include "runtime/replay/vulkan/device.h"
#include <unordered_map>

namespace dmsh::replay::vulkan {

// What a view of an image is made for.
struct ViewKey {
    VkImageViewType type = VK_IMAGE_VIEW_TYPE_2D;
    VkFormat format = VK_FORMAT_UNDEFINED;
    VkImageAspectFlags aspect = VK_IMAGE_ASPECT_COLOR_BIT;
    uint32_t base_level = 0, level_count = 1, base_layer = 0, layer_count = 1;
    uint16_t swizzle = nvn::kIdentitySwizzle;
    bool operator==(const ViewKey&) const = default;
};

struct Image {
    VkImage image = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkFormat format = VK_FORMAT_UNDEFINED;
    VkImageType type = VK_IMAGE_TYPE_2D;
    uint32_t layers = 1;
    bool storable = false;                     // usable as a storage image
    DecodedTexel decoded = DecodedTexel::none; // texels are decoded in software: the device lacks the format
    nvn::TextureDesc texture;
    nvn::TextureLayout layout;
    uint64_t storage_hash = 0;
    uint64_t checked_batch = 0; // flush count when the storage was last looked at
    bool filled = false;
    bool gpu_written = false; // newer than the storage
    std::vector<std::pair<ViewKey, VkImageView>> views;
};

// Images stay in VK_IMAGE_LAYOUT_GENERAL.
class Textures {
  public:
    // `software_blocks`: decode block-compressed formats in software even where the device has them.
    Textures(Device& device, bool software_blocks) : device_(device), software_blocks_(software_blocks) {}
    ~Textures();

    // The image of a texture, made and filled as needed: records transfers, so no render pass may be open
    // unless `needs_work` answered false. nullptr (reported) where the device cannot.
    Image* find(const nvn::TextureDesc& texture);
    bool needs_work(const nvn::TextureDesc& texture);
    // A flush began: storages are looked at again.
    void next_batch() { ++batch_; }
    uint64_t batch() const { return batch_; }
    // Rises when images, and with them views, are dropped.
    uint64_t forgotten() const { return forgotten_; }

    VkImageView view(Image& image, const ViewKey& key);
    // The view that a shader's binding wants of a bound texture; VK_NULL_HANDLE (reported) if the shapes
    // disagree.
    VkImageView sampled_view(Image& image, const nvn::BoundTexture& bound, const Binding& binding);
    VkImageView storage_view(Image& image, const nvn::BoundTexture& bound, const Binding& binding);
    VkImageView attachment_view(Image& image, const nvn::BoundTexture& bound);
    VkSampler sampler(const nvn::SamplerDesc& desc);

    // Writes the image's content into its storage; waits for the GPU.
    void store(const nvn::TextureDesc& texture);
    // Drops images whose storage lies in the pool; the GPU must be idle.
    void forget(uint64_t address, uint64_t bytes);

  private:
    Image* create(const nvn::TextureDesc& key);
    void fill(Image& image, const uint8_t* bytes);
    void destroy(Image& image);

    Device& device_;
    bool software_blocks_;
    struct Hash {
        size_t operator()(const nvn::TextureDesc& d) const;
    };
    std::unordered_map<nvn::TextureDesc, std::unique_ptr<Image>, Hash> images_; // null: refused, reported
    std::vector<std::pair<nvn::SamplerDesc, VkSampler>> samplers_;
    uint64_t batch_ = 1, forgotten_ = 0;
    // Storage of a page-mapped pool, gathered run by run: holes read zeros.
    std::vector<uint8_t> gathered_;
    const uint8_t* read_storage(const Image& image);
};

} // namespace dmsh::replay::vulkan
