// Samplers and their builders.
#include "runtime/nvn/host.h"
#include "runtime/nvn/states.h"
#include <cstring>

namespace dmsh::nvn {
namespace {

bool live(const NVNsampler* s) {
    if (s && s->magic == kSamplerMagic)
        return true;
    report(Report::bad_object, "sampler %p", static_cast<const void*>(s));
    return false;
}

constexpr SamplerDesc kDefaults = [] {
    SamplerDesc d;
    sampler::WrapS::set(d.modes, NVN_WRAP_MODE_REPEAT);
    sampler::WrapT::set(d.modes, NVN_WRAP_MODE_REPEAT);
    sampler::WrapR::set(d.modes, NVN_WRAP_MODE_REPEAT);
    sampler::CompareFunc::set(d.modes, NVN_COMPARE_FUNC_LESS);
    d.min_lod = -1000.0f;
    d.max_lod = 1000.0f;
    d.max_anisotropy = 1.0f;
    return d;
}();

void get_filters(const SamplerDesc& d, NVNminFilter* min, NVNmagFilter* mag) {
    *min = static_cast<NVNminFilter>(sampler::Min::get(d.modes));
    *mag = static_cast<NVNmagFilter>(sampler::Mag::get(d.modes));
}
void get_wraps(const SamplerDesc& d, NVNwrapMode* s, NVNwrapMode* t, NVNwrapMode* r) {
    *s = static_cast<NVNwrapMode>(sampler::WrapS::get(d.modes));
    *t = static_cast<NVNwrapMode>(sampler::WrapT::get(d.modes));
    *r = static_cast<NVNwrapMode>(sampler::WrapR::get(d.modes));
}
void get_compare(const SamplerDesc& d, NVNcompareMode* mode, NVNcompareFunc* func) {
    *mode = static_cast<NVNcompareMode>(sampler::CompareMode::get(d.modes));
    *func = static_cast<NVNcompareFunc>(sampler::CompareFunc::get(d.modes));
}
// Border colours are floats; integer forms convert numerically (1 is 1.0). Values no integer can hold give 0.
template <class Int>
void get_border(const SamplerDesc& d, Int* out) {
    for (int i = 0; i < 4; ++i)
        out[i] = d.border[i] > -2147483648.0f && d.border[i] < 2147483648.0f
                     ? static_cast<Int>(static_cast<int64_t>(d.border[i]))
                     : 0;
}
template <class T>
void set_border(SamplerDesc& d, const T* in) {
    for (int i = 0; i < 4; ++i)
        d.border[i] = static_cast<float>(in[i]);
}

} // namespace
} // namespace dmsh::nvn

using namespace dmsh::nvn;

extern "C" {

void nvnSamplerBuilderSetDevice(NVNsamplerBuilder* b, NVNdevice* device) {
    b->device = device;
}
void nvnSamplerBuilderSetDefaults(NVNsamplerBuilder* b) {
    b->desc = kDefaults;
}
void nvnSamplerBuilderSetMinMagFilter(NVNsamplerBuilder* b, NVNminFilter min, NVNmagFilter mag) {
    sampler::Min::set(b->desc.modes, min);
    sampler::Mag::set(b->desc.modes, mag);
}
void nvnSamplerBuilderSetWrapMode(NVNsamplerBuilder* b, NVNwrapMode s, NVNwrapMode t, NVNwrapMode r) {
    sampler::WrapS::set(b->desc.modes, s);
    sampler::WrapT::set(b->desc.modes, t);
    sampler::WrapR::set(b->desc.modes, r);
}
void nvnSamplerBuilderSetLodClamp(NVNsamplerBuilder* b, float min, float max) {
    b->desc.min_lod = min;
    b->desc.max_lod = max;
}
void nvnSamplerBuilderSetLodBias(NVNsamplerBuilder* b, float bias) {
    b->desc.lod_bias = bias;
}
void nvnSamplerBuilderSetCompare(NVNsamplerBuilder* b, NVNcompareMode mode, NVNcompareFunc func) {
    sampler::CompareMode::set(b->desc.modes, mode);
    sampler::CompareFunc::set(b->desc.modes, func);
}
void nvnSamplerBuilderSetBorderColor(NVNsamplerBuilder* b, const float* c) {
    set_border(b->desc, c);
}
void nvnSamplerBuilderSetBorderColori(NVNsamplerBuilder* b, const int* c) {
    set_border(b->desc, c);
}
void nvnSamplerBuilderSetBorderColorui(NVNsamplerBuilder* b, const uint32_t* c) {
    set_border(b->desc, c);
}
void nvnSamplerBuilderSetMaxAnisotropy(NVNsamplerBuilder* b, float v) {
    b->desc.max_anisotropy = v;
}
void nvnSamplerBuilderSetReductionFilter(NVNsamplerBuilder* b, NVNsamplerReduction v) {
    sampler::Reduction::set(b->desc.modes, v);
}
void nvnSamplerBuilderSetLodSnap(NVNsamplerBuilder* b, float v) {
    b->desc.lod_snap = v;
}
void nvnSamplerBuilderGetMinMagFilter(const NVNsamplerBuilder* b, NVNminFilter* min, NVNmagFilter* mag) {
    get_filters(b->desc, min, mag);
}
void nvnSamplerBuilderGetWrapMode(const NVNsamplerBuilder* b, NVNwrapMode* s, NVNwrapMode* t,
                                  NVNwrapMode* r) {
    get_wraps(b->desc, s, t, r);
}
void nvnSamplerBuilderGetLodClamp(const NVNsamplerBuilder* b, float* min, float* max) {
    *min = b->desc.min_lod;
    *max = b->desc.max_lod;
}
float nvnSamplerBuilderGetLodBias(const NVNsamplerBuilder* b) {
    return b->desc.lod_bias;
}
void nvnSamplerBuilderGetCompare(const NVNsamplerBuilder* b, NVNcompareMode* mode, NVNcompareFunc* func) {
    get_compare(b->desc, mode, func);
}
void nvnSamplerBuilderGetBorderColor(const NVNsamplerBuilder* b, float* c) {
    std::memcpy(c, b->desc.border, 16);
}
void nvnSamplerBuilderGetBorderColori(const NVNsamplerBuilder* b, int* c) {
    get_border(b->desc, c);
}
void nvnSamplerBuilderGetBorderColorui(const NVNsamplerBuilder* b, uint32_t* c) {
    get_border(b->desc, c);
}
float nvnSamplerBuilderGetMaxAnisotropy(const NVNsamplerBuilder* b) {
    return b->desc.max_anisotropy;
}
NVNsamplerReduction nvnSamplerBuilderGetReductionFilter(const NVNsamplerBuilder* b) {
    return static_cast<NVNsamplerReduction>(sampler::Reduction::get(b->desc.modes));
}
float nvnSamplerBuilderGetLodSnap(const NVNsamplerBuilder* b) {
    return b->desc.lod_snap;
}
const NVNdevice* nvnSamplerBuilderGetDevice(const NVNsamplerBuilder* b) {
    return b->device;
}

NVNboolean nvnSamplerInitialize(NVNsampler* s, const NVNsamplerBuilder* b) {
    if (!s || !b)
        return 0;
    s->magic = kSamplerMagic;
    s->zero = 0;
    s->desc = b->desc;
    return 1;
}
void nvnSamplerFinalize(NVNsampler* s) {
    if (live(s))
        s->magic = 0;
}
void nvnSamplerSetDebugLabel(NVNsampler*, const char*) {}
void nvnSamplerGetMinMagFilter(const NVNsampler* s, NVNminFilter* min, NVNmagFilter* mag) {
    get_filters(s->desc, min, mag);
}
void nvnSamplerGetWrapMode(const NVNsampler* p, NVNwrapMode* s, NVNwrapMode* t, NVNwrapMode* r) {
    get_wraps(p->desc, s, t, r);
}
void nvnSamplerGetLodClamp(const NVNsampler* s, float* min, float* max) {
    *min = s->desc.min_lod;
    *max = s->desc.max_lod;
}
float nvnSamplerGetLodBias(const NVNsampler* s) {
    return s->desc.lod_bias;
}
void nvnSamplerGetCompare(const NVNsampler* s, NVNcompareMode* mode, NVNcompareFunc* func) {
    get_compare(s->desc, mode, func);
}
void nvnSamplerGetBorderColor(const NVNsampler* s, float* c) {
    std::memcpy(c, s->desc.border, 16);
}
void nvnSamplerGetBorderColori(const NVNsampler* s, int* c) {
    get_border(s->desc, c);
}
void nvnSamplerGetBorderColorui(const NVNsampler* s, uint32_t* c) {
    get_border(s->desc, c);
}
float nvnSamplerGetMaxAnisotropy(const NVNsampler* s) {
    return s->desc.max_anisotropy;
}
NVNsamplerReduction nvnSamplerGetReductionFilter(const NVNsampler* s) {
    return static_cast<NVNsamplerReduction>(sampler::Reduction::get(s->desc.modes));
}
NVNboolean nvnSamplerCompare(const NVNsampler* a, const NVNsampler* b) {
    return live(a) && live(b) && std::memcmp(&a->desc, &b->desc, sizeof a->desc) == 0;
}
uint64_t nvnSamplerGetDebugID(const NVNsampler*) {
    return 0;
}

} // extern "C"
