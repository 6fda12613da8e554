// libFuzzer target: control section and code, together and as a file in which they must be found.
#include "tests/fuzz/scan_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace dmsh;
    const Bytes in(data, size);
    const Bytes control = in.clamp(0, size >= 2 ? in.u16(0) : 0), code = in.clamp(control.size());
    (void)prepare_program(control, code);
    return fuzz::scan_as(data, size, {"\x34\x12\x76\x98", 4});
}
