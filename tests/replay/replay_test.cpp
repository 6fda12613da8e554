// Replay on the null backend: what recorded calls bind, driver segments, handles, and records that are
// damaged.
#include "runtime/abi/driver_segments.h"
#include "runtime/abi/program_key.h"
#include "runtime/nvn/recorder.h"
#include "runtime/replay/interpreter.h"
#include "runtime/replay/null/null_backend.h"
#include "tests/nvn/guest.h"
#include <random>
#include <set>
#include <thread>

namespace dmsh::replay {
namespace {

using nvn::Guest;
using nvn::GuestPool;
using nvn::Host;
using nvn::Report;

Binding binding(BindingKind kind, uint32_t slot, uint32_t count = 1) {
    Binding b;
    b.kind = kind;
    b.slot = slot;
    b.count = count;
    b.bytes_read = 0x660;
    return b;
}

uint32_t word(const Resource& r, uint32_t offset) {
    uint32_t v = 0xdeadbeef;
    if (r.data && offset + 4 <= r.size)
        std::memcpy(&v, r.data + offset, 4);
    return v;
}

// A guest with one program per stage whose shaders are given by reflection alone.
class Replay : public ::testing::Test {
  protected:
    void SetUp() override {
        nvn::set_report_sink([](Report, const char*, void*) {}, nullptr);
        nvn::reset_reports();
        Host::get().reset();
        interpreter_ = std::make_unique<Interpreter>(backend_);
        Host::get().set_executor(interpreter_.get());
        pool_ = std::make_unique<GuestPool>(0x40000);
        Guest<NVNqueueBuilder> b;
        nvnQueueBuilderSetDevice(b, nullptr);
        nvnQueueBuilderSetDefaults(b);
        ASSERT_TRUE(nvnQueueInitialize(queue_, b));
        ASSERT_TRUE(nvnCommandBufferInitialize(cmd_, nullptr));
        begin();
    }
    void TearDown() override {
        nvnQueueFinalize(queue_);
        pool_.reset();
        Host::get().reset();
        nvn::set_report_sink(nullptr, nullptr);
    }

    void begin() {
        nvnCommandBufferAddCommandMemory(cmd_, pool_->get(), 0, 0x10000);
        nvnCommandBufferAddControlMemory(cmd_, control_, sizeof control_);
        nvnCommandBufferBeginRecording(cmd_);
    }
    void submit() {
        const NVNcommandHandle h = nvnCommandBufferEndRecording(cmd_);
        nvnQueueSubmitCommands(queue_, 1, &h);
        begin();
    }
    QueueState& state() { return *interpreter_->state(queue_->serial); }

    // Puts a shader into the queue's state as if a program with it had been bound.
    void use(Stage stage, std::vector<Binding> bindings, std::vector<uint8_t> constants = {}, Arch arch = Arch::sm53) {
        auto shader = std::make_shared<nvn::Shader>();
        shader->id = static_cast<uint32_t>(stage) + 1;
        shader->reflection.interface.stage = stage;
        shader->reflection.interface.arch = arch;
        shader->reflection.interface.bindings = std::move(bindings);
        auto program = std::make_shared<nvn::Program>();
        nvn::ProgramStage& s = program->stages[static_cast<unsigned>(stage)];
        s.present = true;
        s.stage = stage;
        s.shader = shader;
        s.constants = std::move(constants);
        state().programs[static_cast<unsigned>(stage)] = program;
    }

    NullBackend backend_;
    std::unique_ptr<Interpreter> interpreter_;
    std::unique_ptr<GuestPool> pool_;
    Guest<NVNqueue> queue_;
    Guest<NVNcommandBuffer> cmd_;
    alignas(8) uint8_t control_[4096];
};

TEST_F(Replay, ComputeC0HoldsCountsAndTables) {
    use(Stage::compute, {binding(BindingKind::driver, 0), binding(BindingKind::storage, 3)});
    nvnCommandBufferBindStorageBuffer(cmd_, NVN_SHADER_STAGE_COMPUTE, 3, pool_->address() + 0x20000, 0x100);
    nvnCommandBufferBindUniformBuffer(cmd_, NVN_SHADER_STAGE_COMPUTE, 1, pool_->address() + 0x21000, 0x80);
    nvnCommandBufferDispatchCompute(cmd_, 5, 6, 7);
    bool seen = false;
    backend_.on_dispatch = [&](const DispatchCall& call) {
        seen = true;
        const auto& r = *call.work.resources;
        ASSERT_EQ(r.size(), 2u);
        EXPECT_EQ(word(r[0], 0x200), 5u);
        EXPECT_EQ(word(r[0], 0x204), 6u);
        EXPECT_EQ(word(r[0], 0x208), 7u);
        EXPECT_EQ(word(r[0], 0x310 + 0x30), static_cast<uint32_t>(pool_->address() + 0x20000));
        EXPECT_EQ(word(r[0], 0x310 + 0x34), static_cast<uint32_t>((pool_->address() + 0x20000) >> 32));
        EXPECT_EQ(word(r[0], 0x310 + 0x38), 0x100u);
        EXPECT_EQ(word(r[0], 0x210 + 0x18), 0x80u);
        EXPECT_EQ(r[1].kind, ResourceKind::storage);
        EXPECT_EQ(r[1].address, pool_->address() + 0x20000);
        EXPECT_EQ(r[1].size, 0x100u);
    };
    submit();
    EXPECT_TRUE(seen);
}

TEST_F(Replay, GraphicsC0HoldsPointLimitBaseInstanceAndStorage) {
    use(Stage::vertex, {binding(BindingKind::driver, 0)});
    use(Stage::fragment, {binding(BindingKind::driver, 0)});
    nvnCommandBufferBindStorageBuffer(cmd_, NVN_SHADER_STAGE_FRAGMENT, 2, pool_->address() + 0x20000, 0x40);
    nvnCommandBufferDrawArraysInstanced(cmd_, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3, 61, 2);
    bool seen = false;
    backend_.on_draw = [&](const DrawCall& call) {
        seen = true;
        const auto& r = *call.work.resources;
        ASSERT_EQ(r.size(), 2u);
        for (const Resource& stage : r) {
            float limit;
            const uint32_t bits = word(stage, 0x610);
            std::memcpy(&limit, &bits, 4);
            EXPECT_EQ(limit, 2047.0f);
            EXPECT_EQ(word(stage, 0x640), 0u);
            EXPECT_EQ(word(stage, 0x644), 61u);
            EXPECT_EQ(word(stage, 0x620), 0x88888888u);
        }
        EXPECT_EQ(word(r[1], 0x510 + 0x28), 0x40u);
        EXPECT_EQ(word(r[0], 0x510 + 0x28), 0u);
        EXPECT_EQ(call.base_instance, 61u);
        EXPECT_EQ(call.instance_count, 2u);
    };
    submit();
    EXPECT_TRUE(seen);
}

TEST_F(Replay, SecondConsoleHasItsGroupCountsAt4Too) { // B-005
    for (const Arch arch : {Arch::sm53, Arch::sm86}) {
        use(Stage::compute, {binding(BindingKind::driver, 0)}, {}, arch);
        nvnCommandBufferDispatchCompute(cmd_, 5, 6, 7);
        int seen = 0;
        backend_.on_dispatch = [&](const DispatchCall& call) {
            ++seen;
            const Resource& r = (*call.work.resources)[0];
            for (uint32_t i = 0; i < 3; ++i) {
                EXPECT_EQ(word(r, 0x200 + 4 * i), 5 + i);
                EXPECT_EQ(word(r, 4 + 4 * i), arch == Arch::sm86 ? 5 + i : 0);
            }
        };
        submit();
        EXPECT_EQ(seen, 1);
    }
}

// B-003, B-004, B-006: each stage has its storage buffers in a table of its own, none in another's.
TEST_F(Replay, EveryStageHasItsStorageTable) {
    constexpr struct {
        Stage stage;
        NVNshaderStage bind;
        uint32_t base;
    } stages[] = {{Stage::vertex, NVN_SHADER_STAGE_VERTEX, 0x110},
                  {Stage::fragment, NVN_SHADER_STAGE_FRAGMENT, 0x510},
                  {Stage::geometry, NVN_SHADER_STAGE_GEOMETRY, 0x410},
                  {Stage::tess_control, NVN_SHADER_STAGE_TESS_CONTROL, 0x210},
                  {Stage::tess_evaluation, NVN_SHADER_STAGE_TESS_EVALUATION, 0x310},
                  {Stage::task, static_cast<NVNshaderStage>(6), 0x670},
                  {Stage::mesh, static_cast<NVNshaderStage>(7), 0x770}};
    uint32_t k = 0;
    for (const auto& s : stages) {
        ++k;
        Binding driver = binding(BindingKind::driver, 0);
        driver.bytes_read = 0x870;
        use(s.stage, {driver, binding(BindingKind::storage, 2)});
        nvnCommandBufferBindStorageBuffer(cmd_, s.bind, 0, pool_->address() + 0x20000, 0x1000 * k);
        nvnCommandBufferBindStorageBuffer(cmd_, s.bind, 2, pool_->address() + 0x20000 + 0x100 * k, 0x40 * k);
    }
    nvnCommandBufferDrawArrays(cmd_, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    nvnCommandBufferDrawMeshTasks(cmd_, 1, 0);
    std::set<Stage> seen;
    backend_.on_draw = [&](const DrawCall& call) {
        const auto& all = *call.work.resources;
        for (size_t i = 0; i < all.size(); i += 2) {
            uint32_t n = 0, base = 0;
            for (const auto& s : stages)
                if (s.stage == all[i].stage) {
                    n = static_cast<uint32_t>(&s - stages) + 1;
                    base = s.base;
                }
            ASSERT_NE(n, 0u);
            seen.insert(all[i].stage);
            const uint64_t address = pool_->address() + 0x20000 + 0x100 * n;
            EXPECT_EQ(word(all[i], base + 8), 0x1000 * n) << stage_name(all[i].stage);
            EXPECT_EQ(word(all[i], base + 0x20), static_cast<uint32_t>(address));
            EXPECT_EQ(word(all[i], base + 0x24), static_cast<uint32_t>(address >> 32));
            EXPECT_EQ(word(all[i], base + 0x28), 0x40 * n);
            EXPECT_EQ(word(all[i], base + 0x10), 0u) << "slot 1 is empty";
            EXPECT_EQ(all[i + 1].kind, ResourceKind::storage);
            EXPECT_EQ(all[i + 1].address, address);
            EXPECT_EQ(all[i + 1].size, 0x40 * n);
        }
    };
    submit();
    EXPECT_EQ(seen.size(), std::size(stages));
}

TEST_F(Replay, SampleRowsFollowTheTargets) { // B-009: {samples - 1, log2 samples, 0, 0} and positions of the pass
    constexpr uint32_t first_words[] = {0x88888888, 0x888844cc, 0xeaa26e26, 0x359db759}; // of D3D's standard positions
    uint32_t log2 = 0;
    for (const int samples : {1, 2, 4, 8}) {
        Guest<NVNtextureBuilder> b;
        nvnTextureBuilderSetDevice(b, nullptr);
        nvnTextureBuilderSetDefaults(b);
        nvnTextureBuilderSetTarget(b, samples == 1 ? NVN_TEXTURE_TARGET_2D : NVN_TEXTURE_TARGET_2D_MULTISAMPLE);
        nvnTextureBuilderSetFormat(b, NVN_FORMAT_RGBA8);
        nvnTextureBuilderSetSize2D(b, 8, 8);
        nvnTextureBuilderSetSamples(b, samples == 1 ? 0 : samples);
        nvnTextureBuilderSetStorage(b, pool_->get(), 0x30000);
        Guest<NVNtexture> t;
        ASSERT_TRUE(nvnTextureInitialize(t, b));
        const NVNtexture* colors[1] = {t};
        nvnCommandBufferSetRenderTargets(cmd_, 1, colors, nullptr, nullptr, nullptr);
        use(Stage::vertex, {});
        use(Stage::fragment, {binding(BindingKind::driver, 0)});
        nvnCommandBufferDrawArrays(cmd_, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
        int seen = 0;
        backend_.on_draw = [&](const DrawCall& call) {
            ++seen;
            const Resource& r = (*call.work.resources)[0];
            EXPECT_EQ(word(r, 0x620), first_words[log2]) << samples;
            EXPECT_EQ(word(r, 0x62c), 0x88888888u);
            EXPECT_EQ(word(r, 0x630), static_cast<uint32_t>(samples - 1));
            EXPECT_EQ(word(r, 0x634), log2);
            EXPECT_EQ(word(r, 0x638), 0u);
            EXPECT_EQ(word(r, 0x63c), 0u);
        };
        submit();
        EXPECT_EQ(seen, 1);
        ++log2;
    }
}

TEST_F(Replay, ConstantsComeFromTheCodeArea) {
    use(Stage::compute, {binding(BindingKind::constants, 0)}, {1, 2, 3, 4});
    nvnCommandBufferDispatchCompute(cmd_, 1, 1, 1);
    backend_.on_dispatch = [&](const DispatchCall& call) {
        EXPECT_EQ(word((*call.work.resources)[0], 0), 0x04030201u);
    };
    submit();
    EXPECT_EQ(backend_.dispatches, 1u);
}

// Textures with ids and samplers of their own per pool.
struct Ids {
    Guest<NVNtexturePool> textures;
    Guest<NVNsamplerPool> samplers;
    Ids(GuestPool& pool, ptrdiff_t offset, int width, NVNwrapMode wrap) {
        EXPECT_TRUE(nvnTexturePoolInitialize(textures, pool.get(), offset, 300));
        EXPECT_TRUE(nvnSamplerPoolInitialize(samplers, pool.get(), offset, 300));
        Guest<NVNtextureBuilder> b;
        nvnTextureBuilderSetDevice(b, nullptr);
        nvnTextureBuilderSetDefaults(b);
        nvnTextureBuilderSetFormat(b, NVN_FORMAT_RGBA8);
        nvnTextureBuilderSetSize2D(b, width, 4);
        nvnTextureBuilderSetStorage(b, pool.get(), 0x30000);
        Guest<NVNtexture> t;
        EXPECT_TRUE(nvnTextureInitialize(t, b));
        nvnTexturePoolRegisterTexture(textures, 257, t, nullptr);
        nvnTextureFinalize(t); // the id keeps its own copy
        Guest<NVNsamplerBuilder> sb;
        nvnSamplerBuilderSetDevice(sb, nullptr);
        nvnSamplerBuilderSetDefaults(sb);
        nvnSamplerBuilderSetWrapMode(sb, wrap, wrap, wrap);
        nvnSamplerPoolRegisterSamplerBuilder(samplers, 258, sb);
    }
    ~Ids() {
        nvnTexturePoolFinalize(textures);
        nvnSamplerPoolFinalize(samplers);
    }
};

TEST_F(Replay, PoolsWithEqualIdsDoNotMix) {
    Ids a(*pool_, 0x12000, 8, NVN_WRAP_MODE_CLAMP), b(*pool_, 0x18000, 16, NVN_WRAP_MODE_REPEAT);
    use(Stage::compute, {binding(BindingKind::texture, 4)});
    std::vector<uint32_t> widths;
    backend_.on_dispatch = [&](const DispatchCall& call) {
        const Resource& r = (*call.work.resources)[0];
        EXPECT_EQ(r.kind, ResourceKind::texture);
        widths.push_back(r.texture.texture.width);
    };
    for (Ids* ids : {&a, &b}) {
        nvnCommandBufferSetTexturePool(cmd_, ids->textures);
        nvnCommandBufferSetSamplerPool(cmd_, ids->samplers);
        nvnCommandBufferBindTexture(cmd_, NVN_SHADER_STAGE_COMPUTE, 4, 0x7700000000 | 257 | 258u << 20);
        nvnCommandBufferDispatchCompute(cmd_, 1, 1, 1);
    }
    submit();
    EXPECT_EQ(widths, (std::vector<uint32_t>{8, 16}));
}

TEST_F(Replay, HandlesArePatchableInPlaceAndReadFromUniforms) {
    Ids ids(*pool_, 0x12000, 8, NVN_WRAP_MODE_CLAMP);
    Binding bank = binding(BindingKind::texture_in_bank, 0);
    bank.bank = 5; // uniform slot 2
    bank.offset = 0x10;
    bank.or_bank = 5;
    bank.or_offset = 0x18;
    use(Stage::compute, {binding(BindingKind::texture, 0), bank});
    nvnCommandBufferSetTexturePool(cmd_, ids.textures);
    nvnCommandBufferSetSamplerPool(cmd_, ids.samplers);
    const uint64_t buffer = pool_->address() + 0x20000;
    nvnCommandBufferBindUniformBuffer(cmd_, NVN_SHADER_STAGE_COMPUTE, 2, buffer, 0x20);
    const size_t at = nvnCommandBufferGetCommandMemoryUsed(cmd_);
    nvnCommandBufferBindTexture(cmd_, NVN_SHADER_STAGE_COMPUTE, 0, 0);
    nvnCommandBufferDispatchCompute(cmd_, 1, 1, 1);
    // After recording: the bind's handle at +0x10, and the two words in game memory (either order is the
    // same).
    const uint32_t handle = 257 | 258u << 20, texture = 257, sampler = 258u << 20;
    std::memcpy(pool_->memory() + at + 0x10, &handle, 4);
    std::memcpy(pool_->memory() + 0x20010, &sampler, 4);
    std::memcpy(pool_->memory() + 0x20018, &texture, 4);
    bool seen = false;
    backend_.on_dispatch = [&](const DispatchCall& call) {
        seen = true;
        for (const Resource& r : *call.work.resources) {
            EXPECT_EQ(r.kind, ResourceKind::texture);
            EXPECT_EQ(r.texture.texture.width, 8u);
        }
    };
    submit();
    EXPECT_TRUE(seen);
}

TEST_F(Replay, SlotsPastTheTexturesAreImages) {
    Ids ids(*pool_, 0x12000, 8, NVN_WRAP_MODE_CLAMP);
    use(Stage::fragment, {binding(BindingKind::texture, 33)});
    use(Stage::vertex, {});
    nvnCommandBufferSetTexturePool(cmd_, ids.textures);
    nvnCommandBufferBindTexture(cmd_, NVN_SHADER_STAGE_FRAGMENT, 33, 299);
    nvnCommandBufferBindImage(cmd_, NVN_SHADER_STAGE_FRAGMENT, 1, 257);
    nvnCommandBufferDrawArrays(cmd_, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    bool seen = false;
    backend_.on_draw = [&](const DrawCall& call) {
        seen = true;
        EXPECT_EQ((*call.work.resources)[0].kind, ResourceKind::texture);
    };
    submit();
    EXPECT_TRUE(seen);
}

TEST_F(Replay, UnusedHandlesAndWildIdsAreEmptySlots) {
    use(Stage::compute, {binding(BindingKind::texture, 0, 3), binding(BindingKind::uniform, 0)});
    nvnCommandBufferBindTexture(cmd_, NVN_SHADER_STAGE_COMPUTE, 0, 0xffffffff);
    nvnCommandBufferBindTexture(cmd_, NVN_SHADER_STAGE_COMPUTE, 1, 0x12345);
    nvnCommandBufferBindUniformBuffer(cmd_, NVN_SHADER_STAGE_COMPUTE, 0, 0x1234567890, 0x100);
    nvnCommandBufferDispatchCompute(cmd_, 1, 1, 1);
    bool seen = false;
    backend_.on_dispatch = [&](const DispatchCall& call) {
        seen = true;
        for (const Resource& r : *call.work.resources)
            EXPECT_EQ(r.kind, ResourceKind::none);
    };
    submit();
    EXPECT_TRUE(seen);
    EXPECT_EQ(nvn::report_count(Report::bad_handle), 1u); // 0 and all ones are no errors
    EXPECT_EQ(nvn::report_count(Report::bad_address), 1u);
}

TEST_F(Replay, StorageAddressFromAUniformBuffer) {
    Binding b = binding(BindingKind::storage_in_bank, 0);
    b.bank = 3;
    b.offset = 0x38;
    use(Stage::compute, {b});
    const uint64_t address = pool_->address() + 0x21000;
    std::memcpy(pool_->memory() + 0x20038, &address, 8);
    nvnCommandBufferBindUniformBuffer(cmd_, NVN_SHADER_STAGE_COMPUTE, 0, pool_->address() + 0x20000, 0x100);
    nvnCommandBufferDispatchCompute(cmd_, 1, 1, 1);
    bool seen = false;
    backend_.on_dispatch = [&](const DispatchCall& call) {
        seen = true;
        const Resource& r = (*call.work.resources)[0];
        EXPECT_EQ(r.address, address);
        EXPECT_EQ(r.size, 0x40000u - 0x21000u);
    };
    submit();
    EXPECT_TRUE(seen);
}

// B-032, B-035: addresses and handles come from uniform buffers as the commands before leave them, in one submission.
TEST_F(Replay, HandlesAndAddressesFollowUpdatesOfTheSameSubmission) {
    Ids ids(*pool_, 0x12000, 8, NVN_WRAP_MODE_CLAMP), others(*pool_, 0x18000, 16, NVN_WRAP_MODE_CLAMP);
    Binding storage = binding(BindingKind::storage_in_bank, 0), texture = binding(BindingKind::texture_in_bank, 0),
            image = binding(BindingKind::image_in_bank, 0);
    storage.bank = texture.bank = image.bank = 3;
    storage.offset = 0x38;
    texture.offset = 0x40;
    image.offset = 0x48;
    use(Stage::compute, {storage, texture, image});
    const uint64_t buffer = pool_->address() + 0x20000;
    nvnCommandBufferSetTexturePool(cmd_, ids.textures);
    nvnCommandBufferSetSamplerPool(cmd_, ids.samplers);
    nvnCommandBufferBindUniformBuffer(cmd_, NVN_SHADER_STAGE_COMPUTE, 0, buffer, 0x100);
    std::vector<uint64_t> expected;
    for (uint32_t i = 0; i < 4; ++i) {
        struct {
            uint64_t address, texture, image;
        } words{pool_->address() + 0x22000 + 0x1000 * i, i & 1 ? 0 : 257 | 258u << 20, i & 2 ? 257u : 0u};
        expected.insert(expected.end(), {words.address, uint64_t{!(i & 1)}, uint64_t{(i & 2) != 0}});
        if (i < 3) {
            nvnCommandBufferUpdateUniformBuffer(cmd_, buffer, 0x100, 0x38, sizeof words, &words);
        } else { // by a copy
            std::memcpy(pool_->memory() + 0x21038, &words, sizeof words);
            nvnCommandBufferCopyBufferToBuffer(cmd_, pool_->address() + 0x21038, buffer + 0x38, sizeof words, 0);
        }
        nvnCommandBufferDispatchCompute(cmd_, 1, 1, 1);
    }
    std::vector<uint64_t> seen;
    backend_.on_dispatch = [&](const DispatchCall& call) {
        const auto& r = *call.work.resources;
        EXPECT_EQ(r[0].kind, ResourceKind::storage);
        seen.insert(seen.end(), {r[0].address, uint64_t{r[1].kind == ResourceKind::texture},
                                 uint64_t{r[2].kind == ResourceKind::image}});
    };
    submit();
    EXPECT_EQ(seen, expected);
}

TEST_F(Replay, IdsPastTheEndAreEmptySlotsUnregisteredOnesAreErrors) { // rule 64
    Ids ids(*pool_, 0x12000, 8, NVN_WRAP_MODE_CLAMP); // 300 ids
    Binding t = binding(BindingKind::texture, 0, 2);
    t.sampled = true;
    use(Stage::compute, {t});
    nvnCommandBufferSetTexturePool(cmd_, ids.textures);
    nvnCommandBufferSetSamplerPool(cmd_, ids.samplers);
    nvnCommandBufferBindTexture(cmd_, NVN_SHADER_STAGE_COMPUTE, 0, 300 | 258u << 20);
    nvnCommandBufferBindTexture(cmd_, NVN_SHADER_STAGE_COMPUTE, 1, 257 | 4095u << 20);
    nvnCommandBufferDispatchCompute(cmd_, 1, 1, 1);
    int seen = 0;
    backend_.on_dispatch = [&](const DispatchCall& call) {
        const auto& r = *call.work.resources;
        EXPECT_EQ(r[0].kind, seen == 0 ? ResourceKind::none : ResourceKind::texture);
        EXPECT_EQ(r[1].kind, seen == 0 ? ResourceKind::texture : ResourceKind::none);
        ++seen;
    };
    submit();
    EXPECT_EQ(nvn::report_count(Report::id_past_pool), 2u);
    EXPECT_EQ(nvn::report_count(Report::bad_handle), 0u);
    nvnCommandBufferBindTexture(cmd_, NVN_SHADER_STAGE_COMPUTE, 0, 257 | 299u << 20); // a sampler nobody registered
    nvnCommandBufferBindTexture(cmd_, NVN_SHADER_STAGE_COMPUTE, 1, 299 | 258u << 20); // a texture
    nvnCommandBufferDispatchCompute(cmd_, 1, 1, 1);
    submit();
    EXPECT_EQ(seen, 2);
    EXPECT_EQ(nvn::report_count(Report::bad_handle), 2u);
}

TEST_F(Replay, UnfillableBindingsSkipTheCallByName) {
    use(Stage::compute, {binding(BindingKind::stage_memory, 0)});
    nvnCommandBufferDispatchCompute(cmd_, 1, 1, 1);
    submit();
    EXPECT_EQ(backend_.dispatches, 0u);
    EXPECT_EQ(interpreter_->counts().skipped, 1u);
    EXPECT_EQ(nvn::report_count(Report::unsupported), 1u);
}

TEST_F(Replay, DrawsWithoutProgramsAreSkipped) {
    nvnCommandBufferDrawArrays(cmd_, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    nvnCommandBufferDispatchCompute(cmd_, 1, 1, 1);
    submit();
    EXPECT_EQ(backend_.draws + backend_.dispatches, 0u);
    EXPECT_EQ(interpreter_->counts().skipped, 2u);
}

TEST_F(Replay, QueuesKeepTheirOwnState) {
    Guest<NVNqueueBuilder> b;
    nvnQueueBuilderSetDevice(b, nullptr);
    nvnQueueBuilderSetDefaults(b);
    Guest<NVNqueue> other;
    ASSERT_TRUE(nvnQueueInitialize(other, b));
    nvnCommandBufferSetViewport(cmd_, 1, 2, 3, 4);
    submit();
    EXPECT_EQ(state().raster.viewports[0][2], 3.0f);
    EXPECT_EQ(interpreter_->state(other->serial)->raster.viewports[0][2], 0.0f);
    nvnQueueFinalize(other);
    EXPECT_EQ(interpreter_->state(other->serial), nullptr);
}

TEST_F(Replay, BufferWorkRunsOnTheNullBackend) {
    const uint64_t a = pool_->address() + 0x20000, b = a + 0x100;
    const uint32_t data[4] = {1, 2, 3, 4};
    nvnCommandBufferUpdateUniformBuffer(cmd_, a, 64, 16, sizeof data, data);
    nvnCommandBufferCopyBufferToBuffer(cmd_, a, b, 64, 0);
    nvnCommandBufferClearBuffer(cmd_, a, 16, 0x01010101);
    nvnCommandBufferCopyBufferToBuffer(cmd_, 0x1000, b, 64, 0);
    nvnCommandBufferCopyBufferToBuffer(cmd_, a, pool_->address() + 0x3fff0, 64, 0);
    submit();
    EXPECT_EQ(std::memcmp(pool_->memory() + 0x20110, data, sizeof data), 0);
    EXPECT_EQ(pool_->memory()[0x20000], 1);
    EXPECT_EQ(nvn::report_count(Report::bad_address), 2u);
}

TEST_F(Replay, SyncsOfListsArmAtSubmission) {
    Guest<NVNsync> sync;
    nvnSyncInitialize(sync, nullptr);
    nvnCommandBufferFenceSync(cmd_, sync, NVN_SYNC_CONDITION_ALL_GPU_COMMANDS_COMPLETE, 0);
    EXPECT_EQ(sync->fence.load(), 0u);
    submit();
    EXPECT_NE(sync->fence.load(), 0u);
    EXPECT_EQ(nvnSyncWait(sync, 0), NVN_SYNC_WAIT_RESULT_ALREADY_SIGNALED);
}

TEST_F(Replay, FinalisedProgramsAreForgotten) {
    Guest<NVNprogram> p;
    ASSERT_TRUE(nvnProgramInitialize(p, nullptr));
    nvnCommandBufferBindProgram(cmd_, p, NVN_SHADER_STAGE_ALL_GRAPHICS_BITS);
    submit();
    EXPECT_NE(state().programs[0], nullptr);
    nvnProgramFinalize(p);
    EXPECT_EQ(state().programs[0], nullptr);
}

// Keys are taken inside SetShaders, late ones when their code's pool exists (S-005).
std::vector<uint8_t> control_section(Stage stage, uint32_t code_bytes) {
    std::vector<uint8_t> c(0x880);
    const auto put = [&](size_t at, uint32_t v) { std::memcpy(&c[at], &v, 4); };
    put(0, 0x98761234);
    put(4, 1);
    put(0x20, 0x880);
    put(0x700, code_bytes);
    put(0x704, code_bytes);
    put(0x714, static_cast<uint32_t>(stage));
    return c;
}

TEST_F(Replay, KeysSurviveFreedControlSections) {
    Guest<NVNprogram> p;
    ASSERT_TRUE(nvnProgramInitialize(p, nullptr));
    auto control = control_section(Stage::compute, 0x100);
    for (int i = 0; i < 0x100; ++i)
        pool_->memory()[0x22000 + i] = static_cast<uint8_t>(i);
    const uint64_t key = program_key(control, {pool_->memory() + 0x22000, 0x100});
    const NVNshaderData data{pool_->address() + 0x22000, control.data()};
    ASSERT_TRUE(nvnProgramSetShaders(p, 1, &data));
    std::fill(control.begin(), control.end(), 0xee);
    EXPECT_EQ(Host::get().find_program(p->serial)->stages[5].key, key);
    EXPECT_EQ(nvn::report_count(Report::missing_shader), 1u);
    ASSERT_TRUE(nvnProgramSetShaders(p, 0, nullptr));
    nvnProgramFinalize(p);
}

// +0x700 of a vertex program of two parts names part B; its constants lie behind B (S-017).
TEST_F(Replay, TwoPartVertexProgramsHaveConstantsBehindPartB) {
    constexpr uint32_t kCode = 0x400, kA = 0x30, kABytes = 0x80, kSecond = 0x100, kB = kSecond + 0x30, kBBytes = 0x90;
    auto control = control_section(Stage::vertex, kCode);
    const auto put = [](uint8_t* p, uint32_t v) { std::memcpy(p, &v, 4); };
    put(&control[0x700], kSecond);
    put(&control[0x748], kA);
    put(&control[0x74c], kABytes);
    put(&control[0x750], kB);
    put(&control[0x754], kBBytes);
    uint8_t* code = pool_->memory() + 0x22000;
    for (uint32_t i = 0; i < kCode; ++i)
        code[i] = i >= kSecond && i < kB ? 0 : static_cast<uint8_t>(i | 1);
    put(code + kB, 1 | 3 << 5 | 1 << 10); // header version 3, vertex
    const auto constants = [&] {
        Guest<NVNprogram> p;
        EXPECT_TRUE(nvnProgramInitialize(p, nullptr));
        const NVNshaderData data{pool_->address() + 0x22000, control.data()};
        EXPECT_TRUE(nvnProgramSetShaders(p, 1, &data));
        const auto c = Host::get().find_program(p->serial)->stages[0].constants;
        nvnProgramFinalize(p);
        return c;
    };
    EXPECT_EQ(constants(), std::vector<uint8_t>(code + kB + kBBytes, code + kCode));
    code[kSecond + 5] = 1; // not the zeros that stand before part B: the word is what it is for other programs
    EXPECT_EQ(constants(), std::vector<uint8_t>(code + kSecond, code + kCode));
}

TEST_F(Replay, LateCodeIsHashedWhenItsPoolExists) {
    Guest<NVNprogram> p;
    ASSERT_TRUE(nvnProgramInitialize(p, nullptr));
    auto control = control_section(Stage::compute, 0x100);
    auto* memory = static_cast<uint8_t*>(std::aligned_alloc(65536, 65536));
    std::memset(memory, 7, 65536);
    const NVNshaderData data{reinterpret_cast<uint64_t>(memory), control.data()};
    ASSERT_TRUE(nvnProgramSetShaders(p, 1, &data));
    EXPECT_EQ(Host::get().find_program(p->serial)->stages[5].key, 0u);
    const uint64_t key = program_key(control, {memory, 0x100});
    std::fill(control.begin(), control.end(), 0xee);
    Guest<NVNmemoryPoolBuilder> b;
    nvnMemoryPoolBuilderSetDevice(b, nullptr);
    nvnMemoryPoolBuilderSetDefaults(b);
    nvnMemoryPoolBuilderSetStorage(b, memory, 65536);
    Guest<NVNmemoryPool> late;
    ASSERT_TRUE(nvnMemoryPoolInitialize(late, b));
    EXPECT_EQ(Host::get().find_program(p->serial)->stages[5].key, key);
    nvnMemoryPoolFinalize(late);
    nvnProgramFinalize(p);
    std::free(memory);
}

TEST_F(Replay, WildControlSectionsAreRefused) {
    Guest<NVNprogram> p;
    ASSERT_TRUE(nvnProgramInitialize(p, nullptr));
    std::mt19937 random(2);
    for (int round = 0; round < 300; ++round) {
        auto control = control_section(Stage::compute, 0x100);
        for (int k = 0; k < 8; ++k)
            control[random() % (round % 2 ? control.size() : 0x30)] = static_cast<uint8_t>(random());
        const NVNshaderData data[2] = {{pool_->address() + random() % 0x50000, control.data()},
                                       {random(), reinterpret_cast<const void*>(uint64_t{random()})}};
        nvnProgramSetShaders(p, 2, data);
    }
    nvnProgramSetShaders(p, -1, nullptr);
    nvnProgramSetShaders(p, 5, nullptr);
    nvnProgramFinalize(p);
}

// Any bytes as records.
TEST_F(Replay, RandomRecordsAreRefusedNotFollowed) {
    std::mt19937 random(4);
    QueueState state;
    std::vector<uint32_t> words(512);
    for (int round = 0; round < 20000; ++round) {
        size_t at = 0;
        while (at < words.size()) {
            const uint32_t n = 1 + random() % 48;
            words[at] = (random() % (static_cast<uint32_t>(nvn::Op::count) + 1)) | n << 16;
            for (uint32_t k = 1; k < n && at + k < words.size(); ++k)
                words[at + k] = random() % 4 ? random() % 64 : random();
            at += n;
        }
        interpreter_->run(state, reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4);
    }
    EXPECT_GT(nvn::report_count(Report::bad_command), 0u);
    for (int round = 0; round < 2000; ++round) {
        for (uint32_t& w : words)
            w = random();
        interpreter_->run(state, reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4);
    }
}

TEST_F(Replay, TwoQueuesSubmitFromTwoThreads) {
    Guest<NVNqueueBuilder> b;
    nvnQueueBuilderSetDevice(b, nullptr);
    nvnQueueBuilderSetDefaults(b);
    Guest<NVNqueue> other;
    ASSERT_TRUE(nvnQueueInitialize(other, b));
    for (int i = 0; i < 50; ++i)
        nvnCommandBufferSetViewport(cmd_, i, 0, 1, 1);
    const NVNcommandHandle h = nvnCommandBufferEndRecording(cmd_);
    const auto work = [&](NVNqueue* q) {
        for (int i = 0; i < 200; ++i)
            nvnQueueSubmitCommands(q, 1, &h);
    };
    std::thread a(work, queue_.get()), c(work, other.get());
    a.join();
    c.join();
    EXPECT_EQ(interpreter_->counts().records, 400u * 50);
    nvnQueueFinalize(other);
    begin();
}

// Pipeline keys: what does not matter does not count (P-012).
TEST(PipelineKey, NormalForm) {
    RasterState s;
    Targets t;
    t.present = 1;
    t.color_count = 1;
    t.colors[0].texture.format = NVN_FORMAT_RGBA8;
    const std::array<uint32_t, 8> ids{1, 2};
    const auto key = [&] { return pipeline_key(s, t, NVN_DRAW_PRIMITIVE_TRIANGLES, ids, 1, false); };
    const PipelineKey base = key();
    s.blend[0] ^= 0xff00;         // blending is off
    s.channel_mask &= 0x0000000f; // targets that are not there
    s.attribs[3] = 0x1234;        // a location that the shader does not read
    s.attrib_count = 4;
    s.patch_size = 7;
    EXPECT_EQ(key(), base);
    EXPECT_EQ(hash(key()), hash(base));
    s.channel_mask = 7;
    EXPECT_FALSE(key() == base);
    s.channel_mask = 0xf;
    s.color |= 1;
    EXPECT_FALSE(key() == base);
}

} // namespace
} // namespace dmsh::replay
