// The test harness's device: every feature that the implementation has is switched on.
#include "tests/support/vulkan_device.h"
#include <cstring>

namespace dmsh::test {
namespace {

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
    static_cast<std::vector<std::string>*>(user)->push_back(data->pMessage);
    return VK_FALSE;
}

// The class of a format's components: what a shader that copies it must declare.
enum class TexelClass { real, sint, uint };

TexelClass texel_class(VkFormat f) {
    switch (f) {
    case VK_FORMAT_R8_SINT:
    case VK_FORMAT_R32_SINT:
    case VK_FORMAT_R32G32_SINT:
    case VK_FORMAT_R32G32B32A32_SINT: return TexelClass::sint;
    case VK_FORMAT_R8_UINT:
    case VK_FORMAT_R16_UINT:
    case VK_FORMAT_R32_UINT:
    case VK_FORMAT_R32G32_UINT:
    case VK_FORMAT_R8G8B8A8_UINT:
    case VK_FORMAT_R16G16B16A16_UINT:
    case VK_FORMAT_R32G32B32A32_UINT: return TexelClass::uint;
    default: return TexelClass::real;
    }
}

} // namespace

void check(VkResult result, const char* what) {
    if (result != VK_SUCCESS)
        throw VulkanFailure{std::string(what) + " failed with VkResult " + std::to_string(result)};
}

uint32_t texel_bytes(VkFormat f) {
    switch (f) {
    case VK_FORMAT_R8_UNORM:
    case VK_FORMAT_R8_UINT:
    case VK_FORMAT_R8_SINT: return 1;
    case VK_FORMAT_R16_UNORM:
    case VK_FORMAT_R16_UINT:
    case VK_FORMAT_R16_SFLOAT:
    case VK_FORMAT_R8G8_UNORM: return 2;
    case VK_FORMAT_R8G8B8A8_UNORM:
    case VK_FORMAT_R8G8B8A8_UINT:
    case VK_FORMAT_R8G8B8A8_SINT:
    case VK_FORMAT_R8G8B8A8_SNORM:
    case VK_FORMAT_A2B10G10R10_UNORM_PACK32:
    case VK_FORMAT_A2B10G10R10_UINT_PACK32:
    case VK_FORMAT_B10G11R11_UFLOAT_PACK32:
    case VK_FORMAT_R16G16_SFLOAT:
    case VK_FORMAT_R32_UINT:
    case VK_FORMAT_R32_SINT:
    case VK_FORMAT_R32_SFLOAT:
    case VK_FORMAT_D32_SFLOAT: return 4;
    case VK_FORMAT_R16G16B16A16_SFLOAT:
    case VK_FORMAT_R16G16B16A16_UINT:
    case VK_FORMAT_R16G16B16A16_UNORM:
    case VK_FORMAT_R32G32_UINT:
    case VK_FORMAT_R32G32_SINT:
    case VK_FORMAT_R32G32_SFLOAT: return 8;
    case VK_FORMAT_R32G32B32_SFLOAT: return 12;
    case VK_FORMAT_R32G32B32A32_UINT:
    case VK_FORMAT_R32G32B32A32_SINT:
    case VK_FORMAT_R32G32B32A32_SFLOAT: return 16;
    default: return 0;
    }
}

size_t image_bytes(const ImageResource& image) {
    size_t n = 0;
    for (uint32_t l = 0; l < image.levels; ++l)
        n += size_t{std::max(image.width >> l, 1u)} * std::max(image.height >> l, 1u) *
             std::max(image.depth >> l, 1u);
    return n * image.layers * image.samples * texel_bytes(image.format);
}

VulkanDevice::VulkanDevice(bool validation) {
    uint32_t n = 0;
    vkEnumerateInstanceLayerProperties(&n, nullptr);
    std::vector<VkLayerProperties> layers(n);
    vkEnumerateInstanceLayerProperties(&n, layers.data());
    const char* layer = "VK_LAYER_KHRONOS_validation";
    bool has_layer = false;
    for (const auto& l : layers)
        has_layer |= strcmp(l.layerName, layer) == 0;
    validation = validation && has_layer;

    const VkApplicationInfo app{
        VK_STRUCTURE_TYPE_APPLICATION_INFO, nullptr, "dmsh", 1, "dmsh", 1, VK_API_VERSION_1_3};
    VkDebugUtilsMessengerCreateInfoEXT debug{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
    debug.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    debug.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    debug.pfnUserCallback = on_message;
    debug.pUserData = &messages;
    VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    info.pApplicationInfo = &app;
    const char* debug_name = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    if (validation) {
        info.pNext = &debug;
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = &layer;
        info.enabledExtensionCount = 1;
        info.ppEnabledExtensionNames = &debug_name;
    }
    check(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
    if (validation) {
        auto make = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
            vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT"));
        check(make(instance, &debug, nullptr, &messenger_), "vkCreateDebugUtilsMessengerEXT");
    }

    n = 0;
    vkEnumeratePhysicalDevices(instance, &n, nullptr);
    std::vector<VkPhysicalDevice> devices(n);
    vkEnumeratePhysicalDevices(instance, &n, devices.data());
    for (VkPhysicalDevice d : devices) {
        vkGetPhysicalDeviceProperties(d, &properties);
        if (properties.apiVersion >= VK_API_VERSION_1_3) {
            physical = d;
            break;
        }
    }
    if (!physical)
        throw VulkanFailure{"no Vulkan 1.3 device"};
    VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceProperties2 properties2{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &subgroup, {}};
    vkGetPhysicalDeviceProperties2(physical, &properties2);
    subgroup_size = subgroup.subgroupSize;

    n = 0;
    vkEnumerateDeviceExtensionProperties(physical, nullptr, &n, nullptr);
    std::vector<VkExtensionProperties> has(n);
    vkEnumerateDeviceExtensionProperties(physical, nullptr, &n, has.data());
    std::vector<const char*> extensions;
    auto want = [&](const char* name) {
        for (const auto& e : has)
            if (strcmp(e.extensionName, name) == 0) {
                extensions.push_back(name);
                return true;
            }
        return false;
    };
    VkPhysicalDeviceVulkan13Features f13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceVulkan12Features f12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &f13};
    VkPhysicalDeviceVulkan11Features f11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &f12};
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &f11, {}};
    VkPhysicalDeviceTransformFeedbackFeaturesEXT feedback{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT};
    VkPhysicalDeviceShaderClockFeaturesKHR clock{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR};
    VkPhysicalDeviceRobustness2FeaturesEXT robust{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT};
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
    VkPhysicalDeviceMeshShaderFeaturesEXT mesh{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT};
    auto chain = [&](auto& f) {
        f.pNext = f13.pNext;
        f13.pNext = &f;
    };
    const bool has_feedback = want(VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME);
    if (has_feedback)
        chain(feedback);
    if (want(VK_KHR_SHADER_CLOCK_EXTENSION_NAME))
        chain(clock);
    if (want(VK_EXT_ROBUSTNESS_2_EXTENSION_NAME))
        chain(robust);
    if (want(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME))
        chain(atomic);
    if (want(VK_EXT_MESH_SHADER_EXTENSION_NAME))
        chain(mesh);
    want(VK_EXT_POST_DEPTH_COVERAGE_EXTENSION_NAME);
    want(VK_EXT_SHADER_VIEWPORT_INDEX_LAYER_EXTENSION_NAME);
    want("VK_NV_viewport_array2");
    vkGetPhysicalDeviceFeatures2(physical, &features);
    mesh.multiviewMeshShader = VK_FALSE; // needs features of its own
    mesh.primitiveFragmentShadingRateMeshShader = VK_FALSE;

    uint32_t families = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &families, nullptr);
    std::vector<VkQueueFamilyProperties> family(families);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &families, family.data());
    uint32_t chosen = 0;
    const VkQueueFlags both = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    while (chosen < families && (family[chosen].queueFlags & both) != both)
        ++chosen;
    if (chosen == families)
        throw VulkanFailure{"no graphics and compute queue"};
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queues{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queues.queueFamilyIndex = chosen;
    queues.queueCount = 1;
    queues.pQueuePriorities = &priority;
    VkDeviceCreateInfo create{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features};
    create.queueCreateInfoCount = 1;
    create.pQueueCreateInfos = &queues;
    create.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    create.ppEnabledExtensionNames = extensions.data();
    check(vkCreateDevice(physical, &create, nullptr, &device), "vkCreateDevice");
    vkGetDeviceQueue(device, chosen, 0, &queue);
    if (has_feedback) {
        auto get = [&](const char* name) { return vkGetDeviceProcAddr(device, name); };
        bind_feedback = reinterpret_cast<PFN_vkCmdBindTransformFeedbackBuffersEXT>(
            get("vkCmdBindTransformFeedbackBuffersEXT"));
        begin_feedback =
            reinterpret_cast<PFN_vkCmdBeginTransformFeedbackEXT>(get("vkCmdBeginTransformFeedbackEXT"));
        end_feedback =
            reinterpret_cast<PFN_vkCmdEndTransformFeedbackEXT>(get("vkCmdEndTransformFeedbackEXT"));
    }
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = chosen;
    check(vkCreateCommandPool(device, &pool, nullptr, &commands_), "vkCreateCommandPool");
}

VulkanDevice::~VulkanDevice() {
    reset();
    if (commands_)
        vkDestroyCommandPool(device, commands_, nullptr);
    if (device)
        vkDestroyDevice(device, nullptr);
    if (messenger_)
        reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(vkGetInstanceProcAddr(
            instance, "vkDestroyDebugUtilsMessengerEXT"))(instance, messenger_, nullptr);
    if (instance)
        vkDestroyInstance(instance, nullptr);
}

void VulkanDevice::reset() {
    for (; !deferred_.empty(); deferred_.pop_back())
        deferred_.back()();
}

VkDeviceMemory VulkanDevice::allocate(const VkMemoryRequirements& need, bool host) {
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(physical, &memory);
    const VkMemoryPropertyFlags flags =
        host ? VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT : 0;
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i)
        if ((need.memoryTypeBits >> i & 1) && (memory.memoryTypes[i].propertyFlags & flags) == flags) {
            VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, need.size, i};
            VkDeviceMemory m;
            check(vkAllocateMemory(device, &info, nullptr, &m), "vkAllocateMemory");
            return m;
        }
    throw VulkanFailure{"no memory type"};
}

Buffer VulkanDevice::make_buffer(VkDeviceSize size) {
    Buffer b;
    b.size = size ? size : 16;
    VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = b.size;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                 VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
                 VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT;
    if (bind_feedback)
        info.usage |= VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT;
    check(vkCreateBuffer(device, &info, nullptr, &b.buffer), "vkCreateBuffer");
    VkMemoryRequirements need;
    vkGetBufferMemoryRequirements(device, b.buffer, &need);
    b.memory = allocate(need, true);
    check(vkBindBufferMemory(device, b.buffer, b.memory, 0), "vkBindBufferMemory");
    void* p;
    check(vkMapMemory(device, b.memory, 0, VK_WHOLE_SIZE, 0, &p), "vkMapMemory");
    b.map = static_cast<uint8_t*>(p);
    memset(b.map, 0, b.size);
    defer([this, b] {
        vkDestroyBuffer(device, b.buffer, nullptr);
        vkFreeMemory(device, b.memory, nullptr);
    });
    return b;
}

Image VulkanDevice::make_image(const ImageResource& shape, VkImageUsageFlags extra_usage) {
    Image i;
    i.shape = shape;
    i.shape.texels.clear();
    const bool depth = shape.format == VK_FORMAT_D32_SFLOAT;
    i.aspect = depth ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT;
    VkImageCreateInfo info{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    info.flags = shape.cube ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0;
    info.imageType = shape.type;
    info.format = shape.format;
    info.extent = {shape.width, shape.height, shape.depth};
    info.mipLevels = shape.levels;
    info.arrayLayers = shape.layers;
    info.samples = static_cast<VkSampleCountFlagBits>(shape.samples);
    info.usage = VK_IMAGE_USAGE_SAMPLED_BIT | extra_usage;
    if (shape.samples == 1)
        info.usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (shape.storage || (shape.samples > 1 && extra_usage == 0))
        info.usage |= VK_IMAGE_USAGE_STORAGE_BIT;
    if (shape.storage)
        info.flags |= VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT;
    check(vkCreateImage(device, &info, nullptr, &i.image), "vkCreateImage");
    VkMemoryRequirements need;
    vkGetImageMemoryRequirements(device, i.image, &need);
    i.memory = allocate(need, false);
    check(vkBindImageMemory(device, i.image, i.memory, 0), "vkBindImageMemory");
    defer([this, i] {
        vkDestroyImage(device, i.image, nullptr);
        vkFreeMemory(device, i.memory, nullptr);
    });
    return i;
}

VkImageView VulkanDevice::make_view(const Image& image, VkImageViewType type, VkFormat format) {
    VkImageViewCreateInfo info{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
    info.image = image.image;
    info.viewType = type;
    info.format = format == VK_FORMAT_UNDEFINED ? image.shape.format : format;
    const bool layered = type == VK_IMAGE_VIEW_TYPE_1D_ARRAY || type == VK_IMAGE_VIEW_TYPE_2D_ARRAY ||
                         type == VK_IMAGE_VIEW_TYPE_CUBE_ARRAY;
    const uint32_t layers = type == VK_IMAGE_VIEW_TYPE_CUBE ? 6 : layered ? image.shape.layers : 1;
    info.subresourceRange = {image.aspect, 0, image.shape.levels, 0, layers};
    VkImageView view;
    check(vkCreateImageView(device, &info, nullptr, &view), "vkCreateImageView");
    defer([this, view] { vkDestroyImageView(device, view, nullptr); });
    return view;
}

VkShaderModule VulkanDevice::make_module(std::span<const uint32_t> words) {
    VkShaderModuleCreateInfo info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    info.codeSize = words.size_bytes();
    info.pCode = words.data();
    VkShaderModule module;
    check(vkCreateShaderModule(device, &info, nullptr, &module), "vkCreateShaderModule");
    defer([this, module] { vkDestroyShaderModule(device, module, nullptr); });
    return module;
}

VkPipeline VulkanDevice::make_compute_pipeline(VkPipelineLayout layout,
                                               const VkPipelineShaderStageCreateInfo& stage) {
    VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.layout = layout;
    info.stage = stage;
    VkPipeline pipeline;
    check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
          "vkCreateComputePipelines");
    defer([this, pipeline] { vkDestroyPipeline(device, pipeline, nullptr); });
    return pipeline;
}

void VulkanDevice::submit(const std::function<void(VkCommandBuffer)>& record) {
    VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, commands_,
                                     VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    VkCommandBuffer commands;
    check(vkAllocateCommandBuffers(device, &info, &commands), "vkAllocateCommandBuffers");
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    // Each submission sees all of the one before, the host included.
    const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                                  VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT,
                                  VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
    record(commands);
    const VkMemoryBarrier last{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_MEMORY_WRITE_BIT,
                               VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                         &last, 0, nullptr, 0, nullptr);
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
    check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
    vkFreeCommandBuffers(device, commands_, 1, &commands);
}

void VulkanDevice::to_general(VkCommandBuffer commands, const Image& image) {
    VkImageMemoryBarrier b{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
    b.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    b.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
    b.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    b.srcQueueFamilyIndex = b.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    b.image = image.image;
    b.subresourceRange = {image.aspect, 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0,
                         0, nullptr, 0, nullptr, 1, &b);
}

namespace {

std::vector<VkBufferImageCopy> copies(const Image& image) {
    std::vector<VkBufferImageCopy> list;
    VkDeviceSize at = 0;
    const ImageResource& s = image.shape;
    for (uint32_t l = 0; l < s.levels; ++l) {
        const VkExtent3D e{std::max(s.width >> l, 1u), std::max(s.height >> l, 1u),
                           std::max(s.depth >> l, 1u)};
        list.push_back({at, 0, 0, {image.aspect, l, 0, s.layers}, {0, 0, 0}, e});
        at += VkDeviceSize{e.width} * e.height * e.depth * s.layers * texel_bytes(s.format);
    }
    return list;
}

} // namespace

void VulkanDevice::upload(const Image& image, std::span<const uint8_t> texels) {
    Buffer staging = make_buffer(image_bytes(image.shape));
    memcpy(staging.map, texels.data(), std::min<size_t>(texels.size(), staging.size));
    submit([&](VkCommandBuffer commands) {
        to_general(commands, image);
        if (image.shape.samples > 1)
            return;
        const auto regions = copies(image);
        vkCmdCopyBufferToImage(commands, staging.buffer, image.image, VK_IMAGE_LAYOUT_GENERAL,
                               static_cast<uint32_t>(regions.size()), regions.data());
    });
    if (image.shape.samples > 1)
        copy_multisampled(image, staging, true);
}

std::vector<uint8_t> VulkanDevice::download(const Image& image) {
    Buffer staging = make_buffer(image_bytes(image.shape));
    if (image.shape.samples > 1)
        copy_multisampled(image, staging, false);
    else
        submit([&](VkCommandBuffer commands) {
            const auto regions = copies(image);
            vkCmdCopyImageToBuffer(commands, image.image, VK_IMAGE_LAYOUT_GENERAL, staging.buffer,
                                   static_cast<uint32_t>(regions.size()), regions.data());
        });
    return {staging.map, staging.map + image_bytes(image.shape)};
}

// Only formats of 32-bit components and RGBA8 have this road.
void VulkanDevice::copy_multisampled(const Image& image, Buffer& buffer, bool store) {
    const ImageResource& s = image.shape;
    const TexelClass kind = texel_class(s.format);
    const bool rgba8 = s.format == VK_FORMAT_R8G8B8A8_UNORM;
    const uint32_t words = texel_bytes(s.format) / 4;
    if (!words || (!rgba8 && words == 3))
        throw VulkanFailure{"multisampled image of an unsupported format"};
    const std::string prefix = kind == TexelClass::sint ? "i" : kind == TexelClass::uint ? "u" : "";
    std::string pack[4], text = "#version 450\nlayout(local_size_x = 8, local_size_y = 8) in;\n";
    text += "layout(set = 0, binding = 0) buffer B { uint b[]; };\nlayout(set = 0, binding = 1) uniform ";
    text += store ? "writeonly " + prefix + "image2DMSArray t;\n" : prefix + "sampler2DMSArray t;\n";
    text += "void main() {\nivec3 p = ivec3(gl_GlobalInvocationID);\nif (p.x >= " + std::to_string(s.width) +
            " || p.y >= " + std::to_string(s.height) + ") return;\nfor (int s = 0; s < " +
            std::to_string(s.samples) + "; ++s) {\nuint at = uint(((p.z * " + std::to_string(s.height) +
            " + p.y) * " + std::to_string(s.width) + " + p.x) * " + std::to_string(s.samples) + " + s) * " +
            std::to_string(words) + "u;\n";
    const std::string from = kind == TexelClass::real   ? "uintBitsToFloat"
                             : kind == TexelClass::sint ? "int"
                                                        : "uint";
    const std::string to = kind == TexelClass::real ? "floatBitsToUint" : "uint";
    if (store) {
        text += prefix + "vec4 v = " + prefix + "vec4(0);\n";
        if (rgba8)
            text += "v = unpackUnorm4x8(b[at]);\n";
        else
            for (uint32_t i = 0; i < words; ++i)
                text += "v[" + std::to_string(i) + "] = " + from + "(b[at + " + std::to_string(i) + "u]);\n";
        text += "imageStore(t, p, s, v);\n}}\n";
    } else {
        text += prefix + "vec4 v = texelFetch(t, p, s);\n";
        if (rgba8)
            text += "b[at] = packUnorm4x8(v);\n";
        else
            for (uint32_t i = 0; i < words; ++i)
                text += "b[at + " + std::to_string(i) + "u] = " + to + "(v[" + std::to_string(i) + "]);\n";
        text += "}}\n";
    }
    auto spirv = compile_glsl("comp", text);
    if (!spirv)
        throw VulkanFailure{spirv.error().text()};

    const VkDescriptorType type =
        store ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE : VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    const VkDescriptorSetLayoutBinding bindings[2] = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr},
        {1, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr}};
    VkDescriptorSetLayoutCreateInfo set_info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set_info.bindingCount = 2;
    set_info.pBindings = bindings;
    VkDescriptorSetLayout set_layout;
    check(vkCreateDescriptorSetLayout(device, &set_info, nullptr, &set_layout),
          "vkCreateDescriptorSetLayout");
    defer([=, this] { vkDestroyDescriptorSetLayout(device, set_layout, nullptr); });
    VkPipelineLayoutCreateInfo layout_info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    layout_info.setLayoutCount = 1;
    layout_info.pSetLayouts = &set_layout;
    VkPipelineLayout layout;
    check(vkCreatePipelineLayout(device, &layout_info, nullptr, &layout), "vkCreatePipelineLayout");
    defer([=, this] { vkDestroyPipelineLayout(device, layout, nullptr); });
    const VkDescriptorPoolSize sizes[2] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1}, {type, 1}};
    VkDescriptorPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool_info.maxSets = 1;
    pool_info.poolSizeCount = 2;
    pool_info.pPoolSizes = sizes;
    VkDescriptorPool pool;
    check(vkCreateDescriptorPool(device, &pool_info, nullptr, &pool), "vkCreateDescriptorPool");
    defer([=, this] { vkDestroyDescriptorPool(device, pool, nullptr); });
    VkDescriptorSetAllocateInfo allocate_info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr, pool,
                                              1, &set_layout};
    VkDescriptorSet set;
    check(vkAllocateDescriptorSets(device, &allocate_info, &set), "vkAllocateDescriptorSets");
    VkSamplerCreateInfo sampler_info{VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    VkSampler sampler;
    check(vkCreateSampler(device, &sampler_info, nullptr, &sampler), "vkCreateSampler");
    defer([=, this] { vkDestroySampler(device, sampler, nullptr); });
    const VkDescriptorBufferInfo buffer_info{buffer.buffer, 0, VK_WHOLE_SIZE};
    const VkDescriptorImageInfo image_info{sampler, make_view(image, VK_IMAGE_VIEW_TYPE_2D_ARRAY, s.format),
                                           VK_IMAGE_LAYOUT_GENERAL};
    VkWriteDescriptorSet writes[2]{};
    for (uint32_t i = 0; i < 2; ++i) {
        writes[i] = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        writes[i].dstSet = set;
        writes[i].dstBinding = i;
        writes[i].descriptorCount = 1;
    }
    writes[0].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[0].pBufferInfo = &buffer_info;
    writes[1].descriptorType = type;
    writes[1].pImageInfo = &image_info;
    vkUpdateDescriptorSets(device, 2, writes, 0, nullptr);
    VkPipelineShaderStageCreateInfo stage{VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    stage.module = make_module(*spirv);
    stage.pName = "main";
    const VkPipeline pipeline = make_compute_pipeline(layout, stage);
    submit([&](VkCommandBuffer commands) {
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
        vkCmdDispatch(commands, (s.width + 7) / 8, (s.height + 7) / 8, s.layers);
    });
}

} // namespace dmsh::test
