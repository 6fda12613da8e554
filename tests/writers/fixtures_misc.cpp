// Fixtures of general containers.
#include "tests/writers/codecs.h"
#include "tests/writers/fixtures.h"
#include "tests/writers/general.h"
#include "tests/writers/nvn_packs.h"

namespace dmsh::writers {

std::vector<Fixture> misc_fixtures() {
    const Pair vs = tiny_pair(Stage::vertex), fs = tiny_pair(Stage::fragment);
    const Data output = glslc_output(std::vector{vs, fs});
    const auto one = [](ZipMethod method) {
        return [method](const Data& d) { return zip(std::vector<ZipMember>{{"a", d, method}}); };
    };
    Fixture deflated{"zip", one(ZipMethod::deflate)(output), 2};
    deflated.wrap = one(ZipMethod::deflate);
    Fixture stored{"stored zip", one(ZipMethod::stored)(output), 2};
    stored.wrap = one(ZipMethod::stored);
    stored.checked = {30 + 1 + 5 + 0x50, stored.data.size() - 100}; // the output's reserved words; its end
    ZipOptions wide;
    wide.zip64 = true;
    Fixture chain{
        "VZIP",
        vzip(std::vector<ZipMember>{{"a", viper_binary(small_nvn2_pair(Stage::vertex)), ZipMethod::chain}}),
        1};
    Fixture packed{"gzip", gzip(output), 2};
    packed.wrap = [](const Data& d) { return gzip(d); };
    packed.checked = {packed.data.size() - 8, packed.data.size() - 4};
    Fixture tape{"tar", tar(std::vector<Member>{{"a", output}}), 2};
    tape.wrap = [](const Data& d) { return tar(std::vector<Member>{{"a", d}}); };
    tape.silent_bytes = 512;
    const std::vector<Member> files = {{"d/a", Data(5, 'a')},
                                       {"shaders.cache.nx", heaps_cache(std::vector<Data>{output})}};
    Fixture cache{"Heaps cache", files[1].data, 2};
    cache.file_name = "shaders.cache.nx";
    cache.silent_bytes = 0x100; // where the first output begins
    const std::string glsl = "#version 320 es\nvoid main() {}\n";
    Fixture source{"GLSL source", Data(glsl.begin(), glsl.end()), 0};
    source.file_name = "a.vert";
    const Data effect = mgfx8({{fs}, {{255, 0}}});
    return {
        deflated,
        stored,
        {"zip64", zip(std::vector<ZipMember>{{"a", output}}, wide), 2},
        chain,
        packed,
        tape,
        {"GNU tar", tar(std::vector<Member>{{std::string(120, 'n'), output}}, TarKind::gnu), 2, {}, 512},
        {"pax tar", tar(std::vector<Member>{{std::string(120, 'n'), output}}, TarKind::pax), 2, {}, 512},
        {"Heaps PAK", heaps_pak(files, 0), 2},
        {"Heaps PAK with doubles", heaps_pak(files, 1, true), 2, {}, 0x100},
        cache,
        {"XNB", xnb_effect(effect), 1},
        {"LZ4 XNB", xnb_effect(effect, XnbPacking::lz4), 1},
        {"LZX XNB", xnb_effect(effect, XnbPacking::lzx_verbatim), 1},
        source,
    };
}

} // namespace dmsh::writers
