// Codes of losses and refusals, for Loss::code and Error::code.
#pragma once
#include <cstdint>

namespace dmsh {

enum class LossCode : uint16_t {
    none = 0,
#define DMSH_LOSS(code, name, meaning) name = code,
#include "compiler/lift/losses.def"
};

// What a code means, for reports and docs; "unknown code" for others.
const char* loss_meaning(uint16_t code);

} // namespace dmsh
