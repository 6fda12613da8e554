// Storage addresses and constant banks: one test per rule.
#include "tests/passes/ir_shader.h"
#include <gmock/gmock.h>

namespace dmsh {
namespace {

using namespace test;
using testing::HasSubstr;

std::string word(const std::string& name, uint32_t bank, uint32_t offset) {
    return "  " + name + " = call i32 @dmsh.cbuf.load(i32 " + std::to_string(bank) + ", i32 " +
           std::to_string(offset) + ")\n";
}
// 64-bit address out of %lo and %hi, as the lifter joins register pairs.
std::string join(const std::string& to, const std::string& lo, const std::string& hi) {
    return "  " + to + "l = zext i32 " + lo + " to i64\n  " + to + "h = zext i32 " + hi + " to i64\n  " + to +
           "s = shl i64 " + to + "h, 32\n  " + to + " = or i64 " + to + "l, " + to + "s\n";
}
const std::string kUse = "  call void @dmsh.shared.store.i32(i32 0, i32 %v)\n  ret void";

TEST(StorageBase,
     OperandOrder) { // T-011: the driver segment's operand is the base, whichever side it stands on
    for (const char* sum : {"  %lo = add i32 %base, %other\n", "  %lo = add i32 %other, %base\n"}) {
        auto s = shader_from(word("%base", 0, 0x330) + word("%top", 0, 0x334) + word("%other", 4, 16) +
                                 word("%othertop", 4, 20) + sum + "  %hi = add i32 %top, %othertop\n" +
                                 join("%a", "%lo", "%hi") +
                                 "  %v = call i32 @dmsh.global.load.i32(i64 %a)\n" + kUse,
                             Stage::compute);
        EXPECT_THAT(after(s, global_to_storage), HasSubstr("@dmsh.ssbo.load.i32(i32 0, i32 %other)"));
        ASSERT_EQ(s.interface.bindings.size(), 1u);
        EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::storage);
        EXPECT_EQ(s.interface.bindings[0].slot, 2u);
    }
}

TEST(Refl, StorageTableOfEachStage) { // B-003, B-005, B-006
    const std::pair<Stage, uint32_t> tables[] = {{Stage::vertex, 0x110},
                                                 {Stage::fragment, 0x510},
                                                 {Stage::geometry, 0x410},
                                                 {Stage::tess_control, 0x210},
                                                 {Stage::tess_evaluation, 0x310},
                                                 {Stage::compute, 0x310},
                                                 {Stage::task, 0x670},
                                                 {Stage::mesh, 0x770}}; // B-004
    for (const auto& [stage, base] : tables) {
        const auto body = [&](uint32_t row) {
            return word("%lo", 0, row) + word("%hi", 0, row + 4) + join("%a", "%lo", "%hi") +
                   "  %v = call i32 @dmsh.global.load.i32(i64 %a)\n" + kUse;
        };
        auto s = shader_from(body(base + 0x30), stage);
        after(s, global_to_storage);
        ASSERT_EQ(s.interface.bindings.size(), 1u);
        EXPECT_EQ(s.interface.bindings[0].slot, 3u);
        auto unaligned = shader_from(body(base + 0x34), stage);
        auto r = global_to_storage(unaligned);
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error().code, static_cast<uint16_t>(LossCode::storage));
    }
}

TEST(Refl, WrittenAndAtomicFlags) { // B-010
    const auto body = [](const std::string& access) {
        return word("%lo", 0, 0x310) + word("%hi", 0, 0x314) + join("%a", "%lo", "%hi") + access +
               "  ret void";
    };
    auto load = shader_from(body("  %v = call i32 @dmsh.global.load.i32(i64 %a)\n"), Stage::compute);
    after(load, global_to_storage);
    EXPECT_FALSE(load.interface.bindings[0].written);
    auto store = shader_from(body("  call void @dmsh.global.store.i8(i64 %a, i8 1)\n"), Stage::compute);
    EXPECT_THAT(after(store, global_to_storage), HasSubstr("@dmsh.ssbo.store.i8(i32 0, i32 0, i8 1)"));
    EXPECT_TRUE(store.interface.bindings[0].written);
    auto atomic = shader_from(body("  %v = call i32 @dmsh.global.atomic.i32(i64 %a, i32 0, i32 1, i32 0)\n"),
                              Stage::compute);
    after(atomic, global_to_storage);
    EXPECT_TRUE(atomic.interface.bindings[0].written);
    EXPECT_TRUE(atomic.interface.bindings[0].atomic);
}

TEST(Storage, PointerThatALoopIncrements) {
    auto s = shader_from(
        word("%lo", 0, 0x310) + word("%hi", 0, 0x314) +
            "  br label %loop\nloop:\n"
            "  %p = phi i32 [ %lo, %0 ], [ %p2, %loop ]\n  %q = phi i32 [ %hi, %0 ], [ %q2, %loop ]\n" +
            join("%a", "%p", "%q") +
            "  %b = add i64 %a, 8\n  %v = call i32 @dmsh.global.load.i32(i64 %b)\n"
            "  %p2 = add i32 %p, 16\n  %c = icmp ult i32 %p2, %p\n  %k = zext i1 %c to i32\n  %q2 = add i32 "
            "%q, %k\n"
            "  %e = icmp eq i32 %v, 0\n  br i1 %e, label %loop, label %out\nout:\n" +
            kUse,
        Stage::compute);
    const std::string text = after(s, global_to_storage);
    EXPECT_THAT(text, testing::ContainsRegex("phi i32 \\[ 0, %0 \\]"));
    EXPECT_THAT(text, HasSubstr("@dmsh.ssbo.load.i32(i32 0,"));
    EXPECT_EQ(s.interface.bindings.size(), 1u);
}

TEST(Storage, OneOfTwoBuffersBecomesASwitch) {
    auto s = shader_from(
        word("%l0", 0, 0x310) + word("%h0", 0, 0x314) + word("%l1", 0, 0x350) + word("%h1", 0, 0x354) +
            "  %k = call i1 @dmsh.vote.any(i1 true)\n  %lo = select i1 %k, i32 %l0, i32 %l1\n  %hi = select "
            "i1 %k, i32 %h0, i32 %h1\n" +
            join("%a", "%lo", "%hi") + "  call void @dmsh.global.store.i32(i64 %a, i32 7)\n  ret void",
        Stage::compute);
    const std::string text = after(s, global_to_storage);
    EXPECT_EQ(count(text, "@dmsh.ssbo.store.i32"), 2u);
    EXPECT_THAT(text, HasSubstr("switch i32"));
    ASSERT_EQ(s.interface.bindings.size(), 2u);
    EXPECT_EQ(s.interface.bindings[1].slot, 4u);
}

TEST(Storage, RowChosenAtRunTimeBecomesASwitch) {
    auto s =
        shader_from("  %i = call i32 @dmsh.special(i32 1)\n  %m = and i32 %i, 3\n  %r = shl i32 %m, 4\n  %o "
                    "= add i32 %r, 784\n"
                    "  %o4 = add i32 %r, 788\n  %lo = call i32 @dmsh.cbuf.load(i32 0, i32 %o)\n  %hi = call "
                    "i32 @dmsh.cbuf.load(i32 0, i32 %o4)\n" +
                        join("%a", "%lo", "%hi") + "  %v = call i32 @dmsh.global.load.i32(i64 %a)\n" + kUse,
                    Stage::compute);
    const std::string text = after(s, global_to_storage);
    EXPECT_EQ(count(text, "@dmsh.ssbo.load.i32(i32"), 4u); // the mask bounds the row
    EXPECT_EQ(s.interface.bindings.size(), 4u);
    EXPECT_EQ(s.interface.bindings[3].slot, 3u);
}

TEST(Storage, ComputeUniformTableReadsAUniformBuffer) { // B-005
    auto s =
        shader_from(word("%lo", 0, 0x270) + word("%hi", 0, 0x274) + join("%a", "%lo", "%hi") +
                        "  %v8 = call i8 @dmsh.global.load.i8(i64 %a)\n  %v = zext i8 %v8 to i32\n" + kUse,
                    Stage::compute);
    EXPECT_THAT(after(s, global_to_storage), HasSubstr("@dmsh.ubo.load(i32 0, i32 0)"));
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::uniform);
    EXPECT_EQ(s.interface.bindings[0].slot, 6u);
    EXPECT_EQ(s.interface.bindings[0].bank, 9);
}

TEST(Storage, KernelParameterIsABuffer) {
    auto s = shader_from(
        word("%lo", 0, 0x148) + word("%hi", 0, 0x14c) + word("%n", 0, 0x150) + "  %sum = add i32 %n, %lo\n" +
            "  %c = icmp ult i32 %sum, %n\n  %k = zext i1 %c to i32\n  %top = add i32 %hi, %k\n" +
            join("%a", "%sum", "%top") + "  %v = call i32 @dmsh.global.load.i32(i64 %a)\n" + kUse,
        Stage::compute, GuestAbiId::cuda);
    EXPECT_THAT(after(s, global_to_storage), HasSubstr("@dmsh.ssbo.load.i32(i32 0, i32 %n)"));
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::storage_in_bank);
    EXPECT_EQ(s.interface.bindings[0].offset, 0x148u);
}

TEST(Storage, AddressInAUniformBuffer) { // B-032
    auto s = shader_from(word("%lo", 3, 0x38) + word("%hi", 3, 0x3c) + join("%a", "%lo", "%hi") +
                             "  call void @dmsh.global.store.i32(i64 %a, i32 1)\n  ret void",
                         Stage::compute);
    after(s, global_to_storage);
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::storage_in_bank);
    EXPECT_EQ(s.interface.bindings[0].bank, 3);
    EXPECT_EQ(s.interface.bindings[0].offset, 0x38u);
    EXPECT_TRUE(s.interface.bindings[0].written);
}

TEST(Storage, NullAddressesOfDeadCodeReadZero) { // B-060
    auto s = shader_from("  call void @dmsh.global.store.i32(i64 4, i32 1)\n  %v = call i32 @dmsh.global.load.i32(i64 0)\n" + kUse,
                         Stage::compute);
    EXPECT_THAT(after(s, global_to_storage), HasSubstr("@dmsh.shared.store.i32(i32 0, i32 0)"));
    EXPECT_TRUE(s.interface.bindings.empty());
}

TEST(Storage, AddressLoadedFromMemoryHasNoBuffer) { // B-060: raw where the guest ABI has memory pools, refused elsewhere
    const auto shader = [](uint32_t table, GuestAbiId abi) {
        return shader_from(word("%lo", 0, table) + word("%hi", 0, table + 4) + join("%a", "%lo", "%hi") +
                               "  %l = call i32 @dmsh.global.load.i32(i64 %a)\n" + join("%b", "%l", "%l") +
                               "  %v = call i32 @dmsh.global.load.i32(i64 %b)\n" + kUse,
                           Stage::compute, abi);
    };
    auto nvn = shader(0x310, GuestAbiId::nvn);
    const std::string text = after(nvn, global_to_storage);
    EXPECT_EQ(count(text, "@dmsh.ssbo.load.i32"), 1u);
    EXPECT_THAT(text, HasSubstr("@dmsh.global.load.i32(i64 %b)")); // raw_memory takes it
    auto cuda = shader(0x140, GuestAbiId::cuda);
    auto r = global_to_storage(cuda);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, static_cast<uint16_t>(LossCode::storage));
    EXPECT_THAT(r.error().message, HasSubstr("no buffer"));
}

TEST(Refl, DriverReads) { // B-002
    auto s = shader_from(word("%a", 0, 0x200) + word("%b", 5, 0x40) +
                             "  %i = call i32 @dmsh.special(i32 1)\n"
                             "  %c = call i32 @dmsh.cbuf.load(i32 5, i32 %i)\n  %d = call i32 "
                             "@dmsh.cbuf.load(i32 2, i32 %i)\n  ret void",
                         Stage::compute);
    const std::string text = after(s, bind_constant_banks);
    EXPECT_EQ(count(text, "cbuf"), 0u);
    ASSERT_EQ(s.interface.bindings.size(), 3u);
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::driver);
    EXPECT_EQ(s.interface.bindings[0].bytes_read, 0x204u);
    EXPECT_FALSE(s.interface.bindings[0].dynamic);
    EXPECT_EQ(s.interface.bindings[1].slot, 2u);
    EXPECT_EQ(s.interface.bindings[1].bytes_read, 0x44u);
    EXPECT_TRUE(s.interface.bindings[1].dynamic);
    EXPECT_EQ(s.interface.bindings[2].kind, BindingKind::handles);
}

TEST(Refl, BaseInstanceIsTheTargets) { // B-008
    auto v = shader_from(word("%a", 0, 0x644) + "  ret void", Stage::vertex);
    EXPECT_THAT(after(v, bind_constant_banks),
                HasSubstr("@dmsh.special(i32 " +
                          std::to_string(static_cast<int>(SpecialRegister::base_instance)) + ")"));
    EXPECT_TRUE(v.interface.bindings.empty());
    auto f = shader_from(word("%a", 0, 0x644) + "  ret void", Stage::fragment);
    EXPECT_THAT(after(f, bind_constant_banks), HasSubstr("@dmsh.ubo.load(i32 0, i32 1604)"));
}

TEST(LdcIs, BankChosenAtRunTimeSwitchesOverUniformBuffers) { // T-043, T-133
    auto s =
        shader_from("  %i = call i32 @dmsh.special(i32 1)\n  %u = lshr i32 %i, 30\n  %k = add i32 %u, 3\n"
                    "  %v = call i32 @dmsh.cbuf.load(i32 %k, i32 16)\n" +
                        kUse,
                    Stage::compute);
    const std::string text = after(s, bind_constant_banks);
    EXPECT_EQ(count(text, "call i32 @dmsh.ubo.load"), 4u);
    for (const Binding& b : s.interface.bindings)
        EXPECT_EQ(b.kind, BindingKind::uniform);
    auto zero =
        shader_from("  %i = call i32 @dmsh.special(i32 1)\n  %u = lshr i32 %i, 31\n  %k = add i32 %u, 0\n"
                    "  %v = call i32 @dmsh.cbuf.load(i32 %u, i32 16)\n" +
                        kUse,
                    Stage::compute);
    after(zero, bind_constant_banks);
    for (const Binding& b : zero.interface.bindings)
        EXPECT_NE(b.kind, BindingKind::driver);
}

// An array of uniform blocks names its first block alone, so every later bank is a candidate.
TEST(LdcIs, UnboundedBankReachesEveryUniformBufferFromItsOwnOn) { // T-133
    auto s = shader_from("  %i = call i32 @dmsh.special(i32 1)\n  %k = add i32 %i, 5\n"
                         "  %v = call i32 @dmsh.cbuf.load(i32 %k, i32 16)\n" +
                             kUse,
                         Stage::compute);
    after(s, bind_constant_banks);
    const GuestAbi& abi = *s.input.abi;
    ASSERT_EQ(s.interface.bindings.size(), abi.uniform_count - 2u);
    for (const Binding& b : s.interface.bindings) {
        EXPECT_EQ(b.kind, BindingKind::uniform);
        EXPECT_GE(b.slot, 2u);
    }
}

TEST(Constants, EmbeddedConstantsFold) {
    const uint8_t data[8] = {1, 2, 3, 4, 0x78, 0x56, 0x34, 0x12};
    auto s = shader_from(word("%v", 1, 4) + word("%w", 1, 8) + kUse, Stage::compute);
    s.input.constants = data;
    const std::string text = after(s, fold_constants);
    EXPECT_THAT(text, HasSubstr("i32 305419896"));
    EXPECT_THAT(text, HasSubstr("@dmsh.cbuf.load(i32 1, i32 8)")); // past the end: stays a read
}

} // namespace
} // namespace dmsh
