// The table of formats: every reader tells what it reads, and docs/formats/README.md is what they tell.
// DMSH_UPDATE_DOCS=1 writes the page.
#include "archivers/scan/formats_page.h"
#include "archivers/scan/readers.h"
#include "tests/archivers/corpus.h"
#include "tests/writers/fixtures.h"
#include <set>

namespace dmsh {
namespace {

TEST(Formats, EveryReaderTellsWhatItReads) {
    for (const Reader* r : readers()) {
        const FormatFacts& f = r->facts;
        EXPECT_FALSE(f.name.empty() || f.magic.empty() || f.known.empty() || f.unknown.empty()) << r->format;
        EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(DMSH_SOURCE_DIR) / f.source)) << r->format << ": " << f.source;
    }
}

TEST(Formats, EveryReaderHasAFixture) {
    std::set<std::string_view> read;
    for (const writers::Fixture& f : writers::all_fixtures())
        read.insert(reader_for(f.data, f.file_name).format);
    for (const Reader* r : readers())
        EXPECT_TRUE(read.contains(r->format) || r->format == "zstd dictionary" ||
                    r->format == "cra") // known only to be refused
            << r->format << " has no fixture";
}

TEST(Formats, PageIsCurrent) {
    const std::filesystem::path page = std::filesystem::path(DMSH_SOURCE_DIR) / "docs/formats/README.md";
    if (std::getenv("DMSH_UPDATE_DOCS"))
        std::ofstream(page) << formats_page();
    const auto bytes = read_file(page);
    EXPECT_TRUE(std::string(bytes.begin(), bytes.end()) == formats_page())
        << "docs/formats/README.md is old: run `dmshc docs docs`, or this test with DMSH_UPDATE_DOCS=1";
}

} // namespace
} // namespace dmsh
