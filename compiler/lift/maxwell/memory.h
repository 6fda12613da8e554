// Loads and stores of one memory space, for both machines.
#pragma once
#include "compiler/lift/lift_context.h"

namespace dmsh::maxwell {

// Values of F::mem_size and its relatives.
enum Size : uint64_t { u8 = 0, s8 = 1, u16 = 2, s16 = 3, b32 = 4, b64 = 5, b128 = 6, u128 = 7 };

// The spaces share their shape: an address type (i64 global and generic, i32 else) and six intrinsics in this order.
struct Space {
    Intrinsic load_8, load_16, load_32, store_8, store_16, store_32;
};
inline constexpr Space kGlobal{Intrinsic::global_load_8,  Intrinsic::global_load_16,  Intrinsic::global_load_32,
                               Intrinsic::global_store_8, Intrinsic::global_store_16, Intrinsic::global_store_32};
inline constexpr Space kShared{Intrinsic::shared_load_8,  Intrinsic::shared_load_16,  Intrinsic::shared_load_32,
                               Intrinsic::shared_store_8, Intrinsic::shared_store_16, Intrinsic::shared_store_32};
inline constexpr Space kLocal{Intrinsic::local_load_8,  Intrinsic::local_load_16,  Intrinsic::local_load_32,
                              Intrinsic::local_store_8, Intrinsic::local_store_16, Intrinsic::local_store_32};
// LD and ST: shared and local memory through windows where the guest ABI has such, else global memory alone.
const Space& generic_space(const LiftContext& c);

// address + bytes.
Value* plus(LiftContext& c, Value* address, uint64_t bytes);
// From `address` to F::dst on; all words are read before any register changes, since the address may be one of them (T-110). Where
// `active` is given and false the registers receive zero (T-140).
void load(LiftContext& c, const Space& space, Value* address, uint64_t size, Value* active = nullptr);
// F::src_b on to `address`.
void store(LiftContext& c, const Space& space, Value* address, uint64_t size);

} // namespace dmsh::maxwell
