// Blob: a view together with what keeps it alive, so that members and shaders share a file's mapping or a
// decoded buffer.
#pragma once
#include "archivers/core/bytes.h"
#include "runtime/abi/result.h"
#include <memory>
#include <string>
#include <vector>

namespace dmsh {

// A file in memory. Goes with the last blob of it.
struct Mapping {
    struct Hole {
        uint64_t begin = 0, end = 0;
    };
    const uint8_t* base = nullptr;
    uint64_t size = 0;
    std::vector<Hole> holes; // larger parts that take no room on the disk and read as zeros; ascending

    Mapping(const uint8_t* at, uint64_t n) : base(at), size(n) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();
};

// Cheap to copy. `mapped`: the bytes are pages of that file, so holding on to them costs no memory of ours; it
// lives as long as the owner.
struct Blob {
    Bytes bytes;
    std::shared_ptr<const void> owner;
    const Mapping* mapped = nullptr;

    uint64_t size() const { return bytes.size(); }
    // As Bytes::slice and Bytes::clamp, alive as long as this blob's owner.
    std::optional<Blob> slice(uint64_t offset, uint64_t length) const {
        const auto part = bytes.slice(offset, length);
        return part ? std::optional<Blob>({*part, owner, mapped}) : std::nullopt;
    }
    Blob clamp(uint64_t offset, uint64_t length = ~uint64_t{0}) const {
        return {bytes.clamp(offset, length), owner, mapped};
    }

    static Blob own(std::vector<uint8_t> v) {
        auto p = std::make_shared<const std::vector<uint8_t>>(std::move(v));
        return {Bytes(*p), p, nullptr};
    }
    // A view whose memory the caller keeps alive.
    static Blob view(Bytes b) { return {b, nullptr, nullptr}; }
};

// A buffer to decode into: its bytes are not cleared first.
struct NewBlob {
    std::shared_ptr<uint8_t[]> memory;
    uint64_t size = 0;

    explicit NewBlob(uint64_t n) : memory(new uint8_t[n ? n : 1]), size(n) {}
    uint8_t* data() { return memory.get(); }
    Blob finish(uint64_t used) && {
        const Bytes b(memory.get(), used);
        return {b, std::move(memory), nullptr};
    }
    Blob finish() && {
        const uint64_t n = size;
        return std::move(*this).finish(n);
    }
};

// The first byte of the blob at or behind `at` that is not known to lie in a hole of its file; its size if there is
// none. The last `keep` bytes of a hole count as data.
uint64_t skip_hole(const Blob& blob, uint64_t at, uint64_t keep);
// Where the next hole behind `at` begins, or the blob's end.
uint64_t next_hole(const Blob& blob, uint64_t at);

// Says that these pages of a mapped file are not needed for now: they stay readable, but cost no memory.
void let_go(Bytes mapped);

// A file's bytes, mapped if it is large. An empty file gives an empty blob. Errors carry the path as origin.
Result<Blob> map_file(const std::string& path);

} // namespace dmsh
