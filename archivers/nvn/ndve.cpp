// Reads NDVE, the movie library's pack of NVN2 compute programs. Facts:
// reference/containers/nintendo.md, section 17.
#include "archivers/nvn/check_stage.h"
#include "archivers/nvn/ndsr.h"
#include "archivers/nvn/readers.h"
#include <map>

namespace dmsh {
namespace {

constexpr uint64_t kTable = 0x28; // records in NDSR's form, among words of other kinds

struct Named {
    uint64_t control_length = 0, code = 0, code_length = 0;
};

// Two records that can only be a program's, and lead out of the file: it was cut short.
bool names_lost_program(Bytes b, uint64_t at) {
    const NdsrRecord control = read_ndsr_record(b, at), code = read_ndsr_record(b, at + 8);
    return control.is_control() && code.type == control.type + 1 && control.length >= kNvn2ControlBytesMin &&
           code.length && control.length <= 0x1000 && code.offset >= control.offset + control.length &&
           code.offset <= control.offset + control.length + 0x1000 &&
           !b.has(control.offset, 4); // its magic would be found
}

// Control sections that a record of the header names together with their code, by offset. A record counts if
// it leads to an NVN2 control section whose code length is the next record's.
std::map<uint64_t, Named> named_programs(Bytes b, uint64_t header_end) {
    std::map<uint64_t, Named> named;
    for (uint64_t at = kTable; at + 16 <= header_end; at += 4) {
        const NdsrRecord control = read_ndsr_record(b, at), code = read_ndsr_record(b, at + 8);
        if (!control.is_control() || !code.is_code() || code.length == 0)
            continue;
        const auto c = read_control(b.clamp(control.offset));
        if (c && c->nvn2 && c->code_length == code.length)
            named.try_emplace(control.offset, Named{control.length, code.offset, code.length});
    }
    return named;
}

bool probe_ndve(Bytes b) {
    return b.starts_with("NDVE");
}

Result<void> read_ndve(const Blob& in, Output& out) {
    const Bytes b = in.bytes;
    const auto first = b.find_u32(kControlMagic, kTable);
    if (!first)
        return Error{"NDVE: it holds no control section"};
    const std::map<uint64_t, Named> named = named_programs(b, *first);
    for (uint64_t at = kTable; at + 16 <= *first; at += 4)
        if (names_lost_program(b, at))
            out.fail("", {"NDVE program of the header's table leaves the file", {}, at});
    uint64_t given = 0, covered = 0;
    for (auto at = first; at; at = b.find_u32(kControlMagic, std::max(*at + 4, covered))) {
        const auto c = read_control(b.clamp(*at));
        const std::string name = "NDVE program";
        if (!b.has(*at, kNvn2ControlBytesMin)) {
            out.fail("", {name + " is cut short", {}, *at});
            continue;
        }
        if (!c || !c->nvn2 || !c->code_length)
            continue; // four bytes of code
        std::optional<Blob> control, code;
        if (const auto n = named.find(*at); n != named.end()) {
            control = in.slice(*at, n->second.control_length);
            code = in.slice(n->second.code, n->second.code_length);
        } else if (c->code_offset >= kNvn2ControlBytesMin) {
            control = in.slice(*at, c->code_offset);
            code = in.slice(*at + c->code_offset, c->code_length);
        }
        if (!control || !code) {
            out.fail("", {name + " has no code area", {}, *at});
            continue;
        }
        given += control->size() + code->size();
        if (given > kBudgetFactor * b.size())
            return Error{"NDVE: its programs add up to more than 16 times the file", {}, *at};
        auto shader = check_stage(*control, *code, Stage::compute);
        if (!shader) {
            out.fail("", {name + ": " + shader.error().message, {}, *at});
            continue;
        }
        shader->offset = *at;
        covered = *at + shader->control.size();
        if (const auto ok = out.shader(*std::move(shader)); !ok)
            return ok.error();
    }
    return {};
}

} // namespace

constexpr Reader kNdveReader = {"ndve",
                                probe_ndve,
                                read_ndve,
                                {"NDVE pack of the movie library", "`NDVE`", "archivers/nvn/ndve.cpp",
                                 "programs whose section names its code (version 0x14) and programs that "
                                 "records of the header name (0x11)",
                                 "other words of the header"}};

} // namespace dmsh
