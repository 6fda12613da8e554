// Implements copies of pool tables and the exchange of them in bound descriptor sets.
#include "runtime/replay/vulkan/raw_memory.h"
#include <algorithm>
#include <cstring>

namespace dmsh::replay::vulkan {

RawMemory::~RawMemory() {
    for (Copy& c : copies_) {
        device_.destroy(c.table);
        device_.destroy(c.log);
    }
}

RawMemory::Copy* RawMemory::copy(const std::shared_ptr<const PoolTable>& table) {
    for (Copy& c : copies_)
        if (c.of->id == table->id)
            return &c;
    Copy fresh;
    fresh.of = table;
    if (!device_.make_buffer(table->bytes.size(), fresh.table))
        return nullptr;
    if (!device_.make_buffer(table->log_bytes(), fresh.log)) {
        device_.destroy(fresh.table);
        return nullptr;
    }
    std::memcpy(fresh.table.map, table->bytes.data(), table->bytes.size());
    std::memset(fresh.log.map, 0, table->log_bytes());
    return &copies_.emplace_back(std::move(fresh));
}

bool RawMemory::bind(const Resource& r, VkDescriptorSet set, uint32_t binding, VkDescriptorBufferInfo& out) {
    Copy* c = copy(*r.pools);
    if (!c)
        return false;
    const bool log = r.kind == ResourceKind::pool_write_log;
    out = {log ? c->log.buffer : c->table.buffer, 0, VK_WHOLE_SIZE};
    const auto same = [&](const Word& w) { return w.set == set && w.stage == r.stage; };
    auto word = std::find_if(words_.begin() + static_cast<ptrdiff_t>(noted_), words_.end(), same);
    if (word == words_.end()) {
        words_.push_back({set, r.stage, kNone, kNone, *r.pools});
        word = words_.end() - 1;
    }
    (log ? word->log : word->table) = binding;
    return true;
}

void RawMemory::note(PoolTables& tables) {
    for (; noted_ < words_.size(); ++noted_)
        tables.note(noted_, std::move(words_[noted_].named));
}

void RawMemory::point(const Word& word, const Copy& copy) {
    const VkDescriptorBufferInfo buffers[2] = {{copy.table.buffer, 0, VK_WHOLE_SIZE}, {copy.log.buffer, 0, VK_WHOLE_SIZE}};
    VkWriteDescriptorSet writes[2];
    uint32_t count = 0;
    for (unsigned k = 0; k < 2; ++k) {
        const uint32_t binding = k ? word.log : word.table;
        if (binding == kNone)
            continue;
        writes[count] = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        writes[count].dstSet = word.set;
        writes[count].dstBinding = binding;
        writes[count].descriptorCount = 1;
        writes[count].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[count++].pBufferInfo = &buffers[k];
    }
    vkUpdateDescriptorSets(device_.handle(), count, writes, 0, nullptr);
}

void RawMemory::commit(Backend& backend, uint64_t fence) {
    if (words_.empty())
        return;
    backend.pool_tables().commit(backend, [&](uint64_t word, const std::shared_ptr<const PoolTable>& table) {
        if (const Copy* c = copy(table))
            point(words_[static_cast<size_t>(word)], *c);
    });
    words_.clear();
    noted_ = 0;
    // Every word names the newest table now; what ran before may read older ones still.
    const uint64_t completed = device_.completed();
    uint64_t newest = 0;
    for (const Copy& c : copies_)
        newest = std::max(newest, c.of->id);
    std::erase_if(copies_, [&](Copy& c) {
        if (c.of->id == newest) {
            c.fence = fence;
            return false;
        }
        if (c.fence > completed)
            return false;
        device_.destroy(c.table);
        device_.destroy(c.log);
        return true;
    });
}

void RawMemory::written(const std::function<void(const nvn::PoolInfo&)>& each) {
    for (Copy& c : copies_) {
        c.of->written(reinterpret_cast<const uint32_t*>(c.log.map), each);
        std::memset(c.log.map, 0, c.of->log_bytes());
    }
}

} // namespace dmsh::replay::vulkan
