// Device calls: look-up of entry points, integers, handles, global modes.
#include "runtime/nvn/entry_points.h"
#include "runtime/nvn/host.h"
#include <algorithm>
#include <chrono>

namespace dmsh::nvn {
namespace {

constexpr int32_t kMaxItem = 0xa9;
constexpr int kCodeMinorReported = 16; // games carry shaders up to 1.16 whatever their SDK

uint64_t now_ns() {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
}

std::atomic<int32_t> g_debug_domains{0};

} // namespace
} // namespace dmsh::nvn

using namespace dmsh::nvn;

extern "C" {

PFNNVNGENERICFUNCPTRPROC nvnBootstrapLoader(const char* name) {
    return find_entry_point(name);
}
PFNNVNGENERICFUNCPTRPROC nvnDeviceGetProcAddress(const NVNdevice*, const char* name) {
    return find_entry_point(name);
}

void nvnDeviceBuilderSetDefaults(NVNdeviceBuilder* b) {
    *b = {};
}
void nvnDeviceBuilderSetFlags(NVNdeviceBuilder* b, int flags) {
    b->flags = static_cast<uint32_t>(flags);
}
int nvnDeviceBuilderGetFlags(const NVNdeviceBuilder* b) {
    return static_cast<int>(b->flags);
}

NVNboolean nvnDeviceInitialize(NVNdevice* device, const NVNdeviceBuilder* builder) {
    if (!device || !builder)
        return 0;
    device->magic = kDeviceMagic;
    device->flags = builder->flags;
    return 1;
}
void nvnDeviceFinalize(NVNdevice* device) {
    if (device)
        device->magic = 0;
}
void nvnDeviceSetDebugLabel(NVNdevice*, const char*) {}

void nvnDeviceGetInteger(const NVNdevice*, NVNdeviceInfo item, int* out) {
    if (!out)
        return;
    switch (static_cast<int>(item)) {
    case NVN_DEVICE_INFO_API_MAJOR_VERSION: *out = Host::get().api_major; return;
    case NVN_DEVICE_INFO_API_MINOR_VERSION: *out = Host::get().api_minor; return;
    case NVN_DEVICE_INFO_GLSLC_MAX_SUPPORTED_GPU_CODE_MINOR_VERSION: *out = kCodeMinorReported; return;
#define NVN_DEVICE_INTEGER(item, value)                                                                      \
    case item:                                                                                               \
        *out = value;                                                                                        \
        return;
#include "runtime/nvn/device_integers.def"
#undef NVN_DEVICE_INTEGER
    default:
        *out = 0;
        if (item < 0 || item > kMaxItem)
            report(Report::bad_argument, "device integer 0x%x", static_cast<unsigned>(item));
    }
}

uint64_t nvnDeviceGetCurrentTimestampInNanoseconds(const NVNdevice*) {
    return now_ns();
}
// Guests convert ticks as ns = ticks * 13 / 8; reported counters hold such ticks.
uint64_t nvnDeviceGetTimestampInNanoseconds(const NVNdevice*, const NVNcounterData* data) {
    return data ? data->timestamp * 13 / 8 : 0;
}
void nvnDeviceSetIntermediateShaderCache(NVNdevice*, int) {}

NVNtextureHandle nvnDeviceGetTextureHandle(const NVNdevice*, int texture, int sampler) {
    return (static_cast<uint32_t>(texture) & dmsh::kHandleTextureMask) |
           uint64_t{static_cast<uint32_t>(sampler)} << dmsh::kHandleSamplerShift;
}
NVNtextureHandle nvnDeviceGetTexelFetchHandle(const NVNdevice*, int texture) {
    return static_cast<uint32_t>(texture) & dmsh::kHandleTextureMask;
}
NVNimageHandle nvnDeviceGetImageHandle(const NVNdevice*, int texture) {
    return static_cast<uint32_t>(texture);
}
NVNseparateTextureHandle nvnDeviceGetSeparateTextureHandle(const NVNdevice*, int texture) {
    return {static_cast<uint32_t>(texture) & dmsh::kHandleTextureMask};
}
NVNseparateSamplerHandle nvnDeviceGetSeparateSamplerHandle(const NVNdevice*, int sampler) {
    return {uint64_t{static_cast<uint32_t>(sampler)} << dmsh::kHandleSamplerShift};
}

void nvnDeviceInstallDebugCallback(NVNdevice*, PFNNVNDEBUGCALLBACKPROC, void*, NVNboolean) {}
NVNdebugDomainId nvnDeviceGenerateDebugDomainId(const NVNdevice*, const char*) {
    return ++g_debug_domains;
}
void nvnDeviceSetWindowOriginMode(NVNdevice*, NVNwindowOriginMode mode) {
    Host::get().window_origin = mode & 1;
}
void nvnDeviceSetDepthMode(NVNdevice*, NVNdepthMode mode) {
    Host::get().depth_mode = mode & 1;
}
NVNwindowOriginMode nvnDeviceGetWindowOriginMode(const NVNdevice*) {
    return static_cast<NVNwindowOriginMode>(Host::get().window_origin);
}
NVNdepthMode nvnDeviceGetDepthMode(const NVNdevice*) {
    return static_cast<NVNdepthMode>(Host::get().depth_mode);
}

// Hints for a compression that this host does not have.
NVNboolean nvnDeviceRegisterFastClearColor(NVNdevice*, const float*, NVNformat) {
    return 1;
}
NVNboolean nvnDeviceRegisterFastClearColori(NVNdevice*, const int*, NVNformat) {
    return 1;
}
NVNboolean nvnDeviceRegisterFastClearColorui(NVNdevice*, const uint32_t*, NVNformat) {
    return 1;
}
NVNboolean nvnDeviceRegisterFastClearDepth(NVNdevice*, float) {
    return 1;
}
void nvnDeviceApplyDeferredFinalizes(NVNdevice*, int) {}
void nvnDeviceFinalizeCommandHandle(NVNdevice*, NVNcommandHandle) {}
NVNboolean nvnDeviceIsExternalDebuggerAttached(const NVNdevice*) {
    return 0;
}

} // extern "C"
