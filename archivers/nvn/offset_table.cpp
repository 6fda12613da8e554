// Reads pairs behind a table of four offsets, as open-source ports keep them: two control sections, then
// their code areas in the same order.
#include "archivers/nvn/check_stage.h"
#include "archivers/nvn/readers.h"

namespace dmsh {
namespace {

constexpr uint64_t kTable = 16;

// Table words: control sections at +0 and +4, code areas at +8 and +0xc, all counted from the file's start.
bool probe_offset_table(Bytes b) {
    const uint32_t first = b.u32(0), second = b.u32(4);
    return first == kTable && second > first && b.u32(8) > second && b.u32(12) > b.u32(8) &&
           b.u32(first) == kControlMagic && b.u32(second) == kControlMagic;
}

Result<void> read_offset_table(const Blob& in, Output& out) {
    const uint32_t program = out.new_program();
    for (int i = 0; i < 2; ++i) {
        const uint64_t control_at = in.bytes.u32(4 * i), code_at = in.bytes.u32(8 + 4 * i);
        const std::string name = "offset table: pair " + std::to_string(i);
        const auto c = read_control(in.bytes.clamp(control_at));
        if (!c)
            return Error{name + ": " + c.error().message, {}, control_at};
        const auto control = in.slice(control_at, c->own_length), code = in.slice(code_at, c->code_length);
        if (!control || !code)
            return Error{name + " leaves the file", {}, control_at};
        auto shader = check_stage(*control, *code, std::nullopt);
        if (!shader)
            return Error{name + ": " + shader.error().message, {}, control_at};
        shader->offset = control_at;
        shader->program = program;
        if (const auto ok = out.shader(*std::move(shader)); !ok)
            return ok;
    }
    return {};
}

} // namespace

constexpr Reader kOffsetTableReader = {
    "offset_table",
    probe_offset_table,
    read_offset_table,
    {"pair behind a table of offsets", "u32 x4 with 0x10 first, control sections where the first two lead",
     "archivers/nvn/offset_table.cpp", "two control sections and their code areas, in the table's order",
     "tables of more than two stages"}};

} // namespace dmsh
