// Compares sixteen places at once: first and last byte of each magic, then the whole word where both fit.
#include "archivers/core/find_magic.h"

namespace dmsh {
namespace {

using Lanes = uint8_t __attribute__((vector_size(16)));
using Words = uint64_t __attribute__((vector_size(16)));

Lanes load(const uint8_t* p) {
    Lanes v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

Lanes splat(uint32_t byte) {
    Lanes v = {};
    return v + static_cast<uint8_t>(byte);
}

} // namespace

std::optional<MagicHit> find_magic(Bytes data, uint64_t from, const std::array<uint32_t, 3>& magics) {
    const auto hit_at = [&](uint64_t at) -> std::optional<MagicHit> {
        const uint32_t word = data.u32(at);
        for (unsigned i = 0; i < magics.size(); ++i)
            if (word == magics[i])
                return MagicHit{at, i};
        return std::nullopt;
    };
    if (!data.has(from, 4))
        return std::nullopt;
    Lanes first[3], last[3];
    for (unsigned i = 0; i < 3; ++i) {
        first[i] = splat(magics[i] & 255);
        last[i] = splat(magics[i] >> 24);
    }
    const uint64_t size = data.size();
    const uint8_t* p = data.data();
    uint64_t at = from;
    for (; size - at >= 64 + 3; at += 64) {
        Lanes any = {};
        for (unsigned k = 0; k < 64; k += 16) {
            const Lanes a = load(p + at + k), b = load(p + at + k + 3);
            for (unsigned i = 0; i < 3; ++i)
                any |= (Lanes)(a == first[i]) & (Lanes)(b == last[i]);
        }
        const Words w = (Words)any;
        if (w[0] | w[1])
            for (uint64_t j = at; j < at + 64; ++j)
                if (const auto hit = hit_at(j))
                    return hit;
    }
    for (; data.has(at, 4); ++at)
        if (const auto hit = hit_at(at))
            return hit;
    return std::nullopt;
}

} // namespace dmsh
