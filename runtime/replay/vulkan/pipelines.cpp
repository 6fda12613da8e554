// Makes pipelines from keys.
#include "runtime/replay/vulkan/pipelines.h"
#include "runtime/abi/entry_points.h"
#include "runtime/abi/program_key.h"
#include "runtime/abi/stage_state.h"
#include "runtime/nvn/states.h"
#include "runtime/replay/vulkan/formats.h"
#include "runtime/replay/vulkan/module_check.h"
#define XXH_INLINE_ALL
#include <algorithm>
#include <cstring>
#include <xxhash.h>

namespace dmsh::replay::vulkan {

using nvn::Host;
using nvn::Report;
using nvn::report;

namespace {

VkShaderStageFlagBits stage_bit(Stage stage) {
    switch (stage) {
    case Stage::vertex: return VK_SHADER_STAGE_VERTEX_BIT;
    case Stage::fragment: return VK_SHADER_STAGE_FRAGMENT_BIT;
    case Stage::geometry: return VK_SHADER_STAGE_GEOMETRY_BIT;
    case Stage::tess_control: return VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT;
    case Stage::tess_evaluation: return VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
    case Stage::task: return VK_SHADER_STAGE_TASK_BIT_EXT;
    case Stage::mesh: return VK_SHADER_STAGE_MESH_BIT_EXT;
    default: return VK_SHADER_STAGE_COMPUTE_BIT;
    }
}

// VK_PRIMITIVE_TOPOLOGY_MAX_ENUM where Vulkan has no such primitive.
VkPrimitiveTopology topology(uint32_t primitive) {
    switch (primitive) {
    case NVN_DRAW_PRIMITIVE_POINTS: return VK_PRIMITIVE_TOPOLOGY_POINT_LIST;
    case NVN_DRAW_PRIMITIVE_LINES: return VK_PRIMITIVE_TOPOLOGY_LINE_LIST;
    case NVN_DRAW_PRIMITIVE_LINE_LOOP: // closed by an index more
    case NVN_DRAW_PRIMITIVE_LINE_STRIP: return VK_PRIMITIVE_TOPOLOGY_LINE_STRIP;
    case NVN_DRAW_PRIMITIVE_QUADS: // two triangles each by their indices
    case NVN_DRAW_PRIMITIVE_TRIANGLES: return VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    case NVN_DRAW_PRIMITIVE_TRIANGLE_STRIP:
    case NVN_DRAW_PRIMITIVE_QUAD_STRIP: return VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
    case NVN_DRAW_PRIMITIVE_TRIANGLE_FAN:
    case NVN_DRAW_PRIMITIVE_POLYGON: return VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN;
    case NVN_DRAW_PRIMITIVE_LINES_ADJACENCY: return VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY;
    case NVN_DRAW_PRIMITIVE_LINE_STRIP_ADJACENCY: return VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY;
    case NVN_DRAW_PRIMITIVE_TRIANGLES_ADJACENCY: return VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY;
    case NVN_DRAW_PRIMITIVE_TRIANGLE_STRIP_ADJACENCY:
        return VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY;
    case NVN_DRAW_PRIMITIVE_PATCHES: return VK_PRIMITIVE_TOPOLOGY_PATCH_LIST;
    default: return VK_PRIMITIVE_TOPOLOGY_MAX_ENUM;
    }
}

// Vertices of the primitive that a geometry shader is given.
uint32_t vertices_of(uint32_t primitive) {
    switch (primitive) {
    case NVN_DRAW_PRIMITIVE_POINTS: return 1;
    case NVN_DRAW_PRIMITIVE_LINES:
    case NVN_DRAW_PRIMITIVE_LINE_LOOP:
    case NVN_DRAW_PRIMITIVE_LINE_STRIP: return 2;
    case NVN_DRAW_PRIMITIVE_LINES_ADJACENCY:
    case NVN_DRAW_PRIMITIVE_LINE_STRIP_ADJACENCY: return 4;
    case NVN_DRAW_PRIMITIVE_TRIANGLES_ADJACENCY:
    case NVN_DRAW_PRIMITIVE_TRIANGLE_STRIP_ADJACENCY: return 6;
    default: return 3;
    }
}

VkBlendFactor factor(uint32_t nvn) {
    switch (nvn) {
    case NVN_BLEND_FUNC_ZERO: return VK_BLEND_FACTOR_ZERO;
    case NVN_BLEND_FUNC_SRC_COLOR: return VK_BLEND_FACTOR_SRC_COLOR;
    case NVN_BLEND_FUNC_ONE_MINUS_SRC_COLOR: return VK_BLEND_FACTOR_ONE_MINUS_SRC_COLOR;
    case NVN_BLEND_FUNC_SRC_ALPHA: return VK_BLEND_FACTOR_SRC_ALPHA;
    case NVN_BLEND_FUNC_ONE_MINUS_SRC_ALPHA: return VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA;
    case NVN_BLEND_FUNC_DST_ALPHA: return VK_BLEND_FACTOR_DST_ALPHA;
    case NVN_BLEND_FUNC_ONE_MINUS_DST_ALPHA: return VK_BLEND_FACTOR_ONE_MINUS_DST_ALPHA;
    case NVN_BLEND_FUNC_DST_COLOR: return VK_BLEND_FACTOR_DST_COLOR;
    case NVN_BLEND_FUNC_ONE_MINUS_DST_COLOR: return VK_BLEND_FACTOR_ONE_MINUS_DST_COLOR;
    case NVN_BLEND_FUNC_SRC_ALPHA_SATURATE: return VK_BLEND_FACTOR_SRC_ALPHA_SATURATE;
    case NVN_BLEND_FUNC_SRC1_COLOR: return VK_BLEND_FACTOR_SRC1_COLOR;
    case NVN_BLEND_FUNC_ONE_MINUS_SRC1_COLOR: return VK_BLEND_FACTOR_ONE_MINUS_SRC1_COLOR;
    case NVN_BLEND_FUNC_SRC1_ALPHA: return VK_BLEND_FACTOR_SRC1_ALPHA;
    case NVN_BLEND_FUNC_ONE_MINUS_SRC1_ALPHA: return VK_BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA;
    case NVN_BLEND_FUNC_CONSTANT_COLOR: return VK_BLEND_FACTOR_CONSTANT_COLOR;
    case NVN_BLEND_FUNC_ONE_MINUS_CONSTANT_COLOR: return VK_BLEND_FACTOR_ONE_MINUS_CONSTANT_COLOR;
    case NVN_BLEND_FUNC_CONSTANT_ALPHA: return VK_BLEND_FACTOR_CONSTANT_ALPHA;
    case NVN_BLEND_FUNC_ONE_MINUS_CONSTANT_ALPHA: return VK_BLEND_FACTOR_ONE_MINUS_CONSTANT_ALPHA;
    default: return VK_BLEND_FACTOR_ONE;
    }
}

VkBlendOp equation(uint32_t nvn) {
    switch (nvn) {
    case NVN_BLEND_EQUATION_SUB: return VK_BLEND_OP_SUBTRACT;
    case NVN_BLEND_EQUATION_REVERSE_SUB: return VK_BLEND_OP_REVERSE_SUBTRACT;
    case NVN_BLEND_EQUATION_MIN: return VK_BLEND_OP_MIN;
    case NVN_BLEND_EQUATION_MAX: return VK_BLEND_OP_MAX;
    default: return VK_BLEND_OP_ADD;
    }
}

const char* entry_name(const nvn::Shader& shader) {
    return shader.reflection.entry.empty() ? kEntryMain : shader.reflection.entry.c_str();
}

bool is_pool(const Binding& b) {
    return b.kind == BindingKind::texture_pool || b.kind == BindingKind::sampler_pool;
}

// Whether a shader of the work indexes whole pools of ids.
bool uses_pools(const BoundWork& work) {
    return std::any_of(work.shaders.begin(), work.shaders.end(), [](const StageShader& s) {
        return s.shader && std::any_of(s.shader->reflection.interface.bindings.begin(), s.shader->reflection.interface.bindings.end(), is_pool);
    });
}

// The ids that the pools have room for, as modules ask for them.
struct PoolConstant {
    VkSpecializationMapEntry entry{kPoolTexturesSpecId, 0, 4};
    VkSpecializationInfo info{};
    explicit PoolConstant(const PoolShape& pools) {
        info.mapEntryCount = 1;
        info.pMapEntries = &entry;
        info.dataSize = 4;
        info.pData = &pools.textures;
    }
};

VkFormat zero_format(Numeric numeric) {
    return numeric == Numeric::sint   ? VK_FORMAT_R32G32B32A32_SINT
           : numeric == Numeric::uint ? VK_FORMAT_R32G32B32A32_UINT
                                      : VK_FORMAT_R32G32B32A32_SFLOAT;
}

} // namespace

VkDescriptorType descriptor_type(const Binding& b) {
    const bool buffer = b.dim == ImageDim::buffer;
    switch (b.kind) {
    case BindingKind::storage:
    case BindingKind::storage_in_bank:
    case BindingKind::pool_table:
    case BindingKind::pool_write_log: return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    case BindingKind::texture:
    case BindingKind::texture_in_bank:
        return buffer ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    case BindingKind::separate_texture:
        return buffer ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
    case BindingKind::separate_sampler:
    case BindingKind::sampler_in_bank: return VK_DESCRIPTOR_TYPE_SAMPLER;
    case BindingKind::image:
    case BindingKind::image_in_bank:
        return buffer ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    default: return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    }
}

Pipelines::~Pipelines() {
    {
        const std::lock_guard hold(lock_);
        stop_ = true;
        changed_.notify_all();
    }
    if (worker_.joinable())
        worker_.join();
    for (const auto& [key, s] : graphics_)
        vkDestroyPipeline(device_.handle(), s.pipeline.pipeline, nullptr);
    for (const auto& [id, s] : compute_)
        vkDestroyPipeline(device_.handle(), s.pipeline.pipeline, nullptr);
    for (const auto& [key, l] : layouts_) {
        vkDestroyPipelineLayout(device_.handle(), l.layout, nullptr);
        vkDestroyDescriptorSetLayout(device_.handle(), l.set, nullptr);
    }
    for (const auto& [id, m] : modules_)
        vkDestroyShaderModule(device_.handle(), m, nullptr);
}

void Pipelines::work() {
    std::unique_lock hold(lock_);
    for (;;) {
        changed_.wait(hold, [this] { return stop_ || !queue_.empty(); });
        if (stop_)
            return;
        const Job job = queue_.front();
        queue_.pop_front();
        busy_ = true;
        hold.unlock();
        Pipeline made;
        if (!(job.compute ? make_compute(job, made) : make(job, made)))
            made.pipeline = VK_NULL_HANDLE;
        else
            made_.fetch_add(1, std::memory_order_relaxed);
        hold.lock();
        job.slot->pipeline = made;
        job.slot->done = true;
        busy_ = false;
        changed_.notify_all();
    }
}

void Pipelines::finish() {
    std::unique_lock hold(lock_);
    changed_.wait(hold, [this] { return queue_.empty() && !busy_; });
}

const Pipeline* Pipelines::get(Slot& slot, bool fresh, const Job& job) {
    std::unique_lock hold(lock_);
    if (fresh) {
        const auto& stages = job.work.shaders;
        std::string shaders;
        for (unsigned s = 0; s < kStageCount; ++s)
            if (stages[s].shader)
                shaders.append(" ").append(stage_name(static_cast<Stage>(s))).append(" ").append(key_text(stages[s].shader->key));
        ++misses_;
        report(Report::pipeline_miss, "%016llx:%s",
               static_cast<unsigned long long>(job.compute ? stages[static_cast<unsigned>(Stage::compute)].shader->key : hash(job.key)),
               shaders.c_str());
        queue_.push_back(job);
        queue_.back().slot = &slot;
        queue_.back().work.resources = nullptr;
        if (!worker_.joinable())
            worker_ = std::thread([this] { this->work(); });
        changed_.notify_all();
    }
    if (!slot.done && stand_ins_) {
        ++left_out_;
        return nullptr;
    }
    changed_.wait(hold, [&] { return slot.done; });
    return slot.pipeline.pipeline ? &slot.pipeline : nullptr;
}

VkShaderModule Pipelines::module(const nvn::Shader& shader, uint32_t input_vertices, const TessMode* mode) {
    const std::lock_guard hold(objects_lock_);
    const uint64_t key = shader.id | uint64_t{input_vertices} << 32 |
                         (mode ? uint64_t{static_cast<uint8_t>(mode->domain)} << 40 |
                                     uint64_t{static_cast<uint8_t>(mode->spacing)} << 48 |
                                     uint64_t{mode->clockwise} << 56 | uint64_t{mode->points} << 57
                               : 0);
    const auto it = modules_.find(key);
    if (it != modules_.end())
        return it->second;
    VkShaderModule m = VK_NULL_HANDLE;
    std::vector<uint32_t> words(shader.slice.bytes.size() / 4);
    std::memcpy(words.data(), shader.slice.bytes.data(), words.size() * 4);
    const std::string fault = shader.slice.kind != SliceKind::spirv
                                  ? "it is no SPIR-V"
                                  : module_fault(words, shader.reflection.interface, entry_name(shader));
    if (!fault.empty()) {
        report(Report::damaged_pack, "%s: %s", key_text(shader.key).c_str(), fault.c_str());
    } else {
        VkShaderModuleCreateInfo ci{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        if (input_vertices)
            words = with_input_primitive(words, input_vertices);
        if (mode)
            words = with_tess_mode(words, *mode);
        ci.codeSize = words.size() * 4;
        ci.pCode = words.data();
        ok(vkCreateShaderModule(device_.handle(), &ci, nullptr, &m), "shader module");
    }
    modules_[key] = m;
    return m;
}

const Pipelines::Layout* Pipelines::layout(const BoundWork& work, const PoolShape& pools) {
    uint32_t ids[kStageCount + 1] = {};
    for (unsigned s = 0; s < kStageCount; ++s)
        ids[s] = work.shaders[s].shader ? work.shaders[s].shader->id : 0;
    Layout l;
    l.pools = uses_pools(work);
    ids[kStageCount] = l.pools ? pools.textures : 0;
    const uint64_t key = XXH3_64bits(ids, sizeof ids);
    const std::lock_guard hold(objects_lock_);
    if (const auto it = layouts_.find(key); it != layouts_.end())
        return it->second.layout ? &it->second : nullptr;
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    std::vector<VkDescriptorBindingFlags> flags;
    for (unsigned s = 0; s < kStageCount; ++s) {
        if (!work.shaders[s].shader)
            continue;
        const auto& list = work.shaders[s].shader->reflection.interface.bindings;
        uint64_t descriptors = 0;
        for (uint32_t i = 0; i < list.size(); ++i) {
            if (is_pool(list[i]))
                continue;
            VkDescriptorSetLayoutBinding b{};
            b.binding = vulkan_binding(static_cast<Stage>(s), i);
            b.descriptorType = descriptor_type(list[i]);
            b.descriptorCount = list[i].count;
            b.stageFlags = stage_bit(static_cast<Stage>(s));
            bindings.push_back(b);
            descriptors += list[i].count;
            // Tables of memory pools are exchanged in bound sets.
            const bool late = list[i].kind == BindingKind::pool_table || list[i].kind == BindingKind::pool_write_log;
            flags.push_back(late ? VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT : 0);
            l.late |= late;
        }
        if (descriptors > Device::kMostDescriptors) {
            report(Report::unsupported, "%llu descriptors for one stage (%s)", static_cast<unsigned long long>(descriptors),
                   key_text(work.shaders[s].shader->key).c_str());
            layouts_[key] = {};
            return nullptr;
        }
    }
    if (l.pools && !pools.layout) {
        report(Report::unsupported, "whole pools of ids on this device");
        return nullptr;
    }
    VkDescriptorSetLayout sets[2] = {VK_NULL_HANDLE, pools.layout};
    VkPipelineLayoutCreateInfo plci{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    if (!bindings.empty() || l.pools) { // pools are set 1, and a set 0 comes before it
        VkDescriptorSetLayoutBindingFlagsCreateInfo flagged{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO};
        flagged.bindingCount = static_cast<uint32_t>(flags.size());
        flagged.pBindingFlags = flags.data();
        VkDescriptorSetLayoutCreateInfo ci{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
        if (l.late) {
            ci.pNext = &flagged;
            ci.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT;
        }
        ci.bindingCount = static_cast<uint32_t>(bindings.size());
        ci.pBindings = bindings.data();
        if (!ok(vkCreateDescriptorSetLayout(device_.handle(), &ci, nullptr, &l.set), "set layout"))
            return nullptr;
        sets[0] = l.set;
        plci.setLayoutCount = l.pools ? 2 : 1;
        plci.pSetLayouts = sets;
    }
    if (!ok(vkCreatePipelineLayout(device_.handle(), &plci, nullptr, &l.layout), "pipeline layout")) {
        vkDestroyDescriptorSetLayout(device_.handle(), l.set, nullptr);
        return nullptr;
    }
    return &(layouts_[key] = l);
}

void Pipelines::find_feedback(const nvn::Shader& shader, Pipeline& out) {
    constexpr uint32_t kOpDecorate = 71, kXfbBuffer = 36, kXfbStride = 37; // SPIR-V
    out.feedback_buffers = out.feedback_stride = 0;
    const std::span<const uint8_t> bytes = shader.slice.bytes;
    const auto word = [&](size_t i) {
        uint32_t w;
        std::memcpy(&w, bytes.data() + i * 4, 4);
        return w;
    };
    const size_t words = bytes.size() / 4;
    for (size_t at = 5; at < words; at += std::max(1u, word(at) >> 16)) {
        if ((word(at) & 0xffff) != kOpDecorate || at + 3 >= words)
            continue;
        if (word(at + 2) == kXfbBuffer && word(at + 3) < kFeedbackBuffers)
            out.feedback_buffers |= 1u << word(at + 3);
        if (word(at + 2) == kXfbStride)
            out.feedback_stride = std::max(out.feedback_stride, word(at + 3));
    }
}

const Pipeline* Pipelines::compute(const BoundWork& work, const PoolShape& pools) {
    const uint64_t ids = uses_pools(work) ? pools.textures : 0;
    const auto [it, fresh] = compute_.try_emplace(ids << 32 | work.shaders[static_cast<unsigned>(Stage::compute)].shader->id);
    return get(it->second, fresh, {{}, true, work, pools, nullptr});
}

bool Pipelines::make_compute(const Job& job, Pipeline& out) {
    const nvn::Shader& shader = *job.work.shaders[static_cast<unsigned>(Stage::compute)].shader;
    const Layout* l = layout(job.work, job.pools);
    const VkShaderModule m = module(shader);
    if (!l || !m)
        return false;
    const PoolConstant ids(job.pools);
    VkComputePipelineCreateInfo ci{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    ci.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    ci.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    ci.stage.module = m;
    ci.stage.pName = entry_name(shader);
    ci.stage.pSpecializationInfo = l->pools ? &ids.info : nullptr;
    ci.layout = l->layout;
    take(*l, out);
    return ok(vkCreateComputePipelines(device_.handle(), VK_NULL_HANDLE, 1, &ci, nullptr, &out.pipeline),
              "compute pipeline");
}

const Pipeline* Pipelines::graphics(const PipelineKey& key, const BoundWork& work, const PoolShape& pools) {
    const auto [it, fresh] = graphics_.try_emplace({key, uses_pools(work) ? pools.textures : 0});
    return get(it->second, fresh, {key, false, work, pools, nullptr});
}

void Pipelines::take(const Layout& layout, Pipeline& out) {
    out.layout = layout.layout;
    out.set_layout = layout.set;
    out.late = layout.late;
    out.pools = layout.pools;
}

bool Pipelines::make(const Job& job, Pipeline& out) {
    const PipelineKey& key = job.key;
    const BoundWork& work = job.work;
    const Layout* l = layout(work, job.pools);
    if (!l)
        return false;
    take(*l, out);
    const PoolConstant ids(job.pools);
    const Capabilities& can = device_.can();

    // What only the draw knows of a module: the primitives that reach a geometry shader, how patches are
    // divided.
    const nvn::Shader* divides = work.shaders[static_cast<unsigned>(Stage::tess_control)].shader;
    const TessMode* tess = divides ? &divides->reflection.interface.tess : nullptr;
    uint32_t input_vertices = vertices_of(key.primitive);
    if (tess)
        input_vertices = tess->points ? 1 : tess->domain == TessDomain::isolines ? 2 : 3;
    std::vector<VkPipelineShaderStageCreateInfo> stages;
    for (unsigned s = 0; s < kStageCount; ++s) {
        const nvn::Shader* shader = work.shaders[s].shader;
        if (!shader)
            continue;
        const Stage stage = static_cast<Stage>(s);
        if ((stage == Stage::task && !can.task) || (stage == Stage::mesh && !can.mesh) ||
            (stage == Stage::geometry && !can.geometry) ||
            ((stage == Stage::tess_control || stage == Stage::tess_evaluation) && !can.tessellation)) {
            report(Report::unsupported, "%s shaders on this device", stage_name(stage).data());
            return false;
        }
        VkPipelineShaderStageCreateInfo& ci = stages.emplace_back();
        ci = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
        ci.stage = stage_bit(stage);
        ci.module = module(*shader, stage == Stage::geometry ? input_vertices : 0,
                           stage == Stage::tess_evaluation ? tess : nullptr);
        ci.pName = entry_name(*shader);
        ci.pSpecializationInfo = l->pools ? &ids.info : nullptr;
        if (!ci.module)
            return false;
        if (stage == Stage::vertex || stage == Stage::tess_evaluation || stage == Stage::geometry)
            find_feedback(*shader, out);
    }
    const nvn::Shader* control = work.shaders[static_cast<unsigned>(Stage::tess_control)].shader;
    const nvn::Shader* evaluation = work.shaders[static_cast<unsigned>(Stage::tess_evaluation)].shader;
    if (!control != !evaluation) {
        report(Report::unsupported, "a tessellation %s shader by itself (%s)",
               control ? "control" : "evaluation", key_text((control ? control : evaluation)->key).c_str());
        return false;
    }
    if ((key.primitive == NVN_DRAW_PRIMITIVE_PATCHES) != (control != nullptr)) {
        report(Report::bad_program, "patches and tessellation shaders belong together");
        return false;
    }

    // Vertex input: locations that the shader reads; those without an attribute read zeros.
    std::vector<VkVertexInputAttributeDescription> attributes;
    std::vector<VkVertexInputBindingDescription> bindings;
    std::vector<VkVertexInputBindingDivisorDescriptionEXT> divisors;
    uint32_t streams = 0;
    bool zero_stream = false;
    const nvn::Shader* vertex = work.shaders[static_cast<unsigned>(Stage::vertex)].shader;
    for (const Varying& v : vertex ? vertex->reflection.interface.inputs : std::vector<Varying>()) {
        if (std::any_of(attributes.begin(), attributes.end(), [&](const auto& other) { return other.location == v.location; }))
            continue; // said twice by a damaged reflection
        VkVertexInputAttributeDescription a{};
        a.location = v.location;
        if (key.attrib_mask >> v.location & 1) {
            const uint32_t word = key.attribs[v.location];
            a.binding = nvn::attrib::Stream::get(word);
            a.format = vertex_format(static_cast<int>(nvn::attrib::Format::get(word)));
            a.offset = nvn::attrib::Offset::get(word);
            VkFormatProperties fp{};
            if (a.format != VK_FORMAT_UNDEFINED)
                vkGetPhysicalDeviceFormatProperties(device_.physical(), a.format, &fp);
            if (!(fp.bufferFeatures & VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT)) {
                report(Report::unsupported, "vertex format %s",
                       nvn::format_name(static_cast<int>(nvn::attrib::Format::get(word))));
                return false;
            }
            streams |= 1u << a.binding;
        } else {
            a.binding = kZeroStream;
            a.format = zero_format(v.numeric);
            zero_stream = true;
        }
        attributes.push_back(a);
    }
    for (uint32_t s = 0; s < kMaxStreams; ++s) {
        if (!(streams >> s & 1))
            continue;
        bindings.push_back({s, key.strides[s],
                            key.divisors[s] ? VK_VERTEX_INPUT_RATE_INSTANCE : VK_VERTEX_INPUT_RATE_VERTEX});
        if (key.divisors[s] > 1) {
            if (!can.divisors)
                report(Report::unsupported, "instance divisors on this device");
            else
                divisors.push_back({s, key.divisors[s]});
        }
    }
    if (zero_stream)
        bindings.push_back({kZeroStream, 0, VK_VERTEX_INPUT_RATE_VERTEX});
    VkPipelineVertexInputDivisorStateCreateInfoEXT divisor_state{
        VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT};
    divisor_state.vertexBindingDivisorCount = static_cast<uint32_t>(divisors.size());
    divisor_state.pVertexBindingDivisors = divisors.data();
    VkPipelineVertexInputStateCreateInfo input{VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    input.pNext = divisors.empty() ? nullptr : &divisor_state;
    input.vertexBindingDescriptionCount = static_cast<uint32_t>(bindings.size());
    input.pVertexBindingDescriptions = bindings.data();
    input.vertexAttributeDescriptionCount = static_cast<uint32_t>(attributes.size());
    input.pVertexAttributeDescriptions = attributes.data();

    VkPipelineInputAssemblyStateCreateInfo assembly{
        VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO};
    assembly.topology = topology(key.primitive);
    if (assembly.topology == VK_PRIMITIVE_TOPOLOGY_MAX_ENUM) {
        report(Report::unsupported, "draw primitive %u", key.primitive);
        return false;
    }
    VkPipelineTessellationStateCreateInfo tessellation{
        VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_STATE_CREATE_INFO};
    tessellation.patchControlPoints = std::max<uint32_t>(1, key.patch_size);

    VkPipelineViewportDepthClipControlCreateInfoEXT clip{
        VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT};
    clip.negativeOneToOne = VK_TRUE;
    VkPipelineViewportStateCreateInfo viewport{VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
    if (!key.depth_zero) {
        if (can.depth_minus_one)
            viewport.pNext = &clip;
        else
            report(Report::unsupported, "depth from -w: the device lacks VK_EXT_depth_clip_control");
    }
    VkPipelineRasterizationStateCreateInfo raster{VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
    raster.depthClampEnable = key.depth_clamp && can.depth_clamp;
    raster.polygonMode = VK_POLYGON_MODE_FILL;
    if (key.polygon_mode != NVN_POLYGON_MODE_FILL) {
        if (can.wireframe)
            raster.polygonMode =
                key.polygon_mode == NVN_POLYGON_MODE_LINE ? VK_POLYGON_MODE_LINE : VK_POLYGON_MODE_POINT;
        else
            report(Report::unsupported, "polygon modes on this device");
    }
    raster.lineWidth = 1.0f;
    VkPipelineMultisampleStateCreateInfo multisample{
        VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
    multisample.rasterizationSamples = static_cast<VkSampleCountFlagBits>(key.samples);
    const VkSampleMask mask = key.sample_mask;
    multisample.pSampleMask = &mask;
    multisample.alphaToCoverageEnable = key.alpha_to_coverage;
    VkPipelineDepthStencilStateCreateInfo depth{VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};

    VkPipelineColorBlendAttachmentState blends[kMaxColors] = {};
    VkFormat formats[kMaxColors] = {};
    uint32_t colors = 0;
    for (uint32_t i = 0; i < kMaxColors; ++i) {
        if (!key.color_formats[i])
            continue;
        colors = i + 1;
        formats[i] = texture_format(key.color_formats[i]);
        VkPipelineColorBlendAttachmentState& b = blends[i];
        b.colorWriteMask = key.channel_mask >> (4 * i) & 15;
        if (!(key.blend_enables >> i & 1))
            continue;
        const uint64_t w = key.blend[i];
        if (nvn::blend::Advanced::get(w))
            report(Report::unsupported, "advanced blend mode %u", nvn::blend::Advanced::get(w));
        b.blendEnable = VK_TRUE;
        b.srcColorBlendFactor = factor(nvn::blend::SrcRgb::get(w));
        b.dstColorBlendFactor = factor(nvn::blend::DstRgb::get(w));
        b.colorBlendOp = equation(nvn::blend::EquationRgb::get(w));
        b.srcAlphaBlendFactor = factor(nvn::blend::SrcAlpha::get(w));
        b.dstAlphaBlendFactor = factor(nvn::blend::DstAlpha::get(w));
        b.alphaBlendOp = equation(nvn::blend::EquationAlpha::get(w));
    }
    VkPipelineColorBlendStateCreateInfo blend{VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
    blend.attachmentCount = colors;
    blend.pAttachments = blends;
    if (key.logic_op != NVN_LOGIC_OP_COPY) {
        blend.logicOpEnable = can.logic_op;
        blend.logicOp = static_cast<VkLogicOp>(key.logic_op); // the same sixteen in the same order
        if (!can.logic_op)
            report(Report::unsupported, "logic operations on this device");
    }

    std::vector<VkDynamicState> dynamic{
        VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT,
        VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT,
        VK_DYNAMIC_STATE_CULL_MODE,
        VK_DYNAMIC_STATE_FRONT_FACE,
        VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE,
        VK_DYNAMIC_STATE_DEPTH_WRITE_ENABLE,
        VK_DYNAMIC_STATE_DEPTH_COMPARE_OP,
        VK_DYNAMIC_STATE_STENCIL_TEST_ENABLE,
        VK_DYNAMIC_STATE_STENCIL_OP,
        VK_DYNAMIC_STATE_STENCIL_REFERENCE,
        VK_DYNAMIC_STATE_STENCIL_COMPARE_MASK,
        VK_DYNAMIC_STATE_STENCIL_WRITE_MASK,
        VK_DYNAMIC_STATE_BLEND_CONSTANTS,
        VK_DYNAMIC_STATE_DEPTH_BIAS,
        VK_DYNAMIC_STATE_DEPTH_BIAS_ENABLE,
        VK_DYNAMIC_STATE_LINE_WIDTH,
        VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE,
        VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE,
        VK_DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE,
        VK_DYNAMIC_STATE_DEPTH_BOUNDS,
    };
    if (!vertex) // mesh pipelines assemble nothing
        std::erase(dynamic, VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE);
    VkPipelineDynamicStateCreateInfo dynamics{VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO};
    dynamics.dynamicStateCount = static_cast<uint32_t>(dynamic.size());
    dynamics.pDynamicStates = dynamic.data();

    VkPipelineRenderingCreateInfo rendering{VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO};
    rendering.colorAttachmentCount = colors;
    rendering.pColorAttachmentFormats = formats;
    if (key.depth_format) {
        const VkFormat format = texture_format(key.depth_format);
        const VkImageAspectFlags aspect = aspects(key.depth_format);
        if (aspect & VK_IMAGE_ASPECT_DEPTH_BIT)
            rendering.depthAttachmentFormat = format;
        if (aspect & VK_IMAGE_ASPECT_STENCIL_BIT)
            rendering.stencilAttachmentFormat = format;
    }
    VkGraphicsPipelineCreateInfo ci{VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, &rendering};
    ci.stageCount = static_cast<uint32_t>(stages.size());
    ci.pStages = stages.data();
    ci.pVertexInputState = &input;
    ci.pInputAssemblyState = &assembly;
    ci.pTessellationState = &tessellation;
    ci.pViewportState = &viewport;
    ci.pRasterizationState = &raster;
    ci.pMultisampleState = &multisample;
    ci.pDepthStencilState = &depth;
    ci.pColorBlendState = &blend;
    ci.pDynamicState = &dynamics;
    ci.layout = l->layout;
    return ok(vkCreateGraphicsPipelines(device_.handle(), VK_NULL_HANDLE, 1, &ci, nullptr, &out.pipeline),
              "graphics pipeline");
}

} // namespace dmsh::replay::vulkan
