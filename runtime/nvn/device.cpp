// Device calls: look-up of entry points, integers, handles, global modes.
#include "runtime/nvn/entry_points.h"
#include "runtime/nvn/host.h"
#include <algorithm>
#include <chrono>
#include <optional>

namespace dmsh::nvn {
namespace {

constexpr int32_t kMaxItemX1 = 0x68, kMaxItemNvn2 = 0xa9;
constexpr int kDefaultNvn2 = 231; // what the second console's driver answers for items that it does not have

// Tegra X1's constants; nothing for items without one.
std::optional<int> x1_integer(int item) {
    switch (item) {
#define NVN_DEVICE_INTEGER(item, value)                                                                      \
    case item: return value;
#define NVN_DEVICE_INTEGER_NVN2(item, value)
#include "runtime/nvn/device_integers.def"
#undef NVN_DEVICE_INTEGER
#undef NVN_DEVICE_INTEGER_NVN2
    default: return std::nullopt;
    }
}

// Where the second console's constants differ.
std::optional<int> nvn2_integer(int item) {
    switch (item) {
#define NVN_DEVICE_INTEGER(item, value)
#define NVN_DEVICE_INTEGER_NVN2(item, value)                                                                 \
    case item: return value;
#include "runtime/nvn/device_integers.def"
#undef NVN_DEVICE_INTEGER
#undef NVN_DEVICE_INTEGER_NVN2
    default: return std::nullopt;
    }
}

int device_integer(int item) {
    const Sdk& sdk = Host::get().sdk;
    switch (item) {
    case NVN_DEVICE_INFO_API_MAJOR_VERSION: return sdk.api_major;
    case NVN_DEVICE_INFO_API_MINOR_VERSION: return sdk.api_minor;
    case NVN_DEVICE_INFO_GLSLC_MAX_SUPPORTED_GPU_CODE_MINOR_VERSION: return sdk.code_minor;
    default: break;
    }
    if (!sdk.nvn2) {
        if (item < 0 || item > kMaxItemNvn2)
            report(Report::bad_argument, "device integer 0x%x", static_cast<unsigned>(item));
        return x1_integer(item).value_or(0);
    }
    if (item < 0 || item > kMaxItemNvn2)
        return kDefaultNvn2;
    if (const auto v = nvn2_integer(item))
        return *v;
    if (const auto v = x1_integer(item))
        return *v;
    if (item > kMaxItemX1) // read from the device at run time there; the values are not known
        report(Report::bad_argument, "device integer 0x%x is not known", static_cast<unsigned>(item));
    return 0;
}

uint64_t now_ns() {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
}

std::atomic<int32_t> g_debug_domains{0};

} // namespace

Sdk sdk_of(bool nvn2, int major, int minor) {
    if (!nvn2) // GPU code up to 1.16 is reported whatever the SDK: games carry newer shaders than their SDK's
        return major <= 10 ? Sdk{false, 53, 313, 16} : Sdk{false, 55, 15, 16};
    return major < 21 || (major == 21 && minor < 4) ? Sdk{true, 231, 30, 17} : Sdk{true, 231, 39, 20};
}
} // namespace dmsh::nvn

using namespace dmsh::nvn;

extern "C" {

uint32_t nvnPrivate0 = 0;

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
    *out = device_integer(static_cast<int>(item));
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
// The callback may finalise what it is shown.
void nvnDeviceWalkDebugDatabase(const NVNdevice*, NVNdebugObjectType type,
                                PFNNVNWALKDEBUGDATABASECALLBACKPROC callback, void* user) {
    if (!callback)
        return;
    for (const void* object : Host::get().tracked(type))
        callback(const_cast<void*>(object), user);
}
void nvnSetExternalDebuggerEnabledNVX() {}
NVNboolean nvnDeviceIsExternalDebuggerAttached(const NVNdevice*) {
    return 0;
}

} // extern "C"
