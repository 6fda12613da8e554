// libFuzzer target: the family of NVN's own binaries: outputs, packs, lists, effects, executables. The input
// is a whole file.
#include "tests/fuzz/scan_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    return dmsh::fuzz::scan_as(data, size, "");
}
