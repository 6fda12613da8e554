// The list of readers: adding a container is a reader file, a line here, a writer and a test.
#pragma once
#include "archivers/core/reader.h"
#include <span>

namespace dmsh {

// In order of detection: the first whose probe accepts the bytes reads them. The last one takes everything.
std::span<const Reader* const> readers();

// The reader for these bytes; `name` for the few formats that nothing in their bytes tells.
const Reader& reader_for(Bytes bytes, std::string_view name = {});

// Does the start of a packed member prove that no shader can follow? True only for formats that hold nothing
// but their own data (pictures, sound, text); what is unknown, or can hold files, is decoded.
bool cannot_hold_shaders(Bytes head);
// Reads nothing: stands for the members that are not decoded.
extern const Reader kLeafReader;

} // namespace dmsh
