// BAHS: agl's compiled shader archives (.sharcb). Layout: reference/containers/nintendo.md, section 6.
#include "archivers/nintendo/readers.h"
#include "archivers/nvn/check_stage.h"
#include <algorithm>

namespace dmsh {
namespace {

constexpr uint64_t kStrings = 0x150;   // the string table; the header before it
constexpr uint64_t kVariation = 0x20;  // its fields up to the control section's place
constexpr uint64_t kProgram = 0x10;    // its fields before the name
constexpr uint64_t kNameMax = 512;     // what labels show of a name
constexpr uint32_t kOldestVersion = 9; // before, archives hold no NVN code
constexpr uint32_t kVertex = 0, kPixel = 1;

struct Program {
    std::string name;
    uint64_t base = 0; // its first variation
};

bool probe_bahs(Bytes b) {
    return b.starts_with("BAHS");
}

class BahsReader {
  public:
    BahsReader(const Blob& in, Output& out) : in_(in), b_(in.bytes), out_(out), named_(in.size()) {}

    Result<void> read() {
        if (!b_.has(0, kStrings))
            return Error{"BAHS: header is cut short"};
        if (b_.u32be(0x0c) == 1)
            return Error{"BAHS: big-endian archives are not read"};
        const uint32_t version = b_.u32(0x04);
        if (b_.u32(0x0c) != 1 || version < kOldestVersion)
            return Error{"BAHS: version " + std::to_string(version) + " is not known"};
        if (!b_.has(0, b_.u32(0x08)))
            return Error{"BAHS: its length leaves the file"};
        const auto code = in_.slice(b_.u32(0x1c), b_.u32(0x18));
        if (!code)
            return Error{"BAHS: the code region leaves the file"};
        code_ = *code;
        tables_ = kStrings + b_.u32(0x14);
        if (!b_.has(tables_, 8))
            return Error{"BAHS: the tables leave the file"};
        if (const auto ok = find_variations(); !ok)
            return ok;
        find_programs();
        for (uint64_t i = 0; i < variations_.size(); ++i)
            if (const auto ok = variation(i); !ok)
                return ok;
        for (FoundShader& s : stages_) // only now: a file that is refused gives nothing
            if (const auto ok = out_.shader(std::move(s)); !ok)
                return ok;
        return {};
    }

  private:
    Result<void> find_variations() {
        const uint64_t count = b_.u32(tables_ + 4);
        uint64_t at = tables_ + 8;
        if (count > (b_.size() - at) / kVariation)
            return Error{"BAHS: the variations leave the file"};
        for (uint64_t i = 0; i < count; ++i) {
            const uint64_t length = b_.u32(at);
            if (length < kVariation || !b_.has(at, length))
                return Error{"BAHS: variation " + std::to_string(i) + " leaves the file", {}, at};
            variations_.push_back(at);
            at += length;
        }
        return {};
    }

    // Names and pairs. Without them the shaders are as good.
    void find_programs() {
        const uint64_t table = tables_ + b_.u32(tables_);
        const uint64_t count = b_.u32(table + 4);
        uint64_t at = table + 8;
        bool fits = b_.has(table, 8) && count <= (b_.size() - at) / kProgram;
        for (uint64_t i = 0; fits && i < count; ++i) {
            const uint64_t length = b_.u32(at), name = b_.u32(at + 4);
            const int32_t base = static_cast<int32_t>(b_.u32(at + 0x0c));
            fits = length >= kProgram && b_.has(at, length) && name <= length - kProgram;
            if (fits && base >= 0 && static_cast<uint64_t>(base) < variations_.size())
                programs_.push_back({std::string(b_.text(at + kProgram, std::min(name, kNameMax))),
                                     static_cast<uint64_t>(base)});
            at += length;
        }
        if (!fits) {
            programs_.clear();
            out_.note("BAHS: the table of programs does not fit; its shaders have no names and pairs");
        }
        std::stable_sort(programs_.begin(), programs_.end(),
                         [](const Program& a, const Program& b) { return a.base < b.base; });
    }

    // The program that variation i belongs to, or nullptr. Asked with rising numbers.
    const Program* program_of(uint64_t i) {
        while (next_program_ < programs_.size() && programs_[next_program_].base <= i)
            ++next_program_;
        return next_program_ ? &programs_[next_program_ - 1] : nullptr;
    }

    Result<void> variation(uint64_t i) {
        const uint64_t at = variations_[i], entry = at + 0x10;
        const uint32_t tag = b_.u32(at + 4), code_offset = b_.u32(entry);
        const int64_t control_at = static_cast<int64_t>(entry) + static_cast<int32_t>(b_.u32(entry + 0x0c));
        const auto outside = [&] {
            return Error{"BAHS entry " + std::to_string(i) + " points outside the file", {}, entry};
        };
        const auto control =
            control_at < 0 ? std::nullopt : in_.slice(static_cast<uint64_t>(control_at), b_.u32(entry + 8));
        if (!control)
            return outside();
        const Program* program = program_of(i);
        const std::string label =
            (program && !program->name.empty() ? program->name + " " : "") + "variation " + std::to_string(i);
        const auto wrong = [&](const std::string& what) {
            out_.fail("", {"BAHS: " + label + ": " + what, {}, entry});
            return Result<void>();
        };
        const auto c = read_control(control->bytes);
        if (!c)
            return wrong(c.error().message);
        const auto code = code_.slice(code_offset, c->code_length);
        if (!code)
            return outside();
        if (!named_.add(*control, *code))
            return Error{"BAHS: its stages add up to more than 16 times the file"};
        auto shader = check_stage(*control, *code,
                                  tag == kVertex  ? std::optional(Stage::vertex)
                                  : tag == kPixel ? std::optional(Stage::fragment)
                                                  : std::nullopt);
        if (!shader)
            return wrong(shader.error().message);
        shader->offset = static_cast<uint64_t>(control_at);
        shader->label = label;
        link(i, program, tag, *shader);
        stages_.push_back(*std::move(shader));
        return {};
    }

    // A program's variations come two by two: vertex, then pixel, of one combination of its macros.
    void link(uint64_t i, const Program* program, uint32_t tag, FoundShader& shader) {
        if (!program)
            return;
        const bool first = (i - program->base) % 2 == 0;
        if (first && tag == kVertex) {
            pair_first_ = i;
            pair_ = out_.new_program(Evidence::listed);
            shader.program = pair_;
        } else if (!first && tag == kPixel && pair_ && pair_first_ + 1 == i) {
            shader.program = pair_;
        }
    }

    const Blob& in_;
    Bytes b_;
    Output& out_;
    NamedBytes named_;
    Blob code_;
    uint64_t tables_ = 0; // where their offsets count from
    std::vector<uint64_t> variations_;
    std::vector<Program> programs_; // by base
    size_t next_program_ = 0;
    uint32_t pair_ = 0;
    uint64_t pair_first_ = 0; // variation that opened it
    std::vector<FoundShader> stages_;
};

Result<void> read_bahs(const Blob& in, Output& out) {
    return BahsReader(in, out).read();
}

} // namespace

constexpr Reader kBahsReader = {"bahs",
                                probe_bahs,
                                read_bahs,
                                {"agl shader archive (.sharcb)", "`BAHS`", "archivers/nintendo/bahs.cpp",
                                 "entries of version 9 and later, shared control sections, pairs by program",
                                 "symbols and macros; stage numbers past pixel (the program itself tells)"}};

} // namespace dmsh
