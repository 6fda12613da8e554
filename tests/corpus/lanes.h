// A second and a third way to run compute shaders, for operations across 32 lanes that the driver's subgroups are too narrow for.
// Storage buffers only: no textures, no images.
#pragma once
#include "tests/corpus/scene.h"

namespace dmsh::test {

// Buffers afterwards, in the scene's order; images are not run.
Result<Outcome> interpret(const CorpusShader& shader, const Scene& scene); // the machine code
Result<Outcome> execute(const CorpusShader& shader, const Scene& scene);   // the lifted IR

} // namespace dmsh::test
