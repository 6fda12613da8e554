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
    void note_write(uint64_t address, uint64_t bytes);
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
    };
    const Pool* pool_at(uint64_t address, uint64_t bytes) const;

    Device& device_;
    bool import_;
    std::vector<Pool> pools_;
    std::vector<Write> writes_; // of copied pools
};

} // namespace dmsh::replay::vulkan
