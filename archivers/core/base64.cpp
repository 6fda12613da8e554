// base64 of RFC 4648, strict.
#include "archivers/core/codecs.h"
#include <array>

namespace dmsh {
namespace {

constexpr uint8_t kNone = 0xff;

constexpr std::array<uint8_t, 256> kValues = [] {
    std::array<uint8_t, 256> t{};
    t.fill(kNone);
    const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (uint8_t i = 0; i < 64; ++i)
        t[static_cast<uint8_t>(letters[i])] = i;
    return t;
}();

} // namespace

Result<Blob> decode_base64(Bytes text, WorkBudget& budget) {
    const Error bad{"base64: not valid"};
    const uint64_t n = text.size();
    if (n % 4)
        return bad;
    const unsigned padding = n == 0 ? 0 : text.u8(n - 1) != '=' ? 0 : text.u8(n - 2) != '=' ? 1 : 2;
    const uint64_t size = n / 4 * 3 - padding;
    if (const auto ok = budget.charge_expanded(size); !ok)
        return ok.error();
    NewBlob out(size);
    uint8_t* to = out.data();
    uint64_t left = size;
    for (uint64_t at = 0; at < n; at += 4) {
        const uint8_t* p = text.data() + at;
        const unsigned pads = at + 4 == n ? padding : 0;
        const uint8_t a = kValues[p[0]], b = kValues[p[1]];
        const uint8_t c = pads == 2 ? 0 : kValues[p[2]], d = pads ? 0 : kValues[p[3]];
        if ((a | b | c | d) & 0xc0)
            return bad;
        const uint32_t word = a << 18 | b << 12 | c << 6 | d;
        if ((pads == 1 && (word & 0xff)) || (pads == 2 && (word & 0xffff)))
            return bad; // bits that no byte takes
        for (unsigned i = 0; i < 3 && left; ++i, --left)
            *to++ = static_cast<uint8_t>(word >> (16 - 8 * i));
    }
    return std::move(out).finish();
}

} // namespace dmsh
