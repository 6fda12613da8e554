// Whole-file input and output for the compiler.
#pragma once
#include "runtime/abi/result.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dmsh {

// The file's bytes. The error names the file and the system's reason.
Result<std::vector<uint8_t>> read_file(const std::string& path);

// Writes all bytes to `path` ("-" = standard output) through a temporary file beside it, so that nobody sees a half.
Result<void> write_file(const std::string& path, std::span<const uint8_t> bytes);
Result<void> write_file(const std::string& path, std::string_view text);

} // namespace dmsh
