// Fixed-function state objects: setters and getters over packed words.
#include "runtime/nvn/states.h"
#include "runtime/nvn/objects.h"
#include "runtime/nvn/report.h"
#include <cstring>

// Defaults that NVN's documents leave open follow its open peers: no blending, copy, always, all channels,
// depth less with writes on, tests off, no culling, counter-clockwise front, fill.

extern "C" {

namespace ns = dmsh::nvn;

void nvnBlendStateSetDefaults(NVNblendState* s) {
    s->word = 0;
    ns::blend::SrcRgb::set(s->word, NVN_BLEND_FUNC_ONE);
    ns::blend::DstRgb::set(s->word, NVN_BLEND_FUNC_ZERO);
    ns::blend::SrcAlpha::set(s->word, NVN_BLEND_FUNC_ONE);
    ns::blend::DstAlpha::set(s->word, NVN_BLEND_FUNC_ZERO);
    ns::blend::EquationRgb::set(s->word, NVN_BLEND_EQUATION_ADD);
    ns::blend::EquationAlpha::set(s->word, NVN_BLEND_EQUATION_ADD);
    ns::blend::Normalized::set(s->word, 1);
}
void nvnBlendStateSetBlendTarget(NVNblendState* s, int target) {
    ns::blend::Target::set(s->word, static_cast<uint64_t>(target));
}
void nvnBlendStateSetBlendFunc(NVNblendState* s, NVNblendFunc src, NVNblendFunc dst, NVNblendFunc src_alpha,
                               NVNblendFunc dst_alpha) {
    ns::blend::SrcRgb::set(s->word, src);
    ns::blend::DstRgb::set(s->word, dst);
    ns::blend::SrcAlpha::set(s->word, src_alpha);
    ns::blend::DstAlpha::set(s->word, dst_alpha);
}
void nvnBlendStateSetBlendEquation(NVNblendState* s, NVNblendEquation rgb, NVNblendEquation alpha) {
    ns::blend::EquationRgb::set(s->word, rgb);
    ns::blend::EquationAlpha::set(s->word, alpha);
}
void nvnBlendStateSetAdvancedMode(NVNblendState* s, NVNblendAdvancedMode mode) {
    ns::blend::Advanced::set(s->word, mode);
}
void nvnBlendStateSetAdvancedOverlap(NVNblendState* s, NVNblendAdvancedOverlap overlap) {
    ns::blend::Overlap::set(s->word, overlap);
}
void nvnBlendStateSetAdvancedPremultipliedSrc(NVNblendState* s, NVNboolean on) {
    ns::blend::Premultiplied::set(s->word, on);
}
void nvnBlendStateSetAdvancedNormalizedDst(NVNblendState* s, NVNboolean on) {
    ns::blend::Normalized::set(s->word, on);
}
int nvnBlendStateGetBlendTarget(const NVNblendState* s) {
    return static_cast<int>(ns::blend::Target::get(s->word));
}
void nvnBlendStateGetBlendFunc(const NVNblendState* s, NVNblendFunc* src, NVNblendFunc* dst,
                               NVNblendFunc* src_alpha, NVNblendFunc* dst_alpha) {
    *src = static_cast<NVNblendFunc>(ns::blend::SrcRgb::get(s->word));
    *dst = static_cast<NVNblendFunc>(ns::blend::DstRgb::get(s->word));
    *src_alpha = static_cast<NVNblendFunc>(ns::blend::SrcAlpha::get(s->word));
    *dst_alpha = static_cast<NVNblendFunc>(ns::blend::DstAlpha::get(s->word));
}
void nvnBlendStateGetBlendEquation(const NVNblendState* s, NVNblendEquation* rgb, NVNblendEquation* alpha) {
    *rgb = static_cast<NVNblendEquation>(ns::blend::EquationRgb::get(s->word));
    *alpha = static_cast<NVNblendEquation>(ns::blend::EquationAlpha::get(s->word));
}
NVNblendAdvancedMode nvnBlendStateGetAdvancedMode(const NVNblendState* s) {
    return static_cast<NVNblendAdvancedMode>(ns::blend::Advanced::get(s->word));
}
NVNblendAdvancedOverlap nvnBlendStateGetAdvancedOverlap(const NVNblendState* s) {
    return static_cast<NVNblendAdvancedOverlap>(ns::blend::Overlap::get(s->word));
}
NVNboolean nvnBlendStateGetAdvancedPremultipliedSrc(const NVNblendState* s) {
    return static_cast<NVNboolean>(ns::blend::Premultiplied::get(s->word));
}
NVNboolean nvnBlendStateGetAdvancedNormalizedDst(const NVNblendState* s) {
    return static_cast<NVNboolean>(ns::blend::Normalized::get(s->word));
}

void nvnColorStateSetDefaults(NVNcolorState* s) {
    s->word = 0;
    ns::color::Logic::set(s->word, NVN_LOGIC_OP_COPY);
    ns::color::Alpha::set(s->word, NVN_ALPHA_FUNC_ALWAYS);
}
void nvnColorStateSetBlendEnable(NVNcolorState* s, int index, NVNboolean on) {
    if (index >= 0 && index < 8)
        s->word = (s->word & ~(1u << index)) | (on ? 1u << index : 0);
}
void nvnColorStateSetLogicOp(NVNcolorState* s, NVNlogicOp op) {
    ns::color::Logic::set(s->word, op);
}
void nvnColorStateSetAlphaTest(NVNcolorState* s, NVNalphaFunc func) {
    ns::color::Alpha::set(s->word, func);
}
NVNboolean nvnColorStateGetBlendEnable(const NVNcolorState* s, int index) {
    return index >= 0 && index < 8 ? s->word >> index & 1 : 0;
}
NVNlogicOp nvnColorStateGetLogicOp(const NVNcolorState* s) {
    return static_cast<NVNlogicOp>(ns::color::Logic::get(s->word));
}
NVNalphaFunc nvnColorStateGetAlphaTest(const NVNcolorState* s) {
    return static_cast<NVNalphaFunc>(ns::color::Alpha::get(s->word));
}

void nvnChannelMaskStateSetDefaults(NVNchannelMaskState* s) {
    s->word = 0xffffffffu;
}
void nvnChannelMaskStateSetChannelMask(NVNchannelMaskState* s, int index, NVNboolean r, NVNboolean g,
                                       NVNboolean b, NVNboolean a) {
    if (index < 0 || index > 7)
        return;
    const uint32_t mask = (r ? 1u : 0) | (g ? 2u : 0) | (b ? 4u : 0) | (a ? 8u : 0);
    s->word = (s->word & ~(15u << index * 4)) | mask << index * 4;
}
void nvnChannelMaskStateGetChannelMask(const NVNchannelMaskState* s, int index, NVNboolean* r, NVNboolean* g,
                                       NVNboolean* b, NVNboolean* a) {
    const uint32_t mask = index >= 0 && index < 8 ? s->word >> index * 4 & 15 : 0;
    *r = mask & 1;
    *g = mask >> 1 & 1;
    *b = mask >> 2 & 1;
    *a = mask >> 3 & 1;
}

void nvnMultisampleStateSetDefaults(NVNmultisampleState* s) {
    *s = {};
    ns::multisample::Enable::set(s->word, 1);
    ns::multisample::Dither::set(s->word, 1);
    std::memset(s->positions, 0x88, sizeof s->positions);
}
// Positions are kept in 1/16 pixel, as the shaders' sample table holds them; the centre is 8, 8.
void nvnMultisampleStateSetSampleLocationsEnable(NVNmultisampleState* s, NVNboolean on) {
    ns::multisample::LocationsEnable::set(s->word, on);
}
NVNboolean nvnMultisampleStateGetSampleLocationsEnable(const NVNmultisampleState* s) {
    return static_cast<NVNboolean>(ns::multisample::LocationsEnable::get(s->word));
}
// The table of 16 entries covers a 2 x 2 grid of pixels up to 4 samples, 2 x 1 at 8, one pixel at 16.
void nvnMultisampleStateGetSampleLocationsGrid(NVNmultisampleState* s, int* w, int* h) {
    const unsigned samples = ns::multisample::Samples::get(s->word);
    if (w)
        *w = samples >= 16 ? 1 : 2;
    if (h)
        *h = samples >= 8 ? 1 : 2;
}
void nvnMultisampleStateSetSampleLocationsGridEnable(NVNmultisampleState* s, NVNboolean on) {
    ns::multisample::GridEnable::set(s->word, on);
}
NVNboolean nvnMultisampleStateGetSampleLocationsGridEnable(const NVNmultisampleState* s) {
    return static_cast<NVNboolean>(ns::multisample::GridEnable::get(s->word));
}
void nvnMultisampleStateSetSampleLocations(NVNmultisampleState* s, int first, int count, const float* xy) {
    constexpr int kEntries = 16; // device integer 0x4d
    if (first < 0 || count < 0 || first > kEntries || count > kEntries - first || (count && !xy)) {
        dmsh::nvn::report(dmsh::nvn::Report::bad_argument, "sample locations: first %d, count %d", first, count);
        return;
    }
    const auto nibble = [](float v) { // nan and what lies outside the pixel become its edges
        const float scaled = v * 16.0f;
        return static_cast<unsigned>(scaled > 0.0f ? (scaled < 15.0f ? scaled : 15.0f) : 0.0f);
    };
    for (int i = 0; i < count; ++i)
        s->positions[first + i] = static_cast<uint8_t>(nibble(xy[2 * i]) | nibble(xy[2 * i + 1]) << 4);
}
void nvnMultisampleStateSetMultisampleEnable(NVNmultisampleState* s, NVNboolean on) {
    ns::multisample::Enable::set(s->word, on);
}
void nvnMultisampleStateSetSamples(NVNmultisampleState* s, int n) {
    ns::multisample::Samples::set(s->word, static_cast<uint64_t>(n));
}
void nvnMultisampleStateSetAlphaToCoverageEnable(NVNmultisampleState* s, NVNboolean on) {
    ns::multisample::AlphaToCoverage::set(s->word, on);
}
void nvnMultisampleStateSetAlphaToCoverageDither(NVNmultisampleState* s, NVNboolean on) {
    ns::multisample::Dither::set(s->word, on);
}
NVNboolean nvnMultisampleStateGetMultisampleEnable(const NVNmultisampleState* s) {
    return static_cast<NVNboolean>(ns::multisample::Enable::get(s->word));
}
int nvnMultisampleStateGetSamples(const NVNmultisampleState* s) {
    return static_cast<int>(ns::multisample::Samples::get(s->word));
}
NVNboolean nvnMultisampleStateGetAlphaToCoverageEnable(const NVNmultisampleState* s) {
    return static_cast<NVNboolean>(ns::multisample::AlphaToCoverage::get(s->word));
}
NVNboolean nvnMultisampleStateGetAlphaToCoverageDither(const NVNmultisampleState* s) {
    return static_cast<NVNboolean>(ns::multisample::Dither::get(s->word));
}
void nvnMultisampleStateSetRasterSamples(NVNmultisampleState* s, int n) {
    ns::multisample::RasterSamples::set(s->word, static_cast<uint64_t>(n));
}
int nvnMultisampleStateGetRasterSamples(NVNmultisampleState* s) {
    return static_cast<int>(ns::multisample::RasterSamples::get(s->word));
}
void nvnMultisampleStateSetCoverageModulationMode(NVNmultisampleState* s, NVNcoverageModulationMode mode) {
    ns::multisample::Modulation::set(s->word, mode);
}
NVNcoverageModulationMode nvnMultisampleStateGetCoverageModulationMode(const NVNmultisampleState* s) {
    return static_cast<NVNcoverageModulationMode>(ns::multisample::Modulation::get(s->word));
}
void nvnMultisampleStateSetCoverageToColorEnable(NVNmultisampleState* s, NVNboolean on) {
    ns::multisample::CoverageToColor::set(s->word, on);
}
NVNboolean nvnMultisampleStateGetCoverageToColorEnable(const NVNmultisampleState* s) {
    return static_cast<NVNboolean>(ns::multisample::CoverageToColor::get(s->word));
}
void nvnMultisampleStateSetCoverageToColorOutput(NVNmultisampleState* s, int output) {
    ns::multisample::CoverageOutput::set(s->word, static_cast<uint64_t>(output));
}
int nvnMultisampleStateGetCoverageToColorOutput(const NVNmultisampleState* s) {
    return static_cast<int>(ns::multisample::CoverageOutput::get(s->word));
}

void nvnPolygonStateSetDefaults(NVNpolygonState* s) {
    s->word = 0;
    ns::polygon::Front::set(s->word, NVN_FRONT_FACE_CCW);
    ns::polygon::Mode::set(s->word, NVN_POLYGON_MODE_FILL);
}
void nvnPolygonStateSetCullFace(NVNpolygonState* s, NVNface face) {
    ns::polygon::Cull::set(s->word, face);
}
void nvnPolygonStateSetFrontFace(NVNpolygonState* s, NVNfrontFace face) {
    ns::polygon::Front::set(s->word, face);
}
void nvnPolygonStateSetPolygonMode(NVNpolygonState* s, NVNpolygonMode mode) {
    ns::polygon::Mode::set(s->word, mode);
}
void nvnPolygonStateSetPolygonOffsetEnables(NVNpolygonState* s, int enables) {
    ns::polygon::OffsetEnables::set(s->word, static_cast<uint64_t>(enables));
}
NVNface nvnPolygonStateGetCullFace(const NVNpolygonState* s) {
    return static_cast<NVNface>(ns::polygon::Cull::get(s->word));
}
NVNfrontFace nvnPolygonStateGetFrontFace(const NVNpolygonState* s) {
    return static_cast<NVNfrontFace>(ns::polygon::Front::get(s->word));
}
NVNpolygonMode nvnPolygonStateGetPolygonMode(const NVNpolygonState* s) {
    return static_cast<NVNpolygonMode>(ns::polygon::Mode::get(s->word));
}
NVNpolygonOffsetEnable nvnPolygonStateGetPolygonOffsetEnables(const NVNpolygonState* s) {
    return static_cast<NVNpolygonOffsetEnable>(ns::polygon::OffsetEnables::get(s->word));
}

void nvnDepthStencilStateSetDefaults(NVNdepthStencilState* s) {
    s->word = 0;
    ns::depth_stencil::DepthWrite::set(s->word, 1);
    ns::depth_stencil::DepthFunc::set(s->word, NVN_DEPTH_FUNC_LESS);
    nvnDepthStencilStateSetStencilFunc(s, NVN_FACE_FRONT_AND_BACK, NVN_STENCIL_FUNC_ALWAYS);
    nvnDepthStencilStateSetStencilOp(s, NVN_FACE_FRONT_AND_BACK, NVN_STENCIL_OP_KEEP, NVN_STENCIL_OP_KEEP,
                                     NVN_STENCIL_OP_KEEP);
}
void nvnDepthStencilStateSetDepthTestEnable(NVNdepthStencilState* s, NVNboolean on) {
    ns::depth_stencil::DepthTest::set(s->word, on);
}
void nvnDepthStencilStateSetDepthWriteEnable(NVNdepthStencilState* s, NVNboolean on) {
    ns::depth_stencil::DepthWrite::set(s->word, on);
}
void nvnDepthStencilStateSetDepthFunc(NVNdepthStencilState* s, NVNdepthFunc func) {
    ns::depth_stencil::DepthFunc::set(s->word, func);
}
void nvnDepthStencilStateSetStencilTestEnable(NVNdepthStencilState* s, NVNboolean on) {
    ns::depth_stencil::StencilTest::set(s->word, on);
}
void nvnDepthStencilStateSetStencilFunc(NVNdepthStencilState* s, NVNface faces, NVNstencilFunc func) {
    if (faces & NVN_FACE_FRONT)
        ns::depth_stencil::FrontFunc::set(s->word, func);
    if (faces & NVN_FACE_BACK)
        ns::depth_stencil::BackFunc::set(s->word, func);
}
void nvnDepthStencilStateSetStencilOp(NVNdepthStencilState* s, NVNface faces, NVNstencilOp fail,
                                      NVNstencilOp depth_fail, NVNstencilOp pass) {
    if (faces & NVN_FACE_FRONT) {
        ns::depth_stencil::FrontFail::set(s->word, fail);
        ns::depth_stencil::FrontDepthFail::set(s->word, depth_fail);
        ns::depth_stencil::FrontPass::set(s->word, pass);
    }
    if (faces & NVN_FACE_BACK) {
        ns::depth_stencil::BackFail::set(s->word, fail);
        ns::depth_stencil::BackDepthFail::set(s->word, depth_fail);
        ns::depth_stencil::BackPass::set(s->word, pass);
    }
}
NVNboolean nvnDepthStencilStateGetDepthTestEnable(const NVNdepthStencilState* s) {
    return static_cast<NVNboolean>(ns::depth_stencil::DepthTest::get(s->word));
}
NVNboolean nvnDepthStencilStateGetDepthWriteEnable(const NVNdepthStencilState* s) {
    return static_cast<NVNboolean>(ns::depth_stencil::DepthWrite::get(s->word));
}
NVNdepthFunc nvnDepthStencilStateGetDepthFunc(const NVNdepthStencilState* s) {
    return static_cast<NVNdepthFunc>(ns::depth_stencil::DepthFunc::get(s->word));
}
NVNboolean nvnDepthStencilStateGetStencilTestEnable(const NVNdepthStencilState* s) {
    return static_cast<NVNboolean>(ns::depth_stencil::StencilTest::get(s->word));
}
NVNstencilFunc nvnDepthStencilStateGetStencilFunc(const NVNdepthStencilState* s, NVNface face) {
    return static_cast<NVNstencilFunc>(face == NVN_FACE_BACK ? ns::depth_stencil::BackFunc::get(s->word)
                                                             : ns::depth_stencil::FrontFunc::get(s->word));
}
void nvnDepthStencilStateGetStencilOp(const NVNdepthStencilState* s, NVNface face, NVNstencilOp* fail,
                                      NVNstencilOp* depth_fail, NVNstencilOp* pass) {
    const bool back = face == NVN_FACE_BACK;
    *fail = static_cast<NVNstencilOp>(back ? ns::depth_stencil::BackFail::get(s->word)
                                           : ns::depth_stencil::FrontFail::get(s->word));
    *depth_fail = static_cast<NVNstencilOp>(back ? ns::depth_stencil::BackDepthFail::get(s->word)
                                                 : ns::depth_stencil::FrontDepthFail::get(s->word));
    *pass = static_cast<NVNstencilOp>(back ? ns::depth_stencil::BackPass::get(s->word)
                                           : ns::depth_stencil::FrontPass::get(s->word));
}

void nvnVertexAttribStateSetDefaults(NVNvertexAttribState* s) {
    s->word = 0;
}
void nvnVertexAttribStateSetFormat(NVNvertexAttribState* s, NVNformat format, ptrdiff_t offset) {
    ns::attrib::Format::set(s->word, static_cast<uint64_t>(format));
    ns::attrib::Offset::set(s->word, static_cast<uint64_t>(offset));
}
void nvnVertexAttribStateSetStreamIndex(NVNvertexAttribState* s, int stream) {
    ns::attrib::Stream::set(s->word, static_cast<uint64_t>(stream));
}
void nvnVertexAttribStateGetFormat(const NVNvertexAttribState* s, NVNformat* format, ptrdiff_t* offset) {
    *format = static_cast<NVNformat>(ns::attrib::Format::get(s->word));
    *offset = ns::attrib::Offset::get(s->word);
}
int nvnVertexAttribStateGetStreamIndex(const NVNvertexAttribState* s) {
    return static_cast<int>(ns::attrib::Stream::get(s->word));
}
void nvnVertexStreamStateSetDefaults(NVNvertexStreamState* s) {
    *s = {};
}
void nvnVertexStreamStateSetStride(NVNvertexStreamState* s, ptrdiff_t stride) {
    s->stride = static_cast<uint32_t>(stride);
}
void nvnVertexStreamStateSetDivisor(NVNvertexStreamState* s, int divisor) {
    s->divisor = static_cast<uint32_t>(divisor);
}
ptrdiff_t nvnVertexStreamStateGetStride(const NVNvertexStreamState* s) {
    return s->stride;
}
int nvnVertexStreamStateGetDivisor(const NVNvertexStreamState* s) {
    return static_cast<int>(s->divisor);
}

} // extern "C"
