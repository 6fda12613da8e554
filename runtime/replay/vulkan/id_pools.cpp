// Makes and patches the sets of whole id pools.
#include "runtime/replay/vulkan/id_pools.h"
#include <algorithm>
#include <bit>

namespace dmsh::replay::vulkan {
namespace {

using nvn::Host;
using nvn::IdChanges;

constexpr uint32_t kLeastRoom = 1024; // ids; smaller pools share one shape
constexpr size_t kMostCopies = 16;    // idle ones beyond are given back

// The shape that a texture itself has, for views that no binding describes.
Binding natural_shape(const nvn::BoundTexture& bound) {
    Binding b;
    switch (nvn::resolve_view(bound).target) {
    case NVN_TEXTURE_TARGET_1D: b.dim = ImageDim::d1; break;
    case NVN_TEXTURE_TARGET_1D_ARRAY: b.dim = ImageDim::d1, b.arrayed = true; break;
    case NVN_TEXTURE_TARGET_2D_ARRAY:
    case NVN_TEXTURE_TARGET_2D_MULTISAMPLE_ARRAY: b.dim = ImageDim::d2, b.arrayed = true; break;
    case NVN_TEXTURE_TARGET_3D: b.dim = ImageDim::d3; break;
    case NVN_TEXTURE_TARGET_CUBEMAP: b.dim = ImageDim::cube; break;
    case NVN_TEXTURE_TARGET_CUBEMAP_ARRAY: b.dim = ImageDim::cube, b.arrayed = true; break;
    case NVN_TEXTURE_TARGET_BUFFER: b.dim = ImageDim::buffer; break;
    default: b.dim = ImageDim::d2; break;
    }
    return b;
}

} // namespace

IdPools::~IdPools() {
    for (const Copy& c : copies_)
        vkDestroyDescriptorPool(device_.handle(), c.memory, nullptr);
    for (const PoolShape& s : shapes_)
        vkDestroyDescriptorSetLayout(device_.handle(), s.layout, nullptr);
}

PoolShape IdPools::shape(uint32_t texture_pool) {
    IdChanges size;
    Host::get().texture_changes(texture_pool, size);
    // One slot less than the device takes: the empty one behind them.
    const uint32_t most = device_.can().pool_textures - 1;
    const uint32_t room = std::min(std::bit_ceil(std::max(size.size, kLeastRoom)), most);
    if (size.size > room)
        nvn::report(nvn::Report::unsupported, "ids from %u on of a texture pool of %u: more than this device indexes", room, size.size);
    if (!shapes_.empty() && shapes_.back().textures >= room)
        return shapes_.back();
    PoolShape fresh;
    fresh.textures = room;
    const VkDescriptorSetLayoutBinding bindings[2] = {
        {kVulkanPoolTextures, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, room + 1, VK_SHADER_STAGE_ALL, nullptr},
        {kVulkanPoolSamplers, VK_DESCRIPTOR_TYPE_SAMPLER, kSamplerPoolSize, VK_SHADER_STAGE_ALL, nullptr}};
    const VkDescriptorBindingFlags flags[2] = {VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT};
    VkDescriptorSetLayoutBindingFlagsCreateInfo flagged{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO};
    flagged.bindingCount = 2;
    flagged.pBindingFlags = flags;
    VkDescriptorSetLayoutCreateInfo ci{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, &flagged};
    ci.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT;
    ci.bindingCount = 2;
    ci.pBindings = bindings;
    if (!ok(vkCreateDescriptorSetLayout(device_.handle(), &ci, nullptr, &fresh.layout), "set layout of id pools"))
        return {};
    shapes_.push_back(fresh);
    return fresh;
}

bool IdPools::needs_work(uint32_t texture_pool) {
    const Pool& p = pools_[texture_pool];
    IdChanges c = p.seen;
    return p.batch != textures_.batch() || (Host::get().texture_changes(texture_pool, c) && (c.whole || !c.ids.empty()));
}

void IdPools::prepare(uint32_t texture_pool) {
    Pool& p = pools_[texture_pool];
    if (!Host::get().texture_changes(texture_pool, p.seen)) {
        pools_.erase(texture_pool);
        return;
    }
    const auto take = [&](uint32_t id) {
        if (const auto slot = Host::get().texture(texture_pool, id))
            p.used[id] = slot->bound;
        else
            p.used.erase(id);
    };
    if (p.seen.whole) {
        p.used.clear();
        for (uint32_t id = 0; id < p.seen.size; ++id)
            take(id);
    }
    for (const uint32_t id : p.seen.ids)
        take(id);
    for (const auto& [id, bound] : p.used)
        if (natural_shape(bound).dim != ImageDim::buffer)
            textures_.find(bound.texture);
    p.batch = textures_.batch();
}

VkDescriptorImageInfo IdPools::texture(uint32_t pool, uint32_t id) {
    VkDescriptorImageInfo info{VK_NULL_HANDLE, VK_NULL_HANDLE, VK_IMAGE_LAYOUT_GENERAL};
    const auto slot = Host::get().texture(pool, id);
    if (!slot)
        return info;
    const Binding natural = natural_shape(slot->bound);
    if (natural.dim == ImageDim::buffer) // shaders ask pools for images alone (B-048)
        return info;
    if (Image* image = textures_.find(slot->bound.texture))
        info.imageView = textures_.sampled_view(*image, slot->bound, natural);
    return info;
}

VkDescriptorImageInfo IdPools::sampler(uint32_t pool, uint32_t id) {
    const auto slot = Host::get().sampler(pool, id);
    return {textures_.sampler(slot ? slot->sampler : nvn::SamplerDesc{}), VK_NULL_HANDLE, VK_IMAGE_LAYOUT_UNDEFINED};
}

void IdPools::write(Copy& copy, const IdChanges& textures, const IdChanges& samplers) {
    std::vector<VkDescriptorImageInfo> infos;
    const auto put = [&](uint32_t binding, VkDescriptorType type, uint32_t first) {
        VkWriteDescriptorSet w{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        w.dstSet = copy.set;
        w.dstBinding = binding;
        w.dstArrayElement = first;
        w.descriptorCount = static_cast<uint32_t>(infos.size());
        w.descriptorType = type;
        w.pImageInfo = infos.data();
        vkUpdateDescriptorSets(device_.handle(), 1, &w, 0, nullptr);
        infos.clear();
    };
    constexpr uint32_t kAtOnce = 4096;
    const auto fill = [&](uint32_t binding, VkDescriptorType type, uint32_t count, const IdChanges& changes, auto value) {
        if (changes.whole) {
            for (uint32_t id = 0; id < count; ++id) {
                infos.push_back(value(id));
                if (infos.size() == kAtOnce || id + 1 == count)
                    put(binding, type, id + 1 - static_cast<uint32_t>(infos.size()));
            }
            return;
        }
        for (const uint32_t id : changes.ids)
            if (id < count) {
                infos.push_back(value(id));
                put(binding, type, id);
            }
    };
    fill(kVulkanPoolTextures, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, copy.room + 1, textures, [&](uint32_t id) {
        return id < std::min(textures.size, copy.room) ? texture(copy.texture_pool, id) : texture(0, 0);
    });
    fill(kVulkanPoolSamplers, VK_DESCRIPTOR_TYPE_SAMPLER, kSamplerPoolSize, samplers,
         [&](uint32_t id) { return sampler(copy.sampler_pool, id); });
    copy.images = textures_.forgotten();
}

bool IdPools::make(Copy& copy) {
    copy.room = shapes_.back().textures;
    const VkDescriptorPoolSize sizes[2] = {{VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, copy.room + 1}, {VK_DESCRIPTOR_TYPE_SAMPLER, kSamplerPoolSize}};
    VkDescriptorPoolCreateInfo pci{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pci.flags = VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT;
    pci.maxSets = 1;
    pci.poolSizeCount = 2;
    pci.pPoolSizes = sizes;
    if (!ok(vkCreateDescriptorPool(device_.handle(), &pci, nullptr, &copy.memory), "descriptor pool of id pools"))
        return false;
    VkDescriptorSetAllocateInfo ai{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    ai.descriptorPool = copy.memory;
    ai.descriptorSetCount = 1;
    ai.pSetLayouts = &shapes_.back().layout;
    if (ok(vkAllocateDescriptorSets(device_.handle(), &ai, &copy.set), "descriptor set of id pools"))
        return true;
    vkDestroyDescriptorPool(device_.handle(), copy.memory, nullptr);
    return false;
}

VkDescriptorSet IdPools::set(uint32_t texture_pool, uint32_t sampler_pool) {
    if (shapes_.empty())
        return VK_NULL_HANDLE;
    const uint32_t room = shapes_.back().textures;
    const uint64_t completed = device_.completed();
    // Copies of pools that nobody asks for any more, and of a smaller room.
    for (size_t i = 0; i < copies_.size();) {
        const bool idle = copies_[i].fence <= completed;
        if (idle && (copies_[i].room != room || copies_.size() > kMostCopies)) {
            vkDestroyDescriptorPool(device_.handle(), copies_[i].memory, nullptr);
            copies_.erase(copies_.begin() + static_cast<ptrdiff_t>(i));
        } else {
            ++i;
        }
    }
    const auto changes = [&](const Copy& c, IdChanges& textures, IdChanges& samplers) {
        textures = c.textures;
        samplers = c.samplers;
        // A pool that is gone, or none at all, has no ids: one look at generation 0 empties the copy.
        if (!Host::get().texture_changes(texture_pool, textures))
            textures = {1, 0, c.textures.size != 0 || c.textures.generation == 0, {}};
        if (!Host::get().sampler_changes(sampler_pool, samplers))
            samplers = {1, 0, c.samplers.size != 0 || c.samplers.generation == 0, {}};
        textures.whole |= c.images != textures_.forgotten();
        return textures.whole || samplers.whole || !textures.ids.empty() || !samplers.ids.empty();
    };
    Copy chosen;
    IdChanges textures, samplers;
    bool found = false;
    for (size_t i = copies_.size(); i-- > 0 && !found;) {
        Copy& c = copies_[i];
        if (c.texture_pool != texture_pool || c.sampler_pool != sampler_pool || c.room != room)
            continue;
        const bool stale = changes(c, textures, samplers);
        if (stale && c.fence > completed)
            continue; // the GPU reads it
        chosen = c;
        copies_.erase(copies_.begin() + static_cast<ptrdiff_t>(i));
        found = true;
    }
    if (!found) {
        chosen.texture_pool = texture_pool;
        chosen.sampler_pool = sampler_pool;
        if (!make(chosen))
            return VK_NULL_HANDLE;
        chosen.images = textures_.forgotten();
        changes(chosen, textures, samplers);
    }
    if (textures.whole || samplers.whole || !textures.ids.empty() || !samplers.ids.empty())
        write(chosen, textures, samplers);
    textures.whole = samplers.whole = false;
    textures.ids.clear();
    samplers.ids.clear();
    chosen.textures = textures;
    chosen.samplers = samplers;
    chosen.fence = device_.next_fence();
    copies_.push_back(chosen);
    return chosen.set;
}

} // namespace dmsh::replay::vulkan
