// zstd, LZ4, zlib and deflate through their libraries.
#include "archivers/core/codecs.h"
#include <libdeflate.h>
#include <lz4.h>
#include <zstd.h>

namespace dmsh {
namespace {

constexpr uint32_t kZstdMagic = 0xfd2fb528;
constexpr uint32_t kZstdSkippable = 0x184d2a50; // low four bits are free

struct FreeStream {
    void operator()(ZSTD_DStream* s) const { ZSTD_freeDStream(s); }
};
struct FreeDecompressor {
    void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

Error zstd_error(size_t code) {
    return {std::string("zstd: ") + ZSTD_getErrorName(code)};
}

// Some frame does not say how long it is: decode in steps, never past the budget.
Result<Blob> decode_zstd_unsized(Bytes in, WorkBudget& budget) {
    const std::unique_ptr<ZSTD_DStream, FreeStream> stream(ZSTD_createDStream());
    const uint64_t limit = budget.expanded_left();
    std::vector<uint8_t> out;
    ZSTD_inBuffer source = {in.data(), in.size(), 0};
    size_t filled = 0;
    for (bool frame_ended = false; !frame_ended || source.pos < source.size;) {
        if (filled == out.size()) {
            const uint64_t doubled = std::max<uint64_t>(2 * out.size(), 1 << 16);
            const uint64_t want = std::min<uint64_t>(limit + 1, doubled);
            if (want <= out.size())
                return Error{"zstd: the archive members expand to more than 16 times the file"};
            out.resize(want);
        }
        ZSTD_outBuffer target = {out.data(), out.size(), filled};
        const size_t left = ZSTD_decompressStream(stream.get(), &target, &source);
        if (ZSTD_isError(left))
            return zstd_error(left);
        frame_ended = left == 0;
        filled = target.pos;
        if (!frame_ended && source.pos == source.size && filled < out.size())
            return Error{"zstd: stream ends too early"};
    }
    if (const auto ok = budget.charge_expanded(filled); !ok)
        return ok.error();
    out.resize(filled);
    return Blob::own(std::move(out));
}

template <class F>
Result<Blob> inflate(F decode, const char* name, Bytes in, uint64_t size, WorkBudget& budget) {
    if (const auto ok = budget.charge_expanded(size); !ok)
        return ok.error();
    NewBlob out(size);
    const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> d(libdeflate_alloc_decompressor());
    size_t used_in = 0, used_out = 0;
    const auto status = decode(d.get(), in.data(), in.size(), out.data(), size, &used_in, &used_out);
    if (status == LIBDEFLATE_INSUFFICIENT_SPACE)
        return Error{std::string(name) + ": decodes to more than declared"};
    if (status != LIBDEFLATE_SUCCESS)
        return Error{std::string(name) + ": damaged stream"};
    if (used_out != size)
        return Error{std::string(name) + ": decodes to less than declared"};
    if (used_in != in.size())
        return Error{std::string(name) + ": bytes after the end of the stream"};
    return std::move(out).finish();
}

} // namespace

bool is_zstd(Bytes head) {
    const uint32_t magic = head.u32(0);
    return magic == kZstdMagic || (magic & ~15u) == kZstdSkippable;
}

Result<Blob> decode_zstd(Bytes in, WorkBudget& budget) {
    uint64_t size = 0;
    for (uint64_t at = 0; at < in.size();) {
        const Bytes frame = in.clamp(at);
        const size_t length = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
        if (ZSTD_isError(length))
            return zstd_error(length);
        if ((frame.u32(0) & ~15u) != kZstdSkippable) {
            const unsigned long long content = ZSTD_getFrameContentSize(frame.data(), frame.size());
            if (content == ZSTD_CONTENTSIZE_UNKNOWN)
                return decode_zstd_unsized(in, budget);
            if (content == ZSTD_CONTENTSIZE_ERROR || content > kMaxAllocation)
                return Error{"zstd: a member expands to more than 1 GiB"};
            size += content; // each at most 1 GiB, each frame at least 5 bytes: no overflow
        }
        at += length;
    }
    if (const auto ok = budget.charge_expanded(size); !ok)
        return ok.error();
    NewBlob out(size);
    const size_t got = ZSTD_decompress(out.data(), size, in.data(), in.size());
    if (ZSTD_isError(got))
        return zstd_error(got);
    if (got != size)
        return Error{"zstd: decodes to less than declared"};
    return std::move(out).finish();
}

Result<Blob> decode_lz4_block(Bytes in, uint64_t size, WorkBudget& budget) {
    if (in.size() > LZ4_MAX_INPUT_SIZE || size > LZ4_MAX_INPUT_SIZE)
        return Error{"LZ4: block is too large"};
    if (const auto ok = budget.charge_expanded(size); !ok)
        return ok.error();
    NewBlob out(size);
    const int got =
        LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data()),
                            static_cast<int>(in.size()), static_cast<int>(size));
    if (got < 0)
        return Error{"LZ4: damaged block, or it decodes to more than declared"};
    if (static_cast<uint64_t>(got) != size)
        return Error{"LZ4: decodes to less than declared"};
    return std::move(out).finish();
}

Result<Blob> decode_zlib(Bytes in, uint64_t size, WorkBudget& budget) {
    return inflate(libdeflate_zlib_decompress_ex, "zlib", in, size, budget);
}

Result<Blob> decode_deflate(Bytes in, uint64_t size, WorkBudget& budget) {
    return inflate(libdeflate_deflate_decompress_ex, "deflate", in, size, budget);
}

} // namespace dmsh
