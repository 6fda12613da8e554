// Rewrites execution modes of SPIR-V modules. The numbers are those of the SPIR-V specification; the runtime builds
// without its headers.
#include "runtime/abi/stage_state.h"
#include <algorithm>

namespace dmsh {
namespace {

constexpr size_t kHeaderWords = 5;
constexpr uint32_t kOpExtension = 10, kOpEntryPoint = 15, kOpCapability = 17, kOpTypeFloat = 22;
constexpr uint32_t kVersion14 = 0x00010400; // float controls are core from here on
// The capability's number is 5 above the mode's for signed zeros, infinities and NaNs; 5 for rounding too.
constexpr uint32_t kSignedZeroInfNanPreserve = 4461, kRoundingModeRte = 4462, kCapabilityAboveMode = 5;
constexpr uint32_t kOpExecutionMode = 16, kOpSpecConstant = 50, kOpDecorate = 71, kSpecId = 1;
// ExecutionMode.
constexpr uint32_t kSpacingEqual = 1, kSpacingFractionalEven = 2, kSpacingFractionalOdd = 3, kClockwise = 4,
                   kCounterClockwise = 5, kPointMode = 10;
constexpr uint32_t kInputPoints = 19, kInputLines = 20, kInputLinesAdjacency = 21, kTriangles = 22,
                   kInputTrianglesAdjacency = 23, kQuads = 24, kIsolines = 25;

// Calls `visit(opcode, operands)` for every instruction, until a malformed one.
template <class Words, class Visit> void each_instruction(Words words, Visit visit) {
    for (size_t i = kHeaderWords; i < words.size();) {
        const size_t n = words[i] >> 16;
        if (n == 0 || i + n > words.size())
            return;
        visit(words[i] & 0xffff, words.subspan(i + 1, n - 1));
        i += n;
    }
}

} // namespace

std::vector<uint32_t> with_input_primitive(std::span<const uint32_t> words, uint32_t vertices) {
    std::vector<uint32_t> out(words.begin(), words.end());
    const uint32_t mode = vertices == 1   ? kInputPoints
                          : vertices == 2 ? kInputLines
                          : vertices == 3 ? kTriangles
                          : vertices == 4 ? kInputLinesAdjacency
                          : vertices == 6 ? kInputTrianglesAdjacency
                                          : 0;
    if (!mode)
        return out;
    uint32_t constant = 0; // id of the specialization constant
    each_instruction(std::span(out), [&](uint32_t op, std::span<uint32_t> w) {
        if (op == kOpExecutionMode && w.size() == 2 && w[1] >= kInputPoints && w[1] <= kInputTrianglesAdjacency)
            w[1] = mode;
        if (op == kOpDecorate && w.size() == 3 && w[1] == kSpecId && w[2] == kInputVerticesSpecId)
            constant = w[0];
        if (op == kOpSpecConstant && w.size() == 3 && constant && w[1] == constant)
            w[2] = vertices;
    });
    return out;
}

std::vector<uint32_t> with_tess_mode(std::span<const uint32_t> words, const TessMode& mode) {
    std::vector<uint32_t> out;
    out.reserve(words.size() + 3);
    out.assign(words.begin(), words.begin() + static_cast<ptrdiff_t>(std::min(words.size(), kHeaderWords)));
    constexpr uint32_t kDomains[] = {0, kTriangles, kQuads, kIsolines};
    constexpr uint32_t kSpacings[] = {kSpacingEqual, kSpacingFractionalOdd, kSpacingFractionalEven};
    each_instruction(words, [&](uint32_t op, std::span<const uint32_t> w) {
        const bool is_mode = op == kOpExecutionMode && w.size() == 2;
        if (is_mode && w[1] == kPointMode)
            return; // set again below
        out.push_back(static_cast<uint32_t>(w.size() + 1) << 16 | op);
        out.insert(out.end(), w.begin(), w.end());
        if (!is_mode)
            return;
        uint32_t& m = out.back();
        if (m == kTriangles || m == kQuads || m == kIsolines) {
            if (mode.domain != TessDomain::unknown)
                m = kDomains[static_cast<unsigned>(mode.domain)];
            if (mode.points)
                out.insert(out.end(), {3u << 16 | kOpExecutionMode, w[0], kPointMode});
        } else if (m >= kSpacingEqual && m <= kSpacingFractionalOdd) {
            m = kSpacings[static_cast<unsigned>(mode.spacing)];
        } else if (m == kClockwise || m == kCounterClockwise) {
            m = mode.clockwise ? kClockwise : kCounterClockwise;
        }
    });
    return out;
}

std::vector<uint32_t> with_float_controls(std::span<const uint32_t> words, const FloatControls& controls) {
    uint8_t declared = 0;
    std::vector<uint32_t> entries;
    each_instruction(words, [&](uint32_t op, std::span<const uint32_t> w) {
        if (op == kOpTypeFloat && w.size() >= 2)
            declared |= w[1] == 16 ? 1 : w[1] == 32 ? 2 : w[1] == 64 ? 4 : 0;
        if (op == kOpEntryPoint && w.size() >= 2)
            entries.push_back(w[1]);
    });
    struct Mode {
        uint32_t mode;
        uint8_t widths;
    };
    const Mode modes[] = {{kSignedZeroInfNanPreserve, static_cast<uint8_t>(controls.signed_zero_inf_nan & declared)},
                          {kRoundingModeRte, static_cast<uint8_t>(controls.round_to_nearest & declared)}};
    std::vector<uint32_t> out;
    out.assign(words.begin(), words.begin() + static_cast<ptrdiff_t>(std::min(words.size(), kHeaderWords)));
    if (entries.empty() || (!modes[0].widths && !modes[1].widths))
        return {words.begin(), words.end()};
    for (const Mode& m : modes)
        if (m.widths)
            out.insert(out.end(), {2u << 16 | kOpCapability, m.mode + kCapabilityAboveMode});
    bool extension = words[1] < kVersion14;
    size_t seen = 0;
    each_instruction(words, [&](uint32_t op, std::span<const uint32_t> w) {
        if (extension && op != kOpCapability) {
            // "SPV_KHR_float_controls" and its terminating zeros.
            out.insert(out.end(), {7u << 16 | kOpExtension, 0x5f565053, 0x5f52484b, 0x616f6c66, 0x6f635f74, 0x6f72746e, 0x0000736c});
            extension = false;
        }
        out.push_back(static_cast<uint32_t>(w.size() + 1) << 16 | op);
        out.insert(out.end(), w.begin(), w.end());
        if (op != kOpEntryPoint || ++seen != entries.size())
            return;
        for (const Mode& m : modes)
            for (const uint32_t entry : entries)
                for (uint32_t k = 0; k < 3; ++k)
                    if (m.widths >> k & 1)
                        out.insert(out.end(), {4u << 16 | kOpExecutionMode, entry, m.mode, 16u << k});
    });
    return out;
}

} // namespace dmsh
