// Implements counters, reports and render conditions.
#include "runtime/replay/vulkan/counters.h"
#include "runtime/replay/vulkan/reports_comp.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace dmsh::replay::vulkan {

using nvn::Report;

namespace {

constexpr uint32_t kStatistics = 11; // results of a pipeline statistics query, in the order of its bits
constexpr uint32_t kStamps = 256;
// A guest tick is 13/8 ns: ns = ticks * 13 / 8.
constexpr double kTicksPerNanosecond = 8.0 / 13.0;

enum : uint32_t { kAccumulate, kReport, kCondition };

} // namespace

Counters::~Counters() {
    for (const Pool& p : pools_)
        vkDestroyQueryPool(device_.handle(), p.pool, nullptr);
    vkDestroyQueryPool(device_.handle(), stamps_, nullptr);
    vkDestroyPipeline(device_.handle(), pipeline_, nullptr);
    vkDestroyPipelineLayout(device_.handle(), layout_, nullptr);
    vkDestroyDescriptorSetLayout(device_.handle(), set_layout_, nullptr);
    vkDestroyShaderModule(device_.handle(), module_, nullptr);
    device_.destroy(sums_);
}

bool Counters::init() {
    const Capabilities& can = device_.can();
    const auto make = [&](VkQueryType type, uint32_t count, VkQueryPool& out) {
        VkQueryPoolCreateInfo ci{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
        ci.queryType = type;
        ci.queryCount = count;
        if (type == VK_QUERY_TYPE_PIPELINE_STATISTICS)
            ci.pipelineStatistics = (1u << kStatistics) - 1;
        return ok(vkCreateQueryPool(device_.handle(), &ci, nullptr, &out), "query pool");
    };
    pools_[samples] = {VK_NULL_HANDLE, VK_QUERY_TYPE_OCCLUSION, 1};
    pools_[statistics] = {VK_NULL_HANDLE, VK_QUERY_TYPE_PIPELINE_STATISTICS, kStatistics};
    pools_[generated] = {VK_NULL_HANDLE, VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT, 1};
    pools_[feedback] = {VK_NULL_HANDLE, VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT, 2};
    const bool has[kGroups] = {true, can.statistics, can.generated_query, can.feedback};
    for (unsigned g = 0; g < kGroups; ++g)
        if (has[g] && !make(pools_[g].type, kQueries, pools_[g].pool))
            return false;
    if (!make(VK_QUERY_TYPE_TIMESTAMP, kStamps, stamps_) || !device_.make_buffer(kCounterTypes * 8, sums_))
        return false;
    std::memset(sums_.map, 0, kCounterTypes * 8);

    VkDescriptorSetLayoutBinding bindings[3]{};
    for (uint32_t i = 0; i < 3; ++i)
        bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo sci{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    sci.bindingCount = 3;
    sci.pBindings = bindings;
    VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(Push)};
    VkPipelineLayoutCreateInfo pci{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    pci.setLayoutCount = 1;
    pci.pSetLayouts = &set_layout_;
    pci.pushConstantRangeCount = 1;
    pci.pPushConstantRanges = &range;
    VkShaderModuleCreateInfo mci{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    mci.codeSize = sizeof k_reports_comp;
    mci.pCode = k_reports_comp;
    VkComputePipelineCreateInfo ci{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    if (!ok(vkCreateDescriptorSetLayout(device_.handle(), &sci, nullptr, &set_layout_), "set layout") ||
        !ok(vkCreatePipelineLayout(device_.handle(), &pci, nullptr, &layout_), "pipeline layout") ||
        !ok(vkCreateShaderModule(device_.handle(), &mci, nullptr, &module_), "shader module"))
        return false;
    ci.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    ci.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    ci.stage.module = module_;
    ci.stage.pName = "main";
    ci.layout = layout_;
    return ok(vkCreateComputePipelines(device_.handle(), VK_NULL_HANDLE, 1, &ci, nullptr, &pipeline_),
              "report pipeline");
}

Counters::Source Counters::source(NVNcounterType counter) {
    switch (counter) {
    case NVN_COUNTER_TYPE_SAMPLES_PASSED: return {samples, 0};
    case NVN_COUNTER_TYPE_INPUT_VERTICES: return {statistics, 0};
    case NVN_COUNTER_TYPE_INPUT_PRIMITIVES: return {statistics, 1};
    case NVN_COUNTER_TYPE_VERTEX_SHADER_INVOCATIONS: return {statistics, 2};
    case NVN_COUNTER_TYPE_GEOMETRY_SHADER_INVOCATIONS: return {statistics, 3};
    case NVN_COUNTER_TYPE_GEOMETRY_SHADER_PRIMITIVES: return {statistics, 4};
    case NVN_COUNTER_TYPE_CLIPPER_INPUT_PRIMITIVES: return {statistics, 5};
    case NVN_COUNTER_TYPE_CLIPPER_OUTPUT_PRIMITIVES: return {statistics, 6};
    case NVN_COUNTER_TYPE_FRAGMENT_SHADER_INVOCATIONS: return {statistics, 7};
    case NVN_COUNTER_TYPE_TESS_CONTROL_SHADER_INVOCATIONS: return {statistics, 8};
    case NVN_COUNTER_TYPE_TESS_EVALUATION_SHADER_INVOCATIONS: return {statistics, 9};
    case NVN_COUNTER_TYPE_PRIMITIVES_GENERATED: return {generated, 0};
    case NVN_COUNTER_TYPE_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN: return {feedback, 0};
    default: return {kGroups, 0};
    }
}

bool Counters::count(NVNcounterType counter) {
    const Source s = source(counter);
    if (s.group == kGroups || !pools_[s.group].pool) {
        nvn::report(Report::unsupported, "counter 0x%x on this device: it reports 0",
                    static_cast<unsigned>(counter));
        return false;
    }
    pools_[s.group].counting = true;
    return true;
}

void Counters::begin_work(bool dispatch) {
    if (working_)
        return;
    working_ = true;
    begun_ = 0;
    for (unsigned g = 0; g < kGroups; ++g) {
        Pool& p = pools_[g];
        if (!p.counting || (dispatch && g != statistics))
            continue;
        if (p.used == kQueries)
            collect();
        vkCmdResetQueryPool(device_.commands(), p.pool, p.used, 1);
        const VkQueryControlFlags flags =
            g == samples && device_.can().precise_samples ? VK_QUERY_CONTROL_PRECISE_BIT : 0;
        vkCmdBeginQuery(device_.commands(), p.pool, p.used, flags);
        begun_ |= 1u << g;
    }
}

void Counters::end_work() {
    if (!working_)
        return;
    working_ = false;
    for (unsigned g = 0; g < kGroups; ++g)
        if (begun_ >> g & 1)
            vkCmdEndQuery(device_.commands(), pools_[g].pool, pools_[g].used++);
}

void Counters::run(const Piece& queries, const PoolMemory::Place* guest, const Push& push) {
    const VkDescriptorSet set = device_.descriptor_set(set_layout_);
    if (!set)
        return;
    const VkDescriptorBufferInfo buffers[3] = {{queries.buffer, 0, VK_WHOLE_SIZE},
                                               {sums_.buffer, 0, VK_WHOLE_SIZE},
                                               {guest ? guest->buffer : sums_.buffer,
                                                guest ? guest->offset : 0,
                                                guest ? (push.op == kCondition ? 32 : 16) : VK_WHOLE_SIZE}};
    VkWriteDescriptorSet writes[3];
    for (uint32_t i = 0; i < 3; ++i) {
        writes[i] = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        writes[i].dstSet = set;
        writes[i].dstBinding = i;
        writes[i].descriptorCount = 1;
        writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[i].pBufferInfo = &buffers[i];
    }
    vkUpdateDescriptorSets(device_.handle(), 3, writes, 0, nullptr);
    const VkCommandBuffer c = device_.commands();
    device_.full_barrier();
    vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set, 0, nullptr);
    vkCmdPushConstants(c, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
    vkCmdDispatch(c, 1, 1, 1);
    device_.full_barrier();
}

void Counters::collect() {
    for (unsigned g = 0; g < kGroups; ++g) {
        Pool& p = pools_[g];
        if (p.used == 0)
            continue;
        const uint64_t stride = uint64_t{p.words} * 8;
        const Piece results = device_.piece(stride * p.used, 16);
        if (!results.buffer)
            return;
        vkCmdCopyQueryPoolResults(device_.commands(), p.pool, 0, p.used, results.buffer, results.offset,
                                  stride, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
        for (uint32_t t = 0; t < kCounterTypes; ++t) {
            const Source s = source(static_cast<NVNcounterType>(t));
            if (s.group != g)
                continue;
            Push push{};
            push.op = kAccumulate;
            push.from = static_cast<uint32_t>(results.offset / 4) + 2 * s.word;
            push.to = 2 * t;
            push.count = p.used;
            push.stride = 2 * p.words;
            run(results, nullptr, push);
        }
        p.used = 0;
    }
}

void Counters::reset(NVNcounterType counter) {
    if (counter == NVN_COUNTER_TYPE_TIMESTAMP || counter == NVN_COUNTER_TYPE_TIMESTAMP_TOP || !count(counter))
        return;
    collect();
    device_.full_barrier();
    vkCmdFillBuffer(device_.commands(), sums_.buffer, uint64_t{8} * counter, 8, 0);
    device_.full_barrier();
}

void Counters::copy_stamp(VkPipelineStageFlagBits stage, const Piece& out) {
    const VkCommandBuffer c = device_.commands();
    vkCmdResetQueryPool(c, stamps_, stamp_, 1);
    vkCmdWriteTimestamp(c, stage, stamps_, stamp_);
    vkCmdCopyQueryPoolResults(c, stamps_, stamp_, 1, out.buffer, out.offset, 8,
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    stamp_ = (stamp_ + 1) % kStamps;
}

void Counters::report(NVNcounterType counter, uint64_t address) {
    const bool stamp = counter == NVN_COUNTER_TYPE_TIMESTAMP || counter == NVN_COUNTER_TYPE_TIMESTAMP_TOP;
    if (!stamp)
        count(counter);
    collect();
    PoolMemory::Place place;
    const Piece raw = device_.piece(16, 16);
    if (!raw.buffer || !memory_.find(address, 16, place))
        return;
    const uint64_t alignment = device_.properties().limits.minStorageBufferOffsetAlignment;
    if (place.offset % alignment) {
        nvn::report(Report::unsupported, "report at 0x%llx is not aligned for this device",
                    static_cast<unsigned long long>(address));
        return;
    }
    copy_stamp(counter == NVN_COUNTER_TYPE_TIMESTAMP_TOP ? VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT
                                                         : VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
               raw);
    Push push{};
    push.op = kReport;
    push.from = 2 * static_cast<uint32_t>(counter); // a timestamp's own sum stays 0
    push.stamp = static_cast<uint32_t>(raw.offset / 4);
    push.tick_scale = static_cast<uint32_t>(std::lround(
        static_cast<double>(device_.properties().limits.timestampPeriod) * kTicksPerNanosecond * 65536.0));
    run(raw, &place, push);
    memory_.note_write(address, 16);
}

void Counters::report_value(uint32_t value, uint64_t address) {
    report(NVN_COUNTER_TYPE_TIMESTAMP, address);
    PoolMemory::Place place;
    const Piece word = device_.piece(8, 16);
    if (!word.buffer || !memory_.find(address, 16, place))
        return;
    const uint64_t wide = value;
    std::memcpy(word.map, &wide, sizeof wide);
    const VkBufferCopy copy{word.offset, place.offset, sizeof wide};
    vkCmdCopyBuffer(device_.commands(), word.buffer, place.buffer, 1, &copy);
    device_.full_barrier();
}

Piece Counters::predicate(uint64_t address, bool equal) {
    PoolMemory::Place place;
    const Piece out = device_.piece(16, 16);
    if (!out.buffer || !memory_.find(address, 32, place))
        return {};
    if (place.offset % device_.properties().limits.minStorageBufferOffsetAlignment) {
        nvn::report(Report::unsupported, "render condition at 0x%llx is not aligned for this device",
                    static_cast<unsigned long long>(address));
        return {};
    }
    Push push{};
    push.op = kCondition;
    push.to = static_cast<uint32_t>(out.offset / 4);
    push.equal = equal;
    run(out, &place, push);
    return out;
}

} // namespace dmsh::replay::vulkan
