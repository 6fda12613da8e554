// Covers: the fewest pixel shaders that together read every input that any of them reads (L-004).
#pragma once
#include <bitset>
#include <cstdint>
#include <vector>

namespace dmsh {

struct CoverInput {
    uint64_t key = 0;
    std::bitset<256> inputs; // attribute words, as AttributeSet in nvn/sph.h
};

// Keys of the chosen shaders, rising. The fewest there are (past four, what picking the most new inputs each
// time finds); among equals the smallest keys. The order of the input does not matter. Nothing if none reads
// anything.
std::vector<uint64_t> smallest_cover(std::vector<CoverInput> shaders);

} // namespace dmsh
