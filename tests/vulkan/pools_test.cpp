// Texture and sampler pools and handles: which texture a shader reads, by what colour comes out.
#include "tests/vulkan/machine.h"

namespace dmsh::test {
namespace {

const char* const kTriangle = R"(
void main() { gl_Position = vec4(vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0, 0.5, 1.0); })";
const char* const kSample = R"(
layout(binding = B(0)) uniform sampler2D t;
layout(location = 0) out vec4 color;
void main() { color = texture(t, vec2(0.5)); })";

constexpr uint32_t kRed = 0xff0000ff, kGreen = 0xff00ff00, kBlue = 0xffff0000;

// Programs: 0 reads slot 0, 1 the handle at byte 0x10 of uniform buffer 2.
struct Scene : Machine {
    NVNtexture* out = nullptr;
    std::deque<nvn::Guest<NVNtexturePool>> texture_pools;
    nvn::Guest<NVNsamplerPool> samplers;
    static Binding in_buffer() {
        Binding b = bind(BindingKind::texture_in_bank);
        b.bank = 5;
        b.offset = 0x10;
        b.sampled = true;
        return b;
    }
    Scene()
        : Machine({{{Stage::vertex, kTriangle}, {Stage::fragment, kSample, {bind(BindingKind::texture)}}},
                   {{Stage::vertex, kTriangle}, {Stage::fragment, kSample, {in_buffer()}}}}) {
        if (!usable())
            return;
        nvnDeviceSetDepthMode(nullptr, NVN_DEPTH_MODE_NEAR_IS_ZERO);
        out = texture({4, 4});
        EXPECT_TRUE(nvnSamplerPoolInitialize(samplers, pool(), table(300), 300));
        nvn::Guest<NVNsamplerBuilder> sb;
        nvn::Guest<NVNsampler> sampler;
        nvnSamplerBuilderSetDevice(sb, nullptr);
        nvnSamplerBuilderSetDefaults(sb);
        EXPECT_TRUE(nvnSamplerInitialize(sampler, sb));
        nvnSamplerPoolRegisterSampler(samplers, 256, sampler);
        nvnCommandBufferSetSamplerPool(cmd(), samplers);
    }
    ~Scene() {
        for (auto& p : texture_pools)
            nvnTexturePoolFinalize(p);
        nvnSamplerPoolFinalize(samplers);
    }
    ptrdiff_t table(int ids) {
        return static_cast<ptrdiff_t>(take(static_cast<size_t>(ids) * 32) -
                                      nvnMemoryPoolGetBufferAddress(pool()));
    }
    NVNtexturePool* make_pool(int ids) {
        NVNtexturePool* p = texture_pools.emplace_back();
        EXPECT_TRUE(nvnTexturePoolInitialize(p, pool(), table(ids), ids));
        return p;
    }
    NVNtexture* filled(uint32_t color) {
        NVNtexture* t = texture({4, 4});
        write(t, std::vector<uint32_t>(16, color).data());
        return t;
    }
    static NVNtextureHandle handle(int id) { return nvnDeviceGetTextureHandle(nullptr, id, 256); }
    void clear() {
        const float none[4] = {0, 0, 0, 0};
        nvnCommandBufferClearColor(cmd(), 0, none, 15);
    }
    void draw() { nvnCommandBufferDrawArrays(cmd(), NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3); }
    uint32_t color() { return pixels_as<uint32_t>(out)[5]; }
};

TEST(Pools, EqualIdsOfTwoPoolsAreTwoTextures) {
    Scene s;
    NEED(s);
    NVNtexturePool* a = s.make_pool(300);
    NVNtexturePool* b = s.make_pool(300);
    nvnTexturePoolRegisterTexture(a, 256, s.filled(kRed), nullptr);
    nvnTexturePoolRegisterTexture(b, 256, s.filled(kGreen), nullptr);
    s.draw_to(s.out, 0);
    nvnCommandBufferBindTexture(s.cmd(), NVN_SHADER_STAGE_FRAGMENT, 0, Scene::handle(256));
    nvnCommandBufferSetTexturePool(s.cmd(), a);
    s.draw();
    EXPECT_EQ(s.color(), kRed);
    nvnCommandBufferSetTexturePool(s.cmd(), b);
    nvnCommandBufferBindTexture(s.cmd(), NVN_SHADER_STAGE_FRAGMENT, 0, Scene::handle(256));
    s.draw();
    EXPECT_EQ(s.color(), kGreen);
}

TEST(Pools, RegistrationCopiesAndUpperHandleBitsDoNotCount) {
    Scene s;
    NEED(s);
    NVNtexturePool* a = s.make_pool(300);
    NVNtexture* t = s.filled(kRed);
    nvnTexturePoolRegisterTexture(a, 257, t, nullptr);
    NVNtexture* other = s.filled(kBlue);
    std::memcpy(static_cast<void*>(t), static_cast<const void*>(other), nvn::kGuestBytes<NVNtexture>);
    s.draw_to(s.out, 0);
    nvnCommandBufferSetTexturePool(s.cmd(), a);
    nvnCommandBufferBindTexture(s.cmd(), NVN_SHADER_STAGE_FRAGMENT, 0,
                                Scene::handle(257) | uint64_t{1} << 32);
    s.draw();
    EXPECT_EQ(s.color(), kRed);
}

TEST(Pools, IdsOutsideAreEmptySlots) {
    Scene s;
    NEED(s);
    NVNtexturePool* a = s.make_pool(300);
    nvnTexturePoolRegisterTexture(a, 256, s.filled(kRed), nullptr);
    s.draw_to(s.out, 0);
    nvnCommandBufferSetTexturePool(s.cmd(), a);
    for (const NVNtextureHandle h :
         {Scene::handle(5000), NVNtextureHandle{0xffffffff}, NVNtextureHandle{0}}) {
        s.clear();
        nvnCommandBufferBindTexture(s.cmd(), NVN_SHADER_STAGE_FRAGMENT, 0, h);
        s.draw();
        EXPECT_EQ(s.color() & 0xffffff, 0u) << h; // reads zeros
    }
    EXPECT_EQ(nvn::report_count(nvn::Report::id_past_pool), 1u); // the two unused forms are silent
}

TEST(Pools, HandlesInUniformBuffersSeeWritesOfTheSameSubmission) {
    Scene s;
    NEED(s);
    NVNtexturePool* a = s.make_pool(300);
    nvnTexturePoolRegisterTexture(a, 256, s.filled(kRed), nullptr);
    nvnTexturePoolRegisterTexture(a, 257, s.filled(kGreen), nullptr);
    nvnTexturePoolRegisterTexture(a, 258, s.filled(kBlue), nullptr);
    const NVNbufferAddress buffer = s.take(256), source = s.put(std::vector<uint64_t>{Scene::handle(258)});
    const NVNtextureHandle first = Scene::handle(256), second = Scene::handle(257);
    std::memcpy(reinterpret_cast<void*>(buffer + 0x10), &first, 8);
    s.draw_to(s.out, 1);
    nvnCommandBufferSetTexturePool(s.cmd(), a);
    nvnCommandBufferBindUniformBuffer(s.cmd(), NVN_SHADER_STAGE_FRAGMENT, 2, buffer, 256);
    nvnCommandBufferSetScissor(s.cmd(), 0, 0, 4, 1);
    s.draw();
    nvnCommandBufferUpdateUniformBuffer(s.cmd(), buffer, 256, 0x10, 8, &second); // the CPU knows the bytes
    nvnCommandBufferSetScissor(s.cmd(), 0, 1, 4, 1);
    s.draw();
    nvnCommandBufferCopyBufferToBuffer(s.cmd(), source, buffer + 0x10, 8, 0); // only the GPU does
    nvnCommandBufferSetScissor(s.cmd(), 0, 2, 4, 1);
    s.draw();
    const auto p = s.pixels_as<uint32_t>(s.out);
    EXPECT_EQ(p[0], kRed);
    EXPECT_EQ(p[4], kGreen);
    EXPECT_EQ(p[8], kBlue);
}

} // namespace
} // namespace dmsh::test
