// ShaderStore: the bytes of every distinct shader once, filled by all workers.
#pragma once
#include "archivers/core/blob.h"
#include "runtime/abi/program_key.h"
#include <bitset>
#include <deque>
#include <mutex>
#include <vector>

namespace dmsh {

struct ShaderBytes {
    Blob control, code; // without bytes if the store keeps none
    uint64_t control_bytes = 0, code_bytes = 0;
    uint64_t key = 0;
    uint64_t digest = 0; // of what two shaders of one key must have in common
    std::bitset<256> inputs; // attributes that a pixel shader without fixed partners reads, from its SPH
};

// Memory that lies in a file which nobody else sees: what was written goes back to the system when memory is
// short, and comes back when it is read. Where there is no room for such a file it is plain memory.
class SpillFile {
  public:
    // Room for `bytes` bytes, alive as long as the answer's owner.
    std::pair<uint8_t*, std::shared_ptr<const void>> room(uint64_t bytes);

  private:
    std::mutex mutex_;
    std::shared_ptr<uint8_t> segment_;
    uint64_t used_ = 0;
    uint64_t plain_ = 0; // bytes given before there was a file
};

// Thread-safe. What is put in stays at its address until the store goes.
class ShaderStore {
  public:
    // `keep`: the bytes will be wanted; otherwise lengths and digests are all that is kept.
    explicit ShaderStore(KeySkip skip, bool keep = true) : skip_(skip), keep_(keep) {}

    // The stored shader of this key that is the same by A-111 (code equal, control equal up to its length
    // outside the profile's skip range). Bytes of decoded members are copied so that the members can go.
    // `inputs`: of a shader that wants a cover.
    const ShaderBytes* put(const Blob& control, const Blob& code, const std::bitset<256>& inputs = {});

    KeySkip skip() const { return skip_; }

  private:
    // Open addressing: entries are placed from their key on, none ever goes.
    struct Shard {
        std::mutex mutex;
        std::deque<ShaderBytes> shaders;
        std::vector<const ShaderBytes*> table; // a power of two, at most half full

        template <class Same>
        const ShaderBytes* find(uint64_t key, Same same) const;
        const ShaderBytes* add(ShaderBytes&& s);

      private:
        void place(const ShaderBytes* s);
    };

    bool same(const ShaderBytes& known, const ShaderBytes& other) const;

    KeySkip skip_;
    bool keep_;
    SpillFile spill_;
    Shard shards_[64];
};

} // namespace dmsh
