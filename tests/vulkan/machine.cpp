// Boots the runtime with a pack of glslang's SPIR-V and plays the guest.
#include "tests/vulkan/machine.h"
#include "archivers/pack/library_writer.h"
#include "runtime/abi/program_key.h"
#include "runtime/nvn/formats.h"
#include "tests/support/vulkan_harness.h"
#include "tests/writers/writers.h"
#include <fstream>
#include <unistd.h>

namespace dmsh::test {
namespace {

constexpr size_t kPoolBytes = 48 << 20, kCommandBytes = 256 << 10;

const char* glslang_name(Stage stage) {
    constexpr const char* names[] = {"vert", "frag", "geom", "tesc", "tese", "comp", "task", "mesh"};
    return names[static_cast<unsigned>(stage)];
}

void keep_line(nvn::Report, const char* line, void* user) {
    static_cast<std::vector<std::string>*>(user)->push_back(line);
}

} // namespace

Binding bind(BindingKind kind, uint32_t slot) {
    Binding b;
    b.kind = kind;
    b.slot = slot;
    b.bytes_read = 0x870;
    return b;
}

Machine::Machine(std::vector<std::vector<GlslShader>> programs, RuntimeOptions options) {
    LibraryWriter writer("vulkan", "tests");
    std::vector<std::vector<writers::Pair>> pairs;
    uint32_t counter = 1;
    for (const auto& program : programs) {
        pairs.emplace_back();
        for (const GlslShader& shader : program) {
            pairs.back().push_back(writers::small_pair(shader.stage, counter++));
            const writers::Pair& pair = pairs.back().back();
            ProgramReflection r;
            r.entry = "main";
            r.interface.stage = shader.stage;
            r.interface.bindings = shader.bindings;
            for (uint8_t i = 0; i < 32; ++i)
                if (shader.inputs >> i & 1)
                    r.interface.inputs.push_back({i, 15, Numeric::real, 0, false, false});
            const auto words =
                compile_glsl(glslang_name(shader.stage),
                             "#version 460\n#define B(i) (" +
                                 std::to_string(static_cast<unsigned>(shader.stage) * kMaxBindings) +
                                 " + (i))\n" + shader.text);
            if (!words) {
                ADD_FAILURE() << words.error().text();
                return;
            }
            auto encoded =
                encode_program(program_key(pair.control, pair.code), r, SliceKind::spirv,
                               {reinterpret_cast<const uint8_t*>(words->data()), words->size() * 4});
            if (!encoded) {
                ADD_FAILURE() << encoded.error().text();
                return;
            }
            writer.add(std::move(*encoded));
        }
    }
    const std::string path =
        std::string(DMSH_BINARY_DIR) + "/vulkan_test." + std::to_string(getpid()) + ".dmlib";
    if (auto written = writer.write(path); !written) {
        ADD_FAILURE() << written.error().text();
        return;
    }
    nvn::reset_reports();
    nvn::set_report_sink(keep_line, &lines_);
    options.libraries = {path};
    options.validation = true;
    auto runtime = Runtime::create(options);
    std::remove(path.c_str()); // mapped already
    if (!runtime) {
        std::printf("no device: %s\n", runtime.error().text().c_str());
        return;
    }
    runtime_ = std::move(*runtime);
    pool_ = std::make_unique<nvn::GuestPool>(kPoolBytes);
    queue_ = std::make_unique<nvn::Guest<NVNqueue>>();
    nvn::Guest<NVNqueueBuilder> qb;
    nvnQueueBuilderSetDevice(qb, nullptr);
    nvnQueueBuilderSetDefaults(qb);
    EXPECT_TRUE(nvnQueueInitialize(*queue_, qb));
    for (const auto& stages : pairs) {
        NVNprogram* p = programs_.emplace_back();
        std::vector<NVNshaderData> data;
        for (const writers::Pair& pair : stages)
            data.push_back(
                {put(std::vector<uint8_t>(pair.code.begin(), pair.code.end())), pair.control.data()});
        EXPECT_TRUE(nvnProgramInitialize(p, nullptr));
        EXPECT_TRUE(nvnProgramSetShaders(p, static_cast<int>(data.size()), data.data()));
    }
    EXPECT_TRUE(nvnCommandBufferInitialize(cmd_, nullptr));
    commands_ = take(kCommandBytes);
    control_.resize(1024);
    begin();
}

Machine::~Machine() {
    if (runtime_) {
        EXPECT_TRUE(info().validated) << "the tests ask for the package vulkan-validationlayers";
        EXPECT_EQ(info().validation_errors + info().validation_warnings, 0u);
        for (const std::string& line : lines_)
            if (line.find("validation") != std::string::npos || ::testing::Test::HasFailure())
                std::printf("%s\n", line.c_str());
        nvnCommandBufferFinalize(cmd_);
        for (auto& t : textures_)
            nvnTextureFinalize(t);
        for (auto& p : programs_)
            nvnProgramFinalize(p);
        nvnQueueFinalize(*queue_);
        pool_.reset();
        runtime_.reset();
    }
    nvn::set_report_sink(nullptr, nullptr);
}

replay::VulkanInfo Machine::info() const {
    return static_cast<replay::VulkanBackendBase&>(runtime_->backend()).info();
}

NVNbufferAddress Machine::take(size_t bytes, size_t alignment) {
    used_ = (used_ + alignment - 1) / alignment * alignment;
    const NVNbufferAddress at = pool_->address() + used_;
    used_ += bytes;
    EXPECT_LE(used_, kPoolBytes);
    return at;
}

NVNtexture* Machine::texture(const TextureShape& s) {
    nvn::Guest<NVNtextureBuilder> b;
    nvnTextureBuilderSetDevice(b, nullptr);
    nvnTextureBuilderSetDefaults(b);
    nvnTextureBuilderSetTarget(b, s.target);
    nvnTextureBuilderSetFlags(b, s.flags);
    nvnTextureBuilderSetSize3D(b, static_cast<int>(s.width), static_cast<int>(s.height),
                               static_cast<int>(s.depth));
    nvnTextureBuilderSetLevels(b, s.levels);
    nvnTextureBuilderSetFormat(b, s.format);
    if (s.samples)
        nvnTextureBuilderSetSamples(b, s.samples);
    const NVNbufferAddress at =
        take(nvnTextureBuilderGetStorageSize(b), nvnTextureBuilderGetStorageAlignment(b));
    nvnTextureBuilderSetStorage(b, pool_->get(), static_cast<ptrdiff_t>(at - pool_->address()));
    NVNtexture* t = textures_.emplace_back();
    EXPECT_TRUE(nvnTextureInitialize(t, b));
    return t;
}

void Machine::begin() {
    nvnCommandBufferAddCommandMemory(cmd_, pool_->get(), static_cast<ptrdiff_t>(commands_ - pool_->address()),
                                     kCommandBytes);
    nvnCommandBufferAddControlMemory(cmd_, control_.data(), control_.size() * 8);
    nvnCommandBufferBeginRecording(cmd_);
}

void Machine::run() {
    const NVNcommandHandle list = nvnCommandBufferEndRecording(cmd_);
    nvnQueueSubmitCommands(*queue_, 1, &list);
    nvnQueueFinish(*queue_);
    begin();
}

void Machine::draw_to(NVNtexture* color, size_t program, NVNtexture* depth) {
    NVNcommandBuffer* c = cmd_;
    NVNtexture* const colors[1] = {color};
    nvnCommandBufferSetRenderTargets(c, color ? 1 : 0, colors, nullptr, depth, nullptr);
    NVNtexture* sized = color ? color : depth;
    const int w = nvnTextureGetWidth(sized), h = nvnTextureGetHeight(sized);
    nvnCommandBufferSetViewport(c, 0, 0, w, h);
    nvnCommandBufferSetScissor(c, 0, 0, w, h);
    NVNcolorState cs;
    NVNchannelMaskState mask;
    NVNpolygonState polygon;
    NVNdepthStencilState ds;
    nvnColorStateSetDefaults(&cs);
    nvnChannelMaskStateSetDefaults(&mask);
    nvnPolygonStateSetDefaults(&polygon);
    nvnDepthStencilStateSetDefaults(&ds);
    nvnPolygonStateSetCullFace(&polygon, NVN_FACE_NONE);
    nvnDepthStencilStateSetDepthTestEnable(&ds, 0);
    nvnCommandBufferBindColorState(c, &cs);
    nvnCommandBufferBindChannelMaskState(c, &mask);
    nvnCommandBufferBindPolygonState(c, &polygon);
    nvnCommandBufferBindDepthStencilState(c, &ds);
    nvnCommandBufferBindProgram(c, programs_[program], 0xff);
}

std::vector<uint8_t> Machine::pixels(NVNtexture* t, int level, int layer) {
    const int w = std::max(1, nvnTextureGetWidth(t) >> level),
              h = std::max(1, nvnTextureGetHeight(t) >> level);
    const nvn::FormatInfo f = nvn::format_info(nvnTextureGetFormat(t));
    const size_t columns = (static_cast<size_t>(w) + f.block_width - 1) / f.block_width;
    const size_t rows = (static_cast<size_t>(h) + f.block_height - 1) / f.block_height;
    const size_t bytes = columns * rows * f.bytes;
    const size_t before = used_;
    const NVNbufferAddress out = take(bytes);
    NVNtextureView view;
    nvnTextureViewSetDefaults(&view);
    nvnTextureViewSetLevels(&view, level, 1);
    const NVNcopyRegion region{0, 0, layer, w, h, 1};
    nvnCommandBufferBarrier(cmd_, NVN_BARRIER_ORDER_FRAGMENTS_BIT);
    nvnCommandBufferCopyTextureToBuffer(cmd_, t, &view, &region, out, 0);
    run();
    std::vector<uint8_t> r(bytes);
    std::memcpy(r.data(), reinterpret_cast<const void*>(out), bytes);
    used_ = before;
    return r;
}

void Machine::write(NVNtexture* t, const void* texels, int level, int layer) {
    NVNtextureView view;
    nvnTextureViewSetDefaults(&view);
    nvnTextureViewSetLevels(&view, level, 1);
    const NVNcopyRegion region{0,
                               0,
                               layer,
                               std::max(1, nvnTextureGetWidth(t) >> level),
                               std::max(1, nvnTextureGetHeight(t) >> level),
                               1};
    nvnTextureWriteTexels(t, &view, &region, texels);
}

bool Machine::said(const std::string& part) const {
    for (const std::string& line : lines_)
        if (line.find(part) != std::string::npos)
            return true;
    return false;
}

} // namespace dmsh::test
