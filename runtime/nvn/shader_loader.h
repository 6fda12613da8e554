// Loads the shaders of library packs by key: in the background from the moment a program is made, once per
// key.
#pragma once
#include "runtime/abi/stage.h"
#include "runtime/pack/library_pack.h"
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace dmsh::nvn {

// A shader as the pack holds it, loaded once per key and shared.
struct Shader {
    uint64_t key = 0;
    ProgramReflection reflection;
    Slice slice;
    uint32_t id = 0; // 1, 2, ... in order of loading; names the shader in pipeline keys
};

// All members may be called from any thread.
class ShaderLoader {
  public:
    ShaderLoader() = default;
    ~ShaderLoader() { reset(); }

    // Packs are searched in the order of their addition.
    void add(LibraryPack pack);
    // Begins to load a key that was not asked for yet; returns at once.
    void request(uint64_t key, Stage stage, uint64_t code);
    // The shader of a requested key. Loads it here if the worker has not begun, waits if it has (P-013).
    // Null: no pack has it, or its entry is damaged; said once per key.
    std::shared_ptr<const Shader> take(uint64_t key);
    // Ends the worker and forgets packs and shaders.
    void reset();

    // For reports and tests.
    uint64_t loaded_in_background() const { return background_.load(std::memory_order_relaxed); }
    uint64_t missing() const { return missing_.load(std::memory_order_relaxed); }

  private:
    enum class State : uint8_t { waiting, loading, done };
    struct Entry {
        State state = State::waiting;
        Stage stage = Stage::vertex;
        uint64_t code = 0; // for the report
        std::shared_ptr<const Shader> shader;
    };
    void work();
    // With the lock held: takes the entry out of `waiting`, loads outside of the lock, publishes.
    void load(std::unique_lock<std::mutex>& hold, uint64_t key, Entry& entry);
    std::shared_ptr<Shader> read(uint64_t key, Stage stage, uint64_t code);

    std::mutex lock_;
    std::condition_variable changed_;
    std::unordered_map<uint64_t, std::unique_ptr<Entry>> entries_;
    std::deque<uint64_t> queue_;
    std::vector<LibraryPack> packs_; // grows only before the first request
    std::thread worker_;
    bool stop_ = false;
    uint32_t next_id_ = 1;
    std::atomic<uint64_t> background_{0}, missing_{0};
};

} // namespace dmsh::nvn
