// The Vulkan device below the backend: what it can do, memory, the batches of commands in flight.
#pragma once
#include "runtime/abi/result.h"
#include "runtime/nvn/report.h"
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include <vulkan/vulkan.h>

namespace dmsh::replay::vulkan {

// True for VK_SUCCESS; anything else is reported with `what`.
bool ok(VkResult result, const char* what);

struct Buffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    uint8_t* map = nullptr; // host-visible, coherent
    uint64_t size = 0;
    uint64_t address = 0; // of the device; 0: shaders cannot reach it by address
};

// A piece of a batch's own memory.
struct Piece {
    VkBuffer buffer = VK_NULL_HANDLE;
    uint64_t offset = 0;
    uint8_t* map = nullptr;
};

struct Capabilities {
    bool host_import = false; // VK_EXT_external_memory_host: guest pools are used in place
    uint64_t host_alignment = 4096;
    bool depth_minus_one = false; // VK_EXT_depth_clip_control: the guest's -w..w depth
    bool divisors = false;        // VK_EXT_vertex_attribute_divisor
    bool byte_indices = false;    // VK_EXT_index_type_uint8
    bool custom_border = false;
    bool logic_op = false, wireframe = false, depth_clamp = false, depth_bounds = false, wide_lines = false;
    bool anisotropy = false, geometry = false, tessellation = false, min_max_filter = false;
    bool mirror_clamp = false;
    bool bias_clamp = false, dual_source = false, indirect_first_instance = false, indirect_count = false;
    bool multi_draw = false, viewport_layer = false;
    bool precise_samples = false, statistics = false, generated_query = false;
    bool feedback = false;    // VK_EXT_transform_feedback
    bool conditional = false; // VK_EXT_conditional_rendering
    bool mesh = false, task = false;
    bool list_restart = false, patch_restart = false; // VK_EXT_primitive_topology_list_restart
    // Pools by address: buffer addresses, 64-bit integers, and tables that are exchanged in sets already bound.
    bool raw_memory = false;
    // Whole pools of ids: how many textures one set takes; 0: none.
    uint32_t pool_textures = 0;
};

// Commands of extensions; null where the device lacks the extension.
struct ExtensionCommands {
    PFN_vkCmdBeginConditionalRenderingEXT begin_conditional = nullptr;
    PFN_vkCmdEndConditionalRenderingEXT end_conditional = nullptr;
    PFN_vkCmdBindTransformFeedbackBuffersEXT bind_feedback = nullptr;
    PFN_vkCmdBeginTransformFeedbackEXT begin_feedback = nullptr;
    PFN_vkCmdEndTransformFeedbackEXT end_feedback = nullptr;
    PFN_vkCmdDrawIndirectByteCountEXT draw_byte_count = nullptr;
    PFN_vkCmdDrawMeshTasksEXT draw_mesh = nullptr;
    PFN_vkCmdDrawMeshTasksIndirectEXT draw_mesh_indirect = nullptr;
};

// Commands between two flushes, with the memory and descriptors they use.
struct Batch {
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    struct Sets {
        std::vector<VkDescriptorPool> pools;
        size_t current = 0;
    };
    Sets sets, late_sets; // late: of layouts that are updated after binding
    std::vector<Buffer> chunks;
    size_t chunk = 0;
    uint64_t chunk_used = 0;
    std::vector<Buffer> garbage_buffers;
    uint64_t fence = 0; // timeline value that ends it
    bool recording = false;
};

class Device {
  public:
    // Any device with Vulkan 1.3 and null descriptors; `index` picks among those (-1: the first discrete one,
    // else the first). Errors say what is missing.
    static Result<std::unique_ptr<Device>> create(int index, bool validation);
    ~Device();
    Device(const Device&) = delete;

    // Of one stage in a set; more is refused, so that a set always fits a descriptor pool (256 sets' worth).
    static constexpr uint32_t kMostDescriptors = 128;

    VkDevice handle() const { return device_; }
    VkPhysicalDevice physical() const { return physical_; }
    const VkPhysicalDeviceProperties& properties() const { return properties_; }
    const Capabilities& can() const { return can_; }
    const ExtensionCommands& ext() const { return ext_; }
    // The validation layer watches: what it said, errors and warnings.
    bool validated() const { return validated_; }
    uint64_t validation_errors() const { return validation_errors_; }
    uint64_t validation_warnings() const { return validation_warnings_; }
    void count_validation(bool error) { ++(error ? validation_errors_ : validation_warnings_); }

    bool make_buffer(uint64_t size, Buffer& out);
    void destroy(Buffer& buffer);
    // Guest memory as a buffer, in place. False where the device refuses.
    bool import_buffer(uint8_t* memory, uint64_t size, Buffer& out);
    // Memory of a type that suits `bits` and has `wanted` (then any).
    VkDeviceMemory allocate(const VkMemoryRequirements& need, VkMemoryPropertyFlags wanted);

    // Commands of the current batch; starts one as needed.
    VkCommandBuffer commands();
    bool idle() const { return !batches_[current_].recording; }
    // Host-visible memory that lives until the batch is over.
    Piece piece(uint64_t size, uint64_t alignment = 256);
    // `late`: the layout's sets may be updated after they were bound.
    VkDescriptorSet descriptor_set(VkDescriptorSetLayout layout, bool late = false);
    // Submits; answers the fence behind everything given so far.
    uint64_t flush();
    // The fence that the commands being recorded will have.
    uint64_t next_fence() const { return submitted_ + 1; }
    // The newest fence that the GPU has passed.
    uint64_t completed() const;
    bool wait(uint64_t fence, uint64_t timeout_ns);
    void full_barrier();

  private:
    Device() = default;
    std::string init(int index, bool validation);
    bool next_batch();
    VkBufferUsageFlags buffer_uses() const;
    VkDescriptorPool make_descriptor_pool(bool late);
    void take_address(Buffer& buffer);

    static constexpr unsigned kBatches = 4;
    VkInstance instance_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    VkPhysicalDevice physical_ = VK_NULL_HANDLE;
    VkPhysicalDeviceProperties properties_{};
    VkPhysicalDeviceMemoryProperties memory_{};
    VkDevice device_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    uint32_t family_ = 0;
    VkSemaphore timeline_ = VK_NULL_HANDLE;
    uint64_t submitted_ = 0;
    std::array<Batch, kBatches> batches_;
    unsigned current_ = 0;
    Capabilities can_;
    ExtensionCommands ext_;
    std::atomic<uint64_t> validation_errors_{0}, validation_warnings_{0};
    bool validated_ = false;
    PFN_vkGetMemoryHostPointerPropertiesEXT host_pointer_properties_ = nullptr;
};

} // namespace dmsh::replay::vulkan
