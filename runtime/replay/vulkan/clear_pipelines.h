// Pipelines that clear under a channel mask or a stencil mask, which Vulkan's clears cannot.
#pragma once
#include "runtime/replay/vulkan/device.h"

namespace dmsh::replay::vulkan {

class ClearPipelines {
  public:
    explicit ClearPipelines(Device& device) : device_(device) {}
    ~ClearPipelines();

    struct Key {
        VkFormat color = VK_FORMAT_UNDEFINED; // undefined: stencil only
        VkFormat depth = VK_FORMAT_UNDEFINED; // depth format of a combined target
        VkFormat stencil = VK_FORMAT_UNDEFINED;
        uint32_t samples = 1;
        uint32_t mask = 0; // channels
        uint32_t type = 0; // 0 float, 1 signed, 2 unsigned
        bool operator==(const Key&) const = default;
    };
    // Null (reported): the device refuses. The stencil reference and write mask, viewport and scissor are
    // dynamic; 16 bytes of colour are pushed for the fragment stage.
    VkPipeline get(const Key& key);
    VkPipelineLayout layout() const { return layout_; }

  private:
    bool init();

    Device& device_;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkShaderModule vertex_ = VK_NULL_HANDLE, fragments_[3] = {};
    std::vector<std::pair<Key, VkPipeline>> pipelines_;
};

} // namespace dmsh::replay::vulkan
