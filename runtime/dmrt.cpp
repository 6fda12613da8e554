// Wires packs, backend and NVN host together.
#include "runtime/dmrt.h"
#include "runtime/replay/null/null_backend.h"
#ifdef DMSH_HAS_VULKAN
#include "runtime/replay/vulkan/vulkan_backend.h"
#endif

namespace dmsh {

Result<std::unique_ptr<Runtime>> Runtime::create(const RuntimeOptions& options) {
    nvn::Host& host = nvn::Host::get();
    if (host.executor())
        return Error{"a runtime exists already in this process"};
    std::unique_ptr<Runtime> r(new Runtime());
    std::string target;
    if (options.null_backend) {
        r->backend_ = std::make_unique<replay::NullBackend>();
    } else {
#ifdef DMSH_HAS_VULKAN
        target = "vulkan";
        replay::VulkanOptions vulkan;
        vulkan.device = options.device;
        vulkan.validation = options.validation;
        vulkan.import_memory = options.import_memory;
        vulkan.software_blocks = options.software_blocks;
        vulkan.stand_ins = options.stand_ins;
        auto backend = replay::create_vulkan_backend(vulkan);
        if (!backend)
            return backend.error();
        r->backend_ = std::move(*backend);
#else
        return Error{"this build has no backend that draws"};
#endif
    }
    std::vector<LibraryPack> packs;
    for (const std::string& path : options.libraries) {
        auto pack = LibraryPack::open(path);
        if (!pack)
            return pack.error();
        if (!target.empty() && pack->target() != target)
            return Error{"library pack is for " + std::string(pack->target()) + ", this backend wants " +
                             target,
                         path};
        packs.push_back(std::move(*pack));
    }
    for (LibraryPack& pack : packs)
        host.add_library(std::move(pack));
    host.set_key_skip(options.key_skip);
    host.set_sdk(options.sdk);
    r->interpreter_ = std::make_unique<replay::Interpreter>(*r->backend_);
    host.set_executor(r->interpreter_.get());
    return r;
}

Runtime::~Runtime() {
    if (interpreter_)
        nvn::Host::get().reset();
}

} // namespace dmsh
