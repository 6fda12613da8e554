// Runs `dmshc shader`: raw code, or a shader out of a file that the scan reads.
#include "compiler/build/shader_file.h"
#include "archivers/scan/scan.h"
#include "compiler/build/exit_codes.h"
#include "compiler/build/files.h"
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

void print_record(const ShaderRecord& r) {
    std::printf("%s  %-15s %-5s %8llu  %s\n", key_text(r.key).c_str(), std::string(stage_name(r.stage)).c_str(),
                std::string(arch_name(r.arch)).c_str(), static_cast<unsigned long long>(r.code.size()), r.origin.c_str());
}

} // namespace

int show_shader(const ShaderFileOptions& o) {
    const auto emit = emit_from_name(o.emit);
    if (!emit)
        return fail(kExitUsage, fmt::format("--emit {} is none of {}", o.emit, emit_names()));
    if (const auto fault = option_fault(o))
        return fail(kExitUsage, *fault);
    if (o.metal_target != "macos" && o.metal_target != "ios")
        return fail(kExitUsage, fmt::format("--target {} is neither macos nor ios", o.metal_target));
    if (!o.print_after.empty() && (*emit == Emit::disasm || *emit == Emit::cfg || *emit == Emit::control))
        return fail(kExitUsage, fmt::format("--print-after needs a form that runs passes, not {}", o.emit));
    if (o.raw) {
        const auto shader = load_raw(o);
        return shader ? render(o, shader->input, {}, *emit) : fail(shader.error().code, shader.error().text());
    }

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
        if (selects(o, r))
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
    const auto shader = load_record(o, record);
    if (!shader)
        return fail(kExitLosses, fmt::format("L{:04} {}", shader.error().code, shader.error().text()));
    return render(o, shader->input, {record.control.bytes.data(), record.control.bytes.size()}, *emit);
}

} // namespace dmsh
