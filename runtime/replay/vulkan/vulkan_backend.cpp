// Implements the Vulkan backend: render passes, draws, dispatches, clears and copies.
#include "runtime/replay/vulkan/vulkan_backend.h"
#include "runtime/nvn/states.h"
#include "runtime/replay/vulkan/formats.h"
#include "runtime/replay/vulkan/pipelines.h"
#include "runtime/replay/vulkan/pool_memory.h"
#include "runtime/replay/vulkan/textures.h"
#include <algorithm>
#include <cstring>

namespace dmsh::replay {
namespace {

using namespace vulkan;
using nvn::Host;
using nvn::Report;
using nvn::report;

constexpr uint64_t kZeroBytes = 65536; // read by attributes without a buffer; a uniform buffer's size

VkCompareOp compare_op(uint32_t nvn) {
    return static_cast<VkCompareOp>((nvn - 1) & 7);
} // 1..8 in Vulkan's order

VkStencilOp stencil_op(uint32_t nvn) {
    switch (nvn) {
    case NVN_STENCIL_OP_ZERO: return VK_STENCIL_OP_ZERO;
    case NVN_STENCIL_OP_REPLACE: return VK_STENCIL_OP_REPLACE;
    case NVN_STENCIL_OP_INCR: return VK_STENCIL_OP_INCREMENT_AND_CLAMP;
    case NVN_STENCIL_OP_DECR: return VK_STENCIL_OP_DECREMENT_AND_CLAMP;
    case NVN_STENCIL_OP_INVERT: return VK_STENCIL_OP_INVERT;
    case NVN_STENCIL_OP_INCR_WRAP: return VK_STENCIL_OP_INCREMENT_AND_WRAP;
    case NVN_STENCIL_OP_DECR_WRAP: return VK_STENCIL_OP_DECREMENT_AND_WRAP;
    default: return VK_STENCIL_OP_KEEP;
    }
}

class VulkanBackend final : public VulkanBackendBase {
  public:
    VulkanBackend(std::unique_ptr<Device> device, bool import)
        : device_(std::move(device)), memory_(*device_, import), textures_(*device_), pipelines_(*device_) {}
    ~VulkanBackend() override {
        wait(flush(), ~uint64_t{0});
        for (auto& [key, view] : texel_views_)
            vkDestroyBufferView(device_->handle(), view, nullptr);
        device_->destroy(zeros_);
    }
    bool init() {
        if (!device_->make_buffer(kZeroBytes, zeros_))
            return false;
        std::memset(zeros_.map, 0, kZeroBytes);
        return true;
    }

    const char* name() const override { return "vulkan"; }
    VulkanInfo info() const override {
        return {device_->properties().deviceName, memory_.imports(), device_->can().depth_minus_one,
                pipelines_.made(), device_->validation_errors()};
    }

    void pool_added(const nvn::PoolInfo& pool) override { memory_.add(pool); }
    void pool_removed(const nvn::PoolInfo& pool) override {
        textures_.forget(reinterpret_cast<uint64_t>(pool.memory), pool.size);
        std::erase_if(texel_views_, [&](const auto& v) {
            const bool gone = v.first.pool == pool.serial;
            if (gone)
                vkDestroyBufferView(device_->handle(), v.second, nullptr);
            return gone;
        });
        memory_.remove(pool);
    }

    void draw(const DrawCall& call) override;
    void dispatch(const DispatchCall& call) override;
    void clear_color(const Targets& targets, const RasterState& raster, uint32_t index, uint32_t mask,
                     uint32_t type, const uint32_t words[4]) override;
    void clear_depth_stencil(const Targets& targets, const RasterState& raster, bool clear_depth, float depth,
                             uint8_t stencil_mask, uint8_t stencil) override;
    void copy_buffer(uint64_t source, uint64_t destination, uint64_t size) override;
    void fill_buffer(uint64_t address, uint64_t size, uint32_t value) override;
    void update_buffer(uint64_t address, const uint8_t* data, uint32_t size) override;
    void copy_buffer_texture(const BufferTextureCopy& copy) override;
    void copy_texture(const TextureCopy& copy) override;
    void barrier(uint32_t bits) override;
    void clear_texture(const TextureClear&) override { refuse("texture clears"); }
    void downsample(const nvn::BoundTexture&, const nvn::BoundTexture&) override { refuse("downsampling"); }
    void feedback(nvn::Feedback, const std::array<Range, kFeedbackBuffers>&, uint64_t) override {
        refuse("transform feedback");
    }
    void reset_counter(NVNcounterType) override { refuse("counters"); }
    void report_counter(NVNcounterType, uint64_t) override { refuse("counters"); }
    void report_value(uint32_t, uint64_t) override { refuse("report values"); }
    void render_enable(nvn::RenderEnable, uint64_t) override { refuse("render enable"); }
    bool read_memory(uint64_t address, void* out, uint32_t bytes) override {
        if (!Host::get().pool_at(address, bytes))
            return false;
        std::memcpy(out, reinterpret_cast<const void*>(address), bytes);
        return true;
    }

    uint64_t flush() override {
        end_pass();
        if (!device_->idle()) {
            device_->full_barrier();
            memory_.before_submit();
            const uint64_t fence = device_->flush();
            memory_.after_submit(fence);
            textures_.next_batch();
            used_since_barrier_ = Use::none;
            return fence;
        }
        textures_.next_batch();
        return device_->flush();
    }
    bool wait(uint64_t fence, uint64_t timeout_ns) override { return device_->wait(fence, timeout_ns); }
    void store_texture(const nvn::TextureDesc& texture) override {
        end_pass();
        flush();
        textures_.store(texture);
    }

  private:
    static void refuse(const char* what) { report(Report::unsupported, "%s", what); }

    enum class Use : uint8_t { none, graphics, compute, transfer };

    // The guest's engines take turns: a change from one to the other waits for the first.
    void use(Use next) {
        if (next != Use::graphics)
            end_pass();
        if (used_since_barrier_ != Use::none && used_since_barrier_ != next) {
            end_pass();
            device_->full_barrier();
        } else if (next == Use::transfer && used_since_barrier_ == next) {
            device_->full_barrier();
        }
        used_since_barrier_ = next;
    }

    bool begin_pass(const Targets& targets);
    void end_pass() {
        if (in_pass_)
            vkCmdEndRendering(device_->commands());
        in_pass_ = false;
    }
    // Makes every texture that the call reads; transfers that this takes happen outside of passes.
    void prepare(const BoundWork& work);
    bool bind(const BoundWork& work, const Pipeline& pipeline, VkPipelineBindPoint point);
    bool write_resource(const Resource& r, VkDescriptorSet set);
    VkBufferView texel_view(const Resource& r);
    void set_dynamic(const DrawCall& call);
    VkRect2D clear_rect(const RasterState& raster) const;
    bool bind_indices(const DrawCall& call, uint32_t& count);

    std::unique_ptr<Device> device_;
    PoolMemory memory_;
    Textures textures_;
    Pipelines pipelines_;
    Buffer zeros_;
    Use used_since_barrier_ = Use::none;
    bool in_pass_ = false;
    Targets pass_;
    VkExtent2D pass_extent_{};
    uint32_t pass_layers_ = 1;

    struct TexelKey {
        uint32_t pool;
        uint64_t address, size;
        VkFormat format;
        bool operator==(const TexelKey&) const = default;
    };
    std::vector<std::pair<TexelKey, VkBufferView>> texel_views_;

    // Descriptor writes of one call; their memory is kept.
    std::vector<VkWriteDescriptorSet> writes_;
    std::vector<VkDescriptorBufferInfo> buffers_;
    std::vector<VkDescriptorImageInfo> images_;
    std::vector<VkBufferView> views_;
};

bool same(const Targets& a, const Targets& b) {
    if (a.color_count != b.color_count || a.present != b.present)
        return false;
    for (uint32_t i = 0; i < kMaxColors; ++i)
        if (a.has_color(i) && std::memcmp(&a.colors[i], &b.colors[i], sizeof a.colors[i]) != 0)
            return false;
    return !a.has_depth() || std::memcmp(&a.depth, &b.depth, sizeof a.depth) == 0;
}

bool VulkanBackend::begin_pass(const Targets& targets) {
    if (in_pass_ && same(pass_, targets))
        return true;
    end_pass();
    VkRenderingAttachmentInfo colors[kMaxColors], depth{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    uint32_t count = 0, width = ~0u, height = ~0u, layers = ~0u;
    const auto attach = [&](VkRenderingAttachmentInfo& a, const nvn::BoundTexture& bound) {
        Image* image = textures_.find(bound.texture);
        if (!image)
            return false;
        const nvn::ResolvedView v = nvn::resolve_view(bound);
        a = {VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
        a.imageView = textures_.attachment_view(*image, bound);
        if (!a.imageView)
            return false;
        a.imageLayout = VK_IMAGE_LAYOUT_GENERAL;
        a.loadOp = VK_ATTACHMENT_LOAD_OP_LOAD;
        a.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
        image->gpu_written = true;
        width = std::min(width, std::max(1u, bound.texture.width >> v.base_level));
        height = std::min(
            height, image->type == VK_IMAGE_TYPE_1D ? 1 : std::max(1u, bound.texture.height >> v.base_level));
        layers = std::min(layers, image->type == VK_IMAGE_TYPE_3D && !(bound.view.set & nvn::kViewLayers)
                                      ? std::max(1u, bound.texture.depth >> v.base_level)
                                      : v.layer_count);
        return true;
    };
    // Views first: making images records transfers.
    for (uint32_t i = 0; i < kMaxColors; ++i) {
        colors[i] = {VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
        if (!targets.has_color(i))
            continue;
        if (!attach(colors[i], targets.colors[i]))
            return false;
        count = i + 1;
    }
    if (targets.has_depth() && !attach(depth, targets.depth))
        return false;
    if (width == ~0u) { // nothing bound: shaders may still store
        width = device_->properties().limits.maxFramebufferWidth;
        height = device_->properties().limits.maxFramebufferHeight;
        layers = 1;
    }
    device_->full_barrier();
    VkRenderingInfo info{VK_STRUCTURE_TYPE_RENDERING_INFO};
    info.renderArea.extent = {width, height};
    info.layerCount = layers;
    info.colorAttachmentCount = count;
    info.pColorAttachments = colors;
    if (targets.has_depth()) {
        const VkImageAspectFlags aspect = aspects(targets.depth.texture.format);
        if (aspect & VK_IMAGE_ASPECT_DEPTH_BIT)
            info.pDepthAttachment = &depth;
        if (aspect & VK_IMAGE_ASPECT_STENCIL_BIT)
            info.pStencilAttachment = &depth;
    }
    vkCmdBeginRendering(device_->commands(), &info);
    in_pass_ = true;
    pass_ = targets;
    pass_extent_ = {width, height};
    pass_layers_ = layers;
    return true;
}

void VulkanBackend::prepare(const BoundWork& work) {
    for (const Resource& r : *work.resources) {
        if (r.kind != ResourceKind::texture && r.kind != ResourceKind::texture_only &&
            r.kind != ResourceKind::image)
            continue;
        if (textures_.needs_work(r.texture.texture))
            end_pass();
        Image* image = textures_.find(r.texture.texture);
        if (image && r.kind == ResourceKind::image && (r.reflection->written || r.reflection->atomic))
            image->gpu_written = true;
    }
}

VkBufferView VulkanBackend::texel_view(const Resource& r) {
    const nvn::TextureDesc& t = r.texture.texture;
    const nvn::FormatInfo f = nvn::format_info(t.format);
    const uint64_t size = uint64_t{t.width} * f.bytes;
    const auto pool = Host::get().pool_at(t.address, size);
    PoolMemory::Place place;
    if (!pool || !memory_.find(t.address, size, place))
        return VK_NULL_HANDLE;
    const ImageAccess access = r.reflection->access;
    TexelKey key{pool->serial, t.address, size,
                 access == ImageAccess::formatted ? vertex_format(t.format)
                                                  : raw_format(1u << (static_cast<unsigned>(access) - 1))};
    for (const auto& [k, view] : texel_views_)
        if (k == key)
            return view;
    const VkPhysicalDeviceLimits& limits = device_->properties().limits;
    if (key.format == VK_FORMAT_UNDEFINED || place.offset % limits.minTexelBufferOffsetAlignment ||
        t.width > limits.maxTexelBufferElements) {
        report(Report::unsupported, "buffer texture of %u %s at 0x%llx", t.width, nvn::format_name(t.format),
               static_cast<unsigned long long>(t.address));
        return VK_NULL_HANDLE;
    }
    VkBufferViewCreateInfo ci{VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO};
    ci.buffer = place.buffer;
    ci.format = key.format;
    ci.offset = place.offset;
    ci.range = size;
    VkBufferView view = VK_NULL_HANDLE;
    ok(vkCreateBufferView(device_->handle(), &ci, nullptr, &view), "buffer view");
    texel_views_.emplace_back(key, view);
    return view;
}

// Adds one descriptor write. False: nothing can be put there.
bool VulkanBackend::write_resource(const Resource& r, VkDescriptorSet set) {
    VkWriteDescriptorSet w{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    w.dstSet = set;
    w.dstBinding = vulkan_binding(r.stage, r.binding);
    w.dstArrayElement = r.element;
    w.descriptorCount = 1;
    w.descriptorType = descriptor_type(*r.reflection);
    const VkPhysicalDeviceLimits& limits = device_->properties().limits;
    switch (w.descriptorType) {
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER: {
        VkDescriptorBufferInfo& b = buffers_.emplace_back();
        b = {zeros_.buffer, 0, kZeroBytes};
        if (r.kind == ResourceKind::host_uniform) {
            const Piece p = device_->piece(std::max<uint64_t>((r.size + 15) & ~15u, 16),
                                           std::max<uint64_t>(limits.minUniformBufferOffsetAlignment, 16));
            if (!p.buffer)
                return false;
            std::memcpy(p.map, r.data, r.size);
            std::memset(p.map + r.size, 0, ((r.size + 15) & ~15u) - r.size);
            b = {p.buffer, p.offset, std::max<uint64_t>((r.size + 15) & ~15u, 16)};
        } else if (r.kind == ResourceKind::guest_uniform) {
            PoolMemory::Place place;
            if (memory_.find(r.address, r.size, place)) {
                if (place.offset % limits.minUniformBufferOffsetAlignment) {
                    report(Report::unsupported, "uniform buffer at 0x%llx is not aligned for this device",
                           static_cast<unsigned long long>(r.address));
                    return false;
                }
                b = {place.buffer, place.offset, r.size};
            }
        }
        b.range = std::min<uint64_t>(b.range, limits.maxUniformBufferRange);
        w.pBufferInfo = &b;
        break;
    }
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER: {
        VkDescriptorBufferInfo& b = buffers_.emplace_back();
        b = {VK_NULL_HANDLE, 0, VK_WHOLE_SIZE};
        PoolMemory::Place place;
        if (r.kind == ResourceKind::storage && memory_.find(r.address, r.size, place)) {
            if (place.offset % limits.minStorageBufferOffsetAlignment) {
                report(Report::unsupported, "storage buffer at 0x%llx is not aligned for this device",
                       static_cast<unsigned long long>(r.address));
                return false;
            }
            b = {place.buffer, place.offset, std::min<uint64_t>(r.size, limits.maxStorageBufferRange)};
            if (r.reflection->written || r.reflection->atomic)
                memory_.note_write(r.address, r.size);
        }
        w.pBufferInfo = &b;
        break;
    }
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER: {
        VkBufferView& v = views_.emplace_back();
        v = VK_NULL_HANDLE;
        if (r.kind == ResourceKind::texel_buffer || r.kind == ResourceKind::image_buffer) {
            v = texel_view(r);
            if (v && (r.reflection->written || r.reflection->atomic))
                memory_.note_write(r.texture.texture.address,
                                   uint64_t{r.texture.texture.width} *
                                       nvn::format_info(r.texture.texture.format).bytes);
        }
        w.pTexelBufferView = &v;
        break;
    }
    default: {
        VkDescriptorImageInfo& i = images_.emplace_back();
        i = {VK_NULL_HANDLE, VK_NULL_HANDLE, VK_IMAGE_LAYOUT_GENERAL};
        if (w.descriptorType == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER ||
            w.descriptorType == VK_DESCRIPTOR_TYPE_SAMPLER)
            i.sampler = textures_.sampler(r.sampler);
        if (r.kind == ResourceKind::texture || r.kind == ResourceKind::texture_only ||
            r.kind == ResourceKind::image)
            if (Image* image = textures_.find(r.texture.texture))
                i.imageView = r.kind == ResourceKind::image
                                  ? textures_.storage_view(*image, r.texture, *r.reflection)
                                  : textures_.sampled_view(*image, r.texture, *r.reflection);
        w.pImageInfo = &i;
    }
    }
    writes_.push_back(w);
    return true;
}

bool VulkanBackend::bind(const BoundWork& work, const Pipeline& pipeline, VkPipelineBindPoint point) {
    vkCmdBindPipeline(device_->commands(), point, pipeline.pipeline);
    if (!pipeline.set_layout)
        return true;
    const VkDescriptorSet set = device_->descriptor_set(pipeline.set_layout);
    if (!set)
        return false;
    const size_t n = work.resources->size();
    writes_.clear();
    buffers_.clear();
    images_.clear();
    views_.clear();
    buffers_.reserve(n); // writes point into these
    images_.reserve(n);
    views_.reserve(n);
    for (const Resource& r : *work.resources)
        if (!write_resource(r, set))
            return false;
    vkUpdateDescriptorSets(device_->handle(), static_cast<uint32_t>(writes_.size()), writes_.data(), 0,
                           nullptr);
    vkCmdBindDescriptorSets(device_->commands(), point, pipeline.layout, 0, 1, &set, 0, nullptr);
    return true;
}

void VulkanBackend::set_dynamic(const DrawCall& call) {
    const VkCommandBuffer c = device_->commands();
    const RasterState& s = *call.raster;
    const bool upper_left = Host::get().window_origin == NVN_WINDOW_ORIGIN_MODE_UPPER_LEFT;
    const VkPhysicalDeviceLimits& limits = device_->properties().limits;
    VkViewport viewports[kMaxViewports];
    VkRect2D scissors[kMaxViewports];
    const uint32_t count = std::clamp(s.viewport_count, 1u, std::min(limits.maxViewports, kMaxViewports));
    for (uint32_t i = 0; i < count; ++i) {
        const auto& v = s.viewports[i];
        VkViewport& o = viewports[i];
        // Row 0 of a target is y = 0 in both conventions. Lower-left: y grows with the row, which is Vulkan's
        // own viewport; upper-left: the top of clip space is row 0, which is Vulkan's with negative height.
        o = upper_left ? VkViewport{v[0], v[1] + v[3], v[2], -v[3], 0, 0}
                       : VkViewport{v[0], v[1], v[2], v[3], 0, 0};
        const float most_w = static_cast<float>(limits.maxViewportDimensions[0]);
        const float most_h = static_cast<float>(limits.maxViewportDimensions[1]);
        o.width = o.width > 0 ? std::min(o.width, most_w) : 1.0f; // NaN and nothing become a pixel
        o.height = std::abs(o.height) <= most_h && o.height != 0 ? o.height : most_h;
        o.x = std::clamp(o.x == o.x ? o.x : 0.0f, limits.viewportBoundsRange[0],
                         limits.viewportBoundsRange[1] - most_w);
        o.y = std::clamp(o.y == o.y ? o.y : 0.0f, limits.viewportBoundsRange[0] + most_h,
                         limits.viewportBoundsRange[1] - most_h);
        const auto unit = [](float f) { return f >= 0.0f && f <= 1.0f ? f : f > 1.0f ? 1.0f : 0.0f; };
        o.minDepth = unit(s.depth_ranges[i][0]);
        o.maxDepth = unit(s.depth_ranges[i][1]);
        const auto& r = s.scissors[i];
        const int64_t x0 = std::max(r[0], 0), y0 = std::max(r[1], 0);
        const int64_t x1 = std::clamp<int64_t>(int64_t{r[0]} + std::max(r[2], 0), x0, 0x7fffffff);
        const int64_t y1 = std::clamp<int64_t>(int64_t{r[1]} + std::max(r[3], 0), y0, 0x7fffffff);
        scissors[i] = {{static_cast<int32_t>(x0), static_cast<int32_t>(y0)},
                       {static_cast<uint32_t>(x1 - x0), static_cast<uint32_t>(y1 - y0)}};
    }
    vkCmdSetViewportWithCount(c, count, viewports);
    vkCmdSetScissorWithCount(c, count, scissors);

    namespace ds = nvn::depth_stencil;
    const uint64_t d = s.depth_stencil;
    // NVN_FACE_FRONT and NVN_FACE_BACK are Vulkan's bits. Winding is judged by clip space with y up in both
    // origins; Vulkan judges rows downward, so a viewport that keeps y turns it round.
    vkCmdSetCullMode(c, nvn::polygon::Cull::get(s.polygon));
    const bool ccw = nvn::polygon::Front::get(s.polygon) == NVN_FRONT_FACE_CCW;
    vkCmdSetFrontFace(c, ccw == upper_left ? VK_FRONT_FACE_COUNTER_CLOCKWISE : VK_FRONT_FACE_CLOCKWISE);
    const bool has_depth = call.targets->has_depth();
    vkCmdSetDepthTestEnable(c, has_depth && ds::DepthTest::get(d));
    vkCmdSetDepthWriteEnable(c, has_depth && ds::DepthTest::get(d) && ds::DepthWrite::get(d));
    vkCmdSetDepthCompareOp(c, compare_op(ds::DepthFunc::get(d)));
    vkCmdSetStencilTestEnable(c, has_depth && ds::StencilTest::get(d));
    vkCmdSetStencilOp(c, VK_STENCIL_FACE_FRONT_BIT, stencil_op(ds::FrontFail::get(d)),
                      stencil_op(ds::FrontPass::get(d)), stencil_op(ds::FrontDepthFail::get(d)),
                      compare_op(ds::FrontFunc::get(d)));
    vkCmdSetStencilOp(c, VK_STENCIL_FACE_BACK_BIT, stencil_op(ds::BackFail::get(d)),
                      stencil_op(ds::BackPass::get(d)), stencil_op(ds::BackDepthFail::get(d)),
                      compare_op(ds::BackFunc::get(d)));
    vkCmdSetStencilReference(c, VK_STENCIL_FACE_FRONT_BIT, s.front.reference);
    vkCmdSetStencilReference(c, VK_STENCIL_FACE_BACK_BIT, s.back.reference);
    vkCmdSetStencilCompareMask(c, VK_STENCIL_FACE_FRONT_BIT, s.front.value_mask);
    vkCmdSetStencilCompareMask(c, VK_STENCIL_FACE_BACK_BIT, s.back.value_mask);
    vkCmdSetStencilWriteMask(c, VK_STENCIL_FACE_FRONT_BIT, s.front.write_mask);
    vkCmdSetStencilWriteMask(c, VK_STENCIL_FACE_BACK_BIT, s.back.write_mask);
    vkCmdSetBlendConstants(c, s.blend_color.data());
    const uint32_t offsets = nvn::polygon::OffsetEnables::get(s.polygon);
    vkCmdSetDepthBiasEnable(c, offsets != 0);
    vkCmdSetDepthBias(c, s.polygon_offset[1], 0.0f, s.polygon_offset[0]);
    if (s.polygon_offset[2] != 0.0f && offsets)
        report(Report::unsupported, "depth offset clamp %g", static_cast<double>(s.polygon_offset[2]));
    vkCmdSetLineWidth(c, device_->can().wide_lines
                             ? std::clamp(s.line_width, limits.lineWidthRange[0], limits.lineWidthRange[1])
                             : 1.0f);
    vkCmdSetPrimitiveRestartEnable(c, s.primitive_restart && call.indexed);
    vkCmdSetRasterizerDiscardEnable(c, s.rasterizer_discard);
    vkCmdSetDepthBoundsTestEnable(c, s.depth_bounds && has_depth && device_->can().depth_bounds);
    const auto unit = [](float f) { return f >= 0.0f && f <= 1.0f ? f : f > 1.0f ? 1.0f : 0.0f; };
    vkCmdSetDepthBounds(c, unit(s.depth_bounds_min), unit(s.depth_bounds_max));
    if (nvn::color::Alpha::get(s.color) != NVN_ALPHA_FUNC_ALWAYS && nvn::color::Alpha::get(s.color))
        report(Report::unsupported, "alpha test function %u", nvn::color::Alpha::get(s.color));
}

// Binds the index buffer; `count` becomes the number of indices to draw. Quads get indices of their own.
bool VulkanBackend::bind_indices(const DrawCall& call, uint32_t& count) {
    const VkCommandBuffer c = device_->commands();
    count = call.count;
    const bool quads = call.key.primitive == NVN_DRAW_PRIMITIVE_QUADS;
    const bool convert =
        call.indexed && call.index_type == NVN_INDEX_TYPE_UNSIGNED_BYTE && !device_->can().byte_indices;
    if (!quads && !convert) {
        PoolMemory::Place place;
        if (!memory_.find(call.indices, uint64_t{call.count} << call.index_type, place))
            return false;
        const VkIndexType type = call.index_type == NVN_INDEX_TYPE_UNSIGNED_INT     ? VK_INDEX_TYPE_UINT32
                                 : call.index_type == NVN_INDEX_TYPE_UNSIGNED_SHORT ? VK_INDEX_TYPE_UINT16
                                                                                    : VK_INDEX_TYPE_UINT8_EXT;
        const uint32_t widest = call.index_type == NVN_INDEX_TYPE_UNSIGNED_INT     ? ~0u
                                : call.index_type == NVN_INDEX_TYPE_UNSIGNED_SHORT ? 0xffffu
                                                                                   : 0xffu;
        if (call.raster->primitive_restart && call.raster->restart_index != widest)
            report(Report::unsupported, "primitive restart index 0x%x", call.raster->restart_index);
        if (place.offset % (1u << call.index_type)) {
            report(Report::unsupported, "index buffer at 0x%llx is not aligned",
                   static_cast<unsigned long long>(call.indices));
            return false;
        }
        vkCmdBindIndexBuffer(c, place.buffer, place.offset, type);
        return true;
    }
    // Read on the CPU: indices that the GPU writes in this very submission are not seen here.
    const auto index = [&](uint32_t i) -> uint32_t {
        if (!call.indexed)
            return call.first + i;
        const auto* at = reinterpret_cast<const uint8_t*>(call.indices) + (uint64_t{i} << call.index_type);
        uint32_t v = 0;
        std::memcpy(&v, at, size_t{1} << call.index_type);
        return v;
    };
    count = quads ? call.count / 4 * 6 : call.count;
    if (count == 0)
        return false;
    const Piece p = device_->piece(uint64_t{count} * 4, 4);
    if (!p.buffer)
        return false;
    auto* out = reinterpret_cast<uint32_t*>(p.map);
    if (quads) {
        constexpr uint32_t kCorners[6] = {0, 1, 2, 0, 2, 3};
        for (uint32_t q = 0; q < call.count / 4; ++q)
            for (uint32_t k = 0; k < 6; ++k)
                *out++ = index(q * 4 + kCorners[k]);
    } else {
        for (uint32_t i = 0; i < count; ++i)
            *out++ = index(i);
    }
    vkCmdBindIndexBuffer(c, p.buffer, p.offset, VK_INDEX_TYPE_UINT32);
    return true;
}

void VulkanBackend::draw(const DrawCall& call) {
    if (call.indirect.records || call.feedback_counter || call.mesh) {
        refuse("draws with parameters in memory, mesh tasks");
        return;
    }
    use(Use::graphics);
    prepare(call.work);
    const Pipeline* pipeline = pipelines_.graphics(call.key, call.work);
    if (!pipeline || !begin_pass(*call.targets))
        return;
    const VkCommandBuffer c = device_->commands();
    if (!bind(call.work, *pipeline, VK_PIPELINE_BIND_POINT_GRAPHICS))
        return;
    set_dynamic(call);
    for (uint32_t s = 0; s <= kMaxStreams; ++s) {
        VkBuffer buffer = zeros_.buffer;
        VkDeviceSize offset = 0;
        if (s < kMaxStreams) {
            bool used = false;
            for (uint32_t i = 0; i < kMaxAttribs; ++i)
                used |= (call.key.attrib_mask >> i & 1) && nvn::attrib::Stream::get(call.key.attribs[i]) == s;
            if (!used)
                continue;
            const Range& r = (*call.vertex_buffers)[s];
            PoolMemory::Place place;
            if (r.address && memory_.find(r.address, std::max(1u, r.size), place)) {
                buffer = place.buffer;
                offset = place.offset;
            } else {
                report(Report::bad_address, "vertex buffer %u at 0x%llx", s,
                       static_cast<unsigned long long>(r.address));
            }
        }
        vkCmdBindVertexBuffers(c, s, 1, &buffer, &offset);
    }
    const bool quads = call.key.primitive == NVN_DRAW_PRIMITIVE_QUADS;
    if (call.indexed || quads) {
        uint32_t count = 0;
        if (bind_indices(call, count))
            vkCmdDrawIndexed(c, count, call.instance_count, 0, call.base_vertex, call.base_instance);
    } else {
        vkCmdDraw(c, call.count, call.instance_count, call.first, call.base_instance);
    }
}

void VulkanBackend::dispatch(const DispatchCall& call) {
    if (call.indirect) {
        refuse("indirect dispatch");
        return;
    }
    use(Use::compute);
    prepare(call.work);
    const auto& limits = device_->properties().limits;
    for (int i = 0; i < 3; ++i)
        if (call.groups[i] > limits.maxComputeWorkGroupCount[i]) {
            report(Report::bad_argument, "dispatch of %u groups", call.groups[i]);
            return;
        }
    const Pipeline* pipeline = pipelines_.compute(call.work);
    if (!pipeline || !bind(call.work, *pipeline, VK_PIPELINE_BIND_POINT_COMPUTE))
        return;
    vkCmdDispatch(device_->commands(), call.groups[0], call.groups[1], call.groups[2]);
}

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
                                uint32_t mask, uint32_t, const uint32_t words[4]) {
    if (mask != 15) {
        report(Report::unsupported, "clear under channel mask %u", mask);
        return;
    }
    use(Use::graphics);
    if (!begin_pass(targets))
        return;
    VkClearAttachment a{};
    a.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT;
    a.colorAttachment = index;
    std::memcpy(&a.clearValue.color, words, 16);
    const VkClearRect rect{clear_rect(raster), 0, pass_layers_};
    if (rect.rect.extent.width && rect.rect.extent.height)
        vkCmdClearAttachments(device_->commands(), 1, &a, 1, &rect);
}

void VulkanBackend::clear_depth_stencil(const Targets& targets, const RasterState& raster, bool clear_depth,
                                        float depth, uint8_t stencil_mask, uint8_t stencil) {
    use(Use::graphics);
    if (!begin_pass(targets))
        return;
    VkClearAttachment a{};
    const VkImageAspectFlags aspect = aspects(targets.depth.texture.format);
    if (clear_depth)
        a.aspectMask |= aspect & VK_IMAGE_ASPECT_DEPTH_BIT;
    if (stencil_mask)
        a.aspectMask |= aspect & VK_IMAGE_ASPECT_STENCIL_BIT;
    if ((a.aspectMask & VK_IMAGE_ASPECT_STENCIL_BIT) && stencil_mask != 0xff)
        report(Report::unsupported, "stencil clear under mask 0x%x", stencil_mask);
    a.clearValue.depthStencil = {depth >= 0 && depth <= 1 ? depth : depth > 1 ? 1.0f : 0.0f, stencil};
    const VkClearRect rect{clear_rect(raster), 0, pass_layers_};
    if (a.aspectMask && rect.rect.extent.width && rect.rect.extent.height)
        vkCmdClearAttachments(device_->commands(), 1, &a, 1, &rect);
}

void VulkanBackend::copy_buffer(uint64_t source, uint64_t destination, uint64_t size) {
    use(Use::transfer);
    PoolMemory::Place from, to;
    if (!memory_.find(source, size, from) || !memory_.find(destination, size, to))
        return;
    if (from.buffer == to.buffer && source < destination + size && destination < source + size) {
        report(Report::unsupported, "copy of overlapping ranges");
        return;
    }
    const VkBufferCopy copy{from.offset, to.offset, size};
    vkCmdCopyBuffer(device_->commands(), from.buffer, to.buffer, 1, &copy);
    memory_.note_write(destination, size);
}

void VulkanBackend::fill_buffer(uint64_t address, uint64_t size, uint32_t value) {
    use(Use::transfer);
    PoolMemory::Place to;
    if (!memory_.find(address, size, to))
        return;
    if (to.offset % 4) {
        report(Report::bad_argument, "buffer clear at 0x%llx", static_cast<unsigned long long>(address));
        return;
    }
    vkCmdFillBuffer(device_->commands(), to.buffer, to.offset, size / 4 * 4, value);
    memory_.note_write(address, size);
}

void VulkanBackend::update_buffer(uint64_t address, const uint8_t* data, uint32_t size) {
    use(Use::transfer);
    PoolMemory::Place to;
    const Piece p = device_->piece(size, 16);
    if (!p.buffer || !memory_.find(address, size, to))
        return;
    std::memcpy(p.map, data, size);
    const VkBufferCopy copy{p.offset, to.offset, size};
    vkCmdCopyBuffer(device_->commands(), p.buffer, to.buffer, 1, &copy);
    memory_.note_write(address, size);
}

// One level of a bound texture and a region of it as Vulkan's words. False (reported) if the region is not in
// it.
bool subresource(const Image& image, const nvn::BoundTexture& bound, const NVNcopyRegion& r,
                 VkImageSubresourceLayers& sub, VkOffset3D& offset, VkExtent3D& extent) {
    const nvn::ResolvedView v = nvn::resolve_view(bound);
    const nvn::TextureDesc& t = image.texture;
    const uint32_t w = std::max(1u, t.width >> v.base_level);
    const uint32_t h = image.type == VK_IMAGE_TYPE_1D ? 1 : std::max(1u, t.height >> v.base_level);
    const uint32_t d = image.type == VK_IMAGE_TYPE_3D ? std::max(1u, t.depth >> v.base_level) : 1;
    // A 1D array's layers are y; other arrays' are z.
    const bool rows = t.target == NVN_TEXTURE_TARGET_1D_ARRAY;
    const bool volume = image.type == VK_IMAGE_TYPE_3D;
    const int64_t first = volume ? 0
                          : rows ? r.yoffset
                                 : r.zoffset,
                  layers = volume ? 1
                           : rows ? r.height
                                  : r.depth;
    offset = {r.xoffset, rows ? 0 : r.yoffset, volume ? r.zoffset : 0};
    const int64_t ew = r.width, eh = rows ? 1 : r.height, ed = volume ? r.depth : 1;
    const VkImageAspectFlags aspect = aspects(t.format);
    if (r.xoffset < 0 || r.yoffset < 0 || r.zoffset < 0 || ew <= 0 || eh <= 0 || ed <= 0 || layers <= 0 ||
        offset.x + ew > w || offset.y + eh > h || offset.z + ed > d ||
        v.base_layer + first + layers > image.layers || (aspect & (aspect - 1))) {
        report(Report::bad_argument, "copy region %d,%d,%d %dx%dx%d", r.xoffset, r.yoffset, r.zoffset,
               r.width, r.height, r.depth);
        return false;
    }
    extent = {static_cast<uint32_t>(ew), static_cast<uint32_t>(eh), static_cast<uint32_t>(ed)};
    sub = {aspect, v.base_level, v.base_layer + static_cast<uint32_t>(first), static_cast<uint32_t>(layers)};
    return true;
}

void VulkanBackend::copy_buffer_texture(const BufferTextureCopy& copy) {
    use(Use::transfer);
    Image* image = textures_.find(copy.texture.texture);
    if (!image)
        return;
    const nvn::FormatInfo f = nvn::format_info(copy.texture.texture.format);
    VkBufferImageCopy region{};
    if (copy.texture.texture.samples > 1 ||
        !subresource(*image, copy.texture, copy.region, region.imageSubresource, region.imageOffset,
                     region.imageExtent))
        return;
    const uint32_t columns = (region.imageExtent.width + f.block_width - 1) / f.block_width;
    const uint32_t rows = (region.imageExtent.height + f.block_height - 1) / f.block_height;
    const uint64_t row =
        copy.row_stride ? static_cast<uint64_t>(copy.row_stride) : uint64_t{columns} * f.bytes;
    const uint64_t slice = copy.image_stride ? static_cast<uint64_t>(copy.image_stride) : row * rows;
    const uint32_t slices = std::max(region.imageExtent.depth, region.imageSubresource.layerCount);
    const uint64_t size = slice * (slices - 1) + row * (rows - 1) + uint64_t{columns} * f.bytes;
    PoolMemory::Place place;
    if (row > (uint64_t{1} << 31) || row % f.bytes || slice % row || row < uint64_t{columns} * f.bytes ||
        slice / row < rows) {
        report(Report::unsupported, "copy strides %lld, %lld", static_cast<long long>(copy.row_stride),
               static_cast<long long>(copy.image_stride));
        return;
    }
    if (!Host::get().pool_at(copy.buffer, size) || !memory_.find(copy.buffer, size, place)) {
        report(Report::bad_address, "copy buffer at 0x%llx", static_cast<unsigned long long>(copy.buffer));
        return;
    }
    if (place.offset % f.bytes || place.offset % 4) {
        report(Report::unsupported, "copy buffer at 0x%llx is not aligned",
               static_cast<unsigned long long>(copy.buffer));
        return;
    }
    region.bufferOffset = place.offset;
    region.bufferRowLength = static_cast<uint32_t>(row / f.bytes) * f.block_width;
    region.bufferImageHeight = static_cast<uint32_t>(slice / row) * f.block_height;
    device_->full_barrier();
    if (copy.to_buffer) {
        vkCmdCopyImageToBuffer(device_->commands(), image->image, VK_IMAGE_LAYOUT_GENERAL, place.buffer, 1,
                               &region);
        memory_.note_write(copy.buffer, size);
    } else {
        vkCmdCopyBufferToImage(device_->commands(), place.buffer, image->image, VK_IMAGE_LAYOUT_GENERAL, 1,
                               &region);
        image->gpu_written = true;
    }
}

void VulkanBackend::copy_texture(const TextureCopy& copy) {
    use(Use::transfer);
    Image* from = textures_.find(copy.source.texture);
    Image* to = textures_.find(copy.destination.texture);
    VkImageSubresourceLayers a, b;
    VkOffset3D at_a, at_b;
    VkExtent3D size_a, size_b;
    if (!from || !to || !subresource(*from, copy.source, copy.source_region, a, at_a, size_a) ||
        !subresource(*to, copy.destination, copy.destination_region, b, at_b, size_b))
        return;
    device_->full_barrier();
    to->gpu_written = true;
    const bool equal = size_a.width == size_b.width && size_a.height == size_b.height &&
                       size_a.depth == size_b.depth && a.layerCount == b.layerCount;
    constexpr uint32_t kMirror =
        NVN_COPY_FLAGS_MIRROR_X_BIT | NVN_COPY_FLAGS_MIRROR_Y_BIT | NVN_COPY_FLAGS_MIRROR_Z_BIT;
    if (equal && from->format == to->format && !(copy.flags & kMirror)) {
        const VkImageCopy region{a, at_a, b, at_b, size_a};
        vkCmdCopyImage(device_->commands(), from->image, VK_IMAGE_LAYOUT_GENERAL, to->image,
                       VK_IMAGE_LAYOUT_GENERAL, 1, &region);
        return;
    }
    VkFormatProperties fa, fb;
    vkGetPhysicalDeviceFormatProperties(device_->physical(), from->format, &fa);
    vkGetPhysicalDeviceFormatProperties(device_->physical(), to->format, &fb);
    if (!(fa.optimalTilingFeatures & VK_FORMAT_FEATURE_BLIT_SRC_BIT) ||
        !(fb.optimalTilingFeatures & VK_FORMAT_FEATURE_BLIT_DST_BIT) ||
        a.aspectMask != VK_IMAGE_ASPECT_COLOR_BIT || a.layerCount != b.layerCount) {
        report(Report::unsupported, "scaled or converting copy from %s to %s",
               nvn::format_name(copy.source.texture.format),
               nvn::format_name(copy.destination.texture.format));
        return;
    }
    const auto far_corner = [](VkOffset3D o, VkExtent3D e) {
        return VkOffset3D{o.x + static_cast<int32_t>(e.width), o.y + static_cast<int32_t>(e.height),
                          o.z + static_cast<int32_t>(e.depth)};
    };
    VkImageBlit blit{a, {at_a, far_corner(at_a, size_a)}, b, {at_b, far_corner(at_b, size_b)}};
    if (copy.flags & NVN_COPY_FLAGS_MIRROR_X_BIT)
        std::swap(blit.dstOffsets[0].x, blit.dstOffsets[1].x);
    if (copy.flags & NVN_COPY_FLAGS_MIRROR_Y_BIT)
        std::swap(blit.dstOffsets[0].y, blit.dstOffsets[1].y);
    if (copy.flags & NVN_COPY_FLAGS_MIRROR_Z_BIT)
        std::swap(blit.dstOffsets[0].z, blit.dstOffsets[1].z);
    vkCmdBlitImage(device_->commands(), from->image, VK_IMAGE_LAYOUT_GENERAL, to->image,
                   VK_IMAGE_LAYOUT_GENERAL, 1, &blit,
                   copy.flags & NVN_COPY_FLAGS_LINEAR_FILTER_BIT ? VK_FILTER_LINEAR : VK_FILTER_NEAREST);
}

void VulkanBackend::barrier(uint32_t) {
    if (device_->idle())
        return;
    end_pass();
    device_->full_barrier();
    used_since_barrier_ = Use::none;
}

} // namespace

Result<std::unique_ptr<VulkanBackendBase>> create_vulkan_backend(const VulkanOptions& options) {
    auto device = vulkan::Device::create(options.device, options.validation);
    if (!device)
        return device.error();
    auto backend = std::make_unique<VulkanBackend>(std::move(*device), options.import_memory);
    if (!backend->init())
        return Error{"no memory for the Vulkan backend"};
    return std::unique_ptr<VulkanBackendBase>(std::move(backend));
}

} // namespace dmsh::replay
