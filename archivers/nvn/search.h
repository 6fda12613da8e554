// search: shaders that lie in the open in any file or program image: BNSH, GLSLC outputs, control sections
// with their code.
#pragma once
#include "archivers/core/reader.h"
#include "archivers/nvn/module.h"
#include <span>

namespace dmsh {

// In a program image a magic can be a constant of the program, so what does not fit is passed over;
// in a data file it is an error line.
enum class Place : uint8_t { data, program };

// Bytes [begin, end) of a blob that a reader has already read by the container's own tables.
struct ReadRange {
    uint64_t begin = 0, end = 0;
};

// Alignment 1 throughout. Work is linear: what was read is not searched again, and checks of
// candidates that come to nothing are limited to 16 times the size. What begins in one of the ranges `read`
// (in any order) is passed over.
Result<void> search(const Blob& in, Place place, Output& out, std::span<const ReadRange> read = {});

// The same for one segment of a module. Loose control sections get the code that the module's tables or
// instructions name, and only without such evidence what stands beside them; effects are read as such.
// Offsets are module addresses.
Result<void> search_segment(const Module& module, const Segment& segment, Output& out);

} // namespace dmsh
