// Files that are zstd frames, whatever their name.
#include "archivers/core/codecs.h"
#include "archivers/misc/readers.h"

namespace dmsh {
namespace {

Result<void> read_zstd(const Blob& in, Output& out) {
    const auto decoded = decode_zstd(in.bytes, out.budget());
    if (!decoded)
        return decoded.error();
    return out.member("", in.size(), *decoded);
}

} // namespace

constexpr Reader kZstdReader = {"zstd", is_zstd, read_zstd};

} // namespace dmsh
