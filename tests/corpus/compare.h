// Compares what two shaders left behind: integers bit for bit, floats within the corpus's tolerance.
#pragma once
#include "tests/corpus/draw.h"
#include <optional>

namespace dmsh::test {

// Relative tolerance of the corpus (its README) and the absolute floor below which differences do not count.
constexpr float kRelative = 2e-3f;
constexpr float kFloor = 2e-5f;

struct Comparison {
    size_t compared = 0; // words
    size_t changed = 0;  // words that the reference changed or drew: 0 means that nothing was tested
    size_t varied = 0;   // drawn words that differ from their neighbour's: a constant picture proves little
    size_t different = 0;
    std::string first; // the first difference: place, expected, got
};

Comparison compare(const CorpusShader& shader, const Scene& scene, const PreparedJob& reference_job,
                   const Outcome& reference, const PreparedJob& our_job, const Outcome& ours);

} // namespace dmsh::test
