// Implements the library pack writer; the layout is in runtime/abi/library_format.h.
#include "archivers/pack/library_writer.h"
#include "runtime/abi/program_key.h"
#define XXH_INLINE_ALL
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <xxhash.h>
#include <zstd.h>

namespace dmsh {
namespace {

constexpr int kZstdLevel = 6; // a middle level: slices are packed once and read often, yet builds wait for it

void pad(std::vector<uint8_t>& out) {
    out.resize((out.size() + kLibraryAlignment - 1) / kLibraryAlignment * kLibraryAlignment);
}

uint64_t append(std::vector<uint8_t>& out, std::span<const uint8_t> bytes) {
    pad(out);
    const uint64_t at = out.size();
    out.insert(out.end(), bytes.begin(), bytes.end());
    return at;
}

bool same(const EncodedProgram& a, const EncodedProgram& b) {
    return a.kind == b.kind && a.codec == b.codec && a.slice == b.slice && a.reflection == b.reflection;
}

} // namespace

Result<EncodedProgram> encode_program(uint64_t key, const ProgramReflection& reflection, SliceKind kind,
                                        std::span<const uint8_t> slice, PackCompression compression,
                                        uint16_t variant) {
    EncodedProgram p;
    p.key = key;
    p.variant = variant;
    p.stage = reflection.interface.stage;
    p.arch = reflection.interface.arch;
    p.kind = kind;
    p.has_losses = !reflection.losses.empty();
    p.reflection = encode_reflection(reflection);
    if (auto back = decode_reflection(p.reflection); !back)
        return Error{back.error().message, reflection.origin, std::nullopt, key_text(key)};
    if (slice.size() > kMaxLibrarySliceBytes)
        return Error{"slice is larger than the format allows", reflection.origin, std::nullopt,
                     key_text(key)};
    p.slice_bytes = static_cast<uint32_t>(slice.size());
    if (compression != PackCompression::none && !slice.empty()) {
        std::vector<uint8_t> packed(ZSTD_compressBound(slice.size()));
        const size_t n = ZSTD_compress(packed.data(), packed.size(), slice.data(), slice.size(), kZstdLevel);
        if (!ZSTD_isError(n) &&
            (compression == PackCompression::zstd || n <= slice.size() - slice.size() / 8)) {
            packed.resize(n);
            p.slice = std::move(packed);
            p.codec = SliceCodec::zstd;
        }
    }
    if (p.codec == SliceCodec::stored)
        p.slice.assign(slice.begin(), slice.end());
    return p;
}

LibraryWriter::LibraryWriter(std::string target, std::string stamp)
    : target_(std::move(target)), stamp_(std::move(stamp)) {}

void LibraryWriter::add(EncodedProgram program) {
    programs_.push_back(std::move(program));
}

Result<std::vector<uint8_t>> LibraryWriter::finish() {
    LibraryHeader h = {};
    if (target_.size() > sizeof h.target || stamp_.size() > sizeof h.stamp)
        return Error{"target or stamp is too long for a library pack"};
    std::vector<EncodedProgram> programs = std::move(programs_);
    programs_.clear();
    std::stable_sort(programs.begin(), programs.end(), [](const auto& a, const auto& b) {
        return a.key != b.key ? a.key < b.key : a.variant < b.variant;
    });
    std::vector<const EncodedProgram*> kept;
    for (const EncodedProgram& p : programs) {
        if (!kept.empty() && kept.back()->key == p.key && kept.back()->variant == p.variant) {
            if (!same(*kept.back(), p))
                return Error{"two different programs have one key", {}, std::nullopt, key_text(p.key)};
            continue;
        }
        kept.push_back(&p);
    }

    const size_t index_bytes = kept.size() * (sizeof(uint64_t) + sizeof(LibraryEntry));
    std::vector<uint8_t> out(sizeof(LibraryHeader) + index_bytes);
    std::vector<LibraryEntry> entries(kept.size());
    // Reflections first and together: a tool that lists a pack touches them and no slice.
    for (size_t i = 0; i < kept.size(); ++i) {
        entries[i].reflection_offset = append(out, kept[i]->reflection);
        entries[i].reflection_bytes = static_cast<uint32_t>(kept[i]->reflection.size());
        entries[i].reflection_checksum = XXH3_64bits(kept[i]->reflection.data(), kept[i]->reflection.size());
    }
    std::unordered_multimap<uint64_t, size_t> by_content;
    for (size_t i = 0; i < kept.size(); ++i) {
        const EncodedProgram& p = *kept[i];
        LibraryEntry& e = entries[i];
        e.stage = static_cast<uint8_t>(p.stage);
        e.arch = static_cast<uint8_t>(p.arch);
        e.variant = p.variant;
        e.kind = static_cast<uint8_t>(p.kind);
        e.codec = static_cast<uint8_t>(p.codec);
        e.flags = p.has_losses ? kEntryHasLosses : 0;
        e.slice_stored = static_cast<uint32_t>(p.slice.size());
        e.slice_bytes = p.slice_bytes;
        e.slice_checksum = XXH3_64bits(p.slice.data(), p.slice.size());
        bool shared = false;
        const auto [first, last] = by_content.equal_range(e.slice_checksum);
        for (auto it = first; it != last && !shared; ++it)
            if (kept[it->second]->slice == p.slice) {
                e.slice_offset = entries[it->second].slice_offset;
                shared = true;
            }
        if (!shared) {
            e.slice_offset = append(out, p.slice);
            by_content.emplace(e.slice_checksum, i);
        }
    }
    pad(out);

    uint8_t* index = out.data() + sizeof(LibraryHeader);
    for (size_t i = 0; i < kept.size(); ++i)
        std::memcpy(index + i * sizeof(uint64_t), &kept[i]->key, sizeof(uint64_t));
    if (!entries.empty())
        std::memcpy(index + kept.size() * sizeof(uint64_t), entries.data(),
                    entries.size() * sizeof(LibraryEntry));

    std::memcpy(h.magic, kLibraryMagic, sizeof h.magic);
    h.version = kLibraryVersion;
    h.header_bytes = sizeof(LibraryHeader);
    std::memcpy(h.target, target_.data(), target_.size());
    std::memcpy(h.stamp, stamp_.data(), stamp_.size());
    h.entry_count = static_cast<uint32_t>(kept.size());
    h.entry_bytes = sizeof(LibraryEntry);
    h.index_offset = sizeof(LibraryHeader);
    h.index_checksum = XXH3_64bits(index, index_bytes);
    h.file_bytes = out.size();
    h.header_checksum = XXH3_64bits(&h, offsetof(LibraryHeader, header_checksum));
    std::memcpy(out.data(), &h, sizeof h);
    return out;
}

Result<void> LibraryWriter::write(const std::string& path) {
    auto bytes = finish();
    if (!bytes)
        return bytes.error();
    const std::string temporary = path + ".part";
    FILE* f = std::fopen(temporary.c_str(), "wb");
    if (!f)
        return Error{std::string("cannot create: ") + std::strerror(errno), temporary};
    const bool written = std::fwrite(bytes->data(), 1, bytes->size(), f) == bytes->size();
    const bool closed = std::fclose(f) == 0;
    if (!written || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
        const Error e{std::string("cannot write: ") + std::strerror(errno), path};
        std::remove(temporary.c_str());
        return e;
    }
    return {};
}

} // namespace dmsh
