// Raw global memory and the words of pixel and patch state, as SPIR-V.
#include "compiler/passes/passes.h"
#include "tests/spirv/test_ir.h"
#include <gmock/gmock.h>

namespace dmsh::test {
namespace {

using testing::HasSubstr;

std::string special_of(SpecialRegister r) { return "%v = call i32 @dmsh.special(i32 " + std::to_string(static_cast<int>(r)) + ")\n"; }

} // namespace

TEST(RawMemory, GoesToDeviceAddresses) { // B-060
    ShaderModule s = shader_from(Stage::compute, R"(
%x = call i32 @dmsh.special(i32 1)
%a = zext i32 %x to i64
%v = call i32 @dmsh.global.load.i32(i64 %a)
%b = add i64 %a, 64
call void @dmsh.global.store.i32(i64 %b, i32 %v)
%c = add i64 %a, 65
call void @dmsh.global.store.i8(i64 %c, i8 1)
%o = call i32 @dmsh.global.atomic.i32(i64 %b, i32 12, i32 %v, i32 0)
%w = call i64 @dmsh.global.atomic.i64(i64 %b, i32 0, i64 5, i64 0)
%n = trunc i64 %w to i32
%m = add i32 %n, %o
call void @dmsh.global.store.i32(i64 %a, i32 %m)
ret void)");
    ASSERT_TRUE(raw_memory(s));
    const std::string t = disassemble_spirv(emit_valid(s, {}));
    EXPECT_THAT(t, HasSubstr("OpMemoryModel PhysicalStorageBuffer64 GLSL450"));
    EXPECT_THAT(t, HasSubstr("SPV_KHR_physical_storage_buffer"));
    EXPECT_THAT(t, HasSubstr("Aligned 4"));
    ASSERT_EQ(s.interface.bindings.size(), 2u);
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::pool_table);
    EXPECT_EQ(s.interface.bindings[1].kind, BindingKind::pool_write_log);
}

TEST(SpecialWords, CoverageMaskAndPatchVertices) { // T-031
    ShaderModule f = shader_from(Stage::fragment, special_of(SpecialRegister::sample_mask_in) +
                                                      "call void @dmsh.frag.colour(i32 0, i32 0, i32 %v)\nret void");
    f.interface.colours = {{0, 1, Numeric::uint}};
    EXPECT_THAT(disassemble_spirv(emit_valid(f, {})), HasSubstr("BuiltIn SampleMask"));
    ShaderModule t = shader_from(Stage::tess_evaluation, special_of(SpecialRegister::prim_type) +
                                                             "call void @dmsh.attr.store(i32 112, i32 %v, i32 0)\nret void");
    EXPECT_THAT(disassemble_spirv(emit_valid(t, {})), HasSubstr("BuiltIn PatchVertices"));
}

} // namespace dmsh::test
