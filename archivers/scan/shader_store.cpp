// Puts copies of shaders together.
#include "archivers/scan/shader_store.h"

namespace dmsh {
namespace {

bool equal(Bytes a, Bytes b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

} // namespace

bool ShaderStore::same(const ShaderBytes& s, Bytes control, Bytes code) const {
    const Bytes mine = s.control.bytes;
    if (!equal(s.code.bytes, code) || mine.size() != control.size())
        return false;
    uint64_t head = std::min<uint64_t>(skip_.length ? skip_.offset : mine.size(), mine.size());
    uint64_t tail = std::min<uint64_t>(uint64_t{skip_.offset} + skip_.length, mine.size());
    if (!skip_.length)
        tail = mine.size();
    // NVN2: where the pack put the code is not part of the shader (S-019).
    if (mine.u32(4) == 0xc9 && skip_.length == 0)
        head = 0x30, tail = 0x34;
    return equal(mine.clamp(0, head), control.clamp(0, head)) && equal(mine.clamp(tail), control.clamp(tail));
}

const ShaderBytes* ShaderStore::put(uint64_t key, const Blob& control, const Blob& code) {
    Shard& shard = shards_[key % 64];
    const std::lock_guard lock(shard.mutex);
    const auto [first, last] = shard.shaders.equal_range(key);
    for (auto it = first; it != last; ++it)
        if (same(*it->second, control.bytes, code.bytes))
            return it->second.get();
    ShaderBytes kept{control, code};
    if (!control.mapped || !code.mapped) {
        NewBlob both(control.size() + code.size());
        std::memcpy(both.data(), control.bytes.data(), control.size());
        std::memcpy(both.data() + control.size(), code.bytes.data(), code.size());
        const uint64_t split = control.size();
        const Blob blob = std::move(both).finish();
        kept = {blob.clamp(0, split), blob.clamp(split)};
    }
    return shard.shaders.emplace(key, std::make_unique<const ShaderBytes>(std::move(kept)))->second.get();
}

} // namespace dmsh
