// IrMachine: one array of guest memory and one call around the JIT's machine (compiler/sim/jit), for tests of lifted and bound IR.
#pragma once
#include "compiler/lift/intrinsics.h"
#include "compiler/lift/shader_module.h"
#include <array>
#include <map>
#include <string>
#include <vector>

namespace dmsh::test {

// Guest memory is one array at `kGlobalBase`; banks are c[0]..c[17]. Accesses outside are counted as faults and read zero.
struct IrMachine {
    static constexpr uint64_t kGlobalBase = 0x100000000ull;

    std::vector<uint8_t> global;
    std::array<std::vector<uint8_t>, 18> banks;
    // Bound IR: buffers by binding, and `global` once more at its address on the device.
    static constexpr uint64_t kDeviceBase = 0x7000000000ull;
    std::map<uint32_t, std::vector<uint8_t>> buffers;
    std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}; // block: also the invocations of a graphics stage
    uint32_t shared_bytes = 0, local_bytes = 0;

    std::map<uint32_t, uint32_t> colours; // fragment: what was written, by target * 4 + component
    bool demoted = false;                  // fragment: some invocation was
    std::map<uint32_t, uint32_t> specials; // by SpecialRegister, over the launch's values
    std::string faults; // the first few, as text

    // Runs every thread of the grid; consumes the shader. An error says what the machine has no meaning for.
    Result<void> run(ShaderModule shader);
};

} // namespace dmsh::test
