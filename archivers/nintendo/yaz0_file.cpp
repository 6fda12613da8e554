// Files that are one Yaz0 stream (.szs, .sarc and others).
#include "archivers/core/codecs.h"
#include "archivers/nintendo/readers.h"

namespace dmsh {
namespace {

Result<void> read_yaz0(const Blob& in, Output& out) {
    const auto decoded = decode_yaz0(in.bytes, out.budget());
    if (!decoded)
        return decoded.error();
    return out.member("", in.size(), *decoded);
}

bool probe_yaz0(Bytes b) {
    return b.starts_with("Yaz0");
}

} // namespace

constexpr Reader kYaz0Reader = {
    "yaz0",
    probe_yaz0,
    read_yaz0,
    {"Yaz0 stream (.szs)", "`Yaz0`", "archivers/nintendo/yaz0_file.cpp", "the whole format", "nothing"},
    true};

} // namespace dmsh
