// LZX with a 64 KB window in the chunks that XNB files make of it (misc.md, section 10).
#include "archivers/core/codecs.h"
#include <array>

namespace dmsh {
namespace {

// Shape of the format for a window of 2^16 bytes.
constexpr uint64_t kWindow = 1 << 16;
constexpr unsigned kSlots = 32;                     // of match distances
constexpr unsigned kMainSymbols = 256 + 8 * kSlots; // literals, then slot and short length
constexpr unsigned kLengthSymbols = 249;
constexpr unsigned kAlignedSymbols = 8, kPreSymbols = 20;
constexpr unsigned kMaxCode = 16; // bits
constexpr uint64_t kMinMatch = 2;
enum BlockType : unsigned { kVerbatim = 1, kAligned = 2, kUncompressed = 3 };

// Bits of a distance below its slot's base, and the bases.
constexpr std::array<uint8_t, kSlots> kExtra = [] {
    std::array<uint8_t, kSlots> t{};
    for (unsigned i = 4; i < kSlots; ++i)
        t[i] = static_cast<uint8_t>(i / 2 - 1);
    return t;
}();
constexpr std::array<uint32_t, kSlots> kBase = [] {
    std::array<uint32_t, kSlots> t{};
    for (unsigned i = 1; i < kSlots; ++i)
        t[i] = t[i - 1] + (1u << kExtra[i - 1]);
    return t;
}();

// Little-endian words of 16 bits, each from its most significant bit. Past the end come zeros; overrun() says
// so afterwards.
class Bits {
  public:
    explicit Bits(Bytes in) : in_(in) {}

    uint32_t peek(unsigned n) { // at most 17
        while (count_ < n) {
            buffer_ |= static_cast<uint64_t>(in_.u16(at_)) << (48 - count_);
            at_ += 2;
            count_ += 16;
        }
        return static_cast<uint32_t>(buffer_ >> (64 - n));
    }
    void skip(unsigned n) {
        buffer_ <<= n;
        count_ -= n;
    }
    uint32_t take(unsigned n) {
        if (n == 0)
            return 0;
        const uint32_t v = peek(n);
        skip(n);
        return v;
    }
    // Drops 1 to 16 bits up to the next word; bytes follow.
    uint64_t to_bytes() {
        peek(1);
        const uint64_t whole = count_ / 16;
        const uint64_t unread = count_ % 16 ? whole : whole - 1;
        buffer_ = 0, count_ = 0;
        at_ -= 2 * unread;
        return at_;
    }
    void from_bytes(uint64_t at) { at_ = at, buffer_ = 0, count_ = 0; }
    bool overrun() const { return at_ - count_ / 8 > in_.size(); }

  private:
    Bytes in_;
    uint64_t at_ = 0;
    uint64_t buffer_ = 0;
    unsigned count_ = 0;
};

// Canonical prefix code; short codes by table, long ones by their first values.
template <unsigned kSymbols>
class Code {
  public:
    std::array<uint8_t, kSymbols> lengths{};

    // False: the lengths are no prefix code. All zero is one that must not be used.
    bool build() {
        std::array<uint32_t, kMaxCode + 2> count{};
        for (const uint8_t n : lengths)
            ++count[n];
        count[0] = 0;
        uint32_t code = 0, index = 0;
        for (unsigned n = 1; n <= kMaxCode; ++n) {
            code <<= 1;
            first_[n] = code, begin_[n] = index;
            code += count[n], index += count[n];
            limit_[n] = code << (kMaxCode - n); // codes below this are at most n bits long
        }
        empty_ = index == 0;
        if (!empty_ && code != 1u << kMaxCode)
            return false;
        std::array<uint32_t, kMaxCode + 1> next = begin_;
        for (unsigned s = 0; s < kSymbols; ++s)
            if (lengths[s])
                sorted_[next[lengths[s]]++] = static_cast<uint16_t>(s);
        fast_.fill(0);
        for (unsigned n = 1; n <= kFast; ++n)
            for (uint32_t i = 0; i < count[n]; ++i) {
                const uint32_t from = (first_[n] + i) << (kFast - n);
                const auto entry = static_cast<uint16_t>(sorted_[begin_[n] + i] << 4 | n);
                std::fill_n(fast_.begin() + from, size_t{1} << (kFast - n), entry);
            }
        return true;
    }
    // kSymbols: the code is empty.
    unsigned decode(Bits& bits) const {
        const uint32_t word = bits.peek(kMaxCode);
        if (const uint16_t entry = fast_[word >> (kMaxCode - kFast)]) {
            bits.skip(entry & 15);
            return entry >> 4;
        }
        if (empty_)
            return kSymbols;
        unsigned n = kFast + 1;
        while (word >= limit_[n])
            ++n;
        bits.skip(n);
        return sorted_[begin_[n] + (word >> (kMaxCode - n)) - first_[n]];
    }

  private:
    static constexpr unsigned kFast = 10;
    std::array<uint16_t, 1 << kFast> fast_{};
    std::array<uint16_t, kSymbols> sorted_{};
    std::array<uint32_t, kMaxCode + 1> first_{}, begin_{}, limit_{};
    bool empty_ = true;
};

class Lzx {
  public:
    Lzx(uint8_t* begin, uint8_t* end) : begin_(begin), out_(begin), end_(end) {}

    uint64_t left() const { return static_cast<uint64_t>(end_ - out_); }

    // One chunk: `in` decodes to `frame` bytes. Blocks run on from chunk to chunk, bits do not.
    Result<void> chunk(Bytes in, uint64_t frame) {
        Bits bits(in);
        if (!header_read_) {
            header_read_ = true;
            if (bits.take(1))
                return Error{"LZX: translated streams are not read"};
        }
        uint8_t* const stop = out_ + frame;
        uint64_t byte = 0; // place of raw bytes, in an uncompressed block
        while (out_ < stop) {
            if (!block_left_)
                if (const auto ok = block(in, bits, byte); !ok)
                    return ok;
            const uint64_t run = std::min<uint64_t>(block_left_, static_cast<uint64_t>(stop - out_));
            block_left_ -= run;
            if (type_ == kUncompressed) {
                if (!in.has(byte, run))
                    return cut();
                std::memcpy(out_, in.data() + byte, run);
                out_ += run, byte += run;
                if (!block_left_)
                    bits.from_bytes(byte += block_size_ & 1);
            } else if (const auto ok = matches(bits, out_ + run); !ok) {
                return ok;
            }
        }
        return bits.overrun() && type_ != kUncompressed ? Result<void>(cut()) : Result<void>();
    }

  private:
    static Error cut() { return {"LZX: stream ends too early"}; }
    static Error damaged() { return {"LZX: damaged stream"}; }

    // Lengths from..to of a code, as differences to the last block's, themselves coded.
    template <unsigned kSymbols>
    bool read_lengths(Bits& bits, Code<kSymbols>& code, unsigned from, unsigned to) {
        Code<kPreSymbols> pre;
        for (uint8_t& n : pre.lengths)
            n = static_cast<uint8_t>(bits.take(4));
        if (!pre.build())
            return false;
        for (unsigned at = from; at < to;) {
            unsigned symbol = pre.decode(bits), repeat = 1;
            bool zero = false;
            if (symbol == 17)
                repeat = bits.take(4) + 4, zero = true;
            else if (symbol == 18)
                repeat = bits.take(5) + 20, zero = true;
            else if (symbol == 19)
                repeat = bits.take(1) + 4, symbol = pre.decode(bits);
            if ((!zero && symbol > 16) || repeat > to - at)
                return false;
            const uint8_t length =
                zero ? 0 : static_cast<uint8_t>((code.lengths[at] + 17 - symbol) % 17);
            while (repeat--)
                code.lengths[at++] = length;
        }
        return true;
    }

    Result<void> block(Bytes in, Bits& bits, uint64_t& byte) {
        type_ = bits.take(3);
        block_size_ = bits.take(16) << 8;
        block_size_ |= bits.take(8);
        block_left_ = block_size_;
        if (!block_left_)
            return damaged();
        switch (type_) {
        case kAligned:
            for (uint8_t& n : aligned_.lengths)
                n = static_cast<uint8_t>(bits.take(3));
            if (!aligned_.build())
                return damaged();
            [[fallthrough]];
        case kVerbatim:
            if (!read_lengths(bits, main_, 0, 256) || !read_lengths(bits, main_, 256, kMainSymbols) ||
                !main_.build() || !read_lengths(bits, length_, 0, kLengthSymbols) || !length_.build())
                return damaged();
            break;
        case kUncompressed:
            byte = bits.to_bytes();
            if (!in.has(byte, 12))
                return cut();
            for (uint64_t& r : recent_) {
                r = in.u32(byte);
                byte += 4;
            }
            break;
        default: return damaged();
        }
        return bits.overrun() ? Result<void>(cut()) : Result<void>();
    }

    Result<void> matches(Bits& bits, uint8_t* stop) {
        while (out_ < stop) {
            const unsigned symbol = main_.decode(bits);
            if (symbol < 256) {
                *out_++ = static_cast<uint8_t>(symbol);
                continue;
            }
            if (symbol == kMainSymbols || bits.overrun())
                return cut();
            uint64_t length = (symbol & 7) + kMinMatch;
            if ((symbol & 7) == 7) {
                const unsigned more = length_.decode(bits);
                if (more == kLengthSymbols)
                    return damaged();
                length += more;
            }
            const unsigned slot = (symbol - 256) >> 3;
            if (slot < 3) {
                std::swap(recent_[0], recent_[slot]);
            } else {
                uint64_t distance = kBase[slot] - 2;
                const unsigned extra = kExtra[slot];
                if (type_ == kAligned && extra >= 3) {
                    distance += uint64_t{bits.take(extra - 3)} << 3;
                    const unsigned low = aligned_.decode(bits);
                    if (low == kAlignedSymbols)
                        return damaged();
                    distance += low;
                } else {
                    distance += bits.take(extra);
                }
                recent_ = {distance, recent_[0], recent_[1]};
            }
            const uint64_t distance = recent_[0];
            if (length > static_cast<uint64_t>(stop - out_) || distance == 0 || distance > kWindow ||
                distance > static_cast<uint64_t>(out_ - begin_))
                return Error{"LZX: copy leaves the frame or the window"};
            for (uint64_t i = 0; i < length; ++i)
                out_[i] = *(out_ + i - distance);
            out_ += length;
        }
        return {};
    }

    uint8_t* begin_;
    uint8_t* out_;
    uint8_t* end_;
    bool header_read_ = false;
    unsigned type_ = 0;
    uint64_t block_size_ = 0, block_left_ = 0;
    std::array<uint64_t, 3> recent_{1, 1, 1};
    Code<kMainSymbols> main_;
    Code<kLengthSymbols> length_;
    Code<kAlignedSymbols> aligned_;
};

} // namespace

Result<Blob> decode_lzx(Bytes in, uint64_t size, WorkBudget& budget) {
    if (const auto ok = budget.charge_expanded(size); !ok)
        return ok.error();
    NewBlob out(size);
    Lzx lzx(out.data(), out.data() + size);
    uint64_t at = 0;
    while (lzx.left()) {
        uint64_t frame = 0x8000, stored = in.u16be(at);
        if (in.u8(at) == 0xff) {
            frame = in.u16be(at + 1), stored = in.u16be(at + 3);
            at += 5;
        } else {
            at += 2;
        }
        const auto part = in.slice(at, stored);
        if (!stored || !frame || !part)
            return Error{"LZX: stream ends too early"};
        if (frame > 0x8000 || frame > lzx.left())
            return Error{"LZX: decodes to more than declared"};
        if (const auto ok = lzx.chunk(*part, frame); !ok)
            return ok.error();
        at += stored;
    }
    // A chunk of no length may close the stream.
    if (in.size() - at == 2 && in.u16(at) == 0)
        at += 2;
    if (at != in.size())
        return Error{"LZX: bytes after the end of the stream"};
    return std::move(out).finish();
}

} // namespace dmsh
