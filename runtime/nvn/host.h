// Host side of the NVN objects: what is too large for, or must outlive, the records in guest memory.
#pragma once
#include "runtime/nvn/objects.h"
#include "runtime/nvn/report.h"
#include "runtime/nvn/texture_layout.h"
#include "runtime/pack/library_pack.h"
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace dmsh {
struct KeySkip;
}

namespace dmsh::nvn {

// A memory pool; addresses that the guest calls GPU addresses are the host addresses of its storage.
struct PoolInfo {
    const NVNmemoryPool* object = nullptr;
    uint8_t* memory = nullptr;
    uint64_t size = 0;
    uint32_t flags = 0;
    uint32_t serial = 0; // never reused
    bool cpu_access() const { return !(flags & NVN_MEMORY_POOL_FLAGS_CPU_NO_ACCESS); }
};

// A texture id's or sampler id's content: a copy taken at registration.
struct TextureSlot {
    BoundTexture bound;
    bool used = false;
};
struct SamplerSlot {
    SamplerDesc sampler;
    bool used = false;
};

// A shader as the pack holds it, loaded once per key and shared.
struct Shader {
    uint64_t key = 0;
    ProgramReflection reflection;
    Slice slice;
    uint32_t id = 0; // 1, 2, ... in order of loading; names the shader in pipeline keys
};

struct ProgramStage {
    bool present = false;
    Stage stage = Stage::vertex;
    uint64_t code = 0;                    // guest address of the code area
    std::vector<uint8_t> control;         // kept only while the code was in no pool yet (S-005)
    uint64_t key = 0;                     // 0 while unknown
    std::shared_ptr<const Shader> shader; // null: not in the pack (reported)
    std::vector<uint8_t> constants;       // c[1]: tail of the code area, copied when the key was taken
};

struct Program {
    uint32_t serial = 0;
    ProgramStage stages[kStageCount];
};

// What runs recorded commands. The replay implements it; nvn only calls it. All calls are made under
// submit_lock().
class Executor {
  public:
    virtual ~Executor() = default;
    virtual void pool_added(const PoolInfo& pool) = 0;
    virtual void pool_removed(const PoolInfo& pool) = 0;
    virtual void queue_added(uint32_t serial) = 0;
    virtual void queue_removed(uint32_t serial) = 0;
    virtual void program_removed(uint32_t serial) = 0;
    // Runs the lists that `handles` name, in order.
    virtual void submit(uint32_t queue, const NVNcommandHandle* handles, int count) = 0;
    // Starts everything submitted so far and answers the fence behind it (1, 2, ...).
    virtual uint64_t flush() = 0;
    // Waits for a fence; false when `timeout_ns` passed first.
    virtual bool wait(uint64_t fence, uint64_t timeout_ns) = 0;
    // Copies a box of a texture whose content may be newer than its storage into the storage.
    virtual void store_texture(const TextureDesc& texture) = 0;
};

// The process's NVN host. One exists; tests reset it.
class Host {
  public:
    static Host& get();

    // Forgets all objects and settings. Only while no guest runs.
    void reset();
    void set_executor(Executor* executor);
    Executor* executor() const { return executor_; }
    // Packs are searched in the order of their addition.
    void add_library(LibraryPack pack);
    void set_key_skip(KeySkip skip);
    void set_api_version(int major, int minor);

    std::recursive_mutex& submit_lock() { return submit_lock_; }

    // Memory pools. Look-ups answer nothing for addresses and objects that are unknown.
    void add_pool(const NVNmemoryPool* object);
    void remove_pool(const NVNmemoryPool* object);
    std::optional<PoolInfo> pool(const NVNmemoryPool* object) const;
    std::optional<PoolInfo> pool_at(uint64_t address, uint64_t bytes = 1) const;

    // Programs. `find_program` resolves late code; shared so that a finalise cannot take it from under a
    // replay.
    uint32_t add_program();
    void remove_program(uint32_t serial);
    bool set_shaders(uint32_t serial, int count, const NVNshaderData* data);
    std::shared_ptr<const Program> find_program(uint32_t serial);

    // Texture and sampler pools by serial (their own spaces, from 1).
    uint32_t add_texture_pool(int count);
    void remove_texture_pool(uint32_t serial);
    void set_texture(uint32_t serial, int id, const TextureSlot& slot);
    std::optional<TextureSlot> texture(uint32_t serial, uint32_t id) const;
    uint32_t add_sampler_pool(int count);
    void remove_sampler_pool(uint32_t serial);
    void set_sampler(uint32_t serial, int id, const SamplerSlot& slot);
    std::optional<SamplerSlot> sampler(uint32_t serial, uint32_t id) const;

    uint32_t next_serial();

    // Command memory lent to recordings that overflowed (rules 112, 113).
    uint8_t* lend_segment(uint64_t bytes, const NVNcommandBuffer* owner, uint32_t recording_id);
    uint8_t* lend_control(uint64_t bytes);
    bool is_lent(uint64_t address, uint64_t bytes) const;
    // The guest bytes [from, from + bytes) were recorded over by `recording_id`: frees segments of older
    // recordings there.
    void recorded_over(const uint8_t* from, uint64_t bytes, uint32_t recording_id);
    // Names the guest bytes that the recording with lent segments occupies.
    void note_guest_bytes(uint32_t recording_id, const uint8_t* from, uint64_t bytes);
    uint64_t lent_bytes() const { return lent_bytes_.load(std::memory_order_relaxed); }

    int window_origin = NVN_WINDOW_ORIGIN_MODE_LOWER_LEFT;
    int depth_mode = NVN_DEPTH_MODE_NEAR_IS_MINUS_W;
    GobOrder gob_order = GobOrder::tegra_x1;
    int api_major = 55, api_minor = 15;

  private:
    struct Lent {
        std::unique_ptr<uint8_t[]> memory;
        uint64_t size = 0;
        uint32_t recording = 0;
        const uint8_t* guest_from = nullptr;
        uint64_t guest_bytes = 0;
    };

    std::shared_ptr<const Shader> load_shader(uint64_t key, Stage stage, uint64_t code);
    bool take_key(ProgramStage& stage, const uint8_t* control, size_t control_bytes);

    Executor* executor_ = nullptr;
    std::recursive_mutex submit_lock_;
    mutable std::shared_mutex pools_lock_;
    std::vector<PoolInfo> pools_; // by address
    mutable std::shared_mutex programs_lock_;
    std::unordered_map<uint32_t, std::shared_ptr<Program>> programs_;
    std::mutex shaders_lock_;
    std::unordered_map<uint64_t, std::shared_ptr<const Shader>> shaders_; // null: a miss that was reported
    std::vector<LibraryPack> libraries_;
    mutable std::shared_mutex ids_lock_;
    std::unordered_map<uint32_t, std::vector<TextureSlot>> texture_pools_;
    std::unordered_map<uint32_t, std::vector<SamplerSlot>> sampler_pools_;
    std::atomic<uint32_t> serial_{0};
    mutable std::mutex lent_lock_;
    std::vector<Lent> lent_;
    std::vector<std::unique_ptr<uint8_t[]>> lent_control_;
    std::atomic<uint64_t> lent_bytes_{0};
    uint32_t skip_offset_ = 0, skip_length_ = 0;
};

// A bound texture with every override resolved and clamped to what the texture has.
struct ResolvedView {
    uint32_t base_level = 0, level_count = 1, base_layer = 0, layer_count = 1;
    uint8_t format = 0, target = 0, stencil_mode = 0;
    uint16_t swizzle = kIdentitySwizzle;
};
ResolvedView resolve_view(const BoundTexture& bound);
// The layout of a description; errors name what is wrong with it.
Result<TextureLayout> layout_of(const TextureDesc& texture);
// Layers of a texture: 1 for plain ones, 6 per cube.
uint32_t layer_count(const TextureDesc& texture);

} // namespace dmsh::nvn
