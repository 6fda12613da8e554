// VFXB: particle effects (.ptcl, .esetb, .sesetlist) with a shader file for graphics and one for compute.
// Layout: reference/containers/nintendo.md, section 5.
#include "archivers/nintendo/readers.h"
#include "archivers/nvn/search.h"
#include <set>

namespace dmsh {
namespace {

constexpr uint64_t kHeader = 0x20, kSection = 0x20;
constexpr uint32_t kNone = 0xffffffff;

bool probe_vfxb(Bytes b) {
    return b.starts_with("VFXB    ");
}

class VfxbReader {
  public:
    VfxbReader(const Blob& in, Output& out) : in_(in), out_(out) {}

    // The section at `first` and those that follow it; `children`: of the graphics shaders.
    Result<void> chain(uint64_t first, bool children = false) {
        const Bytes b = in_.bytes;
        for (uint64_t at = first;;) {
            if (!b.has(at, kSection))
                return Error{"VFXB: a section leaves the file"};
            if (!seen_.insert(at).second)
                return Error{"VFXB: sections form a circle"};
            const bool graphics = b.starts_with("GRSN", at);
            if (graphics || b.starts_with("GRSC", at)) {
                if (const auto ok = shaders(at); !ok)
                    return ok;
                if (const uint32_t child = b.u32(at + 0x08); graphics && !children && child != kNone)
                    if (const auto ok = chain(at + child, true); !ok)
                        return ok;
            }
            const uint32_t next = b.u32(at + 0x0c);
            if (next == kNone)
                return {};
            at += next;
        }
    }

    std::span<const ReadRange> read() const { return read_; }

  private:
    Result<void> shaders(uint64_t at) {
        const Bytes b = in_.bytes;
        const std::string tag(b.text(at, 4));
        const uint64_t size = b.u32(at + 0x04), binary = b.u32(at + 0x14);
        if (!size || binary == kNone)
            return {};
        const auto file = in_.slice(at + binary, size);
        if (!file)
            return Error{"VFXB: the shaders of section " + tag + " leave the file"};
        read_.push_back({at + binary, at + binary + size});
        return out_.member(tag, size, *file);
    }

    const Blob& in_;
    Output& out_;
    std::set<uint64_t> seen_;
    std::vector<ReadRange> read_;
};

Result<void> read_vfxb(const Blob& in, Output& out) {
    const Bytes b = in.bytes;
    if (!b.has(0, kHeader) || !b.has(0, b.u32(0x1c)))
        return Error{"VFXB: its length leaves the file"};
    if (b.u16(0x0c) != 0xfeff)
        return Error{"VFXB: big-endian files are not read"};
    VfxbReader sections(in, out);
    if (const auto ok = sections.chain(b.u16(0x16)); !ok)
        return ok;
    return search(in, Place::data, out, sections.read());
}

} // namespace

constexpr Reader kVfxbReader = {
    "vfxb",
    probe_vfxb,
    read_vfxb,
    {"VFXB effects (.ptcl, .esetb, .sesetlist)", "`VFXB` and four spaces", "archivers/nintendo/vfxb.cpp",
     "graphics and compute shaders of the sections GRSN and GRSC; the rest is searched", "other sections"}};

} // namespace dmsh
