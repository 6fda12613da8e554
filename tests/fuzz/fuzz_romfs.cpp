// libFuzzer target: RomFS images of both kinds.
#include "tests/fuzz/scan_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    return size && data[size - 1] & 1 ? dmsh::fuzz::scan_as(data, size, "IVFC")
                                      : dmsh::fuzz::scan_as(data, size, {"\x50\0\0\0\0\0\0\0", 8});
}
