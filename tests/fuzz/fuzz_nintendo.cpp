// libFuzzer target: Nintendo's and its partners' archives; the first byte says which.
#include "tests/fuzz/nintendo_magics.h"
#include "tests/fuzz/scan_target.h"
#include <iterator>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace dmsh::fuzz;
    if (!size)
        return 0;
    const Magic& m = kNintendoMagics[data[0] % std::size(kNintendoMagics)];
    return scan_as(data + 1, size - 1, m.bytes, m.at);
}
