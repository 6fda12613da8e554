// A guest on the Vulkan backend for tests: programs from GLSL that glslang compiled, a pool, textures,
// command lists.
#pragma once
#include "runtime/dmrt.h"
#include "runtime/nvn/nvn.h"
#include "runtime/replay/vulkan/vulkan_backend.h"
#include "tests/nvn/guest.h"
#include <deque>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace dmsh::test {

// One stage. Bindings are those of the reflection; in the text binding i is B(i). Vertex inputs: bit per
// location.
struct GlslShader {
    Stage stage = Stage::vertex;
    std::string text; // without #version
    std::vector<Binding> bindings;
    uint32_t inputs = 0;
};

Binding bind(BindingKind kind, uint32_t slot = 0);

struct TextureShape {
    uint32_t width = 16, height = 16, depth = 1;
    NVNformat format = NVN_FORMAT_RGBA8;
    NVNtextureTarget target = NVN_TEXTURE_TARGET_2D;
    int levels = 1, samples = 0, flags = 0;
};

// One program per element of `programs`. Every report of the runtime is kept; the test fails at the end if a
// validation layer found an error.
class Machine {
  public:
    explicit Machine(std::vector<std::vector<GlslShader>> programs, RuntimeOptions options = {});
    ~Machine();
    // Null: the machine has no Vulkan device, the test is skipped.
    bool usable() const { return runtime_ != nullptr; }
    Runtime& runtime() { return *runtime_; }
    replay::VulkanInfo info() const;

    // Pool memory.
    NVNbufferAddress take(size_t bytes, size_t alignment = 256);
    template <class T>
    NVNbufferAddress put(const std::vector<T>& data) {
        const NVNbufferAddress at = take(data.size() * sizeof(T));
        std::memcpy(reinterpret_cast<void*>(at), data.data(), data.size() * sizeof(T));
        return at;
    }
    template <class T>
    T at(NVNbufferAddress address, size_t index = 0) const {
        T v;
        std::memcpy(&v, reinterpret_cast<const T*>(address) + index, sizeof v);
        return v;
    }

    NVNtexture* texture(const TextureShape& shape);
    NVNprogram* program(size_t i) { return programs_[i]; }
    NVNmemoryPool* pool() { return pool_->get(); }
    NVNcommandBuffer* cmd() { return cmd_; }
    NVNqueue* queue() { return *queue_; }
    // Binds a program's stages, one colour target with its viewport and scissor, no culling, no depth test.
    void draw_to(NVNtexture* color, size_t program, NVNtexture* depth = nullptr);
    // Submits what was recorded, waits, and begins anew.
    void run();
    // Begins the next list, for tests that end and submit the last one themselves.
    void again() { begin(); }
    // Rows of one level and layer (or slice), tight, through a copy that the guest records. Runs.
    std::vector<uint8_t> pixels(NVNtexture* texture, int level = 0, int layer = 0);
    template <class T>
    std::vector<T> pixels_as(NVNtexture* texture, int level = 0, int layer = 0) {
        const auto bytes = pixels(texture, level, layer);
        std::vector<T> out(bytes.size() / sizeof(T));
        std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
        return out;
    }
    void write(NVNtexture* texture, const void* texels, int level = 0, int layer = 0);

    // Lines that the runtime reported so far.
    const std::vector<std::string>& lines() const { return lines_; }
    bool said(const std::string& part) const;

  private:
    void begin();

    std::vector<std::string> lines_;
    std::unique_ptr<Runtime> runtime_;
    std::unique_ptr<nvn::GuestPool> pool_;
    size_t used_ = 0;
    std::unique_ptr<nvn::Guest<NVNqueue>> queue_;
    nvn::Guest<NVNcommandBuffer> cmd_;
    std::deque<nvn::Guest<NVNprogram>> programs_;
    std::deque<nvn::Guest<NVNtexture>> textures_;
    NVNbufferAddress commands_ = 0;
    std::vector<uint64_t> control_;
};

// Skips the test where the machine has no device.
#define NEED(machine)                                                                                        \
    if (!(machine).usable())                                                                                 \
    GTEST_SKIP() << "no Vulkan device"

} // namespace dmsh::test
