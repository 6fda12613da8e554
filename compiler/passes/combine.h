// Rewrites of single integer operations that the ISA's 16-bit multiplier makes common; for cleanup.
#pragma once
#include <llvm/IR/Instruction.h>

namespace dmsh {

// A value that equals `inst`, built in front of it, or null. Today: halves of a merged pair of halfwords, and a 32-bit product out of
// the three XMADs that compilers write for it (a.lo * b.lo + (a.lo * b.hi << 16) + (a.hi * b.lo << 16)), addends kept.
llvm::Value* combined(llvm::Instruction& inst);

} // namespace dmsh
