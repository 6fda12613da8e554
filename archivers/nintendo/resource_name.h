// Names in NintendoWare's binaries: u16 length, characters, NUL.
#pragma once
#include "archivers/core/bytes.h"

namespace dmsh {

constexpr uint64_t kResourceNameMax = 512; // what labels show of a name, whatever a file claims

// The name whose length word is at `at`, cut to kResourceNameMax; empty if there is none or if it leaves the
// view.
inline std::string_view resource_name(Bytes b, uint64_t at) {
    if (!at || !b.has(at, 2))
        return {};
    const auto text = b.slice(at + 2, b.u16(at));
    return text ? std::string_view(reinterpret_cast<const char*>(text->data()),
                                   std::min(text->size(), kResourceNameMax))
                : std::string_view();
}

} // namespace dmsh
