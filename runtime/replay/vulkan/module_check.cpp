// Reads the declarations of a SPIR-V module and compares them with the reflection.
#include "runtime/replay/vulkan/module_check.h"
#include "runtime/replay/vulkan/pipelines.h"
#include <cstring>
#include <unordered_map>

namespace dmsh::replay::vulkan {
namespace {

// SPIR-V 1.5, "Binary form".
constexpr uint32_t kMagic = 0x07230203, kMostIds = 1u << 22;
constexpr uint32_t kOpEntryPoint = 15, kOpTypeImage = 25, kOpTypeSampler = 26, kOpTypeSampledImage = 27, kOpTypeArray = 28,
                   kOpTypeRuntimeArray = 29, kOpTypePointer = 32, kOpConstant = 43, kOpVariable = 59, kOpDecorate = 71;
constexpr uint32_t kBinding = 33, kDescriptorSet = 34;
constexpr uint32_t kUniformConstant = 0, kUniform = 2, kStorageBuffer = 12;
constexpr uint32_t kDimBuffer = 5;

uint32_t execution_model(Stage stage) {
    switch (stage) {
    case Stage::vertex: return 0;
    case Stage::tess_control: return 1;
    case Stage::tess_evaluation: return 2;
    case Stage::geometry: return 3;
    case Stage::fragment: return 4;
    case Stage::task: return 5364;
    case Stage::mesh: return 5365;
    default: return 5;
    }
}

struct Declared {
    uint32_t set = ~0u, binding = ~0u;
};
struct Instruction {
    uint32_t op = 0, at = 0, length = 0;
};

class Checker {
  public:
    Checker(std::span<const uint32_t> words, const ShaderInterface& face, std::string_view entry)
        : words_(words), face_(face), entry_(entry) {}

    std::string run() {
        if (words_.size() < 5 || words_[0] != kMagic || words_[3] > kMostIds)
            return "it is no SPIR-V";
        bool found = false;
        for (uint32_t at = 5; at < words_.size();) {
            const Instruction i{words_[at] & 0xffff, at, words_[at] >> 16};
            if (i.length == 0 || i.length > words_.size() - at)
                return "an instruction leaves the module at word " + std::to_string(at);
            at += i.length;
            if (i.op == kOpEntryPoint && i.length >= 4 && word(i, 1) == execution_model(face_.stage))
                found |= name(i) == entry_;
            else if (i.op == kOpDecorate && i.length >= 4 && word(i, 2) == kBinding)
                declared_[word(i, 1)].binding = word(i, 3);
            else if (i.op == kOpDecorate && i.length >= 4 && word(i, 2) == kDescriptorSet)
                declared_[word(i, 1)].set = word(i, 3);
            else if (i.op == kOpVariable && i.length >= 4)
                variables_.push_back(i);
            else if ((i.op >= kOpTypeImage && i.op <= kOpTypePointer) && i.length >= 2)
                types_[word(i, 1)] = i;
            else if (i.op == kOpConstant && i.length >= 4)
                constants_[word(i, 2)] = word(i, 3);
        }
        if (!found)
            return "it has no entry point " + std::string(entry_);
        for (const Instruction& v : variables_) {
            const uint32_t storage = word(v, 3);
            if (storage == kUniform || storage == kStorageBuffer || storage == kUniformConstant)
                if (std::string fault = resource(v, storage); !fault.empty())
                    return fault;
        }
        return "";
    }

  private:
    uint32_t word(const Instruction& i, uint32_t k) const { return words_[i.at + k]; }
    std::string name(const Instruction& i) const {
        const char* text = reinterpret_cast<const char*>(words_.data() + i.at + 3);
        return {text, strnlen(text, (i.length - 3) * size_t{4})};
    }
    const Instruction* type(uint32_t id, uint32_t op, uint32_t length) const {
        const auto it = types_.find(id);
        return it != types_.end() && it->second.op == op && it->second.length >= length ? &it->second : nullptr;
    }

    std::string resource(const Instruction& v, uint32_t storage) const {
        const auto d = declared_.find(word(v, 2));
        const Instruction* pointer = type(word(v, 1), kOpTypePointer, 4);
        if (d == declared_.end() || !pointer)
            return "a resource is bound nowhere";
        const auto [set, binding] = d->second;
        const std::string place = "set " + std::to_string(set) + " binding " + std::to_string(binding);
        uint32_t element = word(*pointer, 3);
        uint64_t count = 1;
        bool endless = false;
        if (const Instruction* array = type(element, kOpTypeArray, 4)) {
            const auto n = constants_.find(word(*array, 3));
            count = n == constants_.end() ? ~0u : n->second;
            element = word(*array, 2);
        } else if (const Instruction* run = type(element, kOpTypeRuntimeArray, 3)) {
            endless = true;
            element = word(*run, 2);
        }
        const VkDescriptorType kind = kind_of(storage, element);
        if (set == kVulkanSetPools) {
            for (const Binding& b : face_.bindings)
                if ((b.kind == BindingKind::texture_pool && binding == kVulkanPoolTextures && kind == VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE) ||
                    (b.kind == BindingKind::sampler_pool && binding == kVulkanPoolSamplers && kind == VK_DESCRIPTOR_TYPE_SAMPLER))
                    return endless ? "" : place + " is a pool and must be an array without an end";
            return place + " is no pool of the reflection";
        }
        const uint32_t first = vulkan_binding(face_.stage, 0);
        if (set != kVulkanSetBindings || binding < first || binding - first >= face_.bindings.size())
            return place + " is not in the reflection";
        const Binding& b = face_.bindings[binding - first];
        if (b.kind == BindingKind::texture_pool || b.kind == BindingKind::sampler_pool || descriptor_type(b) != kind)
            return place + " is another kind of resource than the reflection's " + std::string(binding_kind_name(b.kind));
        if (endless || count > b.count)
            return place + " has more elements than the reflection";
        return "";
    }

    VkDescriptorType kind_of(uint32_t storage, uint32_t element) const {
        if (storage == kUniform)
            return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        if (storage == kStorageBuffer)
            return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        if (type(element, kOpTypeSampler, 2))
            return VK_DESCRIPTOR_TYPE_SAMPLER;
        if (type(element, kOpTypeSampledImage, 3))
            return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
        const Instruction* image = type(element, kOpTypeImage, 9);
        if (!image)
            return VK_DESCRIPTOR_TYPE_MAX_ENUM;
        const bool buffer = word(*image, 3) == kDimBuffer, stored = word(*image, 7) == 2;
        return buffer ? (stored ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER)
                      : (stored ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE : VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE);
    }

    std::span<const uint32_t> words_;
    const ShaderInterface& face_;
    std::string_view entry_;
    std::unordered_map<uint32_t, Declared> declared_;
    std::unordered_map<uint32_t, Instruction> types_;
    std::unordered_map<uint32_t, uint32_t> constants_;
    std::vector<Instruction> variables_;
};

} // namespace

std::string module_fault(std::span<const uint32_t> words, const ShaderInterface& face, std::string_view entry) {
    return Checker(words, face, entry).run();
}

} // namespace dmsh::replay::vulkan
