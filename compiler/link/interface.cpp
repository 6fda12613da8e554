// Places of bindings in the Metal argument buffer.
#include "compiler/link/interface.h"
#include <algorithm>

namespace dmsh {

bool has_combined_sampler(const Binding& b) {
    return (b.kind == BindingKind::texture || b.kind == BindingKind::texture_in_bank) && b.sampled;
}

Result<uint32_t> assign_metal_ids(ShaderInterface& interface) {
    uint64_t next = 0;
    for (Binding& b : interface.bindings) {
        const bool pool = b.kind == BindingKind::texture_pool || b.kind == BindingKind::sampler_pool;
        const uint64_t count = pool ? 1 : std::max(b.count, 1u);
        b.metal_id = b.metal_sampler_id = static_cast<uint32_t>(next);
        next += count;
        if (has_combined_sampler(b)) {
            b.metal_sampler_id = static_cast<uint32_t>(next);
            next += count;
        }
        if (next > kMaxArgumentEntries)
            return Error{"more than " + std::to_string(kMaxArgumentEntries) + " argument buffer entries"};
    }
    return static_cast<uint32_t>(next);
}

} // namespace dmsh
