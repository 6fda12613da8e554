// Reads Heaps' PAK archives and the GLSLC outputs in its shader cache. Layout:
// reference/containers/misc.md, section 7.
#include "archivers/core/codecs.h"
#include "archivers/misc/readers.h"
#include "archivers/nvn/readers.h"
#include <cmath>

namespace dmsh {
namespace {

constexpr uint64_t kHeader = 12, kHash = 64; // version 1 has the hash behind the header
constexpr unsigned kMaxDepth = 64;
constexpr uint8_t kDirectory = 1, kDoublePosition = 2; // flags of a node
constexpr std::string_view kBegin = "//BIN=";

// Output in base64 between "//BIN=" and '#', any number of them.
Result<void> read_cache(const Blob& in, Output& out) {
    const std::string_view text(reinterpret_cast<const char*>(in.bytes.data()), in.size());
    for (size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, at)) {
        at += kBegin.size();
        const size_t end = text.find('#', at);
        if (end == text.npos) {
            out.fail("", {"Heaps shader cache: BIN comment without an end", {}, at});
            break;
        }
        const auto output = decode_base64(in.bytes.clamp(at, end - at), out.budget());
        if (!output)
            out.fail("", {"Heaps shader cache: BIN comment is not valid base64", {}, at});
        else if (const auto ok = out.member("", end - at, *output, &kGlslcReader); !ok)
            return ok;
        at = end;
    }
    return {};
}
bool any(Bytes) {
    return true;
}
bool cache_name(std::string_view name) {
    return name == "shaders.cache.nx";
}

class Tree {
  public:
    Tree(const Blob& in, Output& out) : in_(in), out_(out), data_(in.bytes.u32(4)) {
        at_ = kHeader + (in.bytes.u8(3) == 1 ? kHash : 0);
        end_ = data_ - 4; // "DATA"
    }

    Result<void> read() {
        if (const auto ok = node("", 0); !ok)
            return ok;
        if (at_ != end_)
            return bad("its tree does not end at DATA");
        return {};
    }

  private:
    Error bad(const char* what) const { return {std::string("Heaps PAK: ") + what, {}, at_}; }
    bool has(uint64_t n) const { return n <= end_ - at_; }

    Result<void> node(const std::string& path, unsigned depth) {
        const Bytes b = in_.bytes;
        if (depth > kMaxDepth)
            return bad("directories nest more than 64 deep");
        if (!has(1) || !has(uint64_t{b.u8(at_)} + 2))
            return bad("a node leaves the tree");
        const uint64_t length = b.u8(at_);
        const std::string name(b.data() + at_ + 1, b.data() + at_ + 1 + length);
        const std::string full = path.empty() ? name : path + "/" + name;
        const uint8_t flags = b.u8(at_ + 1 + length);
        at_ += length + 2;
        return flags & kDirectory ? directory(full, depth) : file(full, flags & kDoublePosition);
    }

    Result<void> directory(const std::string& full, unsigned depth) {
        const uint64_t count = in_.bytes.u32(at_);
        if (!has(4) || count > (end_ - at_ - 4) / 2) // the shortest node has two bytes
            return bad("a directory has more children than the tree holds");
        at_ += 4;
        for (uint64_t i = 0; i < count; ++i)
            if (const auto ok = node(full, depth + 1); !ok)
                return ok;
        return {};
    }

    Result<void> file(const std::string& full, bool is_double) {
        const Bytes b = in_.bytes;
        const uint64_t width = is_double ? 8 : 4;
        if (!has(width + 8))
            return bad("a node leaves the tree");
        uint64_t position = b.u32(at_);
        if (is_double) {
            const double value = std::bit_cast<double>(b.u64(at_));
            if (!(value >= 0 && value < 9007199254740992.0) || value != std::floor(value))
                return bad("a position is no whole number");
            position = static_cast<uint64_t>(value);
        }
        const uint64_t size = b.u32(at_ + width);
        at_ += width + 8; // a checksum follows the size
        const auto bytes = in_.clamp(data_).slice(position, size);
        if (!bytes) {
            out_.fail(full, {"Heaps PAK: leaves the archive"});
            return {};
        }
        return out_.member(full, size, *bytes);
    }

    const Blob& in_;
    Output& out_;
    uint64_t data_;
    uint64_t at_ = 0, end_ = 0;
};

// "PAK", version 0 or 1, header size; the header ends in DATA.
bool probe_pak(Bytes b) {
    const uint64_t header = b.u32(4), least = kHeader + (b.u8(3) == 1 ? kHash : 0) + 4;
    return b.starts_with("PAK") && b.u8(3) <= 1 && header >= least && b.starts_with("DATA", header - 4);
}

Result<void> read_pak(const Blob& in, Output& out) {
    return Tree(in, out).read();
}

} // namespace

// The cache has nothing at its start to know it by; it is the one file that this archive's reader names
//
constexpr Reader kHeapsCacheReader = {
    "heaps_cache",
    any,
    read_cache,
    {"Heaps shader cache", "the name `shaders.cache.nx`", "archivers/misc/heaps_pak.cpp",
     "GLSLC outputs in base64 between `//BIN=` and `#`", "the table of programs"},
    false,
    cache_name};
constexpr Reader kHeapsPakReader = {"heaps_pak",
                                    probe_pak,
                                    read_pak,
                                    {"Heaps PAK (.pak)", "`PAK`, version 0 or 1, `DATA` at the header's end",
                                     "archivers/misc/heaps_pak.cpp", "its tree, 32-bit and double positions",
                                     "the checksums"}};

} // namespace dmsh
