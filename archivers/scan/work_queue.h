// WorkQueue: the scan's workers, over files and over the members and ranges of large files.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace dmsh {

// Workers take offered tasks before new files, so that a large file's decoded members are gone before the next
// one is opened. Few tasks wait at a time: who offers one too many does it alone.
class WorkQueue {
  public:
    using Task = std::function<void()>;

    explicit WorkQueue(unsigned workers) : workers_(workers) {}
    unsigned workers() const { return workers_; }

    // False: enough is waiting, or there is nobody to take it; the caller does it.
    bool offer(Task task);
    // Runs `next_file` (which answers false when there is none left) and offered tasks until all is done. One
    // call is `workers` threads, this one included.
    void run(const std::function<bool()>& next_file, const std::function<void()>& watch);

    // Runs body(0..count-1), in part by other workers; returns when all are done.
    void ranges(size_t count, const std::function<void(size_t)>& body);

    // Held while something large is decoded or a large file is begun, so that no two are in memory at once.
    // A thread that holds it already, and a worker alone, pass.
    class Large {
      public:
        Large(WorkQueue* queue, uint64_t bytes);
        ~Large();
        Large(const Large&) = delete;
        Large& operator=(const Large&) = delete;

      private:
        WorkQueue* queue_ = nullptr;
    };

  private:
    bool help(); // runs one waiting task; false: there is none
    void work(const std::function<bool()>& next_file);

    unsigned workers_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> tasks_;
    size_t busy_ = 0;     // workers in a task or file
    bool files_left_ = true;
    std::mutex large_;
};

} // namespace dmsh
