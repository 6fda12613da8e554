// Draws the reference picture and makes the reference pack.
#include "tests/support/pictures.h"
#include "archivers/pack/library_writer.h"
#include "runtime/abi/program_key.h"
#include "tests/writers/sample.h"
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace dmsh::test {
namespace {

using examples::Scene;
using examples::SceneVertex;

const std::string kShaders = std::string(DMSH_SOURCE_DIR) + "/tests/data/shaders/";

std::vector<char> read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<uint32_t> glsl(const std::string& name, const std::string& stage) {
    const auto text = read(kShaders + name + ".glsl." + stage);
    auto words = compile_glsl(stage, std::string(text.begin(), text.end()));
    return words ? *words : std::vector<uint32_t>();
}

template <class T>
std::vector<uint8_t> bytes_of(const T* data, size_t count) {
    std::vector<uint8_t> b(count * sizeof(T));
    std::memcpy(b.data(), data, b.size());
    return b;
}

ImageResource image(const examples::SceneTexture& t) {
    ImageResource i;
    i.width = i.height = t.size;
    i.levels = static_cast<uint32_t>(t.levels.size());
    for (const auto& level : t.levels)
        i.texels.insert(i.texels.end(), level.begin(), level.end());
    return i;
}

Descriptor sampled(uint32_t binding, uint32_t resource) {
    Descriptor d;
    d.set = 1;
    d.binding = binding;
    d.type = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    d.resource = resource;
    return d;
}

Descriptor buffer(uint32_t set, uint32_t binding, uint32_t resource) {
    Descriptor d;
    d.set = set;
    d.binding = binding;
    d.type = set == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    d.resource = resource;
    return d;
}

ShaderStage stage(VkShaderStageFlagBits bit, const std::vector<uint32_t>& words) {
    ShaderStage s;
    s.stage = bit;
    s.words = words;
    return s;
}

} // namespace

Result<std::vector<uint8_t>> reference_picture(VulkanHarness& harness, const Scene& scene) {
    // The compute pass.
    const auto inflate = glsl("cs_ssbo_vector_widths", "comp");
    Job compute;
    compute.buffers = {{bytes_of(scene.vertices.data(), scene.vertices.size())},
                       {std::vector<uint8_t>(scene.vertices.size() * sizeof(SceneVertex))},
                       {bytes_of(scene.displacements.data(), scene.displacements.size())}};
    compute.descriptors = {buffer(2, 0, 0), buffer(2, 1, 1), buffer(2, 15, 2)};
    compute.stages = {stage(VK_SHADER_STAGE_COMPUTE_BIT, inflate)};
    compute.groups = {static_cast<uint32_t>(scene.vertices.size() / 64), 1, 1};
    auto inflated = harness.run(compute);
    if (!inflated)
        return inflated.error();
    std::vector<SceneVertex> vertices(scene.vertices.size());
    std::memcpy(vertices.data(), inflated->buffers[1].data(), inflated->buffers[1].size());

    const auto graphics = [&](const std::vector<uint32_t>& vertex, const std::vector<uint32_t>& fragment) {
        Job j;
        j.stages = {stage(VK_SHADER_STAGE_VERTEX_BIT, vertex), stage(VK_SHADER_STAGE_FRAGMENT_BIT, fragment)};
        j.images = {image(scene.paint), image(scene.grain)};
        j.samplers = {SamplerResource{}};
        j.graphics.width = scene.width;
        j.graphics.height = scene.height;
        ColourTarget target;
        target.format = VK_FORMAT_R8G8B8A8_UNORM;
        for (int i = 0; i < 4; ++i)
            std::memcpy(&target.clear[i], &scene.clear[i], 4);
        j.graphics.targets = {target};
        return j;
    };

    const auto triangle = glsl("vs_fullscreen_triangle", "vert"), toon = glsl("real_fs_toon_outline", "frag");
    Job backdrop = graphics(triangle, toon);
    backdrop.buffers = {{bytes_of(scene.outline.data(), scene.outline.size())}};
    backdrop.descriptors = {buffer(0, 0, 0), sampled(0, 0), sampled(1, 1), sampled(2, 0)};
    auto picture = harness.run(backdrop);
    if (!picture)
        return picture.error();
    std::vector<uint8_t> out = picture->targets.at(0);
    std::vector<float> nearest(out.size() / 4, 1.0f);

    // Each object by itself with a depth target of its own; the nearest fragment wins, the first of equals.
    std::vector<float> positions, normals, uvs;
    for (const uint16_t i : scene.indices) {
        const SceneVertex& v = vertices[i];
        positions.insert(positions.end(), v.f1, v.f1 + 3);
        normals.insert(normals.end(), v.f0, v.f0 + 3);
        uvs.insert(uvs.end(), v.a, v.a + 2);
    }
    const auto mvp = glsl("vs_mvp_matrices", "vert"), tex = glsl("fs_tex_2d", "frag");
    for (const auto& object : scene.objects) {
        Job j = graphics(mvp, tex);
        auto camera = scene.camera;
        for (int c = 0; c < 4; ++c) // OpenGL's -w..w to Vulkan's 0..w
            camera[16 + c * 4 + 2] = 0.5f * (camera[16 + c * 4 + 2] + camera[16 + c * 4 + 3]);
        j.buffers = {{bytes_of(camera.data(), camera.size())}, {bytes_of(object.data(), object.size())}};
        j.descriptors = {buffer(0, 0, 0), buffer(0, 1, 1), sampled(0, 0), sampled(7, 1)};
        j.graphics.vertices = static_cast<uint32_t>(scene.indices.size());
        j.graphics.attributes = {
            {0, VK_FORMAT_R32G32B32_SFLOAT, bytes_of(positions.data(), positions.size()), false},
            {1, VK_FORMAT_R32G32B32_SFLOAT, bytes_of(normals.data(), normals.size()), false},
            {2, VK_FORMAT_R32G32_SFLOAT, bytes_of(uvs.data(), uvs.size()), false}};
        j.graphics.depth = true;
        j.graphics.depth_compare = VK_COMPARE_OP_LESS;
        auto drawn = harness.run(j);
        if (!drawn)
            return drawn.error();
        std::vector<float> depth(nearest.size());
        if (drawn->depth.size() != depth.size() * 4)
            return Error{"the harness gave no depth"};
        std::memcpy(depth.data(), drawn->depth.data(), drawn->depth.size());
        for (size_t i = 0; i < depth.size(); ++i)
            if (depth[i] < nearest[i]) {
                nearest[i] = depth[i];
                std::memcpy(&out[i * 4], &drawn->targets[0][i * 4], 4);
            }
    }
    return out;
}

Result<std::vector<uint8_t>> reference_pack(const std::vector<std::string>& names) {
    LibraryWriter writer("vulkan", "reference");
    for (const std::string& name : names) {
        const auto raw = read(kShaders + name + ".spv");
        const auto text = read(kShaders + name + ".json");
        if (raw.empty() || text.empty())
            return Error{"no shader " + name};
        std::vector<uint32_t> words(raw.size() / 4);
        std::memcpy(words.data(), raw.data(), words.size() * 4);
        const auto json = nlohmann::json::parse(text.begin(), text.end());
        const auto pair = writers::sample_pair(name);

        ProgramReflection reflection;
        reflection.entry = "main";
        reflection.origin = name;
        ShaderInterface& face = reflection.interface;
        face.stage = pair.stage;
        struct Place {
            uint32_t set, binding;
        };
        std::vector<Place> places;
        for (const auto& b : json.at("bindings")) {
            Binding out;
            out.slot = b.at("slot");
            const std::string kind = b.at("kind");
            if (kind == "uniform_buffer") {
                out.kind = BindingKind::uniform;
            } else if (kind == "storage_buffer") {
                out.kind = BindingKind::storage;
                out.written = b.value("access", "") != "readonly";
            } else if (kind == "combined_texture_sampler") {
                out.kind = BindingKind::texture;
                out.sampled = true;
            } else {
                return Error{name + " binds a " + kind};
            }
            face.bindings.push_back(out);
            places.push_back({b.at("vk_set"), b.at("vk_binding")});
        }
        if (pair.stage == Stage::vertex)
            for (const auto& v : json.at("inputs"))
                face.inputs.push_back({v.at("location").get<uint8_t>(), 15, Numeric::real, 0, false, false});

        // Decorations: collected per variable, then rewritten to set 0, binding stage * 128 + index.
        constexpr uint32_t kOpDecorate = 71, kBinding = 33, kSet = 34;
        std::map<uint32_t, Place> found;
        for (const bool rewrite : {false, true})
            for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
                if ((words[at] >> 16) == 0)
                    return Error{name + ".spv is damaged"};
                if ((words[at] & 0xffff) != kOpDecorate || (words[at] >> 16) != 4)
                    continue;
                const uint32_t id = words[at + 1], what = words[at + 2];
                if (what != kBinding && what != kSet)
                    continue;
                if (!rewrite) {
                    (what == kSet ? found[id].set : found[id].binding) = words[at + 3];
                    continue;
                }
                const Place p = found[id];
                for (uint32_t i = 0; i < places.size(); ++i)
                    if (places[i].set == p.set && places[i].binding == p.binding)
                        words[at + 3] =
                            what == kSet ? 0 : static_cast<uint32_t>(pair.stage) * kMaxBindings + i;
            }
        const uint64_t key = program_key(pair.control, pair.code);
        auto program = encode_program(key, reflection, SliceKind::spirv,
                                      {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4});
        if (!program)
            return program.error();
        writer.add(std::move(*program));
    }
    return writer.finish();
}

Difference compare(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
    Difference d;
    if (a.size() != b.size() || a.empty())
        return d;
    for (size_t i = 0; i < a.size(); i += 4) {
        uint32_t worst = 0;
        for (size_t k = 0; k < 4; ++k)
            worst = std::max<uint32_t>(worst, static_cast<uint32_t>(std::abs(int{a[i + k]} - int{b[i + k]})));
        d.largest = std::max(d.largest, worst);
        d.pixels_over += worst > 1;
    }
    d.share_over = static_cast<double>(d.pixels_over) / (static_cast<double>(a.size()) / 4);
    return d;
}

} // namespace dmsh::test
