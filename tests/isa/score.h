// Compares decoder and disassembler with the texts of a table.
#pragma once
#include "compiler/isa/isa.h"
#include "tests/isa/corpus.h"

namespace dmsh::isa {

// What the sm_86 tables reach on the full oracle; raise with the tables.
inline constexpr double kAmpereShare = 99.2;
inline constexpr size_t kAmpereWronglyTaken = 0;

struct Score {
    size_t equal = 0, differ = 0, rejected = 0, wrongly_taken = 0, unnamed_taken = 0;
    double share() const { return equal + differ == 0 ? 0 : 100.0 * double(equal) / double(equal + differ); }
};

Score score(Arch arch, const std::vector<Sample>& samples);

} // namespace dmsh::isa
