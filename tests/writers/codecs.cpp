// Streams of deflate, LZ4, LZMA and zstd through their libraries' encoders; CRILAYLA and base64 by hand.
#include "tests/writers/codecs.h"
#include <cstdlib>
#include <libdeflate.h>
#include <lz4.h>
#include <lz4frame.h>
#include <lzma.h>
#include <map>
#include <zdict.h>
#include <zstd.h>

namespace dmsh::writers {
namespace {

template <class F>
Data with_libdeflate(std::span<const uint8_t> data, int level, F compress) {
    libdeflate_compressor* c = libdeflate_alloc_compressor(level);
    Data out(libdeflate_zlib_compress_bound(c, data.size()));
    out.resize(compress(c, data.data(), data.size(), out.data(), out.size()));
    libdeflate_free_compressor(c);
    return out;
}

const char* chars(const uint8_t* p) {
    return reinterpret_cast<const char*>(p);
}

// Bits written so that reading backwards from the last byte, most significant bit first, gives them in order.
class BackwardBits {
  public:
    void put(uint32_t value, unsigned n) {
        while (n--) {
            byte_ = static_cast<uint8_t>(byte_ << 1 | (value >> n & 1));
            if (++count_ == 8)
                flush();
        }
    }
    Data finish() {
        while (count_)
            put(0, 1);
        return {bytes_.rbegin(), bytes_.rend()};
    }

  private:
    void flush() {
        bytes_.push_back(byte_);
        byte_ = 0, count_ = 0;
    }
    Data bytes_;
    uint8_t byte_ = 0;
    unsigned count_ = 0;
};

} // namespace

Data deflate(std::span<const uint8_t> data, int level) {
    return with_libdeflate(data, level, libdeflate_deflate_compress);
}
Data zlib(std::span<const uint8_t> data, int level) {
    return with_libdeflate(data, level, libdeflate_zlib_compress);
}

Data gzip(std::span<const uint8_t> data, const std::string& name, int level) {
    Buffer b;
    b.bytes = {0x1f, 0x8b, 8, static_cast<uint8_t>(name.empty() ? 0 : 8), 0, 0, 0, 0, 0, 3};
    if (!name.empty()) {
        b.text(b.size(), name);
        b.u8(b.size(), 0);
    }
    b.append(deflate(data, level));
    b.u32(b.size(), libdeflate_crc32(0, data.data(), data.size()));
    b.u32(b.size(), data.size());
    return b.bytes;
}

Data lz4_block(std::span<const uint8_t> data, std::span<const uint8_t> history) {
    LZ4_stream_t* s = LZ4_createStream();
    LZ4_loadDict(s, chars(history.data()), static_cast<int>(history.size()));
    Data out(LZ4_compressBound(static_cast<int>(data.size())));
    out.resize(LZ4_compress_fast_continue(s, chars(data.data()), reinterpret_cast<char*>(out.data()),
                                          static_cast<int>(data.size()), static_cast<int>(out.size()), 1));
    LZ4_freeStream(s);
    return out;
}

Data lz4_frame(std::span<const uint8_t> data, bool content_size, bool checksum) {
    LZ4F_preferences_t p = {};
    p.frameInfo.contentSize = content_size ? data.size() : 0;
    p.frameInfo.contentChecksumFlag = checksum ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
    Data out(LZ4F_compressFrameBound(data.size(), &p));
    out.resize(LZ4F_compressFrame(out.data(), out.size(), data.data(), data.size(), &p));
    return out;
}

Data lzma1(std::span<const uint8_t> data) {
    lzma_options_lzma options;
    lzma_lzma_preset(&options, 6);
    options.dict_size = 1 << 20;
    const lzma_filter filters[] = {{LZMA_FILTER_LZMA1, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
    // The library's .lzma writer puts an end mark there; the raw one does too, so it is cut off: the mark's
    // bits follow the last symbol, and the range coder's last bytes with them. A stream without the mark comes
    // from the encoder of .lzma files only by knowing the size (LZMA1EXT).
    lzma_options_lzma ext = options;
    ext.ext_flags = 0;
    ext.ext_size_low = static_cast<uint32_t>(data.size());
    ext.ext_size_high = 0;
    const lzma_filter unmarked[] = {{LZMA_FILTER_LZMA1EXT, &ext}, {LZMA_VLI_UNKNOWN, nullptr}};
    Data out(5 + data.size() + data.size() / 2 + 4096);
    lzma_properties_encode(&filters[0], out.data());
    size_t at = 5;
    if (lzma_raw_buffer_encode(unmarked, nullptr, data.data(), data.size(), out.data(), &at, out.size()) !=
        LZMA_OK)
        std::abort();
    out.resize(at);
    return out;
}

Data crilayla(std::span<const uint8_t> data, bool copies) {
    Data input(data.begin(), data.end());
    if (input.size() < 0x100)
        input.resize(0x100);
    const std::span<const uint8_t> rest = std::span<const uint8_t>(input).subspan(0x100);
    BackwardBits bits;
    std::map<uint32_t, size_t> last; // three bytes that end at a place -> the place
    const auto word = [&](size_t end) { return uint32_t{rest[end]} << 16 | rest[end - 1] << 8 | rest[end - 2]; };
    for (size_t left = rest.size(); left;) {
        const size_t end = left - 1; // next byte to write, going down
        size_t length = 0, distance = 0;
        if (copies && end >= 2)
            if (const auto it = last.find(word(end)); it != last.end()) {
                distance = it->second - end;
                if (distance >= 3 && distance < 3 + (1 << 13))
                    while (length < left && rest[end - length] == rest[end - length + distance])
                        ++length;
            }
        const size_t step = length >= 3 ? length : 1;
        if (step == 1) {
            bits.put(rest[end], 9);
        } else {
            bits.put(1, 1);
            bits.put(static_cast<uint32_t>(distance - 3), 13);
            size_t more = length - 3;
            for (const unsigned n : {2u, 3u, 5u, 8u, 0u}) {
                if (n == 0 || n == 8) { // groups of eight bits until one is not full
                    while (more >= 255) {
                        bits.put(255, 8);
                        more -= 255;
                    }
                    bits.put(static_cast<uint32_t>(more), 8);
                    break;
                }
                const size_t full = (1u << n) - 1, now = std::min(more, full);
                bits.put(static_cast<uint32_t>(now), n);
                more -= now;
                if (now < full)
                    break;
            }
        }
        for (size_t i = 0; i < step; ++i, --left)
            if (left >= 3)
                last[word(left - 1)] = left - 1;
    }
    const Data packed = bits.finish();
    Buffer b;
    b.text(0, "CRILAYLA");
    b.u32(8, rest.size());
    b.u32(12, packed.size());
    b.append(packed);
    b.append(std::span<const uint8_t>(input).first(0x100));
    return b.bytes;
}

Data base64(std::span<const uint8_t> data) {
    const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    Data out;
    for (size_t i = 0; i < data.size(); i += 3) {
        const size_t n = std::min<size_t>(3, data.size() - i);
        uint32_t word = 0;
        for (size_t k = 0; k < 3; ++k)
            word = word << 8 | (k < n ? data[i + k] : 0);
        for (size_t k = 0; k < 4; ++k)
            out.push_back(static_cast<uint8_t>(k <= n ? letters[word >> (18 - 6 * k) & 63] : '='));
    }
    return out;
}

Data zstd_dictionary(std::span<const uint8_t> sample, uint32_t id) {
    // Training wants many samples: slices of the one.
    const size_t piece = std::max<size_t>(16, sample.size() / 64);
    std::vector<size_t> sizes(sample.size() / piece, piece);
    const Data content(sample.begin(), sample.begin() + static_cast<ptrdiff_t>(std::min<size_t>(sample.size(), 8192)));
    Data out(64 << 10);
    ZDICT_params_t p = {};
    p.dictID = id;
    const size_t n = ZDICT_finalizeDictionary(out.data(), out.size(), content.data(), content.size(),
                                              sample.data(), sizes.data(), static_cast<unsigned>(sizes.size()), p);
    if (ZDICT_isError(n))
        std::abort();
    out.resize(n);
    return out;
}

Data zstd_with_dictionary(std::span<const uint8_t> data, std::span<const uint8_t> dictionary) {
    ZSTD_CCtx* c = ZSTD_createCCtx();
    Data out(ZSTD_compressBound(data.size()));
    out.resize(ZSTD_compress_usingDict(c, out.data(), out.size(), data.data(), data.size(), dictionary.data(),
                                       dictionary.size(), 9));
    ZSTD_freeCCtx(c);
    return out;
}

} // namespace dmsh::writers
