// Records of NVN objects as they lie in guest memory, each with the assertion of its size.
//
// Rules: a record is never larger than the smallest allocation of any supported SDK; it holds a magic where
// the guest leaves room; equal state gives equal bytes; pointers found in records are looked up, never
// followed.
#pragma once
#include "runtime/nvn/nvn.h"
#include <atomic>
#include <type_traits>

namespace dmsh::nvn {

// "dm" and a number: what a live record starts with.
constexpr uint32_t magic(uint32_t n) {
    return 0x6d640000u | n;
}
constexpr uint32_t kDeviceMagic = magic(1), kQueueMagic = magic(2), kProgramMagic = magic(3),
                   kPoolMagic = magic(4);
constexpr uint32_t kTexturePoolMagic = magic(5), kSamplerPoolMagic = magic(6), kTextureMagic = magic(7);
constexpr uint32_t kSamplerMagic = magic(8), kCommandBufferMagic = magic(9), kSyncMagic = magic(10);
constexpr uint32_t kEventMagic = magic(11), kWindowMagic = magic(12);

// A texture without its storage's owner: everything that a backend needs to make the host's copy of it. 40
// bytes, no padding, so that equal textures have equal bytes; recorded into command memory as a snapshot.
struct TextureDesc {
    uint64_t address = 0; // guest GPU address of the storage
    uint32_t width = 1, height = 1, depth = 1;
    uint32_t stride = 0;  // linear textures; 0 = by rule
    uint16_t flags = 0;   // NVNtextureFlags
    uint16_t swizzle = 0; // a nibble for each of r, g, b, a
    uint8_t format = 0;
    uint8_t target = NVN_TEXTURE_TARGET_2D;
    uint8_t levels = 1;
    uint8_t samples = 0;
    uint8_t packaged = 0;        // 1: the two fields below decide
    uint8_t packaged_blocks = 0; // low nibble log2 height, high nibble log2 depth
    uint8_t stencil_mode = 0;    // NVNtextureDepthStencilMode
    uint8_t packaged_columns = 0; // low nibble log2 of a sparse tile's width in GOB columns
    uint8_t reserved[4] = {};

    bool operator==(const TextureDesc&) const = default;
};
static_assert(sizeof(TextureDesc) == 40 && std::has_unique_object_representations_v<TextureDesc>);

constexpr uint16_t pack_swizzle(int r, int g, int b, int a) {
    return static_cast<uint16_t>((r & 15) | (g & 15) << 4 | (b & 15) << 8 | (a & 15) << 12);
}
constexpr uint16_t kIdentitySwizzle =
    pack_swizzle(NVN_TEXTURE_SWIZZLE_R, NVN_TEXTURE_SWIZZLE_G, NVN_TEXTURE_SWIZZLE_B, NVN_TEXTURE_SWIZZLE_A);

// Sampler state: 40 bytes, no padding.
struct SamplerDesc {
    uint32_t modes =
        0; // min 0..2, mag 3, wrap s 4..6, t 7..9, r 10..12, compare mode 13, func 14..17, reduction 18..19
    float min_lod = 0, max_lod = 0, lod_bias = 0, max_anisotropy = 0, lod_snap = 0;
    float border[4] = {};

    bool operator==(const SamplerDesc&) const = default;
};
static_assert(sizeof(SamplerDesc) == 40);

} // namespace dmsh::nvn

struct NVNdeviceBuilder {
    uint32_t flags;
};
static_assert(sizeof(NVNdeviceBuilder) <= 0x40);

struct NVNdevice {
    uint32_t magic;
    uint32_t flags;
};
static_assert(sizeof(NVNdevice) <= 0x3000);

struct NVNqueueBuilder {
    const NVNdevice* device;
    uint32_t flags;
    uint16_t set;      // bit per size below that was set
    uint16_t priority; // NVNqueuePriority
    uint32_t command_size, compute_size, control_size, flush_threshold, ray_tracing_size;
    uint32_t zero;
    void* memory;
    uint64_t memory_size;
};
static_assert(sizeof(NVNqueueBuilder) <= 0x40);

struct NVNqueue {
    uint32_t magic;
    uint32_t serial; // names the queue's state in the host
};
static_assert(sizeof(NVNqueue) <= 0x2000);

struct NVNprogram {
    uint32_t magic;
    uint32_t serial; // everything else is in the host's program table
};
static_assert(sizeof(NVNprogram) <= 112);

struct NVNmemoryPoolBuilder {
    const NVNdevice* device;
    void* memory;
    uint64_t size;
    uint32_t flags;
};
static_assert(sizeof(NVNmemoryPoolBuilder) <= 0x40);

struct NVNmemoryPool {
    uint32_t magic;
    uint32_t flags;
    void* memory;
    uint64_t size;
};
static_assert(sizeof(NVNmemoryPool) <= 0x100);

struct NVNtexturePool {
    uint32_t magic;
    uint32_t serial;
    const NVNmemoryPool* pool;
    int64_t offset;
    int32_t count;
    uint32_t reserved;
};
static_assert(sizeof(NVNtexturePool) <= 0x20);

struct NVNsamplerPool {
    uint32_t magic;
    uint32_t serial;
    const NVNmemoryPool* pool;
    int64_t offset;
    int32_t count;
    uint32_t reserved;
};
static_assert(sizeof(NVNsamplerPool) <= 0x20);

// Guests retarget buffers by storing offset and size; what lies before them is the driver's and means nothing
// here.
struct NVNbuffer {
    uint8_t reserved[0x18];
    int64_t offset;
    uint64_t size;
    NVNmemoryPool* pool;
};
static_assert(offsetof(NVNbuffer, offset) == 0x18 && offsetof(NVNbuffer, size) == 0x20 &&
              sizeof(NVNbuffer) <= 0x30);

struct NVNbufferBuilder {
    const NVNdevice* device;
    NVNmemoryPool* pool;
    int64_t offset;
    uint64_t size;
};
static_assert(sizeof(NVNbufferBuilder) <= 0x40);

struct NVNtextureView {
    uint8_t set; // dmsh::nvn::kViewLevels...: which overrides hold
    uint8_t base_level, level_count;
    uint8_t target;
    uint16_t min_layer, layer_count;
    uint16_t swizzle;
    uint8_t format;
    uint8_t stencil_mode;
    uint32_t reserved;
};
static_assert(sizeof(NVNtextureView) == 16);

struct NVNtexture {
    uint32_t magic;
    uint32_t reserved;
    dmsh::nvn::TextureDesc desc;
    NVNmemoryPool* pool;
    int64_t offset;
    uint64_t storage_bytes;
};
static_assert(sizeof(NVNtexture) <= 0x80);

struct NVNtextureBuilder {
    dmsh::nvn::TextureDesc desc; // address unused
    const NVNdevice* device;
    NVNmemoryPool* pool;
    int64_t offset;
    const void* packaged_data;
    uint8_t packaged_layout[8];
    uint32_t gl_name;
    uint32_t reserved;
};
static_assert(sizeof(NVNtextureBuilder) <= 0x80);

// Guests key samplers by a checksum over bytes 8 to 0x5f: all state from byte 8 on, bytes 0x30 to 0x5f never
// written.
struct NVNsampler {
    uint32_t magic;
    uint32_t zero;
    dmsh::nvn::SamplerDesc desc;
};
static_assert(offsetof(NVNsampler, desc) == 8 && sizeof(NVNsampler) == 0x30);

struct NVNsamplerBuilder {
    const NVNdevice* device;
    dmsh::nvn::SamplerDesc desc;
};
static_assert(sizeof(NVNsamplerBuilder) <= 0x60);

// Fixed-function states are packed words; runtime/nvn/states.h names their fields.
struct NVNblendState {
    uint64_t word;
};
static_assert(sizeof(NVNblendState) == 8);
struct NVNcolorState {
    uint32_t word;
};
static_assert(sizeof(NVNcolorState) == 4);
struct NVNchannelMaskState {
    uint32_t word; // nibble rgba (r lowest) per target
};
static_assert(sizeof(NVNchannelMaskState) == 4);
struct NVNmultisampleState {
    uint32_t word;
    uint8_t positions[16]; // a byte per sample: x in the low nibble, y in the high, 1/16 pixel
    uint32_t reserved;
};
static_assert(sizeof(NVNmultisampleState) <= 0x18);
struct NVNpolygonState {
    uint32_t word;
};
static_assert(sizeof(NVNpolygonState) == 4);
struct NVNdepthStencilState {
    uint64_t word;
};
static_assert(sizeof(NVNdepthStencilState) == 8);
struct NVNvertexAttribState {
    uint32_t word;
};
static_assert(sizeof(NVNvertexAttribState) == 4);
struct NVNvertexStreamState {
    uint32_t stride;
    uint32_t divisor;
};
static_assert(sizeof(NVNvertexStreamState) == 8);

// The byte at +0x10 is the guest's: nothing here lies on it. What recording trusts is on the host (recorder.h).
struct NVNcommandBuffer {
    uint32_t magic;
    uint32_t slot;   // of the host's recorder
    uint32_t serial; // that this slot must have
    uint32_t zero;
    uint64_t guest_byte;
};
static_assert(offsetof(NVNcommandBuffer, guest_byte) == 0x10 && sizeof(NVNcommandBuffer) <= 0xa0);

struct NVNsync {
    uint32_t magic;
    uint32_t reserved;
    std::atomic<uint64_t> fence; // receipt of the submission that signals it; 0 = never fenced
};
static_assert(sizeof(NVNsync) <= 0x40);

struct NVNeventBuilder {
    const NVNmemoryPool* pool;
    int64_t offset;
};
static_assert(sizeof(NVNeventBuilder) <= 0x20);

// The event's value is the 32-bit word at offset in the pool.
struct NVNevent {
    uint32_t magic;
    uint32_t zero;
    const NVNmemoryPool* pool;
    int64_t offset;
};
static_assert(sizeof(NVNevent) <= 0x40);

struct NVNwindowBuilder {
    const NVNdevice* device;
    void* native;
    const NVNtexture* textures[4];
    int32_t interval;
    uint8_t count, active;
    uint16_t zero;
};
static_assert(sizeof(NVNwindowBuilder) <= 0x40);

struct NVNwindow {
    uint32_t magic;
    uint32_t serial; // the swapchain is in the host's table
    void* native;
    int32_t interval;
    int32_t crop[4]; // all zero: none was set
};
static_assert(sizeof(NVNwindow) <= 0x180);

namespace dmsh::nvn {

// A texture as bound: its description and the overrides of a view (none set: the whole texture).
struct BoundTexture {
    TextureDesc texture;
    NVNtextureView view = {};
};
static_assert(sizeof(BoundTexture) == 56);

constexpr uint8_t kViewLevels = 1, kViewLayers = 2, kViewFormat = 4, kViewSwizzle = 8, kViewStencilMode = 16,
                  kViewTarget = 32;

// What the guest reserves for each object (the smallest of the supported SDKs).
template <class T>
constexpr size_t kGuestBytes = 0;
template <>
inline constexpr size_t kGuestBytes<NVNdevice> = 0x3000;
template <>
inline constexpr size_t kGuestBytes<NVNdeviceBuilder> = 0x40;
template <>
inline constexpr size_t kGuestBytes<NVNqueue> = 0x2000;
template <>
inline constexpr size_t kGuestBytes<NVNqueueBuilder> = 0x40;
template <>
inline constexpr size_t kGuestBytes<NVNprogram> = 112;
template <>
inline constexpr size_t kGuestBytes<NVNmemoryPool> = 0x100;
template <>
inline constexpr size_t kGuestBytes<NVNmemoryPoolBuilder> = 0x40;
template <>
inline constexpr size_t kGuestBytes<NVNtexturePool> = 0x20;
template <>
inline constexpr size_t kGuestBytes<NVNsamplerPool> = 0x20;
template <>
inline constexpr size_t kGuestBytes<NVNbuffer> = 0x30;
template <>
inline constexpr size_t kGuestBytes<NVNbufferBuilder> = 0x40;
template <>
inline constexpr size_t kGuestBytes<NVNtexture> = 0x80;
template <>
inline constexpr size_t kGuestBytes<NVNtextureBuilder> = 0x80;
template <>
inline constexpr size_t kGuestBytes<NVNtextureView> = 0x10;
template <>
inline constexpr size_t kGuestBytes<NVNsampler> = 0x30;
template <>
inline constexpr size_t kGuestBytes<NVNsamplerBuilder> = 0x60;
template <>
inline constexpr size_t kGuestBytes<NVNcommandBuffer> = 0xa0;
template <>
inline constexpr size_t kGuestBytes<NVNsync> = 0x40;
template <>
inline constexpr size_t kGuestBytes<NVNevent> = 0x40;
template <>
inline constexpr size_t kGuestBytes<NVNeventBuilder> = 0x20;
template <>
inline constexpr size_t kGuestBytes<NVNwindow> = 0x180;
template <>
inline constexpr size_t kGuestBytes<NVNwindowBuilder> = 0x40;

} // namespace dmsh::nvn
