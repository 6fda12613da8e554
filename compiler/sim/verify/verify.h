// verify: one shader on the interpreter and as IR, on the same random jobs; the first difference, down to the register.
#pragma once
#include "compiler/sim/verify/job.h"

namespace dmsh::sim {

// Which form of a shader is held against the interpreter: as lifted, after the passes, after legalisation for Vulkan, as emitted AIR.
enum class IrLevel : uint8_t { lifted, bound, vulkan, air };
constexpr unsigned kIrLevels = 4;
constexpr unsigned kIrLevelsOfMachine = 3; // those that IrMachine runs; AIR has its own executor and is asked for separately
std::string_view level_name(IrLevel level);

struct VerifyOptions {
    uint64_t seed = 1;
    unsigned cases = 100;
    unsigned levels = kIrLevelsOfMachine; // the first so many
    bool air = false;                     // and AIR
    uint64_t max_steps = Launch{}.max_steps; // of a case in the interpreter; more are skipped
};

struct Difference {
    unsigned case_index = 0;
    std::string level;     // level_name
    std::string inputs;    // how the case's values were drawn
    std::string thread;    // "thread 3 of group 0,0,0"
    std::string output;    // "memory 0x1000000010: 0x... in the interpreter, 0x... in the IR"
    // The first register that differs; `sass` is empty where no register does (the passes changed the meaning of an access, say).
    uint32_t pc = 0;
    std::string sass, reg, ir, operands;
    uint32_t expected = 0, got = 0;

    std::string text() const; // several lines
};

struct Verdict {
    unsigned cases = 0;   // compared
    unsigned skipped = 0; // did not end within the interpreter's bound
    std::array<std::optional<Error>, kIrLevels> refused; // by level: what the translation or the IR machine has no form of
    std::optional<Error> not_interpreted;                // what the interpreter has no meaning for
    std::optional<Difference> difference;

    bool passed() const { return !difference && cases > 0 && !not_interpreted && !refused[0]; }
};

// Compares on `cases` jobs drawn from the seed, then stops at the first difference.
Verdict verify_shader_code(const ShaderInput& input, const VerifyOptions& options = {});
// Compares on the given jobs (recorded inputs), on the first `levels` forms of the IR.
Verdict verify_jobs(const ShaderInput& input, std::span<const Job> jobs, unsigned levels = kIrLevelsOfMachine, bool air = false);

// The first place where two runs of the same job left different results, or nothing: words are equal bit for bit, or both NaN.
struct Place {
    std::string text;
    std::optional<uint32_t> invocation; // graphics
};
std::optional<Place> first_difference(const Job& a, const Job& b);

} // namespace dmsh::sim
