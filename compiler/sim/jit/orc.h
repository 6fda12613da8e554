// The process's ORC JIT, shared by whatever runs IR on the CPU.
#pragma once
#include "compiler/lift/llvm_headers.h"
#include "runtime/abi/result.h"
#include <memory>

namespace dmsh::sim {

// Machine code of one module; freed with the object.
class JitCode {
  public:
    // Compiles the module; its data layout becomes the host's. `exported` are the symbols to look up: their names must be the process's
    // own (jit_name). Functions behind dmsh.* and host.* names are there (ir_host_functions). Errors are LLVM's.
    static Result<std::unique_ptr<JitCode>> compile(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context,
                                                    const std::vector<std::string>& exported);
    ~JitCode();
    // Address of the n-th exported symbol.
    void* address(size_t n) const { return addresses_[n]; }

  private:
    JitCode() = default;
    struct Tracker;
    std::unique_ptr<Tracker> tracker_;
    std::vector<void*> addresses_;
};

// A symbol name that nobody had before.
std::string jit_name();

} // namespace dmsh::sim
