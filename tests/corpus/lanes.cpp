// Runs a compute shader where 32 lanes make a warp: machine code in the interpreter, lifted IR in the executor.
#include "tests/corpus/lanes.h"
#include "compiler/lift/lifter.h"
#include "compiler/sim/machine.h"
#include "tests/support/ir_machine.h"

namespace dmsh::test {

Result<Outcome> interpret(const CorpusShader& shader, const Scene& scene) {
    if (!scene.images.empty() || !scene.textures.empty())
        return Error{"uses textures or images"};
    const auto banks = constant_banks(shader, scene);
    sim::Launch launch;
    launch.code = shader.code;
    for (size_t b = 0; b < banks.size(); ++b)
        launch.banks[b] = banks[b];
    launch.block = scene.local_size;
    launch.grid = scene.job.groups;
    launch.shared_bytes = shader.shared_bytes;
    launch.local_bytes = shader.local_bytes;
    Outcome out;
    for (const BufferResource& b : scene.job.buffers)
        out.buffers.push_back(b.bytes);
    for (const auto& [slot, buffer] : scene.storages)
        launch.global.push_back({kStorageBase + uint64_t{kStorageStride} * (slot + 1), out.buffers[buffer]});
    if (auto r = sim::run(launch); !r)
        return r.error();
    return out;
}

Result<Outcome> execute(const CorpusShader& shader, const Scene& scene) {
    if (!scene.images.empty() || !scene.textures.empty())
        return Error{"uses textures or images"};
    static_assert(IrMachine::kGlobalBase == kStorageBase);
    auto module = lift(shader_input(shader));
    if (!module)
        return module.error();
    IrMachine m;
    m.banks = constant_banks(shader, scene);
    m.block = scene.local_size;
    m.grid = scene.job.groups;
    m.shared_bytes = shader.shared_bytes;
    m.local_bytes = shader.local_bytes;
    Outcome out;
    for (const BufferResource& b : scene.job.buffers)
        out.buffers.push_back(b.bytes);
    for (const auto& [slot, buffer] : scene.storages) {
        const size_t at = size_t{kStorageStride} * (slot + 1);
        m.global.resize(std::max(m.global.size(), at + kStorageStride));
        std::copy(out.buffers[buffer].begin(), out.buffers[buffer].end(), m.global.begin() + static_cast<long>(at));
    }
    if (auto r = m.run(*std::move(module)); !r)
        return r.error();
    if (!m.faults.empty())
        return Error{m.faults};
    for (const auto& [slot, buffer] : scene.storages) {
        const size_t at = size_t{kStorageStride} * (slot + 1);
        std::copy_n(m.global.begin() + static_cast<long>(at), out.buffers[buffer].size(), out.buffers[buffer].begin());
    }
    return out;
}

} // namespace dmsh::test
