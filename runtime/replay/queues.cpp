// The interpreter's queues: submissions, parking behind events and syncs, receipts, presents.
#include "runtime/nvn/recorder.h"
#include "runtime/nvn/safe_memory.h"
#include "runtime/replay/interpreter.h"
#include "runtime/replay/record_reader.h"
#include <chrono>

namespace dmsh::replay {

using nvn::Host;
using nvn::Op;
using nvn::Report;
using nvn::report;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kPoll = std::chrono::milliseconds(1); // values of events also change by plain stores
constexpr uint64_t kStallReport = 1000000000;        // ns

uint64_t since(Clock::time_point start) {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

// The sync that a record names, if its memory still looks like one.
NVNsync* sync_at(uint64_t address) {
    NVNsync* sync = reinterpret_cast<NVNsync*>(address);
    uint32_t magic = 0;
    if (address % alignof(NVNsync) || nvn::safe_read(address, &magic, 4) != 4 || magic != nvn::kSyncMagic) {
        report(Report::bad_object, "sync at 0x%llx", static_cast<unsigned long long>(address));
        return nullptr;
    }
    return sync;
}

bool passes(uint32_t mode, uint32_t current, uint32_t target) {
    return mode == NVN_EVENT_WAIT_MODE_EQUAL ? current == target : current - target < 0x80000000u;
}

} // namespace

Interpreter::Queue& Interpreter::queue(uint32_t serial) {
    auto& q = queues_[serial];
    if (!q) // made before this executor was installed
        q = std::make_unique<Queue>();
    return *q;
}

QueueState* Interpreter::state(uint32_t serial) {
    const auto it = queues_.find(serial);
    return it == queues_.end() ? nullptr : &it->second->state;
}

void Interpreter::queue_added(uint32_t serial) {
    queues_[serial] = std::make_unique<Queue>();
}

// Work that is still parked is dropped; who waits for it does not wait any longer.
void Interpreter::queue_removed(uint32_t serial) {
    const auto it = queues_.find(serial);
    if (it == queues_.end())
        return;
    drain(*it->second);
    if (!it->second->backlog.empty())
        report(Report::stalled, "queue %u is finalised with %zu parked pieces of work", serial,
               it->second->backlog.size());
    const uint64_t fence = flush_backend();
    for (const Pending& p : it->second->backlog) {
        if (p.kind == Pending::Kind::receipt || p.kind == Pending::Kind::present)
            receipts_.resolve(p.receipt, fence);
        for (const uint64_t receipt : p.syncs)
            if (!receipts_.resolved(receipt))
                receipts_.resolve(receipt, fence);
    }
    backend_.wait(fence, ~uint64_t{0});
    queues_.erase(it);
    progress_.notify_all();
}

void Interpreter::program_removed(uint32_t serial) {
    for (auto& [id, q] : queues_) {
        if (!q->backlog.empty()) { // parked work may still draw with it
            Pending p{};
            p.kind = Pending::Kind::forget_program;
            p.program = serial;
            q->backlog.push_back(std::move(p));
            continue;
        }
        for (auto& p : q->state.programs)
            if (p && p->serial == serial)
                p.reset();
    }
}

uint64_t Interpreter::flush_backend() {
    const uint64_t fence = backend_.flush();
    signals_.flushed(fence);
    return fence;
}

void Interpreter::resolve(uint64_t receipt) {
    receipts_.resolve(receipt, flush_backend());
    progress_.notify_all();
}

std::shared_ptr<const nvn::Program> Interpreter::bound_program(uint32_t serial) {
    if (resumed_)
        for (const auto& p : resumed_->programs)
            if (p->serial == serial)
                return p;
    return Host::get().find_program(serial);
}

// A copy of records for later; the syncs that they fence are armed now.
Interpreter::Pending Interpreter::copy_records(const uint8_t* records, size_t bytes) {
    Pending p{};
    p.kind = Pending::Kind::records;
    p.records.assign(records, records + bytes);
    ++counts_.parked;
    for (size_t at = 0; at + sizeof(nvn::RecordHeader) <= p.records.size();) {
        nvn::RecordHeader h;
        std::memcpy(&h, p.records.data() + at, sizeof h);
        const size_t n = size_t{h.words} * 4, left = p.records.size() - at;
        if (n < sizeof h || n > left)
            break; // reported when it runs
        const uint8_t* record = p.records.data() + at;
        if (h.op == static_cast<uint16_t>(Op::fence_sync) || h.op == static_cast<uint16_t>(Op::wait_sync)) {
            nvn::SyncRecord r;
            NVNsync* sync = get(r, record, n) ? sync_at(r.sync.value()) : nullptr;
            uint64_t receipt = 0;
            if (sync && h.op == static_cast<uint16_t>(Op::fence_sync)) {
                receipt = receipts_.add();
                sync->fence.store(receipt, std::memory_order_release);
            } else if (sync) {
                receipt = sync->fence.load(std::memory_order_acquire);
            }
            p.syncs.push_back(receipt);
        } else if (h.op == static_cast<uint16_t>(Op::bind_program)) {
            nvn::BindProgramRecord r;
            if (get(r, record, n) && r.serial)
                if (auto program = Host::get().find_program(r.serial))
                    p.programs.push_back(std::move(program));
        }
        at += n;
    }
    return p;
}

bool Interpreter::execute_sync(Op op, const uint8_t* record, size_t bytes) {
    if (op == Op::wait_event || op == Op::signal_event) {
        nvn::EventRecord r;
        if (!get(r, record, bytes) || r.mode > 1)
            return false;
        const uint64_t address = r.address.value();
        if (address % 4 || !in_pool(address, 4, "event"))
            return true;
        if (op == Op::signal_event) {
            signals_.add(address, r.mode, r.value);
            return true;
        }
        if (!waits_)
            return true;
        signals_.publish();
        uint32_t value = 0;
        blocked_ = !(signals_.value(address, value) && passes(r.mode, value, r.value));
        return true;
    }
    nvn::SyncRecord r;
    if (!get(r, record, bytes))
        return false;
    if (op == Op::wait_sync) {
        uint64_t receipt = 0;
        if (resumed_ && !resumed_->syncs.empty())
            receipt = resumed_->syncs.front();
        else if (NVNsync* sync = sync_at(r.sync.value()))
            receipt = sync->fence.load(std::memory_order_acquire);
        // One GPU queue keeps order by itself: what was given to it needs no wait.
        blocked_ = waits_ && !receipts_.resolved(receipt);
    } else if (resumed_ && !resumed_->syncs.empty()) {
        resolve(resumed_->syncs.front());
    } else if (NVNsync* sync = sync_at(r.sync.value())) {
        const uint64_t receipt = receipts_.add();
        resolve(receipt);
        sync->fence.store(receipt, std::memory_order_release);
    }
    if (!blocked_ && resumed_ && !resumed_->syncs.empty())
        resumed_->syncs.pop_front();
    return true;
}

void Interpreter::submit(uint32_t serial, const NVNcommandHandle* handles, int count) {
    Queue& q = queue(serial);
    if (!q.backlog.empty())
        advance();
    for (int i = 0; i < count; ++i)
        nvn::for_runs(handles[i], [&](uint64_t address, size_t bytes) {
            const auto* records = reinterpret_cast<const uint8_t*>(address);
            size_t at = 0;
            if (q.backlog.empty()) {
                waits_ = true;
                const Stop stop = run(q.state, records, bytes, at);
                waits_ = false;
                if (stop != Stop::blocked)
                    return true;
            }
            q.backlog.push_back(copy_records(records + at, bytes - at));
            return true;
        });
    if (queues_.size() > 1)
        advance();
}

// Runs a queue's parked work as far as it goes; true if something ran.
bool Interpreter::drain(Queue& q) {
    bool ran = false;
    while (!q.backlog.empty()) {
        Pending& p = q.backlog.front();
        switch (p.kind) {
        case Pending::Kind::records: {
            const size_t before = p.at;
            size_t at = 0;
            resumed_ = &p;
            waits_ = true;
            const Stop stop = run(q.state, p.records.data() + p.at, p.records.size() - p.at, at);
            waits_ = false;
            resumed_ = nullptr;
            p.at += at;
            ran |= p.at != before;
            if (stop == Stop::blocked)
                return ran;
            break;
        }
        case Pending::Kind::receipt: resolve(p.receipt); break;
        case Pending::Kind::wait:
            if (!receipts_.resolved(p.receipt))
                return ran;
            break;
        case Pending::Kind::present:
            backend_.present(p.present);
            resolve(p.receipt);
            break;
        case Pending::Kind::forget_program:
            for (auto& program : q.state.programs)
                if (program && program->serial == p.program)
                    program.reset();
            break;
        }
        ran = true;
        q.backlog.pop_front();
    }
    return ran;
}

void Interpreter::advance() {
    signals_.publish();
    for (bool again = true; again;) {
        again = false;
        for (auto& [serial, q] : queues_)
            if (!q->backlog.empty())
                again |= drain(*q);
    }
}

uint64_t Interpreter::fence_receipt(uint32_t serial) {
    Queue& q = queue(serial);
    const uint64_t receipt = receipts_.add();
    if (q.backlog.empty()) {
        resolve(receipt);
    } else {
        Pending p{};
        p.kind = Pending::Kind::receipt;
        p.receipt = receipt;
        q.backlog.push_back(std::move(p));
    }
    return receipt;
}

void Interpreter::wait_receipt(uint32_t serial, uint64_t receipt) {
    Queue& q = queue(serial);
    if (receipts_.resolved(receipt))
        return;
    Pending p{};
    p.kind = Pending::Kind::wait;
    p.receipt = receipt;
    q.backlog.push_back(std::move(p));
}

uint64_t Interpreter::present(uint32_t serial, const nvn::Present& present) {
    Queue& q = queue(serial);
    const uint64_t receipt = receipts_.add();
    if (q.backlog.empty()) {
        backend_.present(present);
        resolve(receipt);
    } else {
        Pending p{};
        p.kind = Pending::Kind::present;
        p.receipt = receipt;
        p.present = present;
        q.backlog.push_back(std::move(p));
    }
    return receipt;
}

bool Interpreter::receipt_done(uint64_t receipt) {
    if (!receipts_.resolved(receipt))
        advance();
    return receipts_.done(receipt);
}

void Interpreter::publish_signals() {
    if (signals_.unflushed()) // who asks for the value expects the GPU to get there
        flush_backend();
    signals_.publish();
}

// One budget: what the wait for parked work leaves is for the GPU.
bool Interpreter::await_receipt(uint64_t receipt, uint64_t timeout_ns) {
    const auto start = Clock::now();
    uint64_t fence = 0;
    {
        std::unique_lock hold(Host::get().submit_lock());
        for (;;) {
            advance();
            if (receipts_.resolved(receipt))
                break;
            if (since(start) >= timeout_ns)
                return false;
            progress_.wait_for(hold, kPoll);
        }
        fence = receipts_.fence(receipt);
    }
    const uint64_t used = since(start);
    if (fence && !backend_.wait(fence, used < timeout_ns ? timeout_ns - used : 0))
        return false;
    const std::lock_guard hold(Host::get().submit_lock());
    publish_signals();
    return true;
}

void Interpreter::finish(uint32_t serial) {
    const auto start = Clock::now();
    std::unique_lock hold(Host::get().submit_lock());
    Queue* q = &queue(serial);
    bool reported = false;
    for (;;) {
        advance();
        const auto it = queues_.find(serial); // another thread may finalise it meanwhile
        if (it == queues_.end() || it->second.get() != q)
            return;
        if (q->backlog.empty())
            break;
        const uint64_t waited = since(start);
        if (!reported && (waited >= kStallReport || waited >= Host::get().stall_limit_ns)) {
            report(Report::stalled, "queue %u: %zu pieces of work wait for an event or a sync", serial,
                   q->backlog.size());
            reported = true;
        }
        if (waited >= Host::get().stall_limit_ns) // as a GPU that hangs: the guest goes on
            return;
        progress_.wait_for(hold, kPoll);
    }
    const uint64_t fence = flush_backend();
    hold.unlock();
    backend_.wait(fence, ~uint64_t{0});
    hold.lock();
    signals_.publish();
}

} // namespace dmsh::replay
