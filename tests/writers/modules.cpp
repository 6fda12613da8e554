// Lays out executables.
#include "tests/writers/modules.h"

namespace dmsh::writers {
namespace {

constexpr uint32_t kNop = 0xd503201f;
constexpr uint64_t kModuleHeader = 0x100; // of .rodata: MOD0
constexpr uint64_t kRelocations = 0x200;  // of .rodata: the relocation table
constexpr uint64_t kContents = 0x1000;    // of .rodata
constexpr uint64_t kDynamic = 0x800;      // of .data

} // namespace

ModuleWriter::ModuleWriter() {
    text_.u32(0, 0x14000010);
    text_.u32(4, kRodata + kModuleHeader);
    text_.reserve_to(0x80); // where an NRO has its header
    rodata_.text(kModuleHeader, "MOD0");
    rodata_.u32(kModuleHeader + 4, kData + kDynamic - (kRodata + kModuleHeader));
    rodata_.reserve_to(kContents);
}

uint64_t ModuleWriter::rodata(std::span<const uint8_t> bytes, uint64_t alignment) {
    rodata_.align(alignment);
    return kRodata + rodata_.append(bytes);
}

void ModuleWriter::take_address(uint64_t address, unsigned reg, unsigned between) {
    const uint64_t pc = text_.size();
    const uint64_t pages = (address >> 12) - (pc >> 12);
    text_.u32(text_.size(), 0x90000000 | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5 | reg);
    for (unsigned i = 0; i < between; ++i)
        text_.u32(text_.size(), kNop);
    text_.u32(text_.size(), 0x91000000 | (address & 0xfff) << 10 | reg << 5 | reg);
}

void ModuleWriter::record(uint64_t code, uint64_t control, uint64_t code_length, uint64_t control_length) {
    const uint64_t at = data_.size();
    data_.reserve_to(at + 0x20);
    data_.u32(at + 0x10, code_length);
    data_.u32(at + 0x14, control_length);
    pointers_.push_back({kData + at, code});
    pointers_.push_back({kData + at + 8, control});
}

ModuleWriter::Segments ModuleWriter::finish(Relocations kind) const {
    Buffer text = text_, rodata = rodata_, data = data_;
    uint64_t table = kRelocations;
    if (kind == Relocations::rela) {
        rodata.u64(table, 0); // of another type
        rodata.u64(table + 8, 0x100000401);
        rodata.u64(table + 16, 5);
        table += 0x18;
        for (const auto& [place, value] : pointers_) {
            rodata.u64(table, place);
            rodata.u64(table + 8, 0x403);
            rodata.u64(table + 16, value);
            table += 0x18;
        }
    } else {
        // Each record's two pointers: a place, then a bitmap whose first bit is the word behind it.
        for (size_t i = 0; i < pointers_.size(); i += 2) {
            rodata.u64(table, pointers_[i].first);
            rodata.u64(table + 8, 1 | 1 << 1);
            table += 16;
        }
        for (const auto& [place, value] : pointers_)
            data.u64(place - kData, value);
    }
    const bool rela = kind == Relocations::rela;
    const uint64_t dynamic[][2] = {{5, kRodata},
                                   {rela ? 7u : 36u, kRodata + kRelocations},
                                   {rela ? 8u : 35u, table - kRelocations},
                                   {rela ? 9u : 37u, rela ? 0x18u : 8u},
                                   {0, 0}};
    for (size_t i = 0; i < std::size(dynamic); ++i) {
        data.u64(kDynamic + 16 * i, dynamic[i][0]);
        data.u64(kDynamic + 16 * i + 8, dynamic[i][1]);
    }
    text.reserve_to(kTextSize);
    rodata.reserve_to(kRodataSize);
    data.reserve_to(kDataSize);
    return {std::move(text.bytes), std::move(rodata.bytes), std::move(data.bytes)};
}

Data ModuleWriter::nso(Relocations kind, bool compress) const {
    const Segments s = finish(kind);
    return writers::nso(s.text, s.rodata, s.data, compress);
}

Data ModuleWriter::nro(Relocations kind) const {
    const Segments s = finish(kind);
    Buffer b;
    b.append(s.text); // its first 0x80 bytes are the header
    b.append(s.rodata);
    b.append(s.data);
    b.text(0x10, "NRO0");
    b.u32(0x18, b.size());
    const uint64_t ranges[][2] = {{0, kTextSize}, {kRodata, kRodataSize}, {kData, kDataSize}};
    for (int i = 0; i < 3; ++i) {
        b.u32(0x20 + 8 * i, ranges[i][0]);
        b.u32(0x24 + 8 * i, ranges[i][1]);
    }
    return std::move(b.bytes);
}

} // namespace dmsh::writers
