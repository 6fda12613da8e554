// Fixtures of Nintendo's containers.
#include "tests/writers/codecs.h"
#include "tests/writers/fixtures.h"
#include "tests/writers/nintendo_archives.h"
#include "tests/writers/nintendo_packs.h"

namespace dmsh::writers {

std::vector<Fixture> nintendo_fixtures() {
    const Pair vs = tiny_pair(Stage::vertex), cs = tiny_pair(Stage::compute);
    const Data b = bnsh(std::vector<std::vector<Pair>>{{cs}});
    const std::vector<Member> files = {{"a/s", b}, {"t", Data(5, 't')}};
    const auto in_sarc = [](const Data& d) { return sarc(std::vector<Member>{{"m", d}}); };
    const auto in_romfs = [](const Data& d) { return romfs(std::vector<Member>{{"m", d}}); };
    Fixture fsha{"BFSHA", bfsha(b), 1};
    fsha.silent_bytes = 0x2000; // the search finds its BNSH only when its head is there
    Fixture archive{"SARC", sarc(files), 1};
    archive.wrap = in_sarc;
    Fixture image{"RomFS", romfs(files), 1};
    image.wrap = in_romfs;
    const Pair fs = tiny_pair(Stage::fragment, 3);
    const std::vector<ShaderModel> models = {{"model", b}};
    const std::vector<SharcProgram> programs = {{"program", {vs, fs}}};
    const auto in_bea = [](uint32_t version) {
        return [version](const Data& d) { return bea(std::vector<BeaEntry>{{"m", d}}, version); };
    };
    Fixture bea1{"BEA 1.56", bea(std::vector<BeaEntry>{{"a", b}, {"b", Data(9, 'b'), true}}, 0x10100), 1};
    bea1.wrap = in_bea(0x10100);
    Fixture bea2{"BEA 2.9", bea(std::vector<BeaEntry>{{"a", b}, {"b", Data(9, 'b'), true}}, 0x60000), 1};
    bea2.wrap = in_bea(0x60000);
    Fixture u8{"U8", u8_archive(files), 1};
    u8.wrap = [](const Data& d) { return u8_archive(std::vector<Member>{{"m", d}}); };
    Fixture ds{"NARC", narc(files), 1};
    ds.data = narc(std::vector<Member>{{"a/s", b}, {"t", {'T', 'E', 'X', 'T', 0}}});
    ds.wrap = [](const Data& d) { return narc(std::vector<Member>{{"m", d}}); };
    Data behind_byte = zlib(b);
    behind_byte.insert(behind_byte.begin(), 0x50);
    Fixture cmp{"size-prefixed zstd", size_prefixed(b, zstd(b)), 1};
    cmp.wrap = [](const Data& d) { return size_prefixed(d, zstd(d)); };
    Fixture pak{"GFPAK",
                gfpak(std::vector<PackedFile>{
                    {"a", b, Packing::lz4}, {"b", raw_pair(vs), Packing::zlib}, {"c", raw_pair(fs)}}),
                3};
    pak.wrap = [](const Data& d) { return gfpak(std::vector<PackedFile>{{"m", d, Packing::lz4}}); };
    const std::vector<Member> packs = {{"p", trinity_pack(std::vector<PackedFile>{{"a", b}})},
                                       {"q", trinity_pack(std::vector<PackedFile>{{"b", raw_pair(vs)}})}};
    Fixture trpfs{"Trinity", trinity_archive(packs), 2};
    trpfs.siblings = {{"data.trpfd", trinity_descriptor(packs)}};
    const auto nlg = [&](const char* name, unsigned revision) {
        const NlgArchive a = nlg_archive(std::vector<Data>{b, raw_pair(vs)}, revision);
        Fixture f{name, a.dictionary, 2};
        f.file_name = "f.dict";
        f.siblings = {{"f.data", a.data}};
        return f;
    };
    return {
        {"BFSHA by tables", bfsha_models(models, 8), 1},
        {"BFSHA of version 5", bfsha_models(models, 5), 1},
        {"BAHS", bahs(programs), 2},
        {"BFRES", bfres(std::vector<Data>{bfsha_models(models, 8)}), 1},
        {"VFXB", vfxb(b, raw_pair(vs)), 2},
        {"SARC without names", sarc_without_names(std::vector<HashedMember>{{1, b}, {2, Data(5, 't')}}), 1},
        u8,
        {"little-endian U8", u8_archive(files, true), 1},
        ds,
        {"NARC without names", narc(std::vector<Member>{{"a", behind_byte}}, false), 1},
        bea1,
        bea2,
        cmp,
        {"size-prefixed LZ4", size_prefixed(b, lz4_frame(b, false)), 1},
        pak,
        trpfs,
        {"Trinity without descriptor", trinity_archive(packs), 2},
        nlg("Next Level dictionary 2", 2),
        nlg("Next Level dictionary 3", 3),
        {"BNSH", b, 1},
        {"NVN2 BNSH",
         bnsh(std::vector<std::vector<Pair>>{{small_nvn2_pair(Stage::task), small_nvn2_pair(Stage::mesh)}}),
         2},
        fsha,
        archive,
        {"big-endian SARC", sarc(files, true), 1},
        image,
        {"SARC in Yaz0 in SARC", sarc(std::vector<Member>{{"i", yaz0(sarc(files))}, {"j", raw_pair(vs)}}), 2},
    };
}

} // namespace dmsh::writers
