// Yaz0: groups of one flag byte and eight literals or copies.
#include "archivers/core/codecs.h"

namespace dmsh {
namespace {

constexpr uint64_t kHeader = 16;

// Copies `count` bytes from `distance` before `out`; the ranges may overlap. Up to 15 bytes past the end are
// written where `room` (bytes from `out` to the end of the buffer) allows.
inline void copy_back(uint8_t* out, uint64_t distance, uint64_t count, uint64_t room) {
    const uint8_t* from = out - distance;
    if (distance >= 16 && room >= count + 15) {
        for (uint64_t i = 0; i < count; i += 16)
            std::memcpy(out + i, from + i, 16);
    } else if (distance == 1) {
        std::memset(out, *from, count);
    } else {
        for (uint64_t i = 0; i < count; ++i)
            out[i] = from[i];
    }
}

} // namespace

bool is_yaz0(Bytes head) {
    return head.starts_with("Yaz0") && head.size() >= kHeader;
}

Result<Blob> decode_yaz0(Bytes in, WorkBudget& budget) {
    if (!is_yaz0(in))
        return Error{"Yaz0: header is cut short"};
    const uint64_t size = in.u32be(4);
    if (const auto ok = budget.charge_expanded(size); !ok)
        return ok.error();
    NewBlob buffer(size);
    uint8_t* out = buffer.data();
    uint8_t* const end = out + size;
    const uint8_t* p = in.data() + kHeader;
    const uint8_t* const in_end = in.data() + in.size();
    const Error cut{"Yaz0: stream ends too early"};
    while (out < end) {
        if (p == in_end)
            return cut;
        unsigned flags = *p++;
        if (flags == 0xff && in_end - p >= 8 && end - out >= 8) {
            std::memcpy(out, p, 8);
            out += 8, p += 8;
            continue;
        }
        for (unsigned bit = 0; bit < 8 && out < end; ++bit, flags <<= 1) {
            if (flags & 0x80) {
                if (p == in_end)
                    return cut;
                *out++ = *p++;
                continue;
            }
            if (in_end - p < 2)
                return cut;
            const uint64_t distance = ((p[0] & 15u) << 8 | p[1]) + 1;
            uint64_t count = p[0] >> 4;
            p += 2;
            if (count == 0) {
                if (p == in_end)
                    return cut;
                count = *p++ + 0x12u;
            } else {
                count += 2;
            }
            if (distance > static_cast<uint64_t>(out - buffer.data()))
                return Error{"Yaz0: copy from before the beginning"};
            if (count > static_cast<uint64_t>(end - out))
                return Error{"Yaz0: decodes to more than declared"};
            copy_back(out, distance, count, static_cast<uint64_t>(end - out));
            out += count;
        }
    }
    const uint64_t used = static_cast<uint64_t>(p - in.data());
    if (!in.all_zero(used, in.size() - used))
        return Error{"Yaz0: bytes after the end of the stream"};
    return std::move(buffer).finish();
}

Blob peek_yaz0(Bytes in, uint64_t n) {
    n = std::min<uint64_t>(n, in.u32be(4));
    NewBlob buffer(n);
    uint64_t done = 0;
    for (uint64_t at = kHeader; done < n && at < in.size();) {
        unsigned flags = in.u8(at++);
        for (int i = 0; i < 8 && done < n && at < in.size(); ++i, flags <<= 1) {
            if (flags & 0x80) {
                buffer.data()[done++] = in.u8(at++);
                continue;
            }
            const uint64_t distance = (in.u16be(at) & 0xfff) + 1u;
            uint64_t count = in.u8(at) >> 4;
            at += 2;
            count = count ? count + 2 : in.u8(at++) + 0x12u;
            if (distance > done)
                return std::move(buffer).finish(done);
            for (; count && done < n; --count, ++done)
                buffer.data()[done] = buffer.data()[done - distance];
        }
    }
    return std::move(buffer).finish(done);
}

} // namespace dmsh
