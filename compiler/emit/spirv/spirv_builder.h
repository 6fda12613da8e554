// Writes SPIR-V 1.5 modules word by word: sections, deduplicated types and constants, capabilities and
// extensions.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>
#include <optional>
#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.hpp>
#include <string_view>
#include <vector>

namespace dmsh {

using SpirvWords = std::vector<uint32_t>;

class SpirvBuilder {
  public:
    SpirvBuilder();

    uint32_t new_id() { return bound_++; }
    uint32_t bound() const { return bound_; } // above every id so far

    // Appends one instruction to a section.
    static void put(SpirvWords& to, spv::Op op, llvm::ArrayRef<uint32_t> operands) {
        to.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | op);
        to.insert(to.end(), operands.begin(), operands.end());
    }
    static void put_string(SpirvWords& to, spv::Op op, llvm::ArrayRef<uint32_t> before, std::string_view text,
                           llvm::ArrayRef<uint32_t> after = {});

    void capability(spv::Capability c);
    void extension(std::string_view name);
    uint32_t glsl() const { return glsl_; }

    // A type, constant or other global instruction with a result; the same one is made once. `type` 0: none.
    uint32_t global(spv::Op op, uint32_t type, llvm::ArrayRef<uint32_t> operands);

    uint32_t void_type() { return global(spv::OpTypeVoid, 0, {}); }
    uint32_t bool_type() { return global(spv::OpTypeBool, 0, {}); }
    uint32_t int_type(uint32_t width, bool is_signed = false) {
        return global(spv::OpTypeInt, 0, {width, is_signed});
    }
    uint32_t float_type(uint32_t width) { return global(spv::OpTypeFloat, 0, {width}); }
    uint32_t vector_type(uint32_t element, uint32_t n) {
        return n == 1 ? element : global(spv::OpTypeVector, 0, {element, n});
    }
    uint32_t pointer_type(spv::StorageClass storage, uint32_t type) {
        return global(spv::OpTypePointer, 0, {static_cast<uint32_t>(storage), type});
    }
    uint32_t array_type(uint32_t element, uint32_t length) {
        return global(spv::OpTypeArray, 0, {element, constant(int_type(32), length)});
    }
    uint32_t constant(uint32_t type, uint32_t word) { return global(spv::OpConstant, type, {word}); }
    // What a global instruction made by `global` says: the word of a constant of `type`; a boolean constant; a pointer type's storage class (Max: not a
    // pointer type); a vector type's components (else 0).
    std::optional<uint32_t> constant_word(uint32_t id, uint32_t type) const {
        const uint32_t* w = words_of(id);
        return w && (w[0] & 0xffff) == spv::OpConstant && w[1] == type ? std::optional(w[3]) : std::nullopt;
    }
    std::optional<bool> constant_truth(uint32_t id) const {
        const uint32_t* w = words_of(id);
        const uint32_t o = w ? w[0] & 0xffff : 0;
        return o == spv::OpConstantTrue ? std::optional(true) : o == spv::OpConstantFalse ? std::optional(false) : std::nullopt;
    }
    spv::StorageClass storage_class(uint32_t type) const {
        const uint32_t* w = words_of(type);
        return w && (w[0] & 0xffff) == spv::OpTypePointer ? static_cast<spv::StorageClass>(w[2]) : spv::StorageClassMax;
    }
    uint32_t component_count(uint32_t type) const {
        const uint32_t* w = words_of(type);
        return w && (w[0] & 0xffff) == spv::OpTypeVector ? w[3] : 0;
    }
    uint32_t constant64(uint32_t type, uint64_t v) {
        return global(spv::OpConstant, type, {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)});
    }
    uint32_t constant_bool(bool v) {
        return global(v ? spv::OpConstantTrue : spv::OpConstantFalse, bool_type(), {});
    }

    void decorate(uint32_t id, spv::Decoration d, llvm::ArrayRef<uint32_t> operands = {});
    void decorate_member(uint32_t id, uint32_t member, spv::Decoration d,
                         llvm::ArrayRef<uint32_t> operands = {});

    // Takes back what `decorate` said of ids that are `gone`.
    void drop_decorations(const std::vector<bool>& gone);

    // A module-scope variable; it becomes part of the entry points' interfaces.
    uint32_t variable(spv::StorageClass storage, uint32_t type);
    // The same in two steps, for types that are known only at the end.
    void declare_variable(uint32_t id, spv::StorageClass storage, uint32_t type);

    SpirvWords globals, annotations, execution_modes, names, functions;
    struct EntryPoint {
        spv::ExecutionModel model;
        uint32_t function;
        std::string_view name;
    };
    std::vector<EntryPoint> entry_points;
    bool physical_addresses = false; // the module has pointers made of 64-bit addresses

    SpirvWords finish();

  private:
    void grow();
    const uint32_t* words_of(uint32_t id) const { return id < place_.size() && place_[id] ? &globals[place_[id] - 1] : nullptr; }

    uint32_t bound_ = 1;
    uint32_t glsl_;
    std::vector<uint32_t> capabilities_;
    llvm::SmallVector<std::string_view, 4> extensions_;
    std::vector<uint32_t> interface_;
    struct Slot {
        uint32_t hash = 0, offset = 0, id = 0; // id 0: free
    };
    std::vector<Slot> table_;
    std::vector<uint32_t> place_; // by id: place in `globals` + 1
    uint32_t used_ = 0;
};

} // namespace dmsh
