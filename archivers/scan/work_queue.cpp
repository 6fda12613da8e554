// Hands out files and tasks.
#include "archivers/scan/work_queue.h"
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace dmsh {
namespace {

constexpr size_t kWaiting = 4;               // tasks a worker that may wait
constexpr uint64_t kLargeBytes = 8ull << 20; // from here one at a time

thread_local unsigned large_depth = 0;

} // namespace

bool WorkQueue::offer(Task task) {
    {
        const std::lock_guard lock(mutex_);
        if (workers_ < 2 || tasks_.size() >= kWaiting * workers_)
            return false;
        tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
    return true;
}

bool WorkQueue::help() {
    Task task;
    {
        const std::lock_guard lock(mutex_);
        if (tasks_.empty())
            return false;
        task = std::move(tasks_.front());
        tasks_.pop_front();
    }
    task(); // its caller counts as busy already
    return true;
}

void WorkQueue::work(const std::function<bool()>& next_file) {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (!tasks_.empty()) {
            Task task = std::move(tasks_.front());
            tasks_.pop_front();
            ++busy_;
            lock.unlock();
            task();
            task = nullptr; // what it holds goes before the lock comes
            lock.lock();
            --busy_;
        } else if (files_left_) {
            ++busy_;
            lock.unlock();
            const bool any = next_file();
            lock.lock();
            --busy_;
            files_left_ = files_left_ && any;
        } else if (busy_) {
            changed_.wait(lock);
            continue;
        } else {
            break;
        }
        if (!busy_ || !files_left_)
            changed_.notify_all();
    }
}

void WorkQueue::run(const std::function<bool()>& next_file, const std::function<void()>& watch) {
    files_left_ = true;
    if (workers_ < 2 && !watch)
        return work(next_file);
    std::atomic<size_t> running{workers_};
    std::mutex mutex;
    std::condition_variable ended;
    std::vector<std::thread> pool;
    for (unsigned i = 0; i < workers_; ++i)
        pool.emplace_back([&] {
            work(next_file);
            const std::lock_guard lock(mutex);
            --running;
            ended.notify_one();
        });
    {
        std::unique_lock lock(mutex);
        while (running) {
            ended.wait_for(lock, std::chrono::milliseconds(250));
            if (watch)
                watch();
        }
    }
    for (std::thread& t : pool)
        t.join();
}

void WorkQueue::ranges(size_t count, const std::function<void(size_t)>& body) {
    struct State {
        std::atomic<size_t> next{0};
        std::mutex mutex;
        std::condition_variable ended;
        size_t done = 0;
    };
    const auto state = std::make_shared<State>();
    const auto work = [state, count, &body] {
        size_t mine = 0;
        for (size_t i; (i = state->next.fetch_add(1)) < count; ++mine)
            body(i);
        const std::lock_guard lock(state->mutex);
        if ((state->done += mine) == count)
            state->ended.notify_all();
    };
    // A helper that comes when all is taken does not touch `body`, which may be gone by then.
    for (unsigned i = 1; i < workers_ && i < count; ++i)
        if (!offer(work))
            break;
    work();
    std::unique_lock lock(state->mutex);
    state->ended.wait(lock, [&] { return state->done == count; });
}

WorkQueue::Large::Large(WorkQueue* queue, uint64_t bytes) {
    if (!queue || queue->workers_ < 2 || bytes < kLargeBytes)
        return;
    queue_ = queue;
    if (large_depth == 0)
        while (!queue_->large_.try_lock())
            if (!queue_->help())
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++large_depth;
}

WorkQueue::Large::~Large() {
    if (queue_ && --large_depth == 0)
        queue_->large_.unlock();
}

} // namespace dmsh
