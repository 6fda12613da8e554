// Random valid programs: instruction sequences out of the table's rows, weighted to rare modifiers, and control-flow graphs.
#pragma once
#include "compiler/sim/verify/job.h"
#include "tests/differential/code.h"

namespace dmsh::test {

// Data registers of generated code: R0..R15 and P0..P5 are random; the rest is bookkeeping.
constexpr unsigned kDataRegisters = 16;
constexpr uint32_t kInputBytes = 4 * kDataRegisters;         // of one sequence and thread
constexpr uint32_t kOutputBytes = 4 * (kDataRegisters + 4);  // R0..R15, predicates, flags, padding
constexpr uint64_t kInputAddress = 0x1000000000, kOutputAddress = 0x2000000000;

struct Generated {
    std::vector<uint8_t> code;
    std::vector<uint8_t> constants; // c[1]: jump tables
    size_t cases = 0;               // sequences or graphs in it
    // Sequence k: machine-code addresses of its random instructions.
    std::vector<std::vector<uint32_t>> instructions;
};

// `sequences` random sequences in one kernel, each between a load of all data registers and a store of them.
Generated random_sequences(sim::Random& random, size_t sequences);

// One random control-flow graph: SSY, PBK and PCNT nests, jump tables, calls, early exits, loops with several exits, branches into loops.
Generated random_flow(sim::Random& random);

// The job that a generated kernel runs on: inputs of the kind for 32 threads.
sim::Job generated_job(sim::Random& random, const Generated& program, sim::Draw draw);

} // namespace dmsh::test
