// The picture: what the runtime draws equals what plain Vulkan draws from the GLSL sources.
#include "runtime/dmrt.h"
#include "runtime/replay/vulkan/vulkan_backend.h"
#include "tests/support/pictures.h"
#include "tests/writers/sample.h"
#include <fstream>
#include <gtest/gtest.h>

namespace dmsh::test {
namespace {

std::map<std::string, examples::GuestShader> guest_shaders() {
    std::map<std::string, examples::GuestShader> shaders;
    for (const std::string& name : examples::scene_shaders()) {
        const auto pair = writers::sample_pair(name);
        shaders[name] = {{pair.control.begin(), pair.control.end()}, {pair.code.begin(), pair.code.end()}};
    }
    return shaders;
}

// Draws with a pack's bytes; empty if the machine has no device (then the test is skipped).
std::vector<uint8_t> draw_with(const std::vector<uint8_t>& pack, bool import_memory,
                               replay::VulkanInfo& info) {
    const std::string path = std::string(DMSH_BINARY_DIR) + "/picture_test.dmlib";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(pack.data()), static_cast<std::streamsize>(pack.size()));
    RuntimeOptions options;
    options.libraries = {path};
    options.validation = true;
    options.import_memory = import_memory;
    auto runtime = Runtime::create(options);
    if (!runtime) {
        std::printf("no picture: %s\n", runtime.error().text().c_str());
        return {};
    }
    std::string problem;
    auto pixels = examples::draw_scene(examples::make_scene(), guest_shaders(), &nvnBootstrapLoader, problem);
    EXPECT_FALSE(pixels.empty()) << problem;
    EXPECT_EQ((*runtime)->interpreter().counts().draws, 3u);
    EXPECT_EQ((*runtime)->interpreter().counts().dispatches, 1u);
    EXPECT_EQ((*runtime)->interpreter().counts().skipped, 0u);
    info = static_cast<replay::VulkanBackendBase&>((*runtime)->backend()).info();
    return pixels;
}

const std::vector<uint8_t>* reference() {
    static const std::vector<uint8_t> pixels = [] {
        auto harness = VulkanHarness::create(false);
        if (!harness) {
            std::printf("no reference: %s\n", harness.error().text().c_str());
            return std::vector<uint8_t>();
        }
        auto r = reference_picture(**harness, examples::make_scene());
        EXPECT_TRUE(r) << r.error().text();
        return r ? *r : std::vector<uint8_t>();
    }();
    return pixels.empty() ? nullptr : &pixels;
}

void expect_equal(const std::vector<uint8_t>& drawn) {
    const Difference d = compare(drawn, *reference());
    std::printf("largest difference %u/255, %.4f %% of the pixels over 1/255\n", d.largest,
                d.share_over * 100);
    EXPECT_LE(d.share_over, 0.001);
    if (d.share_over > 0.001) {
        for (const auto& [name, pixels] : {std::pair{"drawn", &drawn}, {"reference", reference()}}) {
            std::ofstream f(std::string(DMSH_BINARY_DIR) + "/picture_" + name + ".ppm", std::ios::binary);
            const examples::Scene scene;
            f << "P6 " << scene.width << " " << scene.height << " 255\n";
            for (size_t i = 0; i < pixels->size(); i += 4)
                f.write(reinterpret_cast<const char*>(pixels->data() + i), 3);
        }
    }
}

TEST(Picture, SceneIsNotEmpty) {
    if (!reference())
        GTEST_SKIP() << "no Vulkan device";
    std::map<uint32_t, int> colors;
    for (size_t i = 0; i < reference()->size(); i += 4) {
        uint32_t c;
        std::memcpy(&c, reference()->data() + i, 4);
        ++colors[c];
    }
    EXPECT_GT(colors.size(), 500u);
}

TEST(Picture, RuntimeDrawsReferenceShadersInPlace) {
    if (!reference())
        GTEST_SKIP() << "no Vulkan device";
    const auto pack = reference_pack(examples::scene_shaders());
    ASSERT_TRUE(pack) << pack.error().text();
    replay::VulkanInfo info;
    const auto pixels = draw_with(*pack, true, info);
    if (pixels.empty())
        GTEST_SKIP() << "no Vulkan device";
    std::printf("%s, guest memory %s, %llu pipelines\n", info.device.c_str(),
                info.imports_memory ? "in place" : "copied", static_cast<unsigned long long>(info.pipelines));
    expect_equal(pixels);
}

TEST(Picture, RuntimeDrawsReferenceShadersFromCopies) {
    if (!reference())
        GTEST_SKIP() << "no Vulkan device";
    const auto pack = reference_pack(examples::scene_shaders());
    ASSERT_TRUE(pack);
    replay::VulkanInfo info;
    const auto pixels = draw_with(*pack, false, info);
    if (pixels.empty())
        GTEST_SKIP() << "no Vulkan device";
    EXPECT_FALSE(info.imports_memory);
    expect_equal(pixels);
}

// The whole road: machine code, our compiler, a pack, the runtime; against the GLSL sources.
TEST(Picture, RuntimeDrawsTranslatedShaders) {
    if (!reference())
        GTEST_SKIP() << "no Vulkan device";
    const auto pack = translated_pack(examples::scene_shaders());
    ASSERT_TRUE(pack) << pack.error().text();
    replay::VulkanInfo info;
    const auto pixels = draw_with(*pack, true, info);
    if (pixels.empty())
        GTEST_SKIP() << "no Vulkan device";
    EXPECT_EQ(info.validation_errors, 0u);
    expect_equal(pixels);
}

} // namespace
} // namespace dmsh::test
