// Runs a translated shader as AIR on a launch of the interpreter: its argument buffer filled as the guest ABI says.
#pragma once
#include "compiler/lift/shader_module.h"
#include "compiler/passes/pipeline.h"
#include "compiler/sim/air/executor.h"
#include "compiler/sim/machine.h"

namespace dmsh::sim {

class AirGuest {
  public:
    // Emits and loads the shader, which is legalised for Metal. An error names what emission or the executor has no form of.
    static Result<AirGuest> compile(const ShaderModule& shader, Target target = Target::macos);

    // Memory, images and graphics results are the launch's afterwards. Invocation::written tells which words AIR returned; positions are
    // Metal's (metal_position). Banks are read as of the start.
    Result<void> run(const Launch& launch);

    const std::string& faults() const { return machine_.faults; }

  private:
    AirGuest(AirMachine machine, ShaderInterface interface, const GuestAbi& abi)
        : machine_(std::move(machine)), interface_(std::move(interface)), abi_(&abi) {}
    AirMachine machine_;
    ShaderInterface interface_; // with metal ids
    const GuestAbi* abi_;
};

// The guest's clip-space z as AIR's entries return it (L-020), of position words x, y, z, w.
uint32_t metal_position_z(uint32_t z, uint32_t w);

} // namespace dmsh::sim
