// Zip, tar and Heaps' PAK.
#include "tests/writers/general.h"
#include "tests/writers/codecs.h"
#include <bit>
#include <map>
#include <zlib.h>

namespace dmsh::writers {
namespace {

uint32_t crc_of(std::span<const uint8_t> data) {
    return static_cast<uint32_t>(crc32(0, data.data(), static_cast<uInt>(data.size())));
}

} // namespace

Data vzip_chain(std::span<const uint8_t> data) {
    Buffer b;
    for (size_t at = 0; at < data.size(); at += 0x10000) {
        const auto chunk = data.subspan(at, std::min<size_t>(0x10000, data.size() - at));
        const Data packed = lz4_block(chunk, at ? data.subspan(at - 0x10000, 0x10000) : chunk.first(0));
        const bool raw = packed.size() >= chunk.size();
        b.u32(b.size(), raw ? chunk.size() : packed.size());
        b.append(raw ? chunk : std::span<const uint8_t>(packed));
    }
    return std::move(b.bytes);
}

Data zip(std::span<const ZipMember> members, const ZipOptions& how) {
    Buffer b, directory;
    b.append(how.preamble);
    const uint64_t base = how.counted ? 0 : b.size();
    for (const ZipMember& m : members) {
        const Data stored = m.method == ZipMethod::deflate ? deflate(m.data, 9)
                            : m.method == ZipMethod::chain ? vzip_chain(m.data)
                                                           : m.data;
        const uint64_t local = b.size();
        const uint16_t method = m.method == ZipMethod::deflate ? 8 : 0;
        b.u32(local, 0x04034b50);
        b.u16(local + 4, 20);
        b.u16(local + 8, method);
        b.u32(local + 14, crc_of(m.data));
        b.u32(local + 18, stored.size());
        b.u32(local + 22, m.data.size());
        b.u16(local + 26, m.name.size());
        b.u16(local + 28, 5); // an extra field that only the local header has
        b.text(local + 30, m.name);
        b.text(b.size(), std::string_view("\x99\x99\x01\0x", 5));
        b.append(stored);

        const uint64_t at = directory.size(), ones = 0xffffffff;
        directory.u32(at, 0x02014b50);
        directory.u16(at + 10, method);
        directory.u32(at + 16, crc_of(m.data));
        directory.u32(at + 20, how.zip64 ? ones : stored.size());
        directory.u32(at + 24, how.zip64 ? ones : m.data.size());
        directory.u16(at + 28, m.name.size());
        directory.u16(at + 30, how.zip64 ? 4 + 28 : 0);
        directory.u32(at + 42, how.zip64 ? ones : local - base);
        directory.text(at + 46, m.name);
        if (how.zip64) {
            const uint64_t extra = directory.size();
            directory.u32(extra, 0x00001234); // another field, empty
            directory.u16(extra + 4, 1);
            directory.u16(extra + 6, 24);
            directory.u64(extra + 8, m.data.size());
            directory.u64(extra + 16, stored.size());
            directory.u64(extra + 24, local - base);
        }
    }
    const uint64_t start = b.append(directory.bytes) - base;
    if (how.zip64) {
        const uint64_t record = b.size();
        b.u32(record, 0x06064b50);
        b.u64(record + 4, 44);
        b.u64(record + 0x18, members.size());
        b.u64(record + 0x20, members.size());
        b.u64(record + 0x28, directory.size());
        b.u64(record + 0x30, start);
        const uint64_t locator = b.size();
        b.u32(locator, 0x07064b50);
        b.u64(locator + 8, record - base);
        b.u32(locator + 16, 1);
    }
    const uint64_t end = b.size();
    b.u32(end, 0x06054b50);
    b.u16(end + 8, how.zip64 ? 0xffff : members.size());
    b.u16(end + 10, how.zip64 ? 0xffff : members.size());
    b.u32(end + 12, how.zip64 ? 0xffffffff : directory.size());
    b.u32(end + 16, how.zip64 ? 0xffffffff : start);
    b.u16(end + 20, how.comment.size());
    b.text(end + 22, how.comment);
    return std::move(b.bytes);
}

Data vzip(std::span<const ZipMember> members) {
    Buffer preamble;
    preamble.text(0, "VZIP");
    preamble.reserve_to(0x100);
    return zip(members, {std::move(preamble.bytes), true, false, ""});
}

namespace {

void tar_entry(Buffer& b, const std::string& name, const std::string& prefix, char type,
               std::span<const uint8_t> data, TarKind kind) {
    Buffer h;
    h.reserve_to(512);
    const auto octal = [&](uint64_t at, unsigned digits, uint64_t v) {
        for (unsigned i = digits; i-- > 0; v >>= 3)
            h.u8(at + i, '0' + (v & 7));
    };
    h.text(0, name);
    octal(100, 7, 0644);
    if (kind == TarKind::gnu) { // a number past octal's reach, and small ones in the same form
        h.u8(124, 0x80);
        for (int i = 0; i < 8; ++i)
            h.u8(135 - i, data.size() >> 8 * i);
    } else {
        octal(124, 11, data.size());
    }
    h.u8(156, type);
    h.text(257, kind == TarKind::gnu ? std::string_view("ustar  ", 8)
                                     : std::string_view("ustar\0"
                                                        "00",
                                                        8));
    h.text(345, prefix);
    h.text(148, "        ");
    uint64_t sum = 0;
    for (const uint8_t c : h.bytes)
        sum += c;
    octal(148, 6, sum);
    h.u8(154, 0);
    b.append(h.bytes);
    b.append(data);
    b.align(512);
}

Data bytes_of(const std::string& s) {
    return {s.begin(), s.end()};
}

} // namespace

Data tar(std::span<const Member> members, TarKind kind) {
    Buffer b;
    tar_entry(b, "folder/", "", '5', {}, kind);
    for (const Member& m : members) {
        std::string name = m.name, prefix;
        if (kind == TarKind::gnu && name.size() > 100) {
            tar_entry(b, "././@LongLink", "", 'L', bytes_of(name + '\0'), kind);
            name.resize(100);
        } else if (kind == TarKind::pax && name.size() > 100) {
            std::string record = " path=" + name + "\n";
            size_t length = record.size() + 3; // three digits
            record = std::to_string(length) + record;
            tar_entry(b, "PaxHeaders/x", "", 'x', bytes_of("20 mtime=1700000000\n" + record), kind);
            name = "cut";
        } else if (name.size() > 100) {
            const size_t slash = name.rfind('/', 155);
            prefix = name.substr(0, slash);
            name = name.substr(slash + 1);
        }
        tar_entry(b, name, prefix, '0', m.data, kind);
    }
    b.reserve_to(b.size() + 1024);
    return std::move(b.bytes);
}

namespace {

struct PakNode {
    std::map<std::string, PakNode> children;
    const Data* data = nullptr;
    uint64_t position = 0;
};

void pak_node(Buffer& b, const std::string& name, const PakNode& n, bool doubles) {
    b.u8(b.size(), name.size());
    b.text(b.size(), name);
    if (!n.data) {
        b.u8(b.size(), 1);
        b.u32(b.size(), n.children.size());
        for (const auto& [child, node] : n.children)
            pak_node(b, child, node, doubles);
        return;
    }
    b.u8(b.size(), doubles ? 2 : 0);
    if (doubles)
        b.u64(b.size(), std::bit_cast<uint64_t>(static_cast<double>(n.position)));
    else
        b.u32(b.size(), n.position);
    b.u32(b.size(), n.data->size());
    b.u32(b.size(), 0x1234); // checksum
}

} // namespace

Data heaps_pak(std::span<const Member> files, unsigned version, bool double_positions) {
    PakNode root;
    Buffer data;
    for (const Member& m : files) {
        PakNode* n = &root;
        for (size_t at = 0; at <= m.name.size();) {
            const size_t slash = std::min(m.name.find('/', at), m.name.size());
            n = &n->children[m.name.substr(at, slash - at)];
            at = slash + 1;
        }
        n->data = &m.data;
        n->position = data.append(m.data);
    }
    Buffer b;
    b.text(0, "PAK");
    b.u8(3, version);
    b.reserve_to(12);
    if (version == 1)
        b.text(12, std::string(64, 'a'));
    pak_node(b, "", root, double_positions);
    b.text(b.size(), "DATA");
    b.u32(4, b.size());
    b.u32(8, data.size());
    b.append(data.bytes);
    return std::move(b.bytes);
}

Data heaps_cache(std::span<const Data> outputs) {
    std::string s;
    for (size_t i = 0; i < outputs.size(); ++i)
        s += "!signature" + std::to_string(i) + "\tv" + std::to_string(i) + "\tp" + std::to_string(i) + "\n";
    for (size_t i = 0; i < outputs.size(); ++i) {
        s += "#v" + std::to_string(i) + "\nvoid main() { gl_Position = vec4(0); }\n";
        const Data digits = base64(outputs[i]);
        s += "#p" + std::to_string(i) +
             "\nvoid main() { }\n//BIN=" + std::string(digits.begin(), digits.end()) + "#\n";
    }
    return bytes_of(s);
}

} // namespace dmsh::writers
