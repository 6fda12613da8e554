// One function per Ampere mnemonic (lift.def): each lifts the instruction at hand of its context.
#pragma once
#include "compiler/lift/lift_context.h"

namespace dmsh::ampere {

// Functions that serve several mnemonics are declared once for each; that is allowed.
#define LIFT(op, kind, function) void function(LiftContext& c);
#define SAME(op, kind, function)
#define FLOW(op)
#define REFUSE(op)
#include "compiler/lift/ampere/lift.def"

} // namespace dmsh::ampere
