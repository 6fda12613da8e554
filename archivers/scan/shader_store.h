// ShaderStore: the bytes of every distinct shader once, filled by all workers.
#pragma once
#include "archivers/core/blob.h"
#include "runtime/abi/program_key.h"
#include <mutex>
#include <unordered_map>

namespace dmsh {

struct ShaderBytes {
    Blob control, code;
};

// Thread-safe. What is put in stays at its address until the store goes.
class ShaderStore {
  public:
    explicit ShaderStore(KeySkip skip) : skip_(skip) {}

    // The stored shader of this key that is the same by A-111 (code equal, control equal up to its length
    // outside the profile's skip range). Bytes of decoded members are copied so that the members can go.
    const ShaderBytes* put(uint64_t key, const Blob& control, const Blob& code);

    KeySkip skip() const { return skip_; }

  private:
    struct Shard {
        std::mutex mutex;
        std::unordered_multimap<uint64_t, std::unique_ptr<const ShaderBytes>> shaders;
    };
    bool same(const ShaderBytes& s, Bytes control, Bytes code) const;

    KeySkip skip_;
    Shard shards_[64];
};

} // namespace dmsh
