// What tests must know of a SPIR-V module: its blocks' words, its inputs and outputs; and a form of it whose
// outputs transform feedback captures.
#pragma once
#include "runtime/abi/result.h"
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dmsh::test {

// What a 4-byte word of a buffer holds. `none` is padding.
enum class WordKind : uint8_t { none, f32, s32, u32, f16, u8, f64_low, f64_high, s64_low, s64_high };

// A uniform or storage block: the kinds of its first words; the tail repeats (run-time array) when period is
// not 0.
struct Block {
    uint32_t set = 0, binding = 0;
    bool storage = false;
    std::vector<WordKind> words;
    std::vector<WordKind> tail; // one element of the run-time array that starts where `words` ends
    uint32_t array = 1;         // descriptors

    // Kinds of all words of a buffer of that many bytes; words past a fixed-size block are `none`.
    std::vector<WordKind> kinds(size_t bytes) const;
};

enum class BaseType : uint8_t { real, sint, uint };

// An input or output of the entry point. Arrays and matrices are spread over consecutive locations.
struct IoVariable {
    int32_t builtin = -1; // SpvBuiltIn, or -1
    uint32_t location = 0, component = 0;
    BaseType type = BaseType::real;
    uint32_t width = 4;      // bytes of a component
    uint32_t components = 1; // vector size
    uint32_t count = 1;      // array elements (builtins: array length)
    bool per_vertex = false; // outermost dimension is a vertex index (geometry, tessellation)
    bool patch = false;
    bool flat = false, no_perspective = false, centroid = false, sample = false;
};

struct Reflection {
    std::vector<Block> blocks;
    std::vector<IoVariable> inputs, outputs;
    std::vector<uint32_t> specialization_ids;
    std::string entry;
    uint32_t model = 0; // SpvExecutionModel
    bool early_tests = false, depth_replacing = false, sample_rate = false;
    uint32_t input_vertices = 0;                    // geometry: of the input primitive; 3 also for tessellated triangles
    uint32_t output_vertices = 0, invocations = 1;  // geometry: bound; tess_control: of the patch
    uint32_t output_primitive = 0;                  // geometry: vertices of a captured primitive, 1, 2 or 3
    bool quads = false, isolines = false;
    std::vector<uint32_t> capabilities;
};

Result<Reflection> reflect(std::span<const uint32_t> words);

// One captured output: `bytes` bytes at `offset` of each captured vertex's record.
struct Capture {
    std::string name; // "location.component" or the builtin's number "b11"
    uint32_t offset = 0, words = 0;
    BaseType type = BaseType::real;
    int32_t builtin = -1;
    uint32_t location = 0, component = 0;
};

struct CapturingModule {
    std::vector<uint32_t> words;
    std::vector<Capture> captures;
    uint32_t stride = 0;
};

// The module with its outputs decorated for transform feedback into buffer 0. Builtins: position, point size,
// clip distance, layer, viewport index and primitive id, where they are stored to.
Result<CapturingModule> capture_outputs(std::span<const uint32_t> words);

} // namespace dmsh::test
