// BNSH, BFSHA, SARC, Yaz0, zstd, RomFS.
#include "tests/writers/writers.h"
#include <algorithm>
#include <functional>
#include <map>
#include <zstd.h>

namespace dmsh::writers {
namespace {

// The header that NintendoWare's binaries share.
void binary_header(Buffer& b, std::string_view magic, unsigned major, unsigned first_block) {
    b.reserve_to(0x60);
    b.text(0, magic);
    b.u16(0x0a, major);
    b.u16(0x0c, 0xfeff);
    b.u8(0x0e, 12);
    b.u8(0x0f, 64);
    b.u16(0x16, first_block);
}

} // namespace

Data bnsh(std::span<const std::vector<Pair>> programs, uint32_t extra_variations) {
    const uint64_t variations = programs.size() + (programs.empty() ? 0 : extra_variations);
    Buffer b;
    binary_header(b, std::string_view("BNSH\0\0\0\0", 8), 2, 0x60);
    b.text(0x60, "grsc");
    b.u16(0x70, 4);
    b.u32(0x7c, variations);
    b.u64(0x80, 0xc0);
    b.reserve_to(0xc0 + 0x40 * variations);
    struct Place {
        uint64_t record;
        const Pair* pair;
    };
    std::vector<Place> places;
    for (uint64_t i = 0; i < programs.size(); ++i) {
        const uint64_t program = b.size();
        b.reserve_to(program + 0x80);
        for (uint64_t v = i; v < (i + 1 == programs.size() ? variations : i + 1); ++v)
            b.u64(0xc0 + 0x40 * v + 0x10, program);
        for (const Pair& p : programs[i]) {
            constexpr uint64_t slots[] = {0x08, 0x28, 0x20, 0x10, 0x18, 0x30, 0x40, 0x48}; // by Stage
            const uint64_t record = b.size();
            b.reserve_to(record + 0x40);
            b.u64(program + slots[static_cast<unsigned>(p.stage)], record);
            places.push_back({record, &p});
        }
    }
    b.u32(0x64, b.size() - 0x60);
    b.u32(0x68, b.size() - 0x60);
    for (const Place& p : places) {
        b.align(8);
        const uint64_t control = b.append(p.pair->control);
        b.u64(p.record + 0x08, control);
        b.u32(p.record + 0x1c, p.pair->control.size());
    }
    b.align(256);
    for (const Place& p : places) {
        b.align(256);
        const uint64_t code = b.append(p.pair->code);
        b.u64(p.record + 0x10, code);
        b.u32(p.record + 0x18, p.pair->code.size());
    }
    b.align(8);
    const uint64_t relocation = b.size();
    b.text(relocation, "_RLT");
    b.u32(relocation + 4, relocation);
    b.u64(relocation + 8, 0);
    b.u32(0x18, relocation);
    b.u32(0x1c, b.size());
    return std::move(b.bytes);
}

Data bfsha(const Data& bnsh_file) {
    Buffer b;
    binary_header(b, "FSHA    ", 7, 0x60);
    b.reserve_to(0x100);
    b.align(0x1000);
    b.append(bnsh_file);
    b.u32(0x1c, b.size());
    return std::move(b.bytes);
}

Data sarc(std::span<const Member> members, bool big_endian) {
    const auto hash = [](const std::string& name) {
        uint32_t h = 0;
        for (const char c : name)
            h = h * 0x65 + static_cast<uint32_t>(static_cast<signed char>(c));
        return h;
    };
    std::vector<const Member*> sorted;
    for (const Member& m : members)
        sorted.push_back(&m);
    std::sort(sorted.begin(), sorted.end(),
              [&](const Member* a, const Member* b) { return hash(a->name) < hash(b->name); });
    Buffer b;
    const auto u16 = [&](uint64_t at, uint64_t v) { big_endian ? b.u16be(at, v) : b.u16(at, v); };
    const auto u32 = [&](uint64_t at, uint64_t v) { big_endian ? b.u32be(at, v) : b.u32(at, v); };
    b.text(0, "SARC");
    u16(4, 0x14);
    u16(6, 0xfeff);
    u16(0x10, 0x100);
    b.text(0x14, "SFAT");
    u16(0x18, 0x0c);
    u16(0x1a, members.size());
    u32(0x1c, 0x65);
    const uint64_t entries = 0x20, sfnt = entries + 16 * members.size();
    b.reserve_to(sfnt);
    b.text(sfnt, "SFNT");
    u16(sfnt + 4, 8);
    u16(sfnt + 6, 0);
    for (size_t i = 0; i < sorted.size(); ++i) {
        u32(entries + 16 * i, hash(sorted[i]->name));
        u32(entries + 16 * i + 4, 1u << 24 | (b.size() - sfnt - 8) / 4);
        b.text(b.size(), sorted[i]->name);
        b.u8(b.size(), 0);
        b.align(4);
    }
    b.align(16);
    const uint64_t data = b.size();
    u32(0x0c, data);
    for (size_t i = 0; i < sorted.size(); ++i) {
        b.align(16);
        const uint64_t start = b.append(sorted[i]->data) - data;
        u32(entries + 16 * i + 8, start);
        u32(entries + 16 * i + 12, start + sorted[i]->data.size());
    }
    u32(8, b.size());
    return std::move(b.bytes);
}

Data yaz0_literals(std::span<const uint8_t> data) {
    Buffer b;
    b.text(0, "Yaz0");
    b.u32be(4, data.size());
    b.u64(8, 0);
    for (size_t at = 0; at < data.size(); at += 8) {
        b.u8(b.size(), 0xff);
        b.append(data.subspan(at, std::min<size_t>(8, data.size() - at)));
    }
    return std::move(b.bytes);
}

Data yaz0(std::span<const uint8_t> data) {
    Buffer b;
    b.text(0, "Yaz0");
    b.u32be(4, data.size());
    b.u64(8, 0);
    std::vector<int64_t> last(1 << 16, -1); // by the hash of three bytes: where they were last
    std::vector<int64_t> previous(data.size(), -1);
    const auto hash = [&](size_t at) {
        return (data[at] * 0x9e5fu ^ data[at + 1] * 0x1f35u ^ data[at + 2] * 0x3d4du) & 0xffff;
    };
    const auto remember = [&](size_t at) {
        if (at + 3 <= data.size()) {
            previous[at] = last[hash(at)];
            last[hash(at)] = static_cast<int64_t>(at);
        }
    };
    for (size_t at = 0; at < data.size();) {
        const uint64_t flag_at = b.size();
        unsigned flags = 0;
        b.u8(flag_at, 0);
        for (unsigned bit = 0; bit < 8 && at < data.size(); ++bit) {
            size_t best = 0, distance = 0;
            if (at + 3 <= data.size()) {
                int64_t from = last[hash(at)];
                for (int tries = 0; from >= 0 && at - from <= 0x1000 && tries < 32;
                     ++tries, from = previous[from]) {
                    size_t n = 0;
                    while (n < 0x111 && at + n < data.size() && data[from + n] == data[at + n])
                        ++n;
                    if (n > best)
                        best = n, distance = at - from;
                }
            }
            if (best < 3) {
                flags |= 0x80u >> bit;
                b.u8(b.size(), data[at]);
                remember(at++);
                continue;
            }
            const unsigned d = static_cast<unsigned>(distance - 1);
            if (best < 0x12) {
                b.u8(b.size(), (best - 2) << 4 | d >> 8);
                b.u8(b.size(), d & 255);
            } else {
                b.u8(b.size(), d >> 8);
                b.u8(b.size(), d & 255);
                b.u8(b.size(), best - 0x12);
            }
            for (size_t i = 0; i < best; ++i)
                remember(at++);
        }
        b.u8(flag_at, flags);
    }
    return std::move(b.bytes);
}

Data zstd(std::span<const uint8_t> data, int level, bool content_size) {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, content_size);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    Data out(ZSTD_compressBound(data.size()));
    out.resize(ZSTD_compress2(context, out.data(), out.size(), data.data(), data.size()));
    ZSTD_freeCCtx(context);
    return out;
}

Data romfs(std::span<const Member> files) {
    struct Node {
        std::map<std::string, Node> directories;
        std::map<std::string, const Data*> files;
        uint64_t at = 0; // in the directory table
    };
    Node root;
    for (const Member& m : files) {
        Node* node = &root;
        size_t begin = 0;
        for (size_t slash; (slash = m.name.find('/', begin)) != m.name.npos; begin = slash + 1)
            node = &node->directories[m.name.substr(begin, slash - begin)];
        node->files[m.name.substr(begin)] = &m.data;
    }
    constexpr uint32_t none = 0xffffffff;
    Buffer directories, table, data;
    const std::function<void(Node&, uint64_t, const std::string&)> write = [&](Node& n, uint64_t parent,
                                                                               const std::string& name) {
        const uint64_t at = n.at = directories.size();
        directories.u32(at, parent);
        directories.u32(at + 4, none);
        directories.u32(at + 8, none);
        directories.u32(at + 12, none);
        directories.u32(at + 16, none);
        directories.u32(at + 20, name.size());
        directories.text(at + 24, name);
        directories.align(4);
        uint64_t link = none;
        for (const auto& [file, bytes] : n.files) {
            data.align(16);
            const uint64_t offset = data.append(*bytes), f = table.size();
            link == none ? directories.u32(at + 12, f) : table.u32(link + 4, f);
            table.u32(f, at);
            table.u32(f + 4, none);
            table.u64(f + 8, offset);
            table.u64(f + 16, bytes->size());
            table.u32(f + 24, none);
            table.u32(f + 28, file.size());
            table.text(f + 32, file);
            table.align(4);
            link = f;
        }
        link = none;
        for (auto& [child_name, child] : n.directories) {
            const uint64_t child_at = directories.size();
            link == none ? directories.u32(at + 8, child_at) : directories.u32(link + 4, child_at);
            write(child, at, child_name);
            link = child_at;
        }
    };
    write(root, 0, "");
    Buffer b;
    b.u64(0x00, 0x50);
    b.reserve_to(0x50);
    const auto range = [&](uint64_t field, std::span<const uint8_t> bytes) {
        b.align(4);
        b.u64(field, b.size());
        b.u64(field + 8, bytes.size());
        b.append(bytes);
    };
    const Data bucket = {0xff, 0xff, 0xff, 0xff}; // one empty bucket: for linear readers
    range(0x08, bucket);
    range(0x18, directories.bytes);
    range(0x28, bucket);
    range(0x38, table.bytes);
    b.align(0x200);
    b.u64(0x48, b.size());
    b.append(data.bytes);
    return std::move(b.bytes);
}

Data ivfc(const Data& level3) {
    constexpr unsigned levels = 6, log2_block = 14;
    Buffer b;
    b.text(0, "IVFC");
    b.u32(4, 0x20000);
    b.u32(8, 0x20);
    b.u32(12, levels);
    b.reserve_to(0x10 + 0x18 * levels + 0x20);
    for (unsigned i = 0; i < levels; ++i) {
        b.align(0x4000);
        const uint64_t at = b.size();
        b.u64(0x10 + 0x18 * i, at);
        b.u32(0x10 + 0x18 * i + 16, log2_block);
        if (i + 1 < levels) {
            b.u64(0x10 + 0x18 * i + 8, 0x4000);
            b.reserve_to(at + 0x4000); // hashes, which readers do not need
        } else {
            b.u64(0x10 + 0x18 * i + 8, level3.size());
            b.append(level3);
        }
    }
    return std::move(b.bytes);
}

} // namespace dmsh::writers
