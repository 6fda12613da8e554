// BFSHA, BAHS, BFRES, VFXB, SARC without names, U8, NARC, BEA.
#include "tests/writers/nintendo_archives.h"
#include <functional>
#include <map>

namespace dmsh::writers {
namespace {

void nintendo_header(Buffer& b, std::string_view magic, unsigned major, unsigned first_block) {
    b.reserve_to(0x20);
    b.text(0, magic);
    b.u16(0x0a, major);
    b.u16(0x0c, 0xfeff);
    b.u8(0x0e, 12);
    b.u8(0x0f, 64);
    b.u16(0x16, first_block);
}

// u16 length, characters, NUL. Answers where the length is.
uint64_t resource_string(Buffer& b, std::string_view s) {
    b.align(2);
    const uint64_t at = b.size();
    b.u16(at, s.size());
    b.text(at + 2, s);
    b.u8(b.size(), 0);
    return at;
}

// A tree of members by their paths.
struct Tree {
    std::map<std::string, Tree> directories;
    std::map<std::string, const Data*> files;
};

Tree tree_of(std::span<const Member> members) {
    Tree root;
    for (const Member& m : members) {
        Tree* node = &root;
        size_t begin = 0;
        for (size_t slash; (slash = m.name.find('/', begin)) != m.name.npos; begin = slash + 1)
            node = &node->directories[m.name.substr(begin, slash - begin)];
        node->files[m.name.substr(begin)] = &m.data;
    }
    return root;
}

} // namespace

BfshaPlaces bfsha_places(unsigned major) {
    // u64 fields of a shader model record, one after another.
    uint64_t words = 1 + 2 * 4;  // name; static options, dynamic options, attributes, samplers
    words += major >= 8 ? 2 : 0; // images
    words += 2 + 1;              // uniform blocks, uniforms
    words += major >= 7 ? 3 : 0; // storage buffers and one more
    words += 4;                  // programs, key table, parent, symbols
    const uint64_t pointer = 8 * words;
    words += 1 + 3;              // the BNSH, three more
    words += major >= 7 ? 2 : 0; // and two
    const uint64_t counts = major >= 8 ? 40 : major >= 7 ? 32 : 32;
    // Header: u64 after the 0x20 bytes: archive, string pool, models, name, path, models' values and
    // dictionary, 4 u32, u64, and from version 7 another.
    const uint64_t count_at = 0x20 + 8 * 7 + 16 + 8 + (major >= 7 ? 8 : 0);
    return {(count_at + 4 + 15) / 16 * 16, 8 * words + counts, pointer, count_at};
}

Data bfsha_models(std::span<const ShaderModel> models, unsigned major) {
    const BfshaPlaces places = bfsha_places(major);
    Buffer b;
    nintendo_header(b, "FSHA    ", major, 0x20);
    b.reserve_to(places.models + places.record_bytes * models.size());
    b.u64(0x48, models.empty() ? 0 : places.models);
    b.u16(places.model_count, models.size());
    // The dictionary: a root node and one per model; the tree itself is for those who look up names.
    b.align(8);
    const uint64_t dictionary = b.size();
    b.text(dictionary, "_DIC");
    b.u32(dictionary + 4, models.size());
    b.u32(dictionary + 8, 0xffffffff);
    b.reserve_to(dictionary + 8 + 16 * (models.size() + 1));
    b.u64(0x50, dictionary);
    const uint64_t own_name = resource_string(b, "archive");
    b.u64(0x38, own_name);
    b.u32(0x10, own_name + 2);
    for (size_t i = 0; i < models.size(); ++i) {
        const uint64_t record = places.models + places.record_bytes * i;
        const uint64_t name = resource_string(b, models[i].name);
        b.u64(record, name);
        b.u64(dictionary + 8 + 16 * (i + 1) + 8, name);
    }
    for (size_t i = 0; i < models.size(); ++i) {
        b.align(0x100);
        b.u64(places.models + places.record_bytes * i + places.bnsh_pointer, b.size());
        b.append(models[i].bnsh);
    }
    b.u32(0x1c, b.size());
    return std::move(b.bytes);
}

Data bahs(std::span<const SharcProgram> programs, uint32_t version, bool shared_control) {
    Buffer b;
    b.text(0, "BAHS");
    b.u32(0x04, version);
    b.u32(0x0c, 1);
    const std::string_view strings("uBlock\0aPosition\0", 17);
    b.u32(0x14, strings.size());
    b.reserve_to(0x150);
    b.text(0x150, strings);
    const uint64_t tables = b.size();
    uint64_t count = 0;
    for (const SharcProgram& p : programs)
        count += p.variations.size();
    b.u32(tables + 4, count);
    std::map<Data, uint64_t> sections; // where a control section lies
    Buffer code;
    for (const SharcProgram& p : programs)
        for (const Pair& v : p.variations) {
            const uint64_t at = b.size(), entry = at + 0x10;
            const uint32_t stage = v.stage == Stage::vertex     ? 0
                                   : v.stage == Stage::fragment ? 1
                                                                : static_cast<uint32_t>(v.stage);
            b.u32(at + 4, stage);
            b.u32(at + 8, 0);
            b.u32(at + 0xc, 0x50);
            code.align(256);
            b.u32(entry, code.append(v.code));
            b.u32(entry + 4, 0);
            b.u32(entry + 8, v.control.size());
            b.reserve_to(entry + 0x50); // counts and offsets of symbols: none
            auto it = sections.find(v.control);
            if (it == sections.end() || !shared_control)
                it = sections.insert_or_assign(v.control, b.append(v.control)).first;
            b.u32(entry + 0xc, it->second - entry);
            b.u32(at, b.size() - at);
        }
    const uint64_t table = b.size();
    b.u32(tables, table - tables);
    b.u32(table, 0);
    b.u32(table + 4, programs.size());
    uint64_t base = 0;
    for (const SharcProgram& p : programs) {
        const uint64_t at = b.size();
        b.u32(at + 4, p.name.size());
        b.u32(at + 8, 3);
        b.u32(at + 0xc, base);
        b.text(at + 0x10, p.name);
        for (int i = 0; i < 3; ++i) { // symbol tables without symbols
            b.u32(b.size(), 8);
            b.u32(b.size(), 0);
        }
        b.u32(at, b.size() - at);
        base += p.variations.size();
    }
    b.u32(table, b.size() - table);
    b.align(0x100);
    b.u32(0x1c, b.size());
    b.u32(0x18, code.size());
    b.append(code.bytes);
    b.u32(0x08, b.size());
    return std::move(b.bytes);
}

Data bfres(std::span<const Data> embedded) {
    Buffer b;
    nintendo_header(b, "FRES    ", 9, 0x20);
    b.reserve_to(0x100);
    b.text(b.size(), "vertex data with the word FSHA in it");
    for (const Data& d : embedded) {
        b.align(0x1000);
        b.append(d);
    }
    b.align(8);
    b.u32(0x1c, b.size());
    return std::move(b.bytes);
}

Data vfxb(const Data& graphics, const Data& compute) {
    constexpr uint32_t none = 0xffffffff;
    Buffer b;
    b.text(0, "VFXB    ");
    b.u16(0x08, 0);
    b.u16(0x0a, 37);
    b.u16(0x0c, 0xfeff);
    b.u8(0x0f, 64);
    b.u16(0x16, 0x40);
    b.text(0x20, "effects");
    b.reserve_to(0x40);
    const auto section = [&](std::string_view tag) {
        const uint64_t at = b.size();
        b.reserve_to(at + 0x20);
        b.text(at, tag);
        for (const uint64_t field : {0x08, 0x0c, 0x10, 0x14})
            b.u32(at + field, none);
        return at;
    };
    const uint64_t sets = section("ESTA");
    b.u32(sets + 0x04, 0x20);
    b.u32(sets + 0x14, 0x20);
    b.text(b.size(), "emitter data, 32 bytes, no more.");
    const uint64_t draw = section("GRSN");
    b.u32(sets + 0x0c, draw - sets);
    b.u32(draw + 0x04, graphics.size());
    const uint64_t dispatch = section("GRSC");
    b.u32(draw + 0x08, dispatch - draw);
    b.u16(draw + 0x1c, 1);
    b.u32(dispatch + 0x04, compute.size());
    for (const auto& [at, data] : {std::pair(draw, &graphics), std::pair(dispatch, &compute)})
        if (!data->empty()) {
            b.align(0x1000);
            b.u32(at + 0x14, b.size() - at);
            b.append(*data);
        }
    b.u32(0x1c, b.size());
    return std::move(b.bytes);
}

Data sarc_without_names(std::span<const HashedMember> members, bool big_endian) {
    Buffer b;
    const auto u16 = [&](uint64_t at, uint64_t v) { big_endian ? b.u16be(at, v) : b.u16(at, v); };
    const auto u32 = [&](uint64_t at, uint64_t v) { big_endian ? b.u32be(at, v) : b.u32(at, v); };
    b.text(0, "SARC");
    u16(0x04, 0x14);
    u16(0x06, 0xfeff);
    u16(0x10, 0x100);
    u16(0x12, 0);
    b.text(0x14, "SFAT");
    u16(0x18, 0x0c);
    u16(0x1a, members.size());
    u32(0x1c, 0x65);
    const uint64_t entries = b.size();
    b.reserve_to(entries + 16 * members.size());
    b.text(b.size(), "SFNT");
    u16(b.size(), 8);
    u16(b.size(), 0);
    b.align(0x100);
    const uint64_t data = b.size();
    u32(0x0c, data);
    for (size_t i = 0; i < members.size(); ++i) {
        b.align(8);
        u32(entries + 16 * i, members[i].hash);
        u32(entries + 16 * i + 4, 0);
        u32(entries + 16 * i + 8, b.size() - data);
        b.append(members[i].data);
        u32(entries + 16 * i + 12, b.size() - data);
    }
    u32(0x08, b.size());
    return std::move(b.bytes);
}

Data u8_archive(std::span<const Member> members, bool little_endian) {
    Buffer b, names;
    const auto u32 = [&](uint64_t at, uint64_t v) { little_endian ? b.u32(at, v) : b.u32be(at, v); };
    struct Node {
        uint64_t type, name, second, third;
        const Data* data;
    };
    std::vector<Node> nodes = {{1, 0, 0, 0, nullptr}};
    names.u8(0, 0); // the root's name
    const auto name = [&](const std::string& s) {
        const uint64_t at = names.size();
        names.text(at, s);
        names.u8(names.size(), 0);
        return at;
    };
    const std::function<void(const Tree&, uint64_t)> add = [&](const Tree& t, uint64_t self) {
        for (const auto& [file, data] : t.files)
            nodes.push_back({0, name(file), 0, data->size(), data});
        for (const auto& [child_name, child] : t.directories) {
            const uint64_t index = nodes.size();
            nodes.push_back({1, name(child_name), self, 0, nullptr});
            add(child, index);
            nodes[index].third = nodes.size();
        }
    };
    add(tree_of(members), 0);
    nodes[0].third = nodes.size();
    u32(0, 0x55aa382d);
    u32(4, 0x20);
    u32(8, 12 * nodes.size() + names.size());
    b.reserve_to(0x20 + 12 * nodes.size());
    b.append(names.bytes);
    b.align(0x20);
    u32(0xc, b.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
        const Node& n = nodes[i];
        uint64_t second = n.second;
        if (n.data) {
            b.align(0x20);
            second = b.append(*n.data);
        }
        u32(0x20 + 12 * i, n.type << 24 | n.name);
        u32(0x20 + 12 * i + 4, second);
        u32(0x20 + 12 * i + 8, n.third);
    }
    return std::move(b.bytes);
}

Data narc(std::span<const Member> members, bool named) {
    Buffer table, data; // BTNF's contents, GMIF's contents
    std::vector<const Data*> order;
    if (named) {
        const Tree root = tree_of(members);
        std::vector<const Tree*> trees = {&root};
        std::vector<uint64_t> parents = {0};
        for (size_t i = 0; i < trees.size(); ++i) // breadth first: a directory's ID is its place here
            for (const auto& [name, child] : trees[i]->directories) {
                trees.push_back(&child);
                parents.push_back(i);
            }
        table.reserve_to(8 * trees.size());
        uint64_t next_child = 1;
        for (size_t i = 0; i < trees.size(); ++i) {
            table.u32(8 * i, table.size());
            table.u16(8 * i + 4, order.size());
            table.u16(8 * i + 6, i ? 0xf000 + parents[i] : trees.size());
            for (const auto& [name, file] : trees[i]->files) {
                table.u8(table.size(), name.size());
                table.text(table.size(), name);
                order.push_back(file);
            }
            for (const auto& [name, child] : trees[i]->directories) {
                table.u8(table.size(), 0x80 | name.size());
                table.text(table.size(), name);
                table.u16(table.size(), 0xf000 + next_child++);
            }
            table.u8(table.size(), 0);
        }
    } else {
        table.u32(0, 4);
        table.u32(4, 0x10000);
        for (const Member& m : members)
            order.push_back(&m.data);
    }
    table.align(4);
    Buffer b;
    b.text(0, "NARC");
    b.u16(0x04, 0xfffe);
    b.u16(0x06, 0x100);
    b.u16(0x0c, 0x10);
    b.u16(0x0e, 3);
    b.text(0x10, "BTAF");
    b.u32(0x14, 12 + 8 * order.size());
    b.u32(0x18, order.size());
    for (const Data* d : order) {
        data.align(4);
        const uint64_t start = data.append(*d);
        b.u32(b.size(), start);
        b.u32(b.size(), start + d->size());
    }
    const uint64_t names = b.size();
    b.text(names, "BTNF");
    b.u32(names + 4, 8 + table.size());
    b.append(table.bytes);
    const uint64_t image = b.size();
    b.text(image, "GMIF");
    b.u32(image + 4, 8 + data.size());
    b.append(data.bytes);
    b.u32(0x08, b.size());
    return std::move(b.bytes);
}

Data bea(std::span<const BeaEntry> entries, uint32_t version) {
    const bool in_place = version >= 0x50000;
    const uint64_t entry_bytes = in_place ? 0x48 : 0x30;
    Buffer b;
    b.text(0, "SCNE");
    b.u32(0x08, version);
    b.u16(0x0c, 0xfeff);
    b.u8(0x0e, 12);
    b.u8(0x0f, 64);
    b.u16(0x16, 0x58);
    b.u32(0x20, entries.size());
    b.reserve_to(0x60);
    std::vector<uint64_t> places;
    if (in_place) {
        b.u64(0x28, b.size());
        for (size_t i = 0; i < entries.size(); ++i) {
            places.push_back(b.size());
            b.reserve_to(b.size() + entry_bytes);
        }
        b.u64(0x30, b.size());
        for (const uint64_t p : places)
            b.u64(b.size(), p);
    } else {
        b.u64(0x28, b.size());
        const uint64_t array = b.size();
        b.reserve_to(array + 8 * entries.size());
        for (size_t i = 0; i < entries.size(); ++i) {
            b.align(16);
            places.push_back(b.size());
            b.u64(array + 8 * i, b.size());
            b.reserve_to(b.size() + entry_bytes);
        }
    }
    for (size_t i = 0; i < entries.size(); ++i) {
        const BeaEntry& e = entries[i];
        const uint64_t at = places[i];
        const Data stored = e.raw ? e.data : zstd(e.data);
        b.text(at, "ASST");
        b.u32(at + 0x04, entry_bytes);
        b.u32(at + 0x08, entry_bytes);
        b.u32(at + 0x14, stored.size());
        b.u32(at + 0x18, e.data.size());
        if (in_place)
            b.text(at + 0x1c, "_G3DSHA");
        b.align(2);
        const uint64_t name = b.size();
        b.u16(name, e.name.size());
        b.text(name + 2, e.name);
        b.u8(b.size(), 0);
        b.align(64);
        b.u64(at + entry_bytes - 16, b.size());
        b.u64(at + entry_bytes - 8, name);
        b.append(stored);
    }
    b.u32(0x1c, b.size());
    return std::move(b.bytes);
}

} // namespace dmsh::writers
