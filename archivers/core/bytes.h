// Bytes: a bounds-checked view of somebody else's memory, the only way in which readers touch input.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace dmsh {

static_assert(std::endian::native == std::endian::little, "numbers are read as the host keeps them");

// Does not own. Offsets and lengths are 64-bit and come straight from files: every check is free of overflow.
// The number getters answer 0 outside the view; a reader that cares asks has() for the whole record first.
class Bytes {
  public:
    Bytes() = default;
    Bytes(std::span<const uint8_t> s) : s_(s) {}
    Bytes(const std::vector<uint8_t>& v) : s_(v) {}
    Bytes(const uint8_t* data, size_t size) : s_(data, size) {}

    const uint8_t* data() const { return s_.data(); }
    uint64_t size() const { return s_.size(); }
    bool empty() const { return s_.empty(); }
    std::span<const uint8_t> span() const { return s_; }
    operator std::span<const uint8_t>() const { return s_; }

    bool has(uint64_t offset, uint64_t length) const {
        return offset <= s_.size() && length <= s_.size() - offset;
    }
    // The range, or nothing if a byte of it lies outside.
    std::optional<Bytes> slice(uint64_t offset, uint64_t length) const {
        if (!has(offset, length))
            return std::nullopt;
        return Bytes(s_.subspan(offset, length));
    }
    // As much of the range as there is.
    Bytes clamp(uint64_t offset, uint64_t length = ~uint64_t{0}) const {
        offset = std::min<uint64_t>(offset, s_.size());
        return Bytes(s_.subspan(offset, std::min<uint64_t>(length, s_.size() - offset)));
    }

    uint8_t u8(uint64_t at) const { return has(at, 1) ? s_[at] : 0; }
    uint16_t u16(uint64_t at) const { return get<uint16_t>(at); }
    uint32_t u32(uint64_t at) const { return get<uint32_t>(at); }
    uint64_t u64(uint64_t at) const { return get<uint64_t>(at); }
    uint16_t u16be(uint64_t at) const { return __builtin_bswap16(u16(at)); }
    uint32_t u32be(uint64_t at) const { return __builtin_bswap32(u32(at)); }
    uint64_t u64be(uint64_t at) const { return __builtin_bswap64(u64(at)); }

    bool starts_with(std::string_view magic, uint64_t at = 0) const {
        return has(at, magic.size()) && std::memcmp(s_.data() + at, magic.data(), magic.size()) == 0;
    }
    bool all_zero(uint64_t offset, uint64_t length) const {
        const auto part = slice(offset, length);
        return part && std::all_of(part->s_.begin(), part->s_.end(), [](uint8_t b) { return b == 0; });
    }
    // Offset of the first occurrence of `word` (little-endian in memory) at or after `from`, or nothing.
    std::optional<uint64_t> find_u32(uint32_t word, uint64_t from) const {
        while (has(from, 4)) {
            const void* hit = std::memchr(s_.data() + from, static_cast<uint8_t>(word), s_.size() - from - 3);
            if (!hit)
                return std::nullopt;
            from = static_cast<uint64_t>(static_cast<const uint8_t*>(hit) - s_.data());
            if (u32(from) == word)
                return from;
            ++from;
        }
        return std::nullopt;
    }
    // Characters from `at` up to the first NUL or `limit`; empty outside the view.
    std::string_view text(uint64_t at, uint64_t limit) const {
        const Bytes part = clamp(at, limit);
        const auto* begin = reinterpret_cast<const char*>(part.data());
        const void* end = part.empty() ? nullptr : std::memchr(begin, 0, part.size());
        return {begin, end ? static_cast<size_t>(static_cast<const char*>(end) - begin) : part.size()};
    }

  private:
    template <class T>
    T get(uint64_t at) const {
        T v = 0;
        if (has(at, sizeof v))
            std::memcpy(&v, s_.data() + at, sizeof v);
        return v;
    }

    std::span<const uint8_t> s_;
};

} // namespace dmsh
