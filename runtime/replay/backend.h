// What a backend does: draw, dispatch, clear and copy on resolved state. vulkan/, metal/ and null/ implement
// it.
#pragma once
#include "runtime/replay/pipeline_key.h"
#include "runtime/replay/pool_tables.h"
#include "runtime/replay/state.h"

namespace dmsh::replay {

enum class ResourceKind : uint8_t {
    none,          // bound to nothing: reads answer zeros, writes go nowhere
    guest_uniform, // address, size in guest memory
    host_uniform,  // data, size: copied when the call is made
    storage,       // address, size
    texture,       // texture and sampler together
    texture_only,
    sampler_only,
    image,
    texel_buffer,
    image_buffer,
    pool_table,     // pools: raw memory's table, and pool_write_log: its log; both slots of a call name one table
    pool_write_log,
    texture_pool, // id_pool: every id of a pool, whole
    sampler_pool,
};

// One element of one binding of one stage.
struct Resource {
    ResourceKind kind = ResourceKind::none;
    Stage stage = Stage::vertex;
    uint16_t binding = 0; // index in the interface
    uint16_t element = 0;
    const Binding* reflection = nullptr;
    uint64_t address = 0;
    uint32_t size = 0;
    const uint8_t* data = nullptr;
    nvn::BoundTexture texture;
    nvn::SamplerDesc sampler;
    const std::shared_ptr<const PoolTable>* pools = nullptr; // valid during the call; to be noted (PoolTables::note)
    uint32_t id_pool = 0; // serial: Host::texture_changes, Host::texture and their kin

    Resource() {} // not defaulted: a vector would clear the whole before setting each member
};

struct StageShader {
    const nvn::Shader* shader = nullptr;
};

// What a draw or dispatch uses beside its parameters.
struct BoundWork {
    std::array<StageShader, kStageCount> shaders;
    const std::vector<Resource>* resources = nullptr;
};

// Where a draw's parameters lie in guest memory; records as NVN has them, which are Vulkan's.
struct Indirect {
    uint64_t records = 0; // 0: the call's own parameters
    uint64_t count = 0;   // address of a word that bounds the number of draws; 0: max_draws
    uint32_t max_draws = 1, stride = 0;
};

struct DrawCall {
    BoundWork work;
    const PipelineKey* key = nullptr;
    const RasterState* raster = nullptr;
    const Targets* targets = nullptr;
    const std::array<Range, kMaxStreams>* vertex_buffers = nullptr;
    bool indexed = false;
    NVNindexType index_type = NVN_INDEX_TYPE_UNSIGNED_SHORT;
    uint64_t indices = 0;
    uint32_t count = 0, first = 0, instance_count = 1, base_instance = 0;
    int32_t base_vertex = 0;
    Indirect indirect;
    uint64_t feedback_counter = 0; // vertex count = the bytes at this address / the feedback stride
    bool mesh = false;             // count, first: x and base of the task groups
    uint32_t mesh_y = 1, mesh_z = 1;
};

struct DispatchCall {
    BoundWork work;
    uint32_t groups[3] = {1, 1, 1};
    uint64_t indirect = 0; // address of the three counts; 0: groups
};

struct BufferTextureCopy {
    bool to_buffer = false;
    uint64_t buffer = 0;
    nvn::BoundTexture texture;
    NVNcopyRegion region{};
    int64_t row_stride = 0, image_stride = 0; // 0: tight
};

struct TextureClear {
    nvn::BoundTexture texture;
    NVNcopyRegion region{};
    uint32_t mask = 15, type = 0; // as clear_color
    uint32_t words[4] = {};
};

struct TextureCopy {
    nvn::BoundTexture source, destination;
    NVNcopyRegion source_region{}, destination_region{};
    uint32_t flags = 0;
};

// Calls come from one thread at a time, in order. Nothing throws; what cannot be done is reported and
// skipped.
class Backend {
  public:
    virtual ~Backend() = default;
    virtual const char* name() const = 0;

    // Whether calls may bring ResourceKind::pool_table and its log, or whole pools of ids; where not, calls that need
    // them are refused. A backend with raw memory commits its pool tables before every hand-over to the GPU.
    virtual bool raw_memory() const { return false; }
    virtual bool whole_id_pools() const { return false; }
    // The device's address of the pool's first byte; 0: shaders cannot reach it.
    virtual uint64_t device_address(const nvn::PoolInfo&) const { return 0; }
    PoolTables& pool_tables() { return pool_tables_; }

    virtual void pool_added(const nvn::PoolInfo& pool) = 0;
    virtual void pool_removed(const nvn::PoolInfo& pool) = 0; // after waiting for the GPU

    virtual void draw(const DrawCall& call) = 0;
    virtual void dispatch(const DispatchCall& call) = 0;
    // `words` are the colour's bits; `type` 0 float, 1 signed, 2 unsigned. The first scissor cuts clears.
    virtual void clear_color(const Targets& targets, const RasterState& raster, uint32_t index, uint32_t mask,
                             uint32_t type, const uint32_t words[4]) = 0;
    virtual void clear_depth_stencil(const Targets& targets, const RasterState& raster, bool clear_depth,
                                     float depth, uint8_t stencil_mask, uint8_t stencil) = 0;
    virtual void copy_buffer(uint64_t source, uint64_t destination, uint64_t size) = 0;
    virtual void fill_buffer(uint64_t address, uint64_t size, uint32_t value) = 0;
    virtual void update_buffer(uint64_t address, const uint8_t* data, uint32_t size) = 0;
    virtual void copy_buffer_texture(const BufferTextureCopy& copy) = 0;
    virtual void copy_texture(const TextureCopy& copy) = 0;
    virtual void barrier(uint32_t bits) = 0;
    virtual void clear_texture(const TextureClear& clear) = 0;
    // Averages the samples of a multisampled texture (colour), or takes one (depth, stencil, integers).
    virtual void downsample(const nvn::BoundTexture& source, const nvn::BoundTexture& destination) = 0;

    // Transform feedback into up to four ranges; `counter` is where the guest keeps the bytes written.
    virtual void feedback(nvn::Feedback action, const std::array<Range, kFeedbackBuffers>& buffers,
                          uint64_t counter) = 0;
    // Counters count from their last reset; a report writes {value, timestamp} in order with the commands.
    virtual void reset_counter(NVNcounterType counter) = 0;
    virtual void report_counter(NVNcounterType counter, uint64_t address) = 0;
    virtual void report_value(uint32_t value, uint64_t address) = 0;
    // Draws, clears of targets and dispatches that follow happen or not; `address` names two 16-byte reports
    // whose first 64-bit words are compared when the GPU gets there.
    virtual void render_enable(nvn::RenderEnable mode, uint64_t address) = 0;

    // Guest bytes as the commands given so far leave them. Waits for the GPU only if it writes them. False:
    // the bytes are in no pool.
    virtual bool read_memory(uint64_t address, void* out, uint32_t bytes) = 0;

    // Shows a window's texture as the commands given so far leave it. Nothing to do where nothing is shown.
    virtual void present(const nvn::Present&) {}

    // Starts what was given so far; the fence behind it.
    virtual uint64_t flush() = 0;
    virtual bool wait(uint64_t fence, uint64_t timeout_ns) = 0;
    // Writes the texture's newest content into its storage.
    virtual void store_texture(const nvn::TextureDesc& texture) = 0;

  private:
    PoolTables pool_tables_;
};

} // namespace dmsh::replay
