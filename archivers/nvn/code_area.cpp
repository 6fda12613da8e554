// Lays out code areas.
#include "archivers/nvn/code_area.h"
#include <cstdio>

namespace dmsh {
namespace {

constexpr uint32_t kHeader = 0x30;          // graphics header; its SPH follows
constexpr uint32_t kComputeProgram = 0x100; // instructions behind a compute header
constexpr uint64_t kExit = 0xe30000000007000f;
// A branch to itself; the second form stands in a group's last slot, where the next instruction is 16 bytes
// on.
constexpr uint64_t kBranchSelf = 0xe2400fffff87000f;
constexpr uint64_t kBranchSelfLast = 0xe2400fffff07000f;

std::string hex(const char* before, uint64_t value, const char* after = "") {
    char buf[32];
    std::snprintf(buf, sizeof buf, "0x%llx", static_cast<unsigned long long>(value));
    return std::string(before) + buf + after;
}

// 21 bits of control per instruction; barrier index 6 does not exist (7 = none).
bool scheduling_word(uint64_t w) {
    if (w >> 63)
        return false;
    for (unsigned i = 0; i < 3; ++i) {
        const uint64_t c = w >> (21 * i);
        if ((c >> 5 & 7) == 6 || (c >> 8 & 7) == 6)
            return false;
    }
    return true;
}

// S-017: both parts named by the control section lie in the code, B behind A and at +0x700 behind 0x30 zero
// bytes.
bool names_two_parts(const ControlSection& c, Bytes code) {
    const VertexPart &a = c.vertex_parts[0], &b = c.vertex_parts[1];
    for (const VertexPart& p : {a, b})
        if (p.length <= kSphBytes3 || p.length % 8 != 0 || !code.has(p.sph_offset, p.length))
            return false;
    if (a.sph_offset != kHeader || uint64_t{b.sph_offset} != uint64_t{c.constants_offset} + kHeader ||
        c.constants_offset < uint64_t{a.sph_offset} + a.length || !code.all_zero(c.constants_offset, kHeader))
        return false;
    const auto sph = read_sph(code.clamp(b.sph_offset, b.length));
    return sph && sph->version == 3 && sph->shader_type == 1;
}

Result<CodeArea> layout_nvn(const ControlSection& c, Bytes code) {
    CodeArea area;
    area.arch = Arch::sm53;
    area.constants_end = c.code_length;
    const uint32_t magic = code.u32(0);
    if (magic == kGraphicsCodeMagic) {
        const auto sph = read_sph(code.clamp(kHeader));
        if (!sph)
            return sph.error();
        if (sph->version != 3)
            return Error{"shader program header of another generation than the control section"};
        area.graphics = true;
        area.stage = sph->stage;
        area.sph = kHeader;
        area.sph_bytes = sph->bytes;
        area.program = kHeader + sph->bytes;
        if (sph->shader_type == 0 && names_two_parts(c, code)) {
            area.two_part = true;
            area.parts = c.vertex_parts;
            area.constants = area.parts[1].sph_offset + area.parts[1].length;
            return area;
        }
    } else {
        area.stage = Stage::compute;
        if (!c.group_plausible())
            return Error{magic == kComputeCodeMagic ? "compute code with an impossible thread group"
                                                    : "neither a code magic nor a plausible thread group"};
        if (magic == kComputeCodeMagic) {
            area.program = kComputeProgram;
            if (!code.has(0, kComputeProgram))
                return Error{"compute code ends before its instructions"};
            if (!code.all_zero(kHeader, kComputeProgram - kHeader))
                return Error{"padding before the compute instructions is not zero"};
        }
    }
    area.constants = c.constants_offset;
    if (!c.constants_offset && !c.constants_length) // a program without constants need not say where they are
        area.constants = area.constants_end;
    if (area.constants > area.constants_end || area.constants < area.program)
        return Error{hex("constants at code offset ", area.constants, " lie outside the code area")};
    return area;
}

Result<CodeArea> layout_nvn2(const ControlSection& c, Bytes code) {
    CodeArea area;
    area.arch = Arch::sm86;
    if (c.stage >= kStageCount)
        return Error{"control section: unknown stage " + std::to_string(c.stage)};
    area.stage = static_cast<Stage>(c.stage);
    area.constants = area.constants_end = c.code_length;
    const uint32_t magic = code.u32(0);
    if (area.stage == Stage::compute) {
        area.program = magic == kComputeCodeMagic ? kComputeProgram : 0;
        if (!code.has(area.program, 16))
            return Error{"compute code ends before its instructions"};
        if (area.program && !code.all_zero(kHeader, kComputeProgram - kHeader))
            return Error{"padding before the compute instructions is not zero"};
        return area;
    }
    area.graphics = true;
    area.sph = magic == kGraphicsCodeMagic ? kHeader : 0;
    const auto sph = read_sph(code.clamp(area.sph));
    if (!sph)
        return sph.error();
    if (sph->version != 4)
        return Error{"shader program header of another generation than the control section"};
    const bool any_type = area.stage == Stage::task || area.stage == Stage::mesh;
    if (!any_type && sph->stage != area.stage)
        return Error{"control section says " + std::string(stage_name(area.stage)) +
                     ", shader program header " + std::string(stage_name(sph->stage))};
    area.sph_bytes = sph->bytes;
    area.program = area.sph + sph->bytes;
    if (area.program > area.constants_end)
        return Error{"graphics code ends before its instructions"};
    return area;
}

} // namespace

Result<CodeArea> layout_code(const ControlSection& c, Bytes code) {
    if (!c.code_length || code.size() != c.code_length)
        return Error{hex("control section names ", c.code_length, " bytes of code") +
                     hex(", there are ", code.size())};
    return c.nvn2 ? layout_nvn2(c, code) : layout_nvn(c, code);
}

Result<void> check_program_start(Arch arch, Bytes in) {
    if (arch == Arch::sm86) {
        for (uint64_t at = 0; in.has(at, 16); at += 16)
            if ((in.u32(at) & 0xfff) == 0x94d)
                return {};
        return Error{"no EXIT in an instruction slot: not the start of a program"};
    }
    uint64_t end = 0;
    for (uint64_t at = 0; in.has(at, 8); at += 8) {
        const uint64_t w = in.u64(at);
        if (w != kExit && w != kBranchSelf && w != kBranchSelfLast)
            continue;
        if (at % 32 == 0)
            return Error{hex("EXIT or a branch to itself at ", at, " where a scheduling word belongs")};
        end = at;
    }
    if (!end)
        return Error{"no EXIT in an instruction slot: not the start of a program"};
    for (uint64_t at = 0; at < end; at += 32)
        if (!scheduling_word(in.u64(at)))
            return Error{hex("no scheduling word at ", at, ": not the start of a program")};
    return {};
}

} // namespace dmsh
