// Clean-up passes, derivatives, perspective, interface flags, legalisation: one test per rule.
#include "tests/passes/ir_shader.h"
#include <gmock/gmock.h>

namespace dmsh {
namespace {

using namespace test;
using testing::HasSubstr;

TEST(Dce, AtomicUnusedResult) { // T-010
    auto s = shader_from("  %i = call i32 @dmsh.special(i32 1)\n  %j = mul i32 %i, 3\n  %o = shl i32 %j, 2\n"
                         "  %old = call i32 @dmsh.shared.atomic.i32(i32 %o, i32 0, i32 %j, i32 0)\n  %dead = "
                         "add i32 %old, 1\n  ret void",
                         Stage::compute);
    const std::string text = after(s, remove_dead_code);
    EXPECT_THAT(text, HasSubstr("mul i32 %i, 3"));
    EXPECT_THAT(text, HasSubstr("@dmsh.shared.atomic.i32(i32 %o, i32 0, i32 %j, i32 0)"));
    EXPECT_EQ(count(text, "%dead"), 0u);
}

TEST(Dce, UnusedLaneOperationsGoAndBarriersStay) {
    auto s = shader_from(
        "  %a = call i32 @dmsh.shfl(i32 3, i32 1, i32 1, i32 31)\n  call void @dmsh.barrier()\n  ret void",
        Stage::compute);
    const std::string text = after(s, remove_dead_code);
    EXPECT_EQ(count(text, "shfl"), 0u);
    EXPECT_EQ(count(text, "@dmsh.barrier"), 1u);
}

TEST(CleanUp, LaneOperationsAreNeitherMergedNorMoved) { // numerics.md
    auto s = shader_from(
        "  %p = call i1 @dmsh.helper()\n  %a = call i32 @dmsh.ballot(i1 %p)\n  %b = call i32 @dmsh.ballot(i1 "
        "%p)\n"
        "  br i1 %p, label %t, label %f\nt:\n  %c = call i32 @dmsh.ballot(i1 true)\n  br label %f\nf:\n"
        "  %d = phi i32 [ %a, %0 ], [ %c, %t ]\n  %e = call i32 @dmsh.ballot(i1 true)\n  %s1 = add i32 %b, "
        "%d\n  %s2 = add i32 %s1, %e\n"
        "  call void @dmsh.shared.store.i32(i32 0, i32 %s2)\n  ret void",
        Stage::compute);
    EXPECT_EQ(count(after(s, cleanup), "call i32 @dmsh.ballot"), 4u);
}

TEST(CleanUp, PureOperationsMergeAndUnreachableBlocksGo) {
    auto s =
        shader_from("  %a = call i32 @dmsh.cbuf.load(i32 3, i32 0)\n  %b = call i32 @dmsh.cbuf.load(i32 3, "
                    "i32 0)\n  %c = add i32 %a, %b\n"
                    "  call void @dmsh.shared.store.i32(i32 0, i32 %c)\n  ret void\ndead:\n  br label %dead",
                    Stage::compute);
    const std::string text = after(s, cleanup);
    EXPECT_EQ(count(text, "call i32 @dmsh.cbuf.load"), 1u);
    EXPECT_EQ(count(text, "dead:"), 0u);
}

TEST(CleanUp, LoadsDoNotPassStores) {
    auto s = shader_from(
        "  %a = call i32 @dmsh.shared.load.i32(i32 4)\n  call void @dmsh.shared.store.i32(i32 4, i32 9)\n"
        "  %b = call i32 @dmsh.shared.load.i32(i32 4)\n  %c = add i32 %a, %b\n  call void "
        "@dmsh.shared.store.i32(i32 0, i32 %c)\n  ret void",
        Stage::compute);
    EXPECT_EQ(count(after(s, cleanup), "call i32 @dmsh.shared.load"), 2u);
}

// a.lo * b.lo + (a.lo * b.hi merged with b).lo << 16 + (a.hi * b.lo) << 16 + %c: what compilers write for a * b + c (XMAD, XMAD.MRG, XMAD.PSL.CBCC).
std::string wide_product(bool swapped, const char* other = "%b") {
    const std::string al = swapped ? "%bl, %al" : "%al, %bl";
    return "  %a = call i32 @dmsh.special(i32 1)\n  %b = call i32 @dmsh.special(i32 2)\n  %c = call i32 @dmsh.special(i32 3)\n"
           "  %al = and i32 %a, 65535\n  %bl = and i32 %b, 65535\n  %ah = lshr i32 %a, 16\n  %bh = lshr i32 " +
           std::string(other) + ", 16\n  %ll = mul i32 " + al +
           "\n  %low = add i32 %ll, %c\n  %lh = mul i32 %al, %bh\n  %lhl = and i32 %lh, 65535\n  %bs = shl i32 %b, 16\n"
           "  %mrg = or i32 %lhl, %bs\n  %mh = lshr i32 %mrg, 16\n  %hl = mul i32 %ah, %mh\n  %hls = shl i32 %hl, 16\n"
           "  %ms = shl i32 %mrg, 16\n  %s1 = add i32 %ms, %low\n  %s2 = add i32 %hls, %s1\n"
           "  call void @dmsh.shared.store.i32(i32 0, i32 %s2)\n  ret void";
}

TEST(CleanUp, SixteenBitProductsBecomeOne) {
    for (const bool swapped : {false, true}) {
        auto s = shader_from(wide_product(swapped), Stage::compute);
        const std::string text = after(s, [](ShaderModule& m) -> Result<void> {
            if (auto r = cleanup(m); !r)
                return r;
            return remove_dead_code(m);
        });
        EXPECT_EQ(count(text, " mul i32 %a, %b") + count(text, " mul i32 %b, %a"), 1u) << text;
        EXPECT_EQ(count(text, " mul "), 1u) << text;
        EXPECT_EQ(count(text, " add "), 1u) << text; // of %c
    }
    auto other = shader_from(wide_product(false, "%c"), Stage::compute); // the halves are of different values
    EXPECT_EQ(count(after(other, cleanup), " mul "), 3u);
}

TEST(FloatValues, MergedFloatsKeepTheirTypeAndIntegersTheirs) {
    auto s = shader_from("  %p = call i1 @dmsh.helper()\n  %x = call float @dmsh.attr.interp(i32 128, i32 0, i32 0)\n"
                         "  %xb = bitcast float %x to i32\n  %n = call i32 @dmsh.special(i32 1)\n  br i1 %p, label %t, label %f\nt:\n"
                         "  %y = fadd float %x, 1.0\n  %yb = bitcast float %y to i32\n  br label %f\nf:\n"
                         "  %m = phi i32 [ %xb, %0 ], [ %yb, %t ]\n  %k = phi i32 [ %n, %0 ], [ 7, %t ]\n"
                         "  %s = select i1 %p, i32 %m, i32 0\n  %k2 = add i32 %k, 1\n"
                         "  call void @dmsh.frag.colour(i32 0, i32 0, i32 %s)\n  call void @dmsh.frag.colour(i32 0, i32 1, i32 %k2)\n  ret void");
    const std::string text = after(s, float_values);
    EXPECT_THAT(text, HasSubstr("phi float [ %x, %0 ], [ %y, %t ]"));
    EXPECT_THAT(text, HasSubstr("float 0.0"));
    EXPECT_THAT(text, HasSubstr("%k = phi i32"));
    const auto verified = verify_shader(s, false);
    EXPECT_TRUE(verified) << (verified ? "" : verified.error().text());
}

TEST(MergeSwitches, WordsOfAWideLoadShareOneChoice) {
    const auto load = [](const char* name, const char* from, const char* offset, const char* next) {
        const std::string n = name;
        return "  switch i32 %i, label %" + n + "1 [ i32 0, label %" + n + "0 ]\n" + n + "0:\n  %v" + n + "0 = call i32 @dmsh.ssbo.load.i32(i32 0, i32 " + offset +
               ")\n  br label %" + next + "\n" + n + "1:\n  %v" + n + "1 = call i32 @dmsh.ssbo.load.i32(i32 1, i32 " + offset + ")\n  br label %" + next + "\n" + next +
               ":\n  %r" + n + " = phi i32 [ %v" + n + "0, %" + n + "0 ], [ %v" + n + "1, %" + n + "1 ]\n" + from;
    };
    const std::string head = "  %i = call i32 @dmsh.special(i32 1)\n  %o = call i32 @dmsh.special(i32 2)\n";
    const std::string tail = "  %s = add i32 %ra, %rb\n  call void @dmsh.shared.store.i32(i32 0, i32 %s)\n  ret void";
    auto s = shader_from(head + load("a", "  %o4 = add i32 %o, 4\n", "%o", "t") + load("b", "", "%o4", "e") + tail, Stage::compute);
    const std::string text = after(s, merge_switches);
    EXPECT_EQ(count(text, "switch i32"), 1u);
    EXPECT_EQ(count(text, "call i32 @dmsh.ssbo.load"), 4u);
    const auto verified = verify_shader(s, false);
    EXPECT_TRUE(verified) << (verified ? "" : verified.error().text());
    // A store between the two reads keeps them apart, and so does an offset that the first read gives.
    auto stored = shader_from(head + load("a", "  %o4 = add i32 %o, 4\n  call void @dmsh.ssbo.store.i32(i32 0, i32 %o4, i32 %ra)\n", "%o", "t") +
                                  load("b", "", "%o4", "e") + tail,
                              Stage::compute);
    EXPECT_EQ(count(after(stored, merge_switches), "switch i32"), 2u);
    auto chained = shader_from(head + load("a", "  %o4 = add i32 %ra, 4\n", "%o", "t") + load("b", "", "%o4", "e") + tail, Stage::compute);
    EXPECT_EQ(count(after(chained, merge_switches), "switch i32"), 2u);
}

TEST(Guards, SelectBehindItsOwnBranchIsResolved) {
    auto s = shader_from("  %p = call i1 @dmsh.helper()\n  %n = xor i1 %p, true\n  %a = call i32 "
                         "@dmsh.special(i32 1)\n  %v = select i1 %p, i32 %a, i32 7\n"
                         "  %w = select i1 %n, i32 %a, i32 9\n  br i1 %p, label %t, label %f\nt:\n  call "
                         "void @dmsh.shared.store.i32(i32 %v, i32 %w)\n  br label %f\n"
                         "f:\n  %m = phi i32 [ %v, %0 ], [ 1, %t ]\n  call void @dmsh.shared.store.i32(i32 "
                         "0, i32 %m)\n  ret void",
                         Stage::compute);
    const std::string text = after(s, resolve_guarded_selects);
    EXPECT_THAT(text, HasSubstr("@dmsh.shared.store.i32(i32 %a, i32 9)"));
    EXPECT_THAT(text, HasSubstr("phi i32 [ 7, %0 ], [ 1, %t ]"));
}

std::string exchange(int distance, int mask, bool neighbour_first) {
    return "  %v = call float @dmsh.attr.interp(i32 128, i32 0, i32 0)\n  %b = bitcast float %v to i32\n"
           "  %s = call i32 @dmsh.shfl(i32 3, i32 %b, i32 " +
           std::to_string(distance) +
           ", i32 7171)\n  %o = bitcast i32 %s to float\n"
           "  %d = call float @dmsh.fswzadd(float " +
           (neighbour_first ? "%o, float %v" : "%v, float %o") + ", i32 " + std::to_string(mask) +
           ")\n"
           "  %r = bitcast float %d to i32\n  call void @dmsh.frag.colour(i32 0, i32 0, i32 %r)\n  ret void";
}

TEST(Derivatives, ShuffleAndSwizzledAddBecomeOne) {
    auto x = shader_from(exchange(1, 0x99, true));
    EXPECT_THAT(after(x, make_derivatives), HasSubstr("@dmsh.ddx(float %v)"));
    auto y = shader_from(exchange(2, 0xa5, true));
    EXPECT_THAT(after(y, make_derivatives), HasSubstr("@dmsh.ddy(float %v)"));
    auto swapped = shader_from(exchange(1, 0x66, false));
    EXPECT_THAT(after(swapped, make_derivatives),
                testing::AllOf(HasSubstr("@dmsh.ddx(float %v)"), testing::Not(HasSubstr("fneg"))));
    auto negative = shader_from(exchange(2, 0x5a, true));
    EXPECT_THAT(after(negative, make_derivatives), HasSubstr("fneg"));
    auto other = shader_from(exchange(1, 0xa5, true)); // signs of the other direction
    EXPECT_THAT(after(other, make_derivatives), HasSubstr("@dmsh.fswzadd"));
    auto compute = shader_from(exchange(1, 0x99, true), Stage::compute);
    EXPECT_THAT(after(compute, make_derivatives), HasSubstr("@dmsh.fswzadd"));
}

TEST(Perspective, DivisionThatTheInterpolationUndidIsGone) {
    auto s = shader_from(
        "  %w = call float @dmsh.attr.interp(i32 124, i32 0, i32 0)\n  %r = call float @dmsh.mufu(i32 4, "
        "float %w)\n"
        "  %a = call float @dmsh.attr.interp(i32 128, i32 0, i32 0)\n  %m = fmul float %a, %w\n  %n = fmul "
        "float %m, %r\n"
        "  %b = bitcast float %n to i32\n  call void @dmsh.frag.colour(i32 0, i32 0, i32 %b)\n  ret void");
    EXPECT_THAT(after(s, simplify_perspective), HasSubstr("bitcast float %a to i32"));
    auto other =
        shader_from("  %w = call float @dmsh.attr.interp(i32 124, i32 0, i32 0)\n  %z = call float "
                    "@dmsh.attr.interp(i32 120, i32 0, i32 0)\n"
                    "  %r = call float @dmsh.mufu(i32 4, float %z)\n  %a = call float @dmsh.attr.interp(i32 "
                    "128, i32 0, i32 0)\n"
                    "  %m = fmul float %a, %w\n  %n = fmul float %m, %r\n  %b = bitcast float %n to i32\n"
                    "  call void @dmsh.frag.colour(i32 0, i32 0, i32 %b)\n  ret void");
    EXPECT_THAT(after(other, simplify_perspective), HasSubstr("bitcast float %n to i32"));
}

TEST(Interface, FlagsSayWhatTheCodeDoes) {
    auto s = shader_from("  %i = call i32 @dmsh.special(i32 " +
                         std::to_string(static_cast<int>(SpecialRegister::sample_id)) +
                         ")\n  %p = call i1 @dmsh.vote.any(i1 true)\n  call void @dmsh.demote()\n"
                         "  %v = call float @dmsh.attr.interp(i32 148, i32 0, i32 0)\n  %d = call float "
                         "@dmsh.ddx(float %v)\n  call void @dmsh.frag.depth(float %d)\n"
                         "  call void @dmsh.ssbo.store.i32(i32 0, i32 0, i32 %i)\n  ret void");
    s.interface.bindings.emplace_back();
    after(s, fill_interface);
    EXPECT_TRUE(s.interface.per_sample); // T-031
    EXPECT_TRUE(s.interface.uses_lanes);
    EXPECT_TRUE(s.interface.demotes);
    EXPECT_TRUE(s.interface.uses_derivatives);
    EXPECT_TRUE(s.interface.writes_memory);
    ASSERT_EQ(s.interface.inputs.size(), 1u);
    EXPECT_EQ(s.interface.inputs[0].location, 1);
    EXPECT_EQ(s.interface.inputs[0].components, 2);
    EXPECT_TRUE(s.interface.builtins_written & builtin_bit(Builtin::frag_depth));
}

TEST(Refl, Limits) { // B-024
    auto s = shader_from("  ret void");
    s.interface.bindings.resize(128);
    EXPECT_TRUE(fill_interface(s));
    s.interface.bindings.resize(129);
    auto r = fill_interface(s);
    ASSERT_FALSE(r);
    EXPECT_THAT(r.error().message, HasSubstr("129 bindings"));
}

TEST(Barriers, ReductionsBecomeSharedAtomicsAndPartsAreRefused) {
    auto s = shader_from("  %k = call i1 @dmsh.helper()\n  %n = call i32 @dmsh.barrier.reduce(i32 1, i32 0, i32 0, i1 %k)\n"
                         "  call void @dmsh.shared.store.i32(i32 0, i32 %n)\n  ret void",
                         Stage::compute);
    s.interface.shared_bytes = 6;
    const std::string text = after(s, lower_barriers);
    EXPECT_EQ(count(text, "call void @dmsh.barrier()"), 3u);
    EXPECT_THAT(text, HasSubstr("@dmsh.shared.atomic.i32(i32 8, i32 10, i32 1, i32 0)")); // exchange: true so far
    EXPECT_THAT(text, HasSubstr("@dmsh.shared.atomic.i32(i32 8, i32 7, i32 %"));          // and
    EXPECT_THAT(text, HasSubstr("@dmsh.shared.load.i32(i32 8)"));
    EXPECT_EQ(s.interface.shared_bytes, 12u);
    for (const char* part : {"barrier.part", "barrier.arrive"}) {
        auto r = shader_from(std::string("  call void @dmsh.") + part + "(i32 1, i32 64)\n  ret void", Stage::compute);
        EXPECT_FALSE(lower_barriers(r)) << part;
    }
}

TEST(Generic, AddressesAreComparedWithTheWindows) {
    const std::string body = "  %x = call i32 @dmsh.special(i32 1)\n  %l = zext i32 %x to i64\n"
                             "  %v = call i32 @dmsh.generic.load.i32(i64 %l)\n  call void @dmsh.generic.store.i32(i64 %l, i32 %v)\n  ret void";
    auto s = shader_from(body, Stage::compute, GuestAbiId::cuda);
    s.input.shared_bytes = 64;
    const std::string text = after(s, resolve_generic);
    EXPECT_EQ(count(text, "@dmsh.shared.load.i32"), 1u);
    EXPECT_EQ(count(text, "@dmsh.global.load.i32(i64 %l)"), 1u);
    EXPECT_EQ(count(text, "@dmsh.shared.store.i32"), 1u);
    EXPECT_EQ(count(text, "@dmsh.local."), 0u); // the kernel has no local memory
    EXPECT_EQ(count(text, "generic"), 0u);
}

TEST(Vulkan, DirectedRoundingAndSeedsAreExpanded) {
    auto s = shader_from(
        "  %a = call float @dmsh.fadd.rnd(i32 1, float 1.0, float 0x3E50000000000000)\n  %b = call i32 "
        "@dmsh.mufu64h(i32 0, i32 1074266112)\n"
        "  %c = bitcast float %a to i32\n  call void @dmsh.shared.store.i32(i32 %b, i32 %c)\n  ret void",
        Stage::compute);
    const std::string text = after(s, legalize_vulkan);
    EXPECT_EQ(count(text, "rnd"), 0u);
    EXPECT_EQ(count(text, "mufu64h"), 0u);
}

TEST(Vulkan, StagesWithoutDerivativesSampleTheBaseLevel) {
    TexDesc desc;
    auto s =
        shader_from("  %s = call <4 x float> @dmsh.btex.sample(i32 0, i32 0, i32 0, i32 0, i32 " +
                        std::to_string(desc.pack()) +
                        ", float 0.0, float 0.0, float 0.0, i32 0, float 0.0, float 0.0, i32 0)\n  ret void",
                    Stage::vertex);
    desc.lod = TexDesc::zero;
    EXPECT_THAT(after(s, legalize_vulkan), HasSubstr("i32 " + std::to_string(desc.pack()) + ", float"));
}

TEST(Clone, IsIndependent) {
    auto s = shader_from("  %a = call i32 @dmsh.cbuf.load(i32 3, i32 0)\n  ret void", Stage::compute);
    s.interface.shared_bytes = 64;
    ShaderModule copy = clone_shader(s);
    after(s, remove_dead_code);
    EXPECT_THAT(text_of(copy), HasSubstr("dmsh.cbuf.load"));
    EXPECT_EQ(copy.interface.shared_bytes, 64u);
    EXPECT_NE(copy.context.get(), s.context.get());
}

} // namespace
} // namespace dmsh
