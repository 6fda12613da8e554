// The table from mnemonic to function, made of lift.def.
#include "compiler/lift/maxwell/table.h"
#include "compiler/lift/maxwell/functions.h"

namespace dmsh::maxwell {
namespace {

constexpr std::array<LiftEntry, isa::kOpCount> make_table() {
    std::array<LiftEntry, isa::kOpCount> table{};
#define LIFT(op, kind_, function_) table[static_cast<size_t>(isa::Op::op)] = {LiftKind::kind_, function_};
#define FLOW(op) table[static_cast<size_t>(isa::Op::op)] = {LiftKind::flow, nullptr};
#define REFUSE(op) table[static_cast<size_t>(isa::Op::op)] = {LiftKind::refused, nullptr};
#include "compiler/lift/maxwell/lift.def"
    return table;
}

constexpr std::array<LiftEntry, isa::kOpCount> kTable = make_table();

} // namespace

const LiftEntry& lift_entry(isa::Op op) { return kTable[static_cast<size_t>(op)]; }

} // namespace dmsh::maxwell
