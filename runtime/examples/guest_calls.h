// What the examples share: the table of entry points, objects in the bytes that a guest reserves, a heap.
#pragma once
#include "runtime/nvn/objects.h"
#include <cstdlib>
#include <cstring>
#include <string>

namespace dmsh::examples {

// The entry points that the scene calls; a guest keeps such a table.
#define EXAMPLE_CALLS(X)                                                                                     \
    X(nvnDeviceBuilderSetDefaults)                                                                           \
    X(nvnDeviceBuilderSetFlags)                                                                              \
    X(nvnDeviceInitialize)                                                                                   \
    X(nvnDeviceFinalize)                                                                                     \
    X(nvnDeviceGetTextureHandle)                                                                             \
    X(nvnDeviceSetDepthMode)                                                                                 \
    X(nvnMemoryPoolBuilderSetDevice)                                                                         \
    X(nvnMemoryPoolBuilderSetDefaults)                                                                       \
    X(nvnMemoryPoolBuilderSetStorage)                                                                        \
    X(nvnMemoryPoolBuilderSetFlags)                                                                          \
    X(nvnMemoryPoolInitialize)                                                                               \
    X(nvnMemoryPoolFinalize)                                                                                 \
    X(nvnMemoryPoolGetBufferAddress)                                                                         \
    X(nvnQueueBuilderSetDevice)                                                                              \
    X(nvnQueueBuilderSetDefaults)                                                                            \
    X(nvnQueueInitialize)                                                                                    \
    X(nvnQueueFinalize)                                                                                      \
    X(nvnQueueSubmitCommands)                                                                                \
    X(nvnQueueFenceSync)                                                                                     \
    X(nvnQueueFlush)                                                                                         \
    X(nvnSyncInitialize)                                                                                     \
    X(nvnSyncWait)                                                                                           \
    X(nvnSyncFinalize)                                                                                       \
    X(nvnProgramInitialize)                                                                                  \
    X(nvnProgramSetShaders)                                                                                  \
    X(nvnProgramFinalize)                                                                                    \
    X(nvnTextureBuilderSetDevice)                                                                            \
    X(nvnTextureBuilderSetDefaults)                                                                          \
    X(nvnTextureBuilderSetTarget)                                                                            \
    X(nvnTextureBuilderSetFlags)                                                                             \
    X(nvnTextureBuilderSetSize2D)                                                                            \
    X(nvnTextureBuilderSetLevels)                                                                            \
    X(nvnTextureBuilderSetFormat)                                                                            \
    X(nvnTextureBuilderGetStorageSize)                                                                       \
    X(nvnTextureBuilderGetStorageAlignment)                                                                  \
    X(nvnTextureBuilderSetStorage)                                                                           \
    X(nvnTextureInitialize)                                                                                  \
    X(nvnTextureWriteTexels)                                                                                 \
    X(nvnTextureFinalize)                                                                                    \
    X(nvnTextureViewSetDefaults)                                                                             \
    X(nvnTextureViewSetLevels)                                                                               \
    X(nvnTexturePoolInitialize)                                                                              \
    X(nvnTexturePoolRegisterTexture)                                                                         \
    X(nvnTexturePoolFinalize)                                                                                \
    X(nvnSamplerPoolInitialize)                                                                              \
    X(nvnSamplerPoolRegisterSampler)                                                                         \
    X(nvnSamplerPoolFinalize)                                                                                \
    X(nvnSamplerBuilderSetDevice)                                                                            \
    X(nvnSamplerBuilderSetDefaults)                                                                          \
    X(nvnSamplerBuilderSetMinMagFilter)                                                                      \
    X(nvnSamplerBuilderSetWrapMode)                                                                          \
    X(nvnSamplerBuilderSetLodClamp)                                                                          \
    X(nvnSamplerBuilderSetCompare)                                                                           \
    X(nvnSamplerInitialize)                                                                                  \
    X(nvnDepthStencilStateSetDefaults)                                                                       \
    X(nvnDepthStencilStateSetDepthTestEnable)                                                                \
    X(nvnDepthStencilStateSetDepthWriteEnable)                                                               \
    X(nvnDepthStencilStateSetDepthFunc)                                                                      \
    X(nvnPolygonStateSetDefaults)                                                                            \
    X(nvnPolygonStateSetCullFace)                                                                            \
    X(nvnColorStateSetDefaults)                                                                              \
    X(nvnColorStateSetBlendEnable)                                                                           \
    X(nvnBlendStateSetDefaults)                                                                              \
    X(nvnBlendStateSetBlendTarget)                                                                           \
    X(nvnBlendStateSetBlendFunc)                                                                             \
    X(nvnBlendStateSetBlendEquation)                                                                         \
    X(nvnChannelMaskStateSetChannelMask)                                                                     \
    X(nvnChannelMaskStateSetDefaults)                                                                        \
    X(nvnVertexAttribStateSetDefaults)                                                                       \
    X(nvnVertexAttribStateSetFormat)                                                                         \
    X(nvnVertexAttribStateSetStreamIndex)                                                                    \
    X(nvnVertexStreamStateSetDefaults)                                                                       \
    X(nvnVertexStreamStateSetStride)                                                                         \
    X(nvnCommandBufferInitialize)                                                                            \
    X(nvnCommandBufferAddCommandMemory)                                                                      \
    X(nvnCommandBufferAddControlMemory)                                                                      \
    X(nvnCommandBufferBeginRecording)                                                                        \
    X(nvnCommandBufferEndRecording)                                                                          \
    X(nvnCommandBufferFinalize)                                                                              \
    X(nvnCommandBufferSetTexturePool)                                                                        \
    X(nvnCommandBufferSetSamplerPool)                                                                        \
    X(nvnCommandBufferBindProgram)                                                                           \
    X(nvnCommandBufferBindStorageBuffer)                                                                     \
    X(nvnCommandBufferBindUniformBuffer)                                                                     \
    X(nvnCommandBufferUpdateUniformBuffer)                                                                   \
    X(nvnCommandBufferBindTexture)                                                                           \
    X(nvnCommandBufferBindVertexBuffer)                                                                      \
    X(nvnCommandBufferBindVertexAttribState)                                                                 \
    X(nvnCommandBufferBindVertexStreamState)                                                                 \
    X(nvnCommandBufferBindDepthStencilState)                                                                 \
    X(nvnCommandBufferBindPolygonState)                                                                      \
    X(nvnCommandBufferBindColorState)                                                                        \
    X(nvnCommandBufferBindBlendState)                                                                        \
    X(nvnCommandBufferSetPatchSize)                                                                          \
    X(nvnCommandBufferBindChannelMaskState)                                                                  \
    X(nvnCommandBufferSetRenderTargets)                                                                      \
    X(nvnCommandBufferSetViewport)                                                                           \
    X(nvnCommandBufferSetScissor)                                                                            \
    X(nvnCommandBufferClearColor)                                                                            \
    X(nvnCommandBufferClearDepthStencil)                                                                     \
    X(nvnCommandBufferDispatchCompute)                                                                       \
    X(nvnCommandBufferBarrier)                                                                               \
    X(nvnCommandBufferDrawArrays)                                                                            \
    X(nvnCommandBufferDrawElements)                                                                          \
    X(nvnCommandBufferDrawArraysInstanced)                                                                   \
    X(nvnCommandBufferCopyBufferToBuffer)                                                                    \
    X(nvnCommandBufferCopyTextureToBuffer)

struct Calls {
#define X(name) decltype(&::name) name = nullptr;
    EXAMPLE_CALLS(X)
#undef X

    // False, with the name, if one is missing.
    bool load(PFNNVNGENERICFUNCPTRPROC (*loader)(const char*), std::string& problem) {
        const auto get =
            reinterpret_cast<decltype(&::nvnDeviceGetProcAddress)>(loader("nvnDeviceGetProcAddress"));
        if (!get) {
            problem = "nvnDeviceGetProcAddress";
            return false;
        }
#define X(n)                                                                                                 \
    if (!(n = reinterpret_cast<decltype(n)>(get(nullptr, #n)))) {                                            \
        problem = #n;                                                                                        \
        return false;                                                                                        \
    }
        EXAMPLE_CALLS(X)
#undef X
        return true;
    }
};

template <class T>
struct Object {
    alignas(16) uint8_t bytes[nvn::kGuestBytes<T>] = {};
    T* get() { return reinterpret_cast<T*>(bytes); }
    operator T*() { return get(); }
};

// Guest memory with a bump allocator, as games have it.
struct Heap {
    static constexpr size_t kSize = 24 << 20;
    uint8_t* memory = static_cast<uint8_t*>(std::aligned_alloc(65536, kSize));
    size_t used = 0;
    Heap() { std::memset(memory, 0, kSize); }
    ~Heap() { std::free(memory); }
    size_t take(size_t bytes, size_t alignment = 256) {
        used = (used + alignment - 1) / alignment * alignment;
        const size_t at = used;
        used += bytes;
        return at;
    }
    size_t put(const void* data, size_t bytes, size_t alignment = 256) {
        const size_t at = take(bytes, alignment);
        std::memcpy(memory + at, data, bytes);
        return at;
    }
};

constexpr int kFirstId = 256; // ids below are the driver's

} // namespace dmsh::examples
