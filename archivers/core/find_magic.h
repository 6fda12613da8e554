// Finds the next of several four-byte magics at any alignment, at memory speed.
#pragma once
#include "archivers/core/bytes.h"
#include <array>

namespace dmsh {

struct MagicHit {
    uint64_t offset = 0;
    unsigned which = 0; // index in the list
};

// The first hit at or after `from`, or nothing. Magics are little-endian words.
std::optional<MagicHit> find_magic(Bytes data, uint64_t from, const std::array<uint32_t, 3>& magics);

} // namespace dmsh
