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
    const bool nvn2 = mine.u32(4) == 0xc9 && control.u32(4) == 0xc9;
    // NVN2's sections do not store their length: containers give more or fewer bytes of what follows (S-019).
    const uint64_t n = nvn2 ? std::min(mine.size(), control.size()) : mine.size();
    if (!equal(s.code.bytes, code) || (!nvn2 && n != control.size()))
        return false;
    // What is no part of the shader: the profile's range, and where an NVN2 pack put the code.
    KeySkip apart[] = {skip_, nvn2 ? KeySkip{0x30, 4} : KeySkip{}};
    if (apart[1].offset < apart[0].offset)
        std::swap(apart[0], apart[1]);
    uint64_t at = 0;
    for (const KeySkip& range : apart) {
        const uint64_t begin = std::min<uint64_t>(range.offset, n);
        if (!range.length)
            continue;
        if (begin > at && !equal(mine.clamp(at, begin - at), control.clamp(at, begin - at)))
            return false;
        at = std::max(at, std::min<uint64_t>(uint64_t{range.offset} + range.length, n));
    }
    return equal(mine.clamp(at, n - at), control.clamp(at, n - at));
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
