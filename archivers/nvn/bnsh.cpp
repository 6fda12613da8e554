// Reads BNSH. Layout: reference/containers/nintendo.md, section 3.
#include "archivers/nvn/bnsh.h"
#include "archivers/nvn/check_stage.h"
#include <set>

namespace dmsh {
namespace {

constexpr uint64_t kVariation = 0x40, kProgram = 0x80, kStageRecord = 0x40;

struct Slot {
    unsigned number; // as errors name it
    uint64_t offset; // of the pointer in the program record
    std::optional<Stage> stage;
};
constexpr Slot kSlots[] = {
    {0, 0x08, Stage::vertex},   {1, 0x10, Stage::tess_control}, {2, 0x18, Stage::tess_evaluation},
    {3, 0x20, Stage::geometry}, {4, 0x28, Stage::fragment},     {5, 0x30, Stage::compute},
    {6, 0x38, std::nullopt},    {7, 0x40, std::nullopt},        {8, 0x48, std::nullopt}};

class BnshReader {
  public:
    BnshReader(const Blob& file, uint64_t where, Output& out, std::string_view owner)
        : file_(file), where_(where), out_(out), owner_(owner), named_(file.size()) {}

    Result<void> variations() {
        const Bytes b = file_.bytes;
        const uint64_t count = b.u32(0x7c), table = b.u64(0x80);
        if (count && (!b.has(table, 0) || count > (b.size() - table) / kVariation))
            return bad("the variation table leaves the file");
        uint64_t without_code = 0;
        for (uint64_t i = 0; i < count; ++i) {
            const uint64_t record = table + i * kVariation, binary = b.u64(record + 0x10);
            // Source and intermediate programs: text for the console's own compiler.
            without_code += !binary && (b.u64(record) || b.u64(record + 0x08));
            if (!binary || !programs_.insert(binary).second)
                continue;
            if (programs_.size() > b.size() / kProgram)
                return bad("more programs than the file can hold");
            if (!b.has(binary, kProgram))
                return bad("variation " + std::to_string(i) + ": its program leaves the file");
            if (const auto ok = program(i, binary); !ok)
                return ok;
        }
        for (FoundShader& s : stages_) // only now: a file that is refused gives nothing
            if (const auto ok = out_.shader(std::move(s)); !ok)
                return ok;
        if (without_code)
            out_.note("BNSH: " + std::to_string(without_code) +
                      " variations hold source or intermediate programs, no machine code");
        return {};
    }

  private:
    Error bad(const std::string& what) const { return {"BNSH: " + what, {}, where_}; }

    Result<void> program(uint64_t variation, uint64_t at) {
        uint32_t group = 0;
        unsigned stages = 0; // bit per stage
        for (const Slot& slot : kSlots) {
            const uint64_t record = file_.bytes.u64(at + slot.offset);
            if (!record)
                continue;
            auto found = stage(variation, slot, record);
            if (!found)
                return found.error();
            if (!*found)
                continue;
            const unsigned bit = 1u << static_cast<unsigned>((*found)->stage);
            if (stages & bit) {
                out_.fail("", bad("variation " + std::to_string(variation) + ": a second stage " +
                                  std::string(stage_name((*found)->stage))));
                continue;
            }
            stages |= bit;
            if (!group)
                group = out_.new_program();
            (*found)->program = group;
            stages_.push_back(std::move(**found));
        }
        return {};
    }

    // Nothing: the slot holds no stage (or one that was reported and left out).
    Result<std::optional<FoundShader>> stage(uint64_t variation, const Slot& slot, uint64_t record) {
        const Bytes b = file_.bytes;
        const std::string name = "variation " + std::to_string(variation) + ": ";
        const std::string stage_text =
            slot.stage ? std::string(stage_name(*slot.stage)) : std::to_string(slot.number);
        const std::string leaves = name + "stage " + stage_text + " leaves the file";
        const bool optional = !slot.stage; // before NVN2 these words are something else
        if (!b.has(record, kStageRecord))
            return optional ? Result<std::optional<FoundShader>>(std::nullopt) : bad(leaves);
        const uint64_t code_length = b.u32(record + 0x18), control_length = b.u32(record + 0x1c);
        const auto control = file_.slice(b.u64(record + 0x08), control_length);
        const auto code = file_.slice(b.u64(record + 0x10), code_length);
        if (optional) {
            const auto c = control ? read_control(control->bytes) : Error{""};
            if (!c || !c->nvn2)
                return std::optional<FoundShader>();
            const auto holds = static_cast<Stage>(c->stage);
            if (holds != Stage::task && holds != Stage::mesh)
                return bad("slot " + stage_text + " holds stage " + std::to_string(c->stage));
        }
        if (!control || !code)
            return bad(leaves);
        if (!named_.add(*control, *code))
            return bad("its stages add up to more than 16 times the file");
        auto shader = check_stage(*control, *code, slot.stage);
        if (!shader) {
            out_.fail("", bad(name + "stage " + stage_text + ": " + shader.error().message));
            return std::optional<FoundShader>();
        }
        shader->offset = where_ + static_cast<uint64_t>(control->bytes.data() - b.data());
        shader->label =
            (owner_.empty() ? "" : std::string(owner_) + " ") + "variation " + std::to_string(variation);
        return std::optional(*std::move(shader));
    }

    const Blob& file_;
    uint64_t where_;
    Output& out_;
    std::string_view owner_;
    NamedBytes named_;
    std::set<uint64_t> programs_;
    std::vector<FoundShader> stages_;
};

} // namespace

bool looks_like_bnsh(Bytes b) {
    return b.u32(0) == kBnshMagic && b.u32(4) == 0 && b.starts_with("grsc", 0x60);
}

Result<uint64_t> read_bnsh(const Blob& in, uint64_t where, Output& out, std::string_view owner) {
    if (!looks_like_bnsh(in.bytes))
        return Error{"BNSH: no grsc block", {}, where};
    const uint64_t size = in.bytes.u32(0x1c);
    const auto file = in.slice(0, size);
    if (!file || size < kBnshHeader)
        return Error{"BNSH: its length leaves the file", {}, where};
    if (in.bytes.u16(0x0c) != 0xfeff)
        return Error{"BNSH: big-endian files are not read", {}, where};
    if (const auto ok = BnshReader(*file, where, out, owner).variations(); !ok)
        return ok.error();
    return size;
}

} // namespace dmsh
