// Fills a corpus shader's resources and binds them for the reference and for the translation.
#include "tests/corpus/scene.h"
#include "runtime/abi/driver_segments.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace dmsh::test {
namespace {

constexpr uint32_t kBankBytes = kUniformBufferBytes;
constexpr uint32_t kStorageBytes = 96 * 1024;

// SplitMix64: reproducible everywhere, seeded by text.
class Random {
  public:
    explicit Random(std::string_view seed) {
        for (char c : seed)
            state_ = (state_ ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
    }
    uint32_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return static_cast<uint32_t>((z ^ (z >> 31)) >> 16);
    }
    uint32_t below(uint32_t n) { return next() % n; }
    // A multiple of 2^-12: sums and products of a few stay exact, and no value is a denormal.
    float real(float low, float high) {
        return std::round((low + (high - low) * (static_cast<float>(next() >> 8) / 16777216.0f)) * 4096.0f) /
               4096.0f;
    }

  private:
    uint64_t state_ = 0xcbf29ce484222325ull;
};

uint32_t bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

uint32_t integer(Random& r, const Tuning& t) {
    if (!t.wide_integers)
        return r.below(static_cast<uint32_t>(t.integer_limit));
    switch (r.below(8)) {
    case 0: return r.below(32);
    case 1: return 0u - r.below(32);
    case 2: return 0x80000000u + r.below(3) - 1;
    case 3: return 1u << r.below(32);
    default: return r.next();
    }
}

void fill(std::vector<uint8_t>& bytes, const std::vector<WordKind>& kinds, Random& r, const Tuning& t) {
    double wide = 0;
    uint64_t wide_bits = 0;
    for (size_t i = 0; i < kinds.size(); ++i) {
        uint32_t w = 0;
        switch (kinds[i]) {
        case WordKind::f32: w = bits(r.real(t.low, t.high)); break;
        case WordKind::s32:
        case WordKind::u32: w = integer(r, t); break;
        case WordKind::f16: w = (0x3800 + r.below(0x800)) | (0x3800 + r.below(0x800)) << 16; break;
        case WordKind::u8: w = r.next(); break;
        case WordKind::f64_low:
            wide = r.real(t.low, t.high);
            memcpy(&wide_bits, &wide, 8);
            w = static_cast<uint32_t>(wide_bits);
            break;
        case WordKind::f64_high: w = static_cast<uint32_t>(wide_bits >> 32); break;
        case WordKind::s64_low: w = integer(r, t); break;
        case WordKind::s64_high: w = t.wide_integers ? integer(r, t) : 0; break;
        case WordKind::none: break;
        }
        memcpy(&bytes[i * 4], &w, 4);
    }
}

VkFormat image_format(const std::string& f, Numeric numeric, ImageDim dim) {
    static const std::map<std::string, VkFormat> table = {
        {"rgba8", VK_FORMAT_R8G8B8A8_UNORM},
        {"rgba16f", VK_FORMAT_R16G16B16A16_SFLOAT},
        {"rgba32f", VK_FORMAT_R32G32B32A32_SFLOAT},
        {"r32f", VK_FORMAT_R32_SFLOAT},
        {"r32ui", VK_FORMAT_R32_UINT},
        {"r32i", VK_FORMAT_R32_SINT},
        {"r8ui", VK_FORMAT_R8_UINT},
        {"rg32i", VK_FORMAT_R32G32_SINT},
        {"rgba32ui", VK_FORMAT_R32G32B32A32_UINT},
        {"r11f_g11f_b10f", VK_FORMAT_B10G11R11_UFLOAT_PACK32},
        {"rgb10_a2", VK_FORMAT_A2B10G10R10_UNORM_PACK32},
    };
    if (const auto it = table.find(f); it != table.end())
        return it->second;
    (void)dim;
    return numeric == Numeric::uint   ? VK_FORMAT_R32G32B32A32_UINT
           : numeric == Numeric::sint ? VK_FORMAT_R32G32B32A32_SINT
                                      : VK_FORMAT_R32G32B32A32_SFLOAT;
}

VkImageViewType view_type(const GlslImageType& t) {
    switch (t.dim) {
    case ImageDim::d1: return t.arrayed ? VK_IMAGE_VIEW_TYPE_1D_ARRAY : VK_IMAGE_VIEW_TYPE_1D;
    case ImageDim::d3: return VK_IMAGE_VIEW_TYPE_3D;
    case ImageDim::cube: return t.arrayed ? VK_IMAGE_VIEW_TYPE_CUBE_ARRAY : VK_IMAGE_VIEW_TYPE_CUBE;
    default: return t.arrayed ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
    }
}

// Random texels that are finite numbers in every format.
std::vector<uint8_t> texels(size_t bytes, VkFormat f, Random& r, const Tuning& t) {
    std::vector<uint8_t> out(bytes);
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t w = r.next();
        switch (f) {
        case VK_FORMAT_R32_SFLOAT:
        case VK_FORMAT_R32G32_SFLOAT:
        case VK_FORMAT_R32G32B32A32_SFLOAT: w = bits(r.real(0.0f, 1.0f)); break;
        case VK_FORMAT_D32_SFLOAT: w = bits(r.real(0.0f, 1.0f)); break;
        case VK_FORMAT_R16G16B16A16_SFLOAT:
            w = (0x3400 + r.below(0x800)) | (0x3400 + r.below(0x800)) << 16;
            break;
        case VK_FORMAT_B10G11R11_UFLOAT_PACK32: // exponents 13..15 of 5 bits
            w = (13 + r.below(3)) << 6 | r.below(64) | (13 + r.below(3)) << 17 | r.below(64) << 11 |
                (13 + r.below(3)) << 27 | r.below(32) << 22;
            break;
        case VK_FORMAT_R32_UINT:
        case VK_FORMAT_R32_SINT:
        case VK_FORMAT_R32G32_SINT:
        case VK_FORMAT_R32G32B32A32_UINT:
        case VK_FORMAT_R32G32B32A32_SINT: w = integer(r, t); break;
        default: break;
        }
        memcpy(&out[i], &w, 4);
    }
    return out;
}

SceneImage add_image(Scene& scene, const CorpusShader& shader, const CorpusBinding& b, bool storage,
                     const Tuning& t) {
    const GlslImageType type = parse_image_type(b.type);
    Random r(shader.name + (storage ? ":image:" : ":texture:") + std::to_string(b.slot));
    SceneImage s;
    s.view = view_type(type);
    s.format = storage       ? image_format(b.format, type.numeric, type.dim)
               : type.shadow ? VK_FORMAT_D32_SFLOAT
                             : image_format("", type.numeric, type.dim);
    if (type.dim == ImageDim::buffer) {
        s.is_buffer = true;
        s.index = static_cast<uint32_t>(scene.job.buffers.size());
        scene.job.buffers.push_back({texels(size_t{1024} * texel_bytes(s.format), s.format, r, t)});
        const WordKind kind = type.numeric == Numeric::real ? WordKind::f32 : WordKind::u32;
        scene.kinds.emplace_back(scene.job.buffers.back().bytes.size() / 4, kind);
        return s;
    }
    ImageResource i;
    i.format = s.format;
    i.storage = storage;
    i.type = type.dim == ImageDim::d1   ? VK_IMAGE_TYPE_1D
             : type.dim == ImageDim::d3 ? VK_IMAGE_TYPE_3D
                                        : VK_IMAGE_TYPE_2D;
    i.width = 32;
    i.height = type.dim == ImageDim::d1 ? 1 : type.dim == ImageDim::cube ? 32 : 16;
    i.depth = type.dim == ImageDim::d3 ? 8 : 1;
    i.cube = type.dim == ImageDim::cube;
    i.layers = (i.cube ? 6u : 1u) * (type.arrayed ? (i.cube ? 2u : 4u) : 1u);
    i.samples = type.multisampled ? 4 : 1;
    i.levels = storage || type.multisampled ? 1 : 4;
    i.texels = texels(image_bytes(i), i.format, r, t);
    s.index = static_cast<uint32_t>(scene.job.images.size());
    scene.job.images.push_back(std::move(i));
    SamplerResource sampler;
    const bool integer_texels = type.numeric != Numeric::real;
    sampler.filter = integer_texels ? VK_FILTER_NEAREST : VK_FILTER_LINEAR;
    sampler.mipmap = integer_texels ? VK_SAMPLER_MIPMAP_MODE_NEAREST : VK_SAMPLER_MIPMAP_MODE_LINEAR;
    sampler.compare = type.shadow;
    s.sampler = static_cast<uint32_t>(scene.job.samplers.size());
    scene.job.samplers.push_back(sampler);
    return s;
}

uint32_t add_buffer(Scene& scene, size_t bytes, std::vector<WordKind> kinds, Random r, const Tuning& t) {
    scene.job.buffers.push_back({std::vector<uint8_t>(bytes)});
    fill(scene.job.buffers.back().bytes, kinds, r, t);
    scene.kinds.push_back(std::move(kinds));
    return static_cast<uint32_t>(scene.job.buffers.size() - 1);
}

void put_word(std::vector<uint8_t>& bytes, uint32_t offset, uint32_t value) {
    if (offset != kNone && offset + 4 <= bytes.size())
        memcpy(&bytes[offset], &value, 4);
}

// Identifiers that the handle bank carries: any numbers will do as long as each kind has its own.
constexpr uint32_t kTextureIds = 256, kImageIds = 512, kSeparateIds = 1024, kSamplerIds = 64;

// Where the corpus compiler reads a variable local size; no row of NVN's own tables (README of maxwell-gfx, "assumption").
constexpr uint32_t kLocalSize = 0x20c;

std::vector<uint8_t> driver_bank(const CorpusShader& shader, const Scene& scene) {
    const GuestAbi& abi = guest_abi(GuestAbiId::nvn);
    std::vector<uint8_t> c0(kBankBytes);
    auto entry = [&](const BankTable& table, uint32_t slot, uint32_t kind, size_t size) {
        if (slot >= table.count)
            return;
        const uint32_t at = table.base + table.stride * slot;
        put_word(c0, at, kStorageStride * (slot + 1));
        put_word(c0, at + 4, kind);
        put_word(c0, at + 8, static_cast<uint32_t>(size));
    };
    for (const auto& [slot, buffer] : scene.storages)
        entry(abi.storage[static_cast<unsigned>(shader.stage)], slot, 1,
              scene.job.buffers[buffer].bytes.size());
    if (shader.stage == Stage::compute) {
        // Only those beyond the five bound ones are read from memory; the dispatch size shares the table's
        // first words.
        for (const auto& [slot, buffer] : scene.uniforms)
            if (slot >= 5)
                entry(abi.compute_uniforms, slot, 2, scene.job.buffers[buffer].bytes.size());
        for (uint32_t i = 0; i < 3; ++i) {
            put_word(c0, abi.group_count + 4 * i, scene.job.groups[i]);
            put_word(c0, kLocalSize + 4 * i, scene.local_size[i]);
        }
    }
    put_word(c0, abi.point_size_limit, bits(kLargestPointSize));
    put_word(c0, abi.base_vertex, scene.job.graphics.first_vertex);
    put_word(c0, abi.base_instance, scene.job.graphics.first_instance);
    // The corpus compiler's own table of sample positions: x in bits 12..15, y in 28..31, in sixteenths.
    constexpr uint32_t positions[4][2] = {{6, 2}, {14, 6}, {2, 10}, {10, 14}};
    for (uint32_t i = 0; i < 64; ++i) {
        const auto& p = positions[i & 3];
        put_word(c0, 0x830 + 4 * i, p[0] << 12 | p[1] << 28);
    }
    return c0;
}

std::vector<uint8_t> handle_bank(const Scene& scene) {
    const GuestAbi& abi = guest_abi(GuestAbiId::nvn);
    std::vector<uint8_t> c2(kBankBytes);
    for (const auto& [slot, image] : scene.textures)
        put_word(c2, abi.textures.base + abi.textures.stride * slot,
                 (kTextureIds + slot) | (kSamplerIds + slot) << kHandleSamplerShift);
    for (const auto& [slot, image] : scene.images)
        put_word(c2, abi.images.base + abi.images.stride * slot, kImageIds + slot);
    for (const auto& [slot, image] : scene.separate_textures)
        put_word(c2, abi.separate_textures.base + abi.separate_textures.stride * slot, kSeparateIds + slot);
    for (const auto& [slot, sampler] : scene.separate_samplers)
        put_word(c2, abi.separate_samplers.base + abi.separate_samplers.stride * slot,
                 (kSamplerIds + 128 + slot) << kHandleSamplerShift);
    return c2;
}

} // namespace

std::array<std::vector<uint8_t>, 18> constant_banks(const CorpusShader& shader, const Scene& scene) {
    std::array<std::vector<uint8_t>, 18> banks;
    banks[0] = driver_bank(shader, scene);
    banks[1] = shader.constants;
    banks[2] = handle_bank(scene);
    for (const auto& [slot, buffer] : scene.uniforms)
        if (slot + 3 < banks.size())
            banks[slot + 3] = scene.job.buffers[buffer].bytes;
    return banks;
}

Result<Scene> make_scene(const CorpusShader& shader, const Reflection& reference) {
    Scene scene;
    const Tuning& t = tuning(shader.name);
    for (const auto& b : shader.bindings) {
        const std::string seed = shader.name + ":" + b.kind + ":" + std::to_string(b.slot);
        if (b.kind == "uniform_buffer" || b.kind == "storage_buffer") {
            const bool storage = b.kind == "storage_buffer";
            const Block* block = nullptr;
            for (const auto& candidate : reference.blocks)
                if (candidate.set == b.set && candidate.binding == b.binding)
                    block = &candidate;
            const size_t bytes = storage ? kStorageBytes : kBankBytes;
            const uint32_t index =
                add_buffer(scene, bytes, block ? block->kinds(bytes) : std::vector<WordKind>(bytes / 4),
                           Random(seed), t);
            (storage ? scene.storages : scene.uniforms)[b.slot] = index;
            for (const Poke& p : t.pokes)
                if (p.storage == storage && p.slot == b.slot)
                    for (uint32_t at = p.offset; at + 4 <= bytes; at += p.stride ? p.stride : uint32_t(bytes))
                        put_word(scene.job.buffers[index].bytes, at, p.value);
        } else if (b.kind == "storage_image") {
            scene.images[b.slot] = add_image(scene, shader, b, true, t);
        } else if (b.kind == "separate_texture_sampler_pair") {
            // Each name is a pair; the texture may come back with another sampler. A shadow pair decides the
            // format.
            const bool shadow = parse_image_type(b.type).shadow;
            if (!scene.separate_textures.count(b.slot))
                scene.separate_textures[b.slot] = add_image(scene, shader, b, false, t);
            SamplerResource sampler;
            sampler.compare = shadow;
            scene.separate_samplers[b.sampler_slot] = static_cast<uint32_t>(scene.job.samplers.size());
            scene.job.samplers.push_back(sampler);
        } else {
            scene.textures[b.slot] = add_image(scene, shader, b, false, t);
        }
    }
    if (shader.stage == Stage::compute) {
        scene.local_size = shader.local_size.value_or(kVariableLocalSize);
        const auto& l = scene.local_size;
        const uint32_t threads = l[0] * l[1] * l[2];
        scene.job.groups = t.groups;
        if (!t.groups[0])
            scene.job.groups = l[1] > 1 ? std::array<uint32_t, 3>{2, 2, 1}
                                        : std::array<uint32_t, 3>{std::max(1u, 512 / threads), 1, 1};
    }
    return scene;
}

Job reference_job(const CorpusShader& shader, const Scene& scene) {
    Job job = scene.job;
    for (const auto& b : shader.bindings) {
        Descriptor d{b.set, b.binding, b.array_element};
        auto image = [&](const SceneImage& i, VkDescriptorType type, VkDescriptorType buffer_type) {
            d.type = i.is_buffer ? buffer_type : type;
            d.resource = i.index;
            d.sampler = i.sampler;
            d.view = i.view;
            d.format = i.format;
        };
        if (b.kind == "uniform_buffer") {
            d.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
            d.resource = scene.uniforms.at(b.slot);
        } else if (b.kind == "storage_buffer") {
            d.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
            d.resource = scene.storages.at(b.slot);
        } else if (b.kind == "storage_image") {
            image(scene.images.at(b.slot), VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                  VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER);
        } else if (b.kind == "separate_texture_sampler_pair") {
            image(scene.separate_textures.at(b.slot), VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
                  VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER);
            Descriptor s{b.sampler_set, b.sampler_binding};
            s.type = VK_DESCRIPTOR_TYPE_SAMPLER;
            s.sampler = scene.separate_samplers.at(b.sampler_slot);
            job.descriptors.push_back(s);
        } else {
            image(scene.textures.at(b.slot), VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                  VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER);
        }
        job.descriptors.push_back(d);
    }
    return job;
}

Result<Job> translated_job(const CorpusShader& shader, const Scene& scene, const ShaderInterface& interface) {
    Job job = scene.job;
    const GuestAbi& abi = guest_abi(GuestAbiId::nvn);
    auto bank = [&](std::vector<uint8_t> bytes) {
        bytes.resize(std::max<size_t>(bytes.size(), kBankBytes));
        job.buffers.push_back({std::move(bytes)});
        return static_cast<uint32_t>(job.buffers.size() - 1);
    };
    for (uint32_t index = 0; index < interface.bindings.size(); ++index) {
        const Binding& b = interface.bindings[index];
        for (uint32_t element = 0; element < std::max(b.count, 1u); ++element) {
            Descriptor d{kVulkanSetBindings, static_cast<uint32_t>(shader.stage) * kMaxBindings + index,
                         element};
            uint32_t slot = b.slot + element;
            // A slot that the shader's source does not have is left unbound: only an index past the array's
            // end names it.
            bool bound = true;
            auto image = [&](const std::map<uint32_t, SceneImage>& list, VkDescriptorType type,
                             VkDescriptorType buffer_type) {
                const auto it = list.find(slot);
                d.type = b.dim == ImageDim::buffer ? buffer_type : type;
                if (it == list.end()) {
                    bound = false;
                    return;
                }
                d.type = it->second.is_buffer ? buffer_type : type;
                d.resource = it->second.index;
                d.sampler = it->second.sampler;
                d.view = it->second.view;
                d.format = it->second.format;
            };
            auto buffer = [&](const std::map<uint32_t, uint32_t>& list, uint32_t at, VkDescriptorType type) {
                const auto it = list.find(at);
                bound = it != list.end();
                d.type = type;
                d.resource = bound ? it->second : 0;
            };
            switch (b.kind) {
            case BindingKind::driver:
                d.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
                d.resource = bank(driver_bank(shader, scene));
                break;
            case BindingKind::constants:
                d.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
                d.resource = bank(shader.constants);
                break;
            case BindingKind::handles:
                d.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
                d.resource = bank(handle_bank(scene));
                break;
            case BindingKind::uniform:
                buffer(scene.uniforms, slot, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER);
                if (!bound) { // lanes that are off may still read it on a CPU
                    d.resource = bank({});
                    bound = true;
                }
                break;
            case BindingKind::storage: buffer(scene.storages, slot, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER); break;
            case BindingKind::storage_in_bank: {
                const uint32_t at = b.offset + 16 * element;
                const auto uniform = abi.compute_uniforms.entry(at);
                if (b.bank != abi.driver_bank || shader.stage != Stage::compute || !uniform)
                    return Error{"unexpected buffer at c[" + std::to_string(b.bank) + "][" +
                                 std::to_string(at) + "]"};
                buffer(scene.uniforms, *uniform, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
                break;
            }
            case BindingKind::texture:
                image(scene.textures, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                      VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER);
                break;
            case BindingKind::texture_in_bank: {
                const auto table_slot = abi.textures.entry(b.offset + abi.textures.stride * element);
                if (b.bank != abi.handle_bank || !table_slot)
                    return Error{"unexpected texture at c[" + std::to_string(b.bank) + "][" +
                                 std::to_string(b.offset) + "]"};
                slot = *table_slot;
                image(scene.textures, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                      VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER);
                break;
            }
            case BindingKind::separate_texture:
                image(scene.separate_textures, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
                      VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER);
                break;
            case BindingKind::separate_sampler: {
                const auto it = scene.separate_samplers.find(slot);
                bound = it != scene.separate_samplers.end();
                d.type = VK_DESCRIPTOR_TYPE_SAMPLER;
                d.sampler = bound ? it->second : 0;
                break;
            }
            case BindingKind::image: {
                image(scene.images, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                      VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER);
                static constexpr VkFormat raw[] = {VK_FORMAT_UNDEFINED,   VK_FORMAT_R8_UINT,
                                                   VK_FORMAT_R16_UINT,    VK_FORMAT_R32_UINT,
                                                   VK_FORMAT_R32G32_UINT, VK_FORMAT_R32G32B32A32_UINT};
                if (b.access != ImageAccess::formatted)
                    d.format = raw[static_cast<unsigned>(b.access)];
                break;
            }
            default:
                return Error{"binding kind " + std::string(binding_kind_name(b.kind)) + " is not bound here"};
            }
            d.bound = bound;
            job.descriptors.push_back(d);
        }
    }
    return job;
}

} // namespace dmsh::test
