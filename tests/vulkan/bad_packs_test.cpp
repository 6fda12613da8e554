// Packs whose reflection and SPIR-V disagree: refused by name before a driver sees them.
#include "tests/vulkan/machine.h"

namespace dmsh::test {
namespace {

const char* const kSampled = R"(
layout(local_size_x = 1) in;
layout(binding = B(0)) uniform sampler2D t[2];
layout(binding = B(1)) buffer Out { vec4 color; };
void main() { color = textureLod(t[1], vec2(0.5), 0.0); })";

Binding with(BindingKind kind, uint32_t count = 1, ImageDim dim = ImageDim::d2) {
    Binding b = bind(kind);
    b.count = count;
    b.dim = dim;
    return b;
}

// The one line that names the fault.
void expect_refused(std::vector<Binding> bindings, const std::string& fault, const char* text = kSampled) {
    Machine m({{{Stage::compute, text, std::move(bindings)}}});
    NEED(m);
    const NVNbufferAddress out = m.put(std::vector<uint32_t>(4, 7));
    nvnCommandBufferBindProgram(m.cmd(), m.program(0), NVN_SHADER_STAGE_COMPUTE_BIT);
    nvnCommandBufferBindStorageBuffer(m.cmd(), NVN_SHADER_STAGE_COMPUTE, 0, out, 16);
    nvnCommandBufferDispatchCompute(m.cmd(), 1, 1, 1);
    nvnCommandBufferDispatchCompute(m.cmd(), 1, 1, 1);
    m.run();
    EXPECT_TRUE(m.said(fault)) << fault;
    EXPECT_EQ(m.at<uint32_t>(out), 7u); // nothing ran
}

TEST(BadPacks, ResourcesThatTheReflectionLacks) {
    expect_refused({with(BindingKind::texture, 2)}, "set 0 binding 641 is not in the reflection");
    expect_refused({}, "is not in the reflection");
}

TEST(BadPacks, ResourcesOfAnotherKind) {
    expect_refused({with(BindingKind::uniform), with(BindingKind::storage)},
                   "set 0 binding 640 is another kind of resource than the reflection's uniform");
    expect_refused({with(BindingKind::image, 2), with(BindingKind::storage)}, "than the reflection's image");
    expect_refused({with(BindingKind::texture, 2, ImageDim::buffer), with(BindingKind::storage)}, "than the reflection's texture");
    expect_refused({with(BindingKind::texture_pool), with(BindingKind::storage)}, "than the reflection's texture_pool");
    expect_refused({with(BindingKind::texture, 2), with(BindingKind::constants)}, "than the reflection's constants");
}

TEST(BadPacks, ArraysOfOtherLengths) {
    expect_refused({with(BindingKind::texture), with(BindingKind::storage)}, "set 0 binding 640 has more elements than the reflection");
    expect_refused({with(BindingKind::texture, 0xffff), with(BindingKind::storage)}, "cannot be filled");
}

TEST(BadPacks, PoolsThatAreNone) {
    const char* const text = R"(
layout(local_size_x = 1) in;
layout(set = 1, binding = 0) uniform texture2D t;
layout(set = 1, binding = 1) uniform sampler s;
layout(binding = B(2)) buffer Out { vec4 color; };
void main() { color = textureLod(sampler2D(t, s), vec2(0.5), 0.0); })";
    expect_refused({with(BindingKind::uniform), with(BindingKind::uniform), with(BindingKind::storage)}, "is no pool of the reflection", text);
    expect_refused({with(BindingKind::texture_pool), with(BindingKind::sampler_pool), with(BindingKind::storage)},
                   "must be an array without an end", text);
}

} // namespace
} // namespace dmsh::test
