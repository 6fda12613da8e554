// Builders of soft-float IR (soft_float.h) for legalisation passes: bits in, bits out, 64-bit integer
// arithmetic only.
#pragma once
#include "compiler/lift/llvm_headers.h"
#include "compiler/passes/soft_float.h"

namespace dmsh {

// a * b + c, a + b, a * b in format `f` with one rounding; operands and result are values of the format's
// LLVM type.
llvm::Value* soft_fma(llvm::IRBuilderBase& b, FloatFormat f, Round mode, llvm::Value* x, llvm::Value* y,
                      llvm::Value* z);
llvm::Value* soft_add(llvm::IRBuilderBase& b, FloatFormat f, Round mode, llvm::Value* x, llvm::Value* y);
llvm::Value* soft_mul(llvm::IRBuilderBase& b, FloatFormat f, Round mode, llvm::Value* x, llvm::Value* y);
// Between formats, and from a 64-bit integer.
llvm::Value* soft_convert(llvm::IRBuilderBase& b, FloatFormat from, FloatFormat to, Round mode,
                          llvm::Value* x);
llvm::Value* soft_from_integer(llvm::IRBuilderBase& b, FloatFormat to, Round mode, bool is_signed,
                               llvm::Value* x);

} // namespace dmsh
