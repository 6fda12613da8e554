// NVN objects: byte rules of the records, getters, recording memory, entry point table.
#include "runtime/nvn/entry_points.h"
#include "runtime/nvn/formats.h"
#include "runtime/nvn/recorder.h"
#include "tests/nvn/guest.h"
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

namespace dmsh::nvn {
namespace {

class Nvn : public FreshHost {};

TEST_F(Nvn, EveryNameOfTheListResolves) {
    EXPECT_EQ(entry_points().size(), 527u);
    for (const EntryPoint& e : entry_points())
        EXPECT_NE(nvnBootstrapLoader(e.name), nullptr) << e.name;
    const auto by_device = nvnBootstrapLoader("nvnDeviceGetProcAddress");
    ASSERT_EQ(by_device, reinterpret_cast<PFNNVNGENERICFUNCPTRPROC>(&nvnDeviceGetProcAddress));
    EXPECT_EQ(nvnDeviceGetProcAddress(nullptr, "nvnSamplerInitialize"),
              reinterpret_cast<PFNNVNGENERICFUNCPTRPROC>(&nvnSamplerInitialize));
}

TEST_F(Nvn, UnknownNamesAreNullAndStubsReportOnce) {
    EXPECT_EQ(nvnBootstrapLoader("nvnNoSuchThing"), nullptr);
    EXPECT_EQ(nvnBootstrapLoader(nullptr), nullptr);
    EXPECT_EQ(report_count(Report::unknown_name), 1u);
    using Call = uint64_t (*)(void*, int, float);
    const auto stub = reinterpret_cast<Call>(nvnBootstrapLoader("nvnCommandBufferDrawTexture"));
    ASSERT_NE(stub, nullptr);
    EXPECT_EQ(stub(nullptr, 3, 1.0f), 0u);
    EXPECT_EQ(stub(nullptr, 3, 1.0f), 0u);
    EXPECT_EQ(report_count(Report::stub_called), 1u);
}

TEST_F(Nvn, DeviceIntegersOfTheTable) {
    const auto value = [](int item) {
        int v = -1;
        nvnDeviceGetInteger(nullptr, static_cast<NVNdeviceInfo>(item), &v);
        return v;
    };
    EXPECT_EQ(value(0), 55);
    EXPECT_EQ(value(1), 15);
    EXPECT_EQ(value(0x5f), 32);
    EXPECT_EQ(value(0x13), 4);
    EXPECT_EQ(value(0x15), 512);
    EXPECT_EQ(value(0x30), 16);
    EXPECT_EQ(value(0x31), 5);
    EXPECT_EQ(value(0x68), 16383);
    EXPECT_EQ(value(0x69), 0);
    EXPECT_EQ(value(0x7fffff), 0);
    Host::get().set_sdk(sdk_of(false, 10, 0));
    EXPECT_EQ(value(0), 53);
}

TEST_F(Nvn, HandleWords) {
    EXPECT_EQ(nvnDeviceGetTextureHandle(nullptr, 0x1d1, 0x102), 0x1d1u | 0x102u << 20);
    EXPECT_EQ(nvnDeviceGetTexelFetchHandle(nullptr, 0x1d1), 0x1d1u);
    EXPECT_EQ(nvnDeviceGetImageHandle(nullptr, 300), 300u);
    EXPECT_EQ(nvnDeviceGetSeparateSamplerHandle(nullptr, 0x105).word, 0x105u << 20);
}

TEST_F(Nvn, BuffersFollowRawStores) {
    GuestPool pool(0x10000);
    Guest<NVNbufferBuilder> b;
    nvnBufferBuilderSetDevice(b, nullptr);
    nvnBufferBuilderSetDefaults(b);
    nvnBufferBuilderSetStorage(b, pool.get(), 0x100, 0x200);
    Guest<NVNbuffer> buffer;
    ASSERT_TRUE(nvnBufferInitialize(buffer, b));
    EXPECT_EQ(nvnBufferGetAddress(buffer), pool.address() + 0x100);
    std::mt19937_64 random(1);
    for (int i = 0; i < 50; ++i) {
        const uint64_t offset = random() % 0x10000, size = random() % 0x1000;
        std::memcpy(buffer.bytes() + 0x18, &offset, 8);
        std::memcpy(buffer.bytes() + 0x20, &size, 8);
        for (int k = 0; k < 0x18; ++k)
            buffer.bytes()[k] = static_cast<uint8_t>(random());
        EXPECT_EQ(nvnBufferGetAddress(buffer), pool.address() + offset);
        EXPECT_EQ(nvnBufferMap(buffer), pool.memory() + offset);
        EXPECT_EQ(nvnBufferGetSize(buffer), size);
        EXPECT_EQ(nvnBufferGetMemoryOffset(buffer), static_cast<ptrdiff_t>(offset));
        EXPECT_EQ(nvnBufferGetMemoryPool(buffer), pool.get());
    }
    EXPECT_EQ(nvnBufferBuilderGetMemoryOffset(b), 0x100);
    const uint64_t wild = 0x4141414141414141;
    std::memcpy(buffer.bytes() + 0x28, &wild, 8);
    EXPECT_EQ(nvnBufferGetAddress(buffer), 0u);
    EXPECT_EQ(nvnBufferMap(buffer), nullptr);
}

TEST_F(Nvn, MapIsNullWithoutCpuAccess) {
    GuestPool pool(0x10000, NVN_MEMORY_POOL_FLAGS_CPU_NO_ACCESS | NVN_MEMORY_POOL_FLAGS_GPU_CACHED);
    EXPECT_EQ(nvnMemoryPoolMap(pool.get()), nullptr);
    EXPECT_EQ(nvnMemoryPoolGetBufferAddress(pool.get()), pool.address());
    Guest<NVNbufferBuilder> b;
    nvnBufferBuilderSetStorage(b, pool.get(), 0, 0x200);
    Guest<NVNbuffer> buffer;
    ASSERT_TRUE(nvnBufferInitialize(buffer, b));
    EXPECT_EQ(nvnBufferMap(buffer), nullptr);
    EXPECT_EQ(nvnBufferGetAddress(buffer), pool.address());
}

uint16_t crc16(const uint8_t* bytes, size_t n) {
    uint16_t crc = 0;
    for (size_t i = 0; i < n; ++i) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; ++k)
            crc = static_cast<uint16_t>(crc & 1 ? crc >> 1 ^ 0xa001 : crc >> 1);
    }
    return crc;
}

TEST_F(Nvn, EqualSamplersHaveEqualBytesFromByte8) {
    const auto hash = [](uint8_t old, NVNminFilter filter, NVNwrapMode wrap) {
        Guest<NVNsamplerBuilder> b(old);
        nvnSamplerBuilderSetDefaults(b);
        nvnSamplerBuilderSetMinMagFilter(b, filter, NVN_MAG_FILTER_LINEAR);
        nvnSamplerBuilderSetWrapMode(b, wrap, wrap, wrap);
        alignas(8) uint8_t memory[0x60];
        std::memset(memory, old, 0x30);
        std::memset(memory + 0x30, 0x77, 0x30);
        auto* s = reinterpret_cast<NVNsampler*>(memory);
        EXPECT_TRUE(nvnSamplerInitialize(s, b));
        for (int i = 0x30; i < 0x60; ++i)
            EXPECT_EQ(memory[i], 0x77);
        return crc16(memory + 8, 0x58);
    };
    const auto base = hash(0x00, NVN_MIN_FILTER_LINEAR, NVN_WRAP_MODE_REPEAT);
    EXPECT_EQ(hash(0xff, NVN_MIN_FILTER_LINEAR, NVN_WRAP_MODE_REPEAT), base);
    EXPECT_NE(hash(0xff, NVN_MIN_FILTER_NEAREST, NVN_WRAP_MODE_REPEAT), base);
    EXPECT_NE(hash(0xff, NVN_MIN_FILTER_LINEAR, NVN_WRAP_MODE_CLAMP), base);
}

TEST_F(Nvn, BorderColoursConvertNumerically) {
    Guest<NVNsamplerBuilder> b;
    nvnSamplerBuilderSetDefaults(b);
    const int color[4] = {0, 1, -3, 255};
    nvnSamplerBuilderSetBorderColori(b, color);
    float f[4];
    nvnSamplerBuilderGetBorderColor(b, f);
    EXPECT_EQ(f[1], 1.0f);
    EXPECT_EQ(f[2], -3.0f);
    int back[4];
    nvnSamplerBuilderGetBorderColori(b, back);
    EXPECT_EQ(back[3], 255);
}

TEST_F(Nvn, StatesRoundTrip) {
    NVNblendState blend{~uint64_t{0}};
    nvnBlendStateSetDefaults(&blend);
    NVNblendFunc f[4];
    nvnBlendStateGetBlendFunc(&blend, &f[0], &f[1], &f[2], &f[3]);
    EXPECT_EQ(f[0], NVN_BLEND_FUNC_ONE);
    EXPECT_EQ(f[1], NVN_BLEND_FUNC_ZERO);
    nvnBlendStateSetBlendTarget(&blend, 5);
    nvnBlendStateSetBlendFunc(&blend, NVN_BLEND_FUNC_CONSTANT_ALPHA, NVN_BLEND_FUNC_ONE_MINUS_CONSTANT_ALPHA,
                              NVN_BLEND_FUNC_SRC1_ALPHA, NVN_BLEND_FUNC_DST_COLOR);
    nvnBlendStateSetBlendEquation(&blend, NVN_BLEND_EQUATION_MAX, NVN_BLEND_EQUATION_SUB);
    nvnBlendStateSetAdvancedMode(&blend, NVN_BLEND_ADVANCED_MODE_HSL_HUE);
    nvnBlendStateGetBlendFunc(&blend, &f[0], &f[1], &f[2], &f[3]);
    EXPECT_EQ(f[0], NVN_BLEND_FUNC_CONSTANT_ALPHA);
    EXPECT_EQ(f[1], NVN_BLEND_FUNC_ONE_MINUS_CONSTANT_ALPHA);
    EXPECT_EQ(f[3], NVN_BLEND_FUNC_DST_COLOR);
    EXPECT_EQ(nvnBlendStateGetBlendTarget(&blend), 5);

    NVNdepthStencilState depth{0};
    nvnDepthStencilStateSetDefaults(&depth);
    nvnDepthStencilStateSetStencilOp(&depth, NVN_FACE_BACK, NVN_STENCIL_OP_DECR_WRAP, NVN_STENCIL_OP_ZERO,
                                     NVN_STENCIL_OP_INVERT);
    NVNstencilOp a, b, c;
    nvnDepthStencilStateGetStencilOp(&depth, NVN_FACE_BACK, &a, &b, &c);
    EXPECT_EQ(a, NVN_STENCIL_OP_DECR_WRAP);
    EXPECT_EQ(c, NVN_STENCIL_OP_INVERT);
    nvnDepthStencilStateGetStencilOp(&depth, NVN_FACE_FRONT, &a, &b, &c);
    EXPECT_EQ(a, NVN_STENCIL_OP_KEEP);

    NVNvertexAttribState attrib{0};
    nvnVertexAttribStateSetFormat(&attrib, NVN_FORMAT_BGRA8_SRGB, 0x12345);
    nvnVertexAttribStateSetStreamIndex(&attrib, 15);
    NVNformat format;
    ptrdiff_t offset;
    nvnVertexAttribStateGetFormat(&attrib, &format, &offset);
    EXPECT_EQ(format, NVN_FORMAT_BGRA8_SRGB);
    EXPECT_EQ(offset, 0x12345);
    EXPECT_EQ(nvnVertexAttribStateGetStreamIndex(&attrib), 15);

    NVNchannelMaskState mask;
    nvnChannelMaskStateSetDefaults(&mask);
    nvnChannelMaskStateSetChannelMask(&mask, 3, 1, 0, 1, 0);
    NVNboolean r, g, bb, aa;
    nvnChannelMaskStateGetChannelMask(&mask, 3, &r, &g, &bb, &aa);
    EXPECT_TRUE(r && !g && bb && !aa);
}

TEST_F(Nvn, TexturesTellWhatTheyAre) {
    GuestPool pool(0x100000);
    Guest<NVNtextureBuilder> b;
    nvnTextureBuilderSetDevice(b, nullptr);
    nvnTextureBuilderSetDefaults(b);
    nvnTextureBuilderSetTarget(b, NVN_TEXTURE_TARGET_2D);
    nvnTextureBuilderSetFormat(b, NVN_FORMAT_RG8);
    nvnTextureBuilderSetSize2D(b, 260, 260);
    nvnTextureBuilderSetLevels(b, 9);
    EXPECT_EQ(nvnTextureBuilderGetStorageSize(b), 332800u);
    EXPECT_EQ(nvnTextureBuilderGetStorageAlignment(b), 512u);
    nvnTextureBuilderSetStorage(b, pool.get(), 0x1000);
    Guest<NVNtexture> t(0x11), u(0xee);
    ASSERT_TRUE(nvnTextureInitialize(t, b));
    ASSERT_TRUE(nvnTextureInitialize(u, b));
    EXPECT_EQ(std::memcmp(t.bytes(), u.bytes(), sizeof(NVNtexture)), 0);
    EXPECT_EQ(nvnTextureGetTextureAddress(t), pool.address() + 0x1000);
    EXPECT_EQ(nvnTextureGetStorageSize(t), 332800);
    Guest<NVNtextureView> v;
    nvnTextureViewSetDefaults(v);
    nvnTextureViewSetLevels(v, 2, 1);
    EXPECT_EQ(nvnTextureGetViewOffset(t, v), 303104);
    nvnTextureBuilderSetStorage(b, pool.get(), 0x100000 - 512);
    EXPECT_FALSE(nvnTextureInitialize(u, b));
    EXPECT_NE(nvnTextureGetZCullStorageSize(t), 0u);
}

TEST_F(Nvn, TexelsGoInAndOutOfEveryLevelAndLayer) {
    GuestPool pool(0x100000);
    for (const int format : {NVN_FORMAT_RGBA8, NVN_FORMAT_RGBA_DXT1, NVN_FORMAT_RGBA16F}) {
        Guest<NVNtextureBuilder> b;
        nvnTextureBuilderSetDevice(b, nullptr);
        nvnTextureBuilderSetDefaults(b);
        nvnTextureBuilderSetTarget(b, NVN_TEXTURE_TARGET_2D_ARRAY);
        nvnTextureBuilderSetFormat(b, static_cast<NVNformat>(format));
        nvnTextureBuilderSetSize3D(b, 64, 40, 3);
        nvnTextureBuilderSetLevels(b, 3);
        nvnTextureBuilderSetStorage(b, pool.get(), 0);
        Guest<NVNtexture> t;
        ASSERT_TRUE(nvnTextureInitialize(t, b));
        Guest<NVNtextureView> v;
        nvnTextureViewSetDefaults(v);
        nvnTextureViewSetLevels(v, 1, 1);
        const NVNcopyRegion region{8, 4, 1, 16, 12, 2};
        std::vector<uint8_t> in(16 * 12 * 2 * 8), out(in.size());
        for (size_t i = 0; i < in.size(); ++i)
            in[i] = static_cast<uint8_t>(i * 7 + 1);
        std::memset(pool.memory(), 0, pool.size());
        nvnTextureWriteTexels(t, v, &region, in.data());
        nvnTextureReadTexels(t, v, &region, out.data());
        const FormatInfo f = format_info(format);
        const size_t bytes = 16 / f.block_width * (12 / f.block_height) * 2 * f.bytes;
        EXPECT_EQ(std::memcmp(in.data(), out.data(), bytes), 0);
        size_t written = 0;
        for (size_t i = 0; i < pool.size(); ++i)
            written += pool.memory()[i] != 0;
        EXPECT_LE(written, bytes);
        const NVNcopyRegion outside{32, 4, 1, 16, 12, 2};
        nvnTextureWriteTexels(t, v, &outside, in.data());
        EXPECT_GE(report_count(Report::bad_argument), 1u);
    }
}

// Recording.

struct Recording {
    GuestPool pool{0x20000};
    alignas(8) uint8_t control[4096];
    Guest<NVNcommandBuffer> cmd;
    Recording() {
        EXPECT_TRUE(nvnCommandBufferInitialize(cmd, nullptr));
        nvnCommandBufferAddCommandMemory(cmd, pool.get(), 0, 0x10000);
        nvnCommandBufferAddControlMemory(cmd, control, sizeof control);
    }
};

TEST_F(Nvn, RecordSizesAreCountedExactly) {
    Recording r;
    nvnCommandBufferBeginRecording(r.cmd);
    EXPECT_TRUE(nvnCommandBufferIsRecording(r.cmd));
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryUsed(r.cmd), 0u);
    nvnCommandBufferBindTexture(r.cmd, NVN_SHADER_STAGE_FRAGMENT, 3, 0x1000001d1);
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryUsed(r.cmd), 20u);
    uint32_t handle;
    std::memcpy(&handle, r.pool.memory() + 0x10, 4);
    EXPECT_EQ(handle, 0x1d1u);
    r.cmd.bytes()[0x10] = 1; // the guest's byte
    nvnCommandBufferSetCopyRowStride(r.cmd, 256);
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryUsed(r.cmd), 20u);
    EXPECT_EQ(nvnCommandBufferGetCopyRowStride(r.cmd), 256);
    nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryUsed(r.cmd), 36u);
    EXPECT_EQ(nvnCommandBufferGetCommandMemorySize(r.cmd), 0x10000u);
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryFree(r.cmd), 0x10000u - 36);
    EXPECT_EQ(nvnCommandBufferGetControlMemoryUsed(r.cmd), 0u);
    const NVNcommandHandle h = nvnCommandBufferEndRecording(r.cmd);
    EXPECT_EQ(h, reinterpret_cast<uint64_t>(r.control));
    EXPECT_EQ(nvnCommandBufferGetControlMemoryUsed(r.cmd), 8u);
    EXPECT_EQ(r.cmd.bytes()[0x10], 1);
    size_t bytes = 0;
    for_runs(h, [&](uint64_t address, size_t n) {
        EXPECT_EQ(address, r.pool.address());
        bytes += n;
        return true;
    });
    EXPECT_EQ(bytes, 36u);
}

TEST_F(Nvn, EmptyRecordingIsOneControlEntry) {
    Recording r;
    nvnCommandBufferBeginRecording(r.cmd);
    const NVNcommandHandle h = nvnCommandBufferEndRecording(r.cmd);
    EXPECT_NE(h, 0u);
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryUsed(r.cmd), 0u);
    EXPECT_EQ(nvnCommandBufferGetControlMemoryUsed(r.cmd), 8u);
    for_runs(h, [&](uint64_t, size_t) {
        ADD_FAILURE();
        return true;
    });
}

size_t count_records(NVNcommandHandle h) {
    size_t records = 0;
    for_runs(h, [&](uint64_t address, size_t n) {
        for (size_t at = 0; at < n; ++records) {
            RecordHeader header;
            std::memcpy(&header, reinterpret_cast<const void*>(address + at), sizeof header);
            EXPECT_GT(header.words, 0);
            if (!header.words)
                return false;
            at += size_t{header.words} * 4;
        }
        return true;
    });
    return records;
}

TEST_F(Nvn, CallbackSpreadsAListOverBlocks) {
    Recording r;
    struct State {
        GuestPool* pool;
        size_t next = 0x10000;
        int commands = 0, controls = 0;
        alignas(8) uint8_t control[64][32];
    } state{&r.pool, 0x10000, 0, 0, {}};
    nvnCommandBufferSetMemoryCallbackData(r.cmd, &state);
    nvnCommandBufferSetMemoryCallback(
        r.cmd, [](NVNcommandBuffer* cmd, NVNcommandBufferMemoryEvent event, size_t min, void* user) {
            auto& s = *static_cast<State*>(user);
            if (event == NVN_COMMAND_BUFFER_MEMORY_EVENT_OUT_OF_COMMAND_MEMORY) {
                EXPECT_LE(min, 64u);
                nvnCommandBufferAddCommandMemory(cmd, s.pool->get(), static_cast<ptrdiff_t>(s.next), 64);
                s.next += 64;
                ++s.commands;
            } else {
                nvnCommandBufferAddControlMemory(cmd, s.control[s.controls++], 32);
            }
        });
    nvnCommandBufferAddCommandMemory(r.cmd, r.pool.get(), 0, 64);
    nvnCommandBufferAddControlMemory(r.cmd, r.control, 32);
    nvnCommandBufferBeginRecording(r.cmd);
    for (int i = 0; i < 40; ++i)
        nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, i, 3);
    const NVNcommandHandle h = nvnCommandBufferEndRecording(r.cmd);
    EXPECT_EQ(state.commands, 9);
    EXPECT_GE(state.controls, 2);
    EXPECT_EQ(count_records(h), 40u);
    EXPECT_EQ(Host::get().lent_bytes(), 0u);
}

TEST_F(Nvn, HostLendsWhatTheCallbackDoesNotGive) {
    Recording r;
    nvnCommandBufferAddCommandMemory(r.cmd, r.pool.get(), 0, 64);
    nvnCommandBufferBeginRecording(r.cmd);
    for (int i = 0; i < 100; ++i)
        nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, i, 3);
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryUsed(r.cmd), 1600u);
    EXPECT_EQ(nvnCommandBufferGetCommandMemorySize(r.cmd), 64u);
    const NVNcommandHandle h = nvnCommandBufferEndRecording(r.cmd);
    EXPECT_EQ(count_records(h), 100u);
    EXPECT_GT(Host::get().lent_bytes(), 0u);
    // Granting the memory again frees nothing; recording over it does.
    nvnCommandBufferAddCommandMemory(r.cmd, r.pool.get(), 0, 64);
    EXPECT_EQ(count_records(h), 100u);
    alignas(8) uint8_t other_control[64];
    nvnCommandBufferAddControlMemory(r.cmd, other_control, sizeof other_control);
    nvnCommandBufferBeginRecording(r.cmd);
    nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    nvnCommandBufferEndRecording(r.cmd);
    EXPECT_EQ(Host::get().lent_bytes(), 0u);
}

TEST_F(Nvn, CalledListsRunFromTheirOwnMemoryCopiedOnesDoNot) {
    Recording callee, caller, copier;
    nvnCommandBufferBeginRecording(callee.cmd);
    nvnCommandBufferDrawArrays(callee.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    nvnCommandBufferDispatchCompute(callee.cmd, 1, 2, 3);
    const NVNcommandHandle h = nvnCommandBufferEndRecording(callee.cmd);
    nvnCommandBufferBeginRecording(caller.cmd);
    nvnCommandBufferDrawArrays(caller.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    nvnCommandBufferCallCommands(caller.cmd, 1, &h);
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryUsed(caller.cmd), 16u);
    const NVNcommandHandle called = nvnCommandBufferEndRecording(caller.cmd);
    nvnCommandBufferBeginRecording(copier.cmd);
    nvnCommandBufferCopyCommands(copier.cmd, 1, &h);
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryUsed(copier.cmd), 32u);
    const NVNcommandHandle copied = nvnCommandBufferEndRecording(copier.cmd);
    std::memset(callee.control, 0xff, sizeof callee.control); // may be reused at once
    EXPECT_EQ(count_records(called), 3u);
    std::memset(callee.pool.memory(), 0xff, 64);
    EXPECT_EQ(count_records(copied), 2u);
}

TEST_F(Nvn, WildHandlesAreReported) {
    size_t runs = 0;
    std::mt19937_64 random(9);
    alignas(8) uint64_t entries[64];
    for (auto& e : entries)
        e = random();
    for (const uint64_t handle : {uint64_t{8}, ~uint64_t{7}, uint64_t{0x123456789abcdef0}, uint64_t{3},
                                  reinterpret_cast<uint64_t>(entries)})
        for_runs(handle, [&](uint64_t, size_t) {
            ++runs;
            return true;
        });
    entries[0] = ControlEntry::link(entries).word; // a loop of one
    for_runs(reinterpret_cast<uint64_t>(entries), [&](uint64_t, size_t) { return true; });
    EXPECT_EQ(runs, 0u);
    EXPECT_GE(report_count(Report::bad_control), 5u);
}

TEST_F(Nvn, CallsOnNothingAreHarmless) {
    nvnCommandBufferDrawArrays(nullptr, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    Guest<NVNcommandBuffer> never;
    nvnCommandBufferDrawArrays(never, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    nvnCommandBufferBeginRecording(never);
    EXPECT_EQ(nvnCommandBufferEndRecording(never), 0u);
    Recording r;
    nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3); // not recording
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryUsed(r.cmd), 0u);
    nvnCommandBufferBeginRecording(r.cmd);
    nvnCommandBufferBindTexture(r.cmd, static_cast<NVNshaderStage>(77), 3, 1);
    nvnCommandBufferBindTextures(r.cmd, NVN_SHADER_STAGE_VERTEX, 39, 1000000, nullptr);
    nvnCommandBufferBindUniformBuffer(r.cmd, NVN_SHADER_STAGE_VERTEX, -1, 0, 0);
    nvnCommandBufferSetRenderTargets(r.cmd, 9, nullptr, nullptr, nullptr, nullptr);
    Guest<NVNtexture> dead;
    const NVNtexture* list[1] = {dead};
    nvnCommandBufferSetRenderTargets(r.cmd, 1, list, nullptr, nullptr, nullptr);
    nvnCommandBufferBindProgram(r.cmd, reinterpret_cast<const NVNprogram*>(dead.get()), 0x1f);
    nvnCommandBufferUpdateUniformBuffer(r.cmd, 0, 256, 200, 100, nullptr);
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryUsed(r.cmd), 8u); // the empty set of render targets
    EXPECT_NE(nvnCommandBufferEndRecording(r.cmd), 0u);
}

TEST_F(Nvn, SizeIsReadWhileAnotherThreadRecords) {
    Recording r;
    std::atomic<bool> stop{false};
    std::thread reader([&] {
        while (!stop)
            EXPECT_EQ(nvnCommandBufferGetCommandMemorySize(r.cmd), 0x10000u);
    });
    for (int round = 0; round < 200; ++round) {
        nvnCommandBufferAddCommandMemory(r.cmd, r.pool.get(), 0, 0x10000);
        nvnCommandBufferAddControlMemory(r.cmd, r.control, sizeof r.control);
        nvnCommandBufferBeginRecording(r.cmd);
        for (int i = 0; i < 100; ++i)
            nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, i, 3);
        nvnCommandBufferEndRecording(r.cmd);
    }
    stop = true;
    reader.join();
}

TEST_F(Nvn, QueueBuilderSizesKeepASetFlag) {
    Guest<NVNqueueBuilder> b;
    nvnQueueBuilderSetDevice(b, nullptr);
    nvnQueueBuilderSetDefaults(b);
    int size = -1;
    EXPECT_FALSE(nvnQueueBuilderGetCommandMemorySize(b, &size));
    EXPECT_EQ(nvnQueueBuilderGetQueueMemorySize(b), 65536u + 262144 + 16384);
    nvnQueueBuilderSetCommandMemorySize(b, 0x20000);
    EXPECT_TRUE(nvnQueueBuilderGetCommandMemorySize(b, &size));
    EXPECT_EQ(size, 0x20000);
}

TEST_F(Nvn, SyncsNeverFencedPassAtOnce) {
    Guest<NVNsync> sync;
    ASSERT_TRUE(nvnSyncInitialize(sync, nullptr));
    EXPECT_EQ(nvnSyncWait(sync, uint64_t{15} * 1000000000), NVN_SYNC_WAIT_RESULT_ALREADY_SIGNALED);
}

// docs/nvn.md holds the table of names. DMSH_UPDATE_DOCS=1 writes it instead of comparing.
TEST_F(Nvn, DocumentedTableIsCurrent) {
    const std::string path = std::string(DMSH_SOURCE_DIR) + "/docs/nvn.md";
    std::ifstream in(path);
    if (!in)
        GTEST_SKIP() << "docs/nvn.md is not there";
    std::stringstream text;
    text << in.rdbuf();
    const std::string page = text.str(), begin = "<!-- table begins -->\n", end = "<!-- table ends -->";
    const size_t from = page.find(begin), to = page.find(end);
    ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
    std::string table;
    size_t real = 0;
    for (const EntryPoint& e : entry_points())
        real += e.implemented;
    table += std::to_string(real) + " of " + std::to_string(entry_points().size()) +
             " entry points are implemented, the others report their first call.\n\n| entry point | state "
             "|\n| --- | --- |\n";
    for (const EntryPoint& e : entry_points())
        table += "| `" + std::string(e.name) + "` | " + (e.implemented ? "real" : "stub") + " |\n";
    const std::string wanted = page.substr(0, from + begin.size()) + table + page.substr(to);
    if (std::getenv("DMSH_UPDATE_DOCS")) {
        std::ofstream(path) << wanted;
        return;
    }
    EXPECT_TRUE(page == wanted) << "run DMSH_UPDATE_DOCS=1 test_nvn --gtest_filter=*DocumentedTable*";
}

} // namespace
} // namespace dmsh::nvn
