// Puts copies of shaders together.
#include "archivers/scan/shader_store.h"
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dmsh {
namespace {

constexpr uint64_t kPlain = 16ull << 20; // so much is kept in memory before there is a file
constexpr uint64_t kSegment = 32ull << 20;

// The key covers the code and the head of the control section; this covers the whole control section, outside
// of what is no part of the shader. Shaders of one key that differ here are different.
uint64_t digest_of(Bytes control, Bytes code, KeySkip skip) {
    // NVN2's sections do not store their length: containers give more or fewer bytes of what follows, and what is
    // known of them is in the key (S-019).
    if (control.u32(4) == 0xc9)
        return code.size();
    const uint64_t begin = skip.offset, end = begin + skip.length;
    const Bytes head = control.clamp(0, begin == end ? control.size() : begin), tail = control.clamp(end);
    uint64_t h = XXH3_64bits_withSeed(head.data(), head.size(), code.size() + control.size());
    if (begin != end)
        h = XXH3_64bits_withSeed(tail.data(), tail.size(), h);
    return h;
}

} // namespace

std::pair<uint8_t*, std::shared_ptr<const void>> SpillFile::room(uint64_t bytes) {
    const uint64_t size = (bytes + 15) / 16 * 16;
    std::unique_lock lock(mutex_);
    if (plain_ < kPlain) {
        plain_ += size;
    } else if (size <= kSegment) {
        if (!segment_ || used_ + size > kSegment) {
            // What is in it stays in the system's cache of the file, others may still be writing to it.
            if (segment_)
                madvise(segment_.get(), kSegment, MADV_DONTNEED);
            segment_ = nullptr;
            used_ = 0;
            const char* folder = std::getenv("TMPDIR");
            const int fd = open(folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
            if (fd >= 0) {
                void* at = posix_fallocate(fd, 0, static_cast<off_t>(kSegment)) == 0
                               ? mmap(nullptr, kSegment, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                               : MAP_FAILED;
                close(fd);
                if (at != MAP_FAILED)
                    segment_ = {static_cast<uint8_t*>(at), [](uint8_t* p) { munmap(p, kSegment); }};
            }
        }
        if (segment_) {
            uint8_t* const at = segment_.get() + used_;
            used_ += size;
            return {at, segment_};
        }
    }
    lock.unlock();
    const std::shared_ptr<uint8_t[]> plain(new uint8_t[bytes ? bytes : 1]);
    return {plain.get(), plain};
}

const ShaderBytes* ShaderStore::put(uint64_t key, const Blob& control, const Blob& code,
                                    const std::bitset<256>& inputs) {
    const uint64_t digest = digest_of(control.bytes, code.bytes, skip_);
    Shard& shard = shards_[key % 64];
    const auto find = [&]() -> const ShaderBytes* {
        const auto [first, last] = shard.shaders.equal_range(key);
        for (auto it = first; it != last; ++it)
            if (it->second->digest == digest && it->second->code_bytes == code.size())
                return it->second.get();
        return nullptr;
    };
    {
        const std::lock_guard lock(shard.mutex);
        if (const ShaderBytes* known = find())
            return known;
    }
    ShaderBytes kept;
    kept.control_bytes = control.size();
    kept.code_bytes = code.size();
    kept.digest = digest;
    kept.inputs = inputs;
    if (keep_ && control.mapped && code.mapped) {
        kept.control = control;
        kept.code = code;
    } else if (keep_) {
        const auto [at, owner] = spill_.room(control.size() + code.size());
        std::memcpy(at, control.bytes.data(), control.size());
        if (code.size())
            std::memcpy(at + control.size(), code.bytes.data(), code.size());
        kept.control = {Bytes(at, control.size()), owner, false};
        kept.code = {Bytes(at + control.size(), code.size()), owner, false};
    }
    const std::lock_guard lock(shard.mutex);
    if (const ShaderBytes* known = find())
        return known;
    return shard.shaders.emplace(key, std::make_unique<const ShaderBytes>(std::move(kept)))->second.get();
}

} // namespace dmsh
