// Files that are zstd frames, whatever their name, and the dictionaries that others ask for.
#include "archivers/core/codecs.h"
#include "archivers/misc/readers.h"

namespace dmsh {
namespace {

Result<void> read_zstd(const Blob& in, Output& out) {
    const auto decoded = decode_zstd_shared(in.bytes, out);
    if (!decoded)
        return decoded.error();
    return out.member("", in.size(), *decoded);
}

bool is_dictionary(Bytes b) {
    return zstd_dictionary_id(b) != 0;
}

Result<void> read_dictionary(const Blob& in, Output& out) {
    out.publish(kDictionaryFact, zstd_dictionary_key(zstd_dictionary_id(in.bytes)), in);
    return {};
}

} // namespace

constexpr Reader kZstdReader = {"zstd",
                                is_zstd,
                                read_zstd,
                                {"zstd frames (.zs, .zst)", "`28 b5 2f fd`, or a skippable frame",
                                 "archivers/misc/zstd_file.cpp",
                                 "several frames, with and without content size, dictionaries by ID from anywhere "
                                 "in the input (`Pack/ZsDic.pack.zs`)",
                                 "nothing"},
                                true};

constexpr Reader kZstdDictionaryReader = {
    "zstd dictionary",
    is_dictionary,
    read_dictionary,
    {"zstd dictionary (.zsdic)", "`37 a4 30 ec` and an ID", "archivers/misc/zstd_file.cpp",
     "kept for the frames that name its ID, in whatever order the files come", "nothing"}};

} // namespace dmsh
