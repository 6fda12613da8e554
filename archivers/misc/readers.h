// The readers of this folder, for the list in scan/readers.cpp.
#pragma once
#include "archivers/core/reader.h"

namespace dmsh {

extern const Reader kZstdReader;
extern const Reader kZstdDictionaryReader;

} // namespace dmsh
