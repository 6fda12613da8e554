// Clears of targets and textures, and the resolves of multisampled textures.
#include "runtime/replay/vulkan/backend_impl.h"
#include "runtime/replay/vulkan/formats.h"
#include "runtime/replay/vulkan/subresource.h"
#include <algorithm>
#include <cstring>

namespace dmsh::replay::vulkan {

using nvn::Report;
using nvn::report;

VkRect2D VulkanBackend::clear_rect(const RasterState& raster) const {
    const auto& s = raster.scissors[0];
    const int64_t w = pass_extent_.width, h = pass_extent_.height;
    const int64_t x0 = std::clamp<int64_t>(s[0], 0, w), y0 = std::clamp<int64_t>(s[1], 0, h);
    const int64_t x1 = std::clamp<int64_t>(int64_t{s[0]} + s[2], x0, w);
    const int64_t y1 = std::clamp<int64_t>(int64_t{s[1]} + s[3], y0, h);
    return {{static_cast<int32_t>(x0), static_cast<int32_t>(y0)},
            {static_cast<uint32_t>(x1 - x0), static_cast<uint32_t>(y1 - y0)}};
}

void VulkanBackend::clear_color(const Targets& targets, const RasterState& raster, uint32_t index,
                                uint32_t mask, uint32_t type, const uint32_t words[4]) {
    if (render_off() || mask == 0)
        return;
    use(Use::graphics);
    if (!begin_pass(targets))
        return;
    const VkClearRect rect{clear_rect(raster), 0, pass_layers_};
    if (rect.rect.extent.width == 0 || rect.rect.extent.height == 0)
        return;
    if (mask != 15) {
        const nvn::BoundTexture& bound = targets.colors[index];
        Image* image = textures_.find(bound.texture);
        Region r;
        r.view = image ? textures_.attachment_view(*image, bound) : VK_NULL_HANDLE;
        r.format = texture_format(nvn::resolve_view(bound).format);
        r.samples = std::max<uint32_t>(1, bound.texture.samples);
        r.layers = pass_layers_;
        r.rect = rect.rect;
        r.extent = pass_extent_;
        end_pass();
        if (r.view)
            clear_region(r, mask, type, words);
        return;
    }
    VkClearAttachment a{};
    a.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT;
    a.colorAttachment = index;
    std::memcpy(&a.clearValue.color, words, 16);
    vkCmdClearAttachments(device_->commands(), 1, &a, 1, &rect);
}

namespace {

float unit(float f) {
    return f >= 0 && f <= 1 ? f : f > 1 ? 1.0f : 0.0f; // NaN clears to 0
}

} // namespace

void VulkanBackend::clear_depth_stencil(const Targets& targets, const RasterState& raster, bool clear_depth,
                                        float depth, uint8_t stencil_mask, uint8_t stencil) {
    if (render_off())
        return;
    use(Use::graphics);
    if (!begin_pass(targets))
        return;
    VkClearAttachment a{};
    const VkImageAspectFlags aspect = aspects(targets.depth.texture.format);
    if (clear_depth)
        a.aspectMask |= aspect & VK_IMAGE_ASPECT_DEPTH_BIT;
    if (stencil_mask == 0xff)
        a.aspectMask |= aspect & VK_IMAGE_ASPECT_STENCIL_BIT;
    a.clearValue.depthStencil = {unit(depth), stencil};
    const VkClearRect rect{clear_rect(raster), 0, pass_layers_};
    if (rect.rect.extent.width == 0 || rect.rect.extent.height == 0)
        return;
    if (a.aspectMask)
        vkCmdClearAttachments(device_->commands(), 1, &a, 1, &rect);
    if (stencil_mask == 0 || stencil_mask == 0xff || !(aspect & VK_IMAGE_ASPECT_STENCIL_BIT))
        return;
    Image* image = textures_.find(targets.depth.texture);
    Region r;
    r.view = image ? textures_.attachment_view(*image, targets.depth) : VK_NULL_HANDLE;
    r.format = texture_format(targets.depth.texture.format);
    r.aspect = aspect;
    r.samples = std::max<uint32_t>(1, targets.depth.texture.samples);
    r.layers = pass_layers_;
    r.rect = rect.rect;
    r.extent = pass_extent_;
    end_pass();
    if (r.view)
        clear_stencil_region(r, stencil_mask, stencil);
}

namespace {

VkRenderingAttachmentInfo kept(VkImageView view) {
    VkRenderingAttachmentInfo a{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    a.imageView = view;
    a.imageLayout = VK_IMAGE_LAYOUT_GENERAL;
    a.loadOp = VK_ATTACHMENT_LOAD_OP_LOAD;
    a.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    return a;
}

void fullscreen(VkCommandBuffer c, VkPipeline pipeline, VkExtent2D extent, const VkRect2D& rect) {
    const VkViewport viewport{0, 0, static_cast<float>(extent.width), static_cast<float>(extent.height),
                              0, 1};
    vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdSetViewport(c, 0, 1, &viewport);
    vkCmdSetScissor(c, 0, 1, &rect);
}

} // namespace

void VulkanBackend::clear_region(const Region& r, uint32_t mask, uint32_t type, const uint32_t words[4]) {
    const VkRenderingAttachmentInfo color = kept(r.view);
    VkRenderingInfo info{VK_STRUCTURE_TYPE_RENDERING_INFO};
    info.renderArea.extent = r.extent;
    info.layerCount = r.layers;
    info.colorAttachmentCount = 1;
    info.pColorAttachments = &color;
    VkPipeline pipeline = VK_NULL_HANDLE;
    if (mask != 15) {
        ClearPipelines::Key key;
        key.color = r.format;
        key.samples = r.samples;
        key.mask = mask;
        key.type = type;
        pipeline = clears_.get(key);
        if (!pipeline)
            return;
    }
    device_->full_barrier();
    const VkCommandBuffer c = device_->commands();
    begin_work(false);
    vkCmdBeginRendering(c, &info);
    if (pipeline) {
        fullscreen(c, pipeline, r.extent, r.rect);
        vkCmdSetStencilReference(c, VK_STENCIL_FACE_FRONT_AND_BACK, 0);
        vkCmdSetStencilWriteMask(c, VK_STENCIL_FACE_FRONT_AND_BACK, 0);
        vkCmdPushConstants(c, clears_.layout(), VK_SHADER_STAGE_FRAGMENT_BIT, 0, 16, words);
        vkCmdDraw(c, 3, r.layers, 0, 0);
    } else {
        VkClearAttachment a{};
        a.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT;
        std::memcpy(&a.clearValue.color, words, 16);
        const VkClearRect rect{r.rect, 0, r.layers};
        vkCmdClearAttachments(c, 1, &a, 1, &rect);
    }
    vkCmdEndRendering(c);
    end_work();
    device_->full_barrier();
}

void VulkanBackend::clear_stencil_region(const Region& r, uint8_t mask, uint8_t value) {
    ClearPipelines::Key key;
    key.depth = r.aspect & VK_IMAGE_ASPECT_DEPTH_BIT ? r.format : VK_FORMAT_UNDEFINED;
    key.stencil = r.format;
    key.samples = r.samples;
    const VkPipeline pipeline = clears_.get(key);
    if (!pipeline)
        return;
    const VkRenderingAttachmentInfo target = kept(r.view);
    VkRenderingInfo info{VK_STRUCTURE_TYPE_RENDERING_INFO};
    info.renderArea.extent = r.extent;
    info.layerCount = r.layers;
    info.pDepthAttachment = key.depth ? &target : nullptr;
    info.pStencilAttachment = &target;
    device_->full_barrier();
    const VkCommandBuffer c = device_->commands();
    begin_work(false);
    vkCmdBeginRendering(c, &info);
    fullscreen(c, pipeline, r.extent, r.rect);
    vkCmdSetStencilReference(c, VK_STENCIL_FACE_FRONT_AND_BACK, value);
    vkCmdSetStencilWriteMask(c, VK_STENCIL_FACE_FRONT_AND_BACK, mask);
    vkCmdDraw(c, 3, r.layers, 0, 0);
    vkCmdEndRendering(c);
    end_work();
    device_->full_barrier();
}

void VulkanBackend::clear_texture(const TextureClear& clear) {
    if (clear.mask == 0)
        return;
    use(Use::transfer);
    Image* image = textures_.find(clear.texture.texture);
    VkImageSubresourceLayers sub;
    VkOffset3D offset;
    VkExtent3D extent;
    if (!image || !subresource(*image, clear.texture, clear.region, sub, offset, extent))
        return;
    const nvn::ResolvedView v = nvn::resolve_view(clear.texture);
    if (sub.aspectMask != VK_IMAGE_ASPECT_COLOR_BIT) {
        report(Report::unsupported, "texture clear of %s", nvn::format_name(v.format));
        return;
    }
    const bool volume = image->type == VK_IMAGE_TYPE_3D;
    nvn::BoundTexture bound = clear.texture;
    bound.view.set |= nvn::kViewLayers | nvn::kViewLevels;
    bound.view.base_level = static_cast<uint8_t>(v.base_level);
    bound.view.level_count = 1;
    bound.view.min_layer = static_cast<uint16_t>(volume ? offset.z : sub.baseArrayLayer);
    bound.view.layer_count = static_cast<uint16_t>(volume ? extent.depth : sub.layerCount);
    Region r;
    r.format = texture_format(v.format);
    VkFormatProperties fp;
    vkGetPhysicalDeviceFormatProperties(device_->physical(), r.format, &fp);
    if (!(fp.optimalTilingFeatures & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT)) {
        report(Report::unsupported, "texture clear of %s, which this device cannot draw to",
               nvn::format_name(v.format));
        return;
    }
    r.view = textures_.attachment_view(*image, bound);
    if (!r.view)
        return;
    r.samples = std::max<uint32_t>(1, clear.texture.texture.samples);
    r.layers = bound.view.layer_count;
    r.rect = {{offset.x, offset.y}, {extent.width, extent.height}};
    r.extent = {static_cast<uint32_t>(offset.x) + extent.width,
                static_cast<uint32_t>(offset.y) + extent.height};
    image->gpu_written = true;
    const nvn::RenderEnable mode = render_mode_; // texture clears are transfers: no condition holds for them
    render_mode_ = nvn::RenderEnable::on;
    clear_region(r, clear.mask, clear.type, clear.words);
    render_mode_ = mode;
}

void VulkanBackend::downsample(const nvn::BoundTexture& source, const nvn::BoundTexture& destination) {
    use(Use::transfer);
    Image* from = textures_.find(source.texture);
    Image* to = textures_.find(destination.texture);
    if (!from || !to)
        return;
    const nvn::ResolvedView a = nvn::resolve_view(source), b = nvn::resolve_view(destination);
    const VkImageAspectFlags aspect = aspects(a.format);
    const VkExtent2D extent{std::max(1u, source.texture.width >> a.base_level),
                            std::max(1u, source.texture.height >> a.base_level)};
    const bool fits = extent.width == std::max(1u, destination.texture.width >> b.base_level) &&
                      extent.height == std::max(1u, destination.texture.height >> b.base_level);
    if (source.texture.samples <= 1 || destination.texture.samples > 1 || !fits ||
        texture_format(a.format, true) != texture_format(b.format, true)) {
        report(Report::unsupported, "downsample of %ux%u %s with %u samples to %ux%u %s with %u",
               source.texture.width, source.texture.height, nvn::format_name(a.format),
               source.texture.samples, destination.texture.width, destination.texture.height,
               nvn::format_name(b.format), destination.texture.samples);
        return;
    }
    VkRenderingAttachmentInfo attachment = kept(textures_.attachment_view(*from, source));
    attachment.resolveImageView = textures_.attachment_view(*to, destination);
    attachment.resolveImageLayout = VK_IMAGE_LAYOUT_GENERAL;
    if (!attachment.imageView || !attachment.resolveImageView)
        return;
    const bool color = aspect == VK_IMAGE_ASPECT_COLOR_BIT;
    attachment.resolveMode =
        color && !integer_format(a.format) ? VK_RESOLVE_MODE_AVERAGE_BIT : VK_RESOLVE_MODE_SAMPLE_ZERO_BIT;
    VkRenderingInfo info{VK_STRUCTURE_TYPE_RENDERING_INFO};
    info.renderArea.extent = extent;
    info.layerCount = std::min(a.layer_count, b.layer_count);
    if (color) {
        info.colorAttachmentCount = 1;
        info.pColorAttachments = &attachment;
    }
    if (aspect & VK_IMAGE_ASPECT_DEPTH_BIT)
        info.pDepthAttachment = &attachment;
    if (aspect & VK_IMAGE_ASPECT_STENCIL_BIT)
        info.pStencilAttachment = &attachment;
    to->gpu_written = true;
    device_->full_barrier();
    vkCmdBeginRendering(device_->commands(), &info);
    vkCmdEndRendering(device_->commands());
    device_->full_barrier();
}

} // namespace dmsh::replay::vulkan
