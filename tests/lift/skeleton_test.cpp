// The lifter's frame: the table is complete, programs end, SSA is made without allocas.
#include "compiler/lift/ampere/table.h"
#include "compiler/lift/maxwell/table.h"
#include "tests/lift/assemble.h"
#include <llvm/Support/raw_ostream.h>

namespace dmsh::test {

TEST(Lifter, EveryMnemonicOfTheTableHasAnEntry) {
    for (const isa::Row& row : isa::maxwell_rows())
        EXPECT_NE(maxwell::lift_entry(row.op).kind, LiftKind::missing) << isa::op_name(row.op);
    for (const isa::Row& row : isa::ampere_rows())
        EXPECT_NE(ampere::lift_entry(row.op).kind, LiftKind::missing) << "sm86 " << isa::op_name(row.op);
}

TEST(Lifter, StraightLine) {
    Program p;
    p.raw(0x5c58000000170000ull).exit(); // FADD R0, R0, R1
    auto shader = lift(p.input());
    ASSERT_TRUE(shader) << shader.error().text();
    EXPECT_TRUE(verify_shader(*shader, false));
    EXPECT_EQ(shader->instruction_count, 2u);
}

TEST(Lifter, UnknownWordIsRefusedWithItsPlace) {
    Program p;
    p.raw(0xffffffffffffffffull).exit();
    auto shader = lift(p.input());
    ASSERT_FALSE(shader);
    EXPECT_EQ(shader.error().message, "sm53 instruction ? at 0x8 (ffffffffffffffff) is not implemented");
}

} // namespace dmsh::test
