// What Oodle and its child say to each other: a request and the stream one way, an answer and the data back.
#pragma once
#include <cstdint>

namespace dmsh {

constexpr uint32_t kOodleReady = 0x4c444f4f; // the child's first word, once the library is loaded

struct OodleRequest {
    uint64_t stored = 0;  // bytes that follow
    uint64_t decoded = 0; // bytes wanted
};

struct OodleAnswer {
    int64_t decoded = 0; // what the library answered; if it is what was asked for, the data follows
};

} // namespace dmsh
