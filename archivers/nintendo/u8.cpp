// U8 archives, both byte orders. Layout: reference/containers/nintendo.md, section 14.
#include "archivers/nintendo/readers.h"

namespace dmsh {
namespace {

constexpr uint32_t kMagic = 0x55aa382d; // read in the file's own order
constexpr uint64_t kHeader = 0x20, kNode = 12;
constexpr size_t kMaxDepth = 64;
constexpr uint64_t kMaxPath = 1024; // longest path whose files are listed

bool probe_u8(Bytes b) {
    return b.u32be(0) == kMagic || b.u32(0) == kMagic;
}

Result<void> read_u8(const Blob& in, Output& out) {
    const Bytes b = in.bytes;
    const bool big = b.u32be(0) == kMagic;
    const auto u32 = [&](uint64_t at) -> uint64_t { return big ? b.u32be(at) : b.u32(at); };
    const uint64_t first = u32(4), bytes = u32(8);
    if (!b.has(0, kHeader) || !b.has(first, bytes) || bytes < kNode)
        return Error{"U8: the node table leaves the file"};
    const uint64_t count = u32(first + 8);
    // The type comes first in the file; where whole words are turned round it is their upper byte all the same.
    const bool type_low = !big && u32(first) >> 24 != 1 && (u32(first) & 255) == 1;
    const auto type_of = [&](uint64_t node) { return type_low ? u32(node) & 255 : u32(node) >> 24; };
    const auto name_of = [&](uint64_t node) { return type_low ? u32(node) >> 8 : u32(node) & 0xffffff; };
    if (type_of(first) != 1 || !count || count > bytes / kNode)
        return Error{"U8: more nodes than the table can hold"};
    const uint64_t names = first + count * kNode, names_end = first + bytes;
    struct Directory {
        uint64_t end; // first node after it
        std::string path;
    };
    std::vector<Directory> open = {{count, ""}};
    for (uint64_t i = 1; i < count; ++i) {
        while (open.back().end <= i)
            open.pop_back();
        const uint64_t node = first + i * kNode;
        const uint64_t type = type_of(node), name_at = names + name_of(node);
        const std::string name =
            open.back().path +
            std::string(b.text(name_at, std::min(names_end > name_at ? names_end - name_at : 0, kMaxPath)));
        if (name.size() > kMaxPath)
            return Error{"U8: the path of node " + std::to_string(i) + " has no end"};
        const uint64_t second = u32(node + 4), third = u32(node + 8);
        if (type == 1) {
            if (third <= i || third > open.back().end)
                return Error{"U8: directory " + name + " ends outside of the one around it"};
            if (open.size() == kMaxDepth)
                return Error{"U8: directories nest more than 64 deep"};
            open.push_back({third, name + "/"});
            continue;
        }
        if (type != 0)
            return Error{"U8: node " + std::to_string(i) + " is of type " + std::to_string(type)};
        const auto file = in.slice(second, third);
        if (!file)
            return Error{"U8: member " + name + " leaves the archive"};
        if (const auto ok = out.member(name, third, *file); !ok)
            return ok;
    }
    return {};
}

} // namespace

constexpr Reader kU8Reader = {"u8",
                              probe_u8,
                              read_u8,
                              {"U8 archive (.arc)", "`55 aa 38 2d`, both byte orders",
                               "archivers/nintendo/u8.cpp", "members with their paths", "nothing"}};

} // namespace dmsh
