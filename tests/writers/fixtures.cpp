// Puts the families' fixtures together.
#include "tests/writers/fixtures.h"

namespace dmsh::writers {

const std::vector<Fixture>& all_fixtures() {
    static const std::vector<Fixture> list = [] {
        std::vector<Fixture> all;
        for (const auto& family : {core_fixtures(), nvn_fixtures(), nintendo_fixtures(), misc_fixtures()})
            all.insert(all.end(), family.begin(), family.end());
        return all;
    }();
    return list;
}

Pair tiny_pair(Stage stage, uint32_t counter) {
    Pair p = small_pair(stage, counter, stage != Stage::compute);
    p.control.resize(0x760);
    const uint32_t length = 0x760;
    std::memcpy(p.control.data() + 0x20, &length, 4);
    std::memcpy(p.control.data() + 0x71c, &counter, 4);
    return p;
}

} // namespace dmsh::writers
