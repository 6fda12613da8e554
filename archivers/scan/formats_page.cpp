// Writes the table of formats.
#include "archivers/scan/formats_page.h"
#include "archivers/scan/readers.h"

namespace dmsh {
namespace {

// A '|' would end the table cell.
std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

} // namespace

std::string formats_page() {
    std::string out = "# Formats\n\n"
                      "Written by `dmshc docs docs` from the readers; the tests check that it is current. Rows are in order of "
                      "detection: the first that a file's bytes fit reads it. [containers.md](../containers.md) has the rules "
                      "that all of them keep.\n\n"
                      "| format | in reports | known by | reader | what is read | what is not known or not read |\n"
                      "| --- | --- | --- | --- | --- | --- |\n";
    for (const Reader* r : readers()) {
        const FormatFacts& f = r->facts;
        out += "| " + cell(f.name) + " | `" + cell(r->format) + "` | " + cell(f.magic) + " | `" + cell(f.source) + "` | " +
               cell(f.known) + " | " + cell(f.unknown) + " |\n";
    }
    return out;
}

} // namespace dmsh
