// Handle tracing: one test per form of the bindings rules.
#include "tests/passes/ir_shader.h"
#include <gmock/gmock.h>

namespace dmsh {
namespace {

using namespace test;
using testing::HasSubstr;

// A 2D sample of handle %h; TexDesc 1 = d2, implicit level.
std::string sample_2d(const std::string& handle, uint32_t desc = 1) {
    return "  %s = call <4 x float> @dmsh.tex.sample(i32 " + handle + ", i32 " + std::to_string(desc) +
           ", float 0.0, float 0.0, float 0.0, i32 0, float 0.0, float 0.0, i32 0)\n"
           "  %x = extractelement <4 x float> %s, i32 0\n"
           "  %b = bitcast float %x to i32\n"
           "  call void @dmsh.frag.colour(i32 0, i32 0, i32 %b)\n"
           "  ret void";
}
std::string word(const std::string& name, uint32_t bank, uint32_t offset) {
    return "  " + name + " = call i32 @dmsh.cbuf.load(i32 " + std::to_string(bank) + ", i32 " +
           std::to_string(offset) + ")\n";
}

TEST(Refl, CombinedSlotIsFoundByItsOffset) { // B-020
    auto s = shader_from(word("%h", 2, 0x20 + 8 * 5) + sample_2d("%h"));
    EXPECT_THAT(after(s, trace_handles), HasSubstr("@dmsh.btex.sample(i32 0, i32 0, i32 0, i32 0, i32 1,"));
    ASSERT_EQ(s.interface.bindings.size(), 1u);
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::texture);
    EXPECT_EQ(s.interface.bindings[0].slot, 5u);
    EXPECT_TRUE(s.interface.bindings[0].sampled);
}

TEST(Handle, SeparatePairInEitherOrder) { // B-021, B-043: c2[0x5c0] | c2[0x248]
    for (const char* order : {"%h = or i32 %t, %p\n", "%h = or i32 %p, %t\n"}) {
        auto s = shader_from(word("%t", 2, 0x248) + word("%p", 2, 0x5c0) + "  " + order + sample_2d("%h"));
        EXPECT_THAT(after(s, trace_handles), HasSubstr("@dmsh.btex.sample(i32 0, i32 0, i32 1, i32 0,"));
        ASSERT_EQ(s.interface.bindings.size(), 2u);
        EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::separate_texture);
        EXPECT_EQ(s.interface.bindings[0].slot, (0x248u - 0x168u) / 8);
        EXPECT_EQ(s.interface.bindings[1].kind, BindingKind::separate_sampler);
        EXPECT_EQ(s.interface.bindings[1].slot, (0x5c0u - 0x568u) / 8);
    }
}

TEST(Handle, WordOfAUniformBuffer) { // B-028
    auto s = shader_from(word("%h", 5, 0x130) + sample_2d("%h"));
    after(s, trace_handles);
    ASSERT_EQ(s.interface.bindings.size(), 1u);
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::texture_in_bank);
    EXPECT_EQ(s.interface.bindings[0].bank, 5);
    EXPECT_EQ(s.interface.bindings[0].offset, 0x130u);
    EXPECT_EQ(s.interface.bindings[0].or_bank, 0xff);
}

TEST(Handle, TwoWordsOfUniformBuffersAreOredAtBindTime) { // B-031
    auto s =
        shader_from(word("%t", 5, 0x130) + word("%p", 6, 8) + "  %h = or i32 %p, %t\n" + sample_2d("%h"));
    after(s, trace_handles);
    ASSERT_EQ(s.interface.bindings.size(), 1u);
    const Binding& b = s.interface.bindings[0];
    EXPECT_EQ(b.kind, BindingKind::texture_in_bank);
    EXPECT_THAT((std::array<uint32_t, 4>{b.bank, b.offset, b.or_bank, b.or_offset}),
                testing::AnyOf(testing::ElementsAre(5, 0x130, 6, 8), testing::ElementsAre(6, 8, 5, 0x130)));
}

TEST(Handle, LoopPhiOfEqualHandles) { // B-040
    auto s = shader_from(
        word("%a", 2, 0x1a0) + word("%p", 2, 0x570) +
        "  %h0 = or i32 %a, %p\n  br label %loop\nloop:\n"
        "  %h = phi i32 [ %h0, %0 ], [ %h2, %next ]\n  %c = call i1 @dmsh.helper()\n"
        "  br i1 %c, label %other, label %next\nother:\n  br label %next\nnext:\n"
        "  %h2 = phi i32 [ %h, %loop ], [ %h0, %other ]\n  br i1 %c, label %loop, label %done\ndone:\n" +
        sample_2d("%h"));
    after(s, trace_handles);
    ASSERT_EQ(s.interface.bindings.size(), 2u);
    EXPECT_EQ(s.interface.bindings[0].slot, 7u);
    EXPECT_EQ(s.interface.bindings[1].slot, 1u);
}

TEST(Handle, ArrayOfTheDriverTable) { // B-051: SHL 3, LDC c2[R + 0x20 + 8 * 2]
    auto s = shader_from("  %i = call i32 @dmsh.special(i32 0)\n  %o = shl i32 %i, 3\n  %p = add i32 %o, 48\n"
                         "  %h = call i32 @dmsh.cbuf.load(i32 2, i32 %p)\n" +
                         sample_2d("%h"));
    EXPECT_THAT(after(s, trace_handles), HasSubstr("@dmsh.btex.sample(i32 0, i32 %i, i32 0, i32 %i,"));
    EXPECT_EQ(s.interface.bindings[0].slot, 2u);
    EXPECT_EQ(s.interface.bindings[0].count, 30u); // up to the words that images share (B-026)
}

TEST(Handle, ArrayIsAsLongAsTheIndexReaches) {
    auto s = shader_from("  %i = call i32 @dmsh.special(i32 0)\n  %m = call i32 @llvm.umin.i32(i32 %i, i32 "
                         "3)\n  %o = shl i32 %m, 3\n"
                         "  %p = add i32 %o, 48\n  %h = call i32 @dmsh.cbuf.load(i32 2, i32 %p)\n" +
                         sample_2d("%h"));
    after(s, trace_handles);
    EXPECT_EQ(s.interface.bindings[0].count, 4u);
}

TEST(Handle, HeadSurfaceStrideIsFourBytes) {
    auto s = shader_from(word("%h", 4, 20) + sample_2d("%h"), Stage::fragment, GuestAbiId::headsurface);
    after(s, trace_handles);
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::texture);
    EXPECT_EQ(s.interface.bindings[0].slot, 5u);
}

TEST(Handle, SelectOfOneTableBecomesAnArray) {
    auto s =
        shader_from(word("%a", 2, 0x20 + 8 * 3) + word("%c", 2, 0x20 + 8 * 6) +
                    "  %k = call i1 @dmsh.helper()\n  %h = select i1 %k, i32 %a, i32 %c\n" + sample_2d("%h"));
    EXPECT_THAT(after(s, trace_handles), HasSubstr("select i1 %k, i32 0, i32 3"));
    ASSERT_EQ(s.interface.bindings.size(), 1u);
    EXPECT_EQ(s.interface.bindings[0].slot, 3u);
    EXPECT_EQ(s.interface.bindings[0].count, 4u);
}

TEST(Handle, SelectBetweenBanksReadsEachAndSelects) { // B-042
    auto s =
        shader_from(word("%a", 3, 0x130) + word("%c", 12, 0x1d0) +
                    "  %k = call i1 @dmsh.helper()\n  %h = select i1 %k, i32 %a, i32 %c\n" + sample_2d("%h"));
    const std::string text = after(s, trace_handles);
    EXPECT_EQ(count(text, "call <4 x float> @dmsh.btex.sample"), 2u);
    EXPECT_EQ(s.interface.bindings.size(), 2u);
}

TEST(Handle, StoreWithSeveralCandidatesSwitches) {
    auto s = shader_from(word("%a", 3, 0x130) + word("%c", 12, 0x1d0) +
                         "  %k = call i1 @dmsh.helper()\n  %h = select i1 %k, i32 %a, i32 %c\n"
                         "  call void @dmsh.img.store(i32 %h, i32 61441, i32 1, i32 2, i32 0, i32 0, <4 x "
                         "i32> zeroinitializer)\n  ret void");
    const std::string text = after(s, trace_handles);
    EXPECT_EQ(count(text, "@dmsh.bimg.store"), 2u);
    EXPECT_THAT(text, HasSubstr("switch i32"));
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::image_in_bank); // B-030
    EXPECT_TRUE(s.interface.bindings[0].written);
}

TEST(Handle, WordWithAConstantSampler) { // B-040, B-041: c2[0x1a0] | 0x10500000 is separate texture 7 with sampler 0x105 of the pool
    for (const char* order : {"%h = or i32 %t, 273678336\n", "%h = or i32 273678336, %t\n"}) {
        auto s = shader_from(word("%t", 2, 0x1a0) + "  " + order + sample_2d("%h"));
        EXPECT_THAT(after(s, trace_handles), HasSubstr("@dmsh.btex.sample(i32 0, i32 0, i32 0, i32 0,"));
        ASSERT_EQ(s.interface.bindings.size(), 1u);
        const Binding& b = s.interface.bindings[0];
        EXPECT_EQ(b.kind, BindingKind::texture_in_bank);
        EXPECT_THAT((std::array<uint32_t, 3>{b.bank, b.offset, b.or_constant}), testing::ElementsAre(2, 0x1a0, 0x10500000));
        EXPECT_TRUE(b.sampled);
    }
}

TEST(Handle, EqualHandlesNeedEqualConstants) { // B-040
    const std::string tail = "  %k = call i1 @dmsh.helper()\n  %h = select i1 %k, i32 %a, i32 %c\n";
    auto same = shader_from(word("%t", 5, 0x40) + "  %a = or i32 %t, 1048576\n  %c = or i32 1048576, %t\n" + tail + sample_2d("%h"));
    after(same, trace_handles);
    EXPECT_EQ(same.interface.bindings.size(), 1u);
    auto other = shader_from(word("%t", 5, 0x40) + "  %a = or i32 %t, 1048576\n  %c = or i32 %t, 2097152\n" + tail + sample_2d("%h"));
    after(other, trace_handles);
    EXPECT_EQ(other.interface.bindings.size(), 2u);
}

// B-041: handles made under a guard that the read's guard cannot be tied to.
const std::string kGuarded = "  %k = call i1 @dmsh.helper()\n  br i1 %k, label %made, label %join\nmade:\n";

TEST(Handle, GuardedPairAmongOtherValues) {
    // The register holds something else on the other way; a lone word that is part of the pair is the pair.
    for (const char* other : {"%n", "%t"}) {
        auto s = shader_from("  %n = call i32 @dmsh.special(i32 0)\n" + word("%t", 5, 0x40) + word("%p", 5, 0x48) + kGuarded +
                             "  %pair = or i32 %t, %p\n  br label %join\njoin:\n  %h = phi i32 [ %pair, %made ], [ " + other +
                             ", %0 ]\n" + sample_2d("%h"));
        after(s, trace_handles);
        ASSERT_EQ(s.interface.bindings.size(), 1u) << other;
        EXPECT_EQ(s.interface.bindings[0].or_offset + s.interface.bindings[0].offset, 0x88u);
    }
}

TEST(Handle, PairWhosePhiLiesBelowTheOr) {
    auto s = shader_from(word("%p", 2, 0x570) + word("%c", 2, 0x1b0) + kGuarded + word("%t", 2, 0x1a0) +
                         "  br label %join\njoin:\n  %w = phi i32 [ %t, %made ], [ %c, %0 ]\n  %h = or i32 %p, %w\n" + sample_2d("%h"));
    after(s, trace_handles);
    ASSERT_EQ(s.interface.bindings.size(), 2u); // an array of separate textures and the sampler
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::separate_texture);
    EXPECT_EQ(s.interface.bindings[0].slot, 7u);
    EXPECT_EQ(s.interface.bindings[0].count, 3u);
    EXPECT_EQ(s.interface.bindings[1].slot, 1u);
}

TEST(Handle, LoneWordsOfGameBuffersDoNotCountAmongOtherValues) {
    auto s = shader_from("  %n = call i32 @dmsh.special(i32 0)\n" + word("%t", 5, 0x40) + kGuarded + "  br label %join\njoin:\n" +
                         "  %h = phi i32 [ %t, %made ], [ %n, %0 ]\n" + sample_2d("%h"));
    after(s, trace_handles);
    ASSERT_EQ(s.interface.bindings.size(), 2u); // nothing is known of the value: the pools
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::texture_pool);
}

TEST(Handle, MixedPhi) { // B-042: one candidate is taken; several are told apart by the value
    const auto mixed = [&](const std::string& second, const std::string& use) {
        return shader_from("  %n = call i32 @dmsh.special(i32 0)\n" + word("%a", 2, 0x20) + word("%z", 2, 0x168) + kGuarded +
                           "  %k2 = call i1 @dmsh.helper()\n  br i1 %k2, label %more, label %join\nmore:\n  br label %join\njoin:\n" +
                           "  %h = phi i32 [ %a, %made ], [ " + second + ", %more ], [ %n, %0 ]\n" + use);
    };
    auto one = mixed("%n", sample_2d("%h"));
    after(one, trace_handles);
    ASSERT_EQ(one.interface.bindings.size(), 1u);
    EXPECT_EQ(one.interface.bindings[0].slot, 0u);
    const std::string fetch = "  %f = call <4 x float> @dmsh.tex.fetch(i32 %h, i32 769, i32 7, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0)\n"
                              "  %x = extractelement <4 x float> %f, i32 0\n  %w = bitcast float %x to i32\n"
                              "  call void @dmsh.frag.colour(i32 0, i32 0, i32 %w)\n  ret void";
    auto two = mixed("%z", fetch);
    const std::string text = after(two, trace_handles);
    EXPECT_EQ(count(text, "call <4 x float> @dmsh.btex.fetch"), 2u);
    EXPECT_THAT(text, HasSubstr("icmp eq i32 %h, "));
    EXPECT_EQ(two.interface.bindings.size(), 2u);
    // Stores with several candidates are left alone: refused.
    auto store = mixed("%z", "  call void @dmsh.img.store(i32 %h, i32 61441, i32 1, i32 2, i32 0, i32 0, <4 x i32> zeroinitializer)\n  ret void");
    EXPECT_FALSE(trace_handles(store));
}

TEST(Handle, ArrayOfAUniformBufferBeginsAtItsBase) { // B-050, B-053: c[14][8 * i + 0x340]
    auto s = shader_from("  %i = call i32 @dmsh.special(i32 0)\n  %o = shl i32 %i, 3\n  %p = add i32 %o, 832\n"
                         "  %h = call i32 @dmsh.cbuf.load(i32 14, i32 %p)\n" +
                         sample_2d("%h"));
    EXPECT_THAT(after(s, trace_handles), HasSubstr("@dmsh.btex.sample(i32 0, i32 %i,"));
    const Binding& b = s.interface.bindings[0];
    EXPECT_EQ(b.kind, BindingKind::texture_in_bank);
    EXPECT_THAT((std::array<uint32_t, 3>{b.bank, b.offset, b.count}), testing::ElementsAre(14, 0x340, 32));
}

TEST(Handle, ArrayWithASeparateSamplerWord) { // B-052: c2[0x168 + 8 * i] | c2[0x570]
    auto s = shader_from("  %i = call i32 @dmsh.special(i32 0)\n  %o = shl i32 %i, 3\n  %p = add i32 %o, 360\n"
                         "  %t = call i32 @dmsh.cbuf.load(i32 2, i32 %p)\n" +
                         word("%q", 2, 0x570) + "  %h = or i32 %t, %q\n" + sample_2d("%h"));
    EXPECT_THAT(after(s, trace_handles), HasSubstr("@dmsh.btex.sample(i32 0, i32 %i, i32 1, i32 0,"));
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::separate_texture);
    EXPECT_EQ(s.interface.bindings[0].count, 128u);
    EXPECT_EQ(s.interface.bindings[1].slot, 1u);
}

TEST(Handle, HandlesFromGameMemoryIndexThePools) { // B-048
    const std::string load = "  %h = call i32 @dmsh.global.load.i32(i64 77)\n";
    auto s = shader_from(load + sample_2d("%h"));
    const std::string text = after(s, trace_handles);
    EXPECT_THAT(text, HasSubstr("and i32 %h, 1048575"));
    EXPECT_THAT(text, HasSubstr("lshr i32 %h, 20"));
    ASSERT_EQ(s.interface.bindings.size(), 2u);
    EXPECT_EQ(s.interface.bindings[0].kind, BindingKind::texture_pool);
    EXPECT_TRUE(s.interface.bindings[0].sampled);
    EXPECT_EQ(s.interface.bindings[1].kind, BindingKind::sampler_pool);
    // A query takes the shape of the other access through the same value.
    auto query = shader_from(load + "  %q = call <4 x i32> @dmsh.tex.size(i32 %h, i32 1, i32 0)\n" + sample_2d("%h", 3));
    after(query, trace_handles);
    EXPECT_EQ(query.interface.bindings.size(), 2u);
    EXPECT_EQ(query.interface.bindings[0].dim, ImageDim::cube);
}

TEST(Handle, UntraceableIsRefusedWithItsReason) { // B-044, T-012: images have no pool
    auto s = shader_from("  %h = call i32 @dmsh.special(i32 0)\n"
                         "  call void @dmsh.img.store(i32 %h, i32 61441, i32 1, i32 2, i32 0, i32 0, <4 x i32> zeroinitializer)\n  ret void");
    s.input.trace_handles = true;
    auto r = trace_handles(s);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, static_cast<uint16_t>(LossCode::handle));
    ASSERT_EQ(s.handle_trace.size(), 1u);
    EXPECT_THAT(s.handle_trace[0], HasSubstr("not traced: the result of dmsh.special"));
}

TEST(Refl, QueryBetweenTwoShapesKeepsTheGuess) { // B-027
    const auto sample = [](const char* name, uint32_t desc) {
        return std::string("  ") + name + " = call <4 x float> @dmsh.tex.sample(i32 %h, i32 " + std::to_string(desc) +
               ", float 0.0, float 0.0, float 0.0, i32 0, float 0.0, float 0.0, i32 0)\n";
    };
    auto s = shader_from(word("%h", 2, 0x20) + sample("%a", 2) + sample("%c", 3) +
                         "  %q = call <4 x i32> @dmsh.tex.size(i32 %h, i32 1, i32 0)\n  ret void");
    EXPECT_THAT(after(s, trace_handles), HasSubstr("@dmsh.btex.size(i32 2, i32 0, i32 -1, i32 0, i32 1,"));
    // An array that covers the slot shows its type as well.
    auto array = shader_from("  %i = call i32 @dmsh.special(i32 0)\n  %o = shl i32 %i, 3\n  %p = add i32 %o, 32\n"
                             "  %h = call i32 @dmsh.cbuf.load(i32 2, i32 %p)\n" +
                             sample("%a", 3) + word("%g", 2, 0x48) +
                             "  %q = call <4 x i32> @dmsh.tex.size(i32 %g, i32 1, i32 0)\n  ret void");
    after(array, trace_handles);
    EXPECT_EQ(array.interface.bindings[1].dim, ImageDim::cube);
}

TEST(Refl, QueryTakesTheTypeOfAnotherAccess) { // B-027
    const std::string query = "  %q = call <4 x i32> @dmsh.tex.size(i32 %h, i32 1, i32 0)\n  %w = "
                              "extractelement <4 x i32> %q, i32 0\n"
                              "  call void @dmsh.frag.colour(i32 0, i32 1, i32 %w)\n";
    auto s = shader_from(word("%h", 2, 0x20) + query + sample_2d("%h", 2)); // the sample is three-dimensional
    EXPECT_THAT(after(s, trace_handles), HasSubstr("@dmsh.btex.size(i32 0, i32 0, i32 -1, i32 0, i32 2,"));
    EXPECT_EQ(s.interface.bindings.size(), 1u);

    auto alone = shader_from(word("%h", 2, 0x20) + query + "  ret void");
    after(alone, trace_handles);
    EXPECT_EQ(alone.interface.bindings[0].dim, ImageDim::d2);

    auto fact = shader_from(word("%h", 2, 0x20) + query + "  ret void");
    fact.input.facts.push_back({BindingKind::texture, 0, Numeric::real, ImageDim::cube, true});
    after(fact, trace_handles);
    EXPECT_EQ(fact.interface.bindings[0].dim, ImageDim::cube);
    EXPECT_TRUE(fact.interface.bindings[0].arrayed);
}

TEST(Refl, QueryOfAnImageHandleAsksTheImage) { // B-026
    ImgDesc desc;
    desc.dim = ImageDim::d3;
    auto s =
        shader_from(word("%h", 2, 0x128) +
                    "  %q = call <4 x i32> @dmsh.tex.size(i32 %h, i32 1, i32 0)\n"
                    "  call void @dmsh.img.store(i32 %h, i32 " +
                    std::to_string(desc.pack()) + ", i32 1, i32 2, i32 3, i32 0, <4 x i32> %q)\n  ret void");
    EXPECT_THAT(after(s, trace_handles),
                HasSubstr("@dmsh.bimg.size(i32 0, i32 0, i32 " + std::to_string(2 | 15 << 12)));
    ASSERT_EQ(s.interface.bindings.size(), 1u);
    EXPECT_EQ(s.interface.bindings[0].slot, 1u);
    EXPECT_EQ(s.interface.bindings[0].dim, ImageDim::d3);
}

TEST(Refl, OneBindingPerSlotAndType) {
    auto s = shader_from(word("%h", 2, 0x20) +
                         "  %a = call <4 x float> @dmsh.tex.sample(i32 %h, i32 1, float 0.0, float 0.0, "
                         "float 0.0, i32 0, float 0.0, float 0.0, i32 0)\n"
                         "  %c = call <4 x float> @dmsh.tex.sample(i32 %h, i32 33, float 0.0, float 0.0, "
                         "float 0.0, i32 0, float 0.5, float 0.0, i32 0)\n" +
                         sample_2d("%h"));
    after(s, trace_handles);
    ASSERT_EQ(s.interface.bindings.size(), 2u); // with and without depth compare
    EXPECT_TRUE(s.interface.bindings[1].depth);
}

TEST(Refl, FetchAloneReadsABufferAndFactsDecide) {
    const std::string fetch = "  %f = call <4 x float> @dmsh.tex.fetch(i32 %h, i32 768, i32 7, i32 0, i32 0, "
                              "i32 0, i32 0, i32 0, i32 0)\n  ret void";
    auto s = shader_from(word("%h", 2, 0x20) + fetch);
    after(s, trace_handles);
    EXPECT_EQ(s.interface.bindings[0].dim, ImageDim::buffer);
    auto f = shader_from(word("%h", 2, 0x20) + fetch);
    f.input.facts.push_back({BindingKind::texture, 0, Numeric::uint, ImageDim::d1, false});
    after(f, trace_handles);
    EXPECT_EQ(f.interface.bindings[0].dim, ImageDim::d1);
    EXPECT_EQ(f.interface.bindings[0].numeric, Numeric::uint);
}

} // namespace
} // namespace dmsh
