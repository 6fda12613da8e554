// zlib, deflate and gzip: libdeflate for whole buffers, zlib where only the stream's end bounds it.
#include "archivers/core/codecs.h"
#include <libdeflate.h>
#include <zlib.h>

namespace dmsh {
namespace {

// Deflate never grows more than this (RFC 1951: 258 bytes from two bits), so a larger size is a lie.
constexpr uint64_t kMaxRatio = 1032;

struct FreeDecompressor {
    void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

// One a thread: its tables are large.
libdeflate_decompressor* decompressor() {
    thread_local const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> d(
        libdeflate_alloc_decompressor());
    return d.get();
}

template <class F>
Result<Blob> inflate_whole(F decode, const char* name, Bytes in, uint64_t size, WorkBudget& budget) {
    if (const auto ok = budget.charge_expanded(size); !ok)
        return ok.error();
    NewBlob out(size);
    size_t used_in = 0, used_out = 0;
    const auto status = decode(decompressor(), in.data(), in.size(), out.data(), size, &used_in, &used_out);
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

class Stream {
  public:
    // `window`: zlib's parameter, negative for raw deflate.
    explicit Stream(int window) { ready_ = inflateInit2(&z_, window) == Z_OK; }
    ~Stream() {
        if (ready_)
            inflateEnd(&z_);
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    void give(Bytes in) {
        z_.next_in = const_cast<uint8_t*>(in.data());
        z_.avail_in = static_cast<uInt>(std::min<uint64_t>(in.size(), 1u << 31));
    }
    // Fills at most `n` bytes at `out`; answers how many, and zlib's word in `status`.
    uint64_t take(uint8_t* out, uint64_t n, int& status) {
        z_.next_out = out;
        z_.avail_out = static_cast<uInt>(n);
        status = ready_ ? inflate(&z_, Z_NO_FLUSH) : Z_MEM_ERROR;
        return n - z_.avail_out;
    }
    uint64_t used() const { return z_.total_in; }

  private:
    z_stream z_ = {};
    bool ready_ = false;
};

Blob peek(int window, Bytes in, uint64_t n) {
    n = std::min<uint64_t>(n, 1 << 20);
    NewBlob out(n);
    Stream s(window);
    s.give(in);
    int status = Z_OK;
    const uint64_t got = s.take(out.data(), n, status);
    return std::move(out).finish(got);
}

} // namespace

Result<Blob> decode_zlib(Bytes in, uint64_t size, WorkBudget& budget) {
    return inflate_whole(libdeflate_zlib_decompress_ex, "zlib", in, size, budget);
}

Result<Blob> decode_deflate(Bytes in, uint64_t size, WorkBudget& budget) {
    return inflate_whole(libdeflate_deflate_decompress_ex, "deflate", in, size, budget);
}

Result<Inflated> inflate_zlib(Bytes in, uint64_t limit, WorkBudget& budget) {
    limit = std::min(limit, budget.expanded_left());
    Stream s(MAX_WBITS);
    s.give(in);
    std::vector<uint8_t> out;
    uint64_t filled = 0;
    for (int status = Z_OK; status != Z_STREAM_END;) {
        if (filled == out.size()) {
            const uint64_t want = std::min<uint64_t>(limit + 1, std::max<uint64_t>(2 * out.size(), 1 << 14));
            if (want <= out.size()) {
                if (limit == budget.expanded_left())
                    budget.set_exhausted();
                return Error{"zlib: decodes to more than its limit"};
            }
            out.resize(want);
        }
        const uint64_t got = s.take(out.data() + filled, std::min<uint64_t>(out.size() - filled, 1u << 30), status);
        filled += got;
        if (status != Z_OK && status != Z_STREAM_END)
            return Error{status == Z_BUF_ERROR ? "zlib: stream ends too early" : "zlib: damaged stream"};
    }
    if (filled > limit)
        return Error{"zlib: decodes to more than its limit"};
    if (const auto ok = budget.charge_expanded(filled); !ok)
        return ok.error();
    out.resize(filled);
    return Inflated{Blob::own(std::move(out)), s.used()};
}

bool is_gzip(Bytes head) {
    return head.starts_with({"\x1f\x8b\x08", 3});
}

Result<Blob> decode_gzip(Bytes in, WorkBudget& budget) {
    std::vector<Blob> parts;
    uint64_t total = 0;
    for (uint64_t at = 0; at < in.size();) {
        const Bytes rest = in.clamp(at);
        if (!is_gzip(rest))
            return Error{parts.empty() ? "gzip stream is damaged" : "gzip: bytes after the end of the stream"};
        // The last member's length is the file's last word: right at once unless members follow each other.
        const uint64_t left = budget.gzip_left(), possible = std::min(left, kMaxRatio * rest.size());
        uint64_t size = std::min<uint64_t>(rest.u32(rest.size() - 4), possible);
        for (;;) {
            NewBlob out(size);
            size_t used_in = 0, used_out = 0;
            const auto status = libdeflate_gzip_decompress_ex(decompressor(), rest.data(), rest.size(),
                                                              out.data(), size, &used_in, &used_out);
            if (status == LIBDEFLATE_INSUFFICIENT_SPACE && size < possible) {
                size = std::min(possible, std::max<uint64_t>(2 * size, 1 << 16));
                continue;
            }
            if (status == LIBDEFLATE_INSUFFICIENT_SPACE) {
                if (possible == left)
                    budget.set_exhausted();
                return Error{"gzip stream decodes to more than the budget"};
            }
            if (status != LIBDEFLATE_SUCCESS)
                return Error{"gzip stream is damaged"};
            if (const auto ok = budget.charge_gzip(used_out); !ok)
                return Error{"gzip stream " + ok.error().message};
            total += used_out;
            at += used_in;
            parts.push_back(std::move(out).finish(used_out));
            break;
        }
    }
    if (parts.size() == 1)
        return std::move(parts[0]);
    NewBlob all(total);
    uint64_t filled = 0;
    for (const Blob& p : parts) {
        std::memcpy(all.data() + filled, p.bytes.data(), p.size());
        filled += p.size();
    }
    return std::move(all).finish();
}

Blob peek_zlib(Bytes in, uint64_t n) {
    return peek(MAX_WBITS, in, n);
}
Blob peek_deflate(Bytes in, uint64_t n) {
    return peek(-MAX_WBITS, in, n);
}

uint32_t crc32(Bytes bytes) {
    return libdeflate_crc32(0, bytes.data(), bytes.size());
}

} // namespace dmsh
