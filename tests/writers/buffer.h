// Buffer: bytes being written by a fixture writer, with numbers put where the documents say.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace dmsh::writers {

using Data = std::vector<uint8_t>;

// Grows on demand; put_* overwrite in place.
class Buffer {
  public:
    Data bytes;

    uint64_t size() const { return bytes.size(); }
    void reserve_to(uint64_t end) {
        if (bytes.size() < end)
            bytes.resize(end);
    }
    void align(uint64_t to) { bytes.resize((bytes.size() + to - 1) / to * to); }
    uint64_t append(std::span<const uint8_t> data) {
        const uint64_t at = bytes.size();
        bytes.insert(bytes.end(), data.begin(), data.end());
        return at;
    }
    void text(uint64_t at, std::string_view s) {
        reserve_to(at + s.size());
        std::memcpy(bytes.data() + at, s.data(), s.size());
    }
    void u8(uint64_t at, uint64_t v) { number(at, v, 1); }
    void u16(uint64_t at, uint64_t v) { number(at, v, 2); }
    void u32(uint64_t at, uint64_t v) { number(at, v, 4); }
    void u64(uint64_t at, uint64_t v) { number(at, v, 8); }
    void u16be(uint64_t at, uint64_t v) { big(at, v, 2); }
    void u32be(uint64_t at, uint64_t v) { big(at, v, 4); }

  private:
    void number(uint64_t at, uint64_t v, unsigned n) {
        reserve_to(at + n);
        for (unsigned i = 0; i < n; ++i)
            bytes[at + i] = static_cast<uint8_t>(v >> 8 * i);
    }
    void big(uint64_t at, uint64_t v, unsigned n) {
        reserve_to(at + n);
        for (unsigned i = 0; i < n; ++i)
            bytes[at + i] = static_cast<uint8_t>(v >> 8 * (n - 1 - i));
    }
};

} // namespace dmsh::writers
