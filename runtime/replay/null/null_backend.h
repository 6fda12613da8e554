// A backend without a GPU: does buffer work on the CPU, counts or records everything else.
#pragma once
#include "runtime/replay/backend.h"
#include <atomic>
#include <functional>

namespace dmsh::replay {

class NullBackend final : public Backend {
  public:
    const char* name() const override { return "null"; }
    bool raw_memory() const override { return addresses; }
    bool whole_id_pools() const override { return addresses; }
    uint64_t device_address(const nvn::PoolInfo& pool) const override {
        return reinterpret_cast<uint64_t>(pool.memory) + device_offset;
    }
    void pool_added(const nvn::PoolInfo&) override { ++pools; }
    void pool_removed(const nvn::PoolInfo&) override { --pools; }
    void draw(const DrawCall& call) override;
    void dispatch(const DispatchCall& call) override;
    void clear_color(const Targets&, const RasterState&, uint32_t, uint32_t, uint32_t,
                     const uint32_t[4]) override {
        ++clears;
    }
    void clear_depth_stencil(const Targets&, const RasterState&, bool, float, uint8_t, uint8_t) override {
        ++clears;
    }
    void copy_buffer(uint64_t source, uint64_t destination, uint64_t size) override;
    void fill_buffer(uint64_t address, uint64_t size, uint32_t value) override;
    void update_buffer(uint64_t address, const uint8_t* data, uint32_t size) override;
    void copy_buffer_texture(const BufferTextureCopy&) override { ++copies; }
    void copy_texture(const TextureCopy&) override { ++copies; }
    void barrier(uint32_t) override { ++barriers; }
    void clear_texture(const TextureClear&) override { ++clears; }
    void downsample(const nvn::BoundTexture&, const nvn::BoundTexture&) override { ++copies; }
    void feedback(nvn::Feedback, const std::array<Range, kFeedbackBuffers>&, uint64_t) override {}
    void reset_counter(NVNcounterType) override {}
    void report_counter(NVNcounterType, uint64_t address) override { report(0, address); }
    void report_value(uint32_t value, uint64_t address) override { report(value, address); }
    void render_enable(nvn::RenderEnable, uint64_t) override {}
    bool read_memory(uint64_t address, void* out, uint32_t bytes) override;
    void present(const nvn::Present& p) override {
        ++presents;
        if (on_present)
            on_present(p);
    }
    uint64_t flush() override {
        commit();
        return ++fence;
    }
    // Complete at once, unless a test holds fences back.
    bool wait(uint64_t f, uint64_t) override { return f <= complete; }
    void store_texture(const nvn::TextureDesc&) override {}

    // Called with each draw and dispatch while their resources are valid.
    std::function<void(const DrawCall&)> on_draw;
    std::function<void(const DispatchCall&)> on_dispatch;
    std::function<void(const nvn::Present&)> on_present;
    bool addresses = true;      // claims to reach pools by address and whole pools of ids
    uint64_t device_offset = 0; // from guest to device addresses
    // Tables that the words of the encoded work name, in order; emptied when that work would run, after re-pointing.
    std::vector<std::shared_ptr<const PoolTable>> words;
    std::function<void(const std::vector<std::shared_ptr<const PoolTable>>&)> on_commit;
    int pools = 0;
    uint64_t draws = 0, dispatches = 0, clears = 0, copies = 0, barriers = 0, fence = 0, presents = 0;
    std::atomic<uint64_t> complete{~uint64_t{0}};

  private:
    void encode(const BoundWork& work);
    void commit();
    void report(uint64_t value, uint64_t address); // with a timestamp of 0
};

} // namespace dmsh::replay
