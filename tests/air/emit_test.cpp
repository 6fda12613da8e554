// AIR emission of small shaders: it verifies, reads back, and its shape is the one that Metal asks for.
#include "compiler/emit/air/air_emitter.h"
#include "compiler/emit/air/air_module.h"
#include "compiler/emit/air/inspect.h"
#include "compiler/emit/air/metallib_reader.h"
#include "tests/air/make_shader.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dmsh;
using testing::HasSubstr;

namespace {

std::string emit_text(const ShaderModule& s, Target target = Target::macos) {
    auto f = emit_air(s, target, true);
    if (!f)
        return "error: " + f.error().text();
    auto lib = write_metallib(std::span(&*f, 1), target);
    EXPECT_TRUE(lib) << lib.error().text();
    auto parsed = read_metallib(*lib);
    EXPECT_TRUE(parsed) << parsed.error().text();
    for (const auto& fault : verify_container(*parsed))
        ADD_FAILURE() << fault;
    auto module = parse_air(parsed->functions.at(0).bitcode);
    EXPECT_TRUE(module) << module.error().text();
    if (getenv("DMSH_PRINT_AIR"))
        printf("%s\n%s\n", f->text.c_str(), inspect_metallib(*lib, false).c_str());
    return f->text;
}

} // namespace

TEST(AirEmit, VertexFunction) {
    const std::string text = emit_text(test::vertex_shader());
    EXPECT_THAT(text, HasSubstr("define <{ <4 x float>, <4 x float>, float }> @main0("));
    EXPECT_THAT(text, testing::Not(HasSubstr("bitcast float")));
    EXPECT_THAT(text,
                HasSubstr("!{!\"air.position\", !\"air.invariant\", !\"air.arg_type_name\", !\"float4\""));
    EXPECT_THAT(text, HasSubstr("target triple = \"air64-apple-macosx14.0.0\""));
    EXPECT_THAT(text, HasSubstr("!\"air.vertex_input\", !\"air.location_index\", i32 1, i32 1"));
    EXPECT_THAT(text, HasSubstr("insertelement <4 x float> %"));
    EXPECT_THAT(text, HasSubstr("float 1.000000e+00, i64 3")); // w of locn0, which nobody writes
}

TEST(AirEmit, FragmentFunction) {
    const std::string text = emit_text(test::fragment_shader(), Target::ios);
    EXPECT_THAT(text, HasSubstr("define <{ <4 x float>, <4 x i32> }> @main0("));
    EXPECT_THAT(text, HasSubstr("call { <4 x float>, i8 } @air.sample_texture_2d.v4f32("));
    EXPECT_THAT(text, HasSubstr("call void @air.discard_fragment()"));
    EXPECT_THAT(text, HasSubstr("\"user(locn0)\", !\"air.center\", !\"air.perspective\""));
    EXPECT_THAT(text, HasSubstr("target triple = \"air64-apple-ios17.0.0\""));
}

TEST(AirEmit, Kernel) {
    const std::string text = emit_text(test::kernel_shader());
    EXPECT_THAT(text, HasSubstr("define void @main0("));
    EXPECT_THAT(text, HasSubstr("@shared = internal unnamed_addr addrspace(3) global [64 x i32] undef"));
    EXPECT_THAT(text, HasSubstr("call void @air.wg.barrier(i32 7, i32 1)"));
    EXPECT_THAT(text, HasSubstr("@air.atomic.global.add.u.i32"));
    EXPECT_THAT(text, HasSubstr("@air.atomic.global.add.f32"));
    EXPECT_THAT(text, HasSubstr("@air.atomic.global.cmpxchg.weak.i32"));
    EXPECT_THAT(text, HasSubstr("!\"air.max_work_group_size\", i32 64"));
}

TEST(AirEmit, SameBytesEachTime) {
    const auto shader = test::fragment_shader();
    auto a = emit_air(shader, Target::macos), b = emit_air(shader, Target::macos),
         c = emit_air(test::fragment_shader(), Target::macos);
    ASSERT_TRUE(a && b && c);
    EXPECT_EQ(a->bitcode, b->bitcode);
    EXPECT_EQ(a->bitcode, c->bitcode);
}
