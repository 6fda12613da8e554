// Runs `dmshc shader`: raw code, or a shader out of a file that the scan reads.
#include "compiler/build/shader_file.h"
#include "archivers/nvn/prepare_program.h"
#include "archivers/scan/scan.h"
#include "compiler/build/exit_codes.h"
#include "compiler/build/files.h"
#include "compiler/build/library_build.h"
#include "runtime/abi/program_key.h"
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace dmsh {
namespace {

int fail(int code, const std::string& message) {
    std::fprintf(stderr, "dmshc shader: %s\n", message.c_str());
    return code;
}

int render(const ShaderFileOptions& o, const ShaderInput& input, std::span<const uint8_t> control, Emit emit) {
    RenderOptions r;
    r.emit = emit;
    r.metal_target = o.metal_target == "ios" ? Target::ios : Target::macos;
    r.print_after = o.print_after;
    r.print_to = [](std::string_view pass, std::string ir) {
        std::fprintf(stderr, "; after %s\n%s", std::string(pass).c_str(), ir.c_str());
    };
    std::vector<Loss> losses;
    const auto text = render_shader(input, control, r, losses);
    if (!text) {
        Error e = text.error();
        e.origin = o.path;
        return fail(e.code ? kExitLosses : kExitUsage, e.code ? fmt::format("L{:04} {}", e.code, e.text()) : e.text());
    }
    const std::string output = o.output.empty() ? "-" : o.output;
    if (output == "-" && emit_is_binary(emit) && isatty(1))
        return fail(kExitUsage, "binary output to a terminal; give -o FILE");
    if (auto w = write_file(output, *text); !w)
        return fail(kExitOutput, w.error().text());
    for (const Loss& loss : losses)
        std::fprintf(stderr, "dmshc shader: L%04u at 0x%x: %s\n", loss.code, loss.pc, loss.text.c_str());
    return losses.empty() ? kExitDone : kExitLosses;
}

// Bytes of the program header that stands before graphics code.
size_t header_bytes(Arch arch, Stage stage) { return stage == Stage::compute ? 0 : arch == Arch::sm53 ? 0x50 : 0x80; }

int show_raw(const ShaderFileOptions& o, const GuestAbi& abi, Emit emit) {
    if (o.arch != "sm53" && o.arch != "sm86")
        return fail(kExitUsage, fmt::format("arch '{}' is neither sm53 nor sm86", o.arch));
    const auto stage = stage_from_name(o.stage);
    if (!stage)
        return fail(kExitUsage, "--raw needs --stage");
    auto file = read_file(o.path);
    if (!file)
        return fail(kExitInput, file.error().text());
    std::vector<uint8_t> constants;
    if (!o.constants.empty()) {
        auto c = read_file(o.constants);
        if (!c)
            return fail(kExitInput, c.error().text());
        constants = *std::move(c);
    }
    ShaderInput input;
    input.arch = o.arch == "sm53" ? Arch::sm53 : Arch::sm86;
    input.stage = *stage;
    const std::span<const uint8_t> bytes(*file);
    const size_t header = header_bytes(input.arch, input.stage);
    if (bytes.size() <= header)
        return fail(kExitInput, fmt::format("{}: {} bytes are no code behind a header of {}", o.path, bytes.size(), header));
    input.sph = bytes.first(header);
    input.code = bytes.subspan(header);
    input.constants = constants;
    for (size_t i = 0; i < o.local_size.size() && i < 3; ++i)
        input.local_size[i] = o.local_size[i];
    input.shared_bytes = o.shared_bytes;
    input.local_bytes = o.local_bytes;
    input.abi = &abi;
    input.float_mode = o.exact ? FloatMode::exact : FloatMode::ship;
    return render(o, input, {}, emit);
}

void print_record(const ShaderRecord& r) {
    std::printf("%s  %-15s %-5s %8llu  %s\n", key_text(r.key).c_str(), std::string(stage_name(r.stage)).c_str(),
                std::string(arch_name(r.arch)).c_str(), static_cast<unsigned long long>(r.code.size()), r.origin.c_str());
}

} // namespace

int show_shader(const ShaderFileOptions& o) {
    const auto emit = emit_from_name(o.emit);
    if (!emit)
        return fail(kExitUsage, fmt::format("--emit {} is none of {}", o.emit, emit_names()));
    const GuestAbi* abi = guest_abi_by_name(o.abi);
    if (!abi)
        return fail(kExitUsage, fmt::format("guest ABI '{}' is none of nvn, cuda, nvk, headsurface", o.abi));
    if (o.metal_target != "macos" && o.metal_target != "ios")
        return fail(kExitUsage, fmt::format("--target {} is neither macos nor ios", o.metal_target));
    if (!o.stage.empty() && !stage_from_name(o.stage))
        return fail(kExitUsage, fmt::format("stage '{}' is none of vertex, tess_control, tess_evaluation, geometry, fragment, compute, "
                                            "task, mesh",
                                            o.stage));
    if (!o.key.empty() && (o.key.size() != 16 || o.key.find_first_not_of("0123456789abcdef") != std::string::npos))
        return fail(kExitUsage, fmt::format("key '{}' is not 16 hexadecimal digits", o.key));
    if (!o.print_after.empty() && (*emit == Emit::disasm || *emit == Emit::cfg || *emit == Emit::control))
        return fail(kExitUsage, fmt::format("--print-after needs a form that runs passes, not {}", o.emit));
    if (o.raw)
        return show_raw(o, *abi, *emit);

    ScanOptions scan_options;
    scan_options.paths = {o.path};
    const auto found = scan(scan_options);
    if (!found)
        return fail(kExitInput, found.error().text());
    for (const Error& e : found->errors)
        std::fprintf(stderr, "dmshc shader: %s\n", e.text().c_str());
    if (o.list) {
        for (const ShaderRecord& r : found->records)
            print_record(r);
        if (!found->errors.empty())
            return kExitInput;
        return found->records.empty() ? fail(kExitNoShader, o.path + ": no shader") : kExitDone;
    }
    std::vector<const ShaderRecord*> matching;
    for (const ShaderRecord& r : found->records)
        if ((o.key.empty() || key_text(r.key) == o.key) && (o.stage.empty() || stage_name(r.stage) == o.stage))
            matching.push_back(&r);
    if (matching.empty())
        return fail(found->errors.empty() ? kExitNoShader : kExitInput,
                    fmt::format("{}: no shader{}", o.path, o.key.empty() ? "" : " of key " + o.key));
    if (matching.size() > 1) {
        for (const ShaderRecord* r : matching)
            print_record(*r);
        return fail(kExitUsage, fmt::format("{}: {} shaders; choose with --key or --stage", o.path, matching.size()));
    }
    const ShaderRecord& record = *matching[0];
    const auto prepared = prepare_program(record.control.bytes, record.code.bytes);
    if (!prepared) {
        Error e = prepared.error();
        e.origin = record.origin;
        return fail(kExitLosses, fmt::format("L{:04} {}", static_cast<unsigned>(e.code ? e.code : static_cast<uint16_t>(LossCode::not_code)), e.text()));
    }
    Profile profile;
    profile.abi = abi->id;
    const ShaderInput input =
        shader_input(*prepared, profile, record.key, record.origin, o.exact ? FloatMode::exact : FloatMode::ship);
    return render(o, input, {record.control.bytes.data(), record.control.bytes.size()}, *emit);
}

} // namespace dmsh
