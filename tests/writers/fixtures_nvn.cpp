// Fixtures of NVN's own binaries.
#include "tests/writers/fixtures.h"

namespace dmsh::writers {

std::vector<Fixture> nvn_fixtures() {
    const Pair vs = tiny_pair(Stage::vertex), cs = tiny_pair(Stage::compute);
    const Data b = bnsh(std::vector<std::vector<Pair>>{{cs}});
    const std::vector<Member> files = {{"a/s", b}, {"t", Data(5, 't')}};
    Fixture raw{"raw pair", raw_pair(vs), 1};
    raw.silent_bytes = 0x2000; // nothing says how long a loose pair is
    Fixture assets{"NRO", nro(Data(32, 1), Data(32, 2), Data(32, 3), romfs(files)), 1};
    assets.silent_bytes = nro(Data(32, 1), Data(32, 2), Data(32, 3)).size() + 0x38; // whole without its assets
    return {
        raw,
        {"GLSLC", glslc_output(std::vector{vs}), 1},
        {"NVN2 GLSLC", glslc_output_nvn2(std::vector{small_nvn2_pair(Stage::fragment)}), 1},
        {"NSO", nso(Data(32, 1), b, Data(32, 2)), 1},
        {"plain NSO", nso(Data(32, 1), b, Data(32, 2), false), 1},
        assets,
    };
}

} // namespace dmsh::writers
