// The resources that one corpus shader needs, filled with reproducible random data, and the two jobs that use
// them: the reference SPIR-V's and ours.
#pragma once
#include "runtime/abi/interface.h"
#include "tests/corpus/corpus.h"
#include "tests/support/spirv_reflection.h"
#include "tests/support/vulkan_harness.h"
#include <map>

namespace dmsh::test {

// A texture, image or texel buffer of the scene: an index into Job::images, or Job::buffers for texel
// buffers.
struct SceneImage {
    bool is_buffer = false;
    uint32_t index = 0, sampler = 0;
    VkImageViewType view = VK_IMAGE_VIEW_TYPE_2D;
    VkFormat format = VK_FORMAT_UNDEFINED;
};

struct Scene {
    Job job; // resources, draw state and dispatch size; no stages, no descriptors
    std::vector<std::vector<WordKind>> kinds;                           // of job.buffers, for comparing
    std::map<uint32_t, uint32_t> uniforms, storages;                    // slot -> buffer
    std::map<uint32_t, SceneImage> textures, images, separate_textures; // slot
    std::map<uint32_t, uint32_t> separate_samplers;                     // slot -> Job::samplers
    std::array<uint32_t, 3> local_size{1, 1, 1};
    // Random words by (location * 4 + component, vertex or instance): what companion stages feed in.
    std::vector<uint32_t> varyings;
};

// A word of a buffer that must have a certain value: counts, choices.
struct Poke {
    bool storage = false;
    uint32_t slot = 0, offset = 0, value = 0;
    uint32_t stride = 0; // repeated every so many bytes
};

// How one shader's data departs from the defaults.
struct Tuning {
    bool wide_integers = false;              // integers over their whole range instead of 0..15
    float low = -2.0f, high = 2.0f;          // floats
    std::array<uint32_t, 3> groups{0, 0, 0}; // 0: chosen by the local size
    int integer_limit = 16;
    int cube = -1;          // fragment: location whose xyz names a place on a cube: each triangle stays on one face
    int gradient = -1;      // fragment: location of derivatives: small ones
    bool single = false;    // fragment: one pixel, so that nothing contends
    bool unordered = false; // results are a set: compared sorted (buffers as 16-byte records)
    std::vector<Poke> pokes{};
    float floor = 0;                      // absolute tolerance above kFloor
    const char* ignored_output = nullptr; // "location.component" of a captured output
    const char* skip = nullptr;           // why results cannot be compared
};
const Tuning& tuning(const std::string& name);

constexpr uint32_t kVaryingWords = 32 * 4; // words per vertex in Scene::varyings
constexpr uint32_t kHarnessSet = 6;        // descriptor set of companion stages' data

// Where storage buffer `slot` lies in guest memory: kStorageBase + kStorageStride * (slot + 1).
constexpr uint64_t kStorageBase = 0x100000000ull;
constexpr uint32_t kStorageStride = 0x100000;

// c[0]..c[17] as the guest would fill them.
std::array<std::vector<uint8_t>, 18> constant_banks(const CorpusShader& shader, const Scene& scene);

Result<Scene> make_scene(const CorpusShader& shader, const Reflection& reference);

// Adds descriptors of the reference's own sets. Stages come from the draw or dispatch set-up.
Job reference_job(const CorpusShader& shader, const Scene& scene);
// Adds descriptors for our bindings (set 0, stage * 128 + index) and the driver, constants and handle banks.
Result<Job> translated_job(const CorpusShader& shader, const Scene& scene, const ShaderInterface& interface);

} // namespace dmsh::test
