// LZ4 blocks and frames through liblz4.
#include "archivers/core/codecs.h"
#include <lz4.h>
#include <lz4frame.h>

namespace dmsh {
namespace {

constexpr uint32_t kFrameMagic = 0x184d2204;
constexpr uint32_t kSkippable = 0x184d2a50; // low four bits are free

struct FreeContext {
    void operator()(LZ4F_dctx* c) const { LZ4F_freeDecompressionContext(c); }
};

const char* chars(const uint8_t* p) {
    return reinterpret_cast<const char*>(p);
}
char* chars(uint8_t* p) {
    return reinterpret_cast<char*>(p);
}

} // namespace

Result<Blob> decode_lz4_block(Bytes in, uint64_t size, WorkBudget& budget) {
    return decode_lz4_block(in, size, {}, budget);
}

Result<Blob> decode_lz4_block(Bytes in, uint64_t size, Bytes history, WorkBudget& budget) {
    if (in.size() > LZ4_MAX_INPUT_SIZE || size > LZ4_MAX_INPUT_SIZE)
        return Error{"LZ4: block is too large"};
    if (const auto ok = budget.charge_expanded(size); !ok)
        return ok.error();
    NewBlob out(size);
    // Copies reach back at most 64 KB.
    const Bytes reach = history.clamp(history.size() - std::min<uint64_t>(history.size(), 64 << 10));
    const int got = LZ4_decompress_safe_usingDict(chars(in.data()), chars(out.data()),
                                                  static_cast<int>(in.size()), static_cast<int>(size),
                                                  chars(reach.data()), static_cast<int>(reach.size()));
    if (got < 0)
        return Error{"LZ4: damaged block, or it decodes to more than declared"};
    if (static_cast<uint64_t>(got) != size)
        return Error{"LZ4: decodes to less than declared"};
    return std::move(out).finish();
}

bool is_lz4_frame(Bytes head) {
    return head.u32(0) == kFrameMagic;
}

Result<Blob> decode_lz4_frame(Bytes in, WorkBudget& budget) {
    if (!is_lz4_frame(in) && (in.u32(0) & ~15u) != kSkippable)
        return Error{"LZ4: no frame"};
    LZ4F_dctx* made = nullptr;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)))
        return Error{"LZ4: no memory"};
    const std::unique_ptr<LZ4F_dctx, FreeContext> c(made);
    LZ4F_frameInfo_t info = {};
    size_t header = in.size();
    if (const size_t r = LZ4F_getFrameInfo(c.get(), &info, in.data(), &header); LZ4F_isError(r))
        return Error{std::string("LZ4: ") + LZ4F_getErrorName(r)};
    LZ4F_resetDecompressionContext(c.get());
    const uint64_t limit = budget.expanded_left();
    const uint64_t stated = info.contentSize; // 0 = not stated
    if (stated > limit) {
        if (const auto ok = budget.charge_expanded(stated); !ok)
            return ok.error();
    }
    std::vector<uint8_t> out(std::min<uint64_t>(limit + 1, std::max<uint64_t>(stated, 1 << 16)));
    size_t filled = 0;
    uint64_t at = 0;
    for (bool ended = false; !ended || at < in.size();) {
        if (filled == out.size()) {
            const uint64_t want = std::min<uint64_t>(limit + 1, 2 * out.size());
            if (want <= out.size()) {
                budget.set_exhausted();
                return Error{"LZ4: the archive members expand to more than 16 times the file"};
            }
            out.resize(want);
        }
        size_t room = out.size() - filled, given = in.size() - at;
        const size_t left =
            LZ4F_decompress(c.get(), out.data() + filled, &room, in.data() + at, &given, nullptr);
        if (LZ4F_isError(left))
            return Error{std::string("LZ4: ") + LZ4F_getErrorName(left)};
        ended = left == 0;
        filled += room, at += given;
        if (!ended && at == in.size() && filled < out.size())
            return Error{"LZ4: stream ends too early"};
    }
    if (const auto ok = budget.charge_expanded(filled); !ok)
        return ok.error();
    out.resize(filled);
    return Blob::own(std::move(out));
}

Blob peek_lz4_block(Bytes in, uint64_t n) {
    NewBlob out(n);
    const int whole = static_cast<int>(std::min<uint64_t>(n, LZ4_MAX_INPUT_SIZE));
    const int got = in.size() > LZ4_MAX_INPUT_SIZE
                        ? -1
                        : LZ4_decompress_safe_partial(chars(in.data()), chars(out.data()),
                                                      static_cast<int>(in.size()), whole, whole);
    return std::move(out).finish(got < 0 ? 0 : static_cast<uint64_t>(got));
}

} // namespace dmsh
