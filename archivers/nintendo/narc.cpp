// NARC: the DS's archive, on the console with members that one byte says how to unpack. Layout:
// reference/containers/nintendo.md, section 12.
#include "archivers/core/codecs.h"
#include "archivers/nintendo/readers.h"
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>

namespace dmsh {
namespace {

constexpr uint64_t kHeader = 0x10, kBlock = 8, kRange = 8;
constexpr uint64_t kPackingHeaderMax = 16; // where a standard stream may begin in a packed member
constexpr uint64_t kMaxAlignment = 3;      // zero bytes behind a stream
constexpr size_t kMaxDepth = 64;
constexpr uint64_t kRatioMax = 64; // what looks like a stream and expands more is none: bounds the tries
// Characters of all paths, times the name table: tables whose directories share their parts have no end.
constexpr uint64_t kPathFactor = 64;
constexpr uint16_t kFirstDirectory = 0xf000;

bool probe_narc(Bytes b) {
    return b.starts_with("NARC");
}

// Does a file begin here that says itself what it is: four characters, as nearly all of them do?
bool begins_with_tag(Bytes b) {
    if (!b.has(0, 4))
        return false;
    for (uint64_t i = 0; i < 4; ++i)
        if (!std::isalnum(b.u8(i)) && !(i && (b.u8(i) == ' ' || b.u8(i) == '_' || b.u8(i) == '.')))
            return false;
    return true;
}

// Files that are known by other bytes: compiler outputs, control sections, U8 archives, gzip and LZ4 streams.
bool begins_as_known(Bytes b) {
    constexpr uint32_t kLittle[] = {0x19866891, 0x98761234, 0x12345678, 0x12345679};
    constexpr uint32_t kU8 = 0x55aa382d;
    return std::find(std::begin(kLittle), std::end(kLittle), b.u32(0)) != std::end(kLittle) || b.u32be(0) == kU8 ||
           b.u32(0) == kU8 || is_gzip(b) || is_lz4_frame(b);
}

class NarcReader {
  public:
    NarcReader(const Blob& in, Output& out) : in_(in), b_(in.bytes), out_(out) {}

    Result<void> read() {
        // Some writers keep the first header, and it alone, in the order of their byte order mark.
        const bool big = b_.u16(0x0c) != kHeader && b_.u16be(0x0c) == kHeader;
        if (!b_.has(0, kHeader) || !b_.has(0, big ? b_.u32be(0x08) : b_.u32(0x08)))
            return Error{"NARC: its length leaves the file"};
        const uint64_t ranges = big ? kHeader : b_.u16(0x0c), names = ranges + b_.u32(ranges + 4);
        const uint64_t image = names + b_.u32(names + 4);
        if (!b_.starts_with("BTAF", ranges) || !b_.starts_with("BTNF", names) ||
            !b_.starts_with("GMIF", image) || !b_.has(names, b_.u32(names + 4)))
            return Error{"NARC: its blocks do not follow each other"};
        const auto data = in_.slice(image + kBlock, std::max<uint64_t>(b_.u32(image + 4), kBlock) - kBlock);
        if (!data)
            return Error{"NARC: the members leave the file"};
        const uint64_t count = b_.u32(ranges + 8), first = ranges + kBlock + 4;
        if (first > names || count > (names - first) / kRange)
            return Error{"NARC: more members than the table can hold"};
        names_.resize(count);
        directory(b_.clamp(names + kBlock, b_.u32(names + 4) - std::min<uint64_t>(kBlock, b_.u32(names + 4))),
                  0, "", 0);
        for (uint64_t i = 0; i < count; ++i) {
            const uint64_t begin = b_.u32(first + kRange * i), end = b_.u32(first + kRange * i + 4);
            const std::string name = names_[i].empty() ? "#" + std::to_string(i) : names_[i];
            const auto bytes = begin <= end ? data->slice(begin, end - begin) : std::nullopt;
            if (!bytes)
                return Error{"NARC: member " + name + " leaves the archive"};
            if (const auto ok = member(name, *bytes); !ok)
                return ok;
        }
        say_unknown_kinds();
        return {};
    }

  private:
    // Names of the files below a directory. The table is for people: what does not fit stays without a name.
    void directory(Bytes table, uint64_t index, const std::string& path, size_t depth) {
        if (depth == kMaxDepth || !table.has(8 * index, 8))
            return;
        uint64_t at = table.u32(8 * index), file = table.u16(8 * index + 4);
        while (const unsigned length = table.u8(at) & 0x7f) {
            const bool is_directory = table.u8(at) & 0x80;
            const std::string name = path + std::string(table.text(at + 1, length));
            at += 1 + length;
            if ((named_ += name.size() + 1) > kPathFactor * table.size())
                return;
            if (is_directory) {
                directory(table, static_cast<uint16_t>(table.u16(at) - kFirstDirectory), name + "/",
                          depth + 1);
                at += 2;
            } else if (file < names_.size()) {
                names_[file++] = name;
            }
        }
    }

    Result<void> member(const std::string& name, const Blob& bytes) {
        if (!bytes.size() || begins_with_tag(bytes.bytes) || begins_as_known(bytes.bytes) || is_zstd(bytes.bytes) || is_yaz0(bytes.bytes))
            return out_.member(name, bytes.size(), bytes);
        // A packed member: one byte says how, and what its header holds is not known. A standard stream that
        // decodes whole to the member's end tells itself.
        for (uint64_t k = 1; k < kPackingHeaderMax && k < bytes.size(); ++k) {
            const Blob stream = bytes.clamp(k);
            if (stream.bytes.u32(0) == 0xfd2fb528) {
                const auto decoded = decode_zstd_shared(stream.bytes, out_);
                if (!decoded && zstd_frame_dictionary(stream.bytes))
                    return decoded.error();
                if (decoded)
                    return out_.member(name, bytes.size(), *decoded);
            } else if (is_lz4_frame(stream.bytes)) {
                if (const auto decoded = decode_lz4_frame(stream.bytes, out_.budget()))
                    return out_.member(name, bytes.size(), *decoded);
            } else if (stream.bytes.u8(0) == 0x78 && stream.bytes.u16be(0) % 31 == 0) {
                const auto inflated = inflate_zlib(stream.bytes, kRatioMax * bytes.size(), out_.budget());
                if (inflated && ends_at(stream.bytes, inflated->used))
                    return out_.member(name, bytes.size(), inflated->data);
            }
        }
        ++unknown_[bytes.bytes.u8(0)];
        return out_.member(name, bytes.size(), bytes); // what lies in the open is found
    }

    static bool ends_at(Bytes stream, uint64_t used) {
        return stream.size() - used <= kMaxAlignment && stream.all_zero(used, stream.size() - used);
    }

    void say_unknown_kinds() {
        for (const auto& [kind, members] : unknown_) {
            char text[96];
            std::snprintf(text, sizeof text, "NARC member kind 0x%02x is not known (%llu members)", kind,
                          static_cast<unsigned long long>(members));
            out_.fail("", {text});
        }
    }

    const Blob& in_;
    Bytes b_;
    Output& out_;
    std::vector<std::string> names_;
    uint64_t named_ = 0;                  // characters of all paths
    std::map<uint8_t, uint64_t> unknown_; // by first byte
};

Result<void> read_narc(const Blob& in, Output& out) {
    return NarcReader(in, out).read();
}

} // namespace

constexpr Reader kNarcReader = {
    "narc",
    probe_narc,
    read_narc,
    {"NARC archive (.narc, .nptl, .ntex)", "`NARC`", "archivers/nintendo/narc.cpp",
     "plain members; members packed as zstd, LZ4 frame or zlib behind a header of up to 15 bytes",
     "packing bytes and headers, chunked forms, raw LZ4 and deflate, the game's own LZ: named and counted"}};

} // namespace dmsh
