// Reads AIR bitcode back: parsing with typed pointers and finding the entry point in the named metadata.
#pragma once
#include "compiler/emit/air/metallib_reader.h"
#include "compiler/lift/llvm_headers.h"
#include <memory>
#include <span>

namespace dmsh {

// A module and the context that owns its types.
struct AirModule {
    std::unique_ptr<llvm::LLVMContext> context;
    std::unique_ptr<llvm::Module> module;
};

// Parses bitcode (bare or in a Darwin wrapper) in a fresh context with typed pointers. An error carries
// LLVM's words.
Result<AirModule> parse_air(std::span<const uint8_t> bitcode);

// One row of an entry list such as !air.vertex.
struct AirEntry {
    std::string kind; // "vertex", "fragment", "kernel", "object", "mesh", "visible", "intersection"
    const llvm::Function* function = nullptr;
    const llvm::MDNode* outputs = nullptr;
    const llvm::MDNode* inputs = nullptr;
    std::vector<const llvm::Metadata*> extras;
};

// All rows of all entry lists. Rows whose shape is not {function, node, node, ...} are skipped and counted in
// `malformed`.
std::vector<AirEntry> air_entries(const llvm::Module& module, unsigned* malformed = nullptr);

// Operand helpers: nothing / empty when the operand is missing or of another kind.
std::optional<std::string_view> md_string(const llvm::Metadata* m);
std::optional<uint64_t> md_int(const llvm::Metadata* m);
const llvm::Metadata* md_operand(const llvm::MDNode& node, unsigned i); // nullptr past the end

// "air.buffer air.location_index 0 1 ... {nested}": one line for people.
std::string md_text(const llvm::Metadata* m, unsigned depth = 0);

} // namespace dmsh
