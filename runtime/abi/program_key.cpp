// Computes program keys.
#include "runtime/abi/program_key.h"
#define XXH_INLINE_ALL
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <xxhash.h>

namespace dmsh {

uint64_t program_key(std::span<const uint8_t> control, std::span<const uint8_t> code, KeySkip skip) {
    uint8_t head[kKeyControlBytes];
    size_t n = std::min<size_t>(control.size(), kKeyControlBytes);
    if (n)
        std::memcpy(head, control.data(), n);
    const auto zero = [&](size_t from, size_t length) {
        if (from < n)
            std::memset(head + from, 0, std::min(length, n - from));
    };
    zero(skip.offset, skip.length);
    uint32_t major = 0;
    if (n >= 0x34) {
        std::memcpy(&major, control.data() + 4, 4);
        if (major == 0xc9) { // NVN2: where the pack put the code is not part of the program
            zero(0x30, 4);
            n = std::min<size_t>(n, kKeyNvn2ControlBytes);
        }
    }
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, head, n);
    XXH3_64bits_update(&state, code.data(), code.size());
    return XXH3_64bits_digest(&state);
}

std::string key_text(uint64_t key) {
    char buf[17];
    std::snprintf(buf, sizeof buf, "%016llx", static_cast<unsigned long long>(key));
    return buf;
}

} // namespace dmsh
