// What `dmshc inspect FILE.metallib` prints: functions, hashes, versions and signatures, for any library.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace dmsh {

// Text for people, or one JSON object. A file that cannot be read gives one "error: ..." line (JSON:
// {"error": ...}); a module that LLVM 15 cannot parse is named and the rest is printed.
std::string inspect_metallib(std::span<const uint8_t> bytes, bool json);

} // namespace dmsh
