// GLSL sources among a game's files: shaders that it compiles while it runs, which no container holds (A-064,
// G-001).
#include "archivers/misc/readers.h"

namespace dmsh {
namespace {

constexpr uint64_t kSample = 4096; // that must be text: encrypted sources have the same names

// Nothing in the bytes of a short source tells its language, so the name counts too (A-104's exception).
bool source_name(std::string_view name) {
    return name.ends_with(".vert") || name.ends_with(".frag");
}

bool is_text(Bytes b) {
    const Bytes head = b.clamp(0, kSample);
    return !head.empty() && std::all_of(head.span().begin(), head.span().end(), [](uint8_t c) {
        return c >= 0x20 ? c != 0x7f : c == '\t' || c == '\r' || c == '\n';
    });
}

Result<void> read_source(const Blob&, Output& out) {
    out.note("GLSL that the game compiles while it runs: its shaders are in no file");
    return {};
}

} // namespace

constexpr Reader kGlslTextReader = {
    "glsl",
    is_text,
    read_source,
    {"GLSL source", "names ending in .vert and .frag whose first 4 KiB are text",
     "archivers/misc/glsl_text.cpp", "noted: the game compiles it while it runs", "nothing"},
    false,
    source_name};

} // namespace dmsh
