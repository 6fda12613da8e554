// Files that are gzip members, whatever their name.
#include "archivers/core/codecs.h"
#include "archivers/misc/readers.h"

namespace dmsh {
namespace {

Result<void> read_gzip(const Blob& in, Output& out) {
    const auto decoded = decode_gzip(in.bytes, out.budget());
    if (!decoded)
        return decoded.error();
    return out.member("", in.size(), *decoded);
}

} // namespace

constexpr Reader kGzipReader = {"gzip",
                                is_gzip,
                                read_gzip,
                                {"gzip", "`1f 8b 08`", "archivers/misc/gzip_file.cpp",
                                 "concatenated members; CRC, length and end checked", "nothing"}};

} // namespace dmsh
