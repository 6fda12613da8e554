// The list of passes.
#include "compiler/passes/pipeline.h"
#include "compiler/passes/passes.h"

namespace dmsh {
namespace {

struct Pass {
    const char* name;
    Result<void> (*run)(ShaderModule&);
};

constexpr Pass kPasses[] = {
    {"fold_constants", fold_constants},   // c[1] at constant offsets
    {"map_compute_layout", map_compute_layout}, // NVN2's c[0] onto the tables of the guest ABI
    {"resolve_generic", resolve_generic}, // addresses in windows of shared or local memory
    {"lower_barriers", lower_barriers},   // reductions at barriers
    {"resolve_vertices", resolve_vertices}, // of geometry and tessellation, so that equal reads show
    {"cleanup", cleanup},                 // repeated operations, unreachable blocks
    {"resolve_guarded_selects", resolve_guarded_selects},
    {"simplify_perspective", simplify_perspective},
    {"make_derivatives", make_derivatives},
    {"trace_handles", trace_handles},             // textures, samplers, images
    {"global_to_storage", global_to_storage},     // storage buffers
    {"emit_passthrough", emit_passthrough},
    {"remove_dead_code", remove_dead_code},       // so that words only addresses were made of bind nothing
    {"raw_memory", raw_memory},                   // what no buffer stands behind
    {"bind_constant_banks", bind_constant_banks}, // uniform buffers and driver words
    {"merge_switches", merge_switches},           // of accesses that choose alike
    {"float_values", float_values},               // types for merged registers
    {"fill_interface", fill_interface},
};

} // namespace

Result<void> run_passes(ShaderModule& shader, const PassObserver& observer) {
    for (const Pass& pass : kPasses) {
        if (auto r = pass.run(shader); !r)
            return r;
#ifndef NDEBUG
        // What the emitters write is checked by validators of its own, and LLVM's verifier takes a tenth of a
        // shader's time: builds with assertions name the pass at fault.
        if (auto r = verify_shader(shader, false); !r)
            return Error{std::string(pass.name) + ": " + r.error().message};
#endif
        if (observer)
            observer(pass.name, shader);
    }
    return verify_dictionary(shader, true);
}

} // namespace dmsh
