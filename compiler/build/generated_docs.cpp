// Makes the pages of docs/ that come from tables.
#include "compiler/build/generated_docs.h"
#include "archivers/scan/formats_page.h"
#include "compiler/build/exit_codes.h"
#include "compiler/build/files.h"
#include "compiler/isa/isa.h"
#include "compiler/lift/intrinsics.h"
#include "compiler/lift/ampere/table.h"
#include "compiler/lift/maxwell/table.h"
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>

namespace dmsh {
namespace {

constexpr const char* kNote = "Written by `dmshc docs docs` from the table in the source; the tests check that it is current.\n\n";

// A '|' would end the table cell.
std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

std::string losses_page() {
    std::string out = std::string("# Losses and refusals\n\n") + kNote +
                      "A refused shader is in no pack (or not in the pack of the one target that refuses it); a loss is something of a built "
                      "shader that could not be proven right. Both make `dmshc build` exit with 3.\n\n| code | meaning |\n| --- | --- |\n";
#define DMSH_LOSS(code, name, meaning) out += fmt::format("| L{:04} | {} |\n", code, cell(meaning));
#include "compiler/lift/losses.def"
    return out;
}

std::string type_text(char code) {
    switch (code) {
    case 'v': return "void";
    case 'b': return "i1";
    case 'B': return "i8";
    case 'H': return "i16";
    case 'i': return "i32";
    case 'l': return "i64";
    case 'h': return "half";
    case 'f': return "float";
    case 'd': return "double";
    case 'F': return "<4 x float>";
    case 'I': return "<4 x i32>";
    }
    return "?";
}

std::string intrinsics_page() {
    constexpr const char* classes[] = {"pure", "read", "effect", "lanes"};
    std::string out = std::string("# The dmsh.* dictionary\n\n") + kNote +
                      "Everything in our IR that is not plain LLVM arithmetic. Classes: *pure* depends on operands and on things constant during the "
                      "invocation; *read* may see stores; *effect* changes memory, outputs or the invocation's state; *lanes* depends on which lanes "
                      "are active. *raw* intrinsics are gone after the passes, *bound* ones exist only after them.\n\n"
                      "| name | signature | class | meaning |\n| --- | --- | --- | --- |\n";
    for (unsigned i = 0; i < static_cast<unsigned>(Intrinsic::count); ++i) {
        const IntrinsicInfo& info = intrinsic_info(static_cast<Intrinsic>(i));
        std::string operands;
        for (const char* p = info.operands; *p; ++p)
            operands += (operands.empty() ? "" : ", ") + type_text(*p);
        out += fmt::format("| `{}` | {} ({}) | {} | {} |\n", info.name, type_text(info.result), operands,
                           classes[static_cast<unsigned>(info.cls)], cell(info.meaning));
    }
    return out;
}

// How far a mnemonic gets beyond decoding.
std::string lift_support(Arch arch, isa::Op op) {
    switch ((arch == Arch::sm53 ? maxwell::lift_entry(op) : ampere::lift_entry(op)).kind) {
    case LiftKind::pure:
    case LiftKind::branch: return "translated";
    case LiftKind::flow: return "translated (control flow)";
    case LiftKind::refused: return "refused by name";
    case LiftKind::missing: break;
    }
    return "missing";
}

std::string coverage_page(std::string_view title, Arch arch, std::span<const isa::Row> rows) {
    struct Entry {
        unsigned encodings = 0;
        std::set<std::string> forms;
    };
    std::map<std::string, std::pair<isa::Op, Entry>> by_name;
    for (const isa::Row& row : rows) {
        auto& [op, entry] = by_name[std::string(isa::op_name(row.op))];
        op = row.op;
        ++entry.encodings;
        entry.forms.insert(std::string(isa::form_name(row.form)));
    }
    unsigned translated = 0;
    std::string body;
    for (const auto& [name, value] : by_name) {
        const std::string support = lift_support(arch, value.first);
        translated += support.starts_with("translated");
        std::string forms;
        for (const std::string& f : value.second.forms)
            forms += (forms.empty() ? "" : ", ") + f;
        body += fmt::format("| {} | {} | {} | {} |\n", name, value.second.encodings, forms, cell(support));
    }
    return fmt::format("# {}\n\n{}All {} mnemonics decode and disassemble; {} are translated. \"translated\" means that a lifting function "
                       "exists; a form or modifier that it does not know is still refused by name.\n\n"
                       "| mnemonic | encodings | forms | translation |\n| --- | --- | --- | --- |\n{}",
                       title, kNote, by_name.size(), translated, body);
}

} // namespace

std::vector<std::pair<std::string, std::string>> generated_docs() {
    return {
        {"formats/README.md", formats_page()},
        {"losses.md", losses_page()},
        {"intrinsics.md", intrinsics_page()},
        {"coverage-maxwell.md", coverage_page("Coverage: Maxwell (sm_53)", Arch::sm53, isa::maxwell_rows())},
        {"coverage-ampere.md", coverage_page("Coverage: Ampere (sm_86)", Arch::sm86, isa::ampere_rows())},
    };
}

int write_generated_docs(const std::string& folder) {
    std::error_code ec;
    std::filesystem::create_directories(folder + "/formats", ec); // write_file says what is wrong
    for (const auto& [name, text] : generated_docs())
        if (auto r = write_file(folder + "/" + name, text); !r) {
            std::fprintf(stderr, "dmshc: %s\n", r.error().text().c_str());
            return kExitOutput;
        }
    return kExitDone;
}

} // namespace dmsh
