// BFSHA: shader models, each with a BNSH of its own. Layout: reference/containers/nintendo.md, section 4.
#include "archivers/nintendo/readers.h"
#include "archivers/nintendo/resource_name.h"
#include "archivers/nvn/bnsh.h"
#include "archivers/nvn/search.h"
#include <set>

namespace dmsh {
namespace {

constexpr uint64_t kHeader = 0x70; // up to the model count of the oldest form
constexpr uint64_t kModels = 0x48; // u64: first shader model record

// What moved between the versions that are known.
struct Layout {
    uint64_t model_count; // u16
    uint64_t model_bytes; // of one shader model record
    uint64_t bnsh;        // in the record: u64
};

std::optional<Layout> layout_of(unsigned major) {
    if (major < 4 || major > 9)
        return std::nullopt;
    if (major < 7)
        return Layout{0x70, 0xc0, 0x80};
    if (major < 8) // storage buffers came
        return Layout{0x78, 0xe8, 0x98};
    return Layout{0x78, 0x100, 0xa8}; // images came
}

bool probe_bfsha(Bytes b) {
    return b.starts_with("FSHA    ");
}

// Reads the BNSH that the models name and says which bytes those are.
Result<std::vector<ReadRange>> read_models(const Blob& in, const Layout& layout, Output& out) {
    const Bytes b = in.bytes;
    const uint64_t count = b.u16(layout.model_count), first = b.u64(kModels);
    if (count && !b.has(first, count * layout.model_bytes))
        return Error{"BFSHA: the shader models leave the file"};
    std::vector<ReadRange> read;
    std::set<uint64_t> seen;
    uint64_t named = 0; // bytes of the BNSH that the models name
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t model = first + i * layout.model_bytes, at = b.u64(model + layout.bnsh);
        if (!at || !seen.insert(at).second)
            continue;
        std::string name(resource_name(b, b.u64(model)));
        if (name.empty())
            name = "model " + std::to_string(i);
        const Blob file = in.clamp(at);
        if (!looks_like_bnsh(file.bytes)) {
            out.fail("", {"BFSHA: " + name + ": no BNSH where its record points", {}, at});
            continue;
        }
        named += std::min<uint64_t>(file.bytes.u32(0x1c), file.size());
        if (named > kBudgetFactor * b.size())
            return Error{"BFSHA: its models add up to more than 16 times the file"};
        const auto length = read_bnsh(file, at, out, name);
        if (!length)
            out.fail("", length.error());
        // What a BNSH that was refused claims to cover is left out, too.
        read.push_back({at, at + (length ? *length : std::max<uint64_t>(file.bytes.u32(0x1c), kBnshHeader))});
    }
    return read;
}

Result<void> read_bfsha(const Blob& in, Output& out) {
    const Bytes b = in.bytes;
    if (!b.has(0, kHeader) || !b.has(0, b.u32(0x1c)))
        return Error{"BFSHA: its length leaves the file"};
    if (b.u16(0x0c) != 0xfeff)
        return Error{"BFSHA: big-endian archives are not read"};
    const unsigned major = b.u16(0x0a);
    const auto layout = layout_of(major);
    if (!layout) {
        out.note("BFSHA of version " + std::to_string(major) +
                 ": its tables are not known, searched instead");
        return search(in, Place::data, out);
    }
    const auto read = read_models(in, *layout, out);
    if (!read)
        return read.error();
    return search(in, Place::data, out, *read);
}

} // namespace

constexpr Reader kBfshaReader = {"bfsha",
                                 probe_bfsha,
                                 read_bfsha,
                                 {"BFSHA shader archive (.bfsha, .sbfsha, .fshb)", "`FSHA` and four spaces",
                                  "archivers/nintendo/bfsha.cpp",
                                  "shader models of versions 4 to 9 by the tables, each with its BNSH; the "
                                  "rest is searched, other versions whole",
                                  "options and key tables, which choose a variation"}};

} // namespace dmsh
