// zstd through libzstd, with dictionaries.
#include "archivers/core/codecs.h"
#include "archivers/core/decode_context.h"
#include <zstd.h>

namespace dmsh {
namespace {

constexpr uint32_t kFrameMagic = 0xfd2fb528;
constexpr uint32_t kSkippable = 0x184d2a50; // low four bits are free
constexpr uint32_t kDictionaryMagic = 0xec30a437;
constexpr int kMaxWindowLog = 27; // 128 MiB, libzstd's own default: what a stream may make us hold

struct FreeContext {
    void operator()(ZSTD_DCtx* c) const { ZSTD_freeDCtx(c); }
};
using Context = std::unique_ptr<ZSTD_DCtx, FreeContext>;

Error failed(size_t code) {
    return {std::string("zstd: ") + ZSTD_getErrorName(code)};
}

// One context a thread: making one costs more than decoding a small member.
Result<ZSTD_DCtx*> context(Bytes dictionary) {
    thread_local Context c(ZSTD_createDCtx());
    ZSTD_DCtx_reset(c.get(), ZSTD_reset_session_and_parameters);
    ZSTD_DCtx_setParameter(c.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
    // By reference: the dictionary's owner outlives the call that decodes.
    const size_t r = dictionary.empty() ? ZSTD_DCtx_refDDict(c.get(), nullptr)
                                        : ZSTD_DCtx_loadDictionary(c.get(), dictionary.data(), dictionary.size());
    if (ZSTD_isError(r))
        return Error{std::string("zstd dictionary: ") + ZSTD_getErrorName(r)};
    return c.get();
}

// Some frame does not say how long it is: decode in steps, never past the budget.
Result<Blob> decode_unsized(ZSTD_DCtx* stream, Bytes in, WorkBudget& budget) {
    const uint64_t limit = budget.expanded_left();
    std::vector<uint8_t> out;
    ZSTD_inBuffer source = {in.data(), in.size(), 0};
    size_t filled = 0;
    for (bool frame_ended = false; !frame_ended || source.pos < source.size;) {
        if (filled == out.size()) {
            const uint64_t doubled = std::max<uint64_t>(2 * out.size(), 1 << 16);
            const uint64_t want = std::min<uint64_t>(limit + 1, doubled);
            if (want <= out.size()) {
                budget.set_exhausted();
                return Error{"zstd: the archive members expand to more than 16 times the file"};
            }
            out.resize(want);
        }
        ZSTD_outBuffer target = {out.data(), out.size(), filled};
        const size_t left = ZSTD_decompressStream(stream, &target, &source);
        if (ZSTD_isError(left))
            return failed(left);
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

} // namespace

bool is_zstd(Bytes head) {
    const uint32_t magic = head.u32(0);
    return magic == kFrameMagic || (magic & ~15u) == kSkippable;
}

uint32_t zstd_frame_dictionary(Bytes in) {
    return ZSTD_getDictID_fromFrame(in.data(), in.size());
}

uint32_t zstd_dictionary_id(Bytes dictionary) {
    return dictionary.u32(0) == kDictionaryMagic ? dictionary.u32(4) : 0;
}

std::optional<uint64_t> zstd_content_size(Bytes in) {
    const unsigned long long n = ZSTD_getFrameContentSize(in.data(), in.size());
    if (n == ZSTD_CONTENTSIZE_UNKNOWN || n == ZSTD_CONTENTSIZE_ERROR)
        return std::nullopt;
    return n;
}

Result<Blob> decode_zstd(Bytes in, WorkBudget& budget) {
    return decode_zstd(in, {}, budget);
}

Result<Blob> decode_zstd(Bytes in, Bytes dictionary, WorkBudget& budget) {
    const auto c = context(dictionary);
    if (!c)
        return c.error();
    uint64_t size = 0;
    for (uint64_t at = 0; at < in.size();) {
        const Bytes frame = in.clamp(at);
        const size_t length = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
        if (ZSTD_isError(length))
            return failed(length);
        if ((frame.u32(0) & ~15u) != kSkippable) {
            const unsigned long long content = ZSTD_getFrameContentSize(frame.data(), frame.size());
            if (content == ZSTD_CONTENTSIZE_UNKNOWN)
                return decode_unsized(*c, in, budget);
            if (content == ZSTD_CONTENTSIZE_ERROR || content > kMaxAllocation)
                return Error{"zstd: a member expands to more than 1 GiB"};
            size += content; // each at most 1 GiB, each frame at least 5 bytes: no overflow
        }
        at += length;
    }
    if (const auto ok = budget.charge_expanded(size); !ok)
        return ok.error();
    NewBlob out(size);
    const size_t got = ZSTD_decompressDCtx(*c, out.data(), size, in.data(), in.size());
    if (ZSTD_isError(got))
        return failed(got);
    if (got != size)
        return Error{"zstd: decodes to less than declared"};
    return std::move(out).finish();
}

Blob peek_zstd(Bytes in, uint64_t n) {
    const auto c = context({});
    NewBlob out(n);
    ZSTD_inBuffer source = {in.data(), in.size(), 0};
    ZSTD_outBuffer target = {out.data(), n, 0};
    while (c && target.pos < n && source.pos < source.size) {
        const size_t left = ZSTD_decompressStream(*c, &target, &source);
        if (ZSTD_isError(left))
            break;
    }
    return std::move(out).finish(target.pos);
}

Result<Blob> decode_zstd_shared(Bytes in, DecodeContext& context) {
    const uint32_t id = zstd_frame_dictionary(in);
    if (!id)
        return decode_zstd(in, context.budget());
    const auto dictionary = context.shared(kDictionaryFact, zstd_dictionary_key(id));
    if (!dictionary)
        return dictionary.error();
    if (!*dictionary)
        return Error{"zstd: dictionary " + std::to_string(id) + " is in no file of the input"};
    return decode_zstd(in, (*dictionary)->bytes, context.budget());
}

} // namespace dmsh
