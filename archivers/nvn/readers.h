// The readers of this folder, for the list in scan/readers.cpp.
#pragma once
#include "archivers/core/reader.h"

namespace dmsh {

extern const Reader kBnshReader;  // a BNSH, and what follows it
extern const Reader kGlslcReader; // a GLSLC output or single-stage binary, and what follows it
extern const Reader kOutputListReader;
extern const Reader kNvsbReader;
extern const Reader kTecReader;
extern const Reader kOffsetTableReader;
extern const Reader kNdsrReader;
extern const Reader kViprReader;
extern const Reader kNdveReader;
extern const Reader kMgfxReader;
extern const Reader kTfxoReader;
extern const Reader kNsoReader;
extern const Reader kNroReader;
extern const Reader kSearchReader; // any file that no other reader takes

} // namespace dmsh
