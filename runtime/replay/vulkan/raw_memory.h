// Raw global memory on Vulkan: the device's copies of pool tables and their write logs, and the descriptors that name them.
#pragma once
#include "runtime/replay/backend.h"
#include "runtime/replay/vulkan/device.h"
#include <functional>

namespace dmsh::replay::vulkan {

// A word of PoolTables is a stage's pair of bindings in a descriptor set: their layout lets them be exchanged until the submission.
class RawMemory {
  public:
    explicit RawMemory(Device& device) : device_(device) {}
    ~RawMemory();

    // The buffer to bind for a resource of kind pool_table or pool_write_log; false without memory. `binding` is Vulkan's.
    bool bind(const Resource& r, VkDescriptorSet set, uint32_t binding, VkDescriptorBufferInfo& out);
    // The call is bound: its words are handed to `tables`.
    void note(PoolTables& tables);
    // Before a hand-over to the GPU. `fence` is the one behind it.
    void commit(Backend& backend, uint64_t fence);
    // The GPU is idle: `each` gets the pools that raw stores reached since the last time.
    void written(const std::function<void(const nvn::PoolInfo&)>& each);

  private:
    struct Copy {
        std::shared_ptr<const PoolTable> of;
        Buffer table, log;
        uint64_t fence = 0; // of the last work that may read it
    };
    struct Word {
        VkDescriptorSet set = VK_NULL_HANDLE;
        Stage stage = Stage::vertex;
        uint32_t table = kNone, log = kNone; // bindings
        std::shared_ptr<const PoolTable> named;
    };
    static constexpr uint32_t kNone = ~0u;
    Copy* copy(const std::shared_ptr<const PoolTable>& table);
    void point(const Word& word, const Copy& copy);

    Device& device_;
    std::vector<Copy> copies_;
    std::vector<Word> words_; // of the current batch
    size_t noted_ = 0;        // words before this one were handed over
};

} // namespace dmsh::replay::vulkan
