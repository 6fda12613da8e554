// NVN state as the replay sees it: plain values, one set per queue.
#pragma once
#include "runtime/nvn/host.h"
#include "runtime/nvn/records.h"
#include <array>
#include <atomic>

namespace dmsh::replay {

constexpr uint32_t kMaxColors = 8, kMaxViewports = 16, kMaxAttribs = 32, kMaxStreams = 16;
constexpr uint32_t kUniformSlots = 14, kStorageSlots = 16, kTextureSlots = 40, kImageSlots = 8;
constexpr uint32_t kSeparateTextureSlots = 128, kSeparateSamplerSlots = 128;
constexpr uint32_t kFeedbackBuffers = 4;

struct Range {
    uint64_t address = 0;
    uint32_t size = 0;
};

// A stage's slots. Handles are words as bound; their ids are looked up in the pools that are set at the draw.
struct StageSlots {
    std::array<Range, kUniformSlots> uniforms;
    std::array<Range, kStorageSlots> storage;
    std::array<uint32_t, kTextureSlots> textures{};
    std::array<uint32_t, kImageSlots> images{};
    std::array<uint32_t, kSeparateTextureSlots> separate_textures{};
    std::array<uint32_t, kSeparateSamplerSlots> separate_samplers{};
    uint8_t images_bound = 0; // bit per slot
};

struct StencilFace {
    uint8_t reference = 0, value_mask = 0xff, write_mask = 0xff;
};

// Fixed-function state; packed words are those of runtime/nvn/states.h.
struct RasterState {
    std::array<uint64_t, kMaxColors> blend{};
    uint32_t color = 0, channel_mask = 0xffffffffu, multisample = 0, polygon = 0;
    uint64_t depth_stencil = 0;
    std::array<uint32_t, kMaxAttribs> attribs{};
    uint32_t attrib_count = 0;
    std::array<NVNvertexStreamState, kMaxStreams> streams{};
    uint32_t stream_count = 0;
    std::array<std::array<float, 4>, kMaxViewports> viewports{};
    std::array<std::array<int32_t, 4>, kMaxViewports> scissors{};
    std::array<std::array<float, 2>, kMaxViewports> depth_ranges{};
    uint32_t viewport_count = 1;
    StencilFace front, back;
    std::array<float, 4> blend_color{};
    std::array<float, 3> polygon_offset{}; // factor, units, clamp
    bool depth_bounds = false;
    float depth_bounds_min = 0, depth_bounds_max = 1;
    uint32_t patch_size = 3, sample_mask = 0xffffffffu;
    float point_size = 1, line_width = 1, alpha_ref = 0;
    bool rasterizer_discard = false, depth_clamp = false, primitive_restart = false;
    uint32_t restart_index = 0xffffffffu;
    bool conservative = false, float_blend_clamp = false;
    float conservative_dilate = 0;
    uint32_t subpixel_bias = 0; // x bits low, y bits high half
    std::array<float, 2> tess_inner{1, 1};
    std::array<float, 4> tess_outer{1, 1, 1, 1};
    std::array<std::array<int32_t, 4>, kMaxViewports> swizzles; // NVNviewportSwizzle of x, y, z, w
    std::array<float, 16> coverage_table{};
    // Programmed sample positions, a byte each: x in the low nibble, y in the high, 1/16 pixel. Hold where the
    // multisample word enables them.
    std::array<uint8_t, 16> sample_positions{};

    RasterState();
};

struct Targets {
    uint32_t color_count = 0;
    uint32_t present = 0; // bit per colour; bit kMaxColors: depth-stencil
    std::array<nvn::BoundTexture, kMaxColors> colors;
    nvn::BoundTexture depth;
    bool has_color(uint32_t i) const { return present >> i & 1; }
    bool has_depth() const { return present >> kMaxColors & 1; }
};

// Everything that submissions of a queue leave behind for the next one.
struct QueueState {
    RasterState raster;
    Targets targets;
    std::array<StageSlots, kStageCount> stages;
    std::array<Range, kMaxStreams> vertex_buffers;
    std::array<std::shared_ptr<const nvn::Program>, kStageCount> programs; // by the stage they are bound to
    uint32_t texture_pool = 0, sampler_pool = 0;
    // Changes with every record that may decide a pipeline; no two states ever share a value.
    uint64_t pipeline_changes = next_changes();
    static uint64_t next_changes() {
        static std::atomic<uint64_t> last{0};
        return last.fetch_add(uint64_t{1} << 32, std::memory_order_relaxed);
    }
    std::array<Range, kFeedbackBuffers> feedback_buffers;
    std::array<std::array<uint8_t, nvn::kPushBytes>, 2> push{}; // graphics, compute: c[24]
};

} // namespace dmsh::replay
