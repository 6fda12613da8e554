// The Vulkan backend's class: one replay's state on one device. vulkan_backend.cpp has passes and bindings,
// draws.cpp draws and dispatches, dynamic_state.cpp fixed-function state, transfers.cpp copies, clears.cpp
// clears and resolves.
#pragma once
#include "runtime/replay/vulkan/clear_pipelines.h"
#include "runtime/replay/vulkan/counters.h"
#include "runtime/replay/vulkan/pipelines.h"
#include "runtime/replay/vulkan/raw_memory.h"
#include "runtime/replay/vulkan/textures.h"
#include "runtime/replay/vulkan/vulkan_backend.h"

namespace dmsh::replay::vulkan {

class VulkanBackend final : public VulkanBackendBase {
  public:
    VulkanBackend(std::unique_ptr<Device> device, const VulkanOptions& options);
    ~VulkanBackend() override;
    bool init();

    const char* name() const override { return "vulkan"; }
    VulkanInfo info() const override;
    void finish_pipelines() override { pipelines_.finish(); }
    bool raw_memory() const override { return device_->can().raw_memory; }
    bool whole_id_pools() const override { return device_->can().pool_textures != 0; }
    uint64_t device_address(const nvn::PoolInfo& pool) const override { return memory_.device_address(pool); }
    void pool_added(const nvn::PoolInfo& pool) override { memory_.add(pool); }
    void pool_removed(const nvn::PoolInfo& pool) override;

    void draw(const DrawCall& call) override;
    void dispatch(const DispatchCall& call) override;
    void clear_color(const Targets& targets, const RasterState& raster, uint32_t index, uint32_t mask,
                     uint32_t type, const uint32_t words[4]) override;
    void clear_depth_stencil(const Targets& targets, const RasterState& raster, bool clear_depth, float depth,
                             uint8_t stencil_mask, uint8_t stencil) override;
    void clear_texture(const TextureClear& clear) override;
    void downsample(const nvn::BoundTexture& source, const nvn::BoundTexture& destination) override;
    void copy_buffer(uint64_t source, uint64_t destination, uint64_t size) override;
    void fill_buffer(uint64_t address, uint64_t size, uint32_t value) override;
    void update_buffer(uint64_t address, const uint8_t* data, uint32_t size) override;
    void copy_buffer_texture(const BufferTextureCopy& copy) override;
    void copy_texture(const TextureCopy& copy) override;
    void barrier(uint32_t bits) override;
    void feedback(nvn::Feedback action, const std::array<Range, kFeedbackBuffers>& buffers,
                  uint64_t counter) override;
    void reset_counter(NVNcounterType counter) override;
    void report_counter(NVNcounterType counter, uint64_t address) override;
    void report_value(uint32_t value, uint64_t address) override;
    void render_enable(nvn::RenderEnable mode, uint64_t address) override;
    bool read_memory(uint64_t address, void* out, uint32_t bytes) override;
    uint64_t flush() override;
    bool wait(uint64_t fence, uint64_t timeout_ns) override;
    void store_texture(const nvn::TextureDesc& texture) override;

  private:
    enum class Use : uint8_t { none, graphics, compute, transfer };

    // The guest's engines take turns: a change from one to the other waits for the first.
    void use(Use next);
    bool begin_pass(const Targets& targets);
    void end_pass();
    // Queries and the render condition around a pass or a dispatch.
    void begin_work(bool dispatch);
    void end_work();
    // Makes every texture that the call reads; transfers that this takes happen outside of passes.
    void prepare(const BoundWork& work);
    // How whole pools of ids are bound for this call; nothing where it has none.
    PoolShape pool_shape(const BoundWork& work);
    // Copies parameters that only the GPU knows into the driver segments of an indirect call.
    void patch_drivers(const BoundWork& work, uint32_t segment_offset, uint64_t from, uint32_t bytes);
    bool bind(const BoundWork& work, const Pipeline& pipeline, VkPipelineBindPoint point);
    bool write_resource(const Resource& r, VkDescriptorSet set);
    bool host_piece(const Resource& r, Piece& out);
    VkBufferView texel_view(const Resource& r);
    void set_dynamic(const DrawCall& call);
    VkRect2D clear_rect(const RasterState& raster) const;
    // Opens the pass and binds everything but indices. False: nothing can be drawn.
    bool begin_draw(const DrawCall& call, const Pipeline& pipeline, bool restart);
    void bind_vertex_buffers(const DrawCall& call);
    bool bind_indices(const DrawCall& call);
    // Primitives and indices that Vulkan lacks get indices made on the CPU.
    bool needs_conversion(const DrawCall& call) const;
    void draw_converted(const DrawCall& call, const Pipeline& pipeline);
    void convert_indices(const DrawCall& call, uint32_t first, uint32_t count);
    void draw_indirect(const DrawCall& call);
    void draw_captured(const DrawCall& call);
    bool mesh_parameters(const DrawCall& call, Piece& out);
    void draw_mesh(const DrawCall& call, const Piece& parameters);
    bool begin_feedback(const Pipeline& pipeline);
    void end_feedback();
    // The rectangle of one level as the only target of a pass, cleared under any channel mask.
    struct Region {
        VkImageView view = VK_NULL_HANDLE;
        VkFormat format = VK_FORMAT_UNDEFINED;
        VkImageAspectFlags aspect = VK_IMAGE_ASPECT_COLOR_BIT;
        uint32_t samples = 1, layers = 1;
        VkRect2D rect{};
        VkExtent2D extent{};
    };
    void clear_region(const Region& region, uint32_t mask, uint32_t type, const uint32_t words[4]);
    void clear_stencil_region(const Region& region, uint8_t mask, uint8_t value);
    struct CopyShape { // of the buffer's side
        uint64_t row, slice, bytes;
        uint32_t columns, rows, slices;
    };
    void copy_depth_stencil(const BufferTextureCopy& copy, Image& image, VkBufferImageCopy region,
                            const CopyShape& shape);
    void copy_decoded(const BufferTextureCopy& copy, Image& image, VkBufferImageCopy region,
                      const CopyShape& shape);
    // Between guest memory of any strides and tight batch memory.
    void copy_rows(VkBuffer from, uint64_t from_offset, VkBuffer to, uint64_t to_offset,
                   const CopyShape& shape, bool from_guest);

    std::unique_ptr<Device> device_;
    PoolMemory memory_;
    Textures textures_;
    IdPools id_pools_;
    Pipelines pipelines_;
    RawMemory raw_;
    Counters counters_;
    ClearPipelines clears_;
    Buffer zeros_;
    Use used_since_barrier_ = Use::none;
    bool in_pass_ = false;
    Targets pass_;
    VkExtent2D pass_extent_{};
    uint32_t pass_layers_ = 1;

    // Render enable.
    nvn::RenderEnable render_mode_ = nvn::RenderEnable::on;
    uint64_t render_address_ = 0;
    Piece predicate_; // of this batch; none: made when next needed
    bool conditional_open_ = false;
    bool render_off() const { return render_mode_ == nvn::RenderEnable::off; }
    bool has_condition() const {
        return render_mode_ == nvn::RenderEnable::if_equal || render_mode_ == nvn::RenderEnable::if_not_equal;
    }

    // Transform feedback. The host's counters hold bytes written per buffer; the guest's word the first.
    bool feedback_active_ = false, feedback_open_ = false;
    std::array<Range, kFeedbackBuffers> feedback_buffers_;
    Buffer feedback_counters_; // a word per buffer
    uint32_t feedback_stride_ = 0;

    struct TexelKey {
        uint32_t pool;
        uint64_t address, size;
        VkFormat format;
        bool operator==(const TexelKey&) const = default;
    };
    std::vector<std::pair<TexelKey, VkBufferView>> texel_views_;

    // Descriptor writes of one call; their memory is kept.
    std::vector<VkWriteDescriptorSet> writes_;
    std::vector<VkDescriptorBufferInfo> buffers_;
    std::vector<VkDescriptorImageInfo> images_;
    std::vector<VkBufferView> views_;
    std::vector<uint32_t> indices_; // of a converted draw
    std::vector<uint8_t> bytes_;
    std::vector<VkBufferCopy> rows_;
    std::vector<std::pair<const Resource*, Piece>> patched_; // driver segments filled by the GPU
};

} // namespace dmsh::replay::vulkan
