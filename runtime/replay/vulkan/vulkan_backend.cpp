// Implements the Vulkan backend: passes, bindings, counters and conditions around them.
#include "runtime/nvn/states.h"
#include "runtime/replay/vulkan/backend_impl.h"
#include "runtime/replay/vulkan/formats.h"
#include "runtime/replay/vulkan/module_check.h"
#include <algorithm>
#include <cstring>

namespace dmsh::replay::vulkan {

namespace {
constexpr uint64_t kZeroBytes = 65536; // read by attributes without a buffer; a uniform buffer's size
} // namespace

using nvn::Host;
using nvn::Report;
using nvn::report;

VulkanBackend::VulkanBackend(std::unique_ptr<Device> device, const VulkanOptions& options)
    : device_(std::move(device)), memory_(*device_, options.import_memory),
      textures_(*device_, options.software_blocks), id_pools_(*device_, textures_),
      pipelines_(*device_, options.stand_ins), raw_(*device_), counters_(*device_, memory_), clears_(*device_) {}

VulkanBackend::~VulkanBackend() {
    VulkanBackend::wait(VulkanBackend::flush(), ~uint64_t{0});
    for (auto& [key, view] : texel_views_)
        vkDestroyBufferView(device_->handle(), view, nullptr);
    device_->destroy(zeros_);
    device_->destroy(feedback_counters_);
}

bool VulkanBackend::init() {
    if (!device_->make_buffer(kZeroBytes, zeros_) || !device_->make_buffer(16, feedback_counters_) ||
        !counters_.init())
        return false;
    std::memset(zeros_.map, 0, kZeroBytes);
    std::memset(feedback_counters_.map, 0, 16);
    return true;
}

VulkanInfo VulkanBackend::info() const {
    return {device_->properties().deviceName,
            memory_.imports(),
            device_->can().depth_minus_one,
            pipelines_.made(),
            pipelines_.misses(),
            pipelines_.left_out(),
            device_->validated(),
            device_->validation_errors(),
            device_->validation_warnings()};
}

void VulkanBackend::pool_removed(const nvn::PoolInfo& pool) {
    textures_.forget(reinterpret_cast<uint64_t>(pool.memory), pool.size);
    std::erase_if(texel_views_, [&](const auto& v) {
        const bool gone = v.first.pool == pool.serial;
        if (gone)
            vkDestroyBufferView(device_->handle(), v.second, nullptr);
        return gone;
    });
    memory_.remove(pool);
}

uint64_t VulkanBackend::flush() {
    end_pass();
    uint64_t fence;
    if (!device_->idle()) {
        counters_.collect();
        device_->full_barrier();
        raw_.commit(*this, device_->next_fence());
        memory_.before_submit();
        fence = device_->flush();
        memory_.after_submit(fence, [this](const PoolMemory::Visit& each) { raw_.written(each); });
        used_since_barrier_ = Use::none;
        predicate_ = {}; // its memory is the batch's
    } else {
        fence = device_->flush();
    }
    textures_.next_batch();
    return fence;
}

bool VulkanBackend::wait(uint64_t fence, uint64_t timeout_ns) {
    if (!device_->wait(fence, timeout_ns))
        return false;
    memory_.settle(fence);
    return true;
}

void VulkanBackend::store_texture(const nvn::TextureDesc& texture) {
    end_pass();
    flush();
    textures_.store(texture);
}

bool VulkanBackend::read_memory(uint64_t address, void* out, uint32_t bytes) {
    if (!Host::get().pool_at(address, bytes))
        return false;
    if (memory_.read(address, out, bytes))
        return true;
    wait(flush(), ~uint64_t{0});
    std::memcpy(out, reinterpret_cast<const void*>(address), bytes);
    return true;
}

void VulkanBackend::use(Use next) {
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

void VulkanBackend::end_pass() {
    if (!in_pass_)
        return;
    end_feedback();
    vkCmdEndRendering(device_->commands());
    in_pass_ = false;
    end_work();
}

void VulkanBackend::begin_work(bool dispatch) {
    if (has_condition() && !predicate_.buffer) // the batch that held it is over
        predicate_ = counters_.predicate(render_address_, render_mode_ == nvn::RenderEnable::if_equal);
    counters_.begin_work(dispatch);
    if (has_condition() && predicate_.buffer) {
        VkConditionalRenderingBeginInfoEXT info{VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT};
        info.buffer = predicate_.buffer;
        info.offset = predicate_.offset;
        device_->ext().begin_conditional(device_->commands(), &info);
        conditional_open_ = true;
    }
}

void VulkanBackend::end_work() {
    if (conditional_open_)
        device_->ext().end_conditional(device_->commands());
    conditional_open_ = false;
    counters_.end_work();
}

void VulkanBackend::reset_counter(NVNcounterType counter) {
    end_pass();
    counters_.reset(counter);
}

void VulkanBackend::report_counter(NVNcounterType counter, uint64_t address) {
    end_pass();
    counters_.report(counter, address);
}

void VulkanBackend::report_value(uint32_t value, uint64_t address) {
    end_pass();
    counters_.report_value(value, address);
}

void VulkanBackend::render_enable(nvn::RenderEnable mode, uint64_t address) {
    end_pass();
    render_mode_ = mode;
    render_address_ = address;
    predicate_ = {};
    if (!has_condition())
        return;
    if (!device_->can().conditional) { // the CPU decides, behind a wait
        uint64_t values[4] = {};
        read_memory(address, values, sizeof values);
        const bool equal = values[0] == values[2];
        render_mode_ =
            equal == (mode == nvn::RenderEnable::if_equal) ? nvn::RenderEnable::on : nvn::RenderEnable::off;
    } else {
        predicate_ = counters_.predicate(address, mode == nvn::RenderEnable::if_equal);
    }
}

namespace {

bool same(const Targets& a, const Targets& b) {
    if (a.color_count != b.color_count || a.present != b.present)
        return false;
    for (uint32_t i = 0; i < kMaxColors; ++i)
        if (a.has_color(i) && std::memcmp(&a.colors[i], &b.colors[i], sizeof a.colors[i]) != 0)
            return false;
    return !a.has_depth() || std::memcmp(&a.depth, &b.depth, sizeof a.depth) == 0;
}

} // namespace

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
    begin_work(false);
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
        if (r.kind == ResourceKind::texture_pool && id_pools_.needs_work(r.id_pool)) {
            end_pass();
            id_pools_.prepare(r.id_pool);
        }
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

PoolShape VulkanBackend::pool_shape(const BoundWork& work) {
    bool samplers = false;
    for (const Resource& r : *work.resources) {
        if (r.kind == ResourceKind::texture_pool)
            return id_pools_.shape(r.id_pool);
        samplers |= r.kind == ResourceKind::sampler_pool;
    }
    return samplers ? id_pools_.shape(0) : PoolShape{};
}

// Memory of the batch with the bytes of a host uniform buffer: its own, or one that the GPU completes.
bool VulkanBackend::host_piece(const Resource& r, Piece& out) {
    for (const auto& [resource, piece] : patched_)
        if (resource == &r) {
            out = piece;
            return true;
        }
    const uint64_t size = std::max<uint64_t>((r.size + 15) & ~15u, 16);
    out = device_->piece(
        size, std::max<uint64_t>(device_->properties().limits.minUniformBufferOffsetAlignment, 16));
    if (!out.buffer)
        return false;
    std::memcpy(out.map, r.data, r.size);
    std::memset(out.map + r.size, 0, size - r.size);
    return true;
}

void VulkanBackend::patch_drivers(const BoundWork& work, uint32_t segment_offset, uint64_t from,
                                  uint32_t bytes) {
    PoolMemory::Place place;
    if (!memory_.find(from, bytes, place))
        return;
    for (const Resource& r : *work.resources) {
        if (r.kind != ResourceKind::host_uniform || r.reflection->kind != BindingKind::driver ||
            segment_offset + bytes > r.size)
            continue;
        Piece p;
        if (!host_piece(r, p))
            return;
        end_pass();
        device_->full_barrier();
        const VkBufferCopy copy{place.offset, p.offset + segment_offset, bytes};
        vkCmdCopyBuffer(device_->commands(), place.buffer, p.buffer, 1, &copy);
        device_->full_barrier();
        patched_.emplace_back(&r, p);
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
    if (r.kind == ResourceKind::texture_pool || r.kind == ResourceKind::sampler_pool)
        return true; // set 1
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
            Piece p;
            if (!host_piece(r, p))
                return false;
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
        if (r.kind == ResourceKind::pool_table || r.kind == ResourceKind::pool_write_log) {
            if (!raw_.bind(r, set, w.dstBinding, b))
                return false;
            if (r.kind == ResourceKind::pool_write_log)
                memory_.note_raw_writes();
        }
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
    const VkDescriptorSet set = device_->descriptor_set(pipeline.set_layout, pipeline.late);
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
    uint32_t textures = 0, samplers = 0;
    for (const Resource& r : *work.resources) {
        if (!write_resource(r, set))
            return false;
        if (r.kind == ResourceKind::texture_pool)
            textures = r.id_pool;
        if (r.kind == ResourceKind::sampler_pool)
            samplers = r.id_pool;
    }
    raw_.note(pool_tables());
    vkUpdateDescriptorSets(device_->handle(), static_cast<uint32_t>(writes_.size()), writes_.data(), 0,
                           nullptr);
    const VkDescriptorSet sets[2] = {set, pipeline.pools ? id_pools_.set(textures, samplers) : VK_NULL_HANDLE};
    if (pipeline.pools && !sets[1])
        return false;
    vkCmdBindDescriptorSets(device_->commands(), point, pipeline.layout, 0, pipeline.pools ? 2 : 1, sets, 0, nullptr);
    return true;
}

void VulkanBackend::barrier(uint32_t) {
    if (device_->idle())
        return;
    end_pass();
    device_->full_barrier();
    used_since_barrier_ = Use::none;
}

} // namespace dmsh::replay::vulkan

namespace dmsh::replay {

Result<std::unique_ptr<VulkanBackendBase>> create_vulkan_backend(const VulkanOptions& options) {
    auto device = vulkan::Device::create(options.device, options.validation);
    if (!device)
        return device.error();
    auto backend = std::make_unique<vulkan::VulkanBackend>(std::move(*device), options);
    if (!backend->init())
        return Error{"no memory for the Vulkan backend"};
    return std::unique_ptr<VulkanBackendBase>(std::move(backend));
}

} // namespace dmsh::replay
