// Device, memory and one-time command buffers below the test harness.
#pragma once
#include "tests/support/vulkan_harness.h"
#include <functional>

namespace dmsh::test {

// Thrown inside the harness only; VulkanHarness::run turns it into an Error.
struct VulkanFailure {
    std::string message;
};

// Throws VulkanFailure unless `result` is VK_SUCCESS.
void check(VkResult result, const char* what);

struct Buffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    uint8_t* map = nullptr;
    VkDeviceSize size = 0;
};

struct Image {
    VkImage image = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    ImageResource shape; // without texels
    VkImageAspectFlags aspect = VK_IMAGE_ASPECT_COLOR_BIT;
};

class VulkanDevice {
  public:
    explicit VulkanDevice(bool validation);
    ~VulkanDevice();
    VulkanDevice(const VulkanDevice&) = delete;

    // All buffers are host-visible, coherent and mapped. Size 0 becomes 16.
    Buffer make_buffer(VkDeviceSize size);
    Image make_image(const ImageResource& shape, VkImageUsageFlags extra_usage);
    VkImageView make_view(const Image& image, VkImageViewType type, VkFormat format);
    VkShaderModule make_module(std::span<const uint32_t> words);
    VkPipeline make_compute_pipeline(VkPipelineLayout layout, const VkPipelineShaderStageCreateInfo& stage);
    // Records by `record`, submits, waits.
    void submit(const std::function<void(VkCommandBuffer)>& record);
    // Everything made since the last call of this is destroyed.
    void reset();
    // Objects that reset() destroys with the given function.
    void defer(std::function<void()> destroy) { deferred_.push_back(std::move(destroy)); }

    // Tight texels into and out of an image in GENERAL layout (multisampled ones through a compute shader).
    void upload(const Image& image, std::span<const uint8_t> texels);
    std::vector<uint8_t> download(const Image& image);
    void to_general(VkCommandBuffer commands, const Image& image);

    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    VkPhysicalDeviceProperties properties{};
    uint32_t subgroup_size = 0;
    std::vector<std::string> messages;
    PFN_vkCmdBindTransformFeedbackBuffersEXT bind_feedback = nullptr;
    PFN_vkCmdBeginTransformFeedbackEXT begin_feedback = nullptr;
    PFN_vkCmdEndTransformFeedbackEXT end_feedback = nullptr;

  private:
    void copy_multisampled(const Image& image, Buffer& buffer, bool store);
    VkDeviceMemory allocate(const VkMemoryRequirements& need, bool host);

    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    VkCommandPool commands_ = VK_NULL_HANDLE;
    std::vector<std::function<void()>> deferred_;
};

} // namespace dmsh::test
