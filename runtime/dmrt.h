// libdmrt's front door: a library pack, a backend and the NVN entry points wired together.
#pragma once
#include "runtime/abi/program_key.h"
#include "runtime/abi/result.h"
#include "runtime/replay/backend.h"
#include "runtime/replay/interpreter.h"
#include <memory>
#include <string>
#include <vector>

namespace dmsh {

struct RuntimeOptions {
    std::vector<std::string> libraries; // packs of the backend's target, searched in order
    bool null_backend = false;          // no GPU: records are interpreted, nothing is drawn
    int device = -1;                    // Vulkan device index, -1 picks
    bool validation = false;
    bool import_memory = true;
    bool software_blocks = false; // Vulkan: decode block-compressed formats even where the device has them
    bool stand_ins = false;       // Vulkan: leave out draws whose pipelines are still being compiled
    KeySkip key_skip = {};
    nvn::Sdk sdk = {}; // nvn::sdk_of() by the guest's SDK version
};

// One at a time per process: NVN's objects are the process's. Destroyed after the guest stopped calling.
class Runtime {
  public:
    // Errors name the pack or what the machine lacks; packs made for another target are refused.
    static Result<std::unique_ptr<Runtime>> create(const RuntimeOptions& options);
    ~Runtime();
    Runtime(const Runtime&) = delete;

    replay::Backend& backend() { return *backend_; }
    replay::Interpreter& interpreter() { return *interpreter_; }

  private:
    Runtime() = default;
    std::unique_ptr<replay::Backend> backend_;
    std::unique_ptr<replay::Interpreter> interpreter_;
};

} // namespace dmsh
