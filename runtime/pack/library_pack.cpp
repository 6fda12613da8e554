// Implements the library pack reader; the layout is in runtime/abi/library_format.h.
#include "runtime/pack/library_pack.h"
#include "runtime/abi/program_key.h"
#define XXH_INLINE_ALL
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <xxhash.h>
#include <zstd.h>

namespace dmsh {
namespace {

constexpr uint8_t kSliceChecked = 1, kReflectionChecked = 2;

std::string_view padded_text(const char* text, size_t capacity) {
    return {text, strnlen(text, capacity)};
}

} // namespace

LibraryPack::LibraryPack(LibraryPack&& other) noexcept {
    *this = std::move(other);
}

LibraryPack& LibraryPack::operator=(LibraryPack&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
    std::swap(header_, other.header_);
    std::swap(keys_, other.keys_);
    std::swap(entries_, other.entries_);
    std::swap(count_, other.count_);
    std::swap(bucket_shift_, other.bucket_shift_);
    std::swap(buckets_, other.buckets_);
    std::swap(plain_, other.plain_);
    std::swap(checked_, other.checked_);
    return *this;
}

LibraryPack::~LibraryPack() {
    if (mapped_)
        munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

Result<LibraryPack> LibraryPack::open(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return Error{std::string("cannot open: ") + std::strerror(errno), path};
    struct stat st = {};
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size < static_cast<off_t>(sizeof(LibraryHeader))) {
        close(fd);
        return Error{"not a library pack (too short or not a file)", path};
    }
    const size_t size = static_cast<size_t>(st.st_size);
    void* p = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    const int why = errno;
    close(fd);
    if (p == MAP_FAILED)
        return Error{std::string("cannot map: ") + std::strerror(why), path};
    LibraryPack pack;
    pack.name_ = path;
    pack.bytes_ = {static_cast<const uint8_t*>(p), size};
    pack.mapped_ = true;
    return check(std::move(pack));
}

Result<LibraryPack> LibraryPack::from_memory(std::span<const uint8_t> bytes, std::string name) {
    LibraryPack pack;
    pack.name_ = std::move(name);
    pack.bytes_ = bytes;
    if (reinterpret_cast<uintptr_t>(bytes.data()) % 8)
        return Error{"library pack in memory is not 8-byte aligned", pack.name_};
    return check(std::move(pack));
}

Result<LibraryPack> LibraryPack::check(LibraryPack pack) {
    const auto refuse = [&](const char* why, uint64_t offset) { return Error{why, pack.name_, offset}; };
    const size_t size = pack.bytes_.size();
    if (size < sizeof(LibraryHeader))
        return refuse("not a library pack (too short)", 0);
    const auto* h = reinterpret_cast<const LibraryHeader*>(pack.bytes_.data());
    if (std::memcmp(h->magic, kLibraryMagic, sizeof kLibraryMagic) != 0)
        return refuse("not a library pack (no magic)", 0);
    if (h->version != kLibraryVersion)
        return Error{"library pack version " + std::to_string(h->version) + ", this reader knows " +
                         std::to_string(kLibraryVersion),
                     pack.name_, offsetof(LibraryHeader, version)};
    if (h->header_bytes != sizeof(LibraryHeader) || h->entry_bytes != sizeof(LibraryEntry))
        return refuse("header has wrong sizes", offsetof(LibraryHeader, header_bytes));
    if (XXH3_64bits(h, offsetof(LibraryHeader, header_checksum)) != h->header_checksum)
        return refuse("header checksum does not hold", offsetof(LibraryHeader, header_checksum));
    if (h->file_bytes != size)
        return refuse(h->file_bytes > size ? "file is cut off" : "file has bytes behind its end",
                      offsetof(LibraryHeader, file_bytes));
    const uint64_t index_bytes = uint64_t{h->entry_count} * (sizeof(uint64_t) + sizeof(LibraryEntry));
    if (h->index_offset % 8 || h->index_offset < sizeof(LibraryHeader) || h->index_offset > size ||
        index_bytes > size - h->index_offset)
        return refuse("index lies outside of the file", offsetof(LibraryHeader, index_offset));
    const uint8_t* index = pack.bytes_.data() + h->index_offset;
    if (XXH3_64bits(index, index_bytes) != h->index_checksum)
        return refuse("index checksum does not hold", h->index_offset);
    pack.header_ = h;
    pack.count_ = h->entry_count;
    pack.keys_ = reinterpret_cast<const uint64_t*>(index);
    pack.entries_ =
        reinterpret_cast<const LibraryEntry*>(index + uint64_t{h->entry_count} * sizeof(uint64_t));
    pack.checked_ = std::make_unique<std::atomic<uint8_t>[]>(pack.count_);
    pack.make_buckets();
    return pack;
}

void LibraryPack::make_buckets() {
    constexpr uint32_t kKeysPerBucket = 8;
    unsigned bits = 1;
    while (bits < 24 && (kKeysPerBucket << bits) < count_)
        ++bits;
    bucket_shift_ = 64 - bits;
    const uint32_t buckets = 1u << bits;
    buckets_ = std::make_unique<uint32_t[]>(buckets + 1);
    plain_ = std::make_unique<uint64_t[]>(count_ / 64 + 1);
    uint32_t next = 0; // buckets up to here have their start; keys out of order cannot move one back
    for (uint32_t i = 0; i < count_; ++i) {
        for (const auto bucket = static_cast<uint32_t>(keys_[i] >> bucket_shift_); next <= bucket; ++next)
            buckets_[next] = i;
        plain_[i / 64] |= uint64_t{entries_[i].variant == 0} << i % 64;
    }
    for (; next <= buckets; ++next)
        buckets_[next] = count_;
}

std::string_view LibraryPack::target() const {
    return padded_text(header_->target, sizeof header_->target);
}
std::string_view LibraryPack::stamp() const {
    return padded_text(header_->stamp, sizeof header_->stamp);
}

uint32_t LibraryPack::find(uint64_t key, uint16_t variant) const noexcept {
    constexpr uint32_t kCounted =
        32; // a bucket of more keys (they are no hashes, or damaged) is halved first
    const uint64_t bucket = key >> bucket_shift_;
    const uint64_t* base = keys_ + buckets_[bucket];
    uint32_t n = buckets_[bucket + 1] - buckets_[bucket];
    while (n > kCounted) { // no branch on the comparison: half of them would be mispredicted
        const uint32_t half = (n + 1) / 2;
        base += base[half - 1] < key ? half : 0;
        n -= half;
    }
    uint32_t below = 0;
    for (uint32_t k = 0; k < n; ++k) // no order between the loads: the bucket's lines come at once
        below += base[k] < key;
    for (uint32_t i = static_cast<uint32_t>(base - keys_) + below; i < count_ && keys_[i] == key; ++i)
        if (variant == 0 ? plain_[i / 64] >> i % 64 & 1 : entries_[i].variant == variant)
            return i;
    return kNotFound;
}

Error LibraryPack::error(std::string message, uint32_t index) const {
    return Error{std::move(message), name_, std::nullopt,
                 index < count_ ? key_text(keys_[index]) : std::string()};
}

Result<ProgramEntry> LibraryPack::entry(uint32_t index) const {
    if (index >= count_)
        return error("no entry " + std::to_string(index) + " in the library pack", index);
    const LibraryEntry& e = entries_[index];
    if (e.stage >= kStageCount || e.kind > static_cast<uint8_t>(SliceKind::metallib) ||
        e.codec > static_cast<uint8_t>(SliceCodec::zstd) ||
        (e.arch != static_cast<uint8_t>(Arch::sm53) && e.arch != static_cast<uint8_t>(Arch::sm86)))
        return error("index entry has a value that the format does not know", index);
    if (e.slice_bytes > kMaxLibrarySliceBytes || e.slice_stored > kMaxLibrarySliceBytes ||
        e.reflection_bytes > kMaxReflectionBytes)
        return error("index entry claims more bytes than the format allows", index);
    if (e.codec == static_cast<uint8_t>(SliceCodec::stored) && e.slice_bytes != e.slice_stored)
        return error("a plainly stored slice has two sizes", index);
    ProgramEntry p;
    p.key = keys_[index];
    p.variant = e.variant;
    p.stage = static_cast<Stage>(e.stage);
    p.arch = static_cast<Arch>(e.arch);
    p.kind = static_cast<SliceKind>(e.kind);
    p.codec = static_cast<SliceCodec>(e.codec);
    p.has_losses = e.flags & kEntryHasLosses;
    p.slice_stored = e.slice_stored;
    p.slice_bytes = e.slice_bytes;
    p.reflection_bytes = e.reflection_bytes;
    return p;
}

Result<std::span<const uint8_t>> LibraryPack::part(uint32_t index, uint64_t offset, uint64_t bytes,
                                                   uint64_t checksum, uint8_t checked_bit,
                                                   const char* what) const {
    if (offset % kLibraryAlignment || offset > bytes_.size() || bytes > bytes_.size() - offset)
        return error(std::string(what) + " lies outside of the file", index);
    const auto span = bytes_.subspan(offset, bytes);
    if (!(checked_[index].load(std::memory_order_relaxed) & checked_bit)) {
        if (XXH3_64bits(span.data(), span.size()) != checksum)
            return error(std::string(what) + " checksum does not hold", index);
        checked_[index].fetch_or(checked_bit, std::memory_order_relaxed);
    }
    return span;
}

Result<Slice> LibraryPack::slice(uint32_t index) const {
    auto e = entry(index);
    if (!e)
        return e.error();
    const LibraryEntry& raw = entries_[index];
    auto stored = part(index, raw.slice_offset, raw.slice_stored, raw.slice_checksum, kSliceChecked, "slice");
    if (!stored)
        return stored.error();
    Slice slice;
    slice.kind = e->kind;
    slice.bytes = *stored;
    if (e->codec == SliceCodec::zstd) {
        if (ZSTD_getFrameContentSize(stored->data(), stored->size()) != e->slice_bytes)
            return error("slice expands to another size than the index says", index);
        slice.expanded.reset(new (std::nothrow) uint8_t[e->slice_bytes]);
        if (!slice.expanded)
            return error("no memory to expand the slice", index);
        const size_t n =
            ZSTD_decompress(slice.expanded.get(), e->slice_bytes, stored->data(), stored->size());
        if (ZSTD_isError(n) || n != e->slice_bytes)
            return error("slice does not expand", index);
        slice.bytes = {slice.expanded.get(), e->slice_bytes};
    }
    if (slice.kind == SliceKind::spirv && slice.bytes.size() % 4)
        return error("SPIR-V slice is not whole words", index);
    return slice;
}

Result<ProgramReflection> LibraryPack::reflection(uint32_t index) const {
    auto e = entry(index);
    if (!e)
        return e.error();
    const LibraryEntry& raw = entries_[index];
    auto bytes = part(index, raw.reflection_offset, raw.reflection_bytes, raw.reflection_checksum,
                      kReflectionChecked, "reflection");
    if (!bytes)
        return bytes.error();
    auto r = decode_reflection(*bytes);
    if (!r)
        return error(r.error().message, index);
    if (r->interface.stage != e->stage || r->interface.arch != e->arch)
        return error("reflection and index name different stages", index);
    return r;
}

} // namespace dmsh
