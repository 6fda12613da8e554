// Pipelines and layouts, made once per key. Vulkan binding = stage * 128 + index, set 0 (design decision 13).
#pragma once
#include "runtime/replay/backend.h"
#include "runtime/replay/vulkan/device.h"
#include <unordered_map>

namespace dmsh::replay::vulkan {

constexpr uint32_t vulkan_binding(Stage stage, uint32_t index) {
    return static_cast<uint32_t>(stage) * kMaxBindings + index;
}

struct Pipeline {
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE; // null: nothing is bound
    uint32_t feedback_stride = 0;  // bytes of a captured vertex in buffer 0; 0: nothing is captured
    uint32_t feedback_buffers = 0; // bit per transform feedback buffer that the shaders write
};

// The descriptor type of a binding.
VkDescriptorType descriptor_type(const Binding& binding);

class Pipelines {
  public:
    explicit Pipelines(Device& device) : device_(device) {}
    ~Pipelines();

    // nullptr (reported once): the device refuses the state or a shader.
    const Pipeline* graphics(const PipelineKey& key, const BoundWork& work);
    const Pipeline* compute(const BoundWork& work);
    // Stream that attributes without a vertex buffer read; its buffer holds zeros.
    static constexpr uint32_t kZeroStream = kMaxStreams;
    uint64_t made() const { return made_; }

  private:
    struct Layout {
        VkDescriptorSetLayout set = VK_NULL_HANDLE;
        VkPipelineLayout layout = VK_NULL_HANDLE;
    };
    const Layout* layout(const BoundWork& work);
    VkShaderModule module(const nvn::Shader& shader);
    static void find_feedback(const nvn::Shader& shader, Pipeline& out);
    bool make(const PipelineKey& key, const BoundWork& work, Pipeline& out);

    Device& device_;
    struct KeyHash {
        size_t operator()(const PipelineKey& k) const { return hash(k); }
    };
    std::unordered_map<PipelineKey, Pipeline, KeyHash> graphics_; // a null pipeline: refused
    std::unordered_map<uint32_t, Pipeline> compute_;              // by Shader::id
    std::unordered_map<uint64_t, Layout> layouts_;                // by hash of the shader ids
    std::unordered_map<uint32_t, VkShaderModule> modules_;
    uint64_t made_ = 0;
};

} // namespace dmsh::replay::vulkan
