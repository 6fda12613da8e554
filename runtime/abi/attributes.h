// Where attribute addresses of the hardware lie among the locations of Vulkan and Metal.
#pragma once
#include <cstdint>

namespace dmsh {

// Location of the input or output word a[offset]: generic values 0..31; the fixed-function colours (0x280..)
// and texture coordinates (0x300..) share 18..21 and 22..31 with generic values, which such programs do not
// use. kNoLocation: neither.
constexpr uint32_t kNoLocation = 0xffffffffu;
constexpr uint32_t kFirstFixedLocation = 18;
constexpr uint32_t attribute_location(uint32_t offset) {
    if (offset >= 0x80 && offset < 0x280)
        return (offset - 0x80) / 16;
    if (offset >= 0x280 && offset < 0x2c0)
        return kFirstFixedLocation + (offset - 0x280) / 16;
    if (offset >= 0x300 && offset < 0x3a0)
        return kFirstFixedLocation + 4 + (offset - 0x300) / 16;
    return kNoLocation;
}

} // namespace dmsh
