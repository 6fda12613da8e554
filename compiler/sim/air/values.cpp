// Scalars inside values as LLVM stores them.
#include "compiler/sim/air/program.h"
#include "compiler/sim/operands.h"
#include <bit>
#include <cstring>

namespace dmsh::sim {

uint64_t air_word(const AirType& type, const void* value, uint32_t k) {
    const uint32_t bytes = type.bits < 8 ? 1 : type.bits / 8u;
    uint64_t w = 0;
    std::memcpy(&w, static_cast<const uint8_t*>(value) + size_t{k} * bytes, bytes);
    return type.bits == 1 ? w & 1 : w;
}

int64_t air_signed(const AirType& type, const void* value, uint32_t k) {
    const unsigned up = 64u - type.bits;
    return static_cast<int64_t>(air_word(type, value, k) << up) >> up;
}

void air_set_word(const AirType& type, void* value, uint32_t k, uint64_t v) {
    const uint32_t bytes = type.bits < 8 ? 1 : type.bits / 8u;
    std::memcpy(static_cast<uint8_t*>(value) + size_t{k} * bytes, &v, bytes);
}

double air_real(const AirType& type, const void* value, uint32_t k) {
    const uint64_t w = air_word(type, value, k);
    if (type.scalar == AirType::Scalar::integer)
        return static_cast<double>(air_signed(type, value, k));
    if (type.scalar == AirType::Scalar::brain)
        return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(w) << 16));
    switch (type.bits) {
    case 16: return static_cast<double>(half_to_float(static_cast<uint16_t>(w)));
    case 32: return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(w)));
    default: return std::bit_cast<double>(w);
    }
}

void air_set_real(const AirType& type, void* value, uint32_t k, double v) {
    if (type.scalar == AirType::Scalar::brain) {
        uint32_t w = std::bit_cast<uint32_t>(static_cast<float>(v));
        w = v != v ? w | 0x400000 : w + 0x7fff + (w >> 16 & 1);
        return air_set_word(type, value, k, w >> 16);
    }
    switch (type.bits) {
    case 16: return air_set_word(type, value, k, float_to_half(static_cast<float>(v)));
    case 32: return air_set_word(type, value, k, std::bit_cast<uint32_t>(static_cast<float>(v)));
    default: return air_set_word(type, value, k, std::bit_cast<uint64_t>(v));
    }
}

} // namespace dmsh::sim
