// Fixed-function state that Vulkan takes per draw.
#include "runtime/nvn/states.h"
#include "runtime/replay/vulkan/backend_impl.h"
#include "runtime/replay/vulkan/formats.h"
#include <algorithm>
#include <cstring>

namespace dmsh::replay::vulkan {

using nvn::Host;
using nvn::Report;
using nvn::report;

namespace {

constexpr std::array<int32_t, 4> kNoSwizzle{NVN_VIEWPORT_SWIZZLE_POSITIVE_X, NVN_VIEWPORT_SWIZZLE_POSITIVE_Y,
                                            NVN_VIEWPORT_SWIZZLE_POSITIVE_Z, NVN_VIEWPORT_SWIZZLE_POSITIVE_W};

VkCompareOp compare_op(uint32_t nvn) {
    return static_cast<VkCompareOp>((nvn - 1) & 7);
} // 1..8 in Vulkan's order

VkStencilOp stencil_op(uint32_t nvn) {
    switch (nvn) {
    case NVN_STENCIL_OP_ZERO: return VK_STENCIL_OP_ZERO;
    case NVN_STENCIL_OP_REPLACE: return VK_STENCIL_OP_REPLACE;
    case NVN_STENCIL_OP_INCR: return VK_STENCIL_OP_INCREMENT_AND_CLAMP;
    case NVN_STENCIL_OP_DECR: return VK_STENCIL_OP_DECREMENT_AND_CLAMP;
    case NVN_STENCIL_OP_INVERT: return VK_STENCIL_OP_INVERT;
    case NVN_STENCIL_OP_INCR_WRAP: return VK_STENCIL_OP_INCREMENT_AND_WRAP;
    case NVN_STENCIL_OP_DECR_WRAP: return VK_STENCIL_OP_DECREMENT_AND_WRAP;
    default: return VK_STENCIL_OP_KEEP;
    }
}

// State that Vulkan has no word for, or that this backend does not draw.
void refuse_state(const RasterState& s) {
    if (s.conservative)
        report(Report::unsupported, "conservative rasterization");
    if (s.subpixel_bias)
        report(Report::unsupported, "subpixel precision bias 0x%x", s.subpixel_bias);
    if (s.float_blend_clamp)
        report(Report::unsupported, "float blend clamp to the largest finite value");
    for (uint32_t i = 0; i < s.viewport_count; ++i)
        if (s.swizzles[i] != kNoSwizzle)
            report(Report::unsupported, "viewport swizzle of viewport %u", i);
    namespace ms = nvn::multisample;
    if (ms::CoverageToColor::get(s.multisample))
        report(Report::unsupported, "coverage to colour output %u", ms::CoverageOutput::get(s.multisample));
    if (ms::Modulation::get(s.multisample))
        report(Report::unsupported, "coverage modulation mode %u", ms::Modulation::get(s.multisample));
}

} // namespace

void VulkanBackend::set_dynamic(const DrawCall& call) {
    const VkCommandBuffer c = device_->commands();
    const RasterState& s = *call.raster;
    const bool upper_left = Host::get().window_origin == NVN_WINDOW_ORIGIN_MODE_UPPER_LEFT;
    const VkPhysicalDeviceLimits& limits = device_->properties().limits;
    VkViewport viewports[kMaxViewports];
    VkRect2D scissors[kMaxViewports];
    const uint32_t count = std::clamp(s.viewport_count, 1u, std::min(limits.maxViewports, kMaxViewports));
    for (uint32_t i = 0; i < count; ++i) {
        const auto& v = s.viewports[i];
        VkViewport& o = viewports[i];
        // Row 0 of a target is y = 0 in both conventions. Lower-left: y grows with the row, which is Vulkan's
        // own viewport; upper-left: the top of clip space is row 0, which is Vulkan's with negative height.
        o = upper_left ? VkViewport{v[0], v[1] + v[3], v[2], -v[3], 0, 0}
                       : VkViewport{v[0], v[1], v[2], v[3], 0, 0};
        const float most_w = static_cast<float>(limits.maxViewportDimensions[0]);
        const float most_h = static_cast<float>(limits.maxViewportDimensions[1]);
        o.width = o.width > 0 ? std::min(o.width, most_w) : 1.0f; // NaN and nothing become a pixel
        o.height = std::abs(o.height) <= most_h && o.height != 0 ? o.height : most_h;
        o.x = std::clamp(o.x == o.x ? o.x : 0.0f, limits.viewportBoundsRange[0],
                         limits.viewportBoundsRange[1] - most_w);
        o.y = std::clamp(o.y == o.y ? o.y : 0.0f, limits.viewportBoundsRange[0] + most_h,
                         limits.viewportBoundsRange[1] - most_h);
        const auto unit = [](float f) { return f >= 0.0f && f <= 1.0f ? f : f > 1.0f ? 1.0f : 0.0f; };
        o.minDepth = unit(s.depth_ranges[i][0]);
        o.maxDepth = unit(s.depth_ranges[i][1]);
        const auto& r = s.scissors[i];
        const int64_t x0 = std::max(r[0], 0), y0 = std::max(r[1], 0);
        const int64_t x1 = std::clamp<int64_t>(int64_t{r[0]} + std::max(r[2], 0), x0, 0x7fffffff);
        const int64_t y1 = std::clamp<int64_t>(int64_t{r[1]} + std::max(r[3], 0), y0, 0x7fffffff);
        scissors[i] = {{static_cast<int32_t>(x0), static_cast<int32_t>(y0)},
                       {static_cast<uint32_t>(x1 - x0), static_cast<uint32_t>(y1 - y0)}};
    }
    vkCmdSetViewportWithCount(c, count, viewports);
    vkCmdSetScissorWithCount(c, count, scissors);

    namespace ds = nvn::depth_stencil;
    const uint64_t d = s.depth_stencil;
    // NVN_FACE_FRONT and NVN_FACE_BACK are Vulkan's bits. Winding is judged by clip space with y up in both
    // origins; Vulkan judges rows downward, so a viewport that keeps y turns it round.
    vkCmdSetCullMode(c, nvn::polygon::Cull::get(s.polygon));
    const bool ccw = nvn::polygon::Front::get(s.polygon) == NVN_FRONT_FACE_CCW;
    vkCmdSetFrontFace(c, ccw == upper_left ? VK_FRONT_FACE_COUNTER_CLOCKWISE : VK_FRONT_FACE_CLOCKWISE);
    const bool has_depth = call.targets->has_depth();
    vkCmdSetDepthTestEnable(c, has_depth && ds::DepthTest::get(d));
    vkCmdSetDepthWriteEnable(c, has_depth && ds::DepthTest::get(d) && ds::DepthWrite::get(d));
    vkCmdSetDepthCompareOp(c, compare_op(ds::DepthFunc::get(d)));
    vkCmdSetStencilTestEnable(c, has_depth && ds::StencilTest::get(d));
    vkCmdSetStencilOp(c, VK_STENCIL_FACE_FRONT_BIT, stencil_op(ds::FrontFail::get(d)),
                      stencil_op(ds::FrontPass::get(d)), stencil_op(ds::FrontDepthFail::get(d)),
                      compare_op(ds::FrontFunc::get(d)));
    vkCmdSetStencilOp(c, VK_STENCIL_FACE_BACK_BIT, stencil_op(ds::BackFail::get(d)),
                      stencil_op(ds::BackPass::get(d)), stencil_op(ds::BackDepthFail::get(d)),
                      compare_op(ds::BackFunc::get(d)));
    vkCmdSetStencilReference(c, VK_STENCIL_FACE_FRONT_BIT, s.front.reference);
    vkCmdSetStencilReference(c, VK_STENCIL_FACE_BACK_BIT, s.back.reference);
    vkCmdSetStencilCompareMask(c, VK_STENCIL_FACE_FRONT_BIT, s.front.value_mask);
    vkCmdSetStencilCompareMask(c, VK_STENCIL_FACE_BACK_BIT, s.back.value_mask);
    vkCmdSetStencilWriteMask(c, VK_STENCIL_FACE_FRONT_BIT, s.front.write_mask);
    vkCmdSetStencilWriteMask(c, VK_STENCIL_FACE_BACK_BIT, s.back.write_mask);
    vkCmdSetBlendConstants(c, s.blend_color.data());
    const uint32_t offsets = nvn::polygon::OffsetEnables::get(s.polygon);
    vkCmdSetDepthBiasEnable(c, offsets != 0);
    const bool clamps = s.polygon_offset[2] != 0.0f;
    if (clamps && offsets && !device_->can().bias_clamp)
        report(Report::unsupported, "depth offset clamp %g", static_cast<double>(s.polygon_offset[2]));
    vkCmdSetDepthBias(c, s.polygon_offset[1],
                      clamps && device_->can().bias_clamp ? s.polygon_offset[2] : 0.0f, s.polygon_offset[0]);
    vkCmdSetLineWidth(c, device_->can().wide_lines
                             ? std::clamp(s.line_width, limits.lineWidthRange[0], limits.lineWidthRange[1])
                             : 1.0f);
    vkCmdSetRasterizerDiscardEnable(c, s.rasterizer_discard);
    vkCmdSetDepthBoundsTestEnable(c, s.depth_bounds && has_depth && device_->can().depth_bounds);
    if (s.depth_bounds && has_depth && !device_->can().depth_bounds)
        report(Report::unsupported, "depth bounds test on this device");
    const auto unit = [](float f) { return f >= 0.0f && f <= 1.0f ? f : f > 1.0f ? 1.0f : 0.0f; };
    vkCmdSetDepthBounds(c, unit(s.depth_bounds_min), unit(s.depth_bounds_max));
    if (nvn::color::Alpha::get(s.color) != NVN_ALPHA_FUNC_ALWAYS && nvn::color::Alpha::get(s.color))
        report(Report::unsupported, "alpha test function %u", nvn::color::Alpha::get(s.color));
    refuse_state(s);
}

} // namespace dmsh::replay::vulkan
