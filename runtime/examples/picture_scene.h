// The scene of nvn_picture, as data (for whoever draws it by other means) and as NVN calls.
#pragma once
#include "runtime/nvn/nvn.h"
#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace dmsh::examples {

// One vertex as the compute shader reads and writes it (`struct W` of cs_ssbo_vector_widths, std430).
struct SceneVertex {
    float a[2]; // out: swapped; the texture coordinates of the draw
    uint32_t b;
    float c;
    int32_t d[3];
    int32_t e;
    float f0[4]; // unit normal; the fourth word is padding
    float f1[4]; // out: f0 + displacement, the drawn position
};
static_assert(sizeof(SceneVertex) == 64);

struct SceneTexture {
    uint32_t size = 0;                        // square
    std::vector<std::vector<uint8_t>> levels; // RGBA8, tight
};

// Everything that is drawn, free of any API. Matrices are column-major; clip space is OpenGL's.
struct Scene {
    uint32_t width = 316, height = 236; // no pixel centre falls on the edge between two texels of the paint
    std::array<float, 4> clear{0.1f, 0.2f, 0.3f, 1.0f};
    std::vector<SceneVertex> vertices; // a multiple of 64
    std::vector<std::array<float, 4>> displacements;
    std::vector<uint16_t> indices;
    std::array<float, 36> camera{};                 // view, proj, eye
    std::array<std::array<float, 32>, 2> objects{}; // model, normal matrix, texture transform
    std::array<float, 12> outline{};
    SceneTexture paint, grain;
};

Scene make_scene();

// Control section and code area of one shader.
struct GuestShader {
    std::vector<uint8_t> control, code;
};

// The names of the shaders that the scene uses, in tests/data/shaders.
std::vector<std::string> scene_shaders();

// Records the scene through entry points that it gets from `loader`, submits it, waits and returns the
// picture: RGBA8 rows from the bottom (the guest's origin is lower-left). Empty, with `problem` set, if a
// call fails.
std::vector<uint8_t> draw_scene(const Scene& scene, const std::map<std::string, GuestShader>& shaders,
                                PFNNVNGENERICFUNCPTRPROC (*loader)(const char*), std::string& problem);

} // namespace dmsh::examples
