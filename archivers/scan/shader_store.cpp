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

constexpr uint32_t kNvn2Major = 0xc9;
bool is_nvn2(Bytes control) {
    return control.u32(4) == kNvn2Major;
}

// Calls `part(begin, length)` for what of a control section two copies must have in common: all but the skip range.
// NVN2's sections do not store their length: containers give more or fewer bytes of what follows, and what is known
// of them is in the key (S-019).
template <class Part>
bool all_parts(Bytes control, KeySkip skip, Part part) {
    const uint64_t begin = skip.offset, end = begin + skip.length, size = control.size();
    if (is_nvn2(control))
        return true;
    if (!skip.length)
        return part(uint64_t{0}, size);
    return part(uint64_t{0}, std::min(begin, size)) && (end >= size || part(end, size - end));
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

template <class Same>
const ShaderBytes* ShaderStore::Shard::find(uint64_t key, Same same) const {
    if (table.empty())
        return nullptr;
    for (size_t at = key >> 6;; ++at) {
        const ShaderBytes* const s = table[at & (table.size() - 1)];
        if (!s || (s->key == key && same(*s)))
            return s;
    }
}

void ShaderStore::Shard::place(const ShaderBytes* s) {
    size_t at = s->key >> 6;
    while (table[at & (table.size() - 1)])
        ++at;
    table[at & (table.size() - 1)] = s;
}

const ShaderBytes* ShaderStore::Shard::add(ShaderBytes&& s) {
    const ShaderBytes* const kept = &shaders.emplace_back(std::move(s));
    if (2 * shaders.size() > table.size()) {
        table.assign(std::max<size_t>(64, 2 * table.size()), nullptr);
        for (const ShaderBytes& each : shaders)
            place(&each);
    } else {
        place(kept);
    }
    return kept;
}

// The digest tells them apart; where the bytes are at hand they have the last word.
bool ShaderStore::same(const ShaderBytes& known, const ShaderBytes& other) const {
    if (known.digest != other.digest || known.code_bytes != other.code_bytes)
        return false;
    if (!keep_)
        return true;
    const Bytes a = known.control.bytes, b = other.control.bytes;
    if (is_nvn2(a) != is_nvn2(b) || (!is_nvn2(a) && a.size() != b.size()))
        return false;
    const auto equal = [](const uint8_t* x, const uint8_t* y, uint64_t n) { return !n || !std::memcmp(x, y, n); };
    return equal(known.code.bytes.data(), other.code.bytes.data(), known.code_bytes) &&
           all_parts(a, skip_, [&](uint64_t at, uint64_t n) { return equal(a.data() + at, b.data() + at, n); });
}

const ShaderBytes* ShaderStore::put(const Blob& control, const Blob& code, const std::bitset<256>& inputs) {
    const ProgramHash hash = program_hash(control.bytes, code.bytes, skip_);
    ShaderBytes given;
    given.key = hash.key;
    given.control = control;
    given.code = code;
    given.control_bytes = control.size();
    given.code_bytes = code.size();
    given.inputs = inputs;
    // The hash covers the code and the control section's head; behind it comes what only its own length tells.
    given.digest = hash.further;
    if (!is_nvn2(control.bytes)) {
        given.digest += control.size();
        all_parts(control.bytes, skip_, [&](uint64_t at, uint64_t n) {
            const uint64_t from = std::max<uint64_t>(at, kKeyControlBytes);
            if (from < at + n)
                given.digest = XXH3_64bits_withSeed(control.bytes.data() + from, at + n - from, given.digest);
            return true;
        });
    }
    Shard& shard = shards_[given.key % 64];
    const auto find = [&] { return shard.find(given.key, [&](const ShaderBytes& s) { return same(s, given); }); };
    if (!keep_) {
        given.control = given.code = {};
        const std::lock_guard lock(shard.mutex);
        const ShaderBytes* const known = find();
        return known ? known : shard.add(std::move(given));
    }
    {
        const std::lock_guard lock(shard.mutex);
        if (const ShaderBytes* known = find())
            return known;
    }
    if (!control.mapped || !code.mapped) {
        const auto [at, owner] = spill_.room(control.size() + code.size());
        std::memcpy(at, control.bytes.data(), control.size());
        if (code.size())
            std::memcpy(at + control.size(), code.bytes.data(), code.size());
        given.control = {Bytes(at, control.size()), owner, nullptr};
        given.code = {Bytes(at + control.size(), code.size()), owner, nullptr};
    }
    const std::lock_guard lock(shard.mutex);
    const ShaderBytes* const known = find();
    return known ? known : shard.add(std::move(given));
}

} // namespace dmsh
