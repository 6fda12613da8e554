// One function per mnemonic (lift.def): each lifts the instruction at hand of its context.
#pragma once
#include "compiler/lift/lift_context.h"

namespace dmsh::maxwell {

// Functions that serve several mnemonics are declared once for each; that is allowed.
#define LIFT(op, kind, function) void function(LiftContext& c);
#define FLOW(op)
#define REFUSE(op)
#include "compiler/lift/maxwell/lift.def"

} // namespace dmsh::maxwell
