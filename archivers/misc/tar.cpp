// Reads tar archives: POSIX ustar and pax, GNU. Layout: POSIX.1, pax utility.
#include "archivers/misc/readers.h"

namespace dmsh {
namespace {

constexpr uint64_t kBlock = 512;
constexpr uint64_t kNameBytes = 100, kMode = 124, kChecksum = 148, kType = 156, kPrefix = 345;
constexpr uint64_t kNoSize = ~uint64_t{0};
constexpr uint64_t kMaxName = 0x10000; // of a long-name entry or pax header

// Octal digits behind spaces and before a space or NUL, or GNU's base-256 with the top bit set; nothing for
// anything else.
std::optional<uint64_t> number(Bytes b, uint64_t at, uint64_t width) {
    if (b.u8(at) == 0x80) {
        uint64_t v = 0;
        for (uint64_t i = 1; i < width; ++i) {
            if (v >> 56)
                return std::nullopt;
            v = v << 8 | b.u8(at + i);
        }
        return v;
    }
    uint64_t v = 0, i = 0;
    while (i < width && b.u8(at + i) == ' ')
        ++i;
    for (; i < width && b.u8(at + i) >= '0' && b.u8(at + i) <= '7'; ++i)
        v = v << 3 | (b.u8(at + i) - '0');
    return i == width || b.u8(at + i) == ' ' || b.u8(at + i) == 0 ? std::optional(v) : std::nullopt;
}

// The checksum counts its own field as spaces.
bool checksum_holds(Bytes b, uint64_t at) {
    if (!b.has(at, kBlock))
        return false;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < kBlock; ++i)
        sum += i >= kChecksum && i < kChecksum + 8 ? ' ' : b.u8(at + i);
    return number(b, at + kChecksum, 8) == sum;
}

bool probe_tar(Bytes b) {
    return b.starts_with("ustar", 257) && checksum_holds(b, 0);
}

// Value of a pax record "<length> <key>=<value>\n".
std::optional<std::string> pax_value(Bytes records, std::string_view key) {
    const std::string_view all(reinterpret_cast<const char*>(records.data()), records.size());
    for (size_t at = 0; at < all.size();) {
        size_t length = 0, digits = at;
        for (; digits < all.size() && all[digits] >= '0' && all[digits] <= '9' && length <= kMaxName;
             ++digits)
            length = 10 * length + static_cast<size_t>(all[digits] - '0');
        if (length <= digits - at || length > all.size() - at)
            return std::nullopt;
        const std::string_view record = all.substr(digits, length - (digits - at));
        if (record.size() > key.size() + 2 && record[0] == ' ' && record.substr(1, key.size()) == key &&
            record[key.size() + 1] == '=')
            return std::string(record.substr(key.size() + 2, record.size() - key.size() - 3));
        at += length;
    }
    return std::nullopt;
}

Result<void> read_tar(const Blob& in, Output& out) {
    const Bytes b = in.bytes;
    std::optional<std::string> long_name;
    uint64_t long_size = kNoSize; // of a pax header
    for (uint64_t at = 0; !b.all_zero(at, kBlock);) {
        if (!b.has(at, 1))
            return Error{"tar: ends without its end mark", {}, at};
        if (!checksum_holds(b, at))
            return Error{"tar: wrong checksum of a header", {}, at};
        const auto field = number(b, at + kMode, 12);
        if (!field)
            return Error{"tar: a size is no number", {}, at};
        const uint64_t size = long_size == kNoSize ? *field : long_size;
        const auto data = in.slice(at + kBlock, size);
        if (!data)
            return Error{"tar: a member leaves the archive", {}, at};
        const uint8_t type = b.u8(at + kType);
        if (type == 'L' || type == 'x') { // of the entry behind it
            if (size > kMaxName)
                return Error{"tar: a name of more than 64 KiB", {}, at};
            if (type == 'L')
                long_name = std::string(data->bytes.text(0, size));
            else {
                if (auto path = pax_value(data->bytes, "path"))
                    long_name = std::move(path);
                if (const auto text = pax_value(data->bytes, "size"))
                    long_size = std::strtoull(text->c_str(), nullptr, 10);
            }
        } else {
            if (type == '0' || type == 0 || type == '7') {
                std::string name(b.text(at, kNameBytes));
                const std::string prefix(b.starts_with(std::string_view("ustar\0", 6), at + 257)
                                             ? b.text(at + kPrefix, 155)
                                             : std::string_view());
                if (!prefix.empty())
                    name = prefix + "/" + name;
                if (const auto ok = out.member(long_name.value_or(name), size, *data); !ok)
                    return ok;
            }
            long_name.reset();
            long_size = kNoSize;
        }
        at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
    }
    return {};
}

} // namespace

constexpr Reader kTarReader = {"tar",
                               probe_tar,
                               read_tar,
                               {"tar", "`ustar` at +0x101 and the header's checksum",
                                "archivers/misc/tar.cpp", "ustar, GNU long names, pax paths and sizes",
                                "sparse files, links"}};

} // namespace dmsh
