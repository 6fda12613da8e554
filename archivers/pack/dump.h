// Text and JSON of interfaces and pack entries, for people and scripts.
#pragma once
#include "runtime/pack/library_pack.h"

namespace dmsh {

// One line per fact, stable order; ends with a newline.
std::string reflection_text(const ProgramReflection& reflection);
// One JSON object; stable order of members, no trailing newline.
std::string reflection_json(const ProgramReflection& reflection);
// "key stage arch kind codec stored/expanded losses" of one entry, without newline.
std::string entry_text(const ProgramEntry& entry);
std::string entry_json(const ProgramEntry& entry);

} // namespace dmsh
