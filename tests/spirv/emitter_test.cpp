// What the emitter declares: interfaces, bindings, decorations, images of every shape, refusals by name.
#include "compiler/emit/msl/msl.h"
#include "tests/spirv/test_ir.h"
#include <gmock/gmock.h>

namespace dmsh::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const ShaderModule& s, const SpirvOptions& options = {}) {
    return disassemble_spirv(emit_valid(s, options));
}

std::string refusal(const ShaderModule& s) {
    auto words = emit_spirv(s);
    return words ? "nothing refused" : words.error().text();
}

Varying input(uint8_t location, uint8_t mask, Numeric numeric = Numeric::real, uint8_t interpolation = 0) {
    Varying v;
    v.location = location;
    v.components = mask;
    v.numeric = numeric;
    v.interpolation = interpolation;
    return v;
}

Binding texture(ImageDim dim, bool arrayed = false, Numeric numeric = Numeric::real) {
    Binding b;
    b.kind = BindingKind::texture;
    b.dim = dim;
    b.arrayed = arrayed;
    b.numeric = numeric;
    b.sampled = true;
    return b;
}

TEST(Emitter, VertexPositionIsInvariantAndStartsAsZeroZeroZeroOne) {
    ShaderModule s = shader_from(Stage::vertex, R"(
%a = call i32 @dmsh.attr.load(i32 128, i32 0)
%b = call i32 @dmsh.attr.load(i32 148, i32 0)
%i = call i32 @dmsh.attr.load(i32 760, i32 0)
%v = call i32 @dmsh.attr.load(i32 764, i32 0)
%s = add i32 %i, %v
call void @dmsh.attr.store(i32 112, i32 %a, i32 0)
call void @dmsh.attr.store(i32 128, i32 %b, i32 0)
call void @dmsh.attr.store(i32 132, i32 %s, i32 0)
call void @dmsh.attr.store(i32 704, i32 %b, i32 0)
call void @dmsh.attr.store(i32 712, i32 %b, i32 0)
call void @dmsh.attr.store(i32 108, i32 %b, i32 0)
call void @dmsh.attr.store(i32 100, i32 %s, i32 0)
ret void)");
    s.interface.inputs = {input(0, 15), input(1, 15, Numeric::uint)};
    const std::string t = text_of(s);
    EXPECT_THAT(t, HasSubstr("Invariant"));
    EXPECT_THAT(t, HasSubstr("BuiltIn BaseInstance"));
    EXPECT_THAT(t, HasSubstr("OpStore %gl_Position"));
    EXPECT_THAT(t, HasSubstr("\"main0\""));
    EXPECT_THAT(t, HasSubstr("%v4uint"));
    EXPECT_THAT(t, HasSubstr("OpCapability ShaderLayer"));
    const std::string two = text_of(s, {.gl_depth = false});
    EXPECT_THAT(two, HasSubstr("\"main0_z\""));
    EXPECT_THAT(two, HasSubstr("OpFunctionCall"));
}

TEST(Emitter, FragmentInputsFollowTheirInterpolation) {
    ShaderModule s = shader_from(Stage::fragment, R"(
%a = call float @dmsh.attr.interp(i32 128, i32 0, i32 0)
%b = call float @dmsh.attr.interp(i32 144, i32 1, i32 0)
%c = call float @dmsh.attr.interp(i32 160, i32 2, i32 65536)
%d = call float @dmsh.attr.interp(i32 176, i32 0, i32 0)
%w = call float @dmsh.attr.interp(i32 124, i32 0, i32 0)
%p = call float @dmsh.attr.interp(i32 736, i32 0, i32 0)
%f = call i32 @dmsh.attr.load(i32 1020, i32 0)
%ab = fadd float %a, %b
%cd = fadd float %c, %d
%wp = fadd float %w, %p
%x = call float @dmsh.ddx(float %ab)
%y = call float @dmsh.ddy(float %cd)
%xi = bitcast float %x to i32
%yi = bitcast float %y to i32
%wi = bitcast float %wp to i32
%k = icmp eq i32 %f, 0
br i1 %k, label %kill, label %go
kill:
call void @dmsh.demote()
br label %go
go:
%h = call i1 @dmsh.helper()
%hz = zext i1 %h to i32
call void @dmsh.frag.colour(i32 0, i32 0, i32 %xi)
call void @dmsh.frag.colour(i32 0, i32 1, i32 %yi)
call void @dmsh.frag.colour(i32 1, i32 0, i32 %hz)
call void @dmsh.frag.depth(float %wp)
call void @dmsh.frag.mask(i32 %wi)
ret void)");
    s.interface.inputs = {input(0, 1, Numeric::real, 2), input(1, 1, Numeric::real, 2),
                          input(2, 1, Numeric::real, 2), input(3, 1, Numeric::real, 1)};
    s.interface.colours = {{0, 3, Numeric::real}, {1, 1, Numeric::uint}};
    s.interface.early_tests = true;
    const std::string t = text_of(s);
    EXPECT_THAT(t, HasSubstr("InterpolateAtCentroid"));
    EXPECT_THAT(t, HasSubstr("InterpolateAtOffset"));
    EXPECT_THAT(t, HasSubstr("Flat"));
    EXPECT_THAT(t, HasSubstr("OpDPdxFine"));
    EXPECT_THAT(t, HasSubstr("OpDemoteToHelperInvocation"));
    EXPECT_THAT(t, HasSubstr("DepthReplacing"));
    EXPECT_THAT(t, Not(HasSubstr("EarlyFragmentTests"))); // L-012: not with a depth write
}

TEST(Emitter, TexturesOfEveryShapeValidate) {
    const struct {
        ImageDim dim;
        bool arrayed, multisampled;
    } shapes[] = {{ImageDim::d1, false, false},  {ImageDim::d1, true, false},
                  {ImageDim::d2, false, false},  {ImageDim::d2, true, false},
                  {ImageDim::d3, false, false},  {ImageDim::cube, false, false},
                  {ImageDim::cube, true, false}, {ImageDim::d2, false, true},
                  {ImageDim::d2, true, true},    {ImageDim::buffer, false, false}};
    for (const auto& shape : shapes)
        for (const Numeric numeric : {Numeric::real, Numeric::sint, Numeric::uint})
            for (const Stage stage : {Stage::fragment, Stage::vertex}) {
                TexDesc d;
                d.dim = shape.dim;
                d.arrayed = shape.arrayed;
                d.multisampled = shape.multisampled;
                const bool sampled = !shape.multisampled && shape.dim != ImageDim::buffer;
                std::string body;
                int n = 0;
                const auto use = [&](const std::string& expression) {
                    const std::string v = "%v" + std::to_string(n++);
                    body += v + " = call <4 x float> " + expression + "\n";
                    body += v + "e = extractelement <4 x float> " + v + ", i32 0\n" + v +
                            "i = bitcast float " + v +
                            "e to i32\ncall void @dmsh.ssbo.store.i32(i32 1, i32 0, i32 " + v + "i)\n";
                };
                const auto desc = [&](TexDesc::Lod lod, bool depth = false, bool offset = false) {
                    TexDesc e = d;
                    e.lod = lod;
                    e.depth = depth;
                    e.offset = offset ? TexDesc::aoffi : TexDesc::no_offset;
                    return "i32 " + std::to_string(e.pack());
                };
                const std::string head = "i32 0, i32 0, i32 0, i32 0, ";
                const std::string coords = ", float 0.5, float 0.25, float 0.75, i32 2, ";
                const bool offset = shape.dim != ImageDim::cube;
                if (sampled) {
                    for (const auto lod : {TexDesc::implicit, TexDesc::bias, TexDesc::level, TexDesc::zero})
                        use("@dmsh.btex.sample(" + head + desc(lod, false, offset) + coords +
                            "float 0.0, float 1.0, i32 " + (offset ? "31" : "0") + ")");
                    if (numeric == Numeric::real && shape.dim != ImageDim::d3)
                        use("@dmsh.btex.sample(" + head + desc(TexDesc::implicit, true) + coords +
                            "float 0.5, float 0.0, i32 0)");
                    use("@dmsh.btex.grad(" + head + desc(TexDesc::implicit) + coords +
                        "float 1.0, float 1.0, float 1.0, float 2.0, float 2.0, float 2.0, i32 0)");
                    if (shape.dim == ImageDim::d2 || shape.dim == ImageDim::cube) {
                        use("@dmsh.btex.gather(" + head + desc(TexDesc::implicit) + coords +
                            "float 0.0, i32 0, i32 0)");
                        if (numeric == Numeric::real)
                            use("@dmsh.btex.gather(" + head + desc(TexDesc::implicit, true) + coords +
                                "float 0.5, i32 0, i32 0)");
                    }
                    if (stage == Stage::fragment)
                        use("@dmsh.btex.lod(" + head + desc(TexDesc::implicit) +
                            ", float 0.5, float 0.5, float 0.5, i32 0)");
                }
                if (shape.dim != ImageDim::cube)
                    use("@dmsh.btex.fetch(i32 0, i32 0, i32 -1, i32 0, " +
                        desc(TexDesc::level, false, sampled) +
                        ", i32 1, i32 2, i32 3, i32 0, i32 0, i32 1, i32 15)");
                body += "%s = call <4 x i32> @dmsh.btex.size(i32 0, i32 0, i32 -1, i32 0, " +
                        desc(TexDesc::level) +
                        ", i32 0)\n%w = extractelement <4 x i32> %s, i32 3\n"
                        "call void @dmsh.ssbo.store.i32(i32 1, i32 0, i32 %w)\n";
                ShaderModule s = shader_from(stage, body + "ret void");
                s.interface.bindings = {texture(shape.dim, shape.arrayed, numeric), storage_binding()};
                s.interface.bindings[0].multisampled = shape.multisampled;
                emit_valid(s);
            }
}

TEST(Emitter, RunTimeIndicesAreNonUniform) {
    ShaderModule s = shader_from(Stage::fragment, R"(
%i = call i32 @dmsh.attr.load(i32 128, i32 0)
%v = call <4 x float> @dmsh.btex.sample(i32 0, i32 %i, i32 0, i32 %i, i32 1, float 0.5, float 0.5, float 0.0, i32 0, float 0.0, float 0.0, i32 0)
%p = call <4 x float> @dmsh.btex.sample(i32 1, i32 %i, i32 2, i32 %i, i32 1, float 0.5, float 0.5, float 0.0, i32 0, float 0.0, float 0.0, i32 0)
%c = call <4 x float> @dmsh.btex.sample(i32 1, i32 %i, i32 2, i32 %i, i32 3, float 0.5, float 0.5, float 0.0, i32 0, float 0.0, float 0.0, i32 0)
%q = fadd <4 x float> %v, %p
%r = fadd <4 x float> %q, %c
%e = extractelement <4 x float> %r, i32 0
%ei = bitcast float %e to i32
call void @dmsh.frag.colour(i32 0, i32 0, i32 %ei)
ret void)");
    s.interface.inputs = {input(0, 1, Numeric::uint, 1)};
    Binding textures, samplers;
    textures.kind = BindingKind::texture_pool;
    samplers.kind = BindingKind::sampler_pool;
    s.interface.bindings = {texture(ImageDim::d2), textures, samplers};
    s.interface.bindings[0].count = 8;
    const std::string t = text_of(s);
    EXPECT_THAT(t, HasSubstr("NonUniform"));
    EXPECT_THAT(t, HasSubstr("RuntimeDescriptorArray"));
    EXPECT_THAT(t, HasSubstr("DescriptorSet 1"));
    EXPECT_THAT(t, HasSubstr("SpecId 1")); // handles past the pool read the empty slot behind it
    EXPECT_THAT(t, HasSubstr("= OpSpecConstant %uint 1048576"));
}

TEST(Emitter, ImagesOfEveryAccessValidate) {
    for (const ImageAccess access : {ImageAccess::formatted, ImageAccess::raw8, ImageAccess::raw16,
                                     ImageAccess::raw32, ImageAccess::raw64, ImageAccess::raw128})
        for (const ImageDim dim : {ImageDim::d1, ImageDim::d2, ImageDim::d3, ImageDim::buffer})
            for (const bool arrayed : {false, true}) {
                if (arrayed && dim != ImageDim::d1 && dim != ImageDim::d2)
                    continue;
                ImgDesc d;
                d.dim = dim;
                d.arrayed = arrayed;
                d.access = access;
                const std::string desc = std::to_string(d.pack());
                std::string body =
                    "%v = call <4 x i32> @dmsh.bimg.load(i32 0, i32 0, i32 " + desc +
                    ", i32 1, i32 2, i32 3, i32 0)\ncall void @dmsh.bimg.store(i32 0, i32 0, i32 " + desc +
                    ", i32 1, i32 2, i32 3, i32 0, <4 x i32> %v)\n"
                    "%z = call <4 x i32> @dmsh.bimg.size(i32 0, i32 0, i32 " +
                    desc + ")\n";
                if (access == ImageAccess::raw32)
                    body += "%a = call i32 @dmsh.bimg.atomic(i32 0, i32 0, i32 " + desc +
                            ", i32 1, i32 2, i32 3, i32 0, i32 12, i32 1065353216, i32 0)\n";
                ShaderModule s = shader_from(Stage::compute, body + "ret void");
                Binding b;
                b.kind = BindingKind::image;
                b.dim = dim;
                b.arrayed = arrayed;
                b.access = access;
                b.written = true;
                s.interface.bindings = {b};
                emit_valid(s);
            }
}

TEST(Emitter, LanesBarriersAndClock) {
    ShaderModule s = shader_from(Stage::compute, R"(
%l = call i32 @dmsh.special(i32 0)
%t = call i32 @dmsh.special(i32 17)
%m = call i32 @dmsh.special(i32 12)
%z = icmp eq i32 %l, 0
%a = call i1 @dmsh.vote.all(i1 %z)
%b = call i1 @dmsh.vote.any(i1 %z)
%c = call i1 @dmsh.vote.eq(i1 %z)
%d = call i32 @dmsh.ballot(i1 %z)
%e = call i32 @dmsh.shfl(i32 3, i32 %d, i32 1, i32 7171)
%f = call i1 @dmsh.shfl.valid(i32 1, i32 1, i32 0)
%g = call i32 @dmsh.clock()
call void @dmsh.barrier()
call void @dmsh.membar(i32 1)
%s = add i32 %e, %g
call void @dmsh.ssbo.store.i32(i32 0, i32 0, i32 %s)
%q = call i64 @dmsh.ssbo.atomic.i64(i32 0, i32 8, i32 0, i64 1, i64 0)
ret void)");
    s.interface.bindings = {storage_binding()};
    const std::string t = text_of(s);
    EXPECT_THAT(t, HasSubstr("Coherent"));
    EXPECT_THAT(t, HasSubstr("Aliased"));
    EXPECT_THAT(t, HasSubstr("OpGroupNonUniformShuffle"));
}

TEST(Emitter, WideSharedAtomicsAliasWords) {
    ShaderModule s = shader_from(Stage::compute, R"(
call void @dmsh.shared.store.i32(i32 8, i32 1)
%q = call i64 @dmsh.shared.atomic.i64(i32 8, i32 0, i64 1, i64 0)
%w = call i32 @dmsh.shared.load.i32(i32 12)
call void @dmsh.ssbo.store.i32(i32 0, i32 0, i32 %w)
ret void)");
    s.interface.bindings = {storage_binding()};
    s.interface.shared_bytes = 64;
    EXPECT_THAT(text_of(s), HasSubstr("WorkgroupMemoryExplicitLayout"));
}

// Fixed-function texture coordinates have locations that a vertex and a fragment shader agree on without
// knowing each other.
// A stage before need not write what the header does not list: such inputs are read word by word, also where code indexes them.
TEST(Emitter, PartlyPresentInputsAreNotReadWhole) {
    const std::string plain = "%a = call float @dmsh.attr.interp(i32 128, i32 0, i32 0)\n";
    const std::string indexed = "%i = call i32 @dmsh.attr.load(i32 144, i32 0)\n%a = call float @dmsh.attr.interp(i32 %i, i32 0, i32 0)\n";
    const std::string end = "%w = bitcast float %a to i32\ncall void @dmsh.frag.colour(i32 0, i32 0, i32 %w)\nret void";
    for (const std::string& read : {plain, indexed}) {
        ShaderModule part = shader_from(Stage::fragment, read + end), whole = shader_from(Stage::fragment, read + end);
        part.interface.inputs = {input(0, 7), input(1, 1, Numeric::uint, 1)};
        whole.interface.inputs = {input(0, 15), input(1, 15, Numeric::uint, 1)};
        EXPECT_THAT(text_of(part), testing::Not(testing::ContainsRegex("OpLoad %v4(float|uint) %[0-9a-z_]+")));
        EXPECT_THAT(text_of(whole), testing::ContainsRegex("OpLoad %v4float"));
    }
}

TEST(Emitter, FixedFunctionAttributesHaveLocations) {
    ShaderModule v =
        shader_from(Stage::vertex, "call void @dmsh.attr.store(i32 784, i32 0, i32 0)\nret void");
    EXPECT_THAT(text_of(v), HasSubstr("Location 23"));
    ShaderModule f =
        shader_from(Stage::fragment, "%a = call float @dmsh.attr.interp(i32 784, i32 0, i32 0)\nret void");
    EXPECT_THAT(text_of(f), HasSubstr("Location 23"));
    ShaderModule both = shader_from(Stage::vertex, R"(
call void @dmsh.attr.store(i32 784, i32 0, i32 0)
call void @dmsh.attr.store(i32 496, i32 0, i32 0)
ret void)");
    EXPECT_THAT(refusal(both), HasSubstr("shares its location"));
}

TEST(Emitter, GeometryAndTessellationValidate) {
    ShaderModule g = shader_from(Stage::geometry, R"(
%a = call i32 @dmsh.attr.load(i32 112, i32 1)
%b = call i32 @dmsh.attr.load(i32 128, i32 2)
call void @dmsh.attr.store(i32 112, i32 %a, i32 0)
call void @dmsh.attr.store(i32 128, i32 %b, i32 0)
call void @dmsh.attr.store(i32 100, i32 %b, i32 0)
call void @dmsh.geom.emit(i32 0)
call void @dmsh.geom.cut(i32 0)
ret void)");
    g.interface.input_primitive = 3; // as resolve_vertices leaves it
    g.interface.max_vertices = 3;
    g.interface.output_topology = 7;
    emit_valid(g);
    ShaderModule c = shader_from(Stage::tess_control, R"(
%i = call i32 @dmsh.special(i32 7)
%a = call i32 @dmsh.attr.load(i32 112, i32 %i)
%b = call i32 @dmsh.attr.load(i32 128, i32 %i)
call void @dmsh.attr.store(i32 112, i32 %a, i32 %i)
call void @dmsh.attr.store(i32 128, i32 %b, i32 %i)
call void @dmsh.barrier()
%o = call i32 @dmsh.attr.load.out(i32 128, i32 0)
call void @dmsh.patch.store(i32 0, i32 %o)
call void @dmsh.patch.store(i32 16, i32 %o)
call void @dmsh.patch.store(i32 96, i32 %o)
ret void)");
    c.interface.invocations = 3;
    emit_valid(c);
    ShaderModule e = shader_from(Stage::tess_evaluation, R"(
%a = call i32 @dmsh.attr.load(i32 112, i32 1)
%u = call i32 @dmsh.attr.load(i32 752, i32 0)
%p = call i32 @dmsh.patch.load(i32 96)
%l = call i32 @dmsh.patch.load(i32 4)
%s = add i32 %u, %p
%s2 = add i32 %s, %l
call void @dmsh.attr.store(i32 112, i32 %a, i32 0)
call void @dmsh.attr.store(i32 128, i32 %s2, i32 0)
ret void)");
    emit_valid(e);
}

TEST(Emitter, RefusesByNameAndPlace) {
    ShaderModule s =
        shader_from(Stage::compute, "%x = call float @dmsh.fadd.rnd(i32 1, float 1.0, float 2.0)\nret void");
    EXPECT_THAT(refusal(s), HasSubstr("dmsh.fadd.rnd is not implemented"));
    ShaderModule r = shader_from(Stage::compute, "%x = call i32 @dmsh.cbuf.load(i32 1, i32 2)\nret void");
    EXPECT_THAT(refusal(r), HasSubstr("dmsh.cbuf.load is not implemented"));
    ShaderModule b = shader_from(Stage::compute, "%x = call i32 @dmsh.ubo.load(i32 9, i32 2)\nret void");
    EXPECT_THAT(refusal(b), HasSubstr("names no binding"));
    ShaderModule a = shader_from(Stage::vertex, "%x = call i32 @dmsh.attr.load(i32 4, i32 0)\nret void");
    EXPECT_THAT(refusal(a), HasSubstr("input attribute 0x4"));
    ShaderModule m = shader_from(Stage::mesh, "ret void");
    EXPECT_THAT(refusal(m), HasSubstr("mesh"));
    const uint32_t junk[] = {1, 2, 3};
    EXPECT_FALSE(validate_spirv(junk));
    EXPECT_THAT(disassemble_spirv(junk), HasSubstr("not SPIR-V"));
}

TEST(Msl, ConvertsAndSurvivesBrokenModules) {
    ShaderModule s = shader_from(Stage::fragment, R"(
%u = call i32 @dmsh.ubo.load(i32 1, i32 16)
%v = call <4 x float> @dmsh.btex.sample(i32 0, i32 0, i32 0, i32 0, i32 1, float 0.5, float 0.5, float 0.0, i32 0, float 0.0, float 0.0, i32 0)
%e = extractelement <4 x float> %v, i32 0
%uf = bitcast i32 %u to float
%m = fmul float %e, %uf
%a = fadd float %m, %e
%ei = bitcast float %a to i32
call void @dmsh.frag.colour(i32 0, i32 0, i32 %ei)
ret void)");
    Binding u;
    u.kind = BindingKind::uniform;
    u.metal_id = 5;
    s.interface.bindings = {texture(ImageDim::d2), u};
    s.interface.bindings[0].metal_id = 1;
    s.interface.bindings[0].metal_sampler_id = 2;
    const auto words = emit_valid(s, {.set = 0, .first_binding = 0, .for_msl = true});
    for (bool ios : {false, true}) {
        auto text = spirv_to_msl(words, s.interface, ios);
        ASSERT_TRUE(bool(text)) << text.error().text();
        EXPECT_THAT(*text, HasSubstr("fragment main0_out main0("));
        EXPECT_THAT(*text, HasSubstr("[[id(5)]]"));
        EXPECT_THAT(*text, HasSubstr("[[id(1)]]"));
        EXPECT_THAT(*text, HasSubstr("[[id(2)]]"));
    }
    std::vector<uint32_t> broken(words.begin(), words.begin() + static_cast<long>(words.size() / 2));
    auto text = spirv_to_msl(broken, s.interface, false);
    ASSERT_FALSE(bool(text));
    EXPECT_THAT(text.error().text(), HasSubstr("MSL: "));
}

} // namespace
} // namespace dmsh::test
