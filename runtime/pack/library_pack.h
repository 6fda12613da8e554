// Reader of library packs: maps the file, checks the index, finds programs by key, hands out checked slices.
#pragma once
#include "runtime/abi/library_format.h"
#include "runtime/pack/reflection.h"
#include <atomic>
#include <memory>
#include <span>
#include <string_view>

namespace dmsh {

// The code of one program. `bytes` points into the pack where the slice is stored plainly (it lives as long
// as the pack), else into `expanded`, which moves along with the Slice.
struct Slice {
    SliceKind kind = SliceKind::none;
    std::span<const uint8_t> bytes;
    std::unique_ptr<uint8_t[]> expanded;
};

// What the index says of a program; every field has been checked against its range.
struct ProgramEntry {
    uint64_t key = 0;
    uint16_t variant = 0;
    Stage stage = Stage::compute;
    Arch arch = Arch::sm53;
    SliceKind kind = SliceKind::none;
    SliceCodec codec = SliceCodec::stored;
    bool has_losses = false;
    uint32_t slice_stored = 0;
    uint32_t slice_bytes = 0;
    uint32_t reflection_bytes = 0;
};

// All const members may be called from any thread. No bytes of a pack can make them read outside of it.
class LibraryPack {
  public:
    // Maps `path` read-only. Checks magic, version, header and index checksums; parses nothing. Errors name
    // the file.
    static Result<LibraryPack> open(const std::string& path);
    // The same over memory that the caller keeps alive; it must be 8-byte aligned.
    static Result<LibraryPack> from_memory(std::span<const uint8_t> bytes, std::string name = "memory");

    LibraryPack(LibraryPack&&) noexcept;
    LibraryPack& operator=(LibraryPack&&) noexcept;
    ~LibraryPack();

    std::string_view name() const { return name_; }
    std::string_view target() const;
    std::string_view stamp() const;
    uint32_t size() const { return count_; }
    uint64_t key(uint32_t index) const { return index < count_ ? keys_[index] : 0; }

    static constexpr uint32_t kNotFound = ~0u;
    // Index of the program or kNotFound. A bucket of about eight keys is found by the key's upper bits (keys
    // are hashes) and searched; takes no lock and no memory.
    uint32_t find(uint64_t key, uint16_t variant = 0) const noexcept;

    Result<ProgramEntry> entry(uint32_t index) const;
    // Checks the stored bytes' checksum at their first use, then answers at once (an expanded slice expands
    // each time).
    Result<Slice> slice(uint32_t index) const;
    Result<ProgramReflection> reflection(uint32_t index) const;

  private:
    LibraryPack() = default;
    static Result<LibraryPack> check(LibraryPack pack);
    Error error(std::string message, uint32_t index) const;
    Result<std::span<const uint8_t>> part(uint32_t index, uint64_t offset, uint64_t bytes, uint64_t checksum,
                                          uint8_t checked_bit, const char* what) const;

    std::string name_;
    std::span<const uint8_t> bytes_;
    bool mapped_ = false;
    const LibraryHeader* header_ = nullptr;
    const uint64_t* keys_ = nullptr;
    const LibraryEntry* entries_ = nullptr;
    uint32_t count_ = 0;
    // Made at opening: first key of each bucket, and a bit per entry whose variant is 0, so that a look-up
    // touches two lines beside the keys.
    unsigned bucket_shift_ = 63;
    std::unique_ptr<uint32_t[]> buckets_;
    std::unique_ptr<uint64_t[]> plain_;
    void make_buckets();
    std::unique_ptr<std::atomic<uint8_t>[]> checked_; // per entry: bits of the parts whose checksum held
};

} // namespace dmsh
