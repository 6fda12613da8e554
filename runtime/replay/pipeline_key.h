// The normal form of everything that decides a pipeline (P-012): equal pipelines have equal keys.
#pragma once
#include "runtime/replay/state.h"

namespace dmsh::replay {

struct PipelineKey {
    std::array<uint32_t, 8> shaders{}; // Shader::id by stage; 0 = none
    std::array<uint64_t, kMaxColors>
        blend{}; // factors and equations only where blending is on, target cleared
    std::array<uint32_t, kMaxAttribs> attribs{}; // only locations that the vertex shader reads
    std::array<uint32_t, kMaxStreams> strides{}; // only streams that an attribute reads
    std::array<uint32_t, kMaxStreams> divisors{};
    std::array<uint8_t, kMaxColors> color_formats{}; // NVNformat of the view; 0 = none
    uint32_t attrib_mask = 0;
    uint32_t channel_mask = 0; // of targets with a format
    uint32_t sample_mask = 0;
    uint8_t depth_format = 0;
    uint8_t samples = 1;
    uint8_t blend_enables = 0;
    uint8_t logic_op = 0;   // NVNlogicOp
    uint8_t primitive = 0;  // NVNdrawPrimitive
    uint8_t patch_size = 0; // patches only
    uint8_t polygon_mode = 0;
    uint8_t alpha_to_coverage = 0;
    uint8_t depth_clamp = 0;
    uint8_t depth_zero = 0; // NEAR_IS_ZERO
    uint8_t reserved[2] = {};

    bool operator==(const PipelineKey&) const = default;
};

// XXH3-64 of the key's bytes.
uint64_t hash(const PipelineKey& key);

// The key of a draw. `vertex_inputs`: bit per location that the vertex shader reads.
PipelineKey pipeline_key(const RasterState& raster, const Targets& targets, NVNdrawPrimitive primitive,
                         const std::array<uint32_t, 8>& shader_ids, uint32_t vertex_inputs, bool depth_zero);

} // namespace dmsh::replay
