// A headless Vulkan 1.3 device for tests: runs one compute or graphics job on given SPIR-V and resources and
// returns what the shaders left behind.
#pragma once
#include "runtime/abi/result.h"
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>
#include <vulkan/vulkan.h>

namespace dmsh::test {

struct BufferResource {
    std::vector<uint8_t> bytes;
};

// `texels` is tight: level by level, in a level layer by layer (cube faces are layers), in a layer slice by
// slice; with samples > 1 a texel's samples follow each other. Empty = zeros.
struct ImageResource {
    VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    VkImageType type = VK_IMAGE_TYPE_2D;
    uint32_t width = 1, height = 1, depth = 1, layers = 1, levels = 1, samples = 1;
    bool cube = false;
    bool storage = false; // usable as a storage image, through other formats of the same texel size too
    std::vector<uint8_t> texels;
};

struct SamplerResource {
    VkFilter filter = VK_FILTER_LINEAR;
    VkSamplerMipmapMode mipmap = VK_SAMPLER_MIPMAP_MODE_LINEAR;
    VkSamplerAddressMode address = VK_SAMPLER_ADDRESS_MODE_REPEAT;
    bool compare = false;
    VkCompareOp compare_op = VK_COMPARE_OP_LESS_OR_EQUAL;
    float max_lod = 16.0f;
};

// One descriptor. `resource` indexes Job::buffers or Job::images by the descriptor's type, `sampler`
// Job::samplers.
struct Descriptor {
    uint32_t set = 0, binding = 0, element = 0;
    VkDescriptorType type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    uint32_t resource = 0;
    uint32_t sampler = 0;
    VkFormat format =
        VK_FORMAT_UNDEFINED; // texel buffers: required; images: a view format other than the image's own
    VkImageViewType view = VK_IMAGE_VIEW_TYPE_2D;
    bool bound = true; // false: in the layout only
};

struct ShaderStage {
    VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
    std::span<const uint32_t> words;
    std::string entry = "main";
    std::vector<std::pair<uint32_t, uint32_t>> constants; // specialization: id, 32-bit value
};

struct VertexAttribute {
    uint32_t location = 0;
    VkFormat format = VK_FORMAT_R32G32B32A32_SFLOAT;
    std::vector<uint8_t> data; // one tight element per vertex (or instance)
    bool per_instance = false;
};

struct ColourTarget {
    VkFormat format = VK_FORMAT_R32G32B32A32_SFLOAT;
    std::array<uint32_t, 4> clear{}; // bits
    VkColorComponentFlags write_mask = 0xf;
};

struct GraphicsState {
    uint32_t width = 32, height = 32, samples = 1, layers = 1;
    VkPrimitiveTopology topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    uint32_t patch_points = 3;
    uint32_t vertices = 3, instances = 1, first_vertex = 0, first_instance = 0;
    std::vector<VertexAttribute> attributes;
    std::vector<ColourTarget> targets;
    bool depth = false; // a D32_SFLOAT target
    float depth_clear = 1.0f;
    VkCompareOp depth_compare = VK_COMPARE_OP_ALWAYS;
    bool sample_shading = false;
    bool discard_primitives = false;          // rasterizer discard, for transform feedback
    std::array<uint32_t, 4> feedback_bytes{}; // size of the transform feedback buffers
};

// Without a compute stage the job is a draw.
struct Job {
    std::vector<BufferResource> buffers;
    std::vector<ImageResource> images;
    std::vector<SamplerResource> samplers;
    std::vector<Descriptor> descriptors;
    std::vector<uint8_t> push_constants;
    std::vector<ShaderStage> stages;
    std::array<uint32_t, 3> groups{1, 1, 1};
    GraphicsState graphics;
};

// Contents afterwards, in the order and layout of the job's own lists.
struct Outcome {
    std::vector<std::vector<uint8_t>> buffers;
    std::vector<std::vector<uint8_t>> images;
    std::vector<std::vector<uint8_t>> targets; // samples of a pixel follow each other
    std::vector<uint8_t> depth;                // floats
    std::array<std::vector<uint8_t>, 4> feedback;
    std::vector<std::string> messages; // validation layer errors
};

// Bytes of one texel; 0 for formats that tests do not use.
uint32_t texel_bytes(VkFormat format);

// Bytes that ImageResource::texels has when it is not empty.
size_t image_bytes(const ImageResource& image);

// One device for the process's life. Not thread-safe.
class VulkanHarness {
  public:
    // `validation` asks for VK_LAYER_KHRONOS_validation where it is installed.
    static Result<std::unique_ptr<VulkanHarness>> create(bool validation = true);
    virtual ~VulkanHarness() = default;

    // Runs the job to its end. A lost device, a shader that the driver refuses or a missing feature is an
    // error.
    virtual Result<Outcome> run(const Job& job) = 0;
    virtual const VkPhysicalDeviceProperties& properties() const = 0;
    virtual uint32_t subgroup_size() const = 0;
    // Widths of floats (bit 0: 16, bit 1: 32, bit 2: 64) whose signed zeros, infinities and NaNs can be kept.
    virtual uint8_t keeps_nans() const = 0;
};

// SPIR-V of GLSL text (Vulkan 1.2 environment) by the glslangValidator program; stage is its name (vert,
// frag, ...).
Result<std::vector<uint32_t>> compile_glsl(const std::string& stage, const std::string& text);

} // namespace dmsh::test
