// The page docs/formats/README.md, made from the readers' own facts.
#pragma once
#include <string>

namespace dmsh {

// Markdown: one row per format in order of detection, with magic, reader file, what is known and unknown.
std::string formats_page();

} // namespace dmsh
