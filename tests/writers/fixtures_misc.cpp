// Fixtures of general containers.
#include "tests/writers/fixtures.h"

namespace dmsh::writers {

std::vector<Fixture> misc_fixtures() {
    return {};
}

} // namespace dmsh::writers
