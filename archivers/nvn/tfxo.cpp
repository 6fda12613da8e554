// Finds and reads YEBIS's streams. Facts: reference/containers/misc.md, section 12.
#include "archivers/nvn/tfxo.h"
#include "archivers/core/codecs.h"
#include "archivers/nvn/control_section.h"
#include "archivers/nvn/readers.h"
#include "archivers/nvn/search.h"

namespace dmsh {
namespace {

constexpr uint64_t kHead = 16, kTextBytes = 4096; // decoded of a candidate: is it a stream, is it YEBIS's
constexpr std::string_view kMark = "NVN_NX";      // in the text header: "TexUtil_NVN_NX"
constexpr uint64_t kMaxStream = 256ull << 20;     // decoded; the one known stream has 39.5 MB
// Two bytes look like a zlib header at one place in 16384. Past this many a segment is made to cost time.
constexpr uint64_t kCandidates = 4096, kBytesPerCandidate = 1024;

bool zlib_header(Bytes b, uint64_t at) {
    const uint8_t level = b.u8(at + 1);
    return b.u8(at) == 0x78 && (level == 0x01 || level == 0x5e || level == 0x9c || level == 0xda);
}

bool holds_mark(Bytes b) {
    const std::string_view text(reinterpret_cast<const char*>(b.data()), b.size());
    return text.find(kMark) != text.npos;
}

bool probe_tfxo(Bytes b) {
    return holds_mark(b.clamp(0, kTextBytes)) && b.find_u32(kControlMagic, 0);
}

Result<void> read_tfxo(const Blob& in, Output& out) {
    if (!in.bytes.find_u32(kControlMagic, 0))
        return Error{"tfxo: it holds no control section"};
    return search(in, Place::data, out);
}

} // namespace

Result<void> find_tfxo(const Segment& segment, Output& out) {
    const Bytes b = segment.bytes.bytes;
    uint64_t left = kCandidates + b.size() / kBytesPerCandidate;
    for (uint64_t at = 0; at + 2 < b.size(); ++at) {
        const void* next = std::memchr(b.data() + at, 0x78, b.size() - at);
        if (!next)
            break;
        at = static_cast<uint64_t>(static_cast<const uint8_t*>(next) - b.data());
        if (!zlib_header(b, at))
            continue;
        if (left-- == 0) {
            out.note(std::string("more zlib headers than can be tried in ") + segment.name);
            break;
        }
        const Bytes stream = b.clamp(at);
        if (peek_zlib(stream, kHead).size() < kHead || !holds_mark(peek_zlib(stream, kTextBytes).bytes))
            continue;
        char name[40];
        std::snprintf(name, sizeof name, "0x%llx.tfxo",
                      static_cast<unsigned long long>(segment.address + at));
        const auto whole = inflate_zlib(stream, kMaxStream, out.budget());
        if (!whole) {
            out.fail(name, {"tfxo: " + whole.error().message});
            continue;
        }
        if (const auto ok = out.member(name, whole->used, whole->data, &kTfxoReader); !ok)
            return ok;
        at += whole->used - 1;
    }
    return {};
}

constexpr Reader kTfxoReader = {
    "tfxo",
    probe_tfxo,
    read_tfxo,
    {"YEBIS .tfxo", "`NVN_NX` in the first 4 KiB and a control section; in executables zlib streams of that",
     "archivers/nvn/tfxo.cpp", "control sections, each followed by its code",
     "the text header: how many shaders it announces, technique names"}};

} // namespace dmsh
