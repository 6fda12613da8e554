// Draws and dispatches of the Vulkan backend: direct, indirect, captured, converted, mesh tasks.
#include "runtime/abi/driver_segments.h"
#include "runtime/nvn/states.h"
#include "runtime/replay/vulkan/backend_impl.h"
#include "runtime/replay/vulkan/formats.h"
#include <algorithm>
#include <cstring>

namespace dmsh::replay::vulkan {

using nvn::Host;
using nvn::Report;
using nvn::report;

namespace {

constexpr uint32_t kRestart = 0xffffffffu; // of converted indices

uint32_t widest(NVNindexType type) {
    return type == NVN_INDEX_TYPE_UNSIGNED_INT     ? ~0u
           : type == NVN_INDEX_TYPE_UNSIGNED_SHORT ? 0xffffu
                                                   : 0xffu;
}

// Vertices of one primitive of a list; 0 for strips, fans and loops.
uint32_t list_size(const DrawCall& call) {
    switch (call.key->primitive) {
    case NVN_DRAW_PRIMITIVE_POINTS: return 1;
    case NVN_DRAW_PRIMITIVE_LINES: return 2;
    case NVN_DRAW_PRIMITIVE_TRIANGLES: return 3;
    case NVN_DRAW_PRIMITIVE_QUADS:
    case NVN_DRAW_PRIMITIVE_LINES_ADJACENCY: return 4;
    case NVN_DRAW_PRIMITIVE_TRIANGLES_ADJACENCY: return 6;
    case NVN_DRAW_PRIMITIVE_PATCHES: return std::max(1u, call.raster->patch_size);
    default: return 0;
    }
}

// The restart index is compared after widening: one that the type cannot hold never matches.
bool restarts(const DrawCall& call) {
    return call.indexed && call.raster->primitive_restart &&
           call.raster->restart_index <= widest(call.index_type);
}

uint32_t record_bytes(const DrawCall& call) {
    return call.indexed ? sizeof(VkDrawIndexedIndirectCommand) : sizeof(VkDrawIndirectCommand);
}

// Offset of the base instance in a record.
uint32_t base_instance_at(const DrawCall& call) {
    return call.indexed ? offsetof(VkDrawIndexedIndirectCommand, firstInstance)
                        : offsetof(VkDrawIndirectCommand, firstInstance);
}

bool reads_driver_word(const BoundWork& work, uint32_t offset) {
    return std::any_of(work.resources->begin(), work.resources->end(), [&](const Resource& r) {
        return r.kind == ResourceKind::host_uniform && r.reflection->kind == BindingKind::driver &&
               r.size > offset;
    });
}

} // namespace

void VulkanBackend::bind_vertex_buffers(const DrawCall& call) {
    const VkCommandBuffer c = device_->commands();
    for (uint32_t s = 0; s <= kMaxStreams; ++s) {
        VkBuffer buffer = zeros_.buffer;
        VkDeviceSize offset = 0;
        if (s < kMaxStreams) {
            bool used = false;
            for (uint32_t i = 0; i < kMaxAttribs; ++i)
                used |= (call.key->attrib_mask >> i & 1) && nvn::attrib::Stream::get(call.key->attribs[i]) == s;
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
}

bool VulkanBackend::bind_indices(const DrawCall& call) {
    PoolMemory::Place place;
    const uint64_t bytes =
        call.indirect.records ? uint64_t{1} << call.index_type : uint64_t{call.count} << call.index_type;
    if (!memory_.find(call.indices, bytes, place))
        return false;
    vkCmdBindIndexBuffer(device_->commands(), place.buffer, place.offset,
                         call.index_type == NVN_INDEX_TYPE_UNSIGNED_INT     ? VK_INDEX_TYPE_UINT32
                         : call.index_type == NVN_INDEX_TYPE_UNSIGNED_SHORT ? VK_INDEX_TYPE_UINT16
                                                                            : VK_INDEX_TYPE_UINT8_EXT);
    return true;
}

bool VulkanBackend::needs_conversion(const DrawCall& call) const {
    if (call.mesh || call.feedback_counter)
        return false;
    const uint32_t primitive = call.key->primitive;
    if (primitive == NVN_DRAW_PRIMITIVE_QUADS || primitive == NVN_DRAW_PRIMITIVE_LINE_LOOP)
        return true;
    const Capabilities& can = device_->can();
    PoolMemory::Place place;
    if (call.indexed) {
        if (call.index_type == NVN_INDEX_TYPE_UNSIGNED_BYTE && !can.byte_indices)
            return true;
        if (restarts(call) &&
            (call.raster->restart_index != widest(call.index_type) ||
             (list_size(call) &&
              !(primitive == NVN_DRAW_PRIMITIVE_PATCHES ? can.patch_restart : can.list_restart))))
            return true;
        if (memory_.find(call.indices, 1, place) && place.offset % (1u << call.index_type))
            return true;
    }
    if (!call.indirect.records)
        return false;
    return (memory_.find(call.indirect.records, 1, place) && place.offset % 4) ||
           !can.indirect_first_instance || (call.indirect.count && !can.indirect_count) ||
           (call.indirect.max_draws > 1 &&
            reads_driver_word(call.work, guest_abi(GuestAbiId::nvn).base_instance));
}

bool VulkanBackend::begin_draw(const DrawCall& call, const Pipeline& pipeline, bool restart) {
    if (!begin_pass(*call.targets) || !bind(call.work, pipeline, VK_PIPELINE_BIND_POINT_GRAPHICS))
        return false;
    set_dynamic(call);
    if (!call.mesh) {
        vkCmdSetPrimitiveRestartEnable(device_->commands(), restart);
        bind_vertex_buffers(call);
    }
    return begin_feedback(pipeline);
}

void VulkanBackend::draw(const DrawCall& call) {
    if (render_off())
        return;
    use(Use::graphics);
    patched_.clear();
    prepare(call.work);
    const Pipeline* pipeline = pipelines_.graphics(*call.key, call.work, pool_shape(call.work));
    if (!pipeline)
        return;
    if (needs_conversion(call)) {
        draw_converted(call, *pipeline);
    } else {
        if (call.indirect.records && !call.mesh && call.indirect.max_draws == 1)
            patch_drivers(call.work, guest_abi(GuestAbiId::nvn).base_instance,
                          call.indirect.records + base_instance_at(call), 4);
        Piece mesh;
        if ((call.mesh && !mesh_parameters(call, mesh)) || !begin_draw(call, *pipeline, restarts(call)))
            return;
        const VkCommandBuffer c = device_->commands();
        if (call.mesh)
            draw_mesh(call, mesh);
        else if (call.feedback_counter)
            draw_captured(call);
        else if (call.indexed && !bind_indices(call))
            return;
        else if (call.indirect.records)
            draw_indirect(call);
        else if (call.indexed)
            vkCmdDrawIndexed(c, call.count, call.instance_count, 0, call.base_vertex, call.base_instance);
        else
            vkCmdDraw(c, call.count, call.instance_count, call.first, call.base_instance);
    }
    if (feedback_open_)
        end_pass(); // the next draw continues behind this one's bytes
}

void VulkanBackend::draw_indirect(const DrawCall& call) {
    const VkCommandBuffer c = device_->commands();
    const Indirect& in = call.indirect;
    PoolMemory::Place at, count;
    if (!memory_.find(in.records, uint64_t{in.stride} * (in.max_draws - 1) + record_bytes(call), at) ||
        (in.count && !memory_.find(in.count, 4, count)))
        return;
    if (in.count) {
        (call.indexed ? vkCmdDrawIndexedIndirectCount : vkCmdDrawIndirectCount)(
            c, at.buffer, at.offset, count.buffer, count.offset, in.max_draws, in.stride);
        return;
    }
    const auto draw = call.indexed ? vkCmdDrawIndexedIndirect : vkCmdDrawIndirect;
    if (device_->can().multi_draw || in.max_draws == 1)
        draw(c, at.buffer, at.offset, in.max_draws, in.stride);
    else
        for (uint32_t i = 0; i < in.max_draws; ++i)
            draw(c, at.buffer, at.offset + uint64_t{i} * in.stride, 1, in.stride);
}

// Fills indices_ with the 32-bit indices that draw vertices [first, first + count) of the call.
void VulkanBackend::convert_indices(const DrawCall& call, uint32_t first, uint32_t count) {
    indices_.clear();
    bytes_.clear();
    if (call.indexed) {
        const uint64_t from = call.indices + (uint64_t{first} << call.index_type);
        const uint64_t bytes = uint64_t{count} << call.index_type;
        if (bytes > 0xffffffffu || !Host::get().pool_at(from, bytes)) {
            report(Report::bad_address, "index buffer of %llu bytes at 0x%llx",
                   static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(from));
            return;
        }
        bytes_.resize(bytes);
        read_memory(from, bytes_.data(), static_cast<uint32_t>(bytes));
    }
    const auto index = [&](uint32_t i) -> uint32_t {
        if (!call.indexed)
            return first + i;
        uint32_t v = 0;
        std::memcpy(&v, bytes_.data() + (uint64_t{i} << call.index_type), size_t{1} << call.index_type);
        return v;
    };
    const bool restart = restarts(call);
    const uint32_t each = list_size(call);
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i;
        while (end < count && !(restart && index(end) == call.raster->restart_index))
            ++end;
        if (call.key->primitive == NVN_DRAW_PRIMITIVE_QUADS) {
            constexpr uint32_t kCorners[6] = {0, 1, 2, 0, 2, 3};
            for (; i + 4 <= end; i += 4)
                for (const uint32_t k : kCorners)
                    indices_.push_back(index(i + k));
        } else if (each) {
            for (const uint32_t whole = i + (end - i) / each * each; i < whole; ++i)
                indices_.push_back(index(i));
        } else {
            const uint32_t start = i;
            for (; i < end; ++i)
                indices_.push_back(index(i));
            if (call.key->primitive == NVN_DRAW_PRIMITIVE_LINE_LOOP && end - start > 1)
                indices_.push_back(index(start));
            indices_.push_back(kRestart);
        }
        i = end + 1;
    }
    if (!each && !indices_.empty())
        indices_.pop_back(); // the last restart
}

void VulkanBackend::draw_converted(const DrawCall& call, const Pipeline& pipeline) {
    uint32_t draws = call.indirect.records ? call.indirect.max_draws : 1;
    if (call.indirect.count) {
        uint32_t count = 0;
        read_memory(call.indirect.count, &count, 4);
        draws = std::min(draws, count);
    }
    DrawCall one = call;
    one.indirect = {};
    BoundWork& work = one.work;
    for (uint32_t i = 0; i < draws; ++i) {
        if (call.indirect.records) {
            VkDrawIndexedIndirectCommand r{};
            read_memory(call.indirect.records + uint64_t{i} * call.indirect.stride, &r, record_bytes(call));
            if (!call.indexed) { // four words: count, instances, first, base instance
                r.firstInstance = static_cast<uint32_t>(r.vertexOffset);
                r.vertexOffset = 0;
            }
            one.count = r.indexCount;
            one.instance_count = r.instanceCount;
            one.first = r.firstIndex;
            one.base_vertex = r.vertexOffset;
            one.base_instance = r.firstInstance;
            for (const Resource& resource : *work.resources) // driver segments of this very draw
                if (resource.kind == ResourceKind::host_uniform &&
                    resource.reflection->kind == BindingKind::driver &&
                    resource.size >= guest_abi(GuestAbiId::nvn).base_instance + 4)
                    std::memcpy(const_cast<uint8_t*>(resource.data) +
                                    guest_abi(GuestAbiId::nvn).base_instance,
                                &one.base_instance, 4);
        }
        if (one.count == 0 || one.instance_count == 0)
            continue;
        convert_indices(one, one.first, one.count); // may wait for the GPU, so before anything is bound
        if (indices_.empty())
            continue;
        prepare(work);
        if (!begin_draw(one, pipeline, list_size(one) == 0))
            return;
        const Piece p = device_->piece(indices_.size() * 4, 4);
        if (!p.buffer)
            return;
        std::memcpy(p.map, indices_.data(), indices_.size() * 4);
        vkCmdBindIndexBuffer(device_->commands(), p.buffer, p.offset, VK_INDEX_TYPE_UINT32);
        vkCmdDrawIndexed(device_->commands(), static_cast<uint32_t>(indices_.size()), one.instance_count, 0,
                         one.indexed ? one.base_vertex : 0, one.base_instance);
        if (feedback_open_)
            end_pass();
    }
}

// As many vertices as a transform feedback left bytes for.
void VulkanBackend::draw_captured(const DrawCall& call) {
    PoolMemory::Place place;
    if (!device_->can().feedback || feedback_stride_ == 0 || !memory_.find(call.feedback_counter, 4, place)) {
        report(Report::unsupported, "draw of a transform feedback that captured nothing");
        return;
    }
    device_->ext().draw_byte_count(device_->commands(), 1, 0, place.buffer, place.offset, 0,
                                   feedback_stride_);
}

void VulkanBackend::draw_mesh(const DrawCall& call, const Piece& parameters) {
    if (parameters.buffer)
        device_->ext().draw_mesh_indirect(device_->commands(), parameters.buffer, parameters.offset, 1,
                                          sizeof(VkDrawMeshTasksIndirectCommandEXT));
    else
        device_->ext().draw_mesh(device_->commands(), call.count, call.mesh_y, call.mesh_z);
}

// Vulkan counts mesh tasks in three directions, NVN's record is {count, first}. False: nothing to draw.
bool VulkanBackend::mesh_parameters(const DrawCall& call, Piece& out) {
    uint32_t first = call.first;
    PoolMemory::Place place;
    if (call.indirect.records && memory_.find(call.indirect.records, 8, place))
        memory_.read(call.indirect.records + 4, &first, 4); // what the GPU writes in this batch is not seen
    if (first) {
        report(Report::unsupported, "mesh tasks from %u on", first);
        return false;
    }
    if (!call.indirect.records)
        return true;
    out = device_->piece(sizeof(VkDrawMeshTasksIndirectCommandEXT), 16);
    if (!out.buffer)
        return false;
    const VkDrawMeshTasksIndirectCommandEXT one{0, 1, 1};
    std::memcpy(out.map, &one, sizeof one);
    end_pass();
    device_->full_barrier();
    const VkBufferCopy copy{place.offset, out.offset, 4};
    vkCmdCopyBuffer(device_->commands(), place.buffer, out.buffer, 1, &copy);
    return true;
}

bool VulkanBackend::begin_feedback(const Pipeline& pipeline) {
    if (!feedback_active_)
        return true;
    if (pipeline.feedback_stride == 0 || !device_->can().feedback) {
        report(Report::unsupported, "transform feedback of a shader that declares no captured outputs");
        return true; // the picture is drawn without it
    }
    VkBuffer buffers[kFeedbackBuffers];
    VkDeviceSize offsets[kFeedbackBuffers], sizes[kFeedbackBuffers], counters[kFeedbackBuffers];
    VkBuffer counter_buffers[kFeedbackBuffers];
    uint32_t count = 0;
    for (; count < kFeedbackBuffers && feedback_buffers_[count].address; ++count) {
        const Range& r = feedback_buffers_[count];
        PoolMemory::Place place;
        if (!memory_.find(r.address, r.size, place) || place.offset % 4)
            break;
        buffers[count] = place.buffer;
        offsets[count] = place.offset;
        sizes[count] = r.size;
        counter_buffers[count] = feedback_counters_.buffer;
        counters[count] = uint64_t{count} * 4;
        memory_.note_write(r.address, r.size);
    }
    if (count == 0 || (pipeline.feedback_buffers >> count) != 0) {
        report(Report::bad_address,
               "transform feedback without the buffers that the shader writes (mask 0x%x)",
               pipeline.feedback_buffers);
        return true;
    }
    const VkCommandBuffer c = device_->commands();
    device_->ext().bind_feedback(c, 0, count, buffers, offsets, sizes);
    device_->ext().begin_feedback(c, 0, count, counter_buffers, counters);
    feedback_stride_ = pipeline.feedback_stride;
    feedback_open_ = true;
    return true;
}

void VulkanBackend::end_feedback() {
    if (!feedback_open_)
        return;
    VkBuffer buffers[kFeedbackBuffers];
    VkDeviceSize offsets[kFeedbackBuffers];
    uint32_t count = 0;
    for (; count < kFeedbackBuffers && feedback_buffers_[count].address; ++count) {
        buffers[count] = feedback_counters_.buffer;
        offsets[count] = uint64_t{count} * 4;
    }
    device_->ext().end_feedback(device_->commands(), 0, count, buffers, offsets);
    feedback_open_ = false;
}

void VulkanBackend::feedback(nvn::Feedback action, const std::array<Range, kFeedbackBuffers>& buffers,
                             uint64_t counter) {
    end_pass();
    if (!device_->can().feedback) {
        report(Report::unsupported, "transform feedback on this device");
        return;
    }
    const VkCommandBuffer c = device_->commands();
    PoolMemory::Place place;
    const bool has_word = counter && memory_.find(counter, 4, place);
    device_->full_barrier();
    if (action == nvn::Feedback::begin) {
        vkCmdFillBuffer(c, feedback_counters_.buffer, 0, 16, 0);
    } else if (action == nvn::Feedback::resume && has_word) {
        const VkBufferCopy copy{place.offset, 0, 4};
        vkCmdCopyBuffer(c, place.buffer, feedback_counters_.buffer, 1, &copy);
    } else if (action != nvn::Feedback::resume && has_word) {
        const VkBufferCopy copy{0, place.offset, 4};
        vkCmdCopyBuffer(c, feedback_counters_.buffer, place.buffer, 1, &copy);
        memory_.note_write(counter, 4);
    }
    device_->full_barrier();
    feedback_active_ = action == nvn::Feedback::begin || action == nvn::Feedback::resume;
    if (feedback_active_)
        feedback_buffers_ = buffers;
}

void VulkanBackend::dispatch(const DispatchCall& call) {
    if (render_off())
        return;
    use(Use::compute);
    patched_.clear();
    prepare(call.work);
    const auto& limits = device_->properties().limits;
    for (int i = 0; i < 3; ++i)
        if (!call.indirect && call.groups[i] > limits.maxComputeWorkGroupCount[i]) {
            report(Report::bad_argument, "dispatch of %u groups", call.groups[i]);
            return;
        }
    PoolMemory::Place place;
    if (call.indirect) {
        if (!memory_.find(call.indirect, 12, place))
            return;
        patch_drivers(call.work, guest_abi(GuestAbiId::nvn).group_count, call.indirect, 12);
    }
    const Pipeline* pipeline = pipelines_.compute(call.work, pool_shape(call.work));
    if (!pipeline)
        return;
    device_->full_barrier();
    begin_work(true);
    if (bind(call.work, *pipeline, VK_PIPELINE_BIND_POINT_COMPUTE)) {
        if (call.indirect)
            vkCmdDispatchIndirect(device_->commands(), place.buffer, place.offset);
        else
            vkCmdDispatch(device_->commands(), call.groups[0], call.groups[1], call.groups[2]);
    }
    end_work();
}

} // namespace dmsh::replay::vulkan
