// BEA: archives of the Bezel engine, versions 1.56 and 2.x. Layout: reference/containers/nintendo.md,
// section 9.
#include "archivers/core/codecs.h"
#include "archivers/nintendo/readers.h"
#include "archivers/nintendo/resource_name.h"
#include <cstdio>

namespace dmsh {
namespace {

constexpr uint32_t kVersion1 = 0x10100; // 1.56: +0x28 leads to an array of entry offsets
constexpr uint32_t kVersion2 = 0x50000; // from here on +0x28 leads to the entries, back to back
constexpr uint64_t kHeader1 = 0x48, kHeader2 = 0x58;
constexpr uint64_t kEntry1 = 0x30, kEntry2 = 0x48;

bool probe_bea(Bytes b) {
    return b.starts_with("SCNE");
}

class BeaReader {
  public:
    BeaReader(const Blob& in, Output& out) : in_(in), b_(in.bytes), out_(out) {}

    Result<void> read() {
        const uint32_t version = b_.u32(0x08);
        const bool in_place = version >= kVersion2;
        if (!b_.has(0, in_place ? kHeader2 : kHeader1))
            return Error{"BEA: header is cut short"};
        if (b_.u16(0x0c) != 0xfeff)
            return Error{"BEA: big-endian archives are not read"};
        if (!in_place && version != kVersion1) {
            char text[48];
            std::snprintf(text, sizeof text, "BEA: version 0x%x is not known", version);
            return Error{text};
        }
        const uint64_t count = b_.u32(0x20), table = b_.u64(0x28);
        const uint64_t least = in_place ? kEntry2 : 8;
        if (count && (!b_.has(table, 0) || count > (b_.size() - table) / least))
            return Error{"BEA: the entries leave the file"};
        uint64_t next = table;
        for (uint64_t i = 0; i < count; ++i) {
            // Newer archives list their entries at +0x30, too: for those that do not lie back to back.
            uint64_t at = in_place ? next : b_.u64(table + 8 * i);
            if (in_place && !b_.starts_with("ASST", at))
                at = b_.u64(listed_at(i));
            if (!b_.has(at, kEntry1) || !b_.starts_with("ASST", at))
                return Error{"BEA: entry " + std::to_string(i) + " is not an ASST entry", {}, at};
            uint64_t size = in_place ? b_.u32(at + 4) : kEntry1;
            if (in_place && !size && i + 1 == count) // the word leads to the next entry, which the last one does not have
                size = kEntry2;
            if (in_place && (size < kEntry2 || !b_.has(at, size)))
                return Error{"BEA: entry " + std::to_string(i) + " has an impossible size", {}, at};
            // Data and name are an entry's last two words in both forms.
            if (const auto ok = entry(i, at, b_.u64(at + size - 16), b_.u64(at + size - 8)); !ok)
                return ok;
            next = at + size;
        }
        return {};
    }

  private:
    // Where the array at +0x30 has the place of entry `i`; outside of the file if it cannot be.
    uint64_t listed_at(uint64_t i) const {
        const uint64_t array = b_.u64(0x30);
        return b_.has(array, 8 * i + 8) ? array + 8 * i : b_.size();
    }

    Result<void> entry(uint64_t i, uint64_t at, uint64_t data, uint64_t name_at) {
        std::string name(resource_name(b_, name_at));
        if (name.empty())
            name = "entry " + std::to_string(i);
        const uint64_t stored = b_.u32(at + 0x14), size = b_.u32(at + 0x18);
        const auto bytes = in_.slice(data, stored);
        if (!bytes)
            return Error{"BEA: entry " + std::to_string(i) + " leaves the file", {}, at};
        if (stored == size)
            return out_.member(name, stored, *bytes);
        return out_.packed_member(
            name, stored,
            [part = *bytes, size](DecodeContext& c) -> Result<Blob> {
                if (!is_zstd(part.bytes))
                    return Error{"BEA: an entry that is neither stored nor a zstd frame"};
                auto decoded = decode_zstd_shared(part.bytes, c);
                if (decoded && decoded->size() != size)
                    return Error{"BEA: does not decode to its size"};
                return decoded;
            },
            [part = *bytes](uint64_t n) { return Result<Blob>(peek_zstd(part.bytes, n)); });
    }

    const Blob& in_;
    Bytes b_;
    Output& out_;
};

Result<void> read_bea(const Blob& in, Output& out) {
    return BeaReader(in, out).read();
}

} // namespace

constexpr Reader kBeaReader = {"bea",
                               probe_bea,
                               read_bea,
                               {"Bezel archive (.bea)", "`SCNE`", "archivers/nintendo/bea.cpp",
                                "versions 1.56 and 2.x, stored and zstd entries", "versions between them"}};

} // namespace dmsh
