// Turns a shader and its resources into a whole job: the shader alone for compute, captured outputs for
// vertex shaders, a generated vertex stage and targets for fragment shaders, captured primitives for the rest.
#pragma once
#include "tests/corpus/scene.h"
#include <optional>

namespace dmsh::test {

struct PreparedJob {
    Job job;
    std::vector<std::vector<uint32_t>> code; // what job.stages point into
    std::vector<Capture> captures;           // transform feedback
    uint32_t capture_stride = 0, captured_vertices = 0;
    // What a control shader left per patch, and the kinds of its words.
    std::optional<uint32_t> record_buffer; // of job.buffers
    std::vector<WordKind> record_kinds;
};

// Draw state that both sides share: attributes, varyings, targets. Needs the reference's inputs and outputs.
void add_draw_state(Scene& scene, const CorpusShader& shader, const Reflection& reference);

// `job` has resources and descriptors; `words` is the reference or ours.
Result<PreparedJob> prepare(const CorpusShader& shader, const Scene& scene, Job job,
                            std::span<const uint32_t> words);

} // namespace dmsh::test
