// The examples: what the runtime draws from translated shaders equals what plain Vulkan draws from the GLSL
// sources.
#include "runtime/dmrt.h"
#include "runtime/examples/example.h"
#include "runtime/examples/png_file.h"
#include "runtime/replay/vulkan/vulkan_backend.h"
#include "tests/support/pictures.h"
#include "tests/writers/sample.h"
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace dmsh::test {
namespace {

using namespace examples;

// Of a stage by its GLSL name.
uint32_t first_binding(const std::string& stage) {
    return stage == "vert"   ? 0
           : stage == "frag" ? 40
           : stage == "geom" ? 80
           : stage == "tesc" ? 120
           : stage == "tese" ? 160
                             : 200;
}

std::vector<uint32_t> glsl(const std::string& name, std::string& stage) {
    for (const char* s : {"vert", "frag", "geom", "tesc", "tese", "comp"}) {
        std::ifstream in(std::string(DMSH_SOURCE_DIR) + "/tests/data/shaders/" + name + ".glsl." + s,
                         std::ios::binary);
        if (!in)
            continue;
        stage = s;
        std::string text{std::istreambuf_iterator<char>(in), {}};
        // Slots are a stage's own, the sources' binding numbers are not: each stage gets numbers of its own.
        const std::string number = "binding = b", own = "binding = b + " + std::to_string(first_binding(s));
        for (size_t at = 0; (at = text.find(number, at)) != std::string::npos; at += own.size())
            text.replace(at, number.size(), own);
        auto words = compile_glsl(s, text);
        EXPECT_TRUE(words) << words.error().text();
        return words ? *words : std::vector<uint32_t>();
    }
    ADD_FAILURE() << name;
    return {};
}

// Plays an example on the test harness: every draw by itself, the nearest fragment wins.
class Reference {
  public:
    Reference(VulkanHarness& harness, const Example& e) : harness_(harness), e_(e), buffers_(e.buffers) {
        for (const ExampleTexture& t : e.textures)
            images_.push_back(t.texels);
    }

    std::vector<uint8_t> picture() {
        for (const ExampleStep& s : e_.steps) {
            if (s.copy_bytes)
                std::copy_n(buffers_[s.copy_from].begin(), s.copy_bytes, buffers_[s.copy_to].begin());
            else if (!s.compute.empty())
                dispatch(s);
            else
                pass(s);
        }
        return images_[e_.picture];
    }

  private:
    static VkFormat format(NVNformat f) {
        return f == NVN_FORMAT_RGBA16F    ? VK_FORMAT_R16G16B16A16_SFLOAT
               : f == NVN_FORMAT_DEPTH32F ? VK_FORMAT_D32_SFLOAT
                                          : VK_FORMAT_R8G8B8A8_UNORM;
    }
    const std::vector<uint32_t>& words(const std::string& name, std::string& stage) {
        auto& c = compiled_[name];
        if (c.second.empty())
            c.second = glsl(name, c.first);
        stage = c.first;
        return c.second;
    }
    void bind(Job& job, const std::vector<ExampleBinding>& bindings) {
        SamplerResource plain, shadow;
        shadow.compare = true;
        job.samplers = {plain, shadow};
        for (const ExampleBinding& b : bindings) {
            Descriptor d;
            constexpr const char* kNames[] = {"vert", "frag", "geom", "tesc", "tese", "comp"};
            d.binding = b.slot + first_binding(kNames[static_cast<unsigned>(b.stage)]);
            if (b.kind == ExampleBinding::uniform || b.kind == ExampleBinding::storage) {
                d.set = b.kind == ExampleBinding::uniform ? 0 : 2;
                d.type = d.set ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
                d.resource = static_cast<uint32_t>(job.buffers.size());
                job.buffers.push_back({buffers_[b.index]});
            } else {
                const ExampleTexture& t = e_.textures[b.index];
                d.set = 1;
                d.type = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
                d.sampler = b.kind == ExampleBinding::shadow_texture;
                d.resource = static_cast<uint32_t>(job.images.size());
                ImageResource image;
                image.format = format(t.format);
                image.width = t.width;
                image.height = t.height;
                image.texels = images_[b.index];
                job.images.push_back(image);
            }
            job.descriptors.push_back(d);
        }
    }
    void dispatch(const ExampleStep& s) {
        Job job;
        bind(job, s.bindings);
        std::string stage;
        job.stages.push_back({VK_SHADER_STAGE_COMPUTE_BIT, words(s.compute, stage), "main", {}});
        job.groups = s.groups;
        auto out = harness_.run(job);
        ASSERT_TRUE(out) << out.error().text();
        size_t n = 0;
        for (const ExampleBinding& b : s.bindings) {
            if (b.kind == ExampleBinding::storage)
                buffers_[b.index] = out->buffers[n];
            n += b.kind == ExampleBinding::uniform || b.kind == ExampleBinding::storage;
        }
    }
    void pass(const ExampleStep& s) {
        const ExampleTexture& size =
            e_.textures[s.colors.empty() ? static_cast<size_t>(s.depth) : s.colors[0]];
        const size_t pixels = size_t{size.width} * size.height;
        std::vector<float> nearest(pixels, 1.0f);
        bool first = !s.keep;
        for (const ExampleDraw& d : s.draws) {
            Job job;
            bind(job, d.bindings);
            for (const std::string& name : d.shaders) {
                std::string stage;
                const auto& w = words(name, stage);
                const VkShaderStageFlagBits bit = stage == "vert"   ? VK_SHADER_STAGE_VERTEX_BIT
                                                  : stage == "frag" ? VK_SHADER_STAGE_FRAGMENT_BIT
                                                  : stage == "geom" ? VK_SHADER_STAGE_GEOMETRY_BIT
                                                  : stage == "tesc"
                                                      ? VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT
                                                      : VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
                job.stages.push_back({bit, w, "main", {}});
            }
            GraphicsState& g = job.graphics;
            g.width = size.width;
            g.height = size.height;
            g.topology = d.primitive == NVN_DRAW_PRIMITIVE_PATCHES ? VK_PRIMITIVE_TOPOLOGY_PATCH_LIST
                         : d.primitive == NVN_DRAW_PRIMITIVE_TRIANGLE_STRIP
                             ? VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP
                             : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
            if (d.patch)
                g.patch_points = d.patch;
            g.vertices = d.indices.empty() ? d.vertices : static_cast<uint32_t>(d.indices.size());
            g.instances = d.instances;
            g.depth = true;
            g.depth_compare = d.depth_test ? VK_COMPARE_OP_LESS : VK_COMPARE_OP_ALWAYS;
            for (const uint32_t c : s.colors) {
                ColourTarget t;
                t.format = format(e_.textures[c].format);
                for (size_t k = 0; k < 4; ++k)
                    std::memcpy(&t.clear[k], &s.clear[k], 4);
                t.write_mask = 7;
                g.targets.push_back(t);
            }
            for (size_t a = 0; a < d.attributes.size(); ++a) {
                const ExampleAttribute& at = d.attributes[a];
                constexpr VkFormat kFloats[] = {VK_FORMAT_UNDEFINED, VK_FORMAT_R32_SFLOAT,
                                                VK_FORMAT_R32G32_SFLOAT, VK_FORMAT_R32G32B32_SFLOAT,
                                                VK_FORMAT_R32G32B32A32_SFLOAT};
                VertexAttribute v{static_cast<uint32_t>(a), kFloats[at.components], {}, false};
                for (uint32_t i = 0; i < g.vertices; ++i) {
                    const uint32_t vertex = d.indices.empty() ? i : d.indices[i];
                    const auto from = buffers_[at.buffer].begin() + at.offset + size_t{at.stride} * vertex;
                    v.data.insert(v.data.end(), from, from + 4 * at.components);
                }
                g.attributes.push_back(v);
            }
            auto out = harness_.run(job);
            ASSERT_TRUE(out) << out.error().text();
            ASSERT_EQ(out->depth.size(), pixels * 4);
            std::vector<float> depth(pixels);
            std::memcpy(depth.data(), out->depth.data(), pixels * 4);
            for (size_t i = 0; i < pixels; ++i) {
                const bool wins = d.depth_test ? depth[i] < nearest[i] : depth[i] < 1.0f || first;
                if (d.multiply) {
                    uint8_t* target = &images_[s.colors[0]][i * 4];
                    for (size_t k = 0; k < 3; ++k)
                        target[k] =
                            static_cast<uint8_t>((target[k] * out->targets[0][i * 4 + k] + 127) / 255);
                    continue;
                }
                if (!first && !wins)
                    continue;
                nearest[i] = std::min(nearest[i], depth[i]);
                for (size_t t = 0; t < s.colors.size(); ++t) {
                    auto& image = images_[s.colors[t]];
                    const size_t bytes = out->targets[t].size() / pixels;
                    image.resize(pixels * bytes);
                    std::copy_n(&out->targets[t][i * bytes], bytes, &image[i * bytes]);
                }
            }
            first = false;
        }
        if (s.depth >= 0) {
            images_[static_cast<size_t>(s.depth)].resize(pixels * 4);
            std::memcpy(images_[static_cast<size_t>(s.depth)].data(), nearest.data(), pixels * 4);
        }
    }

    VulkanHarness& harness_;
    const Example& e_;
    std::vector<std::vector<uint8_t>> buffers_, images_;
    std::map<std::string, std::pair<std::string, std::vector<uint32_t>>> compiled_;
};

class Examples : public ::testing::TestWithParam<std::string> {};

TEST_P(Examples, DrawWhatTheirSourcesDraw) {
    auto harness = VulkanHarness::create(false);
    if (!harness)
        GTEST_SKIP() << harness.error().text();
    const Example e = make_example(GetParam());
    const auto want = Reference(**harness, e).picture();
    if (HasFatalFailure() || want.empty())
        return;
    const auto pack = translated_pack(e.shaders());
    ASSERT_TRUE(pack) << pack.error().text();
    const std::string path = std::string(DMSH_BINARY_DIR) + "/example." + std::to_string(getpid()) + ".dmlib";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(pack->data()), static_cast<std::streamsize>(pack->size()));
    RuntimeOptions options;
    options.libraries = {path};
    options.validation = true;
    auto runtime = Runtime::create(options);
    std::remove(path.c_str());
    if (!runtime)
        GTEST_SKIP() << runtime.error().text();
    std::map<std::string, GuestShader> shaders;
    for (const std::string& name : e.shaders()) {
        const auto pair = writers::sample_pair(name);
        shaders[name] = {{pair.control.begin(), pair.control.end()}, {pair.code.begin(), pair.code.end()}};
    }
    std::string problem;
    const auto drawn = draw_example(e, shaders, &nvnBootstrapLoader, problem);
    ASSERT_FALSE(drawn.empty()) << problem;
    EXPECT_EQ((*runtime)->interpreter().counts().skipped, 0u);
    EXPECT_EQ(static_cast<replay::VulkanBackendBase&>((*runtime)->backend()).info().validation_errors, 0u);
    const ExampleTexture& t = e.textures[e.picture];
    const Difference d = compare(drawn, want);
    std::printf("%s: largest difference %u/255, %.4f %% of the pixels over 1/255\n", e.name.c_str(),
                d.largest, d.share_over * 100);
    std::map<uint32_t, int> colours;
    for (size_t i = 0; i < want.size(); i += 4) {
        uint32_t c;
        std::memcpy(&c, &want[i], 4);
        ++colours[c];
    }
    EXPECT_GT(colours.size(), 40u) << "the picture is nearly empty";
    // Shaders approximate differently by a unit in the last place: an edge may fall on the other side of a
    // pixel.
    EXPECT_LE(d.share_over, 0.002);
    const auto save = [&](const std::string& path, const std::vector<uint8_t>& pixels) {
        EXPECT_TRUE(write_png(path, pixels, t.width, t.height)) << path;
    };
    save(std::string(DMSH_BINARY_DIR) + "/example_" + e.name + ".png", drawn);
    save(std::string(DMSH_BINARY_DIR) + "/example_" + e.name + "_reference.png", want);
    if (std::getenv("DMSH_UPDATE_DOCS"))
        save(std::string(DMSH_SOURCE_DIR) + "/docs/example_" + e.name + ".png", want);
}

INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(example_names()),
                         [](const auto& info) { return info.param; });

} // namespace
} // namespace dmsh::test
