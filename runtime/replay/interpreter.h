// Runs command records on a backend, queue by queue: a queue that waits parks, the others go on.
#pragma once
#include "runtime/replay/bindings.h"
#include "runtime/replay/receipts.h"
#include <condition_variable>
#include <deque>
#include <unordered_map>

namespace dmsh::replay {

// Counted per process for tests and reports.
struct ReplayCounts {
    uint64_t records = 0, draws = 0, dispatches = 0, skipped = 0, parked = 0;
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
    void flush() override { flush_backend(); }
    void store_texture(const nvn::TextureDesc& texture) override { backend_.store_texture(texture); }
    uint64_t fence_receipt(uint32_t queue) override;
    void wait_receipt(uint32_t queue, uint64_t receipt) override;
    bool receipt_done(uint64_t receipt) override;
    uint64_t present(uint32_t queue, const nvn::Present& present) override;
    void publish_signals() override;
    void advance() override;
    bool await_receipt(uint64_t receipt, uint64_t timeout_ns) override;
    void finish(uint32_t queue) override;

    // Runs records at [records, records + bytes): any bytes are safe. False at damage (reported). Waits in them
    // do not wait.
    bool run(QueueState& state, const uint8_t* records, size_t bytes);
    const ReplayCounts& counts() const { return counts_; }
    // The state of a queue; nullptr if it is unknown.
    QueueState* state(uint32_t queue);

  private:
    // Work of a parked queue, in order.
    struct Pending {
        enum class Kind : uint8_t { records, receipt, wait, present, forget_program } kind;
        uint64_t receipt = 0; // receipt, present: to resolve; wait: to wait for
        uint32_t program = 0;
        nvn::Present present;
        std::vector<uint8_t> records; // copied at submission: the guest may reuse its memory
        size_t at = 0;
        std::deque<uint64_t> syncs; // receipts of the syncs that the records fence and wait for, in order
        std::vector<std::shared_ptr<const nvn::Program>> programs; // that the records bind
    };
    struct Queue {
        QueueState state;
        std::deque<Pending> backlog;
    };

    Queue& queue(uint32_t serial);
    uint64_t flush_backend();
    // Runs until the end, damage or a wait that does not pass; `at` is where it stopped.
    enum class Stop : uint8_t { end, damage, blocked };
    Stop run(QueueState& state, const uint8_t* records, size_t bytes, size_t& at);
    Pending copy_records(const uint8_t* records, size_t bytes);
    bool drain(Queue& queue);
    void resolve(uint64_t receipt);
    // The waits and syncs among the records; true when the record is done, else blocked_ is set.
    bool execute_sync(nvn::Op op, const uint8_t* record, size_t bytes);
    std::shared_ptr<const nvn::Program> bound_program(uint32_t serial);

    bool execute(QueueState& state, nvn::Op op, const uint8_t* record, size_t bytes);
    // Records whose parameters or results lie in GPU memory (gpu_commands.cpp).
    bool execute_gpu(QueueState& state, nvn::Op op, const uint8_t* record, size_t bytes);
    DrawCall& fresh_call();
    void draw(QueueState& state, DrawCall& call, NVNdrawPrimitive primitive);
    void dispatch(QueueState& state, DispatchCall& call);

    Backend& backend_;
    std::unordered_map<uint32_t, std::unique_ptr<Queue>> queues_;
    Receipts receipts_;
    Signals signals_;
    Pending* resumed_ = nullptr; // the parked records that run now
    bool waits_ = false;         // waits may block: a queue runs
    bool blocked_ = false;
    // The key of the last draw, kept while nothing that decides it changes.
    struct {
        uint64_t changes = ~uint64_t{0};
        std::array<uint32_t, 8> ids{};
        uint32_t vertex_inputs = 0;
        uint32_t samples = 1; // of the targets
        NVNdrawPrimitive primitive = NVN_DRAW_PRIMITIVE_POINTS;
        bool depth_zero = false;
        PipelineKey key;
    } last_key_;
    std::condition_variable_any progress_; // with Host::submit_lock()
    DrawCall call_; // fresh_call()'s
    std::vector<Resource> resources_;
    Scratch scratch_;
    ReplayCounts counts_;
};

} // namespace dmsh::replay
