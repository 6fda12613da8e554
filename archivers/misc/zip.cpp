// Reads zip archives, also behind Viper's VZIP index. Layout: PKWARE's application note;
// reference/containers/misc.md, sections 4 and 5.
#include "archivers/core/codecs.h"
#include "archivers/misc/readers.h"
#include "archivers/misc/vzip_chain.h"

namespace dmsh {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr uint64_t kMaxComment = 0xffff;
constexpr uint16_t kEncrypted = 1; // flag
constexpr uint16_t kStored = 0, kDeflate = 8;
constexpr uint16_t kZip64Extra = 1;

struct Directory {
    uint64_t at = 0, size = 0, count = 0;
    uint64_t base = 0; // what offsets count from: bytes that were put before the archive
};

std::optional<uint64_t> find_end(Bytes b) {
    const uint64_t last = b.size() - kEndBytes;
    for (uint64_t back = 0; back <= std::min(last, kMaxComment); ++back)
        if (b.u32(last - back) == kEnd && b.u16(last - back + 20) == back)
            return last - back;
    return std::nullopt;
}

Result<Directory> find_directory(Bytes b) {
    const auto end = b.has(0, kEndBytes) ? find_end(b) : std::nullopt;
    if (!end)
        return Error{"zip: no end record"};
    Directory d;
    d.count = b.u16(*end + 10);
    d.size = b.u32(*end + 12);
    uint64_t offset = b.u32(*end + 16), records = *end;
    if (d.count == 0xffff || d.size == 0xffffffff || offset == 0xffffffff) {
        if (*end < kLocatorBytes || b.u32(*end - kLocatorBytes) != kLocator64)
            return Error{"zip: no zip64 record where the end record needs one", {}, *end};
        // The record stands where the locator says, or right before it if bytes were put in front.
        records = b.u64(*end - kLocatorBytes + 8);
        if (b.u32(records) != kEnd64 && *end >= kLocatorBytes + kEnd64Bytes)
            records = *end - kLocatorBytes - kEnd64Bytes;
        if (!b.has(records, kEnd64Bytes) || b.u32(records) != kEnd64)
            return Error{"zip: no zip64 record where the end record needs one", {}, *end};
        d.count = b.u64(records + 0x20);
        d.size = b.u64(records + 0x28);
        offset = b.u64(records + 0x30);
    }
    d.at = offset;
    if (d.count && b.u32(offset) != kCentral && d.size <= records && records - d.size >= offset) {
        d.at = records - d.size; // the directory ends where the records begin
        d.base = d.at - offset;
    }
    if (!b.has(d.at, d.size) || d.at + d.size > records)
        return Error{"zip: the directory leaves the file", {}, *end};
    if (d.count > d.size / kCentralBytes)
        return Error{"zip: more entries than its directory holds", {}, *end};
    return d;
}

struct Entry {
    std::string name;
    uint16_t flags = 0, method = 0;
    uint32_t crc = 0;
    uint64_t stored = 0, size = 0, local = 0;
};

// Fields that are all ones stand in the zip64 extra field, in this order.
bool apply_zip64(Bytes extra, Entry& e) {
    for (uint64_t at = 0; extra.has(at, 4); at += 4 + extra.u16(at + 2)) {
        if (extra.u16(at) != kZip64Extra)
            continue;
        uint64_t field = at + 4;
        const uint64_t end = field + extra.u16(at + 2);
        for (uint64_t* value : {&e.size, &e.stored, &e.local})
            if (*value == 0xffffffff) {
                if (field + 8 > end || !extra.has(field, 8))
                    return false;
                *value = extra.u64(field);
                field += 8;
            }
        return true;
    }
    return e.size != 0xffffffff && e.stored != 0xffffffff && e.local != 0xffffffff;
}

// The member's stored bytes, found through its local header.
Result<Blob> stored_bytes(const Blob& in, const Directory& d, const Entry& e) {
    const uint64_t local = d.base + e.local;
    if (!in.bytes.has(local, kLocalBytes) || in.bytes.u32(local) != kLocal)
        return Error{"no local header where the directory says"};
    if (in.bytes.u16(local + 8) != e.method)
        return Error{"local header and directory name different methods"};
    const uint64_t at = local + kLocalBytes + in.bytes.u16(local + 26) + in.bytes.u16(local + 28);
    const auto bytes = in.slice(at, e.stored);
    if (!bytes)
        return Error{"leaves the archive"};
    return *bytes;
}

Result<Blob> decode(const Blob& stored, const Entry& e, DecodeContext& context) {
    if (e.method == kStored && e.stored != e.size)
        return decode_vzip_chain(stored.bytes, e.size, e.crc, context.budget());
    Result<Blob> decoded =
        e.method == kStored ? Result<Blob>(stored) : decode_deflate(stored.bytes, e.size, context.budget());
    if (decoded && crc32(decoded->bytes) != e.crc)
        return Error{"bad CRC-32"};
    return decoded;
}

Result<void> give(const Blob& in, const Directory& d, const Entry& e, Output& out) {
    if (e.name.ends_with('/') && e.size == 0)
        return {};
    if (e.flags & kEncrypted) {
        out.fail(e.name, {"zip: encrypted"});
        return {};
    }
    if (e.method != kStored && e.method != kDeflate) {
        out.fail(e.name, {"zip: method " + std::to_string(e.method) + " is not read"});
        return {};
    }
    const auto stored = stored_bytes(in, d, e);
    if (!stored) {
        out.fail(e.name, {"zip: " + stored.error().message});
        return {};
    }
    Output::Peek peek;
    if (e.method == kDeflate)
        peek = [bytes = *stored](uint64_t n) -> Result<Blob> { return peek_deflate(bytes.bytes, n); };
    return out.packed_member(
        e.name, e.stored, [bytes = *stored, e](DecodeContext& context) { return decode(bytes, e, context); },
        peek);
}

bool probe_zip(Bytes b) {
    return b.u32(0) == kLocal || b.u32(0) == kEnd || b.starts_with("VZIP");
}

Result<void> read_zip(const Blob& in, Output& out) {
    const auto directory = find_directory(in.bytes);
    if (!directory)
        return directory.error();
    const Bytes table = in.bytes.clamp(directory->at, directory->size);
    uint64_t at = 0;
    for (uint64_t i = 0; i < directory->count; ++i) {
        const uint64_t name = table.u16(at + 28), extra = table.u16(at + 30), comment = table.u16(at + 32);
        if (table.u32(at) != kCentral || !table.has(at, kCentralBytes + name + extra + comment))
            return Error{"zip: directory entry " + std::to_string(i) + " is none", {}, directory->at + at};
        Entry e;
        const Bytes text = table.clamp(at + kCentralBytes, name);
        e.name.assign(text.data(), text.data() + text.size());
        e.flags = table.u16(at + 8);
        e.method = table.u16(at + 10);
        e.crc = table.u32(at + 16);
        e.stored = table.u32(at + 20);
        e.size = table.u32(at + 24);
        e.local = table.u32(at + 42);
        if (!apply_zip64(table.clamp(at + kCentralBytes + name, extra), e))
            out.fail(e.name, {"zip: sizes without their zip64 field"});
        else if (const auto ok = give(in, *directory, e, out); !ok)
            return ok;
        at += kCentralBytes + name + extra + comment;
    }
    return {};
}

} // namespace

constexpr Reader kZipReader = {
    "zip",
    probe_zip,
    read_zip,
    {"zip (.zip), also behind Viper's `VZIP` index", "`PK 03 04`, `PK 05 06` or `VZIP`",
     "archivers/misc/zip.cpp",
     "stored and deflated members, Viper's LZ4 chains, zip64, bytes in front; CRC-32 of each member",
     "encryption and other methods (named); Viper's own index"}};

} // namespace dmsh
