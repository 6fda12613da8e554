// What a pack's SPIR-V must agree with before a driver, which trusts its input, is given it.
#pragma once
#include "runtime/abi/interface.h"
#include <span>
#include <string>
#include <string_view>
#include <vulkan/vulkan.h>

namespace dmsh::replay::vulkan {

// Empty, or why the module is refused: words that are no module, instructions that leave it, no entry point of this name for the stage, a
// variable bound where the reflection has another kind of resource, fewer elements or nothing. Function bodies are not looked into:
// they are covered by the pack's checksums alone.
std::string module_fault(std::span<const uint32_t> words, const ShaderInterface& face, std::string_view entry);

// The descriptor type of a binding of set 0.
VkDescriptorType descriptor_type(const Binding& binding);

} // namespace dmsh::replay::vulkan
