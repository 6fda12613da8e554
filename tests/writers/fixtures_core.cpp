// Fixtures of the files that are one compressed stream.
#include "tests/writers/fixtures.h"

namespace dmsh::writers {

std::vector<Fixture> core_fixtures() {
    const Data b = bnsh(std::vector<std::vector<Pair>>{{tiny_pair(Stage::compute)}});
    const auto packed = [](const Data& d) { return zstd(d); };
    Fixture checked{"zstd", zstd(b), 1};
    checked.wrap = packed;
    checked.checked = {checked.data.size() - 1};
    Fixture yaz{"Yaz0", yaz0(b), 1};
    yaz.wrap = [](const Data& d) { return yaz0(d); };
    return {yaz, checked, {"unsized zstd", zstd(b, 3, false), 1}};
}

} // namespace dmsh::writers
