// Inside of the AIR executor: a loaded function, its state while it runs, and the parts that load it.
#pragma once
#include "compiler/emit/air/air_module.h"
#include "compiler/sim/air/executor.h"
#include "compiler/sim/jit/lane_fibers.h"
#include "compiler/sim/jit/orc.h"

namespace dmsh::sim {

struct AirHostOp;
// `args` and `result` point to values as LLVM stores them. `site` orders calls as the program does.
using AirHandler = void (*)(const AirHostOp& op, void* const* args, void* result, uint32_t site);

// A declared air.* function that the host computes.
struct AirHostOp {
    AirHandler handler = nullptr;
    std::string name;           // whole
    std::string op;             // "sample_texture_2d", "simd_sum", ...: up to the first type or sign, without "fast_"
    char sign = 0;              // 's', 'u' or 0
    std::vector<AirType> args;
    AirType result;             // textures: of the texel alone
    uint32_t residency = 0;     // texture results with a residency byte: its offset
    int which = 0;              // the handler's own
};

struct AirProgram {
    std::string kind, name;
    std::vector<AirParameter> parameters;
    std::vector<AirOutput> outputs;
    uint32_t result_bytes = 0;
    uint32_t max_threads = 0;   // of a threadgroup, 0: not said
    std::vector<std::unique_ptr<AirHostOp>> ops;
    std::unique_ptr<JitCode> code;
    void (*thread)(void** slots) = nullptr;
    void (*constructors)() = nullptr;
    // Globals of the module: address, bytes, address space; 0x100 is added for constant samplers.
    struct Global {
        uint8_t* address;
        uint64_t bytes;
        uint64_t space;
    };
    std::vector<Global> globals;
};

struct AirMachine::Program : AirProgram {};

// ---- loading: each step changes the module

// Parameters and outputs from the metadata.
Result<void> describe_entry(const AirEntry& entry, AirProgram& program);
// How LLVM stores a value of the type.
AirType air_type(llvm::Type* type, const llvm::DataLayout& layout);
// Gives function constants their values and makes one function of the entry and what it calls.
Result<llvm::Function*> flatten_module(llvm::Module& module, llvm::Function& entry, const AirConstants& constants);
// Bodies for every declared air.* function; calls of those that wait or sample get their site's number.
Result<void> define_air_functions(llvm::Module& module, llvm::Function& entry, AirProgram& program);
// Checks every access that could leave its object, counts loop heads, drops flags that allow more than IEEE.
void guard_module(llvm::Module& module);

// A handler for the operation, or null.
AirHandler math_handler(AirHostOp& op);
AirHandler lane_handler(AirHostOp& op);
AirHandler texture_handler(AirHostOp& op);

// ---- running

struct AirThread {
    std::array<uint32_t, 3> in_group{}, in_grid{};
    uint32_t linear = 0, lane = 0, simdgroup = 0;
    bool helper = false, discarded = false;
    // While it waits for other lanes.
    const AirHostOp* op = nullptr;
    void* const* args = nullptr;
    void* result = nullptr;
    std::array<float, 3> coordinates{}, dx{}, dy{}; // implicit level of detail
    std::vector<std::vector<uint8_t>> values;       // by parameter: what the slot points to
};

struct AirSampler : Sampler {
    bool pixels = false; // coordinates count texels
};

struct AirRun {
    const AirProgram* program = nullptr;
    const AirLaunch* launch = nullptr;
    std::array<uint32_t, 3> group{};
    std::vector<AirThread> threads;
    AirThread* now = nullptr;
    LaneFibers* fibers = nullptr;
    struct Range {
        uint8_t* begin;
        uint8_t* end;
    };
    std::vector<Range> ranges; // by address
    std::map<const void*, AirSampler> samplers; // by handle: the launch's, and the module's constant ones
    uint64_t loops_left = 0;
    std::string* faults = nullptr;

    bool is_fragment() const { return program->kind == "fragment"; }
};
extern thread_local AirRun* air_run;

void air_fault(const std::string& text);
// Waits for the other lanes of the simdgroup at `site`.
void air_meet(const AirHostOp& op, void* const* args, void* result, uint32_t site);
// What the lanes that met do together.
void air_resolve(std::span<const uint32_t> threads);
// An address that may be accessed: `p`, or zeros (reads) or a place that nobody reads (writes).
uint8_t* air_at(uint8_t* p, uint64_t bytes, uint32_t writes_space);
// Differences over the quad of three floats; fragments only, zeros elsewhere.
void air_quad(const std::array<float, 3>& values, uint32_t site);

// Scalars of stored values.
double air_real(const AirType& type, const void* value, uint32_t k);
uint64_t air_word(const AirType& type, const void* value, uint32_t k);
int64_t air_signed(const AirType& type, const void* value, uint32_t k);
void air_set_real(const AirType& type, void* value, uint32_t k, double v);
void air_set_word(const AirType& type, void* value, uint32_t k, uint64_t v);

} // namespace dmsh::sim
