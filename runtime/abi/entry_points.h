// Names of entry points inside library slices (stages-and-linking.md, "Entry points").
#pragma once

namespace dmsh {

constexpr const char* kEntryMain = "main0"; // every stage; Vulkan and Metal alike

} // namespace dmsh
