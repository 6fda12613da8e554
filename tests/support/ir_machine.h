// IrMachine: runs lifted IR on the CPU for tests, 32 lanes a warp, with plain memory behind the raw dmsh.* intrinsics.
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
    std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
    uint32_t shared_bytes = 0, local_bytes = 0;

    // Graphics: attribute words by byte offset in, outputs by the same offsets; fragment colours by target * 4 + component.
    std::map<uint32_t, uint32_t> attributes, outputs, colours;
    std::map<uint32_t, uint32_t> specials; // by SpecialRegister, over the compute values
    bool demoted = false;

    std::string faults; // the first few, as text
    const GuestAbi* abi = nullptr; // set by run(): the shader's

    // Runs every thread of the grid; consumes the shader. An error says what the machine has no meaning for.
    Result<void> run(ShaderModule shader);
};

} // namespace dmsh::test
