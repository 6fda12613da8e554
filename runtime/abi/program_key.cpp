// Computes program keys.
#include "runtime/abi/program_key.h"
#define XXH_INLINE_ALL
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <xxhash.h>

namespace dmsh {

namespace {

// What of the control section is hashed.
struct Head {
    uint8_t bytes[kKeyControlBytes];
    size_t size;

    Head(std::span<const uint8_t> control, KeySkip skip) : size(std::min<size_t>(control.size(), kKeyControlBytes)) {
        if (size)
            std::memcpy(bytes, control.data(), size);
        zero(skip.offset, skip.length);
        uint32_t major = 0;
        if (size < 0x34)
            return;
        std::memcpy(&major, control.data() + 4, 4);
        if (major == 0xc9) { // NVN2: where the pack put the code is not part of the program
            zero(0x30, 4);
            size = std::min<size_t>(size, kKeyNvn2ControlBytes);
        }
    }

  private:
    void zero(size_t from, size_t length) {
        if (from < size)
            std::memset(bytes + from, 0, std::min(length, size - from));
    }
};

} // namespace

uint64_t program_key(std::span<const uint8_t> control, std::span<const uint8_t> code, KeySkip skip) {
    const Head head(control, skip);
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, head.bytes, head.size);
    XXH3_64bits_update(&state, code.data(), code.size());
    return XXH3_64bits_digest(&state);
}

ProgramHash program_hash(std::span<const uint8_t> control, std::span<const uint8_t> code, KeySkip skip) {
    const Head head(control, skip);
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, head.bytes, head.size);
    XXH3_128bits_update(&state, code.data(), code.size());
    const XXH128_hash_t h = XXH3_128bits_digest(&state);
    // Past 240 bytes the lower half of XXH3-128 is XXH3-64, by the algorithm's definition (the same accumulators,
    // merged the same way); shorter inputs have mixing of their own.
    const bool same = head.size + code.size() > 240;
    return {same ? h.low64 : program_key(control, code, skip), h.high64};
}

std::string key_text(uint64_t key) {
    char buf[17];
    std::snprintf(buf, sizeof buf, "%016llx", static_cast<unsigned long long>(key));
    return buf;
}

} // namespace dmsh
