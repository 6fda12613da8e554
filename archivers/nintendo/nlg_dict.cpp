// Next Level Games' dictionary (.dict) and the data files it names (.data and others). Layout:
// reference/containers/nintendo.md, section 15.
#include "archivers/core/codecs.h"
#include "archivers/nintendo/readers.h"
#include <cstdio>

namespace dmsh {
namespace {

constexpr uint32_t kMagic = 0xa9f32458;
constexpr uint64_t kBlock = 16;
constexpr uint64_t kExtensionMax = 32;

bool probe_nlg(Bytes b) {
    return b.u32(0) == kMagic;
}

// Where the tables of one revision lie.
struct Layout {
    uint64_t blocks = 0, block_count = 0;
    std::vector<std::string> extensions; // of the data files
};

// The tables as `revision` (2 or 3) has them, if everything fits.
std::optional<Layout> layout_as(Bytes b, unsigned revision) {
    Layout l;
    uint64_t records, record_bytes, strings;
    if (revision == 2) {
        l.block_count = b.u32(0x08);
        records = b.u8(0x12), strings = b.u8(0x13);
        record_bytes = 12;
        l.blocks = 0x14 + records * record_bytes + l.block_count; // a byte for each block before them
    } else {
        l.block_count = b.u8(0x0c);
        records = b.u8(0x0d), strings = b.u8(0x0e);
        record_bytes = 24;
        l.blocks = 0x10 + records * record_bytes;
        if (b.u8(0x0f))
            return std::nullopt;
    }
    if (!l.block_count || !strings || l.block_count > b.size() / kBlock ||
        !b.has(l.blocks, l.block_count * kBlock))
        return std::nullopt;
    uint64_t at = l.blocks + l.block_count * kBlock;
    for (uint64_t i = 0; i < strings; ++i) {
        const std::string text(b.text(at, kExtensionMax));
        if (text.size() < 2 || text[0] != '.' || text.find('/') != text.npos || !b.has(at, text.size() + 1) ||
            b.u8(at + text.size()))
            return std::nullopt;
        l.extensions.push_back(text);
        at += text.size() + 1;
    }
    for (uint64_t i = 0; i < l.block_count; ++i)
        if (b.u8(l.blocks + i * kBlock + 14) >= strings)
            return std::nullopt;
    return l;
}

Result<void> read_nlg(const Blob& in, Output& out) {
    const Bytes b = in.bytes;
    const auto two = layout_as(b, 2), three = layout_as(b, 3);
    if (bool(two) == bool(three)) {
        std::string text = "Next Level dictionary of a revision that is not known:";
        char byte[4];
        for (uint64_t i = 0; i < 16 && i < b.size(); ++i)
            std::snprintf(byte, sizeof byte, " %02x", b.u8(i)), text += byte;
        return Error{text};
    }
    const Layout& l = two ? *two : *three;
    const bool packed = b.u8(6) == 1;
    // The data files lie beside the dictionary and have its name with other endings.
    const std::string_view own = out.name();
    const std::string stem(own.substr(0, own.rfind('.')));
    std::vector<std::optional<Blob>> files;
    for (const std::string& extension : l.extensions) {
        auto file = out.sibling(stem + extension);
        if (!file)
            return file.error();
        files.push_back(*std::move(file));
    }
    std::vector<uint64_t> missing(files.size());
    for (uint64_t i = 0; i < l.block_count; ++i) {
        const uint64_t block = l.blocks + i * kBlock;
        const uint64_t size = b.u32(block + 4), stored = packed ? b.u32(block + 8) : size;
        const unsigned which = b.u8(block + 14);
        if (!size)
            continue;
        if (!files[which]) {
            ++missing[which];
            continue;
        }
        const std::string name = l.extensions[which] + " block " + std::to_string(i);
        const auto bytes = files[which]->slice(b.u32(block), stored);
        if (!bytes) {
            out.fail(name, {"Next Level dictionary: block leaves its data file"});
            continue;
        }
        const bool plain = !packed || (stored == size && bytes->bytes.u8(0) != 0x78);
        const auto ok =
            plain ? out.member(name, stored, *bytes)
                  : out.packed_member(
                        name, stored,
                        [part = *bytes, size](DecodeContext& c) {
                            return decode_zlib(part.bytes, size, c.budget());
                        },
                        [part = *bytes](uint64_t n) { return Result<Blob>(peek_zlib(part.bytes, n)); });
        if (!ok)
            return ok;
    }
    for (size_t i = 0; i < missing.size(); ++i)
        if (missing[i])
            out.fail("", {"Next Level dictionary: " + stem + l.extensions[i] + " is not there (" +
                          std::to_string(missing[i]) + " blocks)"});
    return {};
}

} // namespace

constexpr Reader kNlgDictReader = {"nlg",
                                   probe_nlg,
                                   read_nlg,
                                   {"Next Level Games dictionary (.dict with .data)", "`58 24 f3 a9`",
                                    "archivers/nintendo/nlg_dict.cpp",
                                    "blocks of revisions 2 and 3, each searched",
                                    "other revisions (named with their header); chunk tables"}};

} // namespace dmsh
