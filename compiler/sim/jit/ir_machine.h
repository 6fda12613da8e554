// IrMachine: runs the IR of a shader on the CPU through LLVM's ORC JIT, on the same launches as the interpreter.
//
// Lanes of 32 as fibers: operations across lanes meet at their call sites, the earliest in program order first. Inexact results (MUFU,
// filtered texels) come from the interpreter's own functions, so that a comparison is exact (docs/numerics.md). NaNs that arithmetic
// makes get the interpreter's bits, so that moves of them compare too.
#pragma once
#include "compiler/lift/intrinsics.h"
#include "compiler/lift/shader_module.h"
#include "compiler/sim/machine.h"
#include <map>
#include <span>
#include <string>
#include <vector>

namespace dmsh::sim {

// One register write of the traced thread (lift/probe.h).
struct Probe {
    uint32_t pc;
    uint16_t variable; // ssa_builder.h
    uint32_t value;
};

class IrMachine {
  public:
    // Compiles @main, raw (after lifting) or bound (after the passes, legalised or not). Consumes the shader. An error names what the
    // machine has no meaning for.
    static Result<IrMachine> compile(ShaderModule shader);
    IrMachine(IrMachine&&) noexcept;
    IrMachine& operator=(IrMachine&&) noexcept;
    ~IrMachine();

    // Runs every thread of the launch; where the launch names a traced thread, its probes are in `probes` afterwards. Accesses outside of
    // memory read zeros, write nothing, and are told in `faults`. An error: a program that does not end.
    Result<void> run(const Launch& launch);

    // Memory behind a binding, by its index, in place of what the guest's banks say: pool tables and write logs lie in no bank.
    std::map<uint32_t, std::span<uint8_t>> buffers;
    std::map<uint32_t, uint32_t> specials; // special registers, by SpecialRegister, in place of what the launch gives

    std::string faults; // the first few, as text
    std::vector<Probe> probes;
    uint64_t max_blocks = 20'000'000; // loop heads passed by all threads together, then the run stops with an error

    struct Program; // the compiled code; for ir_machine.cpp alone

  private:
    explicit IrMachine(std::unique_ptr<Program> program);
    std::unique_ptr<Program> program_;
};

} // namespace dmsh::sim
