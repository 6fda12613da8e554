// FMUL with a directed rounding, which sine and cosine of Ampere code start with (.RZ).
#pragma once
#include "compiler/lift/llvm_headers.h"

namespace dmsh {

// Roundings as dmsh.*.rnd count them.
constexpr unsigned kRoundDown = 1, kRoundUp = 2, kRoundToZero = 3;

// x * y (floats), rounded as `round` says, subnormals and overflow included: bit for bit IEEE 754, about 45 operations where SoftFloat's
// general product takes 140 on 64-bit words.
llvm::Value* directed_product(llvm::IRBuilder<>& b, unsigned round, llvm::Value* x, llvm::Value* y);

} // namespace dmsh
