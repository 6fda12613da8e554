// Builds the picture's scene and records it as a guest would.
#include "runtime/examples/picture_scene.h"
#include "runtime/examples/guest_calls.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace dmsh::examples {
namespace {

constexpr float kPi = 3.14159265f;

using Matrix = std::array<float, 16>;

Matrix multiply(const Matrix& a, const Matrix& b) {
    Matrix m{};
    for (int c = 0; c < 4; ++c)
        for (int r = 0; r < 4; ++r)
            for (int k = 0; k < 4; ++k)
                m[c * 4 + r] += a[k * 4 + r] * b[c * 4 + k];
    return m;
}

Matrix perspective(float angle, float aspect, float near, float far) {
    const float f = 1.0f / std::tan(angle / 2);
    Matrix m{};
    m[0] = f / aspect;
    m[5] = f;
    m[10] = (far + near) / (near - far);
    m[11] = -1;
    m[14] = 2 * far * near / (near - far);
    return m;
}

Matrix translation(float x, float y, float z) {
    return {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, y, z, 1};
}

Matrix rotation_y(float a) {
    return {std::cos(a), 0, -std::sin(a), 0, 0, 1, 0, 0, std::sin(a), 0, std::cos(a), 0, 0, 0, 0, 1};
}
Matrix rotation_x(float a) {
    return {1, 0, 0, 0, 0, std::cos(a), std::sin(a), 0, 0, -std::sin(a), std::cos(a), 0, 0, 0, 0, 1};
}

std::array<float, 32> object(const Matrix& model, float u, float v) {
    std::array<float, 32> o{};
    std::copy(model.begin(), model.end(), o.begin());
    for (int c = 0; c < 3; ++c) // std140: a column takes four words
        for (int r = 0; r < 3; ++r)
            o[16 + c * 4 + r] = model[c * 4 + r];
    o[28] = 1.5f;
    o[29] = 1.0f;
    o[30] = u;
    o[31] = v;
    return o;
}

SceneTexture texture(uint32_t size, bool checker) {
    SceneTexture t;
    t.size = size;
    std::vector<uint8_t> level(size * size * 4);
    for (uint32_t y = 0; y < size; ++y)
        for (uint32_t x = 0; x < size; ++x) {
            uint8_t* p = &level[(y * size + x) * 4];
            const bool odd = ((x >> 3) + (y >> 3)) & 1;
            p[0] = static_cast<uint8_t>(checker ? (odd ? 120 : 20) : x * 160 / (size - 1));
            p[1] = static_cast<uint8_t>(checker ? x * 90 / size + 20 : y * 160 / (size - 1));
            p[2] = static_cast<uint8_t>(checker ? y * 150 / size : 160 - x * 127 / size);
            p[3] = static_cast<uint8_t>(checker ? 20 + odd * 40 : 128);
        }
    while (true) {
        t.levels.push_back(level);
        if (size == 1)
            return t;
        std::vector<uint8_t> half(size * size);
        for (uint32_t y = 0; y < size / 2; ++y)
            for (uint32_t x = 0; x < size / 2; ++x)
                for (uint32_t k = 0; k < 4; ++k) {
                    const auto at = [&](uint32_t dx, uint32_t dy) {
                        return uint32_t{level[((2 * y + dy) * size + 2 * x + dx) * 4 + k]};
                    };
                    half[(y * (size / 2) + x) * 4 + k] =
                        static_cast<uint8_t>((at(0, 0) + at(1, 0) + at(0, 1) + at(1, 1) + 2) / 4);
                }
        size /= 2;
        level = std::move(half);
    }
}

} // namespace

Scene make_scene() {
    Scene s;
    constexpr int kRings = 20, kSegments = 32;
    for (int r = 0; r <= kRings; ++r)
        for (int k = 0; k <= kSegments; ++k) {
            const float a = kPi * static_cast<float>(r) / kRings,
                        b = 2 * kPi * static_cast<float>(k) / kSegments;
            const float n[3] = {std::sin(a) * std::cos(b), std::cos(a), std::sin(a) * std::sin(b)};
            SceneVertex v{};
            v.a[0] = static_cast<float>(r) / kRings;
            v.a[1] = static_cast<float>(k) / kSegments;
            v.b = static_cast<uint32_t>(r);
            v.d[0] = k, v.d[1] = r, v.d[2] = k - r;
            v.e = 3;
            const float bump = 0.12f * std::sin(5 * a) * std::cos(4 * b);
            for (int i = 0; i < 3; ++i)
                v.f0[i] = n[i];
            s.vertices.push_back(v);
            s.displacements.push_back({n[0] * bump, n[1] * bump, n[2] * bump, 0});
        }
    for (int r = 0; r < kRings; ++r)
        for (int k = 0; k < kSegments; ++k) {
            const auto at = [](int ring, int segment) {
                return static_cast<uint16_t>(ring * (kSegments + 1) + segment);
            };
            // Counter-clockwise from outside.
            for (const uint16_t i :
                 {at(r, k), at(r, k + 1), at(r + 1, k), at(r + 1, k), at(r, k + 1), at(r + 1, k + 1)})
                s.indices.push_back(i);
        }
    s.vertices.resize((s.vertices.size() + 63) / 64 * 64);
    s.displacements.resize(s.vertices.size());

    const Matrix view = translation(0, 0, -4);
    const Matrix proj =
        perspective(0.9f, static_cast<float>(s.width) / static_cast<float>(s.height), 0.5f, 20.0f);
    std::copy(view.begin(), view.end(), s.camera.begin());
    std::copy(proj.begin(), proj.end(), s.camera.begin() + 16);
    s.camera[34] = 4; // eye
    s.objects[0] = object(
        multiply(translation(-0.55f, 0.1f, 0), multiply(rotation_y(0.7f), rotation_x(0.5f))), 0, 0.25f);
    s.objects[1] = object(multiply(translation(0.6f, -0.25f, -0.4f), rotation_x(-0.8f)), 0.5f, 0);
    s.outline = {1.0f / 64, 1.0f / 64, 0, 0, 1.5f, 0.8f, 0.2f, 0.3f, 0.05f, 0.05f, 0.1f, 0.7f};
    s.paint = texture(64, true);
    s.grain = texture(32, false);
    return s;
}

std::vector<std::string> scene_shaders() {
    return {"cs_ssbo_vector_widths", "vs_fullscreen_triangle", "real_fs_toon_outline", "vs_mvp_matrices",
            "fs_tex_2d"};
}

std::vector<uint8_t> draw_scene(const Scene& scene, const std::map<std::string, GuestShader>& shaders,
                                PFNNVNGENERICFUNCPTRPROC (*loader)(const char*), std::string& problem) {
    Calls nvn;
    if (!nvn.load(loader, problem))
        return {};
    const auto fail = [&](const char* what) {
        problem = what;
        return std::vector<uint8_t>();
    };

    Object<NVNdeviceBuilder> device_builder;
    Object<NVNdevice> device;
    nvn.nvnDeviceBuilderSetDefaults(device_builder);
    nvn.nvnDeviceBuilderSetFlags(device_builder, 0);
    if (!nvn.nvnDeviceInitialize(device, device_builder))
        return fail("nvnDeviceInitialize");

    const auto heap = std::make_unique<Heap>();
    Object<NVNmemoryPoolBuilder> pool_builder;
    Object<NVNmemoryPool> pool;
    nvn.nvnMemoryPoolBuilderSetDevice(pool_builder, device);
    nvn.nvnMemoryPoolBuilderSetDefaults(pool_builder);
    nvn.nvnMemoryPoolBuilderSetStorage(pool_builder, heap->memory, Heap::kSize);
    nvn.nvnMemoryPoolBuilderSetFlags(pool_builder, NVN_MEMORY_POOL_FLAGS_CPU_CACHED |
                                                       NVN_MEMORY_POOL_FLAGS_GPU_CACHED |
                                                       NVN_MEMORY_POOL_FLAGS_SHADER_CODE);
    if (!nvn.nvnMemoryPoolInitialize(pool, pool_builder))
        return fail("nvnMemoryPoolInitialize");
    const NVNbufferAddress base = nvn.nvnMemoryPoolGetBufferAddress(pool);

    Object<NVNqueueBuilder> queue_builder;
    const auto queue = std::make_unique<Object<NVNqueue>>();
    nvn.nvnQueueBuilderSetDevice(queue_builder, device);
    nvn.nvnQueueBuilderSetDefaults(queue_builder);
    if (!nvn.nvnQueueInitialize(*queue, queue_builder))
        return fail("nvnQueueInitialize");

    // Programs: the control sections may go as soon as the call returns.
    const auto program = [&](Object<NVNprogram>& p, std::initializer_list<const char*> names) {
        NVNshaderData data[2];
        std::vector<std::vector<uint8_t>> controls;
        int n = 0;
        for (const char* name : names) {
            const auto it = shaders.find(name);
            if (it == shaders.end())
                return false;
            controls.push_back(it->second.control);
            data[n++] = {base + heap->put(it->second.code.data(), it->second.code.size()),
                         controls.back().data()};
        }
        return nvn.nvnProgramInitialize(p, device) && nvn.nvnProgramSetShaders(p, n, data);
    };
    Object<NVNprogram> inflate, backdrop, solid;
    if (!program(inflate, {"cs_ssbo_vector_widths"}) ||
        !program(backdrop, {"vs_fullscreen_triangle", "real_fs_toon_outline"}) ||
        !program(solid, {"vs_mvp_matrices", "fs_tex_2d"}))
        return fail("nvnProgramSetShaders");

    // Textures.
    const auto texture = [&](Object<NVNtexture>& t, uint32_t width, uint32_t height, int levels,
                             NVNformat format, int flags) {
        Object<NVNtextureBuilder> b;
        nvn.nvnTextureBuilderSetDevice(b, device);
        nvn.nvnTextureBuilderSetDefaults(b);
        nvn.nvnTextureBuilderSetTarget(b, NVN_TEXTURE_TARGET_2D);
        nvn.nvnTextureBuilderSetFlags(b, flags);
        nvn.nvnTextureBuilderSetSize2D(b, static_cast<int>(width), static_cast<int>(height));
        nvn.nvnTextureBuilderSetLevels(b, levels);
        nvn.nvnTextureBuilderSetFormat(b, format);
        const size_t at =
            heap->take(nvn.nvnTextureBuilderGetStorageSize(b), nvn.nvnTextureBuilderGetStorageAlignment(b));
        nvn.nvnTextureBuilderSetStorage(b, pool, static_cast<ptrdiff_t>(at));
        return nvn.nvnTextureInitialize(t, b) != 0;
    };
    Object<NVNtexture> paint, grain, color, depth;
    if (!texture(paint, scene.paint.size, scene.paint.size, static_cast<int>(scene.paint.levels.size()),
                 NVN_FORMAT_RGBA8, 0) ||
        !texture(grain, scene.grain.size, scene.grain.size, static_cast<int>(scene.grain.levels.size()),
                 NVN_FORMAT_RGBA8, 0) ||
        !texture(color, scene.width, scene.height, 1, NVN_FORMAT_RGBA8, NVN_TEXTURE_FLAGS_COMPRESSIBLE) ||
        !texture(depth, scene.width, scene.height, 1, NVN_FORMAT_DEPTH32F, NVN_TEXTURE_FLAGS_COMPRESSIBLE))
        return fail("nvnTextureInitialize");
    const auto fill = [&](NVNtexture* t, const SceneTexture& content) {
        for (size_t i = 0; i < content.levels.size(); ++i) {
            Object<NVNtextureView> view;
            nvn.nvnTextureViewSetDefaults(view);
            nvn.nvnTextureViewSetLevels(view, static_cast<int>(i), 1);
            const int size = static_cast<int>(content.size >> i);
            const NVNcopyRegion region{0, 0, 0, size, size, 1};
            nvn.nvnTextureWriteTexels(t, view, &region, content.levels[i].data());
        }
    };
    fill(paint, scene.paint);
    fill(grain, scene.grain);

    Object<NVNtexturePool> textures;
    Object<NVNsamplerPool> samplers;
    constexpr int kIds = kFirstId + 16;
    if (!nvn.nvnTexturePoolInitialize(textures, pool, static_cast<ptrdiff_t>(heap->take(kIds * 32)), kIds) ||
        !nvn.nvnSamplerPoolInitialize(samplers, pool, static_cast<ptrdiff_t>(heap->take(kIds * 32)), kIds))
        return fail("nvnTexturePoolInitialize");
    nvn.nvnTexturePoolRegisterTexture(textures, kFirstId, paint, nullptr);
    nvn.nvnTexturePoolRegisterTexture(textures, kFirstId + 1, grain, nullptr);
    Object<NVNsamplerBuilder> sampler_builder;
    Object<NVNsampler> sampler;
    nvn.nvnSamplerBuilderSetDevice(sampler_builder, device);
    nvn.nvnSamplerBuilderSetDefaults(sampler_builder);
    nvn.nvnSamplerBuilderSetMinMagFilter(sampler_builder, NVN_MIN_FILTER_LINEAR_MIPMAP_LINEAR,
                                         NVN_MAG_FILTER_LINEAR);
    nvn.nvnSamplerBuilderSetWrapMode(sampler_builder, NVN_WRAP_MODE_REPEAT, NVN_WRAP_MODE_REPEAT,
                                     NVN_WRAP_MODE_REPEAT);
    nvn.nvnSamplerBuilderSetLodClamp(sampler_builder, 0, 16);
    nvn.nvnSamplerInitialize(sampler, sampler_builder);
    nvn.nvnSamplerPoolRegisterSampler(samplers, kFirstId, sampler);
    const NVNtextureHandle paint_handle = nvn.nvnDeviceGetTextureHandle(device, kFirstId, kFirstId);
    const NVNtextureHandle grain_handle = nvn.nvnDeviceGetTextureHandle(device, kFirstId + 1, kFirstId);

    // Buffers.
    const size_t vertex_bytes = scene.vertices.size() * sizeof(SceneVertex);
    const NVNbufferAddress raw = base + heap->put(scene.vertices.data(), vertex_bytes);
    const NVNbufferAddress inflated = base + heap->take(vertex_bytes);
    const NVNbufferAddress moves =
        base + heap->put(scene.displacements.data(), scene.displacements.size() * 16);
    const NVNbufferAddress indices = base + heap->put(scene.indices.data(), scene.indices.size() * 2);
    const NVNbufferAddress camera = base + heap->put(scene.camera.data(), sizeof scene.camera);
    const NVNbufferAddress first = base + heap->put(scene.objects[0].data(), sizeof scene.objects[0]);
    const NVNbufferAddress second = base + heap->take(sizeof scene.objects[1]);
    const NVNbufferAddress outline = base + heap->put(scene.outline.data(), sizeof scene.outline);
    const size_t picture_bytes = size_t{scene.width} * scene.height * 4;
    const size_t picture = heap->take(picture_bytes);

    // Commands.
    constexpr size_t kCommandBytes = 65536;
    const size_t command_memory = heap->take(kCommandBytes);
    alignas(8) static uint8_t control_memory[4096];
    Object<NVNcommandBuffer> cmd;
    if (!nvn.nvnCommandBufferInitialize(cmd, device))
        return fail("nvnCommandBufferInitialize");
    nvn.nvnCommandBufferAddCommandMemory(cmd, pool, static_cast<ptrdiff_t>(command_memory), kCommandBytes);
    nvn.nvnCommandBufferAddControlMemory(cmd, control_memory, sizeof control_memory);
    nvn.nvnCommandBufferBeginRecording(cmd);
    nvn.nvnCommandBufferSetTexturePool(cmd, textures);
    nvn.nvnCommandBufferSetSamplerPool(cmd, samplers);

    nvn.nvnCommandBufferBindProgram(cmd, inflate, NVN_SHADER_STAGE_COMPUTE_BIT);
    nvn.nvnCommandBufferBindStorageBuffer(cmd, NVN_SHADER_STAGE_COMPUTE, 0, raw, vertex_bytes);
    nvn.nvnCommandBufferBindStorageBuffer(cmd, NVN_SHADER_STAGE_COMPUTE, 1, inflated, vertex_bytes);
    nvn.nvnCommandBufferBindStorageBuffer(cmd, NVN_SHADER_STAGE_COMPUTE, 15, moves,
                                          scene.displacements.size() * 16);
    nvn.nvnCommandBufferDispatchCompute(cmd, static_cast<int>(scene.vertices.size() / 64), 1, 1);
    nvn.nvnCommandBufferBarrier(cmd, NVN_BARRIER_ORDER_PRIMITIVES_BIT | NVN_BARRIER_INVALIDATE_SHADER_BIT);

    NVNtexture* const colors[1] = {color};
    nvn.nvnCommandBufferSetRenderTargets(cmd, 1, colors, nullptr, depth, nullptr);
    nvn.nvnCommandBufferSetViewport(cmd, 0, 0, static_cast<int>(scene.width), static_cast<int>(scene.height));
    nvn.nvnCommandBufferSetScissor(cmd, 0, 0, static_cast<int>(scene.width), static_cast<int>(scene.height));
    nvn.nvnCommandBufferClearColor(cmd, 0, scene.clear.data(), 15);
    nvn.nvnCommandBufferClearDepthStencil(cmd, 1.0f, 1, 0, 0);
    NVNcolorState color_state;
    NVNchannelMaskState mask;
    NVNpolygonState polygon;
    NVNdepthStencilState depth_state;
    nvn.nvnColorStateSetDefaults(&color_state);
    nvn.nvnChannelMaskStateSetDefaults(&mask);
    nvn.nvnPolygonStateSetDefaults(&polygon);
    nvn.nvnDepthStencilStateSetDefaults(&depth_state);
    nvn.nvnCommandBufferBindColorState(cmd, &color_state);
    nvn.nvnCommandBufferBindChannelMaskState(cmd, &mask);
    nvn.nvnCommandBufferBindPolygonState(cmd, &polygon);
    nvn.nvnCommandBufferBindDepthStencilState(cmd, &depth_state);

    constexpr int kBothStages = NVN_SHADER_STAGE_VERTEX_BIT | NVN_SHADER_STAGE_FRAGMENT_BIT;
    nvn.nvnCommandBufferBindProgram(cmd, backdrop, kBothStages);
    nvn.nvnCommandBufferBindUniformBuffer(cmd, NVN_SHADER_STAGE_FRAGMENT, 0, outline, sizeof scene.outline);
    nvn.nvnCommandBufferBindTexture(cmd, NVN_SHADER_STAGE_FRAGMENT, 0, paint_handle);
    nvn.nvnCommandBufferBindTexture(cmd, NVN_SHADER_STAGE_FRAGMENT, 1, grain_handle);
    nvn.nvnCommandBufferBindTexture(cmd, NVN_SHADER_STAGE_FRAGMENT, 2, paint_handle);
    nvn.nvnCommandBufferDrawArrays(cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);

    nvn.nvnDepthStencilStateSetDepthTestEnable(&depth_state, 1);
    nvn.nvnDepthStencilStateSetDepthWriteEnable(&depth_state, 1);
    nvn.nvnDepthStencilStateSetDepthFunc(&depth_state, NVN_DEPTH_FUNC_LESS);
    nvn.nvnPolygonStateSetCullFace(&polygon, NVN_FACE_BACK);
    nvn.nvnCommandBufferBindDepthStencilState(cmd, &depth_state);
    nvn.nvnCommandBufferBindPolygonState(cmd, &polygon);
    nvn.nvnCommandBufferBindProgram(cmd, solid, kBothStages);
    NVNvertexAttribState attribs[3];
    constexpr struct {
        NVNformat format;
        size_t offset;
    } kAttribs[3] = {{NVN_FORMAT_RGB32F, offsetof(SceneVertex, f1)},
                     {NVN_FORMAT_RGB32F, offsetof(SceneVertex, f0)},
                     {NVN_FORMAT_RG32F, offsetof(SceneVertex, a)}};
    for (int i = 0; i < 3; ++i) {
        nvn.nvnVertexAttribStateSetDefaults(&attribs[i]);
        nvn.nvnVertexAttribStateSetFormat(&attribs[i], kAttribs[i].format,
                                          static_cast<ptrdiff_t>(kAttribs[i].offset));
        nvn.nvnVertexAttribStateSetStreamIndex(&attribs[i], 0);
    }
    NVNvertexStreamState stream;
    nvn.nvnVertexStreamStateSetDefaults(&stream);
    nvn.nvnVertexStreamStateSetStride(&stream, sizeof(SceneVertex));
    nvn.nvnCommandBufferBindVertexAttribState(cmd, 3, attribs);
    nvn.nvnCommandBufferBindVertexStreamState(cmd, 1, &stream);
    nvn.nvnCommandBufferBindVertexBuffer(cmd, 0, inflated, vertex_bytes);
    nvn.nvnCommandBufferBindTexture(cmd, NVN_SHADER_STAGE_FRAGMENT, 0, paint_handle);
    nvn.nvnCommandBufferBindTexture(cmd, NVN_SHADER_STAGE_FRAGMENT, 7, grain_handle);
    nvn.nvnCommandBufferBindUniformBuffer(cmd, NVN_SHADER_STAGE_VERTEX, 0, camera, sizeof scene.camera);
    nvn.nvnCommandBufferBindUniformBuffer(cmd, NVN_SHADER_STAGE_VERTEX, 1, first, sizeof scene.objects[0]);
    const int count = static_cast<int>(scene.indices.size());
    nvn.nvnCommandBufferDrawElements(cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, NVN_INDEX_TYPE_UNSIGNED_SHORT, count,
                                     indices);
    nvn.nvnCommandBufferUpdateUniformBuffer(cmd, second, sizeof scene.objects[1], 0, sizeof scene.objects[1],
                                            scene.objects[1].data());
    nvn.nvnCommandBufferBindUniformBuffer(cmd, NVN_SHADER_STAGE_VERTEX, 1, second, sizeof scene.objects[1]);
    nvn.nvnCommandBufferDrawElements(cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, NVN_INDEX_TYPE_UNSIGNED_SHORT, count,
                                     indices);

    nvn.nvnCommandBufferBarrier(cmd, NVN_BARRIER_ORDER_FRAGMENTS_BIT);
    const NVNcopyRegion whole{0, 0, 0, static_cast<int>(scene.width), static_cast<int>(scene.height), 1};
    nvn.nvnCommandBufferCopyTextureToBuffer(cmd, color, nullptr, &whole, base + picture, 0);
    const NVNcommandHandle list = nvn.nvnCommandBufferEndRecording(cmd);

    Object<NVNsync> done;
    nvn.nvnSyncInitialize(done, device);
    nvn.nvnQueueSubmitCommands(*queue, 1, &list);
    nvn.nvnQueueFenceSync(*queue, done, NVN_SYNC_CONDITION_ALL_GPU_COMMANDS_COMPLETE,
                          NVN_SYNC_FLAG_FLUSH_FOR_CPU_BIT);
    nvn.nvnQueueFlush(*queue);
    if (nvn.nvnSyncWait(done, uint64_t{60} * 1000000000) == NVN_SYNC_WAIT_RESULT_TIMEOUT_EXPIRED)
        return fail("nvnSyncWait");
    const std::vector<uint8_t> out(heap->memory + picture, heap->memory + picture + picture_bytes);

    nvn.nvnSyncFinalize(done);
    nvn.nvnCommandBufferFinalize(cmd);
    nvn.nvnTexturePoolFinalize(textures);
    nvn.nvnSamplerPoolFinalize(samplers);
    for (Object<NVNtexture>* t : {&paint, &grain, &color, &depth})
        nvn.nvnTextureFinalize(*t);
    for (Object<NVNprogram>* p : {&inflate, &backdrop, &solid})
        nvn.nvnProgramFinalize(*p);
    nvn.nvnQueueFinalize(*queue);
    nvn.nvnMemoryPoolFinalize(pool);
    nvn.nvnDeviceFinalize(device);
    return out;
}

} // namespace dmsh::examples
