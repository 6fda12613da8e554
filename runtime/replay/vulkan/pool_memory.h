// Guest memory pools as Vulkan buffers. The one place that decides: in place where the device imports host
// memory, else a copy that is brought up to date around submissions.
#pragma once
#include "runtime/nvn/host.h"
#include "runtime/replay/vulkan/device.h"
#include <functional>

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
    // The device's address of a pool's first byte; 0: none.
    uint64_t device_address(const nvn::PoolInfo& pool) const;
    // The buffer behind guest bytes; false if they are in no pool.
    bool find(uint64_t address, uint64_t bytes, Place& out) const;
    // The GPU writes these bytes in the current batch.
    void note_write(uint64_t address, uint64_t bytes) { note(address, bytes, nullptr); }
    // The same with bytes that the CPU knows already: `data` lives until the batch is over.
    void note_update(uint64_t address, uint64_t bytes, const uint8_t* data) { note(address, bytes, data); }
    // Raw stores may reach every pool in the current batch; which they did is known once it is over.
    void note_raw_writes();
    // Guest bytes as the commands given so far leave them, where the CPU can tell without the GPU. False: the
    // GPU writes some of them, so wait and `settle` first.
    bool read(uint64_t address, void* out, uint64_t bytes) const;
    // The GPU has passed `fence`: its writes are in guest memory.
    void settle(uint64_t fence);
    // Copies: guest bytes to the GPU before, written ranges back after (which waits). Nothing to do in place.
    void before_submit();
    // `raw`: calls its argument with the pools that raw stores reached; called when the GPU is done.
    using Visit = std::function<void(const nvn::PoolInfo&)>;
    void after_submit(uint64_t fence, const std::function<void(const Visit&)>& raw);
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
    void copy_back(const Pool& pool);
    bool everything_ = false; // the list is not complete
    bool raw_ = false;        // raw stores: their logs complete it
    uint64_t everything_fence_ = 0, raw_fence_ = 0;
};

} // namespace dmsh::replay::vulkan
