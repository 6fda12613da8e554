// A small LZX encoder: blocks of all three kinds with codes of many lengths (misc.md, section 10).
#include "tests/writers/codecs.h"
#include <algorithm>
#include <array>
#include <queue>
#include <random>

namespace dmsh::writers {
namespace {

constexpr size_t kFrame = 0x8000;
constexpr unsigned kMain = 512, kLength = 249;

// Little-endian words of 16 bits, filled from the most significant bit.
class Words {
  public:
    Data bytes;
    void put(uint32_t value, unsigned n) {
        while (n--) {
            word_ = static_cast<uint16_t>(word_ << 1 | (value >> n & 1));
            if (++count_ == 16) {
                bytes.push_back(static_cast<uint8_t>(word_));
                bytes.push_back(static_cast<uint8_t>(word_ >> 8));
                word_ = 0, count_ = 0;
            }
        }
    }
    void pad() { // 1 to 16 bits
        do
            put(0, 1);
        while (count_);
    }
    void align() {
        while (count_)
            put(0, 1);
    }

  private:
    uint16_t word_ = 0;
    unsigned count_ = 0;
};

struct Code {
    std::vector<uint8_t> lengths;
    std::vector<uint32_t> codes;
    void put(Words& w, unsigned symbol) const { w.put(codes[symbol], lengths[symbol]); }
};

// A complete code over `n` symbols with weights drawn at random, so that its lengths differ.
Code random_code(unsigned n, std::mt19937& random) {
    using Node = std::pair<uint64_t, unsigned>;
    std::priority_queue<Node, std::vector<Node>, std::greater<>> queue;
    std::vector<std::pair<unsigned, unsigned>> children;
    for (unsigned i = 0; i < n; ++i)
        queue.push({n > 16 ? 20 + random() % 900 : 1 + random() % 9, i}); // at most 16 bits, 7 for the few
    while (queue.size() > 1) {
        const Node a = queue.top();
        queue.pop();
        const Node b = queue.top();
        queue.pop();
        children.push_back({a.second, b.second});
        queue.push({a.first + b.first, n + static_cast<unsigned>(children.size()) - 1});
    }
    Code c;
    c.lengths.resize(n);
    std::vector<uint8_t> depth(n + children.size());
    for (size_t i = children.size(); i-- > 0;) {
        depth[children[i].first] = depth[children[i].second] = static_cast<uint8_t>(depth[n + i] + 1);
    }
    std::copy_n(depth.begin(), n, c.lengths.begin());
    c.codes.resize(n);
    uint32_t next = 0;
    for (unsigned length = 1; length <= 16; ++length) {
        for (unsigned s = 0; s < n; ++s)
            if (c.lengths[s] == length)
                c.codes[s] = next++;
        next <<= 1;
    }
    return c;
}

// The lengths as differences to the last block's, each through a code over all 20 symbols.
void put_lengths(Words& w, const std::vector<uint8_t>& now, std::vector<uint8_t>& before, unsigned from,
                 unsigned to, std::mt19937& random) {
    const Code pre = random_code(20, random);
    for (const uint8_t n : pre.lengths)
        w.put(n, 4);
    for (unsigned i = from; i < to;) {
        const unsigned symbol = (before[i] + 17u - now[i]) % 17;
        unsigned same = 1; // equal lengths, for symbol 19
        while (i + same < to && same < 5 && now[i + same] == now[i])
            ++same;
        if (same >= 4) {
            pre.put(w, 19);
            w.put(same - 4, 1);
            pre.put(w, symbol);
        } else {
            same = 1;
            pre.put(w, symbol);
        }
        for (; same; --same, ++i)
            before[i] = now[i];
    }
}

class Encoder {
  public:
    Encoder(std::span<const uint8_t> data, unsigned kind) : data_(data), kind_(kind) {}

    Data run() {
        Data out;
        for (size_t at = 0; at < data_.size(); at += kFrame) {
            const size_t size = std::min(kFrame, data_.size() - at);
            Words w;
            if (at == 0)
                w.put(0, 1);
            block(w, at, size);
            if (size == kFrame) {
                out.push_back(static_cast<uint8_t>(w.bytes.size() >> 8));
                out.push_back(static_cast<uint8_t>(w.bytes.size()));
            } else {
                for (const size_t v : {size_t{0xff}, size >> 8, size & 255, w.bytes.size() >> 8, w.bytes.size() & 255})
                    out.push_back(static_cast<uint8_t>(v));
            }
            out.insert(out.end(), w.bytes.begin(), w.bytes.end());
        }
        return out;
    }

  private:
    void block(Words& w, size_t at, size_t size) {
        w.put(kind_, 3);
        w.put(static_cast<uint32_t>(size), 24);
        if (kind_ == 3) {
            w.pad();
            for (const uint32_t r : recent_)
                for (int i = 0; i < 4; ++i)
                    w.bytes.push_back(static_cast<uint8_t>(r >> 8 * i));
            w.bytes.insert(w.bytes.end(), data_.begin() + static_cast<ptrdiff_t>(at),
                           data_.begin() + static_cast<ptrdiff_t>(at + size));
            if (size & 1)
                w.bytes.push_back(0);
            return;
        }
        const Code aligned = random_code(8, random_);
        if (kind_ == 2)
            for (const uint8_t n : aligned.lengths)
                w.put(n, 3);
        const Code main = random_code(kMain, random_), length = random_code(kLength, random_);
        put_lengths(w, main.lengths, main_before_, 0, 256, random_);
        put_lengths(w, main.lengths, main_before_, 256, kMain, random_);
        put_lengths(w, length.lengths, length_before_, 0, kLength, random_);
        for (size_t end = at + size; at < end;) {
            const auto [count, distance] = find(at, end);
            if (count < 3) {
                main.put(w, data_[at++]);
                continue;
            }
            unsigned slot;
            uint32_t extra = 0, below = 0;
            const auto repeated = std::find(recent_.begin(), recent_.end(), distance);
            if (repeated != recent_.end()) {
                slot = static_cast<unsigned>(repeated - recent_.begin());
                std::swap(recent_[0], *repeated);
            } else {
                uint32_t base = 3;
                for (slot = 3; distance + 2 >= base + (1u << bits(slot)); ++slot)
                    base += 1u << bits(slot);
                extra = bits(slot), below = distance + 2 - base;
                recent_ = {distance, recent_[0], recent_[1]};
            }
            const unsigned head = std::min<unsigned>(count - 2, 7);
            main.put(w, 256 + 8 * slot + head);
            if (head == 7)
                length.put(w, count - 9);
            if (kind_ == 2 && extra >= 3) {
                w.put(below >> 3, extra - 3);
                aligned.put(w, below & 7);
            } else {
                w.put(below, extra);
            }
            at += count;
        }
        w.align();
    }

    static unsigned bits(unsigned slot) { return slot < 4 ? 0 : slot / 2 - 1; }

    // The longest of a few matches.
    std::pair<unsigned, uint32_t> find(size_t at, size_t end) {
        unsigned best = 0;
        uint32_t where = 0;
        const auto try_at = [&](size_t distance) {
            if (distance == 0 || distance > at || distance > 0xfffd)
                return;
            unsigned n = 0;
            while (at + n < end && n < 257 && data_[at + n] == data_[at + n - distance])
                ++n;
            if (n > best)
                best = n, where = static_cast<uint32_t>(distance);
        };
        for (const uint32_t r : recent_)
            try_at(r);
        for (const size_t d : {1, 2, 3, 5, 17, 100, 1000, 5000, 20000, 40000, 65000})
            try_at(d);
        for (int i = 0; i < 6; ++i)
            try_at(random_() % 400);
        return {best, where};
    }

    std::span<const uint8_t> data_;
    unsigned kind_;
    std::mt19937 random_{5};
    std::array<uint32_t, 3> recent_{1, 1, 1};
    std::vector<uint8_t> main_before_ = std::vector<uint8_t>(kMain), length_before_ = std::vector<uint8_t>(kLength);
};

} // namespace

Data lzx(std::span<const uint8_t> data, unsigned kind) {
    return Encoder(data, kind).run();
}

} // namespace dmsh::writers
