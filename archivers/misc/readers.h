// The readers of this folder, for the list in scan/readers.cpp.
#pragma once
#include "archivers/core/reader.h"

namespace dmsh {

extern const Reader kZstdReader;
extern const Reader kZstdDictionaryReader;
extern const Reader kGzipReader;
extern const Reader kZipReader;
extern const Reader kTarReader;
extern const Reader kHeapsPakReader;
extern const Reader kHeapsCacheReader;
extern const Reader kXnbReader;
extern const Reader kGlslTextReader;

} // namespace dmsh
