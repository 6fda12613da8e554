// HAL's .cmp and .cmpbin: u32 decoded size, then one zstd or LZ4 frame. Layout:
// reference/containers/nintendo.md, section 8.
#include "archivers/core/codecs.h"
#include "archivers/nintendo/readers.h"
#include "archivers/nvn/search.h"

namespace dmsh {
namespace {

constexpr uint64_t kPrefix = 4;

// The content size that an LZ4 frame's header records, if it does.
std::optional<uint64_t> lz4_content_size(Bytes frame) {
    constexpr uint8_t kHasSize = 0x08; // of the flag byte behind the magic
    return frame.has(0, 14) && (frame.u8(4) & kHasSize) ? std::optional(frame.u64(6)) : std::nullopt;
}

// A frame that records another size than the prefix stands behind something else: a hash, for one.
bool probe_size_prefixed(Bytes b) {
    if (is_zstd(b))
        return false;
    const Bytes frame = b.clamp(kPrefix);
    // Only the frame's own magic: a skippable frame starts no .cmp.
    if (frame.u32(0) == 0xfd2fb528)
        return zstd_content_size(frame).value_or(b.u32(0)) == b.u32(0);
    return is_lz4_frame(frame) && lz4_content_size(frame).value_or(b.u32(0)) == b.u32(0);
}

Result<void> read_size_prefixed(const Blob& in, Output& out) {
    const Blob frame = in.clamp(kPrefix);
    const bool zstd = is_zstd(frame.bytes);
    const auto decoded =
        zstd ? decode_zstd_shared(frame.bytes, out) : decode_lz4_frame(frame.bytes, out.budget());
    if (decoded && decoded->size() == in.bytes.u32(0))
        return out.member("", in.size(), *decoded);
    if (!decoded && zstd && zstd_frame_dictionary(frame.bytes))
        return decoded.error(); // the dictionary may turn up with a later file
    out.fail("", {"size-prefixed frame does not decode to its prefix" +
                  (decoded ? "" : " (" + decoded.error().message + ")") + "; read as it is"});
    return search(in, Place::data, out);
}

} // namespace

constexpr Reader kSizePrefixedReader = {"cmp",
                                        probe_size_prefixed,
                                        read_size_prefixed,
                                        {"size-prefixed frame (.cmp, .cmpbin)",
                                         "a zstd or LZ4 frame magic at +4 whose size is the word before it",
                                         "archivers/nintendo/size_prefixed.cpp",
                                         "zstd with and without dictionary, LZ4 frames", "nothing"}};

} // namespace dmsh
