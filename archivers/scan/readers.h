// The list of readers: adding a container is a reader file, a line here, a writer and a test.
#pragma once
#include "archivers/core/reader.h"
#include <span>

namespace dmsh {

// In order of detection: the first whose probe accepts the bytes reads them. The last one takes everything.
std::span<const Reader* const> readers();

// The reader for these bytes.
const Reader& reader_for(Bytes bytes);

} // namespace dmsh
