// The examples as data: buffers, textures and the steps of a frame. `record_example` turns them into NVN
// calls; the tests draw the same data by other means.
#pragma once
#include "runtime/examples/picture_scene.h"

namespace dmsh::examples {

enum class ShaderStage : uint8_t { vertex, fragment, geometry, tess_control, tess_evaluation, compute };

struct ExampleTexture {
    uint32_t width = 0, height = 0;
    NVNformat format = NVN_FORMAT_RGBA8; // also RGBA16F, DEPTH32F
    std::vector<uint8_t> texels;         // of the one level; empty: drawn before it is read
};

// What a stage's slot holds: a buffer or texture by index.
struct ExampleBinding {
    enum Kind : uint8_t { uniform, storage, texture, shadow_texture } kind = uniform;
    ShaderStage stage = ShaderStage::vertex;
    uint32_t slot = 0, index = 0;
};

struct ExampleAttribute {
    uint32_t buffer = 0, components = 3, stride = 0, offset = 0; // floats; location = place in the list
};

struct ExampleDraw {
    std::vector<std::string> shaders; // names in tests/data/shaders
    std::vector<ExampleBinding> bindings;
    std::vector<ExampleAttribute> attributes;
    NVNdrawPrimitive primitive = NVN_DRAW_PRIMITIVE_TRIANGLES;
    uint32_t patch = 0;
    std::vector<uint32_t> indices; // empty: `vertices` in order
    uint32_t vertices = 3, instances = 1;
    bool depth_test = true;
    bool multiply = false; // colour = target * fragment
};

struct ExampleStep {
    // A dispatch has a compute shader, a copy bytes; everything else is a pass.
    std::string compute;
    std::array<uint32_t, 3> groups{1, 1, 1};
    std::vector<ExampleBinding> bindings;
    uint32_t copy_from = 0, copy_to = 0, copy_bytes = 0;
    std::vector<uint32_t> colors; // textures
    int depth = -1;
    std::array<float, 4> clear{0, 0, 0, 1};
    bool keep = false; // no clear: draws onto what an earlier pass left
    std::vector<ExampleDraw> draws;
};

// Clip space has z from 0 to w; row 0 of the picture is at the bottom. Colour targets keep alpha as cleared.
struct Example {
    std::string name, what;
    uint32_t picture = 0; // texture index of the result, RGBA8
    std::vector<std::vector<uint8_t>> buffers;
    std::vector<ExampleTexture> textures;
    std::vector<ExampleStep> steps;
    std::vector<std::string> shaders() const; // all names, once
};

// cube, particles, deferred, terrain, fur. `frame` moves what moves.
std::vector<std::string> example_names();
Example make_example(const std::string& name, uint32_t frame = 20);

// Records the example through entry points that it gets from `loader`, submits, waits; RGBA8 rows from the
// bottom. Empty, with `problem` set, if a call fails.
std::vector<uint8_t> draw_example(const Example& example, const std::map<std::string, GuestShader>& shaders,
                                  PFNNVNGENERICFUNCPTRPROC (*loader)(const char*), std::string& problem);

} // namespace dmsh::examples
