// NVN formats: sizes and kinds, independent of any backend.
#pragma once
#include "runtime/nvn/enums.h"

namespace dmsh::nvn {

struct FormatInfo {
    uint8_t bytes = 0; // per texel, or per block
    uint8_t block_width = 1;
    uint8_t block_height = 1;
    bool depth = false;
    bool stencil = false;
    bool compressed() const { return block_width > 1 || block_height > 1; }
};

constexpr int kFormatCount = NVN_FORMAT_BGRA8_SRGB + 1;

// Answers {0 bytes} for NONE and for values that are no format.
FormatInfo format_info(int format);
const char* format_name(int format);

} // namespace dmsh::nvn
