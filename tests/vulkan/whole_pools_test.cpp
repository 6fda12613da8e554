// Memory that shaders reach by address and textures that they reach by a handle from memory. The shaders search the table of pools
// by the words of runtime/abi/pool_table.h and index set 1 by those of binding_kinds.h; expected values are put there by the CPU.
#include "runtime/replay/pool_tables.h"
#include "tests/vulkan/machine.h"

namespace dmsh::test {
namespace {

// Work: where to load from and store to, what to store; then what was loaded and whether both addresses are in a pool.
const char* const kRaw = R"(
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 1) in;
struct Entry { uint64_t start, end, delta, hints; };
layout(binding = B(0)) readonly buffer Table { Entry entries[]; };
layout(binding = B(1)) buffer Log { uint log_words[]; };
layout(binding = B(2)) buffer Work { uint64_t from, to; uint value, loaded, found, count; };
layout(buffer_reference, buffer_reference_align = 4) buffer Word { uint v; };
uint entry(uint64_t a) {
    for (uint k = 1; k < uint(entries[0].delta); ++k)
        if (a >= entries[k].start && a < entries[k].end)
            return k;
    return 0;
}
void main() {
    count = uint(entries[0].delta);
    uint a = entry(from), b = entry(to);
    found = (a != 0 ? 1u : 0u) | (b != 0 ? 2u : 0u);
    loaded = a != 0 ? Word(from + entries[a].delta).v : 0u;
    if (b != 0) {
        Word(to + entries[b].delta).v = value;
        atomicOr(log_words[b / 32], 1u << (b % 32));
    }
})";

struct Raw : Machine {
    NVNbufferAddress work = 0;
    static std::vector<Binding> bindings() {
        Binding log = bind(BindingKind::pool_write_log), out = bind(BindingKind::storage);
        log.written = log.atomic = out.written = true;
        return {bind(BindingKind::pool_table), log, out};
    }
    explicit Raw(RuntimeOptions options = {}) : Machine({{{Stage::compute, kRaw, bindings()}}}, options) {
        if (!usable())
            return;
        work = take(64);
        nvnMemoryPoolGetBufferAddress(pool()); // raw accesses may reach it
    }
    void prepare(uint64_t from, uint64_t to, uint32_t value) {
        const uint64_t addresses[2] = {from, to};
        std::memcpy(reinterpret_cast<void*>(work), addresses, 16);
        std::memcpy(reinterpret_cast<void*>(work + 16), &value, 4);
    }
    void record() {
        nvnCommandBufferBindProgram(cmd(), program(0), NVN_SHADER_STAGE_COMPUTE_BIT);
        nvnCommandBufferBindStorageBuffer(cmd(), NVN_SHADER_STAGE_COMPUTE, 0, work, 32);
        nvnCommandBufferDispatchCompute(cmd(), 1, 1, 1);
    }
    uint32_t loaded() const { return at<uint32_t>(work, 5); }
    uint32_t found() const { return at<uint32_t>(work, 6); }
};

void put_word(uint64_t address, uint32_t value) {
    std::memcpy(reinterpret_cast<void*>(address), &value, 4);
}
uint32_t word_at(uint64_t address) {
    uint32_t v;
    std::memcpy(&v, reinterpret_cast<const void*>(address), 4);
    return v;
}

TEST(RawMemory, AddressesReachEveryPool) {
    for (const bool import : {true, false}) {
        RuntimeOptions options;
        options.import_memory = import;
        Raw m(options);
        NEED(m);
        nvn::GuestPool second(1 << 20);
        const uint64_t there = nvnMemoryPoolGetBufferAddress(second.get()) + 0x1234;
        const uint64_t here = m.take(256) + 8;
        put_word(there, 0xabcd1234);
        m.prepare(there, here, 77);
        m.record();
        m.run();
        EXPECT_EQ(m.found(), 3u);
        EXPECT_EQ(m.loaded(), 0xabcd1234u);
        EXPECT_EQ(word_at(here), 77u);
        EXPECT_GE(m.at<uint32_t>(m.work, 7), kPoolTableEntries);
        m.prepare(here, there, 78); // stores reach the other pool too
        m.record();
        m.run();
        EXPECT_EQ(m.loaded(), 77u);
        EXPECT_EQ(word_at(there), 78u);
    }
}

TEST(RawMemory, AddressesOutsideAreInNoPool) {
    Raw m;
    NEED(m);
    nvn::GuestPool hidden(1 << 20); // nobody has its address
    m.prepare(hidden.address(), 16, 5);
    m.record();
    m.run();
    EXPECT_EQ(m.found(), 0u);
    EXPECT_EQ(m.loaded(), 0u);
}

TEST(RawMemory, ACommandThatReadsSeesRawStoresBefore) {
    Raw m;
    NEED(m);
    const NVNbufferAddress target = m.take(256), copied = m.take(256);
    m.prepare(m.work, target, 99);
    m.record();
    nvnCommandBufferBarrier(m.cmd(), NVN_BARRIER_ORDER_PRIMITIVES_BIT);
    nvnCommandBufferCopyBufferToBuffer(m.cmd(), target, copied, 4, 0);
    m.run();
    EXPECT_EQ(m.at<uint32_t>(copied), 99u);
}

TEST(RawMemory, PoolsMadeAfterTheCallWasEncodedAreInItsTable) { // B-066
    Raw m;
    NEED(m);
    m.record();
    const NVNcommandHandle list = nvnCommandBufferEndRecording(m.cmd());
    nvnQueueSubmitCommands(m.queue(), 1, &list);
    nvn::GuestPool late(1 << 20);
    const uint64_t there = nvnMemoryPoolGetBufferAddress(late.get()) + 0x40;
    put_word(there, 4711);
    m.prepare(there, there + 64, 12);
    nvnQueueFinish(m.queue());
    EXPECT_EQ(m.loaded(), 4711u);
    EXPECT_EQ(word_at(there + 64), 12u);
    const auto& counts = m.runtime().backend().pool_tables().counts();
    EXPECT_EQ(counts.words, 1u);
    EXPECT_EQ(counts.older + counts.lagging, 1u);
    m.again();
}

// Handles in a storage buffer; kRoom is what the runtime says about the pool's size.
const char* const kHandles = R"(
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 8) in;
layout(set = 1, binding = 0) uniform texture2D textures[];
layout(set = 1, binding = 1) uniform sampler samplers[];
layout(constant_id = 1) const uint kRoom = 0x100000;
layout(binding = B(2)) buffer Work { uvec2 handles[8]; vec4 colors[8]; };
void main() {
    uint i = gl_LocalInvocationIndex, h = handles[i].x, id = min(h & 0xfffff, kRoom);
    colors[i] = textureLod(sampler2D(textures[nonuniformEXT(id)], samplers[nonuniformEXT(h >> 20)]), vec2(0.5), 0.0);
})";

struct Handles : Machine {
    NVNbufferAddress work = 0;
    std::deque<nvn::Guest<NVNtexturePool>> pools;
    nvn::Guest<NVNsamplerPool> samplers;
    static std::vector<Binding> bindings() {
        Binding out = bind(BindingKind::storage);
        out.written = true;
        return {bind(BindingKind::texture_pool), bind(BindingKind::sampler_pool), out};
    }
    Handles() : Machine({{{Stage::compute, kHandles, bindings()}}}) {
        if (!usable())
            return;
        work = take(256);
        EXPECT_TRUE(nvnSamplerPoolInitialize(samplers, pool(), offset(300), 300));
        nvn::Guest<NVNsamplerBuilder> sb;
        nvn::Guest<NVNsampler> sampler;
        nvnSamplerBuilderSetDevice(sb, nullptr);
        nvnSamplerBuilderSetDefaults(sb);
        EXPECT_TRUE(nvnSamplerInitialize(sampler, sb));
        nvnSamplerPoolRegisterSampler(samplers, 256, sampler);
        nvnCommandBufferSetSamplerPool(cmd(), samplers);
    }
    ~Handles() {
        for (auto& p : pools)
            nvnTexturePoolFinalize(p);
        nvnSamplerPoolFinalize(samplers);
    }
    ptrdiff_t offset(int ids) {
        return static_cast<ptrdiff_t>(take(static_cast<size_t>(ids) * 32) - nvnMemoryPoolGetBufferAddress(pool()));
    }
    NVNtexturePool* make_pool(int ids) {
        NVNtexturePool* p = pools.emplace_back();
        EXPECT_TRUE(nvnTexturePoolInitialize(p, pool(), offset(ids), ids));
        return p;
    }
    NVNtexture* filled(uint32_t color) {
        NVNtexture* t = texture({4, 4});
        write(t, std::vector<uint32_t>(16, color).data());
        return t;
    }
    // Reads through handles of these ids; the colours as bytes.
    std::vector<uint32_t> read(NVNtexturePool* p, std::vector<uint32_t> ids) {
        ids.resize(8, 0);
        for (size_t i = 0; i < 8; ++i) {
            const NVNtextureHandle h = ids[i] | uint64_t{256} << 20;
            std::memcpy(reinterpret_cast<void*>(work + i * 8), &h, 8);
        }
        nvnCommandBufferSetTexturePool(cmd(), p);
        nvnCommandBufferBindProgram(cmd(), program(0), NVN_SHADER_STAGE_COMPUTE_BIT);
        nvnCommandBufferBindStorageBuffer(cmd(), NVN_SHADER_STAGE_COMPUTE, 0, work, 192);
        nvnCommandBufferDispatchCompute(cmd(), 1, 1, 1);
        run();
        std::vector<uint32_t> out;
        for (size_t i = 0; i < 8; ++i) {
            uint32_t c = 0;
            for (size_t k = 0; k < 4; ++k)
                c |= static_cast<uint32_t>(at<float>(work + 64, i * 4 + k) * 255.0f + 0.5f) << (8 * k);
            out.push_back(c);
        }
        return out;
    }
};

constexpr uint32_t kRed = 0xff0000ff, kGreen = 0xff00ff00, kBlue = 0xffff0000;

TEST(WholePools, HandlesFromMemoryReadTheirTextures) {
    Handles m;
    NEED(m);
    NVNtexturePool* p = m.make_pool(300);
    nvnTexturePoolRegisterTexture(p, 256, m.filled(kRed), nullptr);
    nvnTexturePoolRegisterTexture(p, 260, m.filled(kGreen), nullptr);
    nvnTexturePoolRegisterTexture(p, 299, m.filled(kBlue), nullptr);
    const auto c = m.read(p, {256, 299, 260, 256, 257, 300, 1025, 0xfffff});
    EXPECT_EQ(c[0], kRed);
    EXPECT_EQ(c[1], kBlue);
    EXPECT_EQ(c[2], kGreen);
    EXPECT_EQ(c[3], kRed);
    for (const size_t i : {4u, 5u, 6u, 7u}) // not registered, past the pool's end, past every pool
        EXPECT_EQ(c[i] & 0xffffff, 0u) << i;
}

TEST(WholePools, CopiesFollowRegistrationsAndTexels) {
    Handles m;
    NEED(m);
    NVNtexturePool* p = m.make_pool(300);
    NVNtexture* red = m.filled(kRed);
    nvnTexturePoolRegisterTexture(p, 256, red, nullptr);
    nvnTexturePoolRegisterTexture(p, 257, m.filled(kGreen), nullptr);
    EXPECT_EQ(m.read(p, {256, 257})[0], kRed);
    nvnTexturePoolRegisterTexture(p, 257, m.filled(kBlue), nullptr); // one id is patched
    auto c = m.read(p, {256, 257});
    EXPECT_EQ(c[0], kRed);
    EXPECT_EQ(c[1], kBlue);
    m.write(red, std::vector<uint32_t>(16, kGreen).data()); // new texels, the same id
    EXPECT_EQ(m.read(p, {256})[0], kGreen);
}

TEST(WholePools, EqualIdsOfTwoPoolsAndLargerOnes) {
    Handles m;
    NEED(m);
    NVNtexturePool* a = m.make_pool(300);
    NVNtexturePool* b = m.make_pool(5000); // a shape of its own: pipelines are made anew
    nvnTexturePoolRegisterTexture(a, 256, m.filled(kRed), nullptr);
    nvnTexturePoolRegisterTexture(b, 256, m.filled(kGreen), nullptr);
    nvnTexturePoolRegisterTexture(b, 4999, m.filled(kBlue), nullptr);
    EXPECT_EQ(m.read(a, {256})[0], kRed);
    auto c = m.read(b, {256, 4999, 5000});
    EXPECT_EQ(c[0], kGreen);
    EXPECT_EQ(c[1], kBlue);
    EXPECT_EQ(c[2] & 0xffffff, 0u);
    c = m.read(a, {256, 4999});
    EXPECT_EQ(c[0], kRed);
    EXPECT_EQ(c[1] & 0xffffff, 0u);
}

TEST(WholePools, FinalisedPoolsReadZeros) {
    Handles m;
    NEED(m);
    NVNtexturePool* a = m.make_pool(300);
    nvnTexturePoolRegisterTexture(a, 256, m.filled(kRed), nullptr);
    EXPECT_EQ(m.read(a, {256})[0], kRed);
    nvnCommandBufferSetTexturePool(m.cmd(), a);
    nvnTexturePoolFinalize(a);
    EXPECT_EQ(m.read(a, {256})[0] & 0xffffff, 0u);
    ASSERT_TRUE(nvnTexturePoolInitialize(a, m.pool(), m.offset(300), 300));
}

} // namespace
} // namespace dmsh::test
