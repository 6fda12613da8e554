// Vulkan legalisation.
#include "compiler/passes/pipeline.h"
namespace dmsh {
Result<void> legalize_vulkan(ShaderModule&) {
    return {};
}
} // namespace dmsh
