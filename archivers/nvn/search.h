// search: shaders that lie in the open in any file or program image: BNSH, GLSLC outputs, control sections
// with their code.
#pragma once
#include "archivers/core/reader.h"

namespace dmsh {

// In a program image a magic can be a constant of the program, so what does not fit is passed over;
// in a data file it is an error line.
enum class Place : uint8_t { data, program };

// Alignment 1 throughout. Work is linear: what was read is not searched again, and checks of
// candidates that come to nothing are limited to 16 times the size.
Result<void> search(const Blob& in, Place place, Output& out);

} // namespace dmsh
