// The table from Ampere mnemonic to function, made of lift.def.
#include "compiler/lift/ampere/table.h"
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/maxwell/functions.h"

namespace dmsh::ampere {
namespace {

constexpr std::array<LiftEntry, isa::kOpCount> make_table() {
    std::array<LiftEntry, isa::kOpCount> table{};
#define LIFT(op, kind_, function_) table[static_cast<size_t>(isa::Op::op)] = {LiftKind::kind_, function_};
#define SAME(op, kind_, function_)                                                                           \
    table[static_cast<size_t>(isa::Op::op)] = {LiftKind::kind_, maxwell::function_};
#define FLOW(op) table[static_cast<size_t>(isa::Op::op)] = {LiftKind::flow, nullptr};
#define REFUSE(op) table[static_cast<size_t>(isa::Op::op)] = {LiftKind::refused, nullptr};
#include "compiler/lift/ampere/lift.def"
    return table;
}

constexpr std::array<LiftEntry, isa::kOpCount> kTable = make_table();

} // namespace

const LiftEntry& lift_entry(isa::Op op) {
    return kTable[static_cast<size_t>(op)];
}

} // namespace dmsh::ampere
