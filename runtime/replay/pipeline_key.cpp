// Builds pipeline keys.
#include "runtime/replay/pipeline_key.h"
#include "runtime/nvn/states.h"
#define XXH_INLINE_ALL
#include <type_traits>
#include <xxhash.h>

namespace dmsh::replay {

static_assert(std::has_unique_object_representations_v<PipelineKey>);

uint64_t hash(const PipelineKey& key) {
    return XXH3_64bits(&key, sizeof key);
}

PipelineKey pipeline_key(const RasterState& raster, const Targets& targets, NVNdrawPrimitive primitive,
                         const std::array<uint32_t, 8>& shader_ids, uint32_t vertex_inputs, bool depth_zero) {
    PipelineKey k;
    k.shaders = shader_ids;
    uint32_t samples = 1;
    for (uint32_t i = 0; i < kMaxColors; ++i) {
        if (!targets.has_color(i))
            continue;
        k.color_formats[i] = nvn::resolve_view(targets.colors[i]).format;
        samples = targets.colors[i].texture.samples;
        k.channel_mask |= raster.channel_mask & 15u << i * 4;
        if (nvn::color::Enables::get(raster.color) >> i & 1) {
            k.blend_enables |= static_cast<uint8_t>(1 << i);
            k.blend[i] = raster.blend[i];
            nvn::blend::Target::set(k.blend[i], 0);
            nvn::blend::Premultiplied::set(k.blend[i], 0);
            nvn::blend::Normalized::set(k.blend[i], 0);
            nvn::blend::Overlap::set(k.blend[i], 0);
        }
    }
    if (targets.has_depth()) {
        k.depth_format = nvn::resolve_view(targets.depth).format;
        samples = targets.depth.texture.samples;
    }
    k.samples = static_cast<uint8_t>(samples ? samples : 1);
    k.sample_mask = raster.sample_mask & ((k.samples >= 32 ? 0u : 1u << k.samples) - 1);
    k.logic_op = static_cast<uint8_t>(nvn::color::Logic::get(raster.color));
    k.primitive = static_cast<uint8_t>(primitive);
    k.patch_size = primitive == NVN_DRAW_PRIMITIVE_PATCHES ? static_cast<uint8_t>(raster.patch_size) : 0;
    k.polygon_mode = static_cast<uint8_t>(nvn::polygon::Mode::get(raster.polygon));
    k.alpha_to_coverage = static_cast<uint8_t>(nvn::multisample::AlphaToCoverage::get(raster.multisample));
    k.depth_clamp = raster.depth_clamp;
    k.depth_zero = depth_zero;
    for (uint32_t i = 0; i < raster.attrib_count && i < kMaxAttribs; ++i) {
        if (!(vertex_inputs >> i & 1) || nvn::attrib::Format::get(raster.attribs[i]) == 0)
            continue;
        const uint32_t stream = nvn::attrib::Stream::get(raster.attribs[i]);
        if (stream >= kMaxStreams)
            continue;
        k.attrib_mask |= 1u << i;
        k.attribs[i] = raster.attribs[i];
        k.strides[stream] = raster.streams[stream].stride;
        k.divisors[stream] = raster.streams[stream].divisor;
    }
    return k;
}

} // namespace dmsh::replay
