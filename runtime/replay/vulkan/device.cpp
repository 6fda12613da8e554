// Creates the Vulkan device and runs its batches.
#include "runtime/replay/vulkan/device.h"
#include "runtime/abi/binding_kinds.h"
#include <algorithm>
#include <cstring>

namespace dmsh::replay::vulkan {

using nvn::Report;
using nvn::report;

namespace {

constexpr uint64_t kChunkBytes = 4 << 20;
constexpr uint32_t kSetsPerPool = 256;

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
    const bool error = severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    static_cast<Device*>(user)->count_validation(error);
    report(Report::backend, "validation %s: %.380s", error ? "error" : "warning", data->pMessage);
    return VK_FALSE;
}

bool has_layer(const char* name) {
    uint32_t n = 0;
    vkEnumerateInstanceLayerProperties(&n, nullptr);
    std::vector<VkLayerProperties> layers(n);
    vkEnumerateInstanceLayerProperties(&n, layers.data());
    return std::any_of(layers.begin(), layers.end(),
                       [&](const auto& l) { return !std::strcmp(l.layerName, name); });
}

struct Extensions {
    std::vector<VkExtensionProperties> list;
    explicit Extensions(VkPhysicalDevice device) {
        uint32_t n = 0;
        vkEnumerateDeviceExtensionProperties(device, nullptr, &n, nullptr);
        list.resize(n);
        vkEnumerateDeviceExtensionProperties(device, nullptr, &n, list.data());
    }
    bool has(const char* name) const {
        return std::any_of(list.begin(), list.end(),
                           [&](const auto& e) { return !std::strcmp(e.extensionName, name); });
    }
};

// Nothing for a device that will do, else what it lacks.
std::string lacks(VkPhysicalDevice device) {
    VkPhysicalDeviceProperties p;
    vkGetPhysicalDeviceProperties(device, &p);
    if (p.apiVersion < VK_API_VERSION_1_3)
        return "Vulkan 1.3";
    if (!Extensions(device).has(VK_EXT_ROBUSTNESS_2_EXTENSION_NAME))
        return "VK_EXT_robustness2";
    VkPhysicalDeviceRobustness2FeaturesEXT robust{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT};
    VkPhysicalDeviceFeatures2 f{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &robust, {}};
    vkGetPhysicalDeviceFeatures2(device, &f);
    return robust.nullDescriptor ? "" : "null descriptors";
}

} // namespace

bool ok(VkResult result, const char* what) {
    if (result == VK_SUCCESS)
        return true;
    report(Report::backend, "%s: VkResult %d", what, static_cast<int>(result));
    return false;
}

Result<std::unique_ptr<Device>> Device::create(int index, bool validation) {
    std::unique_ptr<Device> d(new Device());
    if (std::string why = d->init(index, validation); !why.empty())
        return Error{"no Vulkan device: " + why};
    return d;
}

std::string Device::init(int index, bool validation) {
    VkApplicationInfo app{VK_STRUCTURE_TYPE_APPLICATION_INFO};
    app.pApplicationName = "dmrt";
    app.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo ici{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    ici.pApplicationInfo = &app;
    const char* layer = "VK_LAYER_KHRONOS_validation";
    const char* debug = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    const bool layered = validation && has_layer(layer);
    if (layered) {
        ici.enabledLayerCount = 1;
        ici.ppEnabledLayerNames = &layer;
        ici.enabledExtensionCount = 1;
        ici.ppEnabledExtensionNames = &debug;
    }
    if (vkCreateInstance(&ici, nullptr, &instance_) != VK_SUCCESS)
        return "the loader gives no instance";
    if (layered) {
        VkDebugUtilsMessengerCreateInfoEXT m{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
        m.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
        m.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
        m.pfnUserCallback = on_message;
        m.pUserData = this;
        if (const auto make = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
                vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT")))
            make(instance_, &m, nullptr, &messenger_);
        validated_ = messenger_ != VK_NULL_HANDLE;
    }

    uint32_t n = 0;
    vkEnumeratePhysicalDevices(instance_, &n, nullptr);
    std::vector<VkPhysicalDevice> all(n);
    vkEnumeratePhysicalDevices(instance_, &n, all.data());
    std::vector<VkPhysicalDevice> usable;
    std::string why = n ? "" : "none is there";
    for (const VkPhysicalDevice d : all) {
        const std::string missing = lacks(d);
        if (missing.empty()) {
            usable.push_back(d);
        } else {
            vkGetPhysicalDeviceProperties(d, &properties_);
            why += std::string(why.empty() ? "" : "; ") + properties_.deviceName + " lacks " + missing;
        }
    }
    if (usable.empty() || index >= static_cast<int>(usable.size()))
        return why.empty() ? "index out of range" : why;
    physical_ = usable[index < 0 ? 0 : static_cast<size_t>(index)];
    for (const VkPhysicalDevice d : usable) {
        vkGetPhysicalDeviceProperties(d, &properties_);
        if (index < 0 && properties_.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU) {
            physical_ = d;
            break;
        }
    }
    vkGetPhysicalDeviceProperties(physical_, &properties_);
    vkGetPhysicalDeviceMemoryProperties(physical_, &memory_);

    uint32_t families = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical_, &families, nullptr);
    std::vector<VkQueueFamilyProperties> family(families);
    vkGetPhysicalDeviceQueueFamilyProperties(physical_, &families, family.data());
    constexpr VkQueueFlags kWanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    for (family_ = 0; family_ < families && (family[family_].queueFlags & kWanted) != kWanted; ++family_) {
    }
    if (family_ == families)
        return "no queue draws and computes";

    // Features: everything that translated shaders may use, where it is there.
    const Extensions extensions(physical_);
    std::vector<const char*> enabled{VK_EXT_ROBUSTNESS_2_EXTENSION_NAME};
    void* chain = nullptr;
    const auto link = [&](auto& s, VkStructureType type) {
        s = {};
        s.sType = type;
        s.pNext = chain;
        chain = &s;
    };
    VkPhysicalDeviceVulkan11Features v11;
    VkPhysicalDeviceVulkan12Features v12;
    VkPhysicalDeviceVulkan13Features v13;
    VkPhysicalDeviceRobustness2FeaturesEXT robust;
    VkPhysicalDeviceDepthClipControlFeaturesEXT clip;
    VkPhysicalDeviceVertexAttributeDivisorFeaturesEXT divisor;
    VkPhysicalDeviceIndexTypeUint8FeaturesEXT bytes;
    VkPhysicalDeviceCustomBorderColorFeaturesEXT border;
    VkPhysicalDeviceTransformFeedbackFeaturesEXT feedback;
    VkPhysicalDeviceConditionalRenderingFeaturesEXT conditional;
    VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT generated;
    VkPhysicalDeviceMeshShaderFeaturesEXT mesh;
    VkPhysicalDevicePrimitiveTopologyListRestartFeaturesEXT restart;
    link(v11, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    link(v12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    link(v13, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
    link(robust, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT);
    const auto optional = [&](const char* name, auto& s, VkStructureType type) {
        s = {};
        if (!extensions.has(name))
            return;
        enabled.push_back(name);
        link(s, type);
    };
    optional(VK_EXT_DEPTH_CLIP_CONTROL_EXTENSION_NAME, clip,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEPTH_CLIP_CONTROL_FEATURES_EXT);
    optional(VK_EXT_VERTEX_ATTRIBUTE_DIVISOR_EXTENSION_NAME, divisor,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VERTEX_ATTRIBUTE_DIVISOR_FEATURES_EXT);
    optional(VK_EXT_INDEX_TYPE_UINT8_EXTENSION_NAME, bytes,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INDEX_TYPE_UINT8_FEATURES_EXT);
    optional(VK_EXT_CUSTOM_BORDER_COLOR_EXTENSION_NAME, border,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_BORDER_COLOR_FEATURES_EXT);
    optional(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME, feedback,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT);
    optional(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME, conditional,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT);
    optional(VK_EXT_PRIMITIVES_GENERATED_QUERY_EXTENSION_NAME, generated,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT);
    optional(VK_EXT_MESH_SHADER_EXTENSION_NAME, mesh,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT);
    optional(VK_EXT_PRIMITIVE_TOPOLOGY_LIST_RESTART_EXTENSION_NAME, restart,
             VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVE_TOPOLOGY_LIST_RESTART_FEATURES_EXT);
    if (extensions.has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
        enabled.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
        can_.host_import = true;
        VkPhysicalDeviceExternalMemoryHostPropertiesEXT host{
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
        VkPhysicalDeviceProperties2 p{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &host, {}};
        vkGetPhysicalDeviceProperties2(physical_, &p);
        can_.host_alignment = host.minImportedHostPointerAlignment;
    }
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, chain, {}};
    vkGetPhysicalDeviceFeatures2(physical_, &features);
    if (!v12.timelineSemaphore || !v13.dynamicRendering || !v13.synchronization2)
        return std::string(properties_.deviceName) + " lacks timeline semaphores or dynamic rendering";
    can_.depth_minus_one = clip.depthClipControl;
    can_.divisors = divisor.vertexAttributeInstanceRateDivisor;
    can_.byte_indices = bytes.indexTypeUint8;
    can_.custom_border = border.customBorderColors && border.customBorderColorWithoutFormat;
    can_.logic_op = features.features.logicOp;
    can_.wireframe = features.features.fillModeNonSolid;
    can_.depth_clamp = features.features.depthClamp;
    can_.depth_bounds = features.features.depthBounds;
    can_.wide_lines = features.features.wideLines;
    can_.anisotropy = features.features.samplerAnisotropy;
    can_.geometry = features.features.geometryShader;
    can_.tessellation = features.features.tessellationShader;
    can_.min_max_filter = v12.samplerFilterMinmax;
    can_.mirror_clamp = v12.samplerMirrorClampToEdge;
    can_.bias_clamp = features.features.depthBiasClamp;
    can_.dual_source = features.features.dualSrcBlend;
    can_.indirect_first_instance = features.features.drawIndirectFirstInstance;
    can_.indirect_count = v12.drawIndirectCount;
    can_.multi_draw = features.features.multiDrawIndirect;
    can_.viewport_layer = v12.shaderOutputLayer;
    can_.precise_samples = features.features.occlusionQueryPrecise;
    can_.statistics = features.features.pipelineStatisticsQuery;
    can_.generated_query = generated.primitivesGeneratedQuery;
    can_.feedback = feedback.transformFeedback;
    can_.conditional = conditional.conditionalRendering;
    can_.list_restart = restart.primitiveTopologyListRestart;
    can_.patch_restart = restart.primitiveTopologyPatchListRestart;
    can_.mesh = mesh.meshShader;
    can_.task = mesh.taskShader;
    VkPhysicalDeviceVulkan12Properties p12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
    VkPhysicalDeviceProperties2 p2{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &p12, {}};
    vkGetPhysicalDeviceProperties2(physical_, &p2);
    if (!p12.robustBufferAccessUpdateAfterBind) // one excludes the other, and bounds come first
        v12.descriptorBindingUniformBufferUpdateAfterBind = v12.descriptorBindingStorageBufferUpdateAfterBind =
            v12.descriptorBindingUniformTexelBufferUpdateAfterBind = v12.descriptorBindingStorageTexelBufferUpdateAfterBind = VK_FALSE;
    can_.raw_memory = v12.bufferDeviceAddress && v12.descriptorBindingStorageBufferUpdateAfterBind && features.features.shaderInt64;
    if (v12.runtimeDescriptorArray && v12.descriptorBindingPartiallyBound && v12.descriptorBindingSampledImageUpdateAfterBind &&
        v12.shaderSampledImageArrayNonUniformIndexing && p12.maxPerStageDescriptorUpdateAfterBindSamplers >= kSamplerPoolSize &&
        p12.maxDescriptorSetUpdateAfterBindSamplers >= kSamplerPoolSize) {
        const uint32_t most = std::min({p12.maxPerStageDescriptorUpdateAfterBindSampledImages, p12.maxDescriptorSetUpdateAfterBindSampledImages,
                                        p12.maxPerStageUpdateAfterBindResources});
        // Bound textures, images and samplers of the other set count against the same limits.
        constexpr uint32_t kOthers = 16384;
        can_.pool_textures = most > 2 * kOthers ? std::min(most - kOthers, kTexturePoolSize) : 0;
    }
    mesh.multiviewMeshShader = VK_FALSE; // would need features of other extensions
    mesh.primitiveFragmentShadingRateMeshShader = VK_FALSE;

    const float priority = 1.0f;
    VkDeviceQueueCreateInfo qci{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    qci.queueFamilyIndex = family_;
    qci.queueCount = 1;
    qci.pQueuePriorities = &priority;
    VkDeviceCreateInfo dci{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    dci.pNext = &features;
    dci.queueCreateInfoCount = 1;
    dci.pQueueCreateInfos = &qci;
    dci.enabledExtensionCount = static_cast<uint32_t>(enabled.size());
    dci.ppEnabledExtensionNames = enabled.data();
    if (vkCreateDevice(physical_, &dci, nullptr, &device_) != VK_SUCCESS)
        return std::string(properties_.deviceName) + " gives no device";
    vkGetDeviceQueue(device_, family_, 0, &queue_);
    if (can_.host_import)
        host_pointer_properties_ = reinterpret_cast<PFN_vkGetMemoryHostPointerPropertiesEXT>(
            vkGetDeviceProcAddr(device_, "vkGetMemoryHostPointerPropertiesEXT"));

    const auto command = [&](auto& out, const char* name) {
        out = reinterpret_cast<std::remove_reference_t<decltype(out)>>(vkGetDeviceProcAddr(device_, name));
    };
    if (can_.conditional) {
        command(ext_.begin_conditional, "vkCmdBeginConditionalRenderingEXT");
        command(ext_.end_conditional, "vkCmdEndConditionalRenderingEXT");
    }
    if (can_.feedback) {
        command(ext_.bind_feedback, "vkCmdBindTransformFeedbackBuffersEXT");
        command(ext_.begin_feedback, "vkCmdBeginTransformFeedbackEXT");
        command(ext_.end_feedback, "vkCmdEndTransformFeedbackEXT");
        command(ext_.draw_byte_count, "vkCmdDrawIndirectByteCountEXT");
    }
    if (can_.mesh) {
        command(ext_.draw_mesh, "vkCmdDrawMeshTasksEXT");
        command(ext_.draw_mesh_indirect, "vkCmdDrawMeshTasksIndirectEXT");
    }

    VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo sci{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type, 0};
    if (vkCreateSemaphore(device_, &sci, nullptr, &timeline_) != VK_SUCCESS)
        return "no timeline semaphore";
    for (Batch& b : batches_) {
        VkCommandPoolCreateInfo pci{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
        pci.queueFamilyIndex = family_;
        VkCommandBufferAllocateInfo ai{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
        ai.commandBufferCount = 1;
        if (vkCreateCommandPool(device_, &pci, nullptr, &b.pool) != VK_SUCCESS)
            return "no command pool";
        ai.commandPool = b.pool;
        if (vkAllocateCommandBuffers(device_, &ai, &b.commands) != VK_SUCCESS)
            return "no command buffer";
    }
    return "";
}

Device::~Device() {
    if (device_) {
        vkDeviceWaitIdle(device_);
        for (Batch& b : batches_) {
            for (Buffer& c : b.chunks)
                destroy(c);
            for (Buffer& g : b.garbage_buffers)
                destroy(g);
            for (const Batch::Sets* sets : {&b.sets, &b.late_sets})
                for (const VkDescriptorPool p : sets->pools)
                    vkDestroyDescriptorPool(device_, p, nullptr);
            vkDestroyCommandPool(device_, b.pool, nullptr);
        }
        vkDestroySemaphore(device_, timeline_, nullptr);
        vkDestroyDevice(device_, nullptr);
    }
    if (messenger_)
        if (const auto end = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
                vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT")))
            end(instance_, messenger_, nullptr);
    if (instance_)
        vkDestroyInstance(instance_, nullptr);
}

VkDeviceMemory Device::allocate(const VkMemoryRequirements& need, VkMemoryPropertyFlags wanted) {
    for (const VkMemoryPropertyFlags flags : {wanted, VkMemoryPropertyFlags{0}})
        for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
            if (!(need.memoryTypeBits >> i & 1) || (memory_.memoryTypes[i].propertyFlags & flags) != flags)
                continue;
            VkMemoryAllocateFlagsInfo addressed{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
            addressed.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
            VkMemoryAllocateInfo mai{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, can_.raw_memory ? &addressed : nullptr};
            mai.allocationSize = need.size;
            mai.memoryTypeIndex = i;
            VkDeviceMemory memory = VK_NULL_HANDLE;
            if (vkAllocateMemory(device_, &mai, nullptr, &memory) == VK_SUCCESS)
                return memory;
        }
    report(Report::backend, "no device memory for %llu bytes", static_cast<unsigned long long>(need.size));
    return VK_NULL_HANDLE;
}

namespace {
constexpr VkBufferUsageFlags kAllBufferUses =
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
    VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT |
    VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
}

VkBufferUsageFlags Device::buffer_uses() const {
    VkBufferUsageFlags uses = kAllBufferUses;
    if (can_.feedback)
        uses |= VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT |
                VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT;
    if (can_.conditional)
        uses |= VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT;
    if (can_.raw_memory)
        uses |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    return uses;
}

void Device::take_address(Buffer& buffer) {
    if (!can_.raw_memory)
        return;
    VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    info.buffer = buffer.buffer;
    buffer.address = vkGetBufferDeviceAddress(device_, &info);
}

bool Device::make_buffer(uint64_t size, Buffer& out) {
    VkBufferCreateInfo bci{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    bci.size = size;
    bci.usage = buffer_uses();
    if (!ok(vkCreateBuffer(device_, &bci, nullptr, &out.buffer), "buffer"))
        return false;
    VkMemoryRequirements need;
    vkGetBufferMemoryRequirements(device_, out.buffer, &need);
    out.size = size;
    out.memory = allocate(need, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    void* map = nullptr;
    if (!out.memory || !ok(vkBindBufferMemory(device_, out.buffer, out.memory, 0), "buffer memory") ||
        !ok(vkMapMemory(device_, out.memory, 0, VK_WHOLE_SIZE, 0, &map), "buffer map")) {
        destroy(out);
        return false;
    }
    out.map = static_cast<uint8_t*>(map);
    take_address(out);
    return true;
}

bool Device::import_buffer(uint8_t* memory, uint64_t size, Buffer& out) {
    if (!can_.host_import || !host_pointer_properties_ ||
        reinterpret_cast<uintptr_t>(memory) % can_.host_alignment || size % can_.host_alignment)
        return false;
    constexpr auto kType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    VkMemoryHostPointerPropertiesEXT host{VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    if (host_pointer_properties_(device_, kType, memory, &host) != VK_SUCCESS)
        return false;
    VkExternalMemoryBufferCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO};
    external.handleTypes = kType;
    VkBufferCreateInfo bci{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, &external};
    bci.size = size;
    bci.usage = buffer_uses();
    if (vkCreateBuffer(device_, &bci, nullptr, &out.buffer) != VK_SUCCESS)
        return false;
    VkMemoryRequirements need;
    vkGetBufferMemoryRequirements(device_, out.buffer, &need);
    need.memoryTypeBits &= host.memoryTypeBits;
    for (uint32_t i = 0; i < memory_.memoryTypeCount && need.size <= size; ++i) {
        constexpr VkMemoryPropertyFlags kVisible =
            VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        if (!(need.memoryTypeBits >> i & 1) || (memory_.memoryTypes[i].propertyFlags & kVisible) != kVisible)
            continue;
        VkImportMemoryHostPointerInfoEXT import{VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT};
        import.handleType = kType;
        import.pHostPointer = memory;
        VkMemoryAllocateFlagsInfo addressed{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, &import};
        addressed.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
        VkMemoryAllocateInfo mai{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &import};
        if (can_.raw_memory)
            mai.pNext = &addressed;
        mai.allocationSize = size;
        mai.memoryTypeIndex = i;
        if (vkAllocateMemory(device_, &mai, nullptr, &out.memory) != VK_SUCCESS)
            continue;
        if (vkBindBufferMemory(device_, out.buffer, out.memory, 0) == VK_SUCCESS) {
            out.map = memory;
            out.size = size;
            take_address(out);
            return true;
        }
        break;
    }
    destroy(out);
    return false;
}

void Device::destroy(Buffer& b) {
    vkDestroyBuffer(device_, b.buffer, nullptr);
    vkFreeMemory(device_, b.memory, nullptr);
    b = {};
}

bool Device::next_batch() {
    Batch& b = batches_[current_];
    if (b.fence && !wait(b.fence, ~uint64_t{0}))
        return false;
    for (Buffer& g : b.garbage_buffers)
        destroy(g);
    b.garbage_buffers.clear();
    b.chunk = 0;
    b.chunk_used = 0;
    for (Batch::Sets* sets : {&b.sets, &b.late_sets}) {
        sets->current = 0;
        for (const VkDescriptorPool p : sets->pools)
            vkResetDescriptorPool(device_, p, 0);
    }
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    if (!ok(vkResetCommandPool(device_, b.pool, 0), "command pool") ||
        !ok(vkBeginCommandBuffer(b.commands, &begin), "command buffer"))
        return false;
    b.recording = true;
    return true;
}

VkCommandBuffer Device::commands() {
    if (!batches_[current_].recording)
        next_batch();
    return batches_[current_].commands;
}

Piece Device::piece(uint64_t size, uint64_t alignment) {
    commands();
    Batch& b = batches_[current_];
    if (size > kChunkBytes) {
        Buffer own;
        if (!make_buffer(size, own))
            return {};
        b.garbage_buffers.push_back(own);
        return {own.buffer, 0, own.map};
    }
    uint64_t at = (b.chunk_used + alignment - 1) / alignment * alignment;
    if (b.chunk < b.chunks.size() && at + size > kChunkBytes) {
        ++b.chunk;
        at = 0;
    }
    if (b.chunk >= b.chunks.size()) {
        Buffer chunk;
        if (!make_buffer(kChunkBytes, chunk))
            return {};
        b.chunks.push_back(chunk);
        at = 0;
    }
    b.chunk_used = at + size;
    const Buffer& c = b.chunks[b.chunk];
    return {c.buffer, at, c.map + at};
}

VkDescriptorPool Device::make_descriptor_pool(bool late) {
    const VkDescriptorPoolSize sizes[] = {
        {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, kSetsPerPool * 8},
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kSetsPerPool * 8},
        {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, kSetsPerPool * 16},
        {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, kSetsPerPool * 4},
        {VK_DESCRIPTOR_TYPE_SAMPLER, kSetsPerPool * 4},
        {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, kSetsPerPool * 4},
        {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, kSetsPerPool * 4},
        {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, kSetsPerPool * 4},
    };
    VkDescriptorPoolCreateInfo pci{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pci.flags = late ? VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT : 0;
    pci.maxSets = kSetsPerPool;
    pci.poolSizeCount = static_cast<uint32_t>(std::size(sizes));
    pci.pPoolSizes = sizes;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    ok(vkCreateDescriptorPool(device_, &pci, nullptr, &pool), "descriptor pool");
    return pool;
}

VkDescriptorSet Device::descriptor_set(VkDescriptorSetLayout layout, bool late) {
    commands();
    Batch::Sets& sets = late ? batches_[current_].late_sets : batches_[current_].sets;
    for (bool fresh = false;; ++sets.current) {
        if (sets.current >= sets.pools.size()) {
            if (fresh) { // a whole pool is too small for one set
                report(Report::unsupported, "a descriptor set larger than %u sets' worth of descriptors", kSetsPerPool);
                return VK_NULL_HANDLE;
            }
            const VkDescriptorPool pool = make_descriptor_pool(late);
            if (!pool)
                return VK_NULL_HANDLE;
            sets.pools.push_back(pool);
            fresh = true;
        }
        VkDescriptorSetAllocateInfo ai{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
        ai.descriptorPool = sets.pools[sets.current];
        ai.descriptorSetCount = 1;
        ai.pSetLayouts = &layout;
        VkDescriptorSet set = VK_NULL_HANDLE;
        const VkResult r = vkAllocateDescriptorSets(device_, &ai, &set);
        if (r == VK_SUCCESS)
            return set;
        if (r != VK_ERROR_OUT_OF_POOL_MEMORY && r != VK_ERROR_FRAGMENTED_POOL) {
            ok(r, "descriptor set");
            return VK_NULL_HANDLE;
        }
    }
}

uint64_t Device::flush() {
    Batch& b = batches_[current_];
    if (!b.recording)
        return submitted_;
    b.recording = false;
    if (!ok(vkEndCommandBuffer(b.commands), "command buffer end"))
        return submitted_;
    const uint64_t value = submitted_ + 1;
    VkTimelineSemaphoreSubmitInfo timeline{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &value;
    VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO, &timeline};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &b.commands;
    submit.signalSemaphoreCount = 1;
    submit.pSignalSemaphores = &timeline_;
    if (!ok(vkQueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE), "submit"))
        return submitted_;
    submitted_ = value;
    b.fence = value;
    current_ = (current_ + 1) % kBatches;
    return value;
}

uint64_t Device::completed() const {
    uint64_t value = 0;
    return ok(vkGetSemaphoreCounterValue(device_, timeline_, &value), "semaphore value") ? value : 0;
}

bool Device::wait(uint64_t fence, uint64_t timeout_ns) {
    if (fence == 0)
        return true;
    VkSemaphoreWaitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
    wait.semaphoreCount = 1;
    wait.pSemaphores = &timeline_;
    wait.pValues = &fence;
    const VkResult r = vkWaitSemaphores(device_, &wait, timeout_ns);
    return r == VK_SUCCESS || (r != VK_TIMEOUT && ok(r, "wait"));
}

void Device::full_barrier() {
    VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    barrier.srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    vkCmdPipelineBarrier(commands(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         0, 1, &barrier, 0, nullptr, 0, nullptr);
}

} // namespace dmsh::replay::vulkan
