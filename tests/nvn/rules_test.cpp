// Rules of the runtime's checklist that no other test names: found by name through the loader where a guest would.
#include "runtime/nvn/entry_points.h"
#include "runtime/nvn/recorder.h"
#include "tests/nvn/guest.h"
#include <functional>

namespace dmsh::nvn {

template <>
inline constexpr size_t kGuestBytes<NVNmultisampleState> = 0x18;
template <>
inline constexpr size_t kGuestBytes<NVNvertexStreamState> = 8;

namespace {

class Rules : public FreshHost {};

// The function of a name, as a guest asks for it.
template <class F>
F* by_name(F*, const char* name) {
    const auto get = reinterpret_cast<PFNNVNGENERICFUNCPTRPROC (*)(const NVNdevice*, const char*)>(
        nvnBootstrapLoader("nvnDeviceGetProcAddress"));
    return reinterpret_cast<F*>(get(nullptr, name));
}
#define NVN(name) by_name(&::name, #name)

void texture_builder(NVNtextureBuilder* b, const GuestPool& pool, ptrdiff_t offset) {
    NVN(nvnTextureBuilderSetDevice)(b, nullptr);
    NVN(nvnTextureBuilderSetDefaults)(b);
    NVN(nvnTextureBuilderSetTarget)(b, NVN_TEXTURE_TARGET_2D);
    NVN(nvnTextureBuilderSetFormat)(b, NVN_FORMAT_RGBA8);
    NVN(nvnTextureBuilderSetSize2D)(b, 16, 16);
    NVN(nvnTextureBuilderSetStorage)(b, const_cast<GuestPool&>(pool).get(), offset);
}

struct Recording {
    GuestPool pool{0x20000};
    alignas(8) uint8_t control[4096];
    Guest<NVNcommandBuffer> cmd;
    explicit Recording(size_t bytes = 0x10000) {
        EXPECT_TRUE(nvnCommandBufferInitialize(cmd, nullptr));
        nvnCommandBufferAddCommandMemory(cmd, pool.get(), 0, bytes);
        nvnCommandBufferAddControlMemory(cmd, control, sizeof control);
        nvnCommandBufferBeginRecording(cmd);
    }
    size_t used() { return nvnCommandBufferGetCommandMemoryUsed(cmd); }
    std::vector<uint8_t> end() {
        std::vector<uint8_t> out;
        for_runs(nvnCommandBufferEndRecording(cmd), [&](uint64_t address, size_t bytes) {
            const auto* from = reinterpret_cast<const uint8_t*>(address);
            out.insert(out.end(), from, from + bytes);
            return true;
        });
        return out;
    }
};

} // namespace

TEST_F(Rules, R8_EqualStateEqualBytes) {
    Guest<NVNtextureView> v0(0x00), v1(0xff);
    for (auto* v : {v0.get(), v1.get()}) {
        NVN(nvnTextureViewSetDefaults)(v);
        NVN(nvnTextureViewSetLevels)(v, 1, 2);
        NVN(nvnTextureViewSetFormat)(v, NVN_FORMAT_RGBA8_SRGB);
    }
    EXPECT_EQ(std::memcmp(v0.bytes(), v1.bytes(), sizeof(NVNtextureView)), 0);
    Guest<NVNmultisampleState> m0(0x00), m1(0xff);
    for (auto* m : {m0.get(), m1.get()}) {
        NVN(nvnMultisampleStateSetDefaults)(m);
        NVN(nvnMultisampleStateSetSamples)(m, 4);
    }
    EXPECT_EQ(std::memcmp(m0.bytes(), m1.bytes(), sizeof(NVNmultisampleState)), 0);
    Guest<NVNvertexStreamState> s0(0x00), s1(0xff);
    for (auto* s : {s0.get(), s1.get()}) {
        NVN(nvnVertexStreamStateSetDefaults)(s);
        NVN(nvnVertexStreamStateSetStride)(s, 24);
        NVN(nvnVertexStreamStateSetDivisor)(s, 3);
    }
    EXPECT_EQ(std::memcmp(s0.bytes(), s1.bytes(), sizeof(NVNvertexStreamState)), 0);
    EXPECT_EQ(nvnVertexStreamStateGetStride(s0), 24);
    EXPECT_EQ(nvnVertexStreamStateGetDivisor(s0), 3);
}

TEST_F(Rules, R10_CopiesOfATextureDoNotTakeItDown) {
    GuestPool pool(0x10000);
    Guest<NVNtextureBuilder> b;
    texture_builder(b, pool, 0x200);
    Guest<NVNtexture> original, copy;
    for (const bool copy_first : {true, false}) {
        ASSERT_TRUE(nvnTextureInitialize(original, b));
        std::memcpy(copy.bytes(), original.bytes(), sizeof(NVNtexture));
        NVNtexture* first = copy_first ? copy.get() : original.get();
        NVNtexture* second = copy_first ? original.get() : copy.get();
        nvnTextureFinalize(first);
        EXPECT_EQ(nvnTextureGetTextureAddress(second), pool.address() + 0x200);
        EXPECT_EQ(nvnTextureGetWidth(second), 16);
        nvnTextureFinalize(second);
        EXPECT_EQ(nvnTextureGetTextureAddress(second), 0u);
    }
}

TEST_F(Rules, R11_R200_R201_WhatBuildersAndTexturesTell) {
    GuestPool pool(0x10000);
    Guest<NVNtextureBuilder> b;
    texture_builder(b, pool, 0x200);
    EXPECT_NE(NVN(nvnTextureBuilderGetZCullStorageSize)(b), 0u);
    EXPECT_EQ(NVN(nvnTextureBuilderGetMemoryPool)(b), pool.get());
    EXPECT_EQ(NVN(nvnTextureBuilderGetMemoryOffset)(b), 0x200);
    EXPECT_EQ(NVN(nvnTextureBuilderGetRawStorageClass)(b), 1);
    Guest<NVNtexture> t;
    ASSERT_TRUE(NVN(nvnTextureInitialize)(t, b));
    EXPECT_EQ(NVN(nvnTextureGetRawStorageClass)(t), 1);
    EXPECT_EQ(NVN(nvnTextureGetMemoryPool)(t), pool.get());
    EXPECT_EQ(NVN(nvnTextureGetMemoryOffset)(t), 0x200);
    EXPECT_EQ(NVN(nvnTextureGetTextureAddress)(t), pool.address() + 0x200);
    Guest<NVNtexturePool> textures;
    Guest<NVNsamplerPool> samplers;
    ASSERT_TRUE(NVN(nvnTexturePoolInitialize)(textures, pool.get(), 0x4000, 300));
    ASSERT_TRUE(NVN(nvnSamplerPoolInitialize)(samplers, pool.get(), 0x8000, 400));
    EXPECT_EQ(NVN(nvnTexturePoolGetSize)(textures), 300);
    EXPECT_EQ(NVN(nvnTexturePoolGetMemoryPool)(textures), pool.get());
    EXPECT_EQ(NVN(nvnTexturePoolGetMemoryOffset)(textures), 0x4000);
    EXPECT_EQ(NVN(nvnSamplerPoolGetSize)(samplers), 400);
    EXPECT_EQ(NVN(nvnSamplerPoolGetMemoryPool)(samplers), pool.get());
    EXPECT_EQ(NVN(nvnSamplerPoolGetMemoryOffset)(samplers), 0x8000);
    EXPECT_EQ(NVN(nvnDeviceGetTexelFetchHandle)(nullptr, 0x1d1), 0x1d1u);
    NVN(nvnTexturePoolFinalize)(textures);
    NVN(nvnSamplerPoolFinalize)(samplers);
}

// Rule 16: each of these lets an address of a virtual pool out, so that its first whole mapping makes it sparse.
TEST_F(Rules, R16_EveryWayOutKeepsTheAddresses) {
    struct Parts {
        Guest<NVNmemoryPool> pool;
        GuestPool physical{0x10000, NVN_MEMORY_POOL_FLAGS_CPU_CACHED | NVN_MEMORY_POOL_FLAGS_GPU_CACHED |
                                        NVN_MEMORY_POOL_FLAGS_PHYSICAL};
        Parts() {
            Guest<NVNmemoryPoolBuilder> b;
            nvnMemoryPoolBuilderSetDevice(b, nullptr);
            nvnMemoryPoolBuilderSetDefaults(b);
            nvnMemoryPoolBuilderSetStorage(b, nullptr, 0x10000);
            nvnMemoryPoolBuilderSetFlags(b, NVN_MEMORY_POOL_FLAGS_VIRTUAL | NVN_MEMORY_POOL_FLAGS_CPU_UNCACHED |
                                                NVN_MEMORY_POOL_FLAGS_GPU_CACHED);
            EXPECT_TRUE(nvnMemoryPoolInitialize(pool, b));
        }
        ~Parts() { nvnMemoryPoolFinalize(pool); }
        NVNbuffer* buffer(Guest<NVNbuffer>& out) {
            Guest<NVNbufferBuilder> b;
            nvnBufferBuilderSetDefaults(b);
            nvnBufferBuilderSetStorage(b, pool, 0, 0x1000);
            EXPECT_TRUE(nvnBufferInitialize(out, b));
            return out;
        }
        void texture(Guest<NVNtexture>& out) {
            Guest<NVNtextureBuilder> b;
            nvnTextureBuilderSetDevice(b, nullptr);
            nvnTextureBuilderSetDefaults(b);
            nvnTextureBuilderSetFormat(b, NVN_FORMAT_RGBA8);
            nvnTextureBuilderSetSize2D(b, 16, 16);
            nvnTextureBuilderSetStorage(b, pool, 0);
            EXPECT_TRUE(nvnTextureInitialize(out, b));
        }
    };
    const std::pair<const char*, std::function<void(Parts&)>> ways[] = {
        {"nothing", [](Parts&) {}},
        {"texture initialise", [](Parts& p) { Guest<NVNtexture> t; p.texture(t); }},
        {"texture address", [](Parts& p) { Guest<NVNtexture> t; p.texture(t); nvnTextureGetTextureAddress(t); }},
        {"buffer initialise", [](Parts& p) { Guest<NVNbuffer> b; p.buffer(b); }},
        {"buffer address", [](Parts& p) { Guest<NVNbuffer> b; nvnBufferGetAddress(p.buffer(b)); }},
        {"buffer map", [](Parts& p) { Guest<NVNbuffer> b; nvnBufferMap(p.buffer(b)); }},
        {"pool map", [](Parts& p) { nvnMemoryPoolMap(p.pool); }},
        {"pool address", [](Parts& p) { nvnMemoryPoolGetBufferAddress(p.pool); }},
        {"event initialise",
         [](Parts& p) {
             Guest<NVNeventBuilder> b;
             nvnEventBuilderSetDefaults(b);
             nvnEventBuilderSetStorage(b, p.pool, 0);
             Guest<NVNevent> e;
             nvnEventInitialize(e, b);
         }},
        {"add command memory",
         [](Parts& p) {
             Guest<NVNcommandBuffer> cmd;
             EXPECT_TRUE(nvnCommandBufferInitialize(cmd, nullptr));
             nvnCommandBufferAddCommandMemory(cmd, p.pool, 0, 0x1000);
             nvnCommandBufferFinalize(cmd);
         }},
    };
    for (const auto& [name, way] : ways) {
        Parts p;
        way(p);
        const NVNmappingRequest r{p.physical.get(), 0, 0, 0x10000, 0, 0};
        ASSERT_TRUE(nvnMemoryPoolMapVirtual(p.pool, 1, &r)) << name;
        const uint64_t address = nvnMemoryPoolGetBufferAddress(p.pool);
        EXPECT_EQ(address == p.physical.address(), std::strcmp(name, "nothing") == 0) << name;
        p.physical.memory()[0x123] = 77;
        EXPECT_EQ(reinterpret_cast<const uint8_t*>(address)[0x123], 77) << name;
    }
}

TEST_F(Rules, R67_ImagesAndBuildersRegisterLikeTheOthers) {
    GuestPool pool(0x10000);
    Guest<NVNtextureBuilder> b;
    texture_builder(b, pool, 0x200);
    Guest<NVNtexture> t;
    ASSERT_TRUE(nvnTextureInitialize(t, b));
    Guest<NVNtexturePool> textures;
    Guest<NVNsamplerPool> samplers;
    ASSERT_TRUE(nvnTexturePoolInitialize(textures, pool.get(), 0x4000, 300));
    ASSERT_TRUE(nvnSamplerPoolInitialize(samplers, pool.get(), 0x8000, 300));
    nvnTexturePoolRegisterTexture(textures, 256, t, nullptr);
    nvnTexturePoolRegisterImage(textures, 257, t, nullptr);
    const auto a = Host::get().texture(textures->serial, 256), i = Host::get().texture(textures->serial, 257);
    ASSERT_TRUE(a && i);
    EXPECT_EQ(std::memcmp(&a->bound, &i->bound, sizeof a->bound), 0);
    Guest<NVNsamplerBuilder> sb;
    nvnSamplerBuilderSetDevice(sb, nullptr);
    nvnSamplerBuilderSetDefaults(sb);
    nvnSamplerBuilderSetMaxAnisotropy(sb, 8.0f);
    Guest<NVNsampler> s;
    ASSERT_TRUE(nvnSamplerInitialize(s, sb));
    nvnSamplerPoolRegisterSampler(samplers, 256, s);
    nvnSamplerPoolRegisterSamplerBuilder(samplers, 257, sb);
    const auto x = Host::get().sampler(samplers->serial, 256), y = Host::get().sampler(samplers->serial, 257);
    ASSERT_TRUE(x && y);
    EXPECT_EQ(x->sampler, y->sampler);
    // Ids outside of the pool: one line each, nothing written.
    for (const int id : {-1, 300, 0x7fffffff}) {
        nvnTexturePoolRegisterTexture(textures, id, t, nullptr);
        nvnSamplerPoolRegisterSampler(samplers, id, s);
    }
    EXPECT_EQ(report_count(Report::bad_argument), 6u);
    nvnTexturePoolFinalize(textures);
    nvnSamplerPoolFinalize(samplers);
}

// Rule 118: two strides and a copy fit 256 bytes, and no callback runs.
TEST_F(Rules, R118_StridesAndACopyFitASmallGrant) {
    Recording r(256);
    GuestPool pool(0x10000);
    Guest<NVNtextureBuilder> b;
    texture_builder(b, pool, 0x200);
    Guest<NVNtexture> t;
    ASSERT_TRUE(nvnTextureInitialize(t, b));
    bool called = false;
    nvnCommandBufferSetMemoryCallbackData(r.cmd, &called);
    nvnCommandBufferSetMemoryCallback(
        r.cmd, [](NVNcommandBuffer*, NVNcommandBufferMemoryEvent, size_t, void* user) { *static_cast<bool*>(user) = true; });
    NVN(nvnCommandBufferSetCopyRowStride)(r.cmd, 256);
    NVN(nvnCommandBufferSetCopyImageStride)(r.cmd, 4096);
    EXPECT_EQ(r.used(), 0u);
    const NVNcopyRegion region{0, 0, 0, 16, 16, 1};
    NVN(nvnCommandBufferCopyBufferToTexture)(r.cmd, pool.address() + 0x4000, t, nullptr, &region, 0);
    EXPECT_FALSE(called);
    EXPECT_LE(r.used(), 256u);
    EXPECT_EQ(NVN(nvnCommandBufferGetCopyRowStride)(r.cmd), 256);
    EXPECT_EQ(NVN(nvnCommandBufferGetCopyImageStride)(r.cmd), 4096);
    EXPECT_EQ(r.end().size(), 112u);
    EXPECT_EQ(Host::get().lent_bytes(), 0u);
}

TEST_F(Rules, R120_BindsAreSnapshots) {
    Recording before, after;
    NVNblendState blend;
    NVN(nvnBlendStateSetDefaults)(&blend);
    NVNdepthStencilState depth;
    NVN(nvnDepthStencilStateSetDefaults)(&depth);
    GuestPool pool(0x10000);
    Guest<NVNtextureBuilder> b;
    texture_builder(b, pool, 0x200);
    Guest<NVNtexture> t;
    ASSERT_TRUE(nvnTextureInitialize(t, b));
    const NVNtexture* colors[1] = {t};
    for (Recording* r : {&before, &after}) {
        nvnCommandBufferBindBlendState(r->cmd, &blend);
        nvnCommandBufferBindDepthStencilState(r->cmd, &depth);
        nvnCommandBufferSetRenderTargets(r->cmd, 1, colors, nullptr, nullptr, nullptr);
    }
    const std::vector<uint8_t> expected = before.end();
    NVN(nvnBlendStateSetBlendFunc)(&blend, NVN_BLEND_FUNC_ZERO, NVN_BLEND_FUNC_ZERO, NVN_BLEND_FUNC_ZERO, NVN_BLEND_FUNC_ZERO);
    NVN(nvnDepthStencilStateSetDepthTestEnable)(&depth, 1);
    nvnTextureFinalize(t);
    std::memset(t.bytes(), 0xee, sizeof(NVNtexture));
    EXPECT_EQ(after.end(), expected);
}

TEST_F(Rules, R198_R207_GettersReadWhatWasSet) {
    Guest<NVNmultisampleState> m;
    NVN(nvnMultisampleStateSetDefaults)(m);
    NVN(nvnMultisampleStateSetMultisampleEnable)(m, 1);
    NVN(nvnMultisampleStateSetSamples)(m, 8);
    NVN(nvnMultisampleStateSetAlphaToCoverageEnable)(m, 1);
    NVN(nvnMultisampleStateSetAlphaToCoverageDither)(m, 0);
    NVN(nvnMultisampleStateSetRasterSamples)(m, 4);
    NVN(nvnMultisampleStateSetCoverageModulationMode)(m, NVN_COVERAGE_MODULATION_MODE_RGBA);
    NVN(nvnMultisampleStateSetCoverageToColorEnable)(m, 1);
    NVN(nvnMultisampleStateSetCoverageToColorOutput)(m, 5);
    EXPECT_TRUE(NVN(nvnMultisampleStateGetMultisampleEnable)(m));
    EXPECT_EQ(NVN(nvnMultisampleStateGetSamples)(m), 8);
    EXPECT_TRUE(NVN(nvnMultisampleStateGetAlphaToCoverageEnable)(m));
    EXPECT_FALSE(NVN(nvnMultisampleStateGetAlphaToCoverageDither)(m));
    NVN(nvnMultisampleStateSetAlphaToCoverageDither)(m, 1);
    EXPECT_TRUE(NVN(nvnMultisampleStateGetAlphaToCoverageDither)(m));
    EXPECT_EQ(NVN(nvnMultisampleStateGetRasterSamples)(m), 4);
    EXPECT_EQ(NVN(nvnMultisampleStateGetCoverageModulationMode)(m), NVN_COVERAGE_MODULATION_MODE_RGBA);
    EXPECT_TRUE(NVN(nvnMultisampleStateGetCoverageToColorEnable)(m));
    EXPECT_EQ(NVN(nvnMultisampleStateGetCoverageToColorOutput)(m), 5);
    NVNcolorState color;
    NVN(nvnColorStateSetDefaults)(&color);
    for (int i = 0; i < 8; ++i) {
        EXPECT_FALSE(NVN(nvnColorStateGetBlendEnable)(&color, i));
        NVN(nvnColorStateSetBlendEnable)(&color, i, i & 1);
    }
    NVN(nvnColorStateSetLogicOp)(&color, NVN_LOGIC_OP_XOR);
    NVN(nvnColorStateSetAlphaTest)(&color, NVN_ALPHA_FUNC_GEQUAL);
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(NVN(nvnColorStateGetBlendEnable)(&color, i), i & 1);
    EXPECT_EQ(NVN(nvnColorStateGetLogicOp)(&color), NVN_LOGIC_OP_XOR);
    EXPECT_EQ(NVN(nvnColorStateGetAlphaTest)(&color), NVN_ALPHA_FUNC_GEQUAL);
    NVNpolygonState polygon;
    NVN(nvnPolygonStateSetDefaults)(&polygon);
    NVN(nvnPolygonStateSetCullFace)(&polygon, NVN_FACE_FRONT_AND_BACK);
    NVN(nvnPolygonStateSetFrontFace)(&polygon, NVN_FRONT_FACE_CW);
    NVN(nvnPolygonStateSetPolygonMode)(&polygon, NVN_POLYGON_MODE_LINE);
    NVN(nvnPolygonStateSetPolygonOffsetEnables)(&polygon, 5);
    EXPECT_EQ(NVN(nvnPolygonStateGetCullFace)(&polygon), NVN_FACE_FRONT_AND_BACK);
    EXPECT_EQ(NVN(nvnPolygonStateGetFrontFace)(&polygon), NVN_FRONT_FACE_CW);
    EXPECT_EQ(NVN(nvnPolygonStateGetPolygonMode)(&polygon), NVN_POLYGON_MODE_LINE);
    EXPECT_EQ(static_cast<int>(NVN(nvnPolygonStateGetPolygonOffsetEnables)(&polygon)), 5);
    NVNblendState blend;
    NVN(nvnBlendStateSetDefaults)(&blend);
    NVN(nvnBlendStateSetAdvancedMode)(&blend, NVN_BLEND_ADVANCED_MODE_MULTIPLY);
    NVN(nvnBlendStateSetAdvancedOverlap)(&blend, NVN_BLEND_ADVANCED_OVERLAP_CONJOINT);
    NVN(nvnBlendStateSetAdvancedPremultipliedSrc)(&blend, 0);
    NVN(nvnBlendStateSetAdvancedNormalizedDst)(&blend, 1);
    EXPECT_EQ(NVN(nvnBlendStateGetAdvancedMode)(&blend), NVN_BLEND_ADVANCED_MODE_MULTIPLY);
    EXPECT_EQ(NVN(nvnBlendStateGetAdvancedOverlap)(&blend), NVN_BLEND_ADVANCED_OVERLAP_CONJOINT);
    EXPECT_FALSE(NVN(nvnBlendStateGetAdvancedPremultipliedSrc)(&blend));
    EXPECT_TRUE(NVN(nvnBlendStateGetAdvancedNormalizedDst)(&blend));
}

TEST_F(Rules, R204_R210_HintsAndDebugCallsNeverFail) {
    const float f[4] = {};
    const int i[4] = {};
    const uint32_t u[4] = {};
    EXPECT_TRUE(NVN(nvnDeviceRegisterFastClearColor)(nullptr, f, NVN_FORMAT_RGBA8));
    EXPECT_TRUE(NVN(nvnDeviceRegisterFastClearColori)(nullptr, i, NVN_FORMAT_RGBA8I));
    EXPECT_TRUE(NVN(nvnDeviceRegisterFastClearColorui)(nullptr, u, NVN_FORMAT_RGBA8UI));
    EXPECT_TRUE(NVN(nvnDeviceRegisterFastClearDepth)(nullptr, 1.0f));
    NVN(nvnDeviceSetIntermediateShaderCache)(nullptr, 100);
    NVN(nvnDeviceInstallDebugCallback)(nullptr, nullptr, nullptr, 1);
    NVN(nvnSetExternalDebuggerEnabledNVX)();
    EXPECT_FALSE(NVN(nvnDeviceIsExternalDebuggerAttached)(nullptr));
    int debug_layer = -1;
    NVN(nvnDeviceGetInteger)(nullptr, static_cast<NVNdeviceInfo>(0x5a), &debug_layer);
    EXPECT_EQ(debug_layer, 0);
    const int first = NVN(nvnDeviceGenerateDebugDomainId)(nullptr, "a");
    EXPECT_NE(NVN(nvnDeviceGenerateDebugDomainId)(nullptr, "b"), first);
    Recording r;
    NVN(nvnCommandBufferPushDebugGroup)(r.cmd, 1, "group");
    NVN(nvnCommandBufferPushDebugGroupStatic)(r.cmd, 1, "group");
    NVN(nvnCommandBufferPushDebugGroupDynamic)(r.cmd, 1, nullptr);
    NVN(nvnCommandBufferPopDebugGroup)(r.cmd);
    NVN(nvnCommandBufferPopDebugGroupId)(r.cmd, 1);
    NVN(nvnCommandBufferPopDebugGroup)(nullptr);
    NVN(nvnCommandBufferInsertDebugMarker)(r.cmd, "marker");
    NVN(nvnCommandBufferInsertDebugMarkerStatic)(r.cmd, 1, "marker");
    NVN(nvnCommandBufferInsertDebugMarkerDynamic)(r.cmd, 1, "marker");
    NVN(nvnCommandBufferSetDebugLabel)(r.cmd, "label");
    NVN(nvnCommandBufferSetRepresentativeFragmentTest)(r.cmd, 1);
    NVN(nvnCommandBufferDiscardColor)(r.cmd, 0);
    NVN(nvnCommandBufferDiscardDepthStencil)(r.cmd);
    EXPECT_EQ(report_count(Report::stub_called), 0u);
}

TEST_F(Rules, R206_ViewsCompareBySetFields) {
    Guest<NVNtextureView> a, b;
    NVN(nvnTextureViewSetDefaults)(a);
    NVN(nvnTextureViewSetDefaults)(b);
    EXPECT_TRUE(NVN(nvnTextureViewCompare)(a, b));
    NVN(nvnTextureViewSetLayers)(a, 2, 3);
    EXPECT_FALSE(NVN(nvnTextureViewCompare)(a, b));
    NVN(nvnTextureViewSetLayers)(b, 2, 3);
    EXPECT_TRUE(NVN(nvnTextureViewCompare)(a, b));
    NVN(nvnTextureViewSetSwizzle)(b, NVN_TEXTURE_SWIZZLE_A, NVN_TEXTURE_SWIZZLE_ONE, NVN_TEXTURE_SWIZZLE_ZERO,
                                  NVN_TEXTURE_SWIZZLE_R);
    EXPECT_FALSE(NVN(nvnTextureViewCompare)(a, b));
    NVNtextureSwizzle s[4];
    EXPECT_TRUE(NVN(nvnTextureViewGetSwizzle)(b, &s[0], &s[1], &s[2], &s[3]));
    EXPECT_EQ(s[0], NVN_TEXTURE_SWIZZLE_A);
    EXPECT_EQ(s[3], NVN_TEXTURE_SWIZZLE_R);
    int first = 0, count = 0;
    EXPECT_TRUE(NVN(nvnTextureViewGetLayers)(b, &first, &count));
    EXPECT_EQ(first, 2);
    EXPECT_EQ(count, 3);
    NVNformat format;
    EXPECT_FALSE(NVN(nvnTextureViewGetFormat)(b, &format));
}

// Rule 208: what a plural bind leaves is what its single binds leave, in order; rule 69: low words of handles.
TEST_F(Rules, R208_PluralBindsEqualSingleOnes) {
    Recording r;
    const NVNtextureHandle textures[3] = {0x1000001d1, 0x200100, 0x300102};
    nvnCommandBufferBindTextures(r.cmd, NVN_SHADER_STAGE_FRAGMENT, 4, 3, textures);
    const std::vector<uint8_t> bytes = r.end();
    BindHandlesRecord plural;
    ASSERT_EQ(bytes.size(), sizeof plural + 12);
    std::memcpy(&plural, bytes.data(), sizeof plural);
    for (uint32_t k = 0; k < 3; ++k) {
        Recording one;
        nvnCommandBufferBindTexture(one.cmd, NVN_SHADER_STAGE_FRAGMENT, 4 + static_cast<int>(k), textures[k]);
        const std::vector<uint8_t> single = one.end();
        BindHandleRecord s;
        ASSERT_EQ(single.size(), sizeof s);
        std::memcpy(&s, single.data(), sizeof s);
        EXPECT_EQ(s.stage, plural.stage);
        EXPECT_EQ(s.kind, plural.kind);
        EXPECT_EQ(s.index, plural.first + k);
        uint32_t handle;
        std::memcpy(&handle, bytes.data() + sizeof plural + 4 * k, 4);
        EXPECT_EQ(handle, s.handle);
        EXPECT_EQ(handle, static_cast<uint32_t>(textures[k]));
    }
}

// A list may be called for thousands of frames: lent segments are never recycled by age (rule 114).
TEST_F(Rules, R114_CalledListsLastForThousandsOfFrames) {
    Recording list(32);
    for (int i = 0; i < 10; ++i)
        nvnCommandBufferDrawArrays(list.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, i, 3);
    const NVNcommandHandle h = nvnCommandBufferEndRecording(list.cmd);
    const uint64_t lent = Host::get().lent_bytes();
    EXPECT_GT(lent, 0u);
    Recording frame;
    nvnCommandBufferEndRecording(frame.cmd);
    for (int i = 0; i < 5000; ++i) {
        nvnCommandBufferAddCommandMemory(frame.cmd, frame.pool.get(), 0, 0x10000);
        nvnCommandBufferAddControlMemory(frame.cmd, frame.control, sizeof frame.control);
        nvnCommandBufferBeginRecording(frame.cmd);
        nvnCommandBufferDrawArrays(frame.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, i, 3);
        nvnCommandBufferCallCommands(frame.cmd, 1, &h);
        nvnCommandBufferEndRecording(frame.cmd);
    }
    EXPECT_EQ(Host::get().lent_bytes(), lent);
    size_t records = 0;
    for_runs(h, [&](uint64_t, size_t bytes) {
        records += bytes / sizeof(DrawRecord);
        return true;
    });
    EXPECT_EQ(records, 10u);
}

} // namespace dmsh::nvn
