// Order: magics of whole files, then forms without a magic at their start, then the search.
#include "archivers/scan/readers.h"
#include "archivers/misc/readers.h"
#include "archivers/nintendo/readers.h"
#include "archivers/nvn/readers.h"

namespace dmsh {

std::span<const Reader* const> readers() {
    static const Reader* const list[] = {
        // clang-format off: one a line, so that additions merge
        &kSarcReader,
        &kYaz0Reader,
        &kZstdReader,
        &kZstdDictionaryReader,
        &kBnshReader,
        &kBfshaReader,
        &kBahsReader,
        &kBfresReader,
        &kVfxbReader,
        &kBeaReader,
        &kU8Reader,
        &kNarcReader,
        &kGfpakReader,
        &kTrinityReader,
        &kNlgDictReader,
        &kCraReader,
        &kGlslcReader,
        &kNsoReader,
        &kNroReader,
        &kRomfsReader,
        &kGzipReader,
        &kZipReader,
        &kHeapsPakReader,
        &kHeapsCacheReader,
        &kXnbReader,
        &kMgfxReader,
        &kTfxoReader,
        &kNvsbReader,
        &kTecReader,
        &kNdsrReader,
        &kViprReader,
        &kNdveReader,
        &kOffsetTableReader,
        &kTarReader,
        &kOutputListReader,
        &kGlslTextReader,
        &kSizePrefixedReader,
        &kSearchReader,
        // clang-format on
    };
    return list;
}

const Reader& reader_for(Bytes bytes, std::string_view name) {
    for (const Reader* r : readers())
        if ((!r->probe_name || r->probe_name(name)) && r->probe(bytes))
            return *r;
    return kSearchReader;
}

bool cannot_hold_shaders(Bytes head) {
    // Textures, sound, pictures, movies: each format's whole file is its own data.
    static constexpr std::string_view kLeaves[] = {
        "BNTX", "FWAV", "FSTM", "FSTP", "FWSD", "OggS", "\x89PNG", "\xff\xd8\xff", "DDS ", "MsgStdBn",
    };
    return std::any_of(std::begin(kLeaves), std::end(kLeaves),
                       [&](std::string_view magic) { return head.starts_with(magic); });
}

namespace {

bool never(Bytes) {
    return false;
}
Result<void> read_leaf(const Blob&, Output&) {
    return {};
}

} // namespace

constexpr Reader kLeafReader = {"no shaders", never, read_leaf};

} // namespace dmsh
