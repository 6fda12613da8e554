// libFuzzer target: BNSH.
#include "tests/fuzz/scan_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace dmsh;
    std::vector<uint8_t> bytes(data, data + size);
    bytes.resize(std::max<size_t>(size, 0x64));
    std::memcpy(bytes.data(), "BNSH\0\0\0\0", 8);
    return fuzz::scan_as(bytes.data(), bytes.size(), "grsc", 0x60);
}
