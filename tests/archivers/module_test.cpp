// Loose shaders of executables: which code belongs to a control section (A-039, S-024).
#include "tests/archivers/found.h"
#include "tests/writers/modules.h"

namespace dmsh {
namespace {

using writers::Buffer;
using writers::Data;
using writers::ModuleWriter;
using writers::Pair;
using writers::small_pair;
using Relocations = ModuleWriter::Relocations;

// Code areas of one length whose ends all look right beside any control section.
struct Neighbours {
    Pair pair = small_pair(Stage::vertex, 1);
    Data other = small_pair(Stage::fragment, 2).code;
};

TEST(RawSections, TablesOfPointers) {
    const Pair vertex = small_pair(Stage::vertex, 1), compute = small_pair(Stage::compute, 2, false);
    for (const Relocations kind : {Relocations::rela, Relocations::relr}) {
        ModuleWriter m;
        // Codes first, in the other order: neighbours are strangers.
        const uint64_t compute_code = m.rodata(compute.code), vertex_code = m.rodata(vertex.code);
        const uint64_t vertex_control = m.rodata(vertex.control), compute_control = m.rodata(compute.control);
        m.record(vertex_code, vertex_control, vertex.code.size(), vertex.control.size());
        m.record(compute_code, compute_control, compute.code.size(), compute.control.size());
        const ScanResult r = expect_pairs(m.nso(kind), {vertex, compute}, "table in an NSO");
        EXPECT_EQ(r.find(key_of_pair(vertex))->offset, vertex_control);
        EXPECT_EQ(r.find(key_of_pair(vertex))->origin, "file");
        expect_pairs(m.nso(kind, false), {vertex, compute}, "table in a plain NSO");
        expect_pairs(m.nro(kind), {vertex, compute}, "table in an NRO");
    }
}

TEST(RawSections, TwoRecordsShareACodeArea) {
    const Pair a = small_pair(Stage::vertex, 1);
    Pair b = a;
    set_word(b.control, 0x7d0, 77); // other compile information: another key
    ModuleWriter m;
    const uint64_t code = m.rodata(a.code), first = m.rodata(a.control), second = m.rodata(b.control);
    m.record(code, first, a.code.size(), a.control.size());
    m.record(code, second, b.code.size(), b.control.size());
    expect_pairs(m.nso(), {a, b}, "shared code");
}

TEST(RawSections, CodeAddressesDecideBetweenNeighbours) {
    for (const bool after : {true, false})
        for (const unsigned between : {0u, 7u}) {
            const Neighbours n;
            ModuleWriter m;
            const uint64_t before_code = m.rodata(after ? n.other : n.pair.code);
            const uint64_t control = m.rodata(n.pair.control);
            const uint64_t after_code = m.rodata(after ? n.pair.code : n.other);
            m.take_address(control, 1);
            m.take_address(after ? after_code : before_code, 2, between);
            expect_pairs(m.nso(), {n.pair}, after ? "code after" : "code before");
        }
}

TEST(RawSections, TwoControlSectionsShareTheCodeBetweenThem) {
    const Pair a = small_pair(Stage::compute, 1, false);
    Pair b = a;
    set_word(b.control, 0x7d0, 77);
    ModuleWriter m;
    const uint64_t first = m.rodata(a.control), code = m.rodata(a.code), second = m.rodata(b.control);
    m.take_address(first);
    m.take_address(code);
    m.take_address(second);
    expect_pairs(m.nso(), {a, b}, "shared code");
}

TEST(RawSections, NearestOfTwoCodeAreasThatAreBothTaken) {
    // The control section is longer than the code: what ends at it is nearer than what follows it.
    const Neighbours n;
    ModuleWriter m;
    const uint64_t before = m.rodata(n.pair.code), control = m.rodata(n.pair.control),
                   after = m.rodata(n.other);
    for (const uint64_t address : {before, control, after})
        m.take_address(address);
    expect_pairs(m.nso(), {n.pair}, "nearest");
}

TEST(RawSections, TakenSectionWithoutTakenCodeIsCounted) {
    const Neighbours n;
    ModuleWriter m;
    m.rodata(n.other);
    const uint64_t control = m.rodata(n.pair.control);
    m.take_address(control);
    const ScanResult r = scan_bytes(m.nso());
    EXPECT_TRUE(r.records.empty());
    EXPECT_TRUE(r.errors.empty());
    EXPECT_EQ(r.lone_controls, 1u);
}

TEST(RawSections, AddressesFurtherApartAreNoEvidence) {
    const Neighbours n;
    ModuleWriter m;
    m.rodata(n.pair.control);
    const uint64_t code = m.rodata(n.pair.code);
    m.take_address(code, 0, 40);
    // Nothing says anything: the only neighbour that fits is taken.
    expect_pairs(m.nso(), {n.pair}, "no evidence");
}

TEST(RawSections, DamagedTablesAreNoEvidence) {
    const Pair p = small_pair(Stage::vertex, 1);
    for (const uint64_t length : {uint64_t{8}, uint64_t{0x7fffffff}}) {
        ModuleWriter m;
        const uint64_t code = m.rodata(p.code);
        m.rodata(Data(64, 0x5a));
        const uint64_t control = m.rodata(p.control);
        m.record(code, control, length, p.control.size());
        const ScanResult r = scan_bytes(m.nso());
        EXPECT_TRUE(r.records.empty());
        EXPECT_TRUE(r.errors.empty());
        EXPECT_EQ(r.lone_controls, 1u);
    }
}

// Every word of MOD0, .dynamic and the tables set to what hurts; the other shader is found all the same.
TEST(RawSections, HostileModules) {
    const Pair p = small_pair(Stage::vertex, 1);
    const Data output = writers::glslc_output(std::vector{small_pair(Stage::fragment, 2)});
    for (const Relocations kind : {Relocations::rela, Relocations::relr}) {
        ModuleWriter m;
        const uint64_t code = m.rodata(p.code), control = m.rodata(p.control);
        m.record(code, control, p.code.size(), p.control.size());
        m.rodata(output);
        const Data good = m.nso(kind, false);
        const uint64_t first = 0x100 + ModuleWriter::kRodata + 0x100;
        const uint64_t dynamic = 0x100 + ModuleWriter::kData + 0x800;
        std::vector<uint64_t> places = {0x100 + 4};
        for (uint64_t at = first; at < first + 0x180; at += 4)
            places.push_back(at);
        for (uint64_t at = 0; at < 0x50; at += 4)
            places.push_back(dynamic + at);
        for (uint64_t at = 0; at < 0x20; at += 4)
            places.push_back(0x100 + ModuleWriter::kData + at);
        for (const uint64_t at : places)
            for (const uint32_t value : {0u, 1u, 0xffffffffu, 0x7fffffffu, 0x80000000u, 0x12100u}) {
                Data d = good;
                set_word(d, at, value);
                const ScanResult r = scan_bytes(d);
                EXPECT_NE(r.find(key_of_pair(small_pair(Stage::fragment, 2))), nullptr) << at;
            }
    }
}

} // namespace
} // namespace dmsh
