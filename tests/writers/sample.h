// The sample shaders of tests/data as control section and code, the same bytes everywhere they are used.
#pragma once
#include "tests/writers/writers.h"

namespace dmsh::writers {

// Of tests/data/shaders. Prints and ends the program if there is no such shader: a mistake of the caller.
Pair sample_pair(const std::string& name);
// Of tests/data/headsurface ("vertex", "fragment_blend", ...), guest ABI headsurface.
Pair headsurface_pair(const std::string& name);

// The whole sample: files of the RomFS, and the executable's.
struct Sample {
    std::vector<Member> romfs;
    Member main;
};
Sample sample_romfs();

} // namespace dmsh::writers
