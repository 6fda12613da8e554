// GFPAK: Game Freak's archives, each file packed by itself. Layout: reference/containers/nintendo.md,
// section 10.
#include "archivers/core/codecs.h"
#include "archivers/nintendo/readers.h"
#include <cstdio>

namespace dmsh {
namespace {

constexpr uint64_t kHeader = 0x28, kRecord = 0x18;

bool probe_gfpak(Bytes b) {
    return b.starts_with("GFLXPACK");
}

Result<void> read_gfpak(const Blob& in, Output& out) {
    const Bytes b = in.bytes;
    const uint64_t count = b.u32(0x10), records = b.u64(0x18), hashes = b.u64(0x20);
    if (!b.has(0, kHeader) || (count && (!b.has(records, count * kRecord) || !b.has(hashes, count * 8))))
        return Error{"GFPAK: the file table leaves the archive"};
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t record = records + i * kRecord;
        const unsigned compression = b.u8(record + 0x02);
        const uint64_t size = b.u32(record + 0x04), stored = b.u32(record + 0x08);
        // 64 bits, of which some writers use the lower half and leave the upper as it is.
        auto bytes = in.slice(b.u64(record + 0x10), stored);
        if (!bytes)
            bytes = in.slice(b.u32(record + 0x10), stored);
        if (!bytes)
            return Error{"GFPAK: entry " + std::to_string(i) + " leaves the archive"};
        char name[24]; // of the path only its hash is kept
        std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(b.u64(hashes + 8 * i)));
        Result<void> ok;
        switch (compression) {
        case 0:
            if (stored != size) {
                out.fail(name, {"GFPAK: entry " + std::to_string(i) + " is stored in another size"});
                continue;
            }
            ok = out.member(name, stored, *bytes);
            break;
        case 1:
            ok = out.packed_member(
                name, stored,
                [part = *bytes, size](DecodeContext& c) { return decode_zlib(part.bytes, size, c.budget()); },
                [part = *bytes](uint64_t n) { return Result<Blob>(peek_zlib(part.bytes, n)); });
            break;
        case 2:
            ok = out.packed_member(
                name, stored,
                [part = *bytes, size](DecodeContext& c) {
                    return decode_lz4_block(part.bytes, size, c.budget());
                },
                [part = *bytes](uint64_t n) { return Result<Blob>(peek_lz4_block(part.bytes, n)); });
            break;
        case 3: // Oodle: Kraken, Leviathan, Mermaid, Selkie, Hydra; the stream tells which
        case 4:
        case 5:
        case 6:
        case 7:
            ok = out.packed_member(
                name, stored, [part = *bytes, size](DecodeContext& c) { return c.oodle(part.bytes, size); });
            break;
        default:
            out.fail(name, {"GFPAK: entry " + std::to_string(i) + " has compression " +
                            std::to_string(compression) + ", which is not known"});
            continue;
        }
        if (!ok)
            return ok;
    }
    return {};
}

} // namespace

constexpr Reader kGfpakReader = {"gfpak",
                                 probe_gfpak,
                                 read_gfpak,
                                 {"GFPAK archive (.gfpak)", "`GFLXPACK`", "archivers/nintendo/gfpak.cpp",
                                  "stored, zlib, LZ4 and Oodle entries (Oodle with the user's library)",
                                  "paths: entries are named by their hashes"}};

} // namespace dmsh
