// The table from Ampere mnemonic to function.
#pragma once
#include "compiler/lift/lift_context.h"

namespace dmsh::ampere {

// `missing` for mnemonics that lift.def does not name; a test holds that no row of the decoder has such a one.
const LiftEntry& lift_entry(isa::Op op);

} // namespace dmsh::ampere
