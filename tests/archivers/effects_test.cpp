// MGFX effects, loose, in XNB files and in executables; YEBIS's streams.
#include "tests/archivers/found.h"
#include "tests/writers/codecs.h"
#include "tests/writers/general.h"
#include "tests/writers/modules.h"
#include <random>

namespace dmsh {
namespace {

using writers::Buffer;
using writers::Data;
using writers::Effect;
using writers::ModuleWriter;
using writers::Pair;
using writers::small_pair;
using writers::XnbPacking;

std::vector<Pair> shaders() {
    return {small_pair(Stage::vertex, 1), small_pair(Stage::fragment, 2), small_pair(Stage::fragment, 3)};
}
Effect effect() {
    return {shaders(), {{0, 1}, {255, 2}}};
}

TEST(MgfxReader, V8) {
    const ScanResult r = expect_pairs(writers::mgfx8(effect()), shaders(), "MGFX 8");
    EXPECT_EQ(r.formats.at("mgfx").shaders, 3u);
    // Ten of thirteen known effects have no vertex shader.
    expect_pairs(writers::mgfx8({{small_pair(Stage::fragment, 5)}, {{255, 0}}}),
                 {small_pair(Stage::fragment, 5)}, "pixel shader alone");
    expect_pairs(writers::mgfx8({{}, {}}), {}, "no shader");
}

TEST(MgfxReader, V8EndsWhereTheFileDoes) {
    Data d = writers::mgfx8(effect());
    d.push_back(1);
    expect_refused(d, "MGFX effect does not end where the file does");
    for (size_t n = 12; n < d.size() - 1; n += 13)
        expect_refused(Data(d.begin(), d.begin() + static_cast<ptrdiff_t>(n)),
                       "MGFX effect: it leaves the file");
}

TEST(MgfxReader, V8Damaged) {
    Data d = writers::mgfx8(effect());
    d[4] = 9;
    expect_refused(d, "MGFX effect: version 9 is not read");
    expect_refused(writers::mgfx8({shaders(), {{0, 7}}}),
                   "MGFX effect: a pass names a shader that is not there");
    d = writers::mgfx8(effect());
    const auto control = Bytes(d).find_u32(0x98761234, 0);
    set_word(d, *control - 4, 0x870);
    expect_refused(d, "MGFX effect: shader 0: its lengths do not agree");
    d = writers::mgfx8(effect());
    d[*control - 9] = 0; // it calls a vertex shader pixel shader
    expect_refused(d, "MGFX effect: shader 0: the effect calls it fragment");
}

TEST(MgfxReader, V5) {
    const Data d = writers::mgfx5(effect());
    expect_pairs(d, shaders(), "MGFX 5");
    Data tail = d;
    tail.resize(d.size() + 0xff0);
    expect_pairs(tail, shaders(), "MGFX 5 with zeros behind it");
    tail.back() = 1;
    expect_refused(tail, "MGFX effect does not end where the file does");
    // DirectX bytecode beside, and alone.
    Effect mixed = effect();
    mixed.shaders.push_back({Stage::fragment, {}, {}});
    expect_pairs(writers::mgfx5(mixed), shaders(), "MGFX 5 with DirectX bytecode");
    expect_pairs(writers::mgfx5({{{Stage::fragment, {}, {}}}, {}}), {}, "DirectX bytecode alone");
    Data longer = d;
    const auto output = Bytes(d).find_u32(0x19866891, 0);
    set_word(longer, *output + 0x44, Bytes(d).u32(*output + 0x44) - 8);
    EXPECT_TRUE(scan_bytes(longer).records.empty());
    EXPECT_EQ(scan_bytes(longer).errors.size(), 1u);
}

TEST(Xnb, AllPackings) {
    for (const XnbPacking packing : {XnbPacking::none, XnbPacking::lz4, XnbPacking::lzx_verbatim,
                                     XnbPacking::lzx_aligned, XnbPacking::lzx_uncompressed}) {
        const std::string what = "XNB packing " + std::to_string(static_cast<int>(packing));
        expect_pairs(writers::xnb_effect(writers::mgfx8(effect()), packing), shaders(), what);
        expect_pairs(writers::xnb_effect(writers::mgfx5(effect()), packing, 0xff0), shaders(), what + " v5");
    }
    // More than one LZX frame.
    Effect large;
    for (uint32_t i = 0; i < 40; ++i)
        large.shaders.push_back(small_pair(Stage::fragment, i));
    expect_pairs(writers::xnb_effect(writers::mgfx8(large), XnbPacking::lzx_uncompressed), large.shaders,
                 "LZX frames");
}

TEST(Xnb, OtherAssetsHoldNoShader) {
    ScanResult r = scan_bytes(writers::xnb("Microsoft.Xna.Framework.Content.Texture2DReader", Data(100, 7)));
    EXPECT_TRUE(r.errors.empty()) << errors_of(r);
    EXPECT_TRUE(r.notes.empty());
    // XNA's own effects are for a library that the GPU does not run.
    r = scan_bytes(writers::xnb_effect(Data(100, 7)));
    EXPECT_TRUE(r.errors.empty()) << errors_of(r);
    EXPECT_EQ(r.notes.size(), 1u);
}

TEST(Xnb, Damaged) {
    const Data good = writers::xnb_effect(writers::mgfx8(effect()));
    Data d = good;
    d.resize(d.size() - 1);
    expect_refused(d, "XNB: its length leaves the file");
    d = good;
    d[10] = 100; // readers
    expect_refused(d, "XNB: the list of its readers is none");
    expect_refused(writers::xnb_effect(writers::mgfx8(effect()), XnbPacking::none, 16),
                   "MGFX effect does not end where the file does");
    for (const XnbPacking packing : {XnbPacking::lz4, XnbPacking::lzx_aligned}) {
        d = writers::xnb_effect(writers::mgfx8(effect()), packing);
        set_word(d, 10, Bytes(d).u32(10) + 1);
        expect_refused(d, "XNB: ");
    }
}

TEST(MgfxReader, InExecutables) {
    ModuleWriter m;
    Data literal = {'M', 'G', 'F', 'X', 8, 0, 0, 0}; // in the program's text
    m.rodata(literal);
    const uint64_t at = m.rodata(writers::mgfx8(effect()), 1);
    m.rodata(literal);
    const ScanResult r = expect_pairs(m.nso(), shaders(), "effect in an executable");
    EXPECT_EQ(r.lone_controls, 0u);
    EXPECT_GT(r.find(key_of_pair(shaders()[0]))->offset, at);
}

Data yebis_text(const std::vector<Pair>& pairs) {
    Buffer b;
    b.text(0, "3\nhlsl\nTexUtil_NVN_NX\nps_BrightPassT1_THRESHOLD_LUMINANCE_S1\n");
    for (const Pair& p : pairs) {
        b.append(p.control);
        b.append(p.code);
    }
    return b.bytes;
}

// SDK 7's control sections.
std::vector<Pair> short_sections() {
    std::vector<Pair> pairs = shaders();
    for (Pair& p : pairs) {
        p.control.resize(0x850);
        set_word(p.control, 0x20, 0x850);
    }
    return pairs;
}

TEST(TfxoReader, StreamInAnExecutable) {
    const Data stream = writers::zlib(yebis_text(short_sections())), other = writers::zlib(Data(5000, 'x'));
    ModuleWriter m;
    m.rodata(other, 1);
    m.rodata(Data(3, 0));
    const uint64_t at = m.rodata(stream, 1);
    m.rodata(other, 1);
    const ScanResult r = expect_pairs(m.nso(), short_sections(), "tfxo");
    char name[40];
    std::snprintf(name, sizeof name, "file/0x%llx.tfxo", static_cast<unsigned long long>(at));
    EXPECT_EQ(r.records[0].origin, name);
    EXPECT_EQ(r.formats.at("tfxo").shaders, 3u);
}

TEST(TfxoReader, OnlyCompleteStreams) {
    Data stream = writers::zlib(yebis_text(short_sections()));
    stream.resize(stream.size() - 4);
    ModuleWriter m;
    m.rodata(stream, 1);
    const ScanResult r = scan_bytes(m.nso());
    EXPECT_TRUE(r.records.empty());
    ASSERT_EQ(r.errors.size(), 1u);
    EXPECT_NE(errors_of(r).find("tfxo: "), std::string::npos);
}

TEST(TfxoReader, ManyFalseHeadersCostLittle) {
    Data d(0x8000);
    for (size_t i = 0; i + 1 < d.size(); i += 2)
        d[i] = 0x78, d[i + 1] = 0x9c;
    ModuleWriter m;
    m.rodata(d);
    const ScanResult r = scan_bytes(m.nso(ModuleWriter::Relocations::rela, false));
    EXPECT_TRUE(r.errors.empty()) << errors_of(r);
    EXPECT_EQ(r.notes.size(), 1u); // not all were tried, and that is said
}

} // namespace
} // namespace dmsh
