// Loads shaders for single commands.
#include "compiler/build/shader_source.h"
#include "compiler/build/exit_codes.h"
#include "compiler/build/files.h"
#include "compiler/build/library_build.h"
#include "runtime/abi/program_key.h"
#include <fmt/format.h>

namespace dmsh {
namespace {

// Bytes of the program header that stands before graphics code.
size_t header_bytes(Arch arch, Stage stage) { return stage == Stage::compute ? 0 : arch == Arch::sm53 ? 0x50 : 0x80; }

Error with_code(Error e, int code) {
    e.code = static_cast<uint16_t>(code);
    return e;
}

} // namespace

std::optional<std::string> option_fault(const ShaderSource& s) {
    if (!guest_abi_by_name(s.abi))
        return fmt::format("guest ABI '{}' is none of nvn, cuda, nvk, headsurface", s.abi);
    if (!s.stage.empty() && !stage_from_name(s.stage))
        return fmt::format("stage '{}' is none of vertex, tess_control, tess_evaluation, geometry, fragment, compute, task, mesh", s.stage);
    if (!s.key.empty() && (s.key.size() != 16 || s.key.find_first_not_of("0123456789abcdef") != std::string::npos))
        return fmt::format("key '{}' is not 16 hexadecimal digits", s.key);
    if (s.raw && s.arch != "sm53" && s.arch != "sm86")
        return fmt::format("arch '{}' is neither sm53 nor sm86", s.arch);
    if (s.raw && s.stage.empty())
        return "--raw needs --stage";
    return std::nullopt;
}

Result<LoadedShader> load_raw(const ShaderSource& s) {
    auto file = read_file(s.path);
    if (!file)
        return with_code(file.error(), kExitInput);
    LoadedShader out;
    out.origin = s.path;
    ShaderInput& input = out.input;
    if (!s.constants.empty()) {
        auto c = read_file(s.constants);
        if (!c)
            return with_code(c.error(), kExitInput);
        auto constants = std::make_shared<const std::vector<uint8_t>>(*std::move(c));
        input.constants = *constants;
        out.owners.push_back(constants);
    }
    auto bytes = std::make_shared<const std::vector<uint8_t>>(*std::move(file));
    out.owners.push_back(bytes);
    input.arch = s.arch == "sm53" ? Arch::sm53 : Arch::sm86;
    input.stage = *stage_from_name(s.stage);
    const size_t header = header_bytes(input.arch, input.stage);
    if (bytes->size() <= header)
        return with_code(Error{fmt::format("{} bytes are no code behind a header of {}", bytes->size(), header), s.path}, kExitInput);
    input.sph = std::span(*bytes).first(header);
    input.code = std::span(*bytes).subspan(header);
    for (size_t i = 0; i < s.local_size.size() && i < 3; ++i)
        input.local_size[i] = s.local_size[i];
    input.shared_bytes = s.shared_bytes;
    input.local_bytes = s.local_bytes;
    input.abi = guest_abi_by_name(s.abi);
    input.float_mode = s.exact ? FloatMode::exact : FloatMode::ship;
    return out;
}

Result<LoadedShader> load_record(const ShaderSource& s, const ShaderRecord& record) {
    auto kept = std::make_shared<ShaderRecord>(record);
    auto prepared = prepare_program(kept->control.bytes, kept->code.bytes);
    if (!prepared) {
        Error e = prepared.error();
        e.origin = record.origin;
        if (!e.code)
            e.code = static_cast<uint16_t>(LossCode::not_code);
        return e;
    }
    auto program = std::make_shared<PreparedProgram>(*std::move(prepared));
    Profile profile;
    profile.abi = guest_abi_by_name(s.abi)->id;
    LoadedShader out;
    out.origin = record.origin;
    out.key = key_text(record.key);
    out.input = shader_input(*program, profile, record.key, record.origin, s.exact ? FloatMode::exact : FloatMode::ship);
    out.owners = {kept, program};
    return out;
}

bool selects(const ShaderSource& s, const ShaderRecord& r) {
    return (s.key.empty() || key_text(r.key) == s.key) && (s.stage.empty() || stage_name(r.stage) == s.stage);
}

} // namespace dmsh
