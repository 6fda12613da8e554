// The Vulkan backend: any device with Vulkan 1.3, dynamic rendering and null descriptors.
#pragma once
#include "runtime/abi/result.h"
#include "runtime/replay/backend.h"

namespace dmsh::replay {

struct VulkanOptions {
    int device = -1;           // index among the usable devices; -1 picks
    bool validation = false;   // the Khronos layer, where installed; its errors are reports
    bool import_memory = true; // use guest pools in place where the device can; else copies
};

struct VulkanInfo {
    std::string device;
    bool imports_memory = false;
    bool depth_minus_one = false;
    uint64_t pipelines = 0;
    uint64_t validation_errors = 0;
};

class VulkanBackendBase : public Backend {
  public:
    virtual VulkanInfo info() const = 0;
};

// Errors say what the machine lacks.
Result<std::unique_ptr<VulkanBackendBase>> create_vulkan_backend(const VulkanOptions& options = {});

} // namespace dmsh::replay
