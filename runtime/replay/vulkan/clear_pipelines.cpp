// Makes the clearing pipelines.
#include "runtime/replay/vulkan/clear_pipelines.h"
#include "runtime/replay/vulkan/clear_float_frag.h"
#include "runtime/replay/vulkan/clear_signed_frag.h"
#include "runtime/replay/vulkan/clear_unsigned_frag.h"
#include "runtime/replay/vulkan/clear_vert.h"

namespace dmsh::replay::vulkan {

ClearPipelines::~ClearPipelines() {
    for (const auto& [key, pipeline] : pipelines_)
        vkDestroyPipeline(device_.handle(), pipeline, nullptr);
    vkDestroyPipelineLayout(device_.handle(), layout_, nullptr);
    vkDestroyShaderModule(device_.handle(), vertex_, nullptr);
    for (const VkShaderModule m : fragments_)
        vkDestroyShaderModule(device_.handle(), m, nullptr);
}

bool ClearPipelines::init() {
    if (layout_)
        return true;
    if (!device_.can().viewport_layer)
        return false;
    const auto module = [&](const uint32_t* words, size_t bytes, VkShaderModule& out) {
        VkShaderModuleCreateInfo ci{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        ci.codeSize = bytes;
        ci.pCode = words;
        return ok(vkCreateShaderModule(device_.handle(), &ci, nullptr, &out), "shader module");
    };
    const VkPushConstantRange range{VK_SHADER_STAGE_FRAGMENT_BIT, 0, 16};
    VkPipelineLayoutCreateInfo ci{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    ci.pushConstantRangeCount = 1;
    ci.pPushConstantRanges = &range;
    return module(k_clear_vert, sizeof k_clear_vert, vertex_) &&
           module(k_clear_float_frag, sizeof k_clear_float_frag, fragments_[0]) &&
           module(k_clear_signed_frag, sizeof k_clear_signed_frag, fragments_[1]) &&
           module(k_clear_unsigned_frag, sizeof k_clear_unsigned_frag, fragments_[2]) &&
           ok(vkCreatePipelineLayout(device_.handle(), &ci, nullptr, &layout_), "pipeline layout");
}

VkPipeline ClearPipelines::get(const Key& key) {
    for (const auto& [k, pipeline] : pipelines_)
        if (k == key)
            return pipeline;
    if (!init()) {
        nvn::report(nvn::Report::unsupported, "clears under a mask on this device");
        return VK_NULL_HANDLE;
    }
    VkPipelineShaderStageCreateInfo stages[2];
    stages[0] = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
    stages[0].module = vertex_;
    stages[0].pName = "main";
    stages[1] = stages[0];
    stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
    stages[1].module = fragments_[key.type];
    VkPipelineVertexInputStateCreateInfo input{VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    VkPipelineInputAssemblyStateCreateInfo assembly{
        VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO};
    assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    VkPipelineViewportStateCreateInfo viewport{VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
    viewport.viewportCount = viewport.scissorCount = 1;
    VkPipelineRasterizationStateCreateInfo raster{VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
    raster.polygonMode = VK_POLYGON_MODE_FILL;
    raster.lineWidth = 1.0f;
    VkPipelineMultisampleStateCreateInfo multisample{
        VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
    multisample.rasterizationSamples = static_cast<VkSampleCountFlagBits>(key.samples);
    VkPipelineDepthStencilStateCreateInfo depth{VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};
    depth.stencilTestEnable = key.stencil != VK_FORMAT_UNDEFINED;
    depth.front.failOp = depth.front.passOp = depth.front.depthFailOp = VK_STENCIL_OP_REPLACE;
    depth.front.compareOp = VK_COMPARE_OP_ALWAYS;
    depth.front.compareMask = 0xff;
    depth.back = depth.front;
    VkPipelineColorBlendAttachmentState attachment{};
    attachment.colorWriteMask = key.mask;
    VkPipelineColorBlendStateCreateInfo blend{VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
    blend.attachmentCount = key.color != VK_FORMAT_UNDEFINED;
    blend.pAttachments = &attachment;
    const VkDynamicState dynamic[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR,
                                      VK_DYNAMIC_STATE_STENCIL_REFERENCE,
                                      VK_DYNAMIC_STATE_STENCIL_WRITE_MASK};
    VkPipelineDynamicStateCreateInfo dynamics{VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO};
    dynamics.dynamicStateCount = static_cast<uint32_t>(std::size(dynamic));
    dynamics.pDynamicStates = dynamic;
    VkPipelineRenderingCreateInfo rendering{VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO};
    rendering.colorAttachmentCount = blend.attachmentCount;
    rendering.pColorAttachmentFormats = &key.color;
    rendering.depthAttachmentFormat = key.depth;
    rendering.stencilAttachmentFormat = key.stencil;
    VkGraphicsPipelineCreateInfo ci{VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, &rendering};
    ci.stageCount = blend.attachmentCount ? 2 : 1;
    ci.pStages = stages;
    ci.pVertexInputState = &input;
    ci.pInputAssemblyState = &assembly;
    ci.pViewportState = &viewport;
    ci.pRasterizationState = &raster;
    ci.pMultisampleState = &multisample;
    ci.pDepthStencilState = &depth;
    ci.pColorBlendState = &blend;
    ci.pDynamicState = &dynamics;
    ci.layout = layout_;
    VkPipeline pipeline = VK_NULL_HANDLE;
    ok(vkCreateGraphicsPipelines(device_.handle(), VK_NULL_HANDLE, 1, &ci, nullptr, &pipeline),
       "clear pipeline");
    pipelines_.emplace_back(key, pipeline);
    return pipeline;
}

} // namespace dmsh::replay::vulkan
