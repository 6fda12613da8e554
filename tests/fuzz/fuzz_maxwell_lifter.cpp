// libFuzzer target: the Maxwell decoder, control-flow recovery, lifter, passes and SPIR-V emitter on arbitrary code.
#include "compiler/emit/spirv/spirv_emitter.h"
#include "compiler/lift/lifter.h"
#include "compiler/passes/pipeline.h"
#include <algorithm>
#include <cstdlib>

// Byte 0 chooses the stage and the guest ABI, the rest is what --raw takes: the SPH for graphics, then code.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace dmsh;
    if (size < 1)
        return 0;
    ShaderInput input;
    constexpr Stage stages[] = {Stage::compute, Stage::vertex, Stage::fragment, Stage::geometry};
    input.stage = stages[data[0] & 3];
    input.abi = &guest_abi(static_cast<GuestAbiId>(data[0] >> 2 & 3));
    std::span<const uint8_t> bytes(data + 1, size - 1);
    if (input.stage != Stage::compute) {
        if (bytes.size() < 0x50)
            return 0;
        input.sph = bytes.first(0x50);
        bytes = bytes.subspan(0x50);
    }
    input.code = bytes;
    input.constants = bytes.first(std::min<size_t>(bytes.size(), 64));
    auto shader = lift(input);
    if (!shader || !run_passes(*shader) || !legalize_vulkan(*shader))
        return 0;
    const auto words = emit_spirv(*shader);
    // What is emitted must be valid: anything else is a fault of ours.
    if (words && !validate_spirv(*words))
        std::abort();
    return 0;
}
