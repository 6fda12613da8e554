// Counters on the GPU: queries around passes, their sums since a reset, reports into guest memory, and the
// predicates of conditional rendering.
#pragma once
#include "runtime/nvn/enums.h"
#include "runtime/replay/vulkan/pool_memory.h"
#include <array>
#include <vector>

namespace dmsh::replay::vulkan {

class Counters {
  public:
    Counters(Device& device, PoolMemory& memory) : device_(device), memory_(memory) {}
    ~Counters();
    // False (reported): the device gives no query pools or the helper does not compile.
    bool init();

    // All of these record commands outside of passes.
    void begin_work(bool dispatch); // queries around a pass or a dispatch
    void end_work();
    void reset(NVNcounterType counter);
    void report(NVNcounterType counter, uint64_t address);
    void report_value(uint32_t value, uint64_t address);
    // A 32-bit predicate in batch memory: 1 where the two reports at `address` compare as wanted.
    Piece predicate(uint64_t address, bool equal);
    // Adds what the queries of this batch counted; before each submission.
    void collect();

  private:
    // Query pools; each answers `words` 64-bit results.
    enum Group : unsigned { samples, statistics, generated, feedback, kGroups };
    struct Pool {
        VkQueryPool pool = VK_NULL_HANDLE;
        VkQueryType type = VK_QUERY_TYPE_OCCLUSION;
        uint32_t words = 1;
        bool counting = false; // a guest asked for one of its counters
        uint32_t used = 0;     // results not collected yet
    };
    // Where a counter's value comes from; group kGroups: from nowhere.
    struct Source {
        Group group;
        uint32_t word;
    };
    static Source source(NVNcounterType counter);
    bool count(NVNcounterType counter); // starts counting; false: the device cannot
    struct Push {
        uint32_t op, from, to, count, stride, equal, tick_scale, stamp;
    };
    // Runs the helper on: a batch piece, the sums, guest memory (null: none).
    void run(const Piece& queries, const PoolMemory::Place* guest, const Push& push);
    void copy_stamp(VkPipelineStageFlagBits stage, const Piece& out);

    static constexpr uint32_t kQueries = 256;     // per group between two collections
    static constexpr uint32_t kCounterTypes = 17; // NVNcounterType

    Device& device_;
    PoolMemory& memory_;
    std::array<Pool, kGroups> pools_;
    VkQueryPool stamps_ = VK_NULL_HANDLE;
    uint32_t stamp_ = 0;
    Buffer sums_; // 64 bits per counter type
    VkShaderModule module_ = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
    bool working_ = false;
    unsigned begun_ = 0; // bit per group
};

} // namespace dmsh::replay::vulkan
