// The AIR executor: runs one function of a metallib, ours or Apple's, on the CPU.
//
// Threads are fibers in simdgroups of 32; the air.* functions are written here. Arithmetic is IEEE without flushing, inexact functions are
// correctly rounded as the interpreter's are (inexact.h), fast-math flags are not taken up. Memory is what the launch names: accesses
// outside read zeros, write nothing, and are told in the faults.
#pragma once
#include "compiler/sim/texture/texture.h"
#include "runtime/abi/result.h"
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace dmsh::sim {

// How a value lies in memory, as LLVM lays it out: `count` scalars of `bits` bits. Handles and pointers are integers of 64 bits.
struct AirType {
    enum class Scalar : uint8_t { integer, real, brain, aggregate } scalar = Scalar::integer;
    uint8_t bits = 32;   // 1: a byte that is 0 or 1
    uint32_t count = 1;  // elements of the vector or array
    uint32_t bytes = 4;  // size in memory, padding included
};

// One parameter of an entry point, from its metadata node.
struct AirParameter {
    std::string kind;        // "buffer", "texture", "vertex_input", "thread_position_in_grid", ...: the node's, without "air."
    std::string link;        // fragment inputs: "user(locn0)"
    std::string type_name;   // MSL
    std::string name;
    uint32_t location = 0;   // buffer, texture or sampler slot; attribute; render target
    uint32_t count = 1;      // slots taken
    unsigned space = 1;      // buffers
    uint32_t bytes = 0;      // buffers: what the shader may rely on, 0 = not said
    bool flat = false, centroid = false, per_sample = false, perspective = true;
    bool pulled = false;     // fragment inputs that are read by interpolation calls
    bool used = true;
    AirType type;
};

// One member of an entry point's result.
struct AirOutput {
    std::string kind;       // "position", "vertex_output", "render_target", "depth", ...
    std::string link;       // vertex outputs
    std::string name;
    uint32_t location = 0;  // render target
    uint32_t index = 0;     // render target: dual source index
    uint32_t offset = 0;    // bytes in the result
    AirType type;
};

// Where a fragment input is asked for.
enum class AirPlace : uint8_t { centre, centroid, sample, offset };

// What the invocations of a vertex or fragment function are given. Bytes are in the layout of the parameter's type.
class AirStageInputs {
  public:
    virtual ~AirStageInputs() = default;
    // Value of a stage input or builtin of one invocation, as words (floats as bits; missing ones are (0, 0, 0, 1)). `place` and `where`
    // (sample number, or offset in 1/16 pixel by x and y) matter for fragment inputs.
    virtual std::array<uint32_t, 4> input(const AirParameter& p, uint32_t invocation, AirPlace place, std::array<int32_t, 2> where) const = 0;
    // Fragments: runs for the derivatives of its quad alone.
    virtual bool helper(uint32_t) const { return false; }
};

struct AirLaunch {
    std::map<uint32_t, std::span<uint8_t>> buffers;     // by slot
    std::vector<std::span<uint8_t>> reachable;          // further memory that pointers in buffers lead to
    std::map<uint32_t, Texture*> textures;              // by slot
    std::map<uint32_t, const Sampler*> samplers;        // by slot
    // Handles in argument buffers are the addresses of these objects.
    std::set<const void*> texture_handles, sampler_handles;
    std::map<uint32_t, uint32_t> threadgroup_bytes;     // threadgroup buffers by slot
    std::array<uint32_t, 3> threads{1, 1, 1};           // of a threadgroup
    std::array<uint32_t, 3> groups{1, 1, 1};
    std::array<uint32_t, 3> grid{0, 0, 0};              // threads of the grid where the last groups are not full; 0: all are
    // Vertex and fragment functions. Fragments come as quads: lane bit 0 = x, bit 1 = y.
    uint32_t invocations = 0;
    const AirStageInputs* inputs = nullptr;
    uint64_t max_loops = 20'000'000;                    // loop heads passed by all threads together, then the run ends with an error
};

// What one invocation of a vertex or fragment function returned.
struct AirResult {
    std::vector<uint8_t> bytes; // AirOutput::offset points here
    bool discarded = false;
};

// Values of function constants by name or by index in decimal; vectors have several.
using AirConstants = std::map<std::string, std::vector<double>>;

class AirMachine {
  public:
    // Loads one module. `name` is the function's; "" takes the only one. Constants that are not given are not defined. An error names what
    // the executor has no meaning for.
    static Result<AirMachine> load(std::span<const uint8_t> bitcode, const std::string& name = {}, const AirConstants& constants = {});
    // Everything that load does before code is made: what a hostile module may be put through.
    static Result<void> check(std::span<const uint8_t> bitcode, const std::string& name = {});
    AirMachine(AirMachine&&) noexcept;
    AirMachine& operator=(AirMachine&&) noexcept;
    ~AirMachine();

    const std::string& kind() const; // "vertex", "fragment", "kernel"
    const std::vector<AirParameter>& parameters() const;
    const std::vector<AirOutput>& outputs() const;

    // Runs the launch. An error: a slot that the function uses and the launch lacks, a program that does not end.
    Result<void> run(const AirLaunch& launch);
    std::vector<AirResult> results; // by invocation
    std::string faults;             // the first few, as text

    struct Program;

  private:
    explicit AirMachine(std::unique_ptr<Program> program);
    std::unique_ptr<Program> program_;
};

} // namespace dmsh::sim
