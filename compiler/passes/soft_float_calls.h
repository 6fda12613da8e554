// SoftFloat as IR: one internal function of one block per operation, format and rounding, made on first use.
#pragma once
#include "compiler/lift/llvm_headers.h"
#include "compiler/passes/soft_float.h"

namespace dmsh {

// Round-to-nearest-even code of SoftFloat.
constexpr unsigned kRoundNearest = 0;

class SoftFloatCalls {
  public:
    explicit SoftFloatCalls(llvm::Module& module) : module_(module) {}

    // Operands and results are i64 words; results of comparisons are i1.
    llvm::Value* add(llvm::IRBuilder<>& b, const FloatFormat& f, unsigned round, llvm::Value* x,
                     llvm::Value* y);
    llvm::Value* mul(llvm::IRBuilder<>& b, const FloatFormat& f, unsigned round, llvm::Value* x,
                     llvm::Value* y);
    llvm::Value* fma(llvm::IRBuilder<>& b, const FloatFormat& f, unsigned round, llvm::Value* x,
                     llvm::Value* y, llvm::Value* z);
    llvm::Value* convert(llvm::IRBuilder<>& b, const FloatFormat& from, const FloatFormat& to, unsigned round,
                         llvm::Value* x);
    llvm::Value* from_int(llvm::IRBuilder<>& b, const FloatFormat& f, unsigned round, bool is_signed,
                          llvm::Value* v);
    llvm::Value* to_int(llvm::IRBuilder<>& b, const FloatFormat& f, unsigned bits, bool is_signed,
                        llvm::Value* x);
    llvm::Value* round_to_integral(llvm::IRBuilder<>& b, const FloatFormat& f, unsigned round,
                                   llvm::Value* x);
    llvm::Value* equal(llvm::IRBuilder<>& b, const FloatFormat& f, llvm::Value* x, llvm::Value* y);
    llvm::Value* less(llvm::IRBuilder<>& b, const FloatFormat& f, llvm::Value* x, llvm::Value* y);
    llvm::Value* is_nan(llvm::IRBuilder<>& b, const FloatFormat& f, llvm::Value* x);

    // Puts the functions' code in the place of their calls and drops them.
    void inline_all();

  private:
    template <class Body>
    llvm::Value* call(llvm::IRBuilder<>& b, const std::string& name, bool boolean,
                      llvm::ArrayRef<llvm::Value*> operands, Body body);
    llvm::Module& module_;
    std::vector<llvm::Function*> made_;
};

} // namespace dmsh
