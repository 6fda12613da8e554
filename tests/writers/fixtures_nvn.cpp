// Fixtures of NVN's own binaries.
#include "tests/writers/codecs.h"
#include "tests/writers/fixtures.h"
#include "tests/writers/general.h"
#include "tests/writers/modules.h"
#include "tests/writers/nvn_packs.h"

namespace dmsh::writers {
namespace {

// One shader as YEBIS keeps it.
Data yebis(const Pair& p) {
    Buffer b;
    b.text(0, "1\nhlsl\nTexUtil_NVN_NX\n");
    b.append(raw_pair(p, 1));
    return std::move(b.bytes);
}

// NVN's packs, lists and effects.
std::vector<Fixture> pack_fixtures() {
    const Pair vs = tiny_pair(Stage::vertex), fs = tiny_pair(Stage::fragment), cs = tiny_pair(Stage::compute);
    const Pair network = small_nvn2_pair(Stage::compute, 1),
               named = nvn2_pair_without_offset(Stage::compute, 2);
    const std::vector<Data> outputs = {glslc_output(std::vector{vs})};
    std::vector<NdsrEntry> entries = ndsr_program(network);
    entries.push_back({9, Data(4, 1)});
    for (NdsrEntry& e : ndsr_program(named, 3))
        entries.push_back(std::move(e));
    Fixture table{"offset table", offset_table(fs, vs, 16), 2};
    table.silent_bytes = 0x780; // a control section and a bit: not yet a table
    Fixture viper_resource{"VIPR", vipr(ndsr(entries)), 2};
    viper_resource.silent_bytes = 0xb0; // the pack's first control section shows that it is one
    Fixture tfxo{"tfxo", yebis(vs), 1};
    tfxo.silent_bytes = 0x900; // as a loose pair
    ModuleWriter module;
    const uint64_t code = module.rodata(vs.code), control = module.rodata(vs.control);
    module.record(code, control, vs.code.size(), vs.control.size());
    const uint64_t taken_code = module.rodata(cs.code), taken = module.rodata(cs.control);
    module.take_address(taken);
    module.take_address(taken_code);
    module.rodata(zlib(yebis(tiny_pair(Stage::fragment, 5))), 1);
    module.rodata(mgfx8({{tiny_pair(Stage::fragment, 6)}, {{255, 0}}}), 1);
    return {
        {"single-stage binary", viper_binary(small_nvn2_pair(Stage::fragment)), 1},
        {"list of outputs", output_list(outputs), 1},
        {"NVSB", nvsb(outputs[0]), 1},
        {"TEC", tec(outputs), 1},
        {"NDSR", ndsr(entries, 0x10), 2},
        {"NDSR of the other SDK", ndsr(entries, 0x14), 2},
        {"NDVE", ndve(std::vector{network}, std::vector{named}), 2},
        {"MGFX 8", mgfx8({{vs, fs}, {{0, 1}}}), 2},
        {"MGFX 5", mgfx5({{fs}, {{255, 0}}}), 1},
        {"loose shaders of a module", module.nso(), 4},
        table,
        viper_resource,
        tfxo,
    };
}

} // namespace

std::vector<Fixture> nvn_fixtures() {
    const Pair vs = tiny_pair(Stage::vertex), cs = tiny_pair(Stage::compute);
    const Data b = bnsh(std::vector<std::vector<Pair>>{{cs}});
    const std::vector<Member> files = {{"a/s", b}, {"t", Data(5, 't')}};
    Fixture raw{"raw pair", raw_pair(vs), 1};
    raw.silent_bytes = 0x2000; // nothing says how long a loose pair is
    Fixture assets{"NRO", nro(Data(32, 1), Data(32, 2), Data(32, 3), romfs(files)), 1};
    assets.silent_bytes =
        nro(Data(32, 1), Data(32, 2), Data(32, 3)).size() + 0x38; // whole without its assets
    std::vector<Fixture> all = {
        raw,
        {"GLSLC", glslc_output(std::vector{vs}), 1},
        {"NVN2 GLSLC", glslc_output_nvn2(std::vector{small_nvn2_pair(Stage::fragment)}), 1},
        {"NSO", nso(Data(32, 1), b, Data(32, 2)), 1},
        {"plain NSO", nso(Data(32, 1), b, Data(32, 2), false), 1},
        assets,
    };
    for (Fixture& f : pack_fixtures())
        all.push_back(std::move(f));
    return all;
}

} // namespace dmsh::writers
