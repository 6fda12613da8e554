// Reads single-stage binaries. Layout: reference/containers/misc.md, section 5.
#include "archivers/nvn/viper_binary.h"
#include "archivers/nvn/check_stage.h"
#include "archivers/nvn/glslc_output.h"

namespace dmsh {
namespace {

// Magic, code length, control length, 0, 64-bit hash; then the code area, then the control section.
constexpr uint64_t kHeader = 0x18;

} // namespace

bool may_be_viper_binary(Bytes b) {
    return b.has(0, kHeader) && b.u32(0) == kGlslcMagic && b.u32(4) && b.u32(8) && b.u32(12) == 0;
}

bool looks_like_viper_binary(Bytes b) {
    if (!may_be_viper_binary(b))
        return false;
    const uint64_t control = kHeader + b.u32(4);
    return b.has(control, b.u32(8)) && b.u32(control) == kControlMagic && b.u32(control + 4) == kNvn2Major;
}

Result<uint64_t> read_viper_binary(const Blob& in, uint64_t where, Output& out) {
    const uint64_t code_length = in.bytes.u32(4), control_length = in.bytes.u32(8);
    const auto code = in.slice(kHeader, code_length);
    const auto control = in.slice(kHeader + code_length, control_length);
    if (!code || !control)
        return Error{"single-stage binary: its lengths leave the file", {}, where};
    auto shader = check_stage(*control, *code, std::nullopt);
    if (!shader)
        return Error{"single-stage binary: " + shader.error().message, {}, where};
    shader->offset = where + kHeader + code_length;
    shader->cover = true; // stages are bound one by one when something is drawn
    if (const auto ok = out.shader(*std::move(shader)); !ok)
        return ok.error();
    return kHeader + code_length + control_length;
}

} // namespace dmsh
