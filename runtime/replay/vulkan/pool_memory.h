// Guest memory pools as Vulkan buffers. The one place that decides: in place where the device imports host
// memory, else a copy that is brought up to date around submissions.
#pragma once
#include "runtime/nvn/host.h"
#include "runtime/replay/vulkan/device.h"

namespace dmsh::replay::vulkan {

class PoolMemory {
  public:
    // Where guest bytes are.
    struct Place {
        VkBuffer buffer = VK_NULL_HANDLE;
        uint64_t offset = 0;
    };

    PoolMemory(Device& device, bool import) : device_(device), import_(import) {}
    ~PoolMemory();

    void add(const nvn::PoolInfo& pool);
    void remove(const nvn::PoolInfo& pool); // the GPU is idle
    // The buffer behind guest bytes; false if they are in no pool.
    bool find(uint64_t address, uint64_t bytes, Place& out) const;
    // The GPU writes these bytes in the current batch.
    void note_write(uint64_t address, uint64_t bytes) { note(address, bytes, nullptr); }
    // The same with bytes that the CPU knows already: `data` lives until the batch is over.
    void note_update(uint64_t address, uint64_t bytes, const uint8_t* data) { note(address, bytes, data); }
    // Guest bytes as the commands given so far leave them, where the CPU can tell without the GPU. False: the
    // GPU writes some of them, so wait and `settle` first.
    bool read(uint64_t address, void* out, uint64_t bytes) const;
    // The GPU has passed `fence`: its writes are in guest memory.
    void settle(uint64_t fence);
    // Copies: guest bytes to the GPU before, written ranges back after (which waits). Nothing to do in place.
    void before_submit();
    void after_submit(uint64_t fence);
    bool imports() const { return import_ && device_.can().host_import; }

  private:
    struct Pool {
        nvn::PoolInfo info;
        Buffer buffer;
        bool in_place = false;
    };
    struct Write {
        uint64_t address, bytes;
        const uint8_t* data; // null: only the GPU knows
        uint64_t fence;
    };
    void note(uint64_t address, uint64_t bytes, const uint8_t* data);
    const Pool* pool_at(uint64_t address, uint64_t bytes) const;

    Device& device_;
    bool import_;
    std::vector<Pool> pools_;
    std::vector<Write> writes_;                // that the GPU has not passed yet, oldest first
    static constexpr size_t kMaxWrites = 8192; // then everything counts as written
    bool everything_ = false;
    uint64_t everything_fence_ = 0;
};

} // namespace dmsh::replay::vulkan
