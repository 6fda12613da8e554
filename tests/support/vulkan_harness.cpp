// Runs a Job: resources, descriptor sets, pipeline, one draw or dispatch, read back.
#include "tests/support/vulkan_harness.h"
#include "tests/support/vulkan_device.h"
#include <algorithm>
#include <cstring>
#include <map>

namespace dmsh::test {
namespace {

constexpr VkFlags kAllStages = VK_SHADER_STAGE_ALL;

class Harness final : public VulkanHarness {
  public:
    explicit Harness(bool validation) : gpu_(validation) {}

    Result<Outcome> run(const Job& job) override {
        gpu_.messages.clear();
        Result<Outcome> result = Error{"unreachable"};
        try {
            result = run_job(job);
        } catch (const VulkanFailure& failure) {
            std::string text = failure.message;
            for (const auto& m : gpu_.messages)
                text += "\n" + m;
            result = Error{text};
        }
        gpu_.reset();
        return result;
    }

    const VkPhysicalDeviceProperties& properties() const override { return gpu_.properties; }
    uint32_t subgroup_size() const override { return gpu_.subgroup_size; }
    uint8_t keeps_nans() const override {
        VkPhysicalDeviceFloatControlsProperties p{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
        VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &p, {}};
        vkGetPhysicalDeviceProperties2(gpu_.physical, &all);
        return static_cast<uint8_t>((p.shaderSignedZeroInfNanPreserveFloat16 ? 1 : 0) |
                                    (p.shaderSignedZeroInfNanPreserveFloat32 ? 2 : 0) |
                                    (p.shaderSignedZeroInfNanPreserveFloat64 ? 4 : 0));
    }

  private:
    Outcome run_job(const Job& job);
    void bind_resources(const Job& job);
    void make_layout(const Job& job);
    VkPipeline make_pipeline(const Job& job);
    void draw(const Job& job, VkPipeline pipeline, Outcome& out);

    VulkanDevice gpu_;
    std::vector<Buffer> buffers_;
    std::vector<Image> images_;
    std::vector<VkSampler> samplers_;
    std::vector<VkDescriptorSetLayout> set_layouts_;
    std::vector<VkDescriptorSet> sets_;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
};

void Harness::bind_resources(const Job& job) {
    buffers_.clear();
    images_.clear();
    samplers_.clear();
    for (const auto& b : job.buffers) {
        buffers_.push_back(gpu_.make_buffer(b.bytes.size()));
        std::copy(b.bytes.begin(), b.bytes.end(), buffers_.back().map);
    }
    for (const auto& i : job.images) {
        images_.push_back(gpu_.make_image(i, 0));
        if (i.texels.empty())
            gpu_.upload(images_.back(), std::vector<uint8_t>(image_bytes(i)));
        else
            gpu_.upload(images_.back(), i.texels);
    }
    for (const auto& s : job.samplers) {
        VkSamplerCreateInfo info{VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
        info.magFilter = info.minFilter = s.filter;
        info.mipmapMode = s.mipmap;
        info.addressModeU = info.addressModeV = info.addressModeW = s.address;
        info.compareEnable = s.compare;
        info.compareOp = s.compare_op;
        info.maxLod = s.max_lod;
        VkSampler sampler;
        check(vkCreateSampler(gpu_.device, &info, nullptr, &sampler), "vkCreateSampler");
        gpu_.defer([this, sampler] { vkDestroySampler(gpu_.device, sampler, nullptr); });
        samplers_.push_back(sampler);
    }
}

void Harness::make_layout(const Job& job) {
    set_layouts_.clear();
    sets_.clear();
    uint32_t set_count = 0;
    std::map<std::pair<uint32_t, uint32_t>, VkDescriptorSetLayoutBinding> bindings;
    std::map<VkDescriptorType, uint32_t> counts;
    for (const auto& d : job.descriptors) {
        set_count = std::max(set_count, d.set + 1);
        auto& b = bindings[{d.set, d.binding}];
        b.binding = d.binding;
        b.descriptorType = d.type;
        b.descriptorCount = std::max(b.descriptorCount, d.element + 1);
        b.stageFlags = kAllStages;
    }
    for (const auto& [at, b] : bindings)
        counts[b.descriptorType] += b.descriptorCount;
    for (uint32_t s = 0; s < set_count; ++s) {
        std::vector<VkDescriptorSetLayoutBinding> list;
        for (const auto& [at, b] : bindings)
            if (at.first == s)
                list.push_back(b);
        const std::vector<VkDescriptorBindingFlags> flags(list.size(),
                                                          VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT);
        VkDescriptorSetLayoutBindingFlagsCreateInfo flags_info{
            VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO};
        flags_info.bindingCount = static_cast<uint32_t>(flags.size());
        flags_info.pBindingFlags = flags.data();
        VkDescriptorSetLayoutCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                             &flags_info};
        info.bindingCount = static_cast<uint32_t>(list.size());
        info.pBindings = list.data();
        VkDescriptorSetLayout layout;
        check(vkCreateDescriptorSetLayout(gpu_.device, &info, nullptr, &layout),
              "vkCreateDescriptorSetLayout");
        gpu_.defer([this, layout] { vkDestroyDescriptorSetLayout(gpu_.device, layout, nullptr); });
        set_layouts_.push_back(layout);
    }
    const VkPushConstantRange push{kAllStages, 0, static_cast<uint32_t>(job.push_constants.size())};
    VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    info.setLayoutCount = set_count;
    info.pSetLayouts = set_layouts_.data();
    info.pushConstantRangeCount = push.size ? 1 : 0;
    info.pPushConstantRanges = &push;
    check(vkCreatePipelineLayout(gpu_.device, &info, nullptr, &layout_), "vkCreatePipelineLayout");
    gpu_.defer([this, layout = layout_] { vkDestroyPipelineLayout(gpu_.device, layout, nullptr); });
    if (set_count == 0)
        return;

    std::vector<VkDescriptorPoolSize> sizes;
    for (const auto& [type, n] : counts)
        sizes.push_back({type, n});
    VkDescriptorPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool_info.maxSets = set_count;
    pool_info.poolSizeCount = static_cast<uint32_t>(sizes.size());
    pool_info.pPoolSizes = sizes.data();
    VkDescriptorPool pool;
    check(vkCreateDescriptorPool(gpu_.device, &pool_info, nullptr, &pool), "vkCreateDescriptorPool");
    gpu_.defer([this, pool] { vkDestroyDescriptorPool(gpu_.device, pool, nullptr); });
    sets_.resize(set_count);
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr, pool,
                                         set_count, set_layouts_.data()};
    check(vkAllocateDescriptorSets(gpu_.device, &allocate, sets_.data()), "vkAllocateDescriptorSets");

    for (const auto& d : job.descriptors) {
        if (!d.bound)
            continue;
        VkDescriptorBufferInfo buffer{};
        VkDescriptorImageInfo image{};
        VkBufferView view = VK_NULL_HANDLE;
        VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        write.dstSet = sets_[d.set];
        write.dstBinding = d.binding;
        write.dstArrayElement = d.element;
        write.descriptorCount = 1;
        write.descriptorType = d.type;
        switch (d.type) {
        case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
        case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
            buffer = {buffers_.at(d.resource).buffer, 0, VK_WHOLE_SIZE};
            if (d.type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER)
                buffer.range = std::min<VkDeviceSize>(buffers_[d.resource].size,
                                                      gpu_.properties.limits.maxUniformBufferRange);
            write.pBufferInfo = &buffer;
            break;
        case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
        case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER: {
            VkBufferViewCreateInfo view_info{VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO};
            view_info.buffer = buffers_.at(d.resource).buffer;
            view_info.format = d.format;
            view_info.range = VK_WHOLE_SIZE;
            check(vkCreateBufferView(gpu_.device, &view_info, nullptr, &view), "vkCreateBufferView");
            gpu_.defer([this, view] { vkDestroyBufferView(gpu_.device, view, nullptr); });
            write.pTexelBufferView = &view;
            break;
        }
        case VK_DESCRIPTOR_TYPE_SAMPLER:
            image.sampler = samplers_.at(d.sampler);
            write.pImageInfo = &image;
            break;
        default:
            if (d.type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER)
                image.sampler = samplers_.at(d.sampler);
            image.imageView = gpu_.make_view(images_.at(d.resource), d.view, d.format);
            image.imageLayout = VK_IMAGE_LAYOUT_GENERAL;
            write.pImageInfo = &image;
            break;
        }
        vkUpdateDescriptorSets(gpu_.device, 1, &write, 0, nullptr);
    }
}

VkPipeline Harness::make_pipeline(const Job& job) {
    std::vector<VkPipelineShaderStageCreateInfo> stages;
    std::vector<VkSpecializationInfo> specializations(job.stages.size());
    std::vector<std::vector<VkSpecializationMapEntry>> entries(job.stages.size());
    std::vector<std::vector<uint32_t>> values(job.stages.size());
    for (size_t i = 0; i < job.stages.size(); ++i) {
        const auto& s = job.stages[i];
        VkPipelineShaderStageCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
        info.stage = s.stage;
        info.module = gpu_.make_module(s.words);
        info.pName = s.entry.c_str();
        for (const auto& [id, value] : s.constants) {
            entries[i].push_back({id, static_cast<uint32_t>(values[i].size() * 4), 4});
            values[i].push_back(value);
        }
        specializations[i] = {static_cast<uint32_t>(entries[i].size()), entries[i].data(),
                              values[i].size() * 4, values[i].data()};
        if (!s.constants.empty())
            info.pSpecializationInfo = &specializations[i];
        stages.push_back(info);
    }
    if (stages.empty())
        throw VulkanFailure{"a job without stages"};
    if (stages[0].stage == VK_SHADER_STAGE_COMPUTE_BIT)
        return gpu_.make_compute_pipeline(layout_, stages[0]);

    const GraphicsState& g = job.graphics;
    std::vector<VkVertexInputBindingDescription> bindings;
    std::vector<VkVertexInputAttributeDescription> attributes;
    for (uint32_t i = 0; i < g.attributes.size(); ++i) {
        const auto& a = g.attributes[i];
        bindings.push_back({i, texel_bytes(a.format),
                            a.per_instance ? VK_VERTEX_INPUT_RATE_INSTANCE : VK_VERTEX_INPUT_RATE_VERTEX});
        attributes.push_back({a.location, i, a.format, 0});
    }
    VkPipelineVertexInputStateCreateInfo input{VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    input.vertexBindingDescriptionCount = static_cast<uint32_t>(bindings.size());
    input.pVertexBindingDescriptions = bindings.data();
    input.vertexAttributeDescriptionCount = static_cast<uint32_t>(attributes.size());
    input.pVertexAttributeDescriptions = attributes.data();
    VkPipelineInputAssemblyStateCreateInfo assembly{
        VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO};
    assembly.topology = g.topology;
    VkPipelineTessellationStateCreateInfo tessellation{
        VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_STATE_CREATE_INFO};
    tessellation.patchControlPoints = g.patch_points;
    const VkViewport viewport{0, 0, static_cast<float>(g.width), static_cast<float>(g.height), 0, 1};
    const VkRect2D scissor{{0, 0}, {g.width, g.height}};
    VkPipelineViewportStateCreateInfo view{VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
    view.viewportCount = view.scissorCount = 1;
    view.pViewports = &viewport;
    view.pScissors = &scissor;
    VkPipelineRasterizationStateCreateInfo raster{VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
    raster.rasterizerDiscardEnable = g.discard_primitives;
    raster.lineWidth = 1;
    VkPipelineMultisampleStateCreateInfo multisample{
        VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
    multisample.rasterizationSamples = static_cast<VkSampleCountFlagBits>(g.samples);
    multisample.sampleShadingEnable = g.sample_shading;
    multisample.minSampleShading = 1;
    VkPipelineDepthStencilStateCreateInfo depth{VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};
    depth.depthTestEnable = depth.depthWriteEnable = g.depth;
    depth.depthCompareOp = g.depth_compare;
    std::vector<VkPipelineColorBlendAttachmentState> blends(g.targets.size());
    std::vector<VkFormat> formats;
    for (size_t i = 0; i < blends.size(); ++i) {
        blends[i].colorWriteMask = g.targets[i].write_mask;
        formats.push_back(g.targets[i].format);
    }
    VkPipelineColorBlendStateCreateInfo blend{VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
    blend.attachmentCount = static_cast<uint32_t>(blends.size());
    blend.pAttachments = blends.data();
    VkPipelineRenderingCreateInfo rendering{VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO};
    rendering.colorAttachmentCount = static_cast<uint32_t>(formats.size());
    rendering.pColorAttachmentFormats = formats.data();
    rendering.depthAttachmentFormat = g.depth ? VK_FORMAT_D32_SFLOAT : VK_FORMAT_UNDEFINED;
    VkGraphicsPipelineCreateInfo info{VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, &rendering};
    info.stageCount = static_cast<uint32_t>(stages.size());
    info.pStages = stages.data();
    info.pVertexInputState = &input;
    info.pInputAssemblyState = &assembly;
    info.pTessellationState = &tessellation;
    info.pViewportState = &view;
    info.pRasterizationState = &raster;
    info.pMultisampleState = &multisample;
    info.pDepthStencilState = &depth;
    info.pColorBlendState = &blend;
    info.layout = layout_;
    VkPipeline pipeline;
    check(vkCreateGraphicsPipelines(gpu_.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
          "vkCreateGraphicsPipelines");
    gpu_.defer([this, pipeline] { vkDestroyPipeline(gpu_.device, pipeline, nullptr); });
    return pipeline;
}

void Harness::draw(const Job& job, VkPipeline pipeline, Outcome& out) {
    const GraphicsState& g = job.graphics;
    ImageResource shape;
    shape.width = g.width;
    shape.height = g.height;
    shape.samples = g.samples;
    shape.layers = g.layers;
    const VkImageViewType view_type = g.layers > 1 ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
    std::vector<Image> targets;
    std::vector<VkRenderingAttachmentInfo> attachments;
    for (const auto& t : g.targets) {
        shape.format = t.format;
        targets.push_back(gpu_.make_image(shape, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT));
        VkRenderingAttachmentInfo a{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
        a.imageView = gpu_.make_view(targets.back(), view_type, t.format);
        a.imageLayout = VK_IMAGE_LAYOUT_GENERAL;
        a.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
        a.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
        memcpy(&a.clearValue.color, t.clear.data(), 16);
        attachments.push_back(a);
    }
    Image depth;
    VkRenderingAttachmentInfo depth_attachment{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    if (g.depth) {
        shape.format = VK_FORMAT_D32_SFLOAT;
        depth = gpu_.make_image(shape, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT);
        depth_attachment.imageView = gpu_.make_view(depth, view_type, shape.format);
        depth_attachment.imageLayout = VK_IMAGE_LAYOUT_GENERAL;
        depth_attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
        depth_attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
        depth_attachment.clearValue.depthStencil.depth = g.depth_clear;
    }
    std::vector<VkBuffer> vertex_buffers;
    for (const auto& a : g.attributes) {
        Buffer b = gpu_.make_buffer(a.data.size());
        std::copy(a.data.begin(), a.data.end(), b.map);
        vertex_buffers.push_back(b.buffer);
    }
    std::array<Buffer, 4> feedback;
    bool captures = false;
    for (unsigned i = 0; i < 4; ++i)
        if (g.feedback_bytes[i]) {
            feedback[i] = gpu_.make_buffer(g.feedback_bytes[i]);
            captures = true;
        }
    if (captures && !gpu_.bind_feedback)
        throw VulkanFailure{"no transform feedback"};
    gpu_.submit([&](VkCommandBuffer c) {
        for (const auto& t : targets)
            gpu_.to_general(c, t);
        if (g.depth)
            gpu_.to_general(c, depth);
        VkRenderingInfo rendering{VK_STRUCTURE_TYPE_RENDERING_INFO};
        rendering.renderArea = {{0, 0}, {g.width, g.height}};
        rendering.layerCount = g.layers;
        rendering.colorAttachmentCount = static_cast<uint32_t>(attachments.size());
        rendering.pColorAttachments = attachments.data();
        rendering.pDepthAttachment = g.depth ? &depth_attachment : nullptr;
        vkCmdBeginRendering(c, &rendering);
        vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
        if (!sets_.empty())
            vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_GRAPHICS, layout_, 0,
                                    static_cast<uint32_t>(sets_.size()), sets_.data(), 0, nullptr);
        if (!job.push_constants.empty())
            vkCmdPushConstants(c, layout_, kAllStages, 0, static_cast<uint32_t>(job.push_constants.size()),
                               job.push_constants.data());
        const std::vector<VkDeviceSize> zeros(vertex_buffers.size(), 0);
        if (!vertex_buffers.empty())
            vkCmdBindVertexBuffers(c, 0, static_cast<uint32_t>(vertex_buffers.size()), vertex_buffers.data(),
                                   zeros.data());
        if (captures) {
            for (uint32_t i = 0; i < 4; ++i)
                if (feedback[i].buffer) {
                    const VkDeviceSize offset = 0;
                    gpu_.bind_feedback(c, i, 1, &feedback[i].buffer, &offset, &feedback[i].size);
                }
            gpu_.begin_feedback(c, 0, 0, nullptr, nullptr);
        }
        vkCmdDraw(c, g.vertices, g.instances, g.first_vertex, g.first_instance);
        if (captures)
            gpu_.end_feedback(c, 0, 0, nullptr, nullptr);
        vkCmdEndRendering(c);
    });
    for (const auto& t : targets)
        out.targets.push_back(gpu_.download(t));
    if (g.depth)
        out.depth = gpu_.download(depth);
    for (unsigned i = 0; i < 4; ++i)
        if (feedback[i].buffer)
            out.feedback[i].assign(feedback[i].map, feedback[i].map + feedback[i].size);
}

Outcome Harness::run_job(const Job& job) {
    Outcome out;
    bind_resources(job);
    make_layout(job);
    const VkPipeline pipeline = make_pipeline(job);
    if (job.stages[0].stage == VK_SHADER_STAGE_COMPUTE_BIT) {
        gpu_.submit([&](VkCommandBuffer c) {
            vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
            if (!sets_.empty())
                vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0,
                                        static_cast<uint32_t>(sets_.size()), sets_.data(), 0, nullptr);
            if (!job.push_constants.empty())
                vkCmdPushConstants(c, layout_, kAllStages, 0,
                                   static_cast<uint32_t>(job.push_constants.size()),
                                   job.push_constants.data());
            vkCmdDispatch(c, job.groups[0], job.groups[1], job.groups[2]);
        });
    } else {
        draw(job, pipeline, out);
    }
    for (size_t i = 0; i < buffers_.size(); ++i)
        out.buffers.emplace_back(buffers_[i].map, buffers_[i].map + job.buffers[i].bytes.size());
    for (const auto& image : images_)
        out.images.push_back(gpu_.download(image));
    out.messages = gpu_.messages;
    return out;
}

} // namespace

Result<std::unique_ptr<VulkanHarness>> VulkanHarness::create(bool validation) {
    try {
        return std::unique_ptr<VulkanHarness>(std::make_unique<Harness>(validation));
    } catch (const VulkanFailure& failure) {
        return Error{failure.message};
    }
}

} // namespace dmsh::test
