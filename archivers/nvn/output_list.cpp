// Reads files that are lists of whole GLSLC outputs: counted lists, Valve's NVSB, technique
// files. Layouts: reference/containers/misc.md, sections 4 and 14.
#include "archivers/nvn/glslc_output.h"
#include "archivers/nvn/readers.h"
#include "archivers/nvn/search.h"

namespace dmsh {
namespace {

// u32 count, then {u32 hash, u32 size, output}.
constexpr uint64_t kEntry = 8;

bool probe_list(Bytes b) {
    const uint64_t count = b.u32(0), size = b.u32(8);
    return count && b.u32(12) == kGlslcMagic && size >= kGlslcHeaderMin &&
           count <= b.size() / (kEntry + kGlslcHeaderMin) && looks_like_glslc(b.clamp(12));
}

Result<void> read_list(const Blob& in, Output& out) {
    const uint64_t count = in.bytes.u32(0);
    uint64_t at = 4;
    for (uint64_t i = 0; i < count; ++i) {
        const std::string name = "list of GLSLC outputs: entry " + std::to_string(i);
        if (!in.bytes.has(at, kEntry + kGlslcHeaderMin)) {
            out.fail("", {name + " leaves the file", {}, at});
            return {};
        }
        const Blob output = in.clamp(at + kEntry, in.bytes.u32(at + 4));
        if (const auto length = read_glslc(output, at + kEntry, out); !length)
            out.fail("", length.error());
        else if (*length != output.size())
            out.note(name + " is longer than its output");
        at += kEntry + output.size();
    }
    if (at != in.size())
        return Error{"list of GLSLC outputs does not end where the file does", {}, at};
    return {};
}

constexpr uint32_t kNvsbVersion = 0x65;
constexpr uint64_t kNvsbHeader = 0x60;

bool probe_nvsb(Bytes b) {
    return b.starts_with("NVSB");
}

Result<void> read_nvsb(const Blob& in, Output& out) {
    char hex[16];
    std::snprintf(hex, sizeof hex, "0x%x", in.bytes.u32(4));
    if (in.bytes.u32(4) != kNvsbVersion)
        return Error{std::string("NVSB: version ") + hex + " is not known"};
    const auto file = in.slice(0, in.bytes.u32(8));
    if (!file || file->size() < kNvsbHeader)
        return Error{"NVSB: its length leaves the file"};
    const auto length = read_glslc(file->clamp(kNvsbHeader), kNvsbHeader, out);
    return length ? Result<void>() : length.error();
}

bool probe_tec(Bytes b) {
    return b.starts_with(std::string_view("TEC\0", 4));
}

// Outputs stand whole behind a table of parameter names.
Result<void> read_tec(const Blob& in, Output& out) {
    return search(in, Place::data, out);
}

} // namespace

constexpr Reader kOutputListReader = {
    "glslc_list",
    probe_list,
    read_list,
    {"counted list of GLSLC outputs (`shaders.nx.bin`)",
     "u32 count, then {u32 hash, u32 size, output} with 0x19866891 at +0x0c", "archivers/nvn/output_list.cpp",
     "every output; the list ends where the file does", "what the hashes are of"}};
constexpr Reader kNvsbReader = {"nvsb",
                                probe_nvsb,
                                read_nvsb,
                                {"Source engine program (.nvsb)", "`NVSB`", "archivers/nvn/output_list.cpp",
                                 "version 0x65: one GLSLC output behind 0x60 bytes",
                                 "the header behind the length; other versions"}};
constexpr Reader kTecReader = {"tec",
                               probe_tec,
                               read_tec,
                               {"technique file (.tec)", "`TEC` and a zero", "archivers/nvn/output_list.cpp",
                                "the GLSLC outputs inside, found by their magic",
                                "the table of parameter names"}};

} // namespace dmsh
