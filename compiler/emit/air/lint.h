// Holds a metallib, ours or Apple's, to the container, dialect and metadata rules of docs/air.md.
#pragma once
#include "compiler/emit/air/metallib_reader.h"
#include "compiler/lift/llvm_headers.h"

namespace dmsh {

// One broken rule: a stable name ("dialect.signature"), the function it was found in, what is wrong.
struct LintFault {
    std::string rule;
    std::string function;
    std::string text;
};

// Rules for foreign files are looser where Apple's own compilers of all ages differ; `ours` adds what we
// promise about our output (no freeze, no native atomics, no fast-math flags, no debug information).
enum class LintScope : uint8_t { any, ours };

// Everything: container, modules, and what the container says about its modules.
std::vector<LintFault> lint_metallib(std::span<const uint8_t> bytes, LintScope scope);

// One module alone: dialect, module metadata, entry-point metadata.
std::vector<LintFault> lint_air_module(const llvm::Module& module, LintScope scope);

// "name: text" lines for `dmshc inspect --lint`, or "ok".
std::string lint_text(const std::vector<LintFault>& faults);

// ---- tables (lint_names.cpp, lint_metadata.cpp)

// Checks a declared air.* function against the table of names. Nothing if it is known and has one of its
// signatures; else the rule ("dialect.name" or "dialect.signature") and what was expected.
std::optional<std::pair<std::string, std::string>> lint_intrinsic(const llvm::Function& f,
                                                                  unsigned air_minor);

// True for families whose calls depend on other lanes and therefore must be convergent.
bool must_be_convergent(llvm::StringRef name);

// Adds the faults of one entry point's nodes.
void lint_entry(const llvm::Module& module, std::vector<LintFault>& faults);

} // namespace dmsh
