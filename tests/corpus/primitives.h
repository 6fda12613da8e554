// Companion stages and draw state of geometry and tessellation shaders: a vertex shader that feeds a control or geometry
// shader, a control shader that feeds an evaluation shader, an evaluation shader that writes down what a control shader
// gave it.
#pragma once
#include "tests/corpus/draw.h"

namespace dmsh::test {

// Draw state and per-vertex words for geometry and tessellation shaders.
void add_primitives(Scene& scene, const CorpusShader& shader, const Reflection& reference);

// Fills `out` with the stages around `words`, captures and harness buffers.
Result<void> prepare_primitives(const CorpusShader& shader, const Scene& scene, std::span<const uint32_t> words,
                                const Reflection& reflection, PreparedJob& out);

// ---- shared with draw.cpp: data by name, so that both sides see the same ----
uint32_t seeded_word(std::string_view seed, uint32_t a, uint32_t b);
float seeded_real(std::string_view seed, uint32_t a, uint32_t b, float low, float high);
uint32_t seeded_integer(std::string_view seed, uint32_t a, uint32_t b, const Tuning& tuning);
std::string glsl_type(BaseType type, uint32_t components);
// The vertex shader that feeds `inputs` from the varyings buffer at set kHarnessSet, binding 0.
std::string feeding_vertex_shader(const Reflection& consumer, bool points);
// The kinds of the words of one vertex's record, by location and component.
std::vector<BaseType> varying_types(const std::vector<IoVariable>& list);

// Words of a vertex's record in Scene::varyings: kVaryingWords, then position and clip distances.
constexpr uint32_t kRecordWords = kVaryingWords + 16;

} // namespace dmsh::test
