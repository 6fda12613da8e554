// The Vulkan backend: any device with Vulkan 1.3, dynamic rendering and null descriptors.
#pragma once
#include "runtime/abi/result.h"
#include "runtime/replay/backend.h"

namespace dmsh::replay {

struct VulkanOptions {
    int device = -1;              // index among the usable devices; -1 picks
    bool validation = false;      // the Khronos layer, where installed; its errors and warnings are reports
    bool stand_ins = false;       // leave out draws whose pipelines are still being compiled
    bool software_blocks = false; // decode block-compressed formats even where the device has them
    bool import_memory = true;    // use guest pools in place where the device can; else copies
};

struct VulkanInfo {
    std::string device;
    bool imports_memory = false;
    bool depth_minus_one = false;
    uint64_t pipelines = 0;
    uint64_t pipeline_misses = 0; // draws and dispatches that came before their pipeline
    uint64_t left_out = 0;        // with stand-ins on
    bool validated = false; // the layer watches
    uint64_t validation_errors = 0, validation_warnings = 0;
};

class VulkanBackendBase : public Backend {
  public:
    virtual VulkanInfo info() const = 0;
    // Waits until every pipeline asked for is compiled.
    virtual void finish_pipelines() = 0;
};

// Errors say what the machine lacks.
Result<std::unique_ptr<VulkanBackendBase>> create_vulkan_backend(const VulkanOptions& options = {});

} // namespace dmsh::replay
