// Decodes LZ4 chains. Layout: reference/containers/misc.md, section 5.
#include "archivers/misc/vzip_chain.h"
#include "archivers/core/codecs.h"
#include <lz4.h>

namespace dmsh {
namespace {

constexpr uint64_t kChunk = 0x10000;

// `raw`: a chunk exactly as long as its output is a copy of it. The format does not mark such chunks
// otherwise.
Result<Blob> decode(Bytes in, uint64_t size, bool raw, bool& any_equal) {
    NewBlob out(size);
    uint64_t at = 0, filled = 0, previous = 0; // previous: length of the chunk before
    while (filled < size) {
        const uint64_t length = in.u32(at), want = std::min(kChunk, size - filled);
        const auto chunk = in.slice(at + 4, length);
        if (!in.has(at, 4) || !chunk)
            return Error{"LZ4 chain ends early"};
        if (length == 0 || length > static_cast<uint64_t>(LZ4_compressBound(kChunk)))
            return Error{"LZ4 chain: a chunk of " + std::to_string(length) + " bytes"};
        any_equal |= length == want;
        if (length == want && raw) {
            std::memcpy(out.data() + filled, chunk->data(), length);
        } else {
            const auto* dictionary = reinterpret_cast<const char*>(out.data() + filled - previous);
            const int got = LZ4_decompress_safe_usingDict(
                reinterpret_cast<const char*>(chunk->data()), reinterpret_cast<char*>(out.data() + filled),
                static_cast<int>(length), static_cast<int>(want), dictionary, static_cast<int>(previous));
            if (got != static_cast<int>(want))
                return Error{"LZ4 chain: a chunk does not decode to its length"};
        }
        at += 4 + length;
        filled += want;
        previous = want;
    }
    if (at != in.size())
        return Error{"LZ4 chain goes on behind its last chunk"};
    return std::move(out).finish();
}

} // namespace

Result<Blob> decode_vzip_chain(Bytes in, uint64_t size, uint32_t crc, WorkBudget& budget) {
    if (const auto ok = budget.charge_expanded(size); !ok)
        return ok.error();
    bool any_equal = false;
    auto first = decode(in, size, true, any_equal);
    if (first && crc32(first->bytes) == crc)
        return first;
    if (any_equal)
        if (auto second = decode(in, size, false, any_equal); second && crc32(second->bytes) == crc)
            return second;
    return first ? Error{"bad CRC-32"} : first.error();
}

} // namespace dmsh
