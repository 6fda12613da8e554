// NDSR, NDVE, Viper's binaries, and lists of compiler outputs.
#include "tests/writers/nvn_packs.h"

namespace dmsh::writers {

Pair nvn2_pair_without_offset(Stage stage, uint32_t counter) {
    Pair p = small_nvn2_pair(stage, counter);
    Buffer c;
    c.append(p.control);
    c.u32(0x08, 0x11);
    c.u32(0x30, 0x00010002); // something else than an offset
    p.control = std::move(c.bytes);
    return p;
}

std::vector<NdsrEntry> ndsr_program(const Pair& p, uint32_t type) {
    return {{type, p.control}, {type + 1, p.code}};
}

Data ndsr(std::span<const NdsrEntry> entries, uint64_t start) {
    Buffer b;
    b.text(0, "NDSR");
    // The words seen in the headers of the two kinds of pack.
    if (start == 0x10) {
        b.u32(0x04, 0x300);
        b.u32(0x08, 0x6efeff);
        b.u32(0x0c, 0xc0000);
    } else {
        b.u32(0x04, 0x40100);
        b.u32(0x08, 0x80300);
        b.u32(0x0c, 0x90);
        b.u32(0x10, 0x20c00);
    }
    b.reserve_to(start + 8 * entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
        b.align(16);
        const uint64_t at = b.append(entries[i].data);
        b.u32(start + 8 * i, at);
        b.u32(start + 8 * i + 4, entries[i].data.size() << 4 | entries[i].type);
    }
    return std::move(b.bytes);
}

Data vipr(std::span<const uint8_t> pack) {
    Buffer b;
    b.text(0, "VIPR");
    b.u32(4, 3);
    b.text(0x20, "ounce-nvn2-upper_left_ndsr.bin");
    b.reserve_to(0x61); // the pack's place has no alignment
    b.append(pack);
    b.text(b.size(), "end of the resource");
    return std::move(b.bytes);
}

Data ndve(std::span<const Pair> raw, std::span<const Pair> named) {
    Buffer b;
    b.text(0, "NDVE");
    b.u32(0x04, 0x10000);
    const uint64_t table = 0x28;
    b.u32(table, 0x00030007); // a record of another size
    uint64_t record = table + 4;
    b.reserve_to(record + named.size() * 20 + 8);
    for (const Pair& p : raw) {
        b.align(16);
        const uint64_t control = b.append(p.control); // runs up to its code
        b.append(p.code);
        b.u32(control + 0x30, p.control.size());
    }
    for (const Pair& p : named) {
        b.align(256);
        const uint64_t control = b.append(p.control);
        b.align(256);
        const uint64_t code = b.append(p.code);
        b.u32(record, control);
        b.u32(record + 4, p.control.size() << 4 | 3);
        b.u32(record + 8, code);
        b.u32(record + 12, p.code.size() << 4 | 4);
        b.u32(record + 16, 0x55); // between records: a word of something else
        record += 20;
    }
    return std::move(b.bytes);
}

Data viper_binary(const Pair& p) {
    Buffer b;
    b.u32(0x00, 0x19866891);
    b.u32(0x04, p.code.size());
    b.u32(0x08, p.control.size());
    b.u32(0x0c, 0);
    b.u64(0x10, 0x0123456789abcdef);
    b.append(p.code);
    b.append(p.control);
    return std::move(b.bytes);
}

Data offset_table(const Pair& first, const Pair& second, uint64_t alignment) {
    Buffer b;
    b.reserve_to(16);
    const Data* const parts[] = {&first.control, &second.control, &first.code, &second.code};
    for (int i = 0; i < 4; ++i) {
        if (i)
            b.align(alignment);
        b.u32(4 * i, b.append(*parts[i]));
    }
    b.align(0x1000);
    return std::move(b.bytes);
}

Data output_list(std::span<const Data> outputs) {
    Buffer b;
    b.u32(0, outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
        b.u32(b.size(), 0xabc00000 + i);
        b.u32(b.size(), outputs[i].size());
        b.append(outputs[i]);
    }
    return std::move(b.bytes);
}

Data nvsb(const Data& output, uint32_t version) {
    Buffer b;
    b.text(0, "NVSB");
    b.u32(4, version);
    b.reserve_to(0x60);
    b.append(output);
    b.u32(8, b.size());
    return std::move(b.bytes);
}

Data tec(std::span<const Data> outputs) {
    Buffer b;
    b.text(0, std::string_view("TEC\0", 4));
    for (const char* name : {"g_matWorld", "g_vColor", "g_sDiffuse"})
        b.text(b.size(), std::string_view(name, std::strlen(name) + 1));
    for (const Data& o : outputs)
        b.append(o);
    return std::move(b.bytes);
}

} // namespace dmsh::writers
