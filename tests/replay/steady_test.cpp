// What a submission costs once everything is warm: no heap memory per command; and handles that are read at each
// execution.
#include "runtime/replay/interpreter.h"
#include "runtime/replay/null/null_backend.h"
#include "tests/nvn/count_allocations.h"
#include "tests/nvn/guest.h"

namespace dmsh::replay {
namespace {

using nvn::Guest;
using nvn::GuestPool;
using nvn::Host;

// A queue with a vertex and a fragment shader that bind a driver segment, a uniform buffer and a texture.
class Steady : public ::testing::Test {
  protected:
    void SetUp() override {
        nvn::set_report_sink([](nvn::Report, const char*, void*) {}, nullptr);
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
        ASSERT_TRUE(nvnTexturePoolInitialize(textures_, pool_->get(), 0x20000, 300));
        for (int id = 256; id < 258; ++id) {
            Guest<NVNtextureBuilder> tb;
            nvnTextureBuilderSetDevice(tb, nullptr);
            nvnTextureBuilderSetDefaults(tb);
            nvnTextureBuilderSetFormat(tb, NVN_FORMAT_RGBA8);
            nvnTextureBuilderSetSize2D(tb, id - 248, 4); // 8 and 9 wide
            nvnTextureBuilderSetStorage(tb, pool_->get(), 0x30000);
            Guest<NVNtexture> t;
            ASSERT_TRUE(nvnTextureInitialize(t, tb));
            nvnTexturePoolRegisterTexture(textures_, id, t, nullptr);
        }
        for (const Stage stage : {Stage::vertex, Stage::fragment, Stage::compute}) {
            auto shader = std::make_shared<nvn::Shader>();
            shader->id = static_cast<uint32_t>(stage) + 1;
            shader->reflection.interface.stage = stage;
            for (const BindingKind kind : {BindingKind::driver, BindingKind::uniform, BindingKind::texture}) {
                Binding binding;
                binding.kind = kind;
                binding.bytes_read = 0x660;
                shader->reflection.interface.bindings.push_back(binding);
            }
            auto program = std::make_shared<nvn::Program>();
            nvn::ProgramStage& s = program->stages[static_cast<unsigned>(stage)];
            s.present = true;
            s.stage = stage;
            s.shader = shader;
            interpreter_->state(queue_->serial)->programs[static_cast<unsigned>(stage)] = program;
        }
        nvnCommandBufferAddCommandMemory(cmd_, pool_->get(), 0, 0x10000);
        nvnCommandBufferAddControlMemory(cmd_, control_, sizeof control_);
        nvnCommandBufferBeginRecording(cmd_);
        nvnCommandBufferSetTexturePool(cmd_, textures_);
    }
    void TearDown() override {
        nvnQueueFinalize(queue_);
        nvnTexturePoolFinalize(textures_);
        pool_.reset();
        Host::get().reset();
        nvn::set_report_sink(nullptr, nullptr);
    }

    NullBackend backend_;
    std::unique_ptr<Interpreter> interpreter_;
    std::unique_ptr<GuestPool> pool_;
    Guest<NVNqueue> queue_;
    Guest<NVNcommandBuffer> cmd_;
    Guest<NVNtexturePool> textures_;
    alignas(8) uint8_t control_[4096];
};

TEST_F(Steady, ReplayTakesNoHeapMemory) {
    const uint64_t buffer = pool_->address() + 0x28000;
    NVNblendState blend{};
    nvnBlendStateSetDefaults(&blend);
    for (int i = 0; i < 200; ++i) {
        nvnCommandBufferBindUniformBuffer(cmd_, NVN_SHADER_STAGE_VERTEX, 0, buffer, 256);
        nvnCommandBufferBindTexture(cmd_, NVN_SHADER_STAGE_FRAGMENT, 0, 256);
        if (i % 3 == 0)
            nvnCommandBufferBindBlendState(cmd_, &blend);
        nvnCommandBufferDrawArrays(cmd_, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
        nvnCommandBufferDispatchCompute(cmd_, 1, 1, 1);
        nvnCommandBufferClearBuffer(cmd_, buffer, 64, 1);
        nvnCommandBufferBarrier(cmd_, 1);
    }
    const NVNcommandHandle h = nvnCommandBufferEndRecording(cmd_);
    nvnQueueSubmitCommands(queue_, 1, &h);
    const uint64_t before = g_allocations;
    for (int frame = 0; frame < 3; ++frame)
        nvnQueueSubmitCommands(queue_, 1, &h);
    EXPECT_EQ(g_allocations, before);
    EXPECT_EQ(backend_.draws, 800u);
    EXPECT_EQ(backend_.dispatches, 800u);
}

TEST_F(Steady, DeferredHandlesAreReadAtEachExecution) {
    const uint64_t handles = pool_->address() + 0x29000;
    nvnCommandBufferBindTexturesDeferred(cmd_, NVN_SHADER_STAGE_COMPUTE, 0, 1, handles);
    nvnCommandBufferDispatchCompute(cmd_, 1, 1, 1);
    const NVNcommandHandle h = nvnCommandBufferEndRecording(cmd_);
    std::vector<uint32_t> widths;
    backend_.on_dispatch = [&](const DispatchCall& call) {
        for (const Resource& r : *call.work.resources)
            if (r.kind == ResourceKind::texture)
                widths.push_back(r.texture.texture.width);
    };
    for (const uint64_t id : {256, 257}) {
        std::memcpy(pool_->memory() + 0x29000, &id, 8);
        nvnQueueSubmitCommands(queue_, 1, &h);
    }
    EXPECT_EQ(widths, (std::vector<uint32_t>{8, 9}));
}

} // namespace
} // namespace dmsh::replay
