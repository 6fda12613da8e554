// Pipelines and layouts, made once per key. Vulkan binding = stage * 128 + index, set 0 (design decision 13).
#pragma once
#include "runtime/replay/backend.h"
#include "runtime/replay/vulkan/id_pools.h"
#include "runtime/replay/vulkan/device.h"
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace dmsh::replay::vulkan {

constexpr uint32_t vulkan_binding(Stage stage, uint32_t index) {
    return static_cast<uint32_t>(stage) * kMaxBindings + index;
}

struct Pipeline {
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE; // null: nothing is bound
    bool late = false;  // the set may be updated after it was bound
    bool pools = false; // set 1: whole pools of ids
    uint32_t feedback_stride = 0;  // bytes of a captured vertex in buffer 0; 0: nothing is captured
    uint32_t feedback_buffers = 0; // bit per transform feedback buffer that the shaders write
};

// Pipelines are compiled on a thread of their own. A draw whose pipeline is not there yet is a miss: counted,
// named once per key, and waited for; with stand-ins on, the draw is left out instead and counted.
class Pipelines {
  public:
    Pipelines(Device& device, bool stand_ins) : device_(device), stand_ins_(stand_ins) {}
    ~Pipelines();

    // nullptr: the device refuses the state or a shader (reported once), or the draw is left out.
    // `pools`: how whole pools of ids are bound; not read where no shader has them.
    const Pipeline* graphics(const PipelineKey& key, const BoundWork& work, const PoolShape& pools);
    const Pipeline* compute(const BoundWork& work, const PoolShape& pools);
    // Stream that attributes without a vertex buffer read; its buffer holds zeros.
    static constexpr uint32_t kZeroStream = kMaxStreams;
    uint64_t made() const { return made_.load(std::memory_order_relaxed); }
    uint64_t misses() const { return misses_; }
    uint64_t left_out() const { return left_out_; }
    // Waits until everything asked for is compiled.
    void finish();

  private:
    struct Layout {
        VkDescriptorSetLayout set = VK_NULL_HANDLE;
        VkPipelineLayout layout = VK_NULL_HANDLE;
        bool late = false, pools = false;
    };
    struct Slot {
        Pipeline pipeline; // null: refused
        bool done = false;
    };
    struct Job {
        PipelineKey key; // shaders alone for compute
        bool compute = false;
        BoundWork work; // resources are not read
        PoolShape pools;
        Slot* slot = nullptr;
    };
    const Pipeline* get(Slot& slot, bool fresh, const Job& job);
    void work();
    const Layout* layout(const BoundWork& work, const PoolShape& pools);
    // Fitted to the draw: input vertices of a geometry shader (0: not one), division of a patch (null: none).
    VkShaderModule module(const nvn::Shader& shader, uint32_t input_vertices = 0,
                          const TessMode* mode = nullptr);
    static void find_feedback(const nvn::Shader& shader, Pipeline& out);
    static void take(const Layout& layout, Pipeline& out);
    bool make(const Job& job, Pipeline& out);
    bool make_compute(const Job& job, Pipeline& out);

    Device& device_;
    bool stand_ins_;
    struct PoolKey { // a key and the ids that its pools have room for; 0: none is used
        PipelineKey key;
        uint32_t ids = 0;
        bool operator==(const PoolKey&) const = default;
    };
    struct KeyHash {
        size_t operator()(const PoolKey& k) const { return hash(k.key) ^ k.ids; }
    };
    std::unordered_map<PoolKey, Slot, KeyHash> graphics_;
    std::unordered_map<uint64_t, Slot> compute_; // by Shader::id, above it the ids as in PoolKey
    std::mutex objects_lock_;
    std::unordered_map<uint64_t, Layout> layouts_;         // by hash of the shader ids
    std::unordered_map<uint64_t, VkShaderModule> modules_; // by shader id and what it was fitted to
    std::atomic<uint64_t> made_{0};
    uint64_t misses_ = 0, left_out_ = 0;

    std::mutex lock_; // slots and queue
    std::condition_variable changed_;
    std::deque<Job> queue_;
    std::thread worker_;
    bool stop_ = false, busy_ = false;
};

} // namespace dmsh::replay::vulkan
