// Host side of the NVN objects: what is too large for, or must outlive, the records in guest memory.
#pragma once
#include "runtime/nvn/id_pool.h"
#include "runtime/nvn/objects.h"
#include "runtime/nvn/page_alias.h"
#include "runtime/nvn/report.h"
#include "runtime/nvn/shader_loader.h"
#include "runtime/nvn/texture_layout.h"
#include "runtime/nvn/virtual_pool.h"
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>
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
    bool is_virtual() const { return flags & NVN_MEMORY_POOL_FLAGS_VIRTUAL; }
    bool cpu_access() const { return !(flags & NVN_MEMORY_POOL_FLAGS_CPU_NO_ACCESS); }
};

// What the guest's SDK decides: answers to version queries, the texture piece order of its machine.
struct Sdk {
    bool nvn2 = false;
    int api_major = 55, api_minor = 15;
    int code_minor = 16; // newest GPU code minor version
};
// By SDK version: NVN 53.313 up to SDK 10, 55.15 later; NVN2 231.30 up to SDK 21.3, 231.39 later.
Sdk sdk_of(bool nvn2, int major, int minor);

// A texture id's or sampler id's content: a copy taken at registration.
struct TextureSlot {
    BoundTexture bound;
    bool used = false;
};
struct SamplerSlot {
    SamplerDesc sampler;
    bool used = false;
};

struct ProgramStage {
    bool present = false;
    Stage stage = Stage::vertex;
    uint64_t code = 0;                    // guest address of the code area
    std::vector<uint8_t> control;         // kept only while the code was in no pool yet (S-005)
    uint64_t key = 0;                     // 0 while unknown
    bool loading = false;                 // the key is known, `shader` not yet: find_program waits for it
    std::shared_ptr<const Shader> shader; // null: not in the pack (reported)
    std::vector<uint8_t> constants;       // c[1]: tail of the code area, copied when the key was taken
    bool unresolved() const { return present && (loading || !control.empty()); }
};

struct Program {
    uint32_t serial = 0;
    int sample_shading = NVN_SAMPLE_SHADING_MODE_DEFAULT_FRAGMENT;
    ProgramStage stages[kStageCount];
};

// A swapchain: the textures take turns.
struct Window {
    std::array<TextureDesc, 4> textures;
    std::array<uint64_t, 4> presented{}; // receipt behind the last present of each
    int count = 0, active = 0, next = 0;
};

struct Present {
    uint32_t window = 0; // serial
    int interval = 1;
    TextureDesc texture;
    NVNrectangle crop{};
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
    // Starts everything submitted so far.
    virtual void flush() = 0;
    // Copies a box of a texture whose content may be newer than its storage into the storage.
    virtual void store_texture(const TextureDesc& texture) = 0;

    // Receipts (1, 2, ...) stand for points in a queue's work. A queue may be parked behind an event or
    // another queue, so a receipt exists before the GPU's own fence does.
    virtual uint64_t fence_receipt(uint32_t queue) = 0;              // behind the work submitted so far
    virtual void wait_receipt(uint32_t queue, uint64_t receipt) = 0; // later work of the queue waits
    virtual bool receipt_done(uint64_t receipt) = 0;
    virtual uint64_t present(uint32_t queue,
                             const Present& present) = 0; // in queue order; the receipt behind it
    // Applies the signals of events that are complete, in order.
    virtual void publish_signals() = 0;
    // Runs parked work that became ready.
    virtual void advance() = 0;

    // These two wait on the CPU and are called without submit_lock().
    virtual bool await_receipt(uint64_t receipt, uint64_t timeout_ns) = 0;
    virtual void finish(uint32_t queue) = 0;
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
    // Versions and the piece order of the machine that this SDK is for.
    void set_sdk(const Sdk& sdk);

    std::recursive_mutex& submit_lock() { return submit_lock_; }

    // Memory pools. Look-ups answer nothing for addresses and objects that are unknown.
    // False (reported): a virtual pool for which the host has no range.
    bool add_pool(const NVNmemoryPool* object);
    void remove_pool(const NVNmemoryPool* object);
    std::optional<PoolInfo> pool(const NVNmemoryPool* object) const;
    std::optional<PoolInfo> pool_at(uint64_t address, uint64_t bytes = 1) const;
    // The guest was given a GPU address of `object`, here `address`: raw accesses may reach that pool (B-061).
    void address_taken(const NVNmemoryPool* object, uint64_t address);
    // Pools, and mapped runs of virtual ones, of which an address is out, by address. The number changes with every
    // change of pools or of what is out.
    std::vector<PoolInfo> addressed_pools() const;
    uint64_t pools_generation() const { return pools_generation_.load(std::memory_order_relaxed); }
    // pool_at() as a yes or no, with a memory of the last ranges that it found. Under submit_lock().
    bool covers(uint64_t address, uint64_t bytes) {
        for (const Covered& c : covered_)
            if (address >= c.from && address < c.to && bytes <= c.to - address &&
                c.generation == pools_generation_.load(std::memory_order_relaxed))
                return true;
        return cover(address, bytes);
    }

    // Virtual pools: a reserved range whose pages requests map from physical pools. Mapped runs are pools of their
    // own for look-ups and for the replay; pool() of the object answers the whole range, and from then on its
    // addresses are out and stay as they are.
    bool map_virtual(const NVNmemoryPool* object, int count, const NVNmappingRequest* requests);
    // True for addresses of a virtual pool's range, mapped or not: what is not mapped reads zeros.
    bool in_reservation(uint64_t address) const;
    // Bytes of pools and of virtual ranges; holes read zeros and drop stores. False: elsewhere.
    bool read_guest(uint64_t address, void* out, uint64_t bytes) const;
    bool write_guest(uint64_t address, const void* data, uint64_t bytes) const;

    // Programs. `find_program` resolves late code; shared so that a finalise cannot take it from under a
    // replay.
    uint32_t add_program();
    void remove_program(uint32_t serial);
    bool set_shaders(uint32_t serial, int count, const NVNshaderData* data);
    std::shared_ptr<const Program> find_program(uint32_t serial);
    bool set_sample_shading(uint32_t serial, int mode);

    // Texture and sampler pools by serial (their own spaces, from 1).
    uint32_t add_texture_pool(int count);
    void remove_texture_pool(uint32_t serial);
    void set_texture(uint32_t serial, int id, const TextureSlot& slot);
    std::optional<TextureSlot> texture(uint32_t serial, uint32_t id) const;
    uint32_t add_sampler_pool(int count);
    void remove_sampler_pool(uint32_t serial);
    void set_sampler(uint32_t serial, int id, const SamplerSlot& slot);
    std::optional<SamplerSlot> sampler(uint32_t serial, uint32_t id) const;
    // Whether the id lies past the end of a pool that exists: an empty slot, no error (rule 64).
    bool past_texture_pool(uint32_t serial, uint32_t id) const;
    bool past_sampler_pool(uint32_t serial, uint32_t id) const;
    // What of a pool's ids is new to a copy of it (IdPool::changes). False: no such pool.
    bool texture_changes(uint32_t serial, IdChanges& changes) const;
    bool sampler_changes(uint32_t serial, IdChanges& changes) const;

    // Shaders by key; programs ask for theirs when they are made.
    ShaderLoader& shaders() { return shaders_; }

    uint32_t next_serial();

    // Windows by serial; `change` runs under their lock. False: unknown.
    uint32_t add_window(const Window& window);
    void remove_window(uint32_t serial);
    bool change_window(uint32_t serial, const std::function<void(Window&)>& change);
    // Address of the event's value; 0 (reported) for what is no event in a pool.
    uint64_t event_address(const NVNevent* event) const;

    // Live objects by NVNdebugObjectType, for nvnDeviceWalkDebugDatabase.
    void track(NVNdebugObjectType type, const void* object);
    void untrack(NVNdebugObjectType type, const void* object);
    std::vector<const void*> tracked(NVNdebugObjectType type) const;

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
    // How long nvnQueueFinish waits for work that is parked behind an event before it gives up (reported).
    uint64_t stall_limit_ns = uint64_t{3600} * 1000000000;
    Sdk sdk;

  private:
    struct Lent {
        std::unique_ptr<uint8_t[]> memory;
        uint64_t size = 0;
        uint32_t recording = 0;
        const uint8_t* guest_from = nullptr;
        uint64_t guest_bytes = 0;
    };

    struct VirtualPool {
        enum class Kind : uint8_t { fresh, alias, sparse };
        PoolInfo info; // the whole range
        uint8_t* base = nullptr;
        Kind kind = Kind::fresh;
        std::atomic<bool> leaked{false}; // an address of the range is out
        uint32_t alias_of = 0;           // serial of the physical pool
        PageTable table;
        size_t run_count = 0, reported_runs = 0;
    };
    // A range in which pool_at() found something, while no pool changed since.
    struct Covered {
        uint64_t generation = 0, from = 0, to = 0;
    };
    bool add_virtual(const NVNmemoryPool* object);
    void remove_virtual(const NVNmemoryPool* object);
    VirtualPool* virtual_pool(const NVNmemoryPool* object) const;
    bool map_pages(VirtualPool& pool, const NVNmappingRequest& request);
    void replace_runs(VirtualPool& pool, PageTable::Span span, const std::vector<PageTable::Span>& runs);
    SharedPages* shared_pages(const PoolInfo& pool);
    template <class F>
    bool for_mapped(uint64_t address, uint64_t bytes, F each) const;
    bool cover(uint64_t address, uint64_t bytes);

    bool take_key(ProgramStage& stage, const uint8_t* control, size_t control_bytes);

    Executor* executor_ = nullptr;
    std::recursive_mutex submit_lock_;
    mutable std::shared_mutex pools_lock_;
    std::vector<PoolInfo> pools_; // by address
    std::unordered_map<const NVNmemoryPool*, PoolInfo> physical_; // the same without virtual pools' runs
    std::unordered_set<const NVNmemoryPool*> addressed_;
    std::vector<std::unique_ptr<VirtualPool>> virtual_pools_;
    std::unordered_map<uint32_t, std::unique_ptr<SharedPages>> shared_pages_; // by serial of the physical pool
    std::atomic<uint64_t> pools_generation_{1};
    std::array<Covered, 4> covered_{};
    uint32_t covered_next_ = 0;
    uint64_t mapping_generation_ = 0;
    mutable std::shared_mutex programs_lock_;
    std::unordered_map<uint32_t, std::shared_ptr<Program>> programs_;
    ShaderLoader shaders_;
    mutable std::shared_mutex ids_lock_;
    std::unordered_map<uint32_t, IdPool<TextureSlot>> texture_pools_;
    std::unordered_map<uint32_t, IdPool<SamplerSlot>> sampler_pools_;
    std::atomic<uint32_t> serial_{0};
    mutable std::mutex lent_lock_;
    std::vector<Lent> lent_;
    std::vector<std::unique_ptr<uint8_t[]>> lent_control_;
    std::atomic<uint64_t> lent_bytes_{0};
    mutable std::mutex windows_lock_;
    std::unordered_map<uint32_t, Window> windows_;
    mutable std::mutex tracked_lock_;
    std::unordered_map<int, std::set<const void*>> tracked_;
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
