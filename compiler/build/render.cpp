// Renders one shader as text or binary for the command line.
#include "compiler/build/render.h"
#include "archivers/pack/dump.h"
#include "compiler/emit/msl/msl.h"
#include "compiler/isa/isa.h"
#include "compiler/lift/control_flow.h"
#include "compiler/lift/lifter.h"
#include <fmt/format.h>
#include <llvm/Support/raw_ostream.h>

namespace dmsh {
namespace {

constexpr std::pair<Emit, std::string_view> kNames[] = {
    {Emit::disasm, "disasm"}, {Emit::cfg, "cfg"},           {Emit::ir_raw, "ir-raw"},   {Emit::ir, "ir"},
    {Emit::spirv, "spirv"},   {Emit::spirv_asm, "spirv-asm"}, {Emit::msl, "msl"},       {Emit::air, "air"},
    {Emit::metallib, "metallib"}, {Emit::reflect, "reflect"}, {Emit::control, "control"},
};

std::string disassembly(const ShaderInput& input) {
    const isa::Arch arch = input.arch == Arch::sm53 ? isa::Arch::sm_53 : isa::Arch::sm_86;
    std::string out;
    isa::ProgramWords words(arch, input.code);
    uint64_t lo = 0, hi = 0;
    uint32_t pc = 0, control = 0;
    while (words.next(lo, hi, pc, control)) {
        const auto instruction = isa::decode(arch, lo, hi, pc, true);
        const std::string text = instruction ? isa::disassemble(*instruction) + " ;" : "(unknown instruction)";
        if (arch == isa::Arch::sm_53)
            out += fmt::format("/*{:04x}*/  {:<60} /* 0x{:016x} */\n", pc, text, lo);
        else
            out += fmt::format("/*{:04x}*/  {:<60} /* 0x{:016x} 0x{:016x} */\n", pc, text, lo, hi);
    }
    return out;
}

std::string hex_dump(std::span<const uint8_t> bytes) {
    std::string out;
    for (size_t i = 0; i < bytes.size(); i += 16) {
        bool zero = true;
        std::string line = fmt::format("{:04x} ", i);
        for (size_t k = i; k < std::min(i + 16, bytes.size()); ++k) {
            line += fmt::format(" {:02x}", bytes[k]);
            zero = zero && bytes[k] == 0;
        }
        if (!zero)
            out += line + "\n";
    }
    return out;
}

// Control section, header and sizes as this shader was understood.
std::string control_text(const ShaderInput& input, std::span<const uint8_t> control) {
    std::string out = fmt::format("stage          {}\narch           {}\ncode bytes     {}\nc[1] bytes     {}\n",
                                  stage_name(input.stage), arch_name(input.arch), input.code.size(),
                                  input.constants.size());
    if (input.stage == Stage::compute)
        out += fmt::format("local size     {} x {} x {}\nshared bytes   {}\n", input.local_size[0], input.local_size[1],
                           input.local_size[2], input.shared_bytes);
    if (input.early_tests)
        out += "early fragment tests\n";
    if (!input.sph.empty()) {
        out += "shader program header\n";
        for (size_t i = 0; i + 4 <= input.sph.size(); i += 4)
            out += fmt::format("  word {:2}  {:02x}{:02x}{:02x}{:02x}\n", i / 4, input.sph[i + 3], input.sph[i + 2],
                               input.sph[i + 1], input.sph[i]);
    }
    if (!control.empty())
        out += fmt::format("control section, {} bytes (rows of zeros left out)\n", control.size()) + hex_dump(control);
    return out;
}

template <class T> std::string as_string(const std::vector<T>& v) {
    return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T)};
}

} // namespace

std::optional<Emit> emit_from_name(std::string_view name) {
    for (const auto& [emit, text] : kNames)
        if (text == name)
            return emit;
    return std::nullopt;
}

std::string_view emit_names() { return "disasm|cfg|ir-raw|ir|spirv|spirv-asm|msl|air|metallib|reflect|control"; }

bool emit_is_binary(Emit emit) { return emit == Emit::spirv || emit == Emit::metallib; }

std::string ir_text(const ShaderModule& shader) {
    std::string text;
    llvm::raw_string_ostream os(text);
    shader.module->print(os, nullptr);
    return os.str();
}

Result<std::string> render_shader(const ShaderInput& input, std::span<const uint8_t> control,
                                  const RenderOptions& options, std::vector<Loss>& losses) {
    switch (options.emit) {
    case Emit::disasm: return disassembly(input);
    case Emit::control: return control_text(input, control);
    case Emit::cfg: return control_flow_text(input);
    default: break;
    }
    std::string seen; // IR wanted by --emit ir and ir-raw
    bool printed = options.print_after.empty();
    std::string passes;
    TranslateOptions t{.spirv = false};
    t.observer = [&](std::string_view pass, const ShaderModule& shader) {
        passes += passes.empty() ? "" : " ";
        passes += pass;
        if (pass == options.print_after && options.print_to) {
            options.print_to(pass, ir_text(shader));
            printed = true;
        }
        const bool is_lift = pass == "lift";
        const bool is_target = pass.starts_with("legalize_");
        if ((options.emit == Emit::ir_raw && is_lift) || (options.emit == Emit::ir && !is_target))
            seen = ir_text(shader);
    };
    switch (options.emit) {
    case Emit::spirv:
    case Emit::spirv_asm: t.spirv = true; break;
    case Emit::msl:
        t.msl = true;
        t.msl_target = options.metal_target;
        break;
    case Emit::metallib:
    case Emit::air: t.metal_targets = {options.metal_target}; break;
    default: break;
    }
    if (options.emit == Emit::air) {
        // The text of the one function; translate() keeps only the container.
        auto lifted = lift(input);
        if (!lifted)
            return lifted.error();
        if (auto r = run_passes(*lifted, t.observer); !r)
            return r.error();
        losses = lifted->losses;
        if (auto r = legalize_metal(*lifted); !r)
            return r.error();
        t.observer("legalize_metal", *lifted);
        auto function = emit_air(*lifted, options.metal_target, true);
        if (!function)
            return function.error();
        return function->text;
    }
    auto translation = translate(input, t);
    if (!translation) {
        // The raw IR of a shader that a later step refuses is what its author wants to see.
        if (options.emit == Emit::ir_raw && !seen.empty())
            return seen;
        return translation.error();
    }
    losses = translation->losses;
    if (!printed)
        return Error{fmt::format("no pass '{}' ran; passes: {}", options.print_after, passes)};
    switch (options.emit) {
    case Emit::ir:
    case Emit::ir_raw: return seen;
    case Emit::spirv: return as_string(translation->spirv);
    case Emit::spirv_asm: return disassemble_spirv(translation->spirv);
    case Emit::msl: return translation->msl;
    case Emit::metallib: return as_string(translation->metallibs.at(0));
    case Emit::reflect: {
        ProgramReflection r{.interface = translation->interface,
                            .entry = "main0",
                            .constants = {input.constants.begin(), input.constants.end()},
                            .losses = {},
                            .origin = {}};
        for (const Loss& loss : losses)
            r.losses.push_back(fmt::format("L{:04} at 0x{:x}: {}", loss.code, loss.pc, loss.text));
        return reflection_json(r) + "\n";
    }
    default: break;
    }
    return Error{"not an output"};
}

} // namespace dmsh
