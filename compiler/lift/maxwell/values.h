// Small operations that several families of Maxwell instructions share.
#pragma once
#include "compiler/lift/lift_context.h"

namespace dmsh::maxwell {

using isa::F;
using isa::Form;

// Absolute value, then negation, of a float, half or double value.
Value* sign_modifiers(LiftContext& c, Value* v, bool absolute, bool negated);
// Denormals of a float to zeros of their sign, where `on`.
Value* flush(LiftContext& c, Value* v, bool on);
// .SAT: clamp to 0..1, NaN to 0 (T-020).
Value* saturate(LiftContext& c, Value* v);
// One of the sixteen float comparisons as i1.
Value* float_compare(LiftContext& c, uint64_t op, Value* x, Value* y);
// One of the eight integer comparisons as i1.
Value* integer_compare(LiftContext& c, uint64_t op, bool is_signed, Value* x, Value* y);
// AND, OR, XOR of predicates.
Value* combine(LiftContext& c, uint64_t op, Value* x, Value* y);
// SET: all bits or 1.0f where true.
void write_set(LiftContext& c, Value* condition);
// SETP: dst_pred = compare op src_pred, dst_pred2 = !compare op src_pred.
void write_setp(LiftContext& c, Value* compare);
// The 16 bits of `v` that a selector names, as i32.
Value* half_word(LiftContext& c, Value* v, bool upper, bool is_signed);

// Operation of F::atom_op, F::atoms_op, F::atom86_op and F::red_op; nothing for codes without a meaning.
std::optional<AtomicOp> atomic_op(uint64_t op, bool is_signed);
// Registers of 64 and 128 bits start at multiples of 2 and 4; other numbers fault on the hardware and are refused.
bool aligned(LiftContext& c, uint64_t reg, unsigned words);

} // namespace dmsh::maxwell
