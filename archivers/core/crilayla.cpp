// CRILAYLA: 256 raw bytes and a stream that is read, and written, from its end (platinum-cri.md, section 5).
#include "archivers/core/codecs.h"

namespace dmsh {
namespace {

constexpr uint64_t kHeader = 0x10, kRaw = 0x100;

// Bits from the last byte towards the first, the most significant of each byte first. `begin` has eight
// readable bytes before it (the header), so that words can be loaded without a look at the edge.
class BackwardBits {
  public:
    BackwardBits(const uint8_t* begin, const uint8_t* end) : begin_(begin), p_(end) {}

    // Makes at least 56 bits ready. False: more was taken than the stream holds.
    bool refill() {
        if (p_ + (count_ >> 3) < begin_)
            return false;
        uint64_t word;
        std::memcpy(&word, p_ - 8, 8);
        bits_ |= word >> count_;
        p_ -= (63 - count_) >> 3;
        count_ |= 56;
        return true;
    }
    // At most 56 between two refills.
    uint32_t take(unsigned n) {
        const auto v = static_cast<uint32_t>(bits_ >> (64 - n));
        bits_ <<= n;
        count_ -= n;
        return v;
    }
    bool top() const { return bits_ >> 63; }
    uint64_t word() const { return bits_; }

  private:
    const uint8_t* begin_;
    const uint8_t* p_; // first byte that is not in `bits_` yet lies before it
    uint64_t bits_ = 0;
    unsigned count_ = 0;
};

// Writes `count` bytes that end at `out` (exclusive), copied from `distance` behind; `room` bytes before `out`
// may be written.
inline void copy_down(uint8_t* out, uint64_t distance, uint64_t count, uint64_t room) {
    if (distance >= 8 && room >= count + 8) {
        for (uint64_t done = 0; done < count; done += 8)
            std::memcpy(out - done - 8, out + distance - done - 8, 8);
        return;
    }
    for (uint64_t i = 1; i <= count; ++i)
        *(out - i) = *(out - i + distance);
}

} // namespace

bool is_crilayla(Bytes head) {
    return head.starts_with("CRILAYLA");
}

Result<Blob> decode_crilayla(Bytes in, WorkBudget& budget) {
    if (!is_crilayla(in) || !in.has(0, kHeader + kRaw))
        return Error{"CRILAYLA: header is cut short"};
    const uint64_t size = in.u32(0x08), packed = in.u32(0x0c);
    if (in.size() != kHeader + packed + kRaw)
        return Error{"CRILAYLA: its length is not the member's"};
    if (const auto ok = budget.charge_expanded(size + kRaw); !ok)
        return ok.error();
    NewBlob buffer(size + kRaw);
    uint8_t* const begin = buffer.data() + kRaw;
    uint8_t* const end = begin + size;
    uint8_t* out = end; // what is written lies from here to `end`
    const Error cut{"CRILAYLA: stream ends too early"};
    BackwardBits bits(in.data() + kHeader, in.data() + kHeader + packed);
    while (out > begin) {
        if (!bits.refill())
            return cut;
        // Six literals fit into what a refill gives.
        unsigned literals = static_cast<unsigned>(std::min<uint64_t>(6, static_cast<uint64_t>(out - begin)));
        while (literals && !bits.top()) {
            *--out = static_cast<uint8_t>(bits.take(9));
            --literals;
        }
        if (!literals || out == begin)
            continue;
        if (!bits.refill())
            return cut;
        bits.take(1);
        const uint64_t distance = uint64_t{bits.take(13)} + 3;
        uint64_t length = 3;
        unsigned step = bits.take(2);
        length += step;
        if (step == 3) {
            step = bits.take(3);
            length += step;
            if (step == 7) {
                step = bits.take(5);
                length += step;
                if (step == 31)
                    do {
                        if (!bits.refill())
                            return cut;
                        step = bits.take(8);
                        length += step;
                    } while (step == 255 && length <= size);
            }
        }
        if (distance > static_cast<uint64_t>(end - out))
            return Error{"CRILAYLA: copy from behind the end"};
        if (length > static_cast<uint64_t>(out - begin))
            return Error{"CRILAYLA: decodes to more than declared"};
        copy_down(out, distance, length, static_cast<uint64_t>(out - begin));
        out -= length;
    }
    if (size && !bits.refill())
        return cut;
    std::memcpy(buffer.data(), in.data() + kHeader + packed, kRaw);
    return std::move(buffer).finish();
}

} // namespace dmsh
