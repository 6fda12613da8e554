// SARC archives, both byte orders. Layout: reference/containers/nintendo.md, section 7.
#include "archivers/nintendo/readers.h"
#include <cstdio>

namespace dmsh {
namespace {

constexpr uint64_t kHeader = 0x14, kSfatHeader = 0x0c, kEntry = 0x10;
constexpr uint64_t kMaxName = 1024;
constexpr uint64_t kMaxMembers = 0x3fff;

bool probe_sarc(Bytes b) {
    return b.starts_with("SARC");
}

Result<void> read_sarc(const Blob& in, Output& out) {
    const Bytes b = in.bytes;
    if (!b.has(0, kHeader + kSfatHeader))
        return Error{"SARC: header is cut short"};
    const uint16_t mark = b.u16(6);
    if (mark != 0xfeff && mark != 0xfffe)
        return Error{"SARC: no byte order mark"};
    const bool big = mark == 0xfffe;
    const auto u16 = [&](uint64_t at) { return big ? b.u16be(at) : b.u16(at); };
    const auto u32 = [&](uint64_t at) -> uint64_t { return big ? b.u32be(at) : b.u32(at); };
    if (!b.has(0, u32(8)))
        return Error{"SARC: its length leaves the file"};
    const uint64_t data = u32(0x0c), sfat = u16(4), count = u16(sfat + 6);
    const uint64_t entries = sfat + u16(sfat + 4);
    if (count > kMaxMembers)
        return Error{"SARC: " + std::to_string(count) + " members, more than the format has"};
    if (!b.starts_with("SFAT", sfat) || !b.has(entries, count * kEntry))
        return Error{"SARC: file table leaves the archive"};
    const uint64_t sfnt = entries + count * kEntry;
    const uint64_t names = b.starts_with("SFNT", sfnt) ? sfnt + u16(sfnt + 4) : b.size();
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t e = entries + i * kEntry;
        const uint64_t start = u32(e + 8), end = u32(e + 12);
        char hash[16];
        std::snprintf(hash, sizeof hash, "%08x", static_cast<unsigned>(u32(e)));
        std::string name(hash);
        if (u32(e + 4) >> 24) {
            const uint64_t at = names + (u32(e + 4) & 0xffffff) * 4;
            if (const auto text = b.text(at, std::min(data > at ? data - at : 0, kMaxName)); !text.empty())
                name = text;
        }
        if (start > end || !b.has(data, end))
            return Error{"SARC: member " + name + " leaves the archive"};
        if (const auto ok = out.member(name, end - start, in.clamp(data + start, end - start)); !ok)
            return ok;
    }
    return {};
}

} // namespace

constexpr Reader kSarcReader = {"sarc",
                                probe_sarc,
                                read_sarc,
                                {"SARC archive (.sarc, .pack, .blarc)", "`SARC`",
                                 "archivers/nintendo/sarc.cpp",
                                 "both byte orders, members with and without names", "nothing"}};

} // namespace dmsh
