// The guest's view of NVN: plain types, callbacks and the entry points that are implemented, with their real
// names and argument order. Guests fetch them by name through nvnBootstrapLoader; host code may call them
// directly.
#pragma once
#include "runtime/nvn/enums.h"
#include <cstddef>
#include <cstdint>

using NVNboolean = uint8_t;
using NVNtextureHandle = uint64_t;
using NVNimageHandle = uint64_t;
using NVNcommandHandle = uint64_t;
using NVNbufferAddress = uint64_t;
using NVNtextureAddress = uint64_t;
using NVNdebugDomainId = int32_t;
using NVNstorageClass = int32_t;
struct NVNseparateTextureHandle {
    uint64_t word;
};
struct NVNseparateSamplerHandle {
    uint64_t word;
};
struct NVNbufferRange {
    NVNbufferAddress address;
    uint64_t size;
};
struct NVNcopyRegion {
    int32_t xoffset, yoffset, zoffset, width, height, depth;
};
struct NVNrectangle {
    int32_t x, y, width, height;
};
struct NVNcounterData {
    uint64_t counter, timestamp;
};
struct NVNshaderData {
    NVNbufferAddress data; // code area
    const void* control;   // control section
};
struct NVNpackagedTextureLayout {
    uint8_t bytes[8];
};

// Objects that live in guest memory; runtime/nvn/objects.h has the records.
struct NVNdevice;
struct NVNdeviceBuilder;
struct NVNqueue;
struct NVNqueueBuilder;
struct NVNqueueErrorInfo; // layout unknown: never written
struct NVNprogram;
struct NVNmemoryPool;
struct NVNmemoryPoolBuilder;
struct NVNtexturePool;
struct NVNsamplerPool;
struct NVNbuffer;
struct NVNbufferBuilder;
struct NVNtexture;
struct NVNtextureBuilder;
struct NVNtextureView;
struct NVNsampler;
struct NVNsamplerBuilder;
struct NVNblendState;
struct NVNcolorState;
struct NVNchannelMaskState;
struct NVNmultisampleState;
struct NVNpolygonState;
struct NVNdepthStencilState;
struct NVNvertexAttribState;
struct NVNvertexStreamState;
struct NVNcommandBuffer;
struct NVNsync;
struct NVNevent;
struct NVNeventBuilder;
struct NVNwindow;
struct NVNwindowBuilder;
using NVNnativeWindow = void*;
struct NVNmappingRequest {
    NVNmemoryPool* pool; // null: unmap
    int64_t physical_offset, virtual_offset;
    uint64_t size;
    NVNstorageClass storage_class;
    int32_t padding;
};
static_assert(sizeof(NVNmappingRequest) == 0x28);
struct NVNtextureSparseTileLayout {
    int32_t tiled_levels, width, height, depth; // the tile in texels
    uint8_t reserved[16];
};

using PFNNVNGENERICFUNCPTRPROC = void (*)();
using PFNNVNCOMMANDBUFFERMEMORYCALLBACKPROC = void (*)(NVNcommandBuffer* cmd,
                                                       NVNcommandBufferMemoryEvent event, size_t minSize,
                                                       void* callbackData);
using PFNNVNDEBUGCALLBACKPROC = void (*)(NVNdebugCallbackSource source, NVNdebugCallbackType type, int id,
                                         NVNdebugCallbackSeverity severity, const char* message, void* user);

using PFNNVNWALKDEBUGDATABASECALLBACKPROC = void (*)(void* object, void* user);

extern "C" {

// Stays 0: while it does, guests do not write commands past these entry points.
extern uint32_t nvnPrivate0;

// The one symbol that a guest imports: answers any name that the runtime knows, null for others.
PFNNVNGENERICFUNCPTRPROC nvnBootstrapLoader(const char* name);

// Device and device builder
void nvnDeviceBuilderSetDefaults(NVNdeviceBuilder* builder);
void nvnDeviceBuilderSetFlags(NVNdeviceBuilder* builder, int flags);
NVNboolean nvnDeviceInitialize(NVNdevice* device, const NVNdeviceBuilder* builder);
void nvnDeviceFinalize(NVNdevice* device);
void nvnDeviceSetDebugLabel(NVNdevice* device, const char* label);
PFNNVNGENERICFUNCPTRPROC nvnDeviceGetProcAddress(const NVNdevice* device, const char* name);
void nvnDeviceGetInteger(const NVNdevice* device, NVNdeviceInfo item, int* out);
uint64_t nvnDeviceGetCurrentTimestampInNanoseconds(const NVNdevice* device);
void nvnDeviceSetIntermediateShaderCache(NVNdevice* device, int numEntries);
NVNtextureHandle nvnDeviceGetTextureHandle(const NVNdevice* device, int textureID, int samplerID);
NVNtextureHandle nvnDeviceGetTexelFetchHandle(const NVNdevice* device, int textureID);
NVNimageHandle nvnDeviceGetImageHandle(const NVNdevice* device, int textureID);
void nvnDeviceInstallDebugCallback(NVNdevice* device, PFNNVNDEBUGCALLBACKPROC callback, void* callbackData,
                                   NVNboolean enable);
NVNdebugDomainId nvnDeviceGenerateDebugDomainId(const NVNdevice* device, const char* name);
void nvnDeviceSetWindowOriginMode(NVNdevice* device, NVNwindowOriginMode windowOriginMode);
void nvnDeviceSetDepthMode(NVNdevice* device, NVNdepthMode depthMode);
NVNboolean nvnDeviceRegisterFastClearColor(NVNdevice* device, const float* color, NVNformat format);
NVNboolean nvnDeviceRegisterFastClearColori(NVNdevice* device, const int* color, NVNformat format);
NVNboolean nvnDeviceRegisterFastClearColorui(NVNdevice* device, const uint32_t* color, NVNformat format);
NVNboolean nvnDeviceRegisterFastClearDepth(NVNdevice* device, float depth);
NVNwindowOriginMode nvnDeviceGetWindowOriginMode(const NVNdevice* device);
NVNdepthMode nvnDeviceGetDepthMode(const NVNdevice* device);
uint64_t nvnDeviceGetTimestampInNanoseconds(const NVNdevice* device, const NVNcounterData* counterData);
void nvnDeviceApplyDeferredFinalizes(NVNdevice* device, int framesComplete);
void nvnDeviceFinalizeCommandHandle(NVNdevice* device, NVNcommandHandle handle);
void nvnDeviceWalkDebugDatabase(const NVNdevice* device, NVNdebugObjectType type,
                                PFNNVNWALKDEBUGDATABASECALLBACKPROC callback, void* callbackData);
void nvnSetExternalDebuggerEnabledNVX();
NVNseparateTextureHandle nvnDeviceGetSeparateTextureHandle(const NVNdevice* device, int textureID);
NVNseparateSamplerHandle nvnDeviceGetSeparateSamplerHandle(const NVNdevice* device, int samplerID);
NVNboolean nvnDeviceIsExternalDebuggerAttached(const NVNdevice* device);
int nvnDeviceBuilderGetFlags(const NVNdeviceBuilder* builder);

// Queue builder
void nvnQueueBuilderSetDevice(NVNqueueBuilder* builder, NVNdevice* device);
void nvnQueueBuilderSetDefaults(NVNqueueBuilder* builder);
void nvnQueueBuilderSetFlags(NVNqueueBuilder* builder, int flags);
void nvnQueueBuilderSetCommandMemorySize(NVNqueueBuilder* builder, size_t size);
void nvnQueueBuilderSetComputeMemorySize(NVNqueueBuilder* builder, size_t size);
void nvnQueueBuilderSetControlMemorySize(NVNqueueBuilder* builder, size_t size);
size_t nvnQueueBuilderGetQueueMemorySize(const NVNqueueBuilder* builder);
void nvnQueueBuilderSetQueueMemory(NVNqueueBuilder* builder, void* memory, size_t size);
void nvnQueueBuilderSetCommandFlushThreshold(NVNqueueBuilder* builder, size_t size);
const NVNdevice* nvnQueueBuilderGetDevice(const NVNqueueBuilder* builder);
int nvnQueueBuilderGetFlags(const NVNqueueBuilder* builder);
NVNboolean nvnQueueBuilderGetCommandMemorySize(const NVNqueueBuilder* builder, int* out);
NVNboolean nvnQueueBuilderGetComputeMemorySize(const NVNqueueBuilder* builder, int* out);
NVNboolean nvnQueueBuilderGetControlMemorySize(const NVNqueueBuilder* builder, int* out);
NVNboolean nvnQueueBuilderGetCommandFlushThreshold(const NVNqueueBuilder* builder, int* out);
int nvnQueueBuilderGetMemorySize(const NVNqueueBuilder* builder);
void* nvnQueueBuilderGetMemory(const NVNqueueBuilder* builder);
void nvnQueueBuilderSetQueuePriority(NVNqueueBuilder* builder, int priority);
int nvnQueueBuilderGetQueuePriority(const NVNqueueBuilder* builder);
void nvnQueueBuilderSetRayTracingMemorySize(NVNqueueBuilder* builder, size_t size);
NVNboolean nvnQueueBuilderGetRayTracingMemorySize(const NVNqueueBuilder* builder, int* out);

// Queue
NVNqueueGetErrorResult nvnQueueGetError(NVNqueue* queue, NVNqueueErrorInfo* info);
size_t nvnQueueGetTotalCommandMemoryUsed(NVNqueue* queue);
size_t nvnQueueGetTotalControlMemoryUsed(NVNqueue* queue);
size_t nvnQueueGetTotalComputeMemoryUsed(NVNqueue* queue);
void nvnQueueResetMemoryUsageCounts(NVNqueue* queue);
NVNboolean nvnQueueInitialize(NVNqueue* queue, const NVNqueueBuilder* builder);
void nvnQueueFinalize(NVNqueue* queue);
void nvnQueueSetDebugLabel(NVNqueue* queue, const char* label);
void nvnQueueSubmitCommands(NVNqueue* queue, int numCommands, const NVNcommandHandle* handles);
void nvnQueueFlush(NVNqueue* queue);
void nvnQueueFinish(NVNqueue* queue);
void nvnQueueFenceSync(NVNqueue* queue, NVNsync* sync, NVNsyncCondition condition, int flags);
NVNboolean nvnQueueWaitSync(NVNqueue* queue, const NVNsync* sync);
void nvnQueuePresentTexture(NVNqueue* queue, NVNwindow* window, int textureIndex);
NVNqueueAcquireTextureResult nvnQueueAcquireTexture(NVNqueue* queue, NVNwindow* window, int* textureIndex);

// Window builder and window
void nvnWindowBuilderSetDevice(NVNwindowBuilder* builder, NVNdevice* device);
void nvnWindowBuilderSetDefaults(NVNwindowBuilder* builder);
void nvnWindowBuilderSetNativeWindow(NVNwindowBuilder* builder, NVNnativeWindow nativeWindow);
void nvnWindowBuilderSetTextures(NVNwindowBuilder* builder, int numTextures, NVNtexture* const* textures);
void nvnWindowBuilderSetPresentInterval(NVNwindowBuilder* builder, int presentInterval);
NVNnativeWindow nvnWindowBuilderGetNativeWindow(const NVNwindowBuilder* builder);
int nvnWindowBuilderGetPresentInterval(const NVNwindowBuilder* builder);
const NVNdevice* nvnWindowBuilderGetDevice(const NVNwindowBuilder* builder);
int nvnWindowBuilderGetNumTextures(const NVNwindowBuilder* builder);
const NVNtexture* nvnWindowBuilderGetTexture(const NVNwindowBuilder* builder, int index);
void nvnWindowBuilderSetNumActiveTextures(NVNwindowBuilder* builder, int count);
int nvnWindowBuilderGetNumActiveTextures(const NVNwindowBuilder* builder);
NVNboolean nvnWindowInitialize(NVNwindow* window, const NVNwindowBuilder* builder);
void nvnWindowFinalize(NVNwindow* window);
void nvnWindowSetDebugLabel(NVNwindow* window, const char* label);
NVNwindowAcquireTextureResult nvnWindowAcquireTexture(NVNwindow* window, NVNsync* textureAvailableSync,
                                                      int* textureIndex);
NVNnativeWindow nvnWindowGetNativeWindow(const NVNwindow* window);
int nvnWindowGetPresentInterval(const NVNwindow* window);
void nvnWindowSetPresentInterval(NVNwindow* window, int presentInterval);
void nvnWindowSetCrop(NVNwindow* window, int x, int y, int w, int h);
void nvnWindowGetCrop(const NVNwindow* window, NVNrectangle* rectangle);
void nvnWindowSetNumActiveTextures(NVNwindow* window, int count);
int nvnWindowGetNumActiveTextures(const NVNwindow* window);
int nvnWindowGetNumTextures(const NVNwindow* window);

// Program
NVNboolean nvnProgramInitialize(NVNprogram* program, NVNdevice* device);
void nvnProgramFinalize(NVNprogram* program);
void nvnProgramSetDebugLabel(NVNprogram* program, const char* label);
NVNboolean nvnProgramSetShaders(NVNprogram* program, int count, const NVNshaderData* stageData);
NVNboolean nvnProgramSetSampleShading(NVNprogram* program, NVNsampleShadingMode mode);

// Memory pool builder and memory pool
void nvnMemoryPoolBuilderSetDevice(NVNmemoryPoolBuilder* builder, NVNdevice* device);
void nvnMemoryPoolBuilderSetDefaults(NVNmemoryPoolBuilder* builder);
void nvnMemoryPoolBuilderSetStorage(NVNmemoryPoolBuilder* builder, void* memory, size_t size);
void nvnMemoryPoolBuilderSetFlags(NVNmemoryPoolBuilder* builder, int flags);
void* nvnMemoryPoolBuilderGetMemory(const NVNmemoryPoolBuilder* builder);
size_t nvnMemoryPoolBuilderGetSize(const NVNmemoryPoolBuilder* builder);
NVNmemoryPoolFlags nvnMemoryPoolBuilderGetFlags(const NVNmemoryPoolBuilder* builder);
NVNboolean nvnMemoryPoolInitialize(NVNmemoryPool* pool, const NVNmemoryPoolBuilder* builder);
void nvnMemoryPoolSetDebugLabel(NVNmemoryPool* pool, const char* label);
void nvnMemoryPoolFinalize(NVNmemoryPool* pool);
void* nvnMemoryPoolMap(const NVNmemoryPool* pool);
void nvnMemoryPoolFlushMappedRange(const NVNmemoryPool* pool, ptrdiff_t offset, size_t size);
void nvnMemoryPoolInvalidateMappedRange(const NVNmemoryPool* pool, ptrdiff_t offset, size_t size);
NVNbufferAddress nvnMemoryPoolGetBufferAddress(const NVNmemoryPool* pool);
NVNboolean nvnMemoryPoolMapVirtual(NVNmemoryPool* pool, int numRequests, const NVNmappingRequest* requests);
size_t nvnMemoryPoolGetSize(const NVNmemoryPool* pool);
NVNmemoryPoolFlags nvnMemoryPoolGetFlags(const NVNmemoryPool* pool);
const NVNdevice* nvnMemoryPoolBuilderGetDevice(const NVNmemoryPoolBuilder* builder);

// Texture pool
NVNboolean nvnTexturePoolInitialize(NVNtexturePool* texturePool, const NVNmemoryPool* memoryPool,
                                    ptrdiff_t offset, int numDescriptors);
void nvnTexturePoolSetDebugLabel(NVNtexturePool* pool, const char* label);
void nvnTexturePoolFinalize(NVNtexturePool* pool);
void nvnTexturePoolRegisterTexture(const NVNtexturePool* pool, int id, const NVNtexture* texture,
                                   const NVNtextureView* view);
void nvnTexturePoolRegisterImage(const NVNtexturePool* pool, int id, const NVNtexture* texture,
                                 const NVNtextureView* view);
const NVNmemoryPool* nvnTexturePoolGetMemoryPool(const NVNtexturePool* pool);
ptrdiff_t nvnTexturePoolGetMemoryOffset(const NVNtexturePool* pool);
int nvnTexturePoolGetSize(const NVNtexturePool* pool);

// Sampler pool
NVNboolean nvnSamplerPoolInitialize(NVNsamplerPool* samplerPool, const NVNmemoryPool* memoryPool,
                                    ptrdiff_t offset, int numDescriptors);
void nvnSamplerPoolSetDebugLabel(NVNsamplerPool* pool, const char* label);
void nvnSamplerPoolFinalize(NVNsamplerPool* pool);
void nvnSamplerPoolRegisterSampler(const NVNsamplerPool* pool, int id, const NVNsampler* sampler);
void nvnSamplerPoolRegisterSamplerBuilder(const NVNsamplerPool* pool, int id,
                                          const NVNsamplerBuilder* builder);
const NVNmemoryPool* nvnSamplerPoolGetMemoryPool(const NVNsamplerPool* pool);
ptrdiff_t nvnSamplerPoolGetMemoryOffset(const NVNsamplerPool* pool);
int nvnSamplerPoolGetSize(const NVNsamplerPool* pool);

// Buffer builder and buffer
void nvnBufferBuilderSetDevice(NVNbufferBuilder* builder, NVNdevice* device);
void nvnBufferBuilderSetDefaults(NVNbufferBuilder* builder);
void nvnBufferBuilderSetStorage(NVNbufferBuilder* builder, NVNmemoryPool* pool, ptrdiff_t offset,
                                size_t size);
NVNmemoryPool* nvnBufferBuilderGetMemoryPool(const NVNbufferBuilder* builder);
ptrdiff_t nvnBufferBuilderGetMemoryOffset(const NVNbufferBuilder* builder);
size_t nvnBufferBuilderGetSize(const NVNbufferBuilder* builder);
NVNboolean nvnBufferInitialize(NVNbuffer* buffer, const NVNbufferBuilder* builder);
void nvnBufferSetDebugLabel(NVNbuffer* buffer, const char* label);
void nvnBufferFinalize(NVNbuffer* buffer);
void* nvnBufferMap(const NVNbuffer* buffer);
NVNbufferAddress nvnBufferGetAddress(const NVNbuffer* buffer);
void nvnBufferFlushMappedRange(const NVNbuffer* buffer, ptrdiff_t offset, size_t size);
void nvnBufferInvalidateMappedRange(const NVNbuffer* buffer, ptrdiff_t offset, size_t size);
NVNmemoryPool* nvnBufferGetMemoryPool(const NVNbuffer* buffer);
ptrdiff_t nvnBufferGetMemoryOffset(const NVNbuffer* buffer);
size_t nvnBufferGetSize(const NVNbuffer* buffer);
uint64_t nvnBufferGetDebugID(const NVNbuffer* buffer);
const NVNdevice* nvnBufferBuilderGetDevice(const NVNbufferBuilder* builder);

// Texture builder
void nvnTextureBuilderSetDevice(NVNtextureBuilder* builder, NVNdevice* device);
void nvnTextureBuilderSetDefaults(NVNtextureBuilder* builder);
void nvnTextureBuilderSetFlags(NVNtextureBuilder* builder, int flags);
void nvnTextureBuilderSetTarget(NVNtextureBuilder* builder, NVNtextureTarget target);
void nvnTextureBuilderSetWidth(NVNtextureBuilder* builder, int width);
void nvnTextureBuilderSetHeight(NVNtextureBuilder* builder, int height);
void nvnTextureBuilderSetDepth(NVNtextureBuilder* builder, int depth);
void nvnTextureBuilderSetSize1D(NVNtextureBuilder* builder, int size);
void nvnTextureBuilderSetSize2D(NVNtextureBuilder* builder, int width, int height);
void nvnTextureBuilderSetSize3D(NVNtextureBuilder* builder, int width, int height, int depth);
void nvnTextureBuilderSetLevels(NVNtextureBuilder* builder, int numLevels);
void nvnTextureBuilderSetFormat(NVNtextureBuilder* builder, NVNformat format);
void nvnTextureBuilderSetSamples(NVNtextureBuilder* builder, int samples);
void nvnTextureBuilderSetSwizzle(NVNtextureBuilder* builder, NVNtextureSwizzle r, NVNtextureSwizzle g,
                                 NVNtextureSwizzle b, NVNtextureSwizzle a);
void nvnTextureBuilderSetDepthStencilMode(NVNtextureBuilder* builder, NVNtextureDepthStencilMode mode);
size_t nvnTextureBuilderGetStorageSize(const NVNtextureBuilder* builder);
size_t nvnTextureBuilderGetStorageAlignment(const NVNtextureBuilder* builder);
void nvnTextureBuilderSetStorage(NVNtextureBuilder* builder, NVNmemoryPool* pool, ptrdiff_t offset);
void nvnTextureBuilderSetPackagedTextureData(NVNtextureBuilder* builder, const void* data);
void nvnTextureBuilderSetPackagedTextureLayout(NVNtextureBuilder* builder,
                                               const NVNpackagedTextureLayout* layout);
void nvnTextureBuilderSetStride(NVNtextureBuilder* builder, ptrdiff_t stride);
void nvnTextureBuilderSetGLTextureName(NVNtextureBuilder* builder, uint32_t name);
NVNstorageClass nvnTextureBuilderGetStorageClass(const NVNtextureBuilder* builder);
NVNtextureFlags nvnTextureBuilderGetFlags(const NVNtextureBuilder* builder);
NVNtextureTarget nvnTextureBuilderGetTarget(const NVNtextureBuilder* builder);
int nvnTextureBuilderGetWidth(const NVNtextureBuilder* builder);
int nvnTextureBuilderGetHeight(const NVNtextureBuilder* builder);
int nvnTextureBuilderGetDepth(const NVNtextureBuilder* builder);
int nvnTextureBuilderGetLevels(const NVNtextureBuilder* builder);
NVNformat nvnTextureBuilderGetFormat(const NVNtextureBuilder* builder);
int nvnTextureBuilderGetSamples(const NVNtextureBuilder* builder);
void nvnTextureBuilderGetSwizzle(const NVNtextureBuilder* builder, NVNtextureSwizzle* r, NVNtextureSwizzle* g,
                                 NVNtextureSwizzle* b, NVNtextureSwizzle* a);
NVNtextureDepthStencilMode nvnTextureBuilderGetDepthStencilMode(const NVNtextureBuilder* builder);
const void* nvnTextureBuilderGetPackagedTextureData(const NVNtextureBuilder* builder);
ptrdiff_t nvnTextureBuilderGetStride(const NVNtextureBuilder* builder);
void nvnTextureBuilderGetSparseTileLayout(const NVNtextureBuilder* builder,
                                          NVNtextureSparseTileLayout* layout);
void nvnTextureGetSparseTileLayout(const NVNtexture* texture, NVNtextureSparseTileLayout* layout);
uint32_t nvnTextureBuilderGetGLTextureName(const NVNtextureBuilder* builder);
size_t nvnTextureBuilderGetZCullStorageSize(const NVNtextureBuilder* builder);
NVNmemoryPool* nvnTextureBuilderGetMemoryPool(const NVNtextureBuilder* builder);
ptrdiff_t nvnTextureBuilderGetMemoryOffset(const NVNtextureBuilder* builder);
const NVNdevice* nvnTextureBuilderGetDevice(const NVNtextureBuilder* builder);
NVNboolean nvnTextureBuilderGetPackagedTextureLayout(const NVNtextureBuilder* builder,
                                                     NVNpackagedTextureLayout* layout);
NVNrawStorageClass nvnTextureBuilderGetRawStorageClass(const NVNtextureBuilder* builder);

// Texture view
void nvnTextureViewSetDefaults(NVNtextureView* view);
void nvnTextureViewSetLevels(NVNtextureView* view, int baseLevel, int numLevels);
void nvnTextureViewSetLayers(NVNtextureView* view, int minLayer, int numLayers);
void nvnTextureViewSetFormat(NVNtextureView* view, NVNformat format);
void nvnTextureViewSetSwizzle(NVNtextureView* view, NVNtextureSwizzle r, NVNtextureSwizzle g,
                              NVNtextureSwizzle b, NVNtextureSwizzle a);
void nvnTextureViewSetDepthStencilMode(NVNtextureView* view, NVNtextureDepthStencilMode mode);
void nvnTextureViewSetTarget(NVNtextureView* view, NVNtextureTarget target);
NVNboolean nvnTextureViewGetLevels(const NVNtextureView* view, int* baseLevel, int* numLevels);
NVNboolean nvnTextureViewGetLayers(const NVNtextureView* view, int* minLayer, int* numLayers);
NVNboolean nvnTextureViewGetFormat(const NVNtextureView* view, NVNformat* format);
NVNboolean nvnTextureViewGetSwizzle(const NVNtextureView* view, NVNtextureSwizzle* r, NVNtextureSwizzle* g,
                                    NVNtextureSwizzle* b, NVNtextureSwizzle* a);
NVNboolean nvnTextureViewGetDepthStencilMode(const NVNtextureView* view, NVNtextureDepthStencilMode* mode);
NVNboolean nvnTextureViewGetTarget(const NVNtextureView* view, NVNtextureTarget* target);
NVNboolean nvnTextureViewCompare(const NVNtextureView* view1, const NVNtextureView* view2);

// Texture
NVNboolean nvnTextureInitialize(NVNtexture* texture, const NVNtextureBuilder* builder);
size_t nvnTextureGetZCullStorageSize(const NVNtexture* texture);
void nvnTextureFinalize(NVNtexture* texture);
void nvnTextureSetDebugLabel(NVNtexture* texture, const char* label);
NVNstorageClass nvnTextureGetStorageClass(const NVNtexture* texture);
ptrdiff_t nvnTextureGetViewOffset(const NVNtexture* texture, const NVNtextureView* view);
NVNtextureFlags nvnTextureGetFlags(const NVNtexture* texture);
NVNtextureTarget nvnTextureGetTarget(const NVNtexture* texture);
int nvnTextureGetWidth(const NVNtexture* texture);
int nvnTextureGetHeight(const NVNtexture* texture);
int nvnTextureGetDepth(const NVNtexture* texture);
int nvnTextureGetLevels(const NVNtexture* texture);
NVNformat nvnTextureGetFormat(const NVNtexture* texture);
int nvnTextureGetSamples(const NVNtexture* texture);
void nvnTextureGetSwizzle(const NVNtexture* texture, NVNtextureSwizzle* r, NVNtextureSwizzle* g,
                          NVNtextureSwizzle* b, NVNtextureSwizzle* a);
NVNtextureDepthStencilMode nvnTextureGetDepthStencilMode(const NVNtexture* texture);
ptrdiff_t nvnTextureGetStride(const NVNtexture* texture);
NVNtextureAddress nvnTextureGetTextureAddress(const NVNtexture* texture);
void nvnTextureWriteTexels(const NVNtexture* texture, const NVNtextureView* view, const NVNcopyRegion* region,
                           const void* data);
void nvnTextureWriteTexelsStrided(const NVNtexture* texture, const NVNtextureView* view,
                                  const NVNcopyRegion* region, const void* data, ptrdiff_t rowStride,
                                  ptrdiff_t imageStride);
void nvnTextureReadTexels(const NVNtexture* texture, const NVNtextureView* view, const NVNcopyRegion* region,
                          void* data);
void nvnTextureReadTexelsStrided(const NVNtexture* texture, const NVNtextureView* view,
                                 const NVNcopyRegion* region, void* data, ptrdiff_t rowStride,
                                 ptrdiff_t imageStride);
void nvnTextureFlushTexels(const NVNtexture* texture, const NVNtextureView* view,
                           const NVNcopyRegion* region);
void nvnTextureInvalidateTexels(const NVNtexture* texture, const NVNtextureView* view,
                                const NVNcopyRegion* region);
NVNmemoryPool* nvnTextureGetMemoryPool(const NVNtexture* texture);
ptrdiff_t nvnTextureGetMemoryOffset(const NVNtexture* texture);
int nvnTextureGetStorageSize(const NVNtexture* texture);
NVNboolean nvnTextureCompare(const NVNtexture* texture1, const NVNtexture* texture2);
uint64_t nvnTextureGetDebugID(const NVNtexture* texture);
NVNrawStorageClass nvnTextureGetRawStorageClass(const NVNtexture* texture);

// Sampler builder and sampler
void nvnSamplerBuilderSetDevice(NVNsamplerBuilder* builder, NVNdevice* device);
void nvnSamplerBuilderSetDefaults(NVNsamplerBuilder* builder);
void nvnSamplerBuilderSetMinMagFilter(NVNsamplerBuilder* builder, NVNminFilter min, NVNmagFilter mag);
void nvnSamplerBuilderSetWrapMode(NVNsamplerBuilder* builder, NVNwrapMode s, NVNwrapMode t, NVNwrapMode r);
void nvnSamplerBuilderSetLodClamp(NVNsamplerBuilder* builder, float min, float max);
void nvnSamplerBuilderSetLodBias(NVNsamplerBuilder* builder, float bias);
void nvnSamplerBuilderSetCompare(NVNsamplerBuilder* builder, NVNcompareMode mode, NVNcompareFunc func);
void nvnSamplerBuilderSetBorderColor(NVNsamplerBuilder* builder, const float* borderColor);
void nvnSamplerBuilderSetBorderColori(NVNsamplerBuilder* builder, const int* borderColor);
void nvnSamplerBuilderSetBorderColorui(NVNsamplerBuilder* builder, const uint32_t* borderColor);
void nvnSamplerBuilderSetMaxAnisotropy(NVNsamplerBuilder* builder, float maxAniso);
void nvnSamplerBuilderSetReductionFilter(NVNsamplerBuilder* builder, NVNsamplerReduction filter);
void nvnSamplerBuilderSetLodSnap(NVNsamplerBuilder* builder, float snap);
void nvnSamplerBuilderGetMinMagFilter(const NVNsamplerBuilder* builder, NVNminFilter* min, NVNmagFilter* mag);
void nvnSamplerBuilderGetWrapMode(const NVNsamplerBuilder* builder, NVNwrapMode* s, NVNwrapMode* t,
                                  NVNwrapMode* r);
void nvnSamplerBuilderGetLodClamp(const NVNsamplerBuilder* builder, float* min, float* max);
float nvnSamplerBuilderGetLodBias(const NVNsamplerBuilder* builder);
void nvnSamplerBuilderGetCompare(const NVNsamplerBuilder* builder, NVNcompareMode* mode,
                                 NVNcompareFunc* func);
void nvnSamplerBuilderGetBorderColor(const NVNsamplerBuilder* builder, float* borderColor);
void nvnSamplerBuilderGetBorderColori(const NVNsamplerBuilder* builder, int* borderColor);
void nvnSamplerBuilderGetBorderColorui(const NVNsamplerBuilder* builder, uint32_t* borderColor);
float nvnSamplerBuilderGetMaxAnisotropy(const NVNsamplerBuilder* builder);
NVNsamplerReduction nvnSamplerBuilderGetReductionFilter(const NVNsamplerBuilder* builder);
float nvnSamplerBuilderGetLodSnap(const NVNsamplerBuilder* builder);
NVNboolean nvnSamplerInitialize(NVNsampler* sampler, const NVNsamplerBuilder* builder);
void nvnSamplerFinalize(NVNsampler* sampler);
void nvnSamplerSetDebugLabel(NVNsampler* sampler, const char* label);
void nvnSamplerGetMinMagFilter(const NVNsampler* sampler, NVNminFilter* min, NVNmagFilter* mag);
void nvnSamplerGetWrapMode(const NVNsampler* sampler, NVNwrapMode* s, NVNwrapMode* t, NVNwrapMode* r);
void nvnSamplerGetLodClamp(const NVNsampler* sampler, float* min, float* max);
float nvnSamplerGetLodBias(const NVNsampler* sampler);
void nvnSamplerGetCompare(const NVNsampler* sampler, NVNcompareMode* mode, NVNcompareFunc* func);
void nvnSamplerGetBorderColor(const NVNsampler* sampler, float* borderColor);
void nvnSamplerGetBorderColori(const NVNsampler* sampler, int* borderColor);
void nvnSamplerGetBorderColorui(const NVNsampler* sampler, uint32_t* borderColor);
float nvnSamplerGetMaxAnisotropy(const NVNsampler* sampler);
NVNsamplerReduction nvnSamplerGetReductionFilter(const NVNsampler* sampler);
NVNboolean nvnSamplerCompare(const NVNsampler* sampler1, const NVNsampler* sampler2);
uint64_t nvnSamplerGetDebugID(const NVNsampler* sampler);
const NVNdevice* nvnSamplerBuilderGetDevice(const NVNsamplerBuilder* builder);

// Blend state
void nvnBlendStateSetDefaults(NVNblendState* blend);
void nvnBlendStateSetBlendTarget(NVNblendState* blend, int target);
void nvnBlendStateSetBlendFunc(NVNblendState* blend, NVNblendFunc srcFunc, NVNblendFunc dstFunc,
                               NVNblendFunc srcFuncAlpha, NVNblendFunc dstFuncAlpha);
void nvnBlendStateSetBlendEquation(NVNblendState* blend, NVNblendEquation modeRGB,
                                   NVNblendEquation modeAlpha);
void nvnBlendStateSetAdvancedMode(NVNblendState* blend, NVNblendAdvancedMode mode);
void nvnBlendStateSetAdvancedOverlap(NVNblendState* blend, NVNblendAdvancedOverlap overlap);
void nvnBlendStateSetAdvancedPremultipliedSrc(NVNblendState* blend, NVNboolean premultiplied);
void nvnBlendStateSetAdvancedNormalizedDst(NVNblendState* blend, NVNboolean normalized);
int nvnBlendStateGetBlendTarget(const NVNblendState* blend);
void nvnBlendStateGetBlendFunc(const NVNblendState* blend, NVNblendFunc* srcFunc, NVNblendFunc* dstFunc,
                               NVNblendFunc* srcFuncAlpha, NVNblendFunc* dstFuncAlpha);
void nvnBlendStateGetBlendEquation(const NVNblendState* blend, NVNblendEquation* modeRGB,
                                   NVNblendEquation* modeAlpha);
NVNblendAdvancedMode nvnBlendStateGetAdvancedMode(const NVNblendState* blend);
NVNblendAdvancedOverlap nvnBlendStateGetAdvancedOverlap(const NVNblendState* blend);
NVNboolean nvnBlendStateGetAdvancedPremultipliedSrc(const NVNblendState* blend);
NVNboolean nvnBlendStateGetAdvancedNormalizedDst(const NVNblendState* blend);

// Color state
void nvnColorStateSetDefaults(NVNcolorState* color);
void nvnColorStateSetBlendEnable(NVNcolorState* color, int index, NVNboolean enable);
void nvnColorStateSetLogicOp(NVNcolorState* color, NVNlogicOp logicOp);
void nvnColorStateSetAlphaTest(NVNcolorState* color, NVNalphaFunc alphaFunc);
NVNboolean nvnColorStateGetBlendEnable(const NVNcolorState* color, int index);
NVNlogicOp nvnColorStateGetLogicOp(const NVNcolorState* color);
NVNalphaFunc nvnColorStateGetAlphaTest(const NVNcolorState* color);

// Channel mask state
void nvnChannelMaskStateSetDefaults(NVNchannelMaskState* channelMask);
void nvnChannelMaskStateSetChannelMask(NVNchannelMaskState* channelMask, int index, NVNboolean r,
                                       NVNboolean g, NVNboolean b, NVNboolean a);
void nvnChannelMaskStateGetChannelMask(const NVNchannelMaskState* channelMask, int index, NVNboolean* r,
                                       NVNboolean* g, NVNboolean* b, NVNboolean* a);

// Multisample state
void nvnMultisampleStateSetDefaults(NVNmultisampleState* multisample);
void nvnMultisampleStateSetMultisampleEnable(NVNmultisampleState* multisample, NVNboolean enable);
void nvnMultisampleStateSetSamples(NVNmultisampleState* multisample, int samples);
void nvnMultisampleStateSetAlphaToCoverageEnable(NVNmultisampleState* multisample, NVNboolean enable);
void nvnMultisampleStateSetAlphaToCoverageDither(NVNmultisampleState* multisample, NVNboolean enable);
NVNboolean nvnMultisampleStateGetMultisampleEnable(const NVNmultisampleState* multisample);
int nvnMultisampleStateGetSamples(const NVNmultisampleState* multisample);
NVNboolean nvnMultisampleStateGetAlphaToCoverageEnable(const NVNmultisampleState* multisample);
NVNboolean nvnMultisampleStateGetAlphaToCoverageDither(const NVNmultisampleState* multisample);
void nvnMultisampleStateSetRasterSamples(NVNmultisampleState* multisample, int samples);
int nvnMultisampleStateGetRasterSamples(NVNmultisampleState* multisample);
void nvnMultisampleStateSetCoverageModulationMode(NVNmultisampleState* multisample,
                                                  NVNcoverageModulationMode mode);
NVNcoverageModulationMode
nvnMultisampleStateGetCoverageModulationMode(const NVNmultisampleState* multisample);
void nvnMultisampleStateSetCoverageToColorEnable(NVNmultisampleState* multisample, NVNboolean enable);
NVNboolean nvnMultisampleStateGetCoverageToColorEnable(const NVNmultisampleState* multisample);
void nvnMultisampleStateSetCoverageToColorOutput(NVNmultisampleState* multisample, int output);
int nvnMultisampleStateGetCoverageToColorOutput(const NVNmultisampleState* multisample);
void nvnMultisampleStateSetSampleLocationsEnable(NVNmultisampleState* multisample, NVNboolean enable);
NVNboolean nvnMultisampleStateGetSampleLocationsEnable(const NVNmultisampleState* multisample);
void nvnMultisampleStateGetSampleLocationsGrid(NVNmultisampleState* multisample, int* w, int* h);
void nvnMultisampleStateSetSampleLocationsGridEnable(NVNmultisampleState* multisample, NVNboolean enable);
NVNboolean nvnMultisampleStateGetSampleLocationsGridEnable(const NVNmultisampleState* multisample);
void nvnMultisampleStateSetSampleLocations(NVNmultisampleState* multisample, int first, int count,
                                           const float* xyPairs);

// Polygon state
void nvnPolygonStateSetDefaults(NVNpolygonState* polygon);
void nvnPolygonStateSetCullFace(NVNpolygonState* polygon, NVNface face);
void nvnPolygonStateSetFrontFace(NVNpolygonState* polygon, NVNfrontFace face);
void nvnPolygonStateSetPolygonMode(NVNpolygonState* polygon, NVNpolygonMode polygonMode);
void nvnPolygonStateSetPolygonOffsetEnables(NVNpolygonState* polygon, int enables);
NVNface nvnPolygonStateGetCullFace(const NVNpolygonState* polygon);
NVNfrontFace nvnPolygonStateGetFrontFace(const NVNpolygonState* polygon);
NVNpolygonMode nvnPolygonStateGetPolygonMode(const NVNpolygonState* polygon);
NVNpolygonOffsetEnable nvnPolygonStateGetPolygonOffsetEnables(const NVNpolygonState* polygon);

// Depth-stencil state
void nvnDepthStencilStateSetDefaults(NVNdepthStencilState* depthStencil);
void nvnDepthStencilStateSetDepthTestEnable(NVNdepthStencilState* depthStencil, NVNboolean enable);
void nvnDepthStencilStateSetDepthWriteEnable(NVNdepthStencilState* depthStencil, NVNboolean enable);
void nvnDepthStencilStateSetDepthFunc(NVNdepthStencilState* depthStencil, NVNdepthFunc func);
void nvnDepthStencilStateSetStencilTestEnable(NVNdepthStencilState* depthStencil, NVNboolean enable);
void nvnDepthStencilStateSetStencilFunc(NVNdepthStencilState* depthStencil, NVNface faces,
                                        NVNstencilFunc func);
void nvnDepthStencilStateSetStencilOp(NVNdepthStencilState* depthStencil, NVNface faces, NVNstencilOp fail,
                                      NVNstencilOp depthFail, NVNstencilOp depthPass);
NVNboolean nvnDepthStencilStateGetDepthTestEnable(const NVNdepthStencilState* depthStencil);
NVNboolean nvnDepthStencilStateGetDepthWriteEnable(const NVNdepthStencilState* depthStencil);
NVNdepthFunc nvnDepthStencilStateGetDepthFunc(const NVNdepthStencilState* depthStencil);
NVNboolean nvnDepthStencilStateGetStencilTestEnable(const NVNdepthStencilState* depthStencil);
NVNstencilFunc nvnDepthStencilStateGetStencilFunc(const NVNdepthStencilState* depthStencil, NVNface faces);
void nvnDepthStencilStateGetStencilOp(const NVNdepthStencilState* depthStencil, NVNface faces,
                                      NVNstencilOp* fail, NVNstencilOp* depthFail, NVNstencilOp* depthPass);

// Vertex attribute state
void nvnVertexAttribStateSetDefaults(NVNvertexAttribState* attrib);
void nvnVertexAttribStateSetFormat(NVNvertexAttribState* attrib, NVNformat format, ptrdiff_t relativeOffset);
void nvnVertexAttribStateSetStreamIndex(NVNvertexAttribState* attrib, int streamIndex);
void nvnVertexAttribStateGetFormat(const NVNvertexAttribState* attrib, NVNformat* format,
                                   ptrdiff_t* relativeOffset);
int nvnVertexAttribStateGetStreamIndex(const NVNvertexAttribState* attrib);

// Vertex stream state
void nvnVertexStreamStateSetDefaults(NVNvertexStreamState* stream);
void nvnVertexStreamStateSetStride(NVNvertexStreamState* stream, ptrdiff_t stride);
void nvnVertexStreamStateSetDivisor(NVNvertexStreamState* stream, int divisor);
ptrdiff_t nvnVertexStreamStateGetStride(const NVNvertexStreamState* stream);
int nvnVertexStreamStateGetDivisor(const NVNvertexStreamState* stream);

// Command buffer
NVNboolean nvnCommandBufferInitialize(NVNcommandBuffer* cmd, NVNdevice* device);
void nvnCommandBufferFinalize(NVNcommandBuffer* cmd);
void nvnCommandBufferSetDebugLabel(NVNcommandBuffer* cmd, const char* label);
void nvnCommandBufferSetMemoryCallback(NVNcommandBuffer* cmd, PFNNVNCOMMANDBUFFERMEMORYCALLBACKPROC callback);
void nvnCommandBufferSetMemoryCallbackData(NVNcommandBuffer* cmd, void* callbackData);
void nvnCommandBufferAddCommandMemory(NVNcommandBuffer* cmd, const NVNmemoryPool* pool, ptrdiff_t offset,
                                      size_t size);
void nvnCommandBufferAddControlMemory(NVNcommandBuffer* cmd, void* memory, size_t size);
size_t nvnCommandBufferGetCommandMemorySize(const NVNcommandBuffer* cmd);
size_t nvnCommandBufferGetCommandMemoryUsed(const NVNcommandBuffer* cmd);
size_t nvnCommandBufferGetCommandMemoryFree(const NVNcommandBuffer* cmd);
size_t nvnCommandBufferGetControlMemorySize(const NVNcommandBuffer* cmd);
size_t nvnCommandBufferGetControlMemoryUsed(const NVNcommandBuffer* cmd);
size_t nvnCommandBufferGetControlMemoryFree(const NVNcommandBuffer* cmd);
void nvnCommandBufferBeginRecording(NVNcommandBuffer* cmd);
NVNcommandHandle nvnCommandBufferEndRecording(NVNcommandBuffer* cmd);
void nvnCommandBufferCallCommands(NVNcommandBuffer* cmd, int numCommands, const NVNcommandHandle* handles);
void nvnCommandBufferCopyCommands(NVNcommandBuffer* cmd, int numCommands, const NVNcommandHandle* handles);
void nvnCommandBufferBindBlendState(NVNcommandBuffer* cmd, const NVNblendState* blend);
void nvnCommandBufferBindChannelMaskState(NVNcommandBuffer* cmd, const NVNchannelMaskState* channelMask);
void nvnCommandBufferBindColorState(NVNcommandBuffer* cmd, const NVNcolorState* color);
void nvnCommandBufferBindMultisampleState(NVNcommandBuffer* cmd, const NVNmultisampleState* multisample);
void nvnCommandBufferBindPolygonState(NVNcommandBuffer* cmd, const NVNpolygonState* polygon);
void nvnCommandBufferBindDepthStencilState(NVNcommandBuffer* cmd, const NVNdepthStencilState* depthStencil);
void nvnCommandBufferBindVertexAttribState(NVNcommandBuffer* cmd, int numAttribs,
                                           const NVNvertexAttribState* attribs);
void nvnCommandBufferBindVertexStreamState(NVNcommandBuffer* cmd, int numStreams,
                                           const NVNvertexStreamState* streams);
void nvnCommandBufferBindProgram(NVNcommandBuffer* cmd, const NVNprogram* program, int stages);
void nvnCommandBufferBindVertexBuffer(NVNcommandBuffer* cmd, int index, NVNbufferAddress buffer, size_t size);
void nvnCommandBufferBindVertexBuffers(NVNcommandBuffer* cmd, int first, int count,
                                       const NVNbufferRange* buffers);
void nvnCommandBufferBindUniformBuffer(NVNcommandBuffer* cmd, NVNshaderStage stage, int index,
                                       NVNbufferAddress buffer, size_t size);
void nvnCommandBufferBindUniformBuffers(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                        const NVNbufferRange* buffers);
void nvnCommandBufferBindStorageBuffer(NVNcommandBuffer* cmd, NVNshaderStage stage, int index,
                                       NVNbufferAddress buffer, size_t size);
void nvnCommandBufferBindStorageBuffers(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                        const NVNbufferRange* buffers);
void nvnCommandBufferBindTexture(NVNcommandBuffer* cmd, NVNshaderStage stage, int index,
                                 NVNtextureHandle texture);
void nvnCommandBufferBindTextures(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                  const NVNtextureHandle* textures);
void nvnCommandBufferBindImage(NVNcommandBuffer* cmd, NVNshaderStage stage, int index, NVNimageHandle image);
void nvnCommandBufferBindImages(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                const NVNimageHandle* images);
void nvnCommandBufferSetPatchSize(NVNcommandBuffer* cmd, int vertices);
void nvnCommandBufferSetPrimitiveRestart(NVNcommandBuffer* cmd, NVNboolean enable, int index);
void nvnCommandBufferDrawArrays(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, int first, int count);
void nvnCommandBufferDrawElements(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, NVNindexType type, int count,
                                  NVNbufferAddress indexBuffer);
void nvnCommandBufferDrawElementsBaseVertex(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, NVNindexType type,
                                            int count, NVNbufferAddress indexBuffer, int baseVertex);
void nvnCommandBufferDrawArraysInstanced(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, int first, int count,
                                         int baseInstance, int instanceCount);
void nvnCommandBufferDrawElementsInstanced(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, NVNindexType type,
                                           int count, NVNbufferAddress indexBuffer, int baseVertex,
                                           int baseInstance, int instanceCount);
void nvnCommandBufferClearColor(NVNcommandBuffer* cmd, int index, const float* color, int mask);
void nvnCommandBufferClearColori(NVNcommandBuffer* cmd, int index, const int* color, int mask);
void nvnCommandBufferClearColorui(NVNcommandBuffer* cmd, int index, const uint32_t* color, int mask);
void nvnCommandBufferClearDepthStencil(NVNcommandBuffer* cmd, float depthValue, NVNboolean depthMask,
                                       int stencilValue, int stencilMask);
void nvnCommandBufferDispatchCompute(NVNcommandBuffer* cmd, int groupsX, int groupsY, int groupsZ);
void nvnCommandBufferSetViewport(NVNcommandBuffer* cmd, int x, int y, int w, int h);
void nvnCommandBufferSetViewports(NVNcommandBuffer* cmd, int first, int count, const float* xywh);
void nvnCommandBufferSetScissor(NVNcommandBuffer* cmd, int x, int y, int w, int h);
void nvnCommandBufferSetScissors(NVNcommandBuffer* cmd, int first, int count, const int* xywh);
void nvnCommandBufferSetDepthRange(NVNcommandBuffer* cmd, float zNear, float zFar);
void nvnCommandBufferSetDepthBounds(NVNcommandBuffer* cmd, NVNboolean enable, float min, float max);
void nvnCommandBufferSetDepthRanges(NVNcommandBuffer* cmd, int first, int count, const float* nearFarPairs);
void nvnCommandBufferSetTiledCacheAction(NVNcommandBuffer* cmd, NVNtiledCacheAction action);
void nvnCommandBufferSetTiledCacheTileSize(NVNcommandBuffer* cmd, int w, int h);
void nvnCommandBufferBindSeparateTexture(NVNcommandBuffer* cmd, NVNshaderStage stage, int index,
                                         NVNseparateTextureHandle handle);
void nvnCommandBufferBindSeparateSampler(NVNcommandBuffer* cmd, NVNshaderStage stage, int index,
                                         NVNseparateSamplerHandle handle);
void nvnCommandBufferBindSeparateTextures(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                          const NVNseparateTextureHandle* handles);
void nvnCommandBufferBindSeparateSamplers(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                          const NVNseparateSamplerHandle* handles);
void nvnCommandBufferSetStencilValueMask(NVNcommandBuffer* cmd, NVNface faces, int mask);
void nvnCommandBufferSetStencilMask(NVNcommandBuffer* cmd, NVNface faces, int mask);
void nvnCommandBufferSetStencilRef(NVNcommandBuffer* cmd, NVNface faces, int ref);
void nvnCommandBufferSetBlendColor(NVNcommandBuffer* cmd, const float* blendColor);
void nvnCommandBufferSetPointSize(NVNcommandBuffer* cmd, float pointSize);
void nvnCommandBufferSetLineWidth(NVNcommandBuffer* cmd, float lineWidth);
void nvnCommandBufferSetPolygonOffsetClamp(NVNcommandBuffer* cmd, float factor, float units, float clamp);
void nvnCommandBufferSetAlphaRef(NVNcommandBuffer* cmd, float ref);
void nvnCommandBufferSetSampleMask(NVNcommandBuffer* cmd, int mask);
void nvnCommandBufferSetRasterizerDiscard(NVNcommandBuffer* cmd, NVNboolean discard);
void nvnCommandBufferSetDepthClamp(NVNcommandBuffer* cmd, NVNboolean clamp);
void nvnCommandBufferCopyBufferToTexture(NVNcommandBuffer* cmd, NVNbufferAddress buffer,
                                         const NVNtexture* dstTexture, const NVNtextureView* dstView,
                                         const NVNcopyRegion* dstRegion, int flags);
void nvnCommandBufferCopyTextureToBuffer(NVNcommandBuffer* cmd, const NVNtexture* srcTexture,
                                         const NVNtextureView* srcView, const NVNcopyRegion* srcRegion,
                                         NVNbufferAddress buffer, int flags);
void nvnCommandBufferCopyTextureToTexture(NVNcommandBuffer* cmd, const NVNtexture* srcTexture,
                                          const NVNtextureView* srcView, const NVNcopyRegion* srcRegion,
                                          const NVNtexture* dstTexture, const NVNtextureView* dstView,
                                          const NVNcopyRegion* dstRegion, int flags);
void nvnCommandBufferCopyBufferToBuffer(NVNcommandBuffer* cmd, NVNbufferAddress src, NVNbufferAddress dst,
                                        size_t size, int flags);
void nvnCommandBufferClearBuffer(NVNcommandBuffer* cmd, NVNbufferAddress buffer, size_t size, uint32_t value);
void nvnCommandBufferUpdateUniformBuffer(NVNcommandBuffer* cmd, NVNbufferAddress buffer, size_t bufferSize,
                                         ptrdiff_t offset, size_t size, const void* data);
void nvnCommandBufferSetRenderTargets(NVNcommandBuffer* cmd, int numColors, const NVNtexture* const* colors,
                                      const NVNtextureView* const* colorViews, const NVNtexture* depthStencil,
                                      const NVNtextureView* depthStencilView);
void nvnCommandBufferDiscardColor(NVNcommandBuffer* cmd, int index);
void nvnCommandBufferDiscardDepthStencil(NVNcommandBuffer* cmd);
void nvnCommandBufferBarrier(NVNcommandBuffer* cmd, int barrier);
void nvnCommandBufferBindTransformFeedbackBuffer(NVNcommandBuffer* cmd, int index, NVNbufferAddress buffer,
                                                 size_t size);
void nvnCommandBufferBindTransformFeedbackBuffers(NVNcommandBuffer* cmd, int first, int count,
                                                  const NVNbufferRange* buffers);
void nvnCommandBufferBeginTransformFeedback(NVNcommandBuffer* cmd, NVNbufferAddress buffer);
void nvnCommandBufferEndTransformFeedback(NVNcommandBuffer* cmd, NVNbufferAddress buffer);
void nvnCommandBufferPauseTransformFeedback(NVNcommandBuffer* cmd, NVNbufferAddress buffer);
void nvnCommandBufferResumeTransformFeedback(NVNcommandBuffer* cmd, NVNbufferAddress buffer);
void nvnCommandBufferDrawTransformFeedback(NVNcommandBuffer* cmd, NVNdrawPrimitive mode,
                                           NVNbufferAddress buffer);
void nvnCommandBufferDrawArraysIndirect(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, NVNbufferAddress buffer);
void nvnCommandBufferDrawElementsIndirect(NVNcommandBuffer* cmd, NVNdrawPrimitive mode, NVNindexType type,
                                          NVNbufferAddress indexBuffer, NVNbufferAddress record);
void nvnCommandBufferMultiDrawArraysIndirectCount(NVNcommandBuffer* cmd, NVNdrawPrimitive mode,
                                                  NVNbufferAddress records, NVNbufferAddress count,
                                                  int maxDraws, ptrdiff_t stride);
void nvnCommandBufferMultiDrawElementsIndirectCount(NVNcommandBuffer* cmd, NVNdrawPrimitive mode,
                                                    NVNindexType type, NVNbufferAddress indexBuffer,
                                                    NVNbufferAddress records, NVNbufferAddress count,
                                                    int maxDraws, ptrdiff_t stride);
void nvnCommandBufferDispatchComputeIndirect(NVNcommandBuffer* cmd, NVNbufferAddress buffer);
void nvnCommandBufferDrawMeshTasks(NVNcommandBuffer* cmd, uint32_t count, uint32_t first);
void nvnCommandBufferDrawMeshTasksIndirect(NVNcommandBuffer* cmd, NVNbufferAddress record);
void nvnCommandBufferDrawMeshTasks3D(NVNcommandBuffer* cmd, uint32_t x, uint32_t y, uint32_t z);
void nvnCommandBufferSetViewportSwizzles(NVNcommandBuffer* cmd, int first, int count,
                                         const NVNviewportSwizzle* swizzles);
void nvnCommandBufferSetInnerTessellationLevels(NVNcommandBuffer* cmd, const float* levels);
void nvnCommandBufferSetOuterTessellationLevels(NVNcommandBuffer* cmd, const float* levels);
void nvnCommandBufferSetConservativeRasterEnable(NVNcommandBuffer* cmd, NVNboolean enable);
void nvnCommandBufferSetConservativeRasterDilate(NVNcommandBuffer* cmd, float dilate);
void nvnCommandBufferSetSubpixelPrecisionBias(NVNcommandBuffer* cmd, int xBits, int yBits);
void nvnCommandBufferSetFloatBlendClamp(NVNcommandBuffer* cmd, NVNboolean clampToMax);
void nvnCommandBufferBindCoverageModulationTable(NVNcommandBuffer* cmd, const float* table);
void nvnCommandBufferClearTexture(NVNcommandBuffer* cmd, const NVNtexture* dstTexture,
                                  const NVNtextureView* dstView, const NVNcopyRegion* dstRegion,
                                  const float* color, int mask);
void nvnCommandBufferClearTexturei(NVNcommandBuffer* cmd, const NVNtexture* dstTexture,
                                   const NVNtextureView* dstView, const NVNcopyRegion* dstRegion,
                                   const int* color, int mask);
void nvnCommandBufferClearTextureui(NVNcommandBuffer* cmd, const NVNtexture* dstTexture,
                                    const NVNtextureView* dstView, const NVNcopyRegion* dstRegion,
                                    const uint32_t* color, int mask);
void nvnCommandBufferReportCounter(NVNcommandBuffer* cmd, NVNcounterType counter, NVNbufferAddress buffer);
void nvnCommandBufferResetCounter(NVNcommandBuffer* cmd, NVNcounterType counter);
void nvnCommandBufferReportValue(NVNcommandBuffer* cmd, uint32_t value, NVNbufferAddress buffer);
void nvnCommandBufferSetRenderEnable(NVNcommandBuffer* cmd, NVNboolean enable);
void nvnCommandBufferSetRenderEnableConditional(NVNcommandBuffer* cmd, NVNconditionalRenderMode mode,
                                                NVNbufferAddress addr);
void nvnCommandBufferDownsample(NVNcommandBuffer* cmd, const NVNtexture* src, const NVNtexture* dst);
void nvnCommandBufferTiledDownsample(NVNcommandBuffer* cmd, const NVNtexture* src, const NVNtexture* dst);
void nvnCommandBufferDownsampleTextureView(NVNcommandBuffer* cmd, const NVNtexture* src,
                                           const NVNtextureView* srcView, const NVNtexture* dst,
                                           const NVNtextureView* dstView);
void nvnCommandBufferTiledDownsampleTextureView(NVNcommandBuffer* cmd, const NVNtexture* src,
                                                const NVNtextureView* srcView, const NVNtexture* dst,
                                                const NVNtextureView* dstView);
void nvnCommandBufferResolveDepthBuffer(NVNcommandBuffer* cmd);
void nvnCommandBufferPushGraphicsConstants(NVNcommandBuffer* cmd, uint32_t offset, uint32_t size,
                                           const void* data);
void nvnCommandBufferPushComputeConstants(NVNcommandBuffer* cmd, uint32_t offset, uint32_t size,
                                          const void* data);
void nvnCommandBufferWaitSync(NVNcommandBuffer* cmd, const NVNsync* sync);
void nvnCommandBufferFenceSync(NVNcommandBuffer* cmd, NVNsync* sync, NVNsyncCondition condition, int flags);
void nvnCommandBufferSetTexturePool(NVNcommandBuffer* cmd, const NVNtexturePool* pool);
void nvnCommandBufferSetSamplerPool(NVNcommandBuffer* cmd, const NVNsamplerPool* pool);
void nvnCommandBufferSetShaderScratchMemory(NVNcommandBuffer* cmd, const NVNmemoryPool* pool,
                                            ptrdiff_t offset, size_t size);
void nvnCommandBufferSetCopyRowStride(NVNcommandBuffer* cmd, ptrdiff_t stride);
void nvnCommandBufferSetCopyImageStride(NVNcommandBuffer* cmd, ptrdiff_t stride);
ptrdiff_t nvnCommandBufferGetCopyRowStride(const NVNcommandBuffer* cmd);
ptrdiff_t nvnCommandBufferGetCopyImageStride(const NVNcommandBuffer* cmd);
void nvnCommandBufferPushDebugGroupStatic(NVNcommandBuffer* cmd, uint32_t domainId, const char* text);
void nvnCommandBufferPushDebugGroupDynamic(NVNcommandBuffer* cmd, uint32_t domainId, const char* text);
void nvnCommandBufferPushDebugGroup(NVNcommandBuffer* cmd, uint32_t domainId, const char* text);
void nvnCommandBufferPopDebugGroup(NVNcommandBuffer* cmd);
void nvnCommandBufferPopDebugGroupId(NVNcommandBuffer* cmd, uint32_t domainId);
void nvnCommandBufferInsertDebugMarkerStatic(NVNcommandBuffer* cmd, uint32_t domainId, const char* text);
void nvnCommandBufferInsertDebugMarkerDynamic(NVNcommandBuffer* cmd, uint32_t domainId, const char* text);
void nvnCommandBufferInsertDebugMarker(NVNcommandBuffer* cmd, const char* text);
PFNNVNCOMMANDBUFFERMEMORYCALLBACKPROC nvnCommandBufferGetMemoryCallback(const NVNcommandBuffer* cmd);
void* nvnCommandBufferGetMemoryCallbackData(const NVNcommandBuffer* cmd);
NVNboolean nvnCommandBufferIsRecording(const NVNcommandBuffer* cmd);
void nvnCommandBufferSaveZCullData(NVNcommandBuffer* cmd, NVNbufferAddress addr, size_t size);
void nvnCommandBufferRestoreZCullData(NVNcommandBuffer* cmd, NVNbufferAddress addr, size_t size);
void nvnCommandBufferWaitEvent(NVNcommandBuffer* cmd, const NVNevent* event, NVNeventWaitMode mode,
                               uint32_t value);
void nvnCommandBufferSignalEvent(NVNcommandBuffer* cmd, const NVNevent* event, NVNeventSignalMode mode,
                                 NVNeventSignalLocation location, int flags, uint32_t value);
void nvnCommandBufferSetColorReductionEnable(NVNcommandBuffer* cmd, NVNboolean enable);
void nvnCommandBufferSetColorReductionThresholds(NVNcommandBuffer* cmd, NVNformatClass cls, int conservative,
                                                 int aggressive);
void nvnCommandBufferSetStencilCullCriteria(NVNcommandBuffer* cmd, NVNstencilFunc func, int ref, int mask);
void nvnCommandBufferSetCommandMemoryCallbackEnabled(NVNcommandBuffer* cmd, NVNboolean enable);
void nvnCommandBufferSetRepresentativeFragmentTest(NVNcommandBuffer* cmd, NVNboolean enable);
void nvnCommandBufferBindTexturesDeferred(NVNcommandBuffer* cmd, NVNshaderStage stage, int first, int count,
                                          NVNbufferAddress handles);

// Sync
NVNboolean nvnSyncInitialize(NVNsync* sync, NVNdevice* device);
void nvnSyncFinalize(NVNsync* sync);
void nvnSyncSetDebugLabel(NVNsync* sync, const char* label);
NVNsyncWaitResult nvnSyncWait(const NVNsync* sync, uint64_t timeoutNs);

// Event builder and event
void nvnEventBuilderSetDefaults(NVNeventBuilder* builder);
void nvnEventBuilderSetStorage(NVNeventBuilder* builder, const NVNmemoryPool* pool, int64_t offset);
NVNboolean nvnEventInitialize(NVNevent* event, const NVNeventBuilder* builder);
void nvnEventFinalize(NVNevent* event);
uint32_t nvnEventGetValue(const NVNevent* event);
void nvnEventSignal(NVNevent* event, NVNeventSignalMode mode, uint32_t value);
const NVNmemoryPool* nvnEventBuilderGetStorage(const NVNeventBuilder* builder, int64_t* offset);
const NVNmemoryPool* nvnEventBuilderGetMemoryPool(const NVNeventBuilder* builder);
ptrdiff_t nvnEventBuilderGetMemoryOffset(const NVNeventBuilder* builder);
const NVNmemoryPool* nvnEventGetMemoryPool(const NVNevent* event);
ptrdiff_t nvnEventGetMemoryOffset(const NVNevent* event);

} // extern "C"
