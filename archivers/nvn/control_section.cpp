// Reads control sections. Offsets: reference/requirements/sections-and-keys.md and nvn-binaries.md,
// section 3.
#include "archivers/nvn/control_section.h"

namespace dmsh {

bool ControlSection::own_length_valid() const {
    if (nvn2)
        return own_length >= kNvn2ControlBytesMin && own_length % 4 == 0;
    return own_length >= kControlBytesMin && own_length % 4 == 0;
}

bool ControlSection::group_plausible() const {
    uint64_t threads = 1;
    for (const uint32_t n : group) {
        if (n < 1 || n > 1024)
            return false;
        threads *= n;
    }
    return threads <= 1024;
}

Result<ControlSection> read_control(Bytes b) {
    if (b.u32(0) != kControlMagic)
        return Error{"control section: wrong magic"};
    ControlSection c;
    c.version_major = b.u32(4);
    c.version_minor = b.u32(8);
    c.nvn2 = c.version_major == kNvn2Major;
    if (!b.has(0, c.nvn2 ? kNvn2ControlBytesMin : kControlBytesMin))
        return Error{"control section: cut short"};
    if (c.nvn2) {
        // Version 0x11 has no code offset; what lies at +0x30 then is something else.
        c.code_offset = c.version_minor >= 0x14 ? b.u32(0x30) : 0;
        c.own_length = c.code_offset;
        c.code_length = b.u32(0x44);
        c.stage = b.u8(0x56);
        c.group = {b.u16(0x58), 1, 1};
        c.payload_bytes = b.u16(0x5a);
        c.has_task = b.u8(0x5e);
        c.max_vertices = b.u16(0x60);
        c.max_primitives = b.u16(0x62);
        c.primitive_sph = b.u32(0x64);
        c.has_primitive_sph = b.u8(0x68) & 0x80;
        const bool reaches = c.code_offset == 0 || c.code_offset >= 0xbc;
        if (c.stage == static_cast<uint8_t>(Stage::compute) && reaches && b.has(0, 0xbc) && b.u16(0xba)) {
            const ComputeLayout layout{b.u8(0xa9), b.u8(0xb1), b.u8(0xb2), b.u8(0xb3),
                                       b.u8(0xb4), b.u8(0xb5), b.u8(0xb6)};
            if (layout.end() != b.u16(0xba))
                return Error{"control section: the compute layout's length does not agree with its counts"};
            c.layout = layout;
        }
        return c;
    }
    c.text_length = b.u32(0x18);
    c.own_length = b.u32(0x20);
    c.program_length = b.u32(0x6f8);
    c.constants_length = b.u32(0x6fc);
    c.constants_offset = b.u32(0x700);
    c.code_length = b.u32(0x704);
    c.program_offset = b.u32(0x708);
    c.registers = b.u32(0x70c);
    c.scratch_per_warp = b.u32(0x710);
    c.early_tests = b.u8(0x718);
    c.group = {b.u32(0x748), b.u32(0x74c), b.u32(0x750)};
    c.vertex_parts[0] = {b.u32(0x748), b.u32(0x74c)};
    c.vertex_parts[1] = {b.u32(0x754), b.u32(0x758)};
    c.shared_bytes = b.u32(0x754);
    const uint64_t local = uint64_t{b.u32(0x758)} + b.u32(0x75c);
    c.local_bytes = local <= 0xffffffff ? static_cast<uint32_t>(local) : 0xffffffff;
    // Sections without room for the extra words have none; 0 outside the view.
    if (c.own_length >= 0x7f4) {
        c.extra_offset = b.u32(0x7e8);
        c.extra_length = b.u32(0x7ec);
    }
    return c;
}

uint64_t control_stride(const ControlSection& c) {
    if (!c.own_length_valid())
        return 0;
    uint64_t end = c.own_length;
    if (c.extra_length && c.extra_offset >= kControlBytesMin)
        end = std::max(end, uint64_t{c.extra_offset} + c.extra_length);
    if (c.text_length)
        end = (end + 7) / 8 * 8;
    return end;
}

} // namespace dmsh
