// BFRES: model files; what they hold of shaders are BFSHA among their embedded files, found by their header.
// Layout: reference/containers/nintendo.md, section 16.
#include "archivers/nintendo/readers.h"
#include "archivers/nvn/search.h"

namespace dmsh {
namespace {

constexpr uint32_t kBfshaMagic = 0x41485346; // "FSHA"
constexpr uint64_t kHeader = 0x20;

bool probe_bfres(Bytes b) {
    return b.starts_with("FRES    ");
}

Result<void> read_bfres(const Blob& in, Output& out) {
    const Bytes b = in.bytes;
    if (!b.has(0, kHeader) || !b.has(0, b.u32(0x1c)))
        return Error{"BFRES: its length leaves the file"};
    std::vector<ReadRange> read;
    for (uint64_t from = kHeader; const auto hit = b.find_u32(kBfshaMagic, from);) {
        const uint64_t at = *hit;
        from = at + 4;
        const Bytes head = b.clamp(at, kHeader);
        if (!head.starts_with("FSHA    ") || head.u16(0x0c) != 0xfeff)
            continue; // the four characters in something else
        const uint64_t size = head.u32(0x1c);
        // The characters of the name; its length stands before them.
        std::string name(b.clamp(at).text(head.u32(0x10), 256));
        if (name.empty() || head.u32(0x10) < kHeader)
            name = "bfsha " + std::to_string(read.size());
        const auto file = in.slice(at, size);
        if (!file || size < kHeader) {
            out.fail(name, {"BFSHA: its length leaves the file", {}, at});
            continue;
        }
        if (const auto ok = out.member(name, size, *file, &kBfshaReader); !ok)
            return ok;
        read.push_back({at, at + size});
        from = at + size;
    }
    return search(in, Place::data, out, read);
}

} // namespace

constexpr Reader kBfresReader = {
    "bfres",
    probe_bfres,
    read_bfres,
    {"BFRES model file (.bfres)", "`FRES` and four spaces", "archivers/nintendo/bfres.cpp",
     "BFSHA among its embedded files, found by their headers; the rest is searched",
     "the tables of embedded files"}};

} // namespace dmsh
