// Whole texture and sampler pools as descriptor set 1, for handles that shaders find in memory.
#pragma once
#include "runtime/replay/vulkan/textures.h"
#include <deque>
#include <map>

namespace dmsh::replay::vulkan {

// What of it a pipeline is made with. `textures` ids, then one empty slot that stands for all greater ids (the specialization
// constant kPoolTexturesSpecId); 4,096 samplers, which a handle's 12 bits cannot leave.
struct PoolShape {
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    uint32_t textures = 0;
};

// Sets that the GPU may read are never changed: a pool that changed meanwhile gets another copy.
class IdPools {
  public:
    IdPools(Device& device, Textures& textures) : device_(device), textures_(textures) {}
    ~IdPools();

    // The shape that has room for this texture pool (and for all before it). Null layout: no memory.
    PoolShape shape(uint32_t texture_pool);
    // True if `prepare` has to record transfers.
    bool needs_work(uint32_t texture_pool);
    // Makes and fills the images of every id. Not inside a pass.
    void prepare(uint32_t texture_pool);
    // The pools' set, up to date, for the current batch. VK_NULL_HANDLE: no memory.
    VkDescriptorSet set(uint32_t texture_pool, uint32_t sampler_pool);

  private:
    struct Pool { // what a texture pool's ids hold
        nvn::IdChanges seen;
        std::map<uint32_t, nvn::BoundTexture> used;
        uint64_t batch = 0; // of the last preparation
    };
    struct Copy {
        uint32_t texture_pool = 0, sampler_pool = 0, room = 0;
        nvn::IdChanges textures, samplers;
        VkDescriptorPool memory = VK_NULL_HANDLE;
        VkDescriptorSet set = VK_NULL_HANDLE;
        uint64_t images = 0; // Textures::forgotten() when it was written
        uint64_t fence = 0;  // of the last batch that uses it
    };
    bool make(Copy& copy);
    void write(Copy& copy, const nvn::IdChanges& textures, const nvn::IdChanges& samplers);
    VkDescriptorImageInfo texture(uint32_t pool, uint32_t id);
    VkDescriptorImageInfo sampler(uint32_t pool, uint32_t id);

    Device& device_;
    Textures& textures_;
    std::vector<PoolShape> shapes_; // by room; the last is in use
    std::unordered_map<uint32_t, Pool> pools_;
    std::deque<Copy> copies_; // the last used last
};

} // namespace dmsh::replay::vulkan
