// Raw LZMA1 through liblzma's reader of .lzma files, which checks the end of streams of known length.
#include "archivers/core/codecs.h"
#include <lzma.h>

namespace dmsh {
namespace {

constexpr uint64_t kProperties = 5;               // lc/lp/pb byte and dictionary size
constexpr uint64_t kMemory = 192ull << 20;        // of the decoder: its dictionary
constexpr uint32_t kMaxDictionary = 128u << 20;   // more than any archive of the console can use

struct Stream {
    lzma_stream s = LZMA_STREAM_INIT;
    ~Stream() { lzma_end(&s); }
};

} // namespace

Result<Blob> decode_lzma1(Bytes in, uint64_t size, WorkBudget& budget) {
    if (!in.has(0, kProperties))
        return Error{"LZMA: properties are cut short"};
    if (in.u32(1) > kMaxDictionary)
        return Error{"LZMA: dictionary of more than 128 MiB"};
    if (const auto ok = budget.charge_expanded(size); !ok)
        return ok.error();
    uint8_t header[13];
    std::memcpy(header, in.data(), kProperties);
    std::memcpy(header + kProperties, &size, 8);
    NewBlob out(size);
    Stream stream;
    lzma_stream& s = stream.s;
    if (lzma_alone_decoder(&s, kMemory) != LZMA_OK)
        return Error{"LZMA: no memory"};
    s.next_out = out.data();
    s.avail_out = size;
    lzma_ret status = LZMA_OK;
    for (const Bytes part : {Bytes(header, sizeof header), in.clamp(kProperties)}) {
        s.next_in = part.data();
        s.avail_in = part.size();
        while (status == LZMA_OK && s.avail_in) {
            const size_t before_in = s.avail_in, before_out = s.avail_out;
            status = lzma_code(&s, LZMA_RUN);
            if (status == LZMA_OK && s.avail_in == before_in && s.avail_out == before_out)
                status = LZMA_BUF_ERROR;
        }
    }
    if (status == LZMA_OK)
        return Error{"LZMA: stream ends too early"};
    if (status != LZMA_STREAM_END)
        return Error{"LZMA: damaged stream, or it decodes to more than declared"};
    if (s.avail_out)
        return Error{"LZMA: decodes to less than declared"};
    if (s.avail_in)
        return Error{"LZMA: bytes after the end of the stream"};
    return std::move(out).finish();
}

} // namespace dmsh
