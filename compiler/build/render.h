// One shader in any of the forms that `dmshc shader --emit` prints.
#pragma once
#include "compiler/build/translate.h"
#include <string_view>

namespace dmsh {

enum class Emit : uint8_t { disasm, cfg, ir_raw, ir, spirv, spirv_asm, msl, air, metallib, reflect, control };

std::optional<Emit> emit_from_name(std::string_view name); // "ir-raw", "spirv-asm", ...
std::string_view emit_names();                             // all, with '|' between them
bool emit_is_binary(Emit emit);                            // spirv, metallib

struct RenderOptions {
    Emit emit = Emit::disasm;
    Target metal_target = Target::macos;
    std::string print_after; // pass name: its IR goes to `print_to`
    std::function<void(std::string_view pass, std::string ir)> print_to = {};
};

// The bytes to write. `control` is the control section where there is one. `losses` receives what was lost on the way.
Result<std::string> render_shader(const ShaderInput& input, std::span<const uint8_t> control, const RenderOptions& options,
                                  std::vector<Loss>& losses);

// Textual IR of a shader in flight.
std::string ir_text(const ShaderModule& shader);

} // namespace dmsh
