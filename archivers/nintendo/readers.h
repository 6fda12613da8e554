// The readers of this folder, for the list in scan/readers.cpp.
#pragma once
#include "archivers/core/reader.h"

namespace dmsh {

extern const Reader kBahsReader;
extern const Reader kBeaReader;
extern const Reader kBfresReader;
extern const Reader kBfshaReader;
extern const Reader kCraReader;
extern const Reader kGfpakReader;
extern const Reader kNarcReader;
extern const Reader kNlgDictReader;
extern const Reader kRomfsReader;
extern const Reader kSarcReader;
extern const Reader kSizePrefixedReader;
extern const Reader kTrinityReader;
extern const Reader kU8Reader;
extern const Reader kVfxbReader;
extern const Reader kYaz0Reader;

} // namespace dmsh
