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
        &kBnshReader,
        &kBfshaReader,
        &kBahsReader,
        &kBfresReader,
        &kVfxbReader,
        &kBeaReader,
        &kU8Reader,
        &kCraReader,
        &kGlslcReader,
        &kNsoReader,
        &kNroReader,
        &kRomfsReader,
        &kNvsbReader,
        &kTecReader,
        &kNdsrReader,
        &kViprReader,
        &kNdveReader,
        &kOffsetTableReader,
        &kOutputListReader,
        &kSearchReader,
        // clang-format on
    };
    return list;
}

const Reader& reader_for(Bytes bytes) {
    for (const Reader* r : readers())
        if (r->probe(bytes))
            return *r;
    return kSearchReader;
}

} // namespace dmsh
