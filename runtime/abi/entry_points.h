// Names of entry points inside library slices (stages-and-linking.md, "Entry points").
#pragma once

namespace dmsh {

constexpr const char* kEntryMain = "main0"; // every stage; Vulkan and Metal alike

// Metal: the buffer slot of a stage's argument buffer, and the bytes of one of its entries (pointer, texture, sampler).
constexpr unsigned kMetalArgumentSlot = 0;
constexpr unsigned kMetalArgumentBytes = 8;

} // namespace dmsh
