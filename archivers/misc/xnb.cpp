// Reads XNB files: XNA's and MonoGame's content, of which effects hold shaders. Layout:
// reference/containers/misc.md, section 10.
#include "archivers/core/codecs.h"
#include "archivers/misc/readers.h"
#include "archivers/nvn/mgfx.h"

namespace dmsh {
namespace {

constexpr uint64_t kHeader = 10, kCompressedHeader = 14;
constexpr uint8_t kLzx = 0x80, kLz4 = 0x40;

bool probe_xnb(Bytes b) {
    return b.starts_with("XNB") && (b.u8(4) == 4 || b.u8(4) == 5) && b.u8(3) >= 'A' && b.u8(3) <= 'z';
}

Result<Blob> body_of(const Blob& in, Output& out) {
    const uint64_t length = in.bytes.u32(6);
    const uint8_t flags = in.bytes.u8(5);
    const bool packed = flags & (kLzx | kLz4);
    const auto file = in.slice(0, length);
    if (!file || length < (packed ? kCompressedHeader : kHeader))
        return Error{"XNB: its length leaves the file"};
    if (!packed)
        return file->clamp(kHeader);
    const Bytes data = file->bytes.clamp(kCompressedHeader);
    const uint64_t size = in.bytes.u32(kHeader);
    auto body =
        flags & kLzx ? decode_lzx(data, size, out.budget()) : decode_lz4_block(data, size, out.budget());
    if (!body)
        return Error{"XNB: " + body.error().message};
    return body;
}

// 7 bits a byte, the lowest first. Nothing past five bytes.
std::optional<uint64_t> seven_bits(Bytes b, uint64_t& at) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 35 && b.has(at, 1); shift += 7) {
        const uint8_t byte = b.u8(at++);
        v |= uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80)
            return v;
    }
    return std::nullopt;
}

// Where the payload of an effect begins; nothing if the asset is of another type; an error if the body's head
// cannot be read.
Result<std::optional<uint64_t>> effect_payload(Bytes b) {
    const Error bad = {"XNB: the list of its readers is none"};
    uint64_t at = 0;
    const auto readers = seven_bits(b, at);
    if (!readers || *readers > b.size() / 5) // text length and version of each
        return bad;
    std::vector<bool> effect;
    for (uint64_t i = 0; i < *readers; ++i) {
        const auto length = seven_bits(b, at);
        if (!length || !b.has(at, *length + 4))
            return bad;
        const std::string_view name(reinterpret_cast<const char*>(b.data()) + at, *length);
        if (name.empty() ||
            !std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; }))
            return bad;
        effect.push_back(name.find("Content.EffectReader") != name.npos);
        at += *length + 4;
    }
    const auto shared = seven_bits(b, at), type = shared ? seven_bits(b, at) : std::nullopt;
    if (!type || *type > effect.size())
        return bad;
    return *type && effect[*type - 1] ? std::optional(at) : std::nullopt;
}

Result<void> read_xnb(const Blob& in, Output& out) {
    const auto body = body_of(in, out);
    if (!body)
        return body.error();
    const auto payload = effect_payload(body->bytes);
    if (!payload)
        return payload.error();
    if (!*payload)
        return {};
    const uint64_t at = **payload + 4;
    const auto effect = body->slice(at, body->bytes.u32(**payload));
    if (!effect)
        return Error{"XNB: its effect leaves the file"};
    if (effect->bytes.u32(0) != kMgfxMagic) {
        out.note("an XNB effect of another kind than MGFX holds no NVN shader");
        return {};
    }
    const auto length = read_mgfx(*effect, at, out);
    if (!length)
        return length.error();
    // Version 5's length runs past the effect, over zeros; version 8's does not.
    if (effect->bytes.u8(4) == 8 ? *length != effect->size()
                                 : !effect->bytes.all_zero(*length, effect->size() - *length))
        return Error{"MGFX effect does not end where the file does", {}, at + *length};
    return {};
}

} // namespace

constexpr Reader kXnbReader = {
    "xnb",
    probe_xnb,
    read_xnb,
    {"XNA and MonoGame content (.xnb)", "`XNB`, version 4 or 5", "archivers/misc/xnb.cpp",
     "effects, plain, LZX and LZ4; their MGFX to its end", "assets of other types hold no shader"}};

} // namespace dmsh
