// Job: everything that one shader is run on (constant banks, memory, attributes), as values, so that several machines can run the same.
#pragma once
#include "compiler/lift/shader_module.h"
#include "compiler/sim/machine.h"
#include "compiler/sim/texture/texture_set.h"
#include <string>
#include <vector>

namespace dmsh::sim {

struct MemoryBlock {
    uint64_t address = 0;
    std::vector<uint8_t> bytes;
};

struct Job {
    std::array<std::vector<uint8_t>, 32> banks;
    std::vector<MemoryBlock> memory; // do not overlap
    std::array<uint32_t, 3> block{1, 1, 1}, grid{1, 1, 1};
    uint32_t shared_bytes = 0, local_bytes = 0;
    std::optional<Graphics> graphics; // graphics stages
    TextureSet textures;
    uint32_t handle_bank = 2;         // GuestAbi::handle_bank
    uint64_t max_steps = 200'000'000; // Launch::max_steps
    uint32_t y_direction = 0x3f800000; // SR_Y_DIRECTION
    std::string kind;                 // how its values were drawn, for reports

    // Views this job, which must stay in place while the launch is used.
    Launch launch(std::span<const uint8_t> code);
};

// Kinds of random values; a generated job takes them in turn.
enum class Draw : uint8_t { plain_floats, small_integers, boundaries, raw_bits, mixed };
constexpr unsigned kDraws = 5;
std::string_view draw_name(Draw draw);

// Random numbers that are the same on every machine (SplitMix64).
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next();
    uint32_t below(uint32_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }
    bool one_in(uint32_t n) { return below(n) == 0; }
    // A word of the kind: floats in -2..2, integers below 16, values where operations change (NaN, infinities, denormals, -0, limits
    // of integers), any bits, or all of them.
    uint32_t word(Draw draw, bool denormals = true);

  private:
    uint64_t state_;
};

// A job for the shader: what `interface` says it binds gets memory, addresses and sizes; everything else is drawn. `interface` may be
// null (the passes refuse the shader): then only banks and attributes are filled. Same arguments, same job.
Job random_job(const ShaderInput& input, const ShaderInterface* interface, uint64_t seed, Draw draw);

// A job from JSON (docs/verify.md); files in it are read relative to `folder`. The shader's own sizes and stage fill what it does not say.
struct JobOutput {
    size_t block = 0; // of Job::memory
    std::string file;
};
struct JobFile {
    Job job;
    std::vector<JobOutput> outputs; // blocks to write after the run
};
Result<JobFile> read_job(std::string_view json, const std::string& folder, const ShaderInput& input);

} // namespace dmsh::sim
