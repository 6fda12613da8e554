// The emitter's state, shared by the files that lower one family each. Nobody outside emit/spirv includes
// this.
#pragma once
#include "compiler/emit/spirv/spirv_builder.h"
#include "compiler/emit/spirv/spirv_emitter.h"
#include "compiler/emit/spirv/structurizer.h"
#include "compiler/lift/intrinsics.h"
#include <functional>
#include <llvm/ADT/DenseSet.h>

namespace dmsh {

class SpirvEmitter {
  public:
    SpirvEmitter(const ShaderModule& shader, const SpirvOptions& options);
    Result<std::vector<uint32_t>> run();
    const SpirvCounts& counts() const { return counts_; }

  private:
    // ---- emitter.cpp: the function, its blocks, values ----
    Result<FlowProgram> plan();
    void emit_flow(const FlowProgram& program);
    void emit_block(const llvm::BasicBlock& block);
    void emit_instruction(const llvm::Instruction& inst);
    void store_phis(const llvm::BasicBlock& block);
    void find_demoted(const FlowProgram& program);
    void entry_points();
    void execution_modes();
    uint32_t condition_of(const llvm::Instruction& terminator);

    // The first failure wins; lowering goes on with zeros so that no caller needs to look.
    uint32_t fail(std::string message);
    uint32_t value(const llvm::Value* v);
    uint32_t constant(const llvm::Constant* c);
    void define(const llvm::Value* v, uint32_t id) { values_[v] = id; }
    uint32_t operand(const llvm::Instruction& inst, unsigned i) { return value(inst.getOperand(i)); }
    static std::optional<uint32_t> literal(const llvm::Value* v); // of an i32 (or narrower) constant

    uint32_t type_of(const llvm::Type* type);
    uint32_t u32() { return u32_ ? u32_ : u32_ = b_.int_type(32); }
    uint32_t f32() { return f32_ ? f32_ : f32_ = b_.float_type(32); }
    uint32_t boolean() { return bool_ ? bool_ : bool_ = b_.bool_type(); }
    uint32_t u64();
    uint32_t f16();
    uint32_t f64();
    uint32_t vec(uint32_t element, uint32_t n) { return b_.vector_type(element, n); }
    uint32_t uc(uint32_t v) { return b_.constant(u32(), v); }
    uint32_t fc(float v);
    // `v` repeated to the shape of `like` (scalar or vector of integers).
    uint32_t int_constant(const llvm::Type* like, uint64_t v);
    uint32_t splat(uint32_t scalar, uint32_t scalar_type, uint32_t n);

    // ---- compaction.cpp: results, made once where they are the same ----
    uint32_t op(spv::Op o, uint32_t type, llvm::ArrayRef<uint32_t> operands);
    uint32_t once(uint32_t head, uint32_t type, llvm::ArrayRef<uint32_t> operands, bool here_only);
    uint32_t append(uint32_t head, uint32_t type, llvm::ArrayRef<uint32_t> operands);
    uint32_t folded(spv::Op o, uint32_t type, llvm::ArrayRef<uint32_t> operands);
    const uint32_t* definition(uint32_t id) const; // words of the body's instruction that made `id`, or null
    bool is_constant_load(uint32_t pointer) const;
    void drop_unread();
    void decorate_exact();
    void effect(spv::Op o, llvm::ArrayRef<uint32_t> operands) { SpirvBuilder::put(body_, o, operands); }
    uint32_t ext(uint32_t type, GLSLstd450 inst, llvm::ArrayRef<uint32_t> operands);
    uint32_t exact(uint32_t id) {
        if (exact_.empty() || exact_.back() != id)
            exact_.push_back(id);
        return id;
    }
    uint32_t load(uint32_t type, uint32_t pointer) { return op(spv::OpLoad, type, {pointer}); }
    void store(uint32_t pointer, uint32_t v) { effect(spv::OpStore, {pointer, v}); }
    uint32_t to_float(uint32_t bits) { return op(spv::OpBitcast, f32(), {bits}); }
    uint32_t to_bits(uint32_t f) { return op(spv::OpBitcast, u32(), {f}); }
    uint32_t select(uint32_t type, uint32_t c, uint32_t a, uint32_t z) {
        return op(spv::OpSelect, type, {c, a, z});
    }
    void begin_block(uint32_t label) {
        effect(spv::OpLabel, {label});
        current_ = label;
    }
    uint32_t function_variable(uint32_t type);
    // Compare-and-swap until `next` of the old value is stored; `exchange(new, old)` swaps once. Returns the
    // old value.
    uint32_t swap_loop(uint32_t type, uint32_t first, const std::function<uint32_t(uint32_t)>& next,
                       const std::function<uint32_t(uint32_t, uint32_t)>& exchange);

    // ---- alu.cpp ----
    void emit_binary(const llvm::BinaryOperator& inst);
    void emit_cast(const llvm::CastInst& inst);
    uint32_t upper_product(const llvm::CastInst& trunc); // its id, 0 for any other cast
    static bool only_for_upper_products(const llvm::Instruction& inst);
    void emit_compare(const llvm::CmpInst& inst);
    void emit_vector(const llvm::Instruction& inst);
    void emit_llvm_intrinsic(const llvm::IntrinsicInst& inst);
    uint32_t bitcast(uint32_t v, const llvm::Type* from, const llvm::Type* to);
    uint32_t narrow(uint32_t v,
                    const llvm::Type* type); // clears bits above the width of an integer below 32 bits
    uint32_t widen_signed(uint32_t v, const llvm::Type* type);
    uint32_t count_leading_zeros(uint32_t v, const llvm::Type* type);
    uint32_t count_trailing_zeros(uint32_t v, const llvm::Type* type);
    uint32_t float_to_int_saturated(uint32_t v, const llvm::Type* from, const llvm::Type* to, bool is_signed);
    uint32_t flush_denormal(uint32_t f);
    bool emit_float_intrinsic(const llvm::CallInst& call, Intrinsic id); // mufu, ftz, fchk

    // ---- memory.cpp ----
    bool emit_memory(const llvm::CallInst& call, Intrinsic id);
    enum class Memory : uint8_t { ssbo, shared, local };
    uint32_t uniform_word(uint32_t binding, const llvm::Value* offset, bool as_float); // a word; as_float: cast from one, which folds
    // Where a word of a uniform block lies, if it is known which of its row's: in row `row` behind `base`, which is a multiple of a row
    // or null for none.
    struct RowPlace {
        const llvm::Value* base;
        uint32_t row, component;
    };
    static std::optional<RowPlace> row_place(const llvm::Value* offset, const llvm::DataLayout& layout);
    uint32_t uniform_row(const llvm::Value* offset, const std::optional<RowPlace>& place);
    void find_rows(const llvm::BasicBlock& block);
    uint32_t storage_variable(uint32_t binding);
    uint32_t storage64_variable(uint32_t binding);
    uint32_t device_pointer(const llvm::Value* address, uint32_t type);
    uint32_t shared_block(uint32_t element, uint32_t bytes, uint32_t& variable);
    uint32_t word_pointer(Memory m, uint32_t binding, const llvm::Value* offset);
    uint32_t load_small(Memory m, uint32_t binding, const llvm::Value* offset, uint32_t bits);
    void store_small(Memory m, uint32_t binding, const llvm::Value* offset, uint32_t v, uint32_t bits);
    uint32_t atomic(uint32_t pointer, uint32_t type, spv::Scope scope, AtomicOp o, uint32_t v,
                    uint32_t comparand, bool is64);
    uint32_t shifted(const llvm::Value* offset, uint32_t shift); // offset >> shift
    const Binding* binding_at(const llvm::Value* operand, uint32_t& index);
    void decorate_binding(uint32_t variable, uint32_t binding);
    void declare_late();

    // ---- io.cpp ----
    bool emit_io(const llvm::CallInst& call, Intrinsic id);
    uint32_t builtin(spv::BuiltIn which, uint32_t type, spv::StorageClass storage = spv::StorageClassInput);
    uint32_t builtin_word(spv::BuiltIn which);                          // loads a u32 input builtin
    uint32_t builtin_component(spv::BuiltIn which, uint32_t component); // of a uvec3 input builtin
    uint32_t attribute_input(uint32_t offset, uint32_t vertex, bool as_float, const llvm::CallInst* interp);
    uint32_t attribute_dynamic(const llvm::Value* offset, uint32_t vertex);
    void copy_inputs();
    void attribute_output(uint32_t offset, uint32_t bits, const llvm::Value* vertex);
    // Stores `bits` to a component of a vec4 output; waits for the other components until the block ends.
    void store_component(uint32_t variable, uint32_t type, uint32_t component, uint32_t bits);
    void flush_outputs();
    // Location of a[offset]; kNoLocation if it is none. Fixed-function and generic values may not meet.
    uint32_t location_of(uint32_t offset, bool input);
    uint32_t input_variable(uint32_t location);
    uint32_t output_variable(uint32_t location, bool patch = false);
    uint32_t position_variable();
    uint32_t patch_input(uint32_t offset);
    uint32_t patch_dynamic(const llvm::Value* offset);
    void patch_output(const llvm::Value* address, uint32_t bits);
    void place_patch_barrier();
    void patch_barrier();
    uint32_t tess_level(uint32_t offset, bool output);
    uint32_t special(SpecialRegister reg);
    const Varying* varying(bool input, uint32_t location) const;
    void geometry_emit(uint32_t stream, bool cut);
    void finish_position();
    bool arrayed_inputs() const;
    uint32_t vertex_array(uint32_t element); // of a stage whose inputs are arrays: one element per vertex
    uint32_t pool_textures();                // ids that a whole texture pool has room for
    uint32_t vertex_count();                 // geometry: the constant that a draw's topology changes
    // Stores to the one of `pointers` (address, pointer) that `at` names; other invocations' values stay untouched.
    void store_dynamic(const llvm::Value* address, uint32_t bits);
    void store_choice(uint32_t at, llvm::ArrayRef<std::pair<uint32_t, uint32_t>> pointers, uint32_t type, uint32_t value);

    // ---- texture.cpp ----
    bool emit_texture(const llvm::CallInst& call, Intrinsic id);
    struct Shape {
        ImageDim dim;
        bool arrayed, multisampled, depth;
        Numeric numeric;
        spv::ImageFormat format = spv::ImageFormatUnknown;
        bool storage = false;
    };
    Shape image_shape(const Binding& binding, const ImgDesc& d) const;
    uint32_t image_type(const Shape& s);
    uint32_t numeric_type(Numeric n);
    // The variable of binding `index` as this shape; `combined` = with its sampler.
    uint32_t resource_variable(uint32_t index, const Shape& s, bool combined);
    uint32_t sampler_variable(uint32_t index);
    uint32_t resource_pointer(uint32_t binding, uint32_t variable, uint32_t element_type,
                              const llvm::Value* index, bool& non_uniform);
    struct Texture {
        uint32_t image_type = 0, image = 0, sampled = 0;
        Shape shape{};
    };
    Texture texture(const llvm::CallInst& call, const TexDesc& d, bool with_sampler);
    uint32_t coordinate(const llvm::CallInst& call, unsigned first, const Shape& s, bool with_layer);
    uint32_t integer_coordinate(const llvm::CallInst& call, unsigned first, const Shape& s,
                                uint32_t offset_word);
    void texel_result(const llvm::CallInst& call, uint32_t texel, Numeric numeric);
    std::optional<uint32_t> constant_offset(const llvm::Value* packed, unsigned field_bits,
                                            unsigned field_step, unsigned n);
    uint32_t dynamic_offset(uint32_t packed, unsigned first_bit, unsigned field_bits, unsigned field_step,
                            unsigned n);
    void emit_sample(const llvm::CallInst& call);
    void emit_gather(const llvm::CallInst& call);
    void emit_fetch(const llvm::CallInst& call);
    void emit_grad(const llvm::CallInst& call);
    void emit_size(const llvm::CallInst& call, bool image);
    void emit_lod(const llvm::CallInst& call);
    void emit_info(const llvm::CallInst& call);
    void emit_image(const llvm::CallInst& call, Intrinsic id);

    // ---- lanes.cpp ----
    bool emit_lanes(const llvm::CallInst& call, Intrinsic id);
    uint32_t lane();
    uint32_t source_lane(uint32_t mode, uint32_t bsel, uint32_t c, uint32_t& valid);

    SpirvCounts counts_;
    const ShaderModule& shader_;
    const ShaderInterface& face_;
    SpirvOptions options_;
    Stage stage_;
    SpirvBuilder b_;
    std::optional<Error> error_;
    const llvm::Instruction* at_ = nullptr;             // being lowered, for messages
    const llvm::Instruction* barrier_before_ = nullptr; // tess_control: where a barrier is missing
    SpirvWords body_, prologue_, variables_;
    uint32_t current_ = 0, entry_ = 0; // labels of the block being written and of the first
    struct Made {
        uint32_t hash, block, at, next; // `at`: in body_; `next`: of the chain, from 1
    };
    std::vector<Made> made_;
    std::vector<uint32_t> chains_, defs_; // defs_: by id, place in body_ + 1
    // Blocks before the one being written on every way to it: `outer_` by label, and for each construct that is open its merge label
    // and how many of them lie outside of it.
    llvm::SmallVector<uint32_t, 16> outer_;
    llvm::SmallVector<std::pair<uint32_t, size_t>, 16> constructs_;
    void open_construct(uint32_t merge);
    void enter_label(uint32_t label);
    void prepare_choice(const llvm::SwitchInst& sw);
    llvm::SmallVector<uint32_t, 0> exact_;
    llvm::SmallDenseSet<uint32_t, 8> unchanging_, handles_; // variables: built-in inputs; images and samplers
    uint32_t u32_ = 0, f32_ = 0, bool_ = 0;
    llvm::DenseMap<const llvm::Value*, uint32_t> values_, overflow_, phi_variables_, demoted_;
    llvm::DenseMap<const llvm::BasicBlock*, uint32_t> node_of_;
    llvm::SmallVector<const llvm::BasicBlock*, 32> blocks_;
    llvm::DenseMap<const llvm::Function*, uint32_t> callees_; // Intrinsic + 1, 0: not ours
    std::vector<uint32_t> selectors_;

    struct UniformBlock {
        uint32_t variable = 0, words = 0; // words: highest constant one read + 1, ~0: at run-time offsets
    };
    std::vector<UniformBlock> uniforms_;
    const llvm::Function* uniform_load_ = nullptr;    // dmsh.ubo.load, where the shader has it
    using RowKey = std::pair<const llvm::Value*, uint64_t>; // what the row is counted from; binding << 32 | row
    llvm::DenseMap<RowKey, uint8_t> rows_;        // of the block being written: words read
    llvm::SmallDenseSet<RowKey, 16> entry_rows_;  // rows that the first block loads
    const llvm::DataLayout& layout_;
    std::vector<uint32_t> storage_, storage64_, samplers_;
    struct Resource {
        uint32_t binding, type, variable;
    };
    std::vector<Resource> resources_;
    llvm::SmallDenseSet<uint32_t, 8> decorated_blocks_;
    uint32_t storage_struct_ = 0, storage64_struct_ = 0;
    uint32_t shared_variable_ = 0, shared64_variable_ = 0, local_variable_ = 0;
    bool needs_coherent_ = false;

    struct BuiltinVariable {
        spv::BuiltIn which;
        spv::StorageClass storage;
        uint32_t variable;
    };
    std::vector<BuiltinVariable> builtins_;
    std::array<uint32_t, 32> inputs_{}, outputs_{}, patches_{};
    std::array<uint32_t, 8> colours_{};
    struct PendingOutput {
        uint32_t variable, type;
        std::array<uint32_t, 4> parts;
    };
    llvm::SmallVector<PendingOutput, 8> pending_;
    uint32_t vertex_count_ = 0, pool_textures_ = 0;
    uint32_t input_copy_ = 0, first_copied_ = 0, copied_count_ = 0; // copy_inputs
    uint32_t position_ = 0, clip_variable_ = 0, clip_count_ = 0, clip_input_ = 0, clip_input_count_ = 0;
    std::array<uint32_t, 2> generic_locations_{}, fixed_locations_{}; // outputs, inputs: bit per location
    bool wide_shared_ = false; // shared memory is accessed by 64-bit atomics too
    bool writes_depth_ = false;
};

} // namespace dmsh
