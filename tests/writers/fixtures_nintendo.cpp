// Fixtures of Nintendo's containers.
#include "tests/writers/fixtures.h"

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
    return {
        {"BNSH", b, 1},
        {"NVN2 BNSH",
         bnsh(std::vector<std::vector<Pair>>{{small_nvn2_pair(Stage::task), small_nvn2_pair(Stage::mesh)}}), 2},
        fsha,
        archive,
        {"big-endian SARC", sarc(files, true), 1},
        image,
        {"SARC in Yaz0 in SARC",
         sarc(std::vector<Member>{{"i", yaz0(sarc(files))}, {"j", raw_pair(vs)}}), 2},
    };
}

} // namespace dmsh::writers
