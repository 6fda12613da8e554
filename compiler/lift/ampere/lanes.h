// Values of other lanes of the warp, and addresses in shared memory, for the families that exchange either.
#pragma once
#include "compiler/lift/lift_context.h"

namespace dmsh::ampere {

// The value that lane `lane` (i32, below 32) has for `value` (i32).
Value* lane_value(LiftContext& c, Value* value, Value* lane);
// The 32-bit address of the instruction at hand: Ra times its stride (T-155), + a uniform register, + the displacement.
Value* address_32(LiftContext& c);

} // namespace dmsh::ampere
