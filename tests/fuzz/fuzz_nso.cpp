// libFuzzer target: NSO and NRO executables.
#include "tests/fuzz/scan_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    return size && data[size - 1] & 1 ? dmsh::fuzz::scan_as(data, size, "NRO0", 0x10)
                                      : dmsh::fuzz::scan_as(data, size, "NSO0");
}
