// Reflection of one program: ShaderInterface and its neighbours, to and from the FlatBuffer of the pack.
#pragma once
#include "runtime/abi/interface.h"
#include "runtime/abi/result.h"
#include <span>

namespace dmsh {

// What a pack says of one program beside its code.
struct ProgramReflection {
    ShaderInterface interface;
    std::string entry;               // entry point name in the slice; empty = kEntryMain
    std::vector<uint8_t> constants;  // content of c[1] (control section +0x700)
    std::vector<std::string> losses; // "L0012 ..." lines
    std::string origin;              // container chain, for people
};

// Deterministic bytes: equal input, equal output.
std::vector<uint8_t> encode_reflection(const ProgramReflection& reflection);

// Verifies before it reads: any bytes are safe. Refuses unknown enumerators, more than kMaxBindings bindings
// and masks outside their range, so that what comes out can be used without further checks.
Result<ProgramReflection> decode_reflection(std::span<const uint8_t> bytes);

} // namespace dmsh
