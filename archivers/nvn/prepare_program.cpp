// Prepares a record for lifting.
#include "archivers/nvn/prepare_program.h"
#include "archivers/nvn/vertex_ab.h"

namespace dmsh {

Result<PreparedProgram> prepare_program(Bytes control, Bytes code) {
    const auto c = read_control(control);
    if (!c)
        return c.error();
    const auto area = layout_code(*c, code);
    if (!area)
        return area.error();
    PreparedProgram p;
    p.stage = area->stage;
    p.arch = area->arch;
    p.constants = code.clamp(area->constants, area->constants_end - area->constants);
    if (area->two_part) {
        const auto part = [&](int i) { return code.clamp(area->parts[i].sph_offset, area->parts[i].length); };
        for (int i = 0; i < 2; ++i)
            if (const auto ok = check_program_start(p.arch, part(i).clamp(kSphBytes3)); !ok)
                return ok.error();
        auto merged = merge_vertex_parts(part(0), part(1));
        if (!merged)
            return merged.error();
        p.owned = std::make_shared<const std::vector<uint8_t>>(*std::move(merged));
        p.sph_bytes = Bytes(*p.owned).clamp(0, kSphBytes3);
        p.instructions = Bytes(*p.owned).clamp(kSphBytes3);
        p.merged = true;
    } else {
        p.sph_bytes = code.clamp(area->sph, area->sph_bytes);
        p.instructions = code.clamp(area->program, area->constants - area->program);
        if (const auto ok = check_program_start(p.arch, p.instructions); !ok)
            return ok.error();
    }
    if (area->graphics) {
        const auto sph = read_sph(p.sph_bytes);
        if (!sph)
            return sph.error();
        p.sph = *sph;
        p.local_bytes = p.sph.local_bytes();
        p.early_tests = p.stage == Stage::fragment && c->early_tests && !p.sph.depth_output;
    } else {
        p.local_bytes = c->local_bytes;
        p.layout = c->layout;
    }
    if (p.stage == Stage::compute || p.stage == Stage::task || p.stage == Stage::mesh)
        p.local_size = c->group;
    if (p.stage == Stage::compute)
        p.shared_bytes = c->shared_bytes;
    if (p.stage == Stage::mesh && c->has_primitive_sph) {
        const auto header = code.slice(c->primitive_sph, kSphBytes4);
        if (!header)
            return Error{"per-primitive shader program header lies outside the code area"};
        p.primitive_sph = *header;
    }
    return p;
}

} // namespace dmsh
