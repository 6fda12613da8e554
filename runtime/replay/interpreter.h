// Runs command records on a backend.
#pragma once
#include "runtime/replay/bindings.h"
#include <unordered_map>

namespace dmsh::replay {

// Counted per process for tests and reports.
struct ReplayCounts {
    uint64_t records = 0, draws = 0, dispatches = 0, skipped = 0;
};

class Interpreter final : public nvn::Executor {
  public:
    explicit Interpreter(Backend& backend);
    ~Interpreter() override;

    void pool_added(const nvn::PoolInfo& pool) override { backend_.pool_added(pool); }
    void pool_removed(const nvn::PoolInfo& pool) override;
    void queue_added(uint32_t serial) override;
    void queue_removed(uint32_t serial) override;
    void program_removed(uint32_t serial) override;
    void submit(uint32_t queue, const NVNcommandHandle* handles, int count) override;
    uint64_t flush() override { return backend_.flush(); }
    bool wait(uint64_t fence, uint64_t timeout_ns) override { return backend_.wait(fence, timeout_ns); }
    void store_texture(const nvn::TextureDesc& texture) override { backend_.store_texture(texture); }

    // Runs records at [records, records + bytes): any bytes are safe. False at damage (reported).
    bool run(QueueState& state, const uint8_t* records, size_t bytes);
    const ReplayCounts& counts() const { return counts_; }
    // The state of a queue; nullptr if it is unknown.
    QueueState* state(uint32_t queue);

  private:
    bool execute(QueueState& state, nvn::Op op, const uint8_t* record, size_t bytes);
    // Records whose parameters or results lie in GPU memory (gpu_commands.cpp).
    bool execute_gpu(QueueState& state, nvn::Op op, const uint8_t* record, size_t bytes);
    void draw(QueueState& state, DrawCall& call, NVNdrawPrimitive primitive);
    void dispatch(QueueState& state, DispatchCall& call);

    Backend& backend_;
    std::unordered_map<uint32_t, std::unique_ptr<QueueState>> queues_;
    std::vector<Resource> resources_;
    Scratch scratch_;
    ReplayCounts counts_;
};

} // namespace dmsh::replay
