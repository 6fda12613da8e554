// The table of NVN formats.
#include "runtime/nvn/formats.h"

namespace dmsh::nvn {
namespace {

constexpr bool has_depth(int f) {
    return f >= NVN_FORMAT_DEPTH16 && f <= NVN_FORMAT_DEPTH32F_STENCIL8;
}
constexpr bool has_stencil(int f) {
    return f == NVN_FORMAT_STENCIL8 || f == NVN_FORMAT_DEPTH24_STENCIL8 || f == NVN_FORMAT_DEPTH32F_STENCIL8;
}

constexpr FormatInfo kFormats[] = {
#define NVN_FORMAT_ROW(value, name, bytes, width, height)                                                    \
    {bytes, width, height, has_depth(value), has_stencil(value)},
#include "runtime/nvn/formats.def"
#undef NVN_FORMAT_ROW
};

constexpr const char* kNames[] = {
#define NVN_FORMAT_ROW(value, name, bytes, width, height) #name,
#include "runtime/nvn/formats.def"
#undef NVN_FORMAT_ROW
};
static_assert(sizeof kFormats / sizeof kFormats[0] == kFormatCount);

} // namespace

FormatInfo format_info(int format) {
    return format >= 0 && format < kFormatCount ? kFormats[format] : FormatInfo{};
}
const char* format_name(int format) {
    return format >= 0 && format < kFormatCount ? kNames[format] : "?";
}

} // namespace dmsh::nvn
