// SHA-256, for the checksums that executables carry.
#pragma once
#include "archivers/core/bytes.h"
#include <array>

namespace dmsh {

std::array<uint8_t, 32> sha256(Bytes data);

} // namespace dmsh
