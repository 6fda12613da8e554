// The readers of this folder, for the list in scan/readers.cpp.
#pragma once
#include "archivers/core/reader.h"

namespace dmsh {

extern const Reader kBnshReader;  // a BNSH, and what follows it
extern const Reader kGlslcReader; // a GLSLC output, and what follows it
extern const Reader kNsoReader;
extern const Reader kNroReader;
extern const Reader kSearchReader; // any file that no other reader takes

} // namespace dmsh
