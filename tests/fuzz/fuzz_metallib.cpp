// Any bytes may be given to the metallib reader: it names a fault or parses, and the form checks hold.
#include "compiler/emit/air/metallib_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto slices = dmsh::split_metallib({data, size});
    if (!slices)
        return 0;
    for (const auto& slice : *slices)
        if (auto library = dmsh::read_metallib(slice.bytes))
            (void)dmsh::verify_container(*library);
    return 0;
}
