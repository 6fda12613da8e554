// libFuzzer target: GLSLC outputs of both header forms.
#include "tests/fuzz/scan_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    return dmsh::fuzz::scan_as(data, size, {"\x91\x68\x86\x19", 4});
}
