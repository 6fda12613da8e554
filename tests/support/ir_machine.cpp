// Fills a launch from the test's memory and runs it on the JIT's machine.
#include "tests/support/ir_machine.h"
#include "compiler/sim/jit/ir_machine.h"
#include <cstring>

namespace dmsh::test {
namespace {

// Bits 24..31 of the window base that stands in the driver bank at `offset` (cuda), or a value that no address has.
uint32_t window(const std::vector<uint8_t>& driver_bank, uint32_t offset) {
    uint32_t base = ~0u;
    if (offset == kNone || offset + sizeof base > driver_bank.size())
        return base;
    std::memcpy(&base, driver_bank.data() + offset, sizeof base);
    return base >> 24;
}

} // namespace

Result<void> IrMachine::run(ShaderModule shader) {
    const GuestAbi& abi = *shader.input.abi;
    const Stage stage = shader.interface.stage;
    auto machine = sim::IrMachine::compile(std::move(shader));
    if (!machine)
        return machine.error();
    sim::Launch launch;
    for (size_t b = 0; b < banks.size(); ++b)
        launch.banks[b] = banks[b];
    launch.global = {{kGlobalBase, global}, {kDeviceBase, global}};
    launch.block = block;
    launch.grid = grid;
    launch.shared_bytes = shared_bytes;
    launch.local_bytes = local_bytes;
    launch.shared_window = window(banks[abi.driver_bank], abi.shared_window_base);
    launch.local_window = window(banks[abi.driver_bank], abi.local_window_base);
    machine->specials = specials;
    for (auto& [binding, bytes] : buffers)
        machine->buffers[binding] = bytes;
    sim::Graphics graphics;
    if (stage != Stage::compute) {
        graphics.stage = stage;
        graphics.invocations.resize(size_t{block[0]} * block[1] * block[2]);
        launch.graphics = &graphics;
    }
    if (auto r = machine->run(launch); !r)
        return r.error();
    faults += machine->faults;
    for (const sim::Invocation& v : graphics.invocations) {
        demoted = demoted || v.killed;
        for (uint32_t k = 0; k < v.colour.size(); ++k)
            if (v.colours_written >> k & 1)
                colours[k] = v.colour[k];
    }
    return {};
}

} // namespace dmsh::test
