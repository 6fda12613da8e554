// Reads of memory that the guest named and that may not exist.
#pragma once
#include <cstddef>
#include <cstdint>

namespace dmsh::nvn {

// Copies up to `bytes` from `address` and answers how many could be read; a hole ends the copy, never the
// process.
size_t safe_read(uint64_t address, void* out, size_t bytes);

} // namespace dmsh::nvn
