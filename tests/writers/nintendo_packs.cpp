// HAL's .cmp, GFPAK, Trinity packs, Next Level Games' dictionaries.
#include "tests/writers/nintendo_packs.h"
#include "tests/writers/codecs.h"
#include <algorithm>

namespace dmsh::writers {
namespace {

// A FlatBuffers table with fields of the given sizes (0 = absent), its vtable before it. `from`: the word
// that leads to it. Answers where the fields are.
std::vector<uint64_t> flat_table(Buffer& b, uint64_t from, const std::vector<unsigned>& sizes) {
    b.align(8);
    const uint64_t vtable = b.size();
    b.u16(vtable, 4 + 2 * sizes.size());
    b.reserve_to(vtable + 4 + 2 * sizes.size());
    b.align(8);
    const uint64_t table = b.size();
    b.u32(table, table - vtable);
    std::vector<uint64_t> places;
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (!sizes[i]) {
            places.push_back(0);
            continue;
        }
        b.align(sizes[i]);
        places.push_back(b.size());
        b.u16(vtable + 4 + 2 * i, b.size() - table);
        b.reserve_to(b.size() + sizes[i]);
    }
    b.u16(vtable + 2, b.size() - table);
    b.u32(from, table - from);
    return places;
}

// A vector's count, so aligned that its elements are; they follow. `from`: the word that leads to it.
void flat_vector(Buffer& b, uint64_t from, uint64_t count, uint64_t element_bytes) {
    while ((b.size() + 4) % element_bytes)
        b.u8(b.size(), 0);
    b.align(4);
    b.u32(from, b.size() - from);
    b.u32(b.size(), count);
}

void flat_bytes(Buffer& b, uint64_t from, std::span<const uint8_t> bytes) {
    flat_vector(b, from, bytes.size(), 1);
    b.append(bytes);
}

} // namespace

Data size_prefixed(const Data& data, const Data& frame) {
    Buffer b;
    b.u32(0, data.size());
    b.append(frame);
    return std::move(b.bytes);
}

uint64_t path_hash(std::string_view path) {
    uint64_t h = 0xcbf29ce484222645;
    for (const char c : path)
        h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    return h;
}

Data gfpak(std::span<const PackedFile> files) {
    Buffer b;
    b.text(0, "GFLXPACK");
    b.u32(0x08, 0x1000);
    b.u32(0x10, files.size());
    b.u32(0x14, 1);
    b.reserve_to(0x30); // one folder's pointer at +0x28
    b.u64(0x20, b.size());
    for (const PackedFile& f : files)
        b.u64(b.size(), path_hash(f.path));
    b.u64(0x28, b.size());
    b.u64(b.size(), path_hash("folder/"));
    b.u32(b.size(), files.size());
    b.u32(b.size(), 0xcc);
    for (size_t i = 0; i < files.size(); ++i) {
        b.u64(b.size(), path_hash(files[i].path.substr(files[i].path.rfind('/') + 1)));
        b.u32(b.size(), i);
        b.u32(b.size(), 0xcc);
    }
    const uint64_t records = b.size();
    b.u64(0x18, records);
    b.reserve_to(records + 0x18 * files.size());
    for (size_t i = 0; i < files.size(); ++i) {
        const PackedFile& f = files[i];
        constexpr unsigned codes[] = {0, 1, 2, 3};
        const Data stored = f.packing == Packing::zlib  ? zlib(f.data)
                            : f.packing == Packing::lz4 ? lz4_block(f.data)
                                                        : f.data;
        const uint64_t r = records + 0x18 * i;
        b.align(16);
        b.u16(r, 9);
        b.u8(r + 2, codes[static_cast<size_t>(f.packing)]);
        b.u32(r + 4, f.packing == Packing::oodle ? f.size : f.data.size());
        b.u32(r + 8, stored.size());
        b.u32(r + 0xc, 0xcc);
        b.u64(r + 0x10, b.size());
        b.append(stored);
    }
    b.align(16);
    return std::move(b.bytes);
}

Data trinity_pack(std::span<const PackedFile> files) {
    Buffer b;
    b.reserve_to(4);
    const auto root = flat_table(b, 0, {4, 4});
    flat_vector(b, root[0], files.size(), 8);
    for (const PackedFile& f : files)
        b.u64(b.size(), path_hash(f.path));
    flat_vector(b, root[1], files.size(), 4);
    const uint64_t tables = b.size();
    b.reserve_to(tables + 4 * files.size());
    for (size_t i = 0; i < files.size(); ++i) {
        const PackedFile& f = files[i];
        const auto file = flat_table(b, tables + 4 * i, {4, 1, 1, 8, 4});
        b.u8(file[1], f.packing == Packing::oodle ? 3 : 0xff);
        b.u8(file[2], 9);
        b.u64(file[3], f.packing == Packing::oodle ? f.size : f.data.size());
        flat_bytes(b, file[4], f.data);
    }
    return std::move(b.bytes);
}

Data trinity_archive(std::span<const Member> packs) {
    Buffer b;
    b.text(0, std::string_view("ONEPACK\0", 8));
    b.reserve_to(16);
    std::vector<std::pair<uint64_t, uint64_t>> places; // hash, offset
    for (const Member& p : packs) {
        b.align(16);
        places.push_back({path_hash(p.name), b.append(p.data)});
    }
    std::sort(places.begin(), places.end());
    Buffer table;
    table.reserve_to(4);
    const auto root = flat_table(table, 0, {4, 4});
    flat_vector(table, root[0], places.size(), 8);
    for (const auto& [hash, offset] : places)
        table.u64(table.size(), hash);
    flat_vector(table, root[1], places.size(), 8);
    for (const auto& [hash, offset] : places)
        table.u64(table.size(), offset);
    b.align(16);
    b.u64(8, b.size());
    b.append(table.bytes);
    return std::move(b.bytes);
}

Data trinity_descriptor(std::span<const Member> packs) {
    Buffer b;
    b.reserve_to(4);
    const auto root = flat_table(b, 0, {4, 4, 4, 4});
    flat_vector(b, root[0], 0, 8);
    flat_vector(b, root[1], packs.size(), 4);
    const uint64_t names = b.size();
    b.reserve_to(names + 4 * packs.size());
    flat_vector(b, root[2], 0, 4);
    flat_vector(b, root[3], packs.size(), 4);
    const uint64_t infos = b.size();
    b.reserve_to(infos + 4 * packs.size());
    for (size_t i = 0; i < packs.size(); ++i) {
        const std::string& name = packs[i].name;
        flat_bytes(b, names + 4 * i, {reinterpret_cast<const uint8_t*>(name.data()), name.size()});
        b.u8(b.size(), 0);
        const auto info = flat_table(b, infos + 4 * i, {8, 8});
        b.u64(info[0], packs[i].data.size());
        b.u64(info[1], 1);
    }
    return std::move(b.bytes);
}

NlgArchive nlg_archive(std::span<const Data> blocks, unsigned revision, bool packed) {
    Buffer d, data;
    d.u32(0, 0xa9f32458);
    d.u16(4, 0x4001);
    d.u8(6, packed);
    d.u8(7, 0);
    constexpr uint64_t records = 2;
    uint64_t table;
    if (revision == 2) {
        d.u32(0x08, blocks.size());
        d.u32(0x0c, 0x1000);
        d.u8(0x10, 1);
        d.u8(0x12, records);
        d.u8(0x13, 2);
        table = 0x14 + 12 * records + blocks.size();
    } else {
        d.u32(0x08, 0x1000);
        d.u8(0x0c, blocks.size());
        d.u8(0x0d, records);
        d.u8(0x0e, 2);
        d.u8(0x0f, 0);
        table = 0x10 + 24 * records;
    }
    d.reserve_to(table);
    for (size_t i = 0; i < blocks.size(); ++i) {
        const Data stored = packed ? zlib(blocks[i]) : blocks[i];
        data.align(64);
        d.u32(table + 16 * i, data.append(stored));
        d.u32(table + 16 * i + 4, blocks[i].size());
        d.u32(table + 16 * i + 8, packed ? stored.size() : 0);
        d.u32(table + 16 * i + 12, 0x02000080); // of the first data file
    }
    d.text(d.size(), std::string_view(".data\0.debug\0", 13));
    return {std::move(d.bytes), std::move(data.bytes)};
}

} // namespace dmsh::writers
