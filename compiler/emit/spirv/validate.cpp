// The SPIRV-Tools validator and disassembler, in process.
#include "compiler/emit/spirv/spirv_emitter.h"
#include "compiler/lift/losses.h"
#include <spirv-tools/libspirv.h>

namespace dmsh {

Result<void> validate_spirv(std::span<const uint32_t> words) {
    spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
    spv_const_binary_t binary{words.data(), words.size()};
    spv_diagnostic diagnostic = nullptr;
    const spv_result_t r = spvValidate(context, &binary, &diagnostic);
    Result<void> result;
    if (r != SPV_SUCCESS) {
        Error e{"spirv-val: " + (diagnostic && diagnostic->error
                                     ? std::string(diagnostic->error)
                                     : "error " + std::to_string(static_cast<int>(r)))};
        e.code = static_cast<uint16_t>(LossCode::spirv_invalid);
        if (diagnostic)
            e.offset = diagnostic->position.index;
        result = e;
    }
    spvDiagnosticDestroy(diagnostic);
    spvContextDestroy(context);
    return result;
}

std::string disassemble_spirv(std::span<const uint32_t> words) {
    spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
    spv_text text = nullptr;
    spv_diagnostic diagnostic = nullptr;
    std::string out;
    const uint32_t options = SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
    if (spvBinaryToText(context, words.data(), words.size(), options, &text, &diagnostic) == SPV_SUCCESS &&
        text)
        out.assign(text->str, text->length);
    else if (diagnostic && diagnostic->error)
        out = std::string("; not SPIR-V: ") + diagnostic->error + "\n";
    spvTextDestroy(text);
    spvDiagnosticDestroy(diagnostic);
    spvContextDestroy(context);
    return out;
}

} // namespace dmsh
