// NSO and NRO executables: their segments, searched for shaders.
#include "archivers/core/codecs.h"
#include "archivers/core/sha256.h"
#include "archivers/nvn/readers.h"
#include "archivers/nvn/search.h"
#include "archivers/nvn/tfxo.h"

namespace dmsh {
namespace {

constexpr uint64_t kNsoHeader = 0x100, kNroHeader = 0x80;
constexpr uint64_t kImageMax = 512ull << 20; // decoded segments together
constexpr const char* kSegments[3] = {".text", ".rodata", ".data"};

Result<void> read_module(const Module& module, Output& out) {
    for (const Segment& s : module.segments()) {
        if (const auto ok = search_segment(module, s, out); !ok)
            return ok;
        if (const auto ok = find_tfxo(s, out); !ok)
            return ok;
    }
    return {};
}

struct Range {
    uint64_t begin, size;
};

bool overlap(const Range& a, const Range& b) {
    return a.size && b.size && a.begin < b.begin + b.size && b.begin < a.begin + a.size;
}

bool probe_nso(Bytes b) {
    return b.starts_with("NSO0");
}

Result<void> read_nso(const Blob& in, Output& out) {
    const Bytes b = in.bytes;
    if (!b.has(0, kNsoHeader))
        return Error{"NSO: header is cut short"};
    const uint32_t flags = b.u32(0x0c);
    Range memory[3];
    Blob stored[3];
    uint64_t total = 0;
    for (int i = 0; i < 3; ++i) {
        const std::string name = std::string("NSO: segment ") + kSegments[i];
        const uint64_t record = 0x10 + 0x10 * i;
        memory[i] = {b.u32(record + 4), b.u32(record + 8)};
        total += memory[i].size;
        const bool compressed = flags >> i & 1;
        const uint64_t length = compressed ? b.u32(0x60 + 4 * i) : memory[i].size;
        const auto part = in.slice(b.u32(record), length);
        if (!part)
            return Error{name + " leaves the file"};
        stored[i] = *part;
        for (int k = 0; k < i; ++k)
            if (overlap(memory[i], memory[k]))
                return Error{name + " overlaps another in memory"};
    }
    if (total > kImageMax)
        return Error{"NSO: segments of more than 512 MiB"};
    std::array<Segment, 3> segments;
    for (int i = 0; i < 3; ++i) {
        Blob segment = stored[i];
        if (flags >> i & 1) {
            auto decoded = decode_lz4_block(stored[i].bytes, memory[i].size, out.budget());
            if (!decoded)
                return Error{std::string("NSO: segment ") + kSegments[i] + ": " + decoded.error().message};
            segment = *std::move(decoded);
        }
        if (flags >> (3 + i) & 1) {
            const auto hash = sha256(segment.bytes);
            if (std::memcmp(hash.data(), b.data() + 0xa0 + 32 * i, hash.size()) != 0)
                out.note(std::string("NSO: segment ") + kSegments[i] +
                         " does not have its SHA-256; read all the same");
        }
        segments[i] = {kSegments[i], memory[i].begin, std::move(segment)};
    }
    return read_module(Module(std::move(segments)), out);
}

bool probe_nro(Bytes b) {
    return b.starts_with("NRO0", 0x10);
}

Result<void> read_nro(const Blob& in, Output& out) {
    const Bytes b = in.bytes;
    const uint64_t size = b.u32(0x18);
    if (!b.has(0, kNroHeader) || !b.has(0, size) || size < kNroHeader)
        return Error{"NRO: its length leaves the file"};
    Range memory[3];
    for (int i = 0; i < 3; ++i) {
        memory[i] = {b.u32(0x20 + 8 * i), b.u32(0x24 + 8 * i)};
        if (memory[i].begin + memory[i].size > size)
            return Error{std::string("NRO: segment ") + kSegments[i] + " leaves the file"};
        for (int k = 0; k < i; ++k)
            if (overlap(memory[i], memory[k]))
                return Error{std::string("NRO: segment ") + kSegments[i] + " overlaps another"};
    }
    std::array<Segment, 3> segments;
    for (int i = 0; i < 3; ++i)
        segments[i] = {kSegments[i], memory[i].begin, in.clamp(memory[i].begin, memory[i].size)};
    if (const auto ok = read_module(Module(std::move(segments)), out); !ok)
        return ok;
    if (!b.starts_with("ASET", size))
        return {};
    const uint64_t at = b.u64(size + 0x28), length = b.u64(size + 0x30);
    if (!length)
        return {};
    const auto romfs = in.clamp(size).slice(at, length);
    if (!romfs)
        return Error{"NRO: its RomFS leaves the file"};
    return out.member("romfs", romfs->size(), *romfs);
}

} // namespace

constexpr Reader kNsoReader = {
    "nso",
    probe_nso,
    read_nso,
    {"NSO executable (`main`, `subsdk*`)", "`NSO0`", "archivers/nvn/executable.cpp",
     "three segments, LZ4 decoded, hashes checked, searched; loose shaders by the module's tables and "
     "instructions, MGFX effects, YEBIS's zlib streams",
     "containers that a game's own code unpacks"}};
constexpr Reader kNroReader = {"nro",
                               probe_nro,
                               read_nro,
                               {"NRO executable", "`NRO0` at +0x10", "archivers/nvn/executable.cpp",
                                "as an NSO; the RomFS of its assets", "as an NSO"}};

} // namespace dmsh
