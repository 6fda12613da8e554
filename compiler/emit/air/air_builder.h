// AIR types, intrinsics and metadata, wrapped once: nobody else writes an `air.*` string (docs/air.md).
#pragma once
#include "compiler/emit/air/air_versions.h"
#include "compiler/lift/llvm_headers.h"
#include "runtime/abi/binding_kinds.h"

namespace dmsh {

// Address spaces.
constexpr unsigned kAirPrivate = 0, kAirDevice = 1, kAirConstant = 2, kAirThreadgroup = 3;

// Last operand of texture intrinsics, equal to the access of the argument.
enum class AirAccess : uint8_t { sample = 0, read = 1, write = 2, read_write = 3 };

// A texture as its type: class name, element type, access.
struct AirTexture {
    ImageDim dim = ImageDim::d2;
    bool arrayed = false;
    bool multisampled = false;
    bool depth = false;
    Numeric numeric = Numeric::real;
    AirAccess access = AirAccess::sample;

    // "texture_2d_array", "depth_cube", ...; empty if Metal has no such class.
    std::string class_name() const;
    // "texture2d_array<float, sample>".
    std::string type_name() const;
};

// Operands of a sampling call; unused ones stay null. Coordinates are scalars or vectors of the class's
// width.
struct AirSample {
    llvm::Value *texture = nullptr, *sampler = nullptr;
    llvm::Value* coord = nullptr;
    llvm::Value* layer = nullptr;
    llvm::Value* compare = nullptr; // reference value
    llvm::Value* offset = nullptr;  // i32 or vector constant; null: none
    llvm::Value *ddx = nullptr, *ddy = nullptr;
    bool explicit_lod = false;
    llvm::Value* lod = nullptr; // lod or bias; null: 0
    unsigned component = 0;     // gather
};

// Operands that place a texel: position (i32 or vector), array layer, lod or sample.
struct AirTexel {
    llvm::Value* texture = nullptr;
    llvm::Value* position = nullptr;
    llvm::Value* layer = nullptr;
    llvm::Value* lod = nullptr;    // null: 0 where the class has one
    llvm::Value* sample = nullptr; // multisampled classes
};

class AirBuilder {
  public:
    AirBuilder(llvm::Module& module, const AirVersion& version);
    llvm::IRBuilder<>& ir() { return b_; }
    const AirVersion& version() const { return version_; }

    // ---- types
    llvm::PointerType* texture_type(const AirTexture& t);
    llvm::PointerType* sampler_type();
    llvm::PointerType* interpolant_type();

    // ---- math. `name` is the operation without prefix and type: "fma", "rint", "fmin"; operands share one
    // type.
    llvm::Value* math(llvm::StringRef name, llvm::ArrayRef<llvm::Value*> operands);
    // Integer operations whose sign is part of the name: "min", "max", "abs", "mul_hi".
    llvm::Value* integer(llvm::StringRef name, bool is_signed, llvm::ArrayRef<llvm::Value*> operands);
    llvm::Value* clz(llvm::Value* v);
    llvm::Value* ctz(llvm::Value* v);
    llvm::Value* popcount(llvm::Value* v);
    llvm::Value* reverse_bits(llvm::Value* v);
    // Float to integer, saturating, NaN to 0.
    llvm::Value* convert_to_int(llvm::Value* v, llvm::Type* to, bool is_signed);

    // ---- textures. Results are vectors of four (float or i32); depth classes give one float.
    llvm::Value* sample(const AirTexture& t, const AirSample& s);
    llvm::Value* gather(const AirTexture& t, const AirSample& s);
    llvm::Value* calculate_lod(const AirTexture& t, const AirSample& s, bool clamped);
    llvm::Value* read(const AirTexture& t, const AirTexel& at);
    void write(const AirTexture& t, const AirTexel& at, llvm::Value* value);
    // "add", "sub", "and", "or", "xor", "min", "max", "exchange": value is <4 x i32>; returns the old <4 x
    // i32>.
    llvm::Value* texture_atomic(const AirTexture& t, const AirTexel& at, llvm::StringRef op,
                                llvm::Value* value);
    // Compare and swap; returns the old word (the expected value as the call leaves it).
    llvm::Value* texture_cas(const AirTexture& t, const AirTexel& at, llvm::Value* comparand,
                             llvm::Value* desired, llvm::Value* scratch);
    // "width", "height", "depth", "array_size", "num_mip_levels", "num_samples".
    llvm::Value* texture_query(const AirTexture& t, llvm::Value* texture, llvm::StringRef what,
                               llvm::Value* lod);

    // ---- memory atomics: pointer in device or threadgroup space to i32 or float
    llvm::Value* atomic(llvm::StringRef op, bool is_signed, llvm::Value* pointer, llvm::Value* value);
    llvm::Value* atomic_exchange(llvm::Value* pointer, llvm::Value* value);
    llvm::Value* atomic_load(llvm::Value* pointer);
    // `scratch` is a private i32* used for the expected value. Returns the old value.
    llvm::Value* atomic_cas(llvm::Value* pointer, llvm::Value* comparand, llvm::Value* desired,
                            llvm::Value* scratch);

    // ---- synchronisation and lanes. Flags: 1 device, 2 threadgroup, 4 texture
    void threadgroup_barrier(unsigned flags);
    void simdgroup_barrier(unsigned flags);
    void discard();
    llvm::Value* ballot(llvm::Value* predicate);                   // i64
    llvm::Value* shuffle(llvm::Value* value, llvm::Value* lane32); // i32 value, i32 lane
    llvm::Value* derivative(bool y, llvm::Value* value);
    llvm::Value* is_helper();

    // ---- pull-model interpolation: "center", "centroid"
    llvm::Value* interpolate(llvm::Value* interpolant, llvm::StringRef where, bool perspective);

    // ---- metadata (air_metadata.cpp)
    llvm::MDNode* node(llvm::ArrayRef<llvm::Metadata*> operands) {
        return llvm::MDNode::get(context_, operands);
    }
    llvm::Metadata* str(llvm::StringRef s) { return llvm::MDString::get(context_, s); }
    llvm::Metadata* num(uint32_t v) { return llvm::ConstantAsMetadata::get(b_.getInt32(v)); }

    // One member of an argument buffer: what it is, its id and its number of elements.
    struct Member {
        enum Kind : uint8_t { buffer, texture, sampler } kind = buffer;
        uint32_t id = 0;
        uint32_t count = 1;
        unsigned space = kAirDevice;    // buffers
        bool written = false;           // buffers
        std::string type_name = "uint"; // pointee's
        uint32_t type_bytes = 4, type_align = 4;
        AirTexture texture_info;
        std::string name;
    };
    // The parameter node of an argument buffer in constant space at buffer `slot`.
    llvm::MDNode* argument_buffer_node(unsigned parameter, unsigned slot, llvm::ArrayRef<Member> members,
                                       uint32_t bytes);
    // {index, kind, extra..., type, name}: builtins and stage inputs. Kinds are given without their prefix.
    llvm::MDNode* input_node(unsigned parameter, llvm::StringRef kind, llvm::StringRef type,
                             llvm::StringRef name, bool used = true);
    llvm::MDNode* vertex_input_node(unsigned parameter, uint32_t attribute, llvm::StringRef type,
                                    llvm::StringRef name, bool used);
    // Interpolation as in the SPH: 1 flat, 2 perspective, 3 screen linear. `pull`: interpolated by calls.
    llvm::MDNode* fragment_input_node(unsigned parameter, llvm::StringRef link, unsigned interpolation,
                                      bool centroid, bool per_sample, bool pull, llvm::StringRef type,
                                      llvm::StringRef name);
    llvm::MDNode* position_input_node(unsigned parameter, llvm::StringRef name);
    llvm::MDNode* output_node(llvm::StringRef kind, llvm::StringRef type, llvm::StringRef name);
    llvm::MDNode* position_output_node(llvm::StringRef name, bool invariant);
    llvm::MDNode* vertex_output_node(llvm::StringRef link, llvm::StringRef type, llvm::StringRef name);
    llvm::MDNode* clip_distance_node(uint32_t count, llvm::StringRef name);
    llvm::MDNode* render_target_node(uint32_t attachment, llvm::StringRef type, llvm::StringRef name);
    llvm::MDNode* depth_node(llvm::StringRef name);
    // Puts the entry into its list ("vertex", "fragment", "kernel").
    void add_entry(llvm::StringRef list, llvm::Function* f, llvm::ArrayRef<llvm::Metadata*> outputs,
                   llvm::ArrayRef<llvm::Metadata*> inputs, llvm::ArrayRef<llvm::Metadata*> extras);
    llvm::Metadata* early_tests_extra() { return str("early_fragment_tests"); }
    // Also sets the function's attribute of the same meaning.
    llvm::MDNode* max_work_group_size_extra(llvm::Function* f, uint32_t threads);
    // Data layout, triple, module flags, versions, compile options, identity.
    void finish_module(llvm::StringRef source_name);

  private:
    enum class Effect : uint8_t { pure, read, sample, write, lanes, side, inaccessible_read };
    llvm::CallInst* call(const llvm::Twine& name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> operands,
                         Effect effect);
    void add_position(const AirTexture& t, const AirTexel& at, llvm::SmallVectorImpl<llvm::Value*>& operands);
    void add_offset(const AirTexture& t, const AirSample& s, llvm::SmallVectorImpl<llvm::Value*>& operands);
    llvm::Type* element(const AirTexture& t) const;
    llvm::Type* texel_result(llvm::Type* value) const;
    llvm::PointerType* opaque(llvm::StringRef name, unsigned space);

    llvm::Module& module_;
    llvm::LLVMContext& context_;
    const AirVersion& version_;
    llvm::IRBuilder<> b_;
};

// "f32", "v4i32", "p1i8": the type suffix of intrinsic names.
std::string air_type_suffix(llvm::Type* type);

} // namespace dmsh
