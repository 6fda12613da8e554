// Reads GLSLC outputs through their section headers, both header forms.
#include "archivers/nvn/glslc_output.h"
#include "archivers/nvn/check_stage.h"
#include <cstdio>

namespace dmsh {
namespace {

// The two header forms (sections-and-keys.md, "GLSLC output").
struct Form {
    bool nvn2;
    uint32_t total, count, sections, stride;
};
constexpr Form kNvn = {false, 0x44, 0x4c, 0x90, 0x90};
constexpr Form kNvn2 = {true, 0x5c, 0x64, 0xa8, 0x98};

constexpr uint32_t kGpuCode = 0; // section type
constexpr uint32_t kNoStage = 6; // stage words past NVN's six say nothing

const Form* form_of(Bytes b) {
    if (b.u32(0) != kGlslcMagic)
        return nullptr;
    if (b.u32(0x18) == 1)
        return &kNvn;
    return b.u32(0x30) == kNvn2Major ? &kNvn2 : nullptr;
}

Error bad(const std::string& what, uint64_t where) {
    char buf[40];
    std::snprintf(buf, sizeof buf, "GLSLC output @0x%llx: ", static_cast<unsigned long long>(where));
    return {buf + what, {}, where};
}

struct Ranges {
    Blob control, code;
};

// Control and code by the four words at `fields`; nothing if they leave the section.
std::optional<Ranges> by_fields(const Blob& payload, Bytes header, uint32_t fields) {
    const uint64_t control_at = header.u32(fields), code_at = header.u32(fields + 4);
    const uint64_t code_length = header.u32(fields + 8), control_length = header.u32(fields + 12);
    const auto control = payload.slice(control_at, control_length);
    const auto code = payload.slice(code_at, code_length);
    if (!control || !code || code->bytes.empty() || control->size() < 0x20)
        return std::nullopt;
    return Ranges{*control, *code};
}

// The second header form moved some words: the place is the one whose words lead to a control section that
// names that much code. Last resort: the first control section of the payload that says where its code is.
std::optional<Ranges> nvn2_ranges(const Blob& payload, Bytes header) {
    for (const uint32_t fields : {0x30u, 0x38u}) {
        const auto r = by_fields(payload, header, fields);
        if (r && r->control.bytes.u32(0) == kControlMagic && r->control.bytes.u32(0x44) == r->code.size())
            return r;
    }
    const auto at = payload.bytes.find_u32(kControlMagic, 0);
    if (!at)
        return std::nullopt;
    const auto control = read_control(payload.bytes.clamp(*at));
    if (!control || !control->nvn2 || control->code_offset < kNvn2ControlBytesMin)
        return std::nullopt;
    const auto code = payload.slice(*at + control->code_offset, control->code_length);
    if (!code)
        return std::nullopt;
    return Ranges{payload.clamp(*at, control->code_offset), *code};
}

} // namespace

bool looks_like_glslc(Bytes b) {
    return form_of(b) != nullptr;
}

Result<uint64_t> read_glslc(const Blob& in, uint64_t where, Output& out) {
    const Form* form = form_of(in.bytes);
    if (!form)
        return bad("unknown GPU code version", where);
    const uint64_t total = in.bytes.u32(form->total), count = in.bytes.u32(form->count);
    const auto whole = in.slice(0, total);
    if (!whole || total < form->sections)
        return bad("its length leaves the file", where);
    if (count > (total - form->sections) / form->stride)
        return bad("its section headers leave the output", where);
    std::vector<FoundShader> stages;
    uint64_t given = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const Bytes header = whole->bytes.clamp(form->sections + i * form->stride, form->stride);
        const auto payload = whole->slice(header.u32(4), header.u32(0));
        if (!payload)
            return bad("section " + std::to_string(i) + " leaves the output", where);
        if (header.u32(8) != kGpuCode)
            continue;
        const auto ranges = form->nvn2 ? nvn2_ranges(*payload, header) : by_fields(*payload, header, 0x30);
        if (!ranges)
            return bad("section " + std::to_string(i) + ": control section or code leaves the section",
                       where);
        given += ranges->control.size() + ranges->code.size();
        if (given > kBudgetFactor * total)
            return bad("its stages add up to more than 16 times the output", where);
        auto shader = check_stage(ranges->control, ranges->code, std::nullopt);
        if (!shader)
            return bad("section " + std::to_string(i) + ": " + shader.error().message, where);
        // Of the two the program header is right; the section's word is known from one source only.
        const uint32_t stage = header.u32(0x2c);
        if (!form->nvn2 && stage < kNoStage && static_cast<Stage>(stage) != shader->stage)
            out.note("GLSLC section " + std::to_string(i) + " says " +
                     std::string(stage_name(static_cast<Stage>(stage))) + ", its program is " +
                     std::string(stage_name(shader->stage)));
        shader->offset = where + static_cast<uint64_t>(ranges->control.bytes.data() - in.bytes.data());
        stages.push_back(*std::move(shader));
    }
    if (stages.empty())
        return bad("it holds no GPU code", where);
    const uint32_t program = out.new_program();
    for (FoundShader& s : stages) {
        s.program = program;
        s.cover = stages.size() == 1;
        if (const auto ok = out.shader(std::move(s)); !ok)
            return ok.error();
    }
    return total;
}

} // namespace dmsh
